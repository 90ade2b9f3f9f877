import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.MessageFormatter;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.transaction.TransactionCoordinatorRecordSerde;
import org.apache.kafka.tools.consumer.TransactionLogMessageFormatter;

/**
 * Reads records of __transaction_state, a line each ("key value" in hex, "-" for no value). For each, one line:
 * key and value as Kafka itself would write them again, then what the console tool's formatter says of it.
 */
public class ReadTransactionRecords {
    static final HexFormat HEX = HexFormat.of();
    static final TransactionCoordinatorRecordSerde SERDE = new TransactionCoordinatorRecordSerde();

    static String format(MessageFormatter formatter, byte[] key, byte[] value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        formatter.writeTo(
            new ConsumerRecord<>("__transaction_state", 0, 0, key, value),
            new PrintStream(bytes, true, StandardCharsets.UTF_8));
        return bytes.toString(StandardCharsets.UTF_8).trim();
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ");
            byte[] key = HEX.parseHex(parts[0]);
            byte[] value = parts[1].equals("-") ? null : HEX.parseHex(parts[1]);
            CoordinatorRecord read = SERDE.deserialize(
                ByteBuffer.wrap(key), value == null ? null : ByteBuffer.wrap(value));
            byte[] again = SERDE.serializeValue(read);
            out.println(HEX.formatHex(SERDE.serializeKey(read)) + " " + (again == null ? "-" : HEX.formatHex(again))
                + " " + format(new TransactionLogMessageFormatter(), key, value));
        }
    }
}
