import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Java's producer, consumer, share consumer and admin client, alive for some intervals of telemetry
 * from when both consumers have read something: `BOOTSTRAP TOPIC GROUP MILLISECONDS`; the share consumer is of the group `GROUP-share`. They say the ids
 * that brokers gave them, and are closed, which pushes once more.
 */
public final class PushMetrics {
    public static void main(String[] args) throws Exception {
        String bootstrap = args[0], topic = args[1], group = args[2];
        long deadline = System.currentTimeMillis() + 60_000, end = deadline;
        boolean read = false, acquired = false;
        KafkaProducer<String, String> producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", bootstrap, "client.id", "java-producer"),
            new StringSerializer(), new StringSerializer());
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
            Map.of("bootstrap.servers", bootstrap, "client.id", "java-consumer", "group.id", group,
                "client.rack", "r1", "auto.offset.reset", "earliest", "auto.commit.interval.ms", "200"),
            new StringDeserializer(), new StringDeserializer());
        KafkaShareConsumer<String, String> sharer = new KafkaShareConsumer<>(
            Map.of("bootstrap.servers", bootstrap, "client.id", "java-sharer", "group.id", group + "-share",
                "client.rack", "r1"),
            new StringDeserializer(), new StringDeserializer());
        Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap, "client.id", "java-admin",
            "enable.metrics.push", "true"));
        consumer.subscribe(List.of(topic));
        sharer.subscribe(List.of(topic));
        while (System.currentTimeMillis() < end) {
            producer.send(new ProducerRecord<>(topic, "key", "value"));
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
            ConsumerRecords<String, String> shared = sharer.poll(Duration.ofMillis(50));
            sharer.commitSync();
            admin.describeTopics(List.of(topic)).allTopicNames().get();
            read |= !records.isEmpty();
            acquired |= !shared.isEmpty();
            if (read && acquired && end == deadline)
                end = System.currentTimeMillis() + Long.parseLong(args[3]);
        }
        System.out.println("producer " + producer.clientInstanceId(Duration.ofSeconds(5)));
        System.out.println("consumer " + consumer.clientInstanceId(Duration.ofSeconds(5)));
        System.out.println("sharer " + sharer.clientInstanceId(Duration.ofSeconds(5)));
        System.out.println("admin " + admin.clientInstanceId(Duration.ofSeconds(5)));
        producer.close();
        consumer.close();
        sharer.close();
        admin.close();
    }
}
