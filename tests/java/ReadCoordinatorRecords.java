import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.MessageFormatter;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.share.ShareCoordinatorRecordSerde;
import org.apache.kafka.coordinator.transaction.TransactionCoordinatorRecordSerde;
import org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter;
import org.apache.kafka.tools.consumer.OffsetsMessageFormatter;
import org.apache.kafka.tools.consumer.TransactionLogMessageFormatter;
import org.apache.kafka.tools.consumer.group.share.ShareGroupStateMessageFormatter;

/**
 * Reads records of the topic that is named (one of the coordinators' own), a line each ("key value" in hex, "-" for
 * no value). For each, one line: key and value as Kafka itself would write them again, then what the
 * console tool's formatters say of it.
 */
public class ReadCoordinatorRecords {
    static final HexFormat HEX = HexFormat.of();

    static String format(MessageFormatter formatter, String topic, byte[] key, byte[] value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        formatter.writeTo(
            new ConsumerRecord<>(topic, 0, 0, key, value), new PrintStream(bytes, true, StandardCharsets.UTF_8));
        return bytes.toString(StandardCharsets.UTF_8).trim();
    }

    static void read(String topic, CoordinatorRecordSerde serde, List<MessageFormatter> formatters) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split(" ");
            byte[] key = HEX.parseHex(parts[0]);
            byte[] value = parts[1].equals("-") ? null : HEX.parseHex(parts[1]);
            CoordinatorRecord read = serde.deserialize(
                ByteBuffer.wrap(key), value == null ? null : ByteBuffer.wrap(value));
            byte[] again = serde.serializeValue(read);
            StringBuilder said = new StringBuilder(HEX.formatHex(serde.serializeKey(read)))
                .append(' ').append(again == null ? "-" : HEX.formatHex(again)).append(' ');
            for (MessageFormatter formatter : formatters) {
                said.append(format(formatter, topic, key, value));
            }
            out.println(said);
        }
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("__consumer_offsets")) {
            read(args[0], new GroupCoordinatorRecordSerde(),
                List.of(new OffsetsMessageFormatter(), new GroupMetadataMessageFormatter()));
        } else if (args[0].equals("__share_group_state")) {
            read(args[0], new ShareCoordinatorRecordSerde(), List.of(new ShareGroupStateMessageFormatter()));
        } else {
            read(args[0], new TransactionCoordinatorRecordSerde(), List.of(new TransactionLogMessageFormatter()));
        }
    }
}
