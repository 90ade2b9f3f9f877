import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Commits, aborts, reads and writes in transactions, and is fenced; on topics "in" and "out" of the broker at
 * args[0]. A line for each thing that happened.
 */
public class Transactions {
    static final Duration WAIT = Duration.ofMillis(200);
    static String bootstrap;

    static KafkaProducer<String, String> producer(String id) {
        Map<String, Object> options = new HashMap<>();
        options.put("bootstrap.servers", bootstrap);
        options.put("transactional.id", id);
        options.put("max.block.ms", 30000);
        return new KafkaProducer<>(options, new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String group, String isolation) {
        Map<String, Object> options = new HashMap<>();
        options.put("bootstrap.servers", bootstrap);
        options.put("group.id", group);
        options.put("isolation.level", isolation);
        options.put("auto.offset.reset", "earliest");
        options.put("enable.auto.commit", false);
        return new KafkaConsumer<>(options, new StringDeserializer(), new StringDeserializer());
    }

    static List<String> values(String topic, String isolation) {
        List<String> found = new ArrayList<>();
        try (KafkaConsumer<String, String> reader = consumer("unused", isolation)) {
            List<TopicPartition> parts = List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1));
            reader.assign(parts);
            reader.seekToBeginning(parts);
            Map<TopicPartition, Long> ends = reader.endOffsets(parts);
            while (parts.stream().anyMatch(part -> reader.position(part) < ends.get(part))) {
                for (ConsumerRecord<String, String> record : reader.poll(WAIT)) {
                    found.add(record.value());
                }
            }
        }
        Collections.sort(found);
        return found;
    }

    static void commitAndAbort() {
        try (KafkaProducer<String, String> one = producer("one")) {
            one.initTransactions();
            for (int number = 0; number < 6; number++) {
                one.beginTransaction();
                for (int part = 0; part < 2; part++) {
                    one.send(new ProducerRecord<>("in", part, null, (number % 2 == 0 ? "c" : "a") + number));
                }
                if (number % 2 == 0) {
                    one.commitTransaction();
                } else {
                    one.flush();
                    one.abortTransaction();
                }
            }
        }
        System.out.println("committed " + values("in", "read_committed"));
        System.out.println("uncommitted " + values("in", "read_uncommitted"));
    }

    static void readProcessWrite() {
        try (KafkaConsumer<String, String> reader = consumer("g", "read_committed");
             KafkaProducer<String, String> writer = producer("two")) {
            writer.initTransactions();
            reader.subscribe(List.of("in"));
            int copied = 0;
            while (copied < 6) {
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                var records = reader.poll(WAIT);
                if (records.isEmpty()) {
                    continue;
                }
                writer.beginTransaction();
                for (ConsumerRecord<String, String> record : records) {
                    writer.send(new ProducerRecord<>("out", record.partition(), null, record.value()));
                    offsets.put(new TopicPartition("in", record.partition()),
                        new OffsetAndMetadata(record.offset() + 1));
                }
                writer.sendOffsetsToTransaction(offsets, reader.groupMetadata());
                writer.commitTransaction();
                copied += records.count();
            }
            long committed = reader.committed(reader.assignment()).values().stream()
                .mapToLong(OffsetAndMetadata::offset).sum();
            System.out.println("copied " + values("out", "read_committed") + " up to " + committed);
        }
    }

    static void fenced() {
        try (KafkaProducer<String, String> old = producer("three"); KafkaProducer<String, String> heir = producer("three")) {
            old.initTransactions();
            old.beginTransaction();
            old.send(new ProducerRecord<>("out", 0, null, "zombie"));
            old.flush();
            heir.initTransactions();
            heir.beginTransaction();
            heir.send(new ProducerRecord<>("out", 0, null, "heir"));
            heir.commitTransaction();
            try {
                old.send(new ProducerRecord<>("out", 0, null, "late"));
                old.commitTransaction();
                System.out.println("not fenced");
            } catch (KafkaException why) {
                Throwable cause = why.getCause() == null ? why : why.getCause();
                System.out.println("fenced " + cause.getClass().getSimpleName());
            }
            old.close(Duration.ZERO);
        }
        System.out.println("left " + values("out", "read_committed").contains("heir")
            + " " + values("out", "read_committed").contains("zombie"));
    }

    public static void main(String[] args) {
        bootstrap = args[0];
        commitAndAbort();
        readProcessWrite();
        fenced();
    }
}
