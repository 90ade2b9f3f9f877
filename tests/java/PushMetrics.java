import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Java's producer and consumer, alive for some intervals of telemetry: `BOOTSTRAP TOPIC GROUP MILLISECONDS`.
 * They say the ids that brokers gave them, and are closed, which pushes once more.
 */
public final class PushMetrics {
    public static void main(String[] args) throws Exception {
        String bootstrap = args[0], topic = args[1], group = args[2];
        long end = System.currentTimeMillis() + Long.parseLong(args[3]);
        KafkaProducer<String, String> producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", bootstrap, "client.id", "java-producer"),
            new StringSerializer(), new StringSerializer());
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
            Map.of("bootstrap.servers", bootstrap, "client.id", "java-consumer", "group.id", group,
                "client.rack", "r1", "auto.offset.reset", "earliest", "auto.commit.interval.ms", "200"),
            new StringDeserializer(), new StringDeserializer());
        consumer.subscribe(List.of(topic));
        while (System.currentTimeMillis() < end) {
            producer.send(new ProducerRecord<>(topic, "key", "value"));
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(100));
        }
        System.out.println("producer " + producer.clientInstanceId(Duration.ofSeconds(5)));
        System.out.println("consumer " + consumer.clientInstanceId(Duration.ofSeconds(5)));
        producer.close();
        consumer.close();
    }
}
