import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Java's own share consumer with its default settings, byte[] keys and values, alone in its group.
 *
 * The topic is read twice in one process, by a group each time, and the second time is the one
 * reported. The time begins with the first records and ends with the last ones. The options are
 * those of readers/common.py.
 */
public final class ShareReader {
    private static long bytes;
    private static long offsets;
    private static long firstCpu;

    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i + 1 < args.length; i += 2) {
            options.put(args[i].substring(2), args[i + 1]);
        }
        long records = Long.parseLong(options.get("records"));
        read(options, records);
        long[] found = read(options, records);
        long cpu = cpuTime() - firstCpu;
        System.out.printf(
            Locale.ROOT,
            "{\"name\": \"Java share consumer (2nd pass)\", \"records\": %d, \"bytes\": %d,"
                + " \"offsets\": %d, \"wall_s\": %.4f, \"cpu_s\": %.4f, \"peak_rss_mb\": %d}%n",
            found[0], bytes, offsets, found[1] / 1e9, cpu / 1e9, peakRssMb());
    }

    /** Gives the records read and the nanoseconds it took. */
    private static long[] read(Map<String, String> options, long records) throws Exception {
        String group = "bench-" + System.nanoTime();
        Properties config = new Properties();
        config.put("bootstrap.servers", options.get("bootstrap"));
        try (Admin admin = Admin.create(config)) {
            var earliest = new AlterConfigOp(
                new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(
                Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), List.of(earliest)))
                .all().get();
        }
        config.put("group.id", group);
        config.put("max.poll.records", options.getOrDefault("max-poll-records", "500"));
        bytes = offsets = 0;
        long count = 0;
        long start = 0;
        try (var consumer = new KafkaShareConsumer<>(
                config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(options.get("topic")));
            while (count < records) {
                var found = consumer.poll(Duration.ofSeconds(1));
                if (start == 0 && !found.isEmpty()) {
                    start = System.nanoTime();
                    firstCpu = cpuTime();
                }
                for (ConsumerRecord<byte[], byte[]> record : found) {
                    byte[] key = record.key();
                    bytes += record.value().length + (key == null ? 0 : key.length);
                    offsets += record.offset();
                    count++;
                }
            }
            return new long[] {count, System.nanoTime() - start};
        }
    }

    private static long cpuTime() {
        return ((com.sun.management.OperatingSystemMXBean)
            ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
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
