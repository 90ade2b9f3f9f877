import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Joins a group as a static member, and closes as it is told to: CloseMember BOOTSTRAP TOPIC GROUP PROTOCOL OPERATION. */
public class CloseMember {
    public static void main(String[] args) {
        Properties options = new Properties();
        options.put("bootstrap.servers", args[0]);
        options.put("group.id", args[2]);
        options.put("group.protocol", args[3]);
        options.put("group.instance.id", "i1");
        KafkaConsumer<byte[], byte[]> consumer =
            new KafkaConsumer<>(options, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(args[1]));
        while (consumer.assignment().isEmpty()) {
            consumer.poll(Duration.ofMillis(50));
        }
        consumer.close(CloseOptions.groupMembershipOperation(
            GroupMembershipOperation.valueOf(args[4].toUpperCase())));
    }
}
