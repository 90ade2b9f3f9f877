import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Java's own consumer with its default settings, byte[] keys and values.
 *
 * The topic is read twice in one process and the second time is the one reported: a cold JVM would be
 * measured at compiling. The options are those of readers/common.py.
 */
public final class Reader {
    private static long bytes;
    private static long offsets;

    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i + 1 < args.length; i += 2) {
            options.put(args[i].substring(2), args[i + 1]);
        }
        long records = Long.parseLong(options.get("records"));
        read(options, records);
        var system = (com.sun.management.OperatingSystemMXBean)
            ManagementFactory.getOperatingSystemMXBean();
        long cpu = system.getProcessCpuTime();
        long[] found = read(options, records);
        cpu = system.getProcessCpuTime() - cpu;
        System.out.printf(
            Locale.ROOT,
            "{\"name\": \"Java consumer (2nd pass)\", \"records\": %d, \"bytes\": %d, \"offsets\": %d,"
                + " \"wall_s\": %.4f, \"cpu_s\": %.4f, \"peak_rss_mb\": %d}%n",
            found[0], bytes, offsets, found[1] / 1e9, cpu / 1e9, peakRssMb());
    }

    /** Gives the records read and the nanoseconds it took. */
    private static long[] read(Map<String, String> options, long records) {
        Properties config = new Properties();
        config.put("bootstrap.servers", options.get("bootstrap"));
        config.put("auto.offset.reset", "earliest");
        config.put("enable.auto.commit", "false");
        config.put("max.poll.records", options.getOrDefault("max-poll-records", "500"));
        List<TopicPartition> partitions = new ArrayList<>();
        for (int p = 0; p < Integer.parseInt(options.get("partitions")); p++) {
            partitions.add(new TopicPartition(options.get("topic"), p));
        }
        bytes = offsets = 0;
        long count = 0;
        try (var consumer = new KafkaConsumer<>(
                config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(partitions);
            long start = System.nanoTime();
            while (count < records) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    byte[] key = record.key();
                    bytes += record.value().length + (key == null ? 0 : key.length);
                    offsets += record.offset();
                    count++;
                }
            }
            return new long[] {count, System.nanoTime() - start};
        }
    }

    private static long peakRssMb() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) / 1024;
            }
        }
        return 0;
    }
}
