import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
// ByteBufferOutputStream is in the one up to 4.3, and in the other since.
import org.apache.kafka.common.utils.*;
import org.apache.kafka.common.utils.internals.*;

/**
 * Writes record batches with Kafka's own encoder, as one JSON object on stdout: name to {hex, batches}, where
 * `batches` is what Kafka's own reader makes of the bytes. With the argument `read`: reads lines of hex from
 * stdin and prints what Kafka makes of each, one JSON list a line.
 */
public class BatchVectors {
    static final HexFormat HEX = HexFormat.of();
    static final long TIME = 1_700_000_000_000L;
    static final int LONG_VALUE = 320;

    static StringBuilder out = new StringBuilder();

    static final class Settings {
        byte magic = 2;
        Compression compression = Compression.NONE;
        TimestampType type = TimestampType.CREATE_TIME;
        long baseOffset = 0;
        long appendTime = -1;
        long producerId = -1;
        short producerEpoch = -1;
        int sequence = -1;
        boolean transactional = false;
        boolean control = false;
        int leaderEpoch = -1;
        long deleteHorizon = -1;
    }

    interface Fill {
        void fill(MemoryRecordsBuilder builder);
    }

    static ByteBuffer build(Settings s, Fill fill) {
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            new ByteBufferOutputStream(1 << 20), s.magic, s.compression, s.type, s.baseOffset, s.appendTime,
            s.producerId, s.producerEpoch, s.sequence, s.transactional, s.control, s.leaderEpoch, 1 << 20,
            s.deleteHorizon);
        fill.fill(builder);
        return builder.build().buffer();
    }

    static byte[] utf8(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    static byte[] noise(int size) {
        byte[] bytes = new byte[size];
        new Random(1).nextBytes(bytes);
        return bytes;
    }

    static void mixed(MemoryRecordsBuilder b) {
        b.append(TIME, utf8("key"), utf8("value"));
        b.append(TIME + 1, (byte[]) null, utf8("no key"));
        b.append(TIME + 70, utf8("no value"), null);
        b.append(TIME + 9000, null, (byte[]) null);
        b.append(TIME - 5, new byte[0], new byte[0]);
        b.append(TIME + 2, utf8("h"), utf8("v".repeat(300)), new Header[] {
            new RecordHeader("trace", utf8("abc")), new RecordHeader("trace", null),
            new RecordHeader("", new byte[0]), new RecordHeader("gr\u00fc\u00df \u2713", noise(200))});
        b.append(TIME + 1_000_000_000_000L, utf8("later"), utf8("v"));
    }

    static void many(MemoryRecordsBuilder b) {
        many(b, 400);
    }

    static void many(MemoryRecordsBuilder b, int count) {
        for (int i = 0; i < count; i++) {
            b.append(TIME + i, utf8("k" + i % 7), utf8("value ".repeat(60) + i));
        }
    }

    static void emit(String name, ByteBuffer bytes) throws Exception {
        if (out.length() > 1) {
            out.append(",\n");
        }
        out.append("\"").append(name).append("\": {\"hex\": \"").append(HEX.formatHex(copy(bytes)));
        out.append("\",\n  \"batches\": ");
        describe(bytes, out);
        out.append("}");
    }

    static byte[] copy(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    static String hex(ByteBuffer buffer) throws Exception {
        if (buffer == null) {
            return "null";
        }
        byte[] bytes = copy(buffer);
        if (bytes.length <= LONG_VALUE) {
            return "\"" + HEX.formatHex(bytes) + "\"";
        }
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
        return "\"" + bytes.length + " bytes, sha256 " + HEX.formatHex(digest) + "\"";
    }

    static void describe(ByteBuffer bytes, StringBuilder to) throws Exception {
        String comma = "";
        to.append("[");
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(bytes.duplicate()).batches()) {
            batch.ensureValid();
            to.append(comma).append("{\"magic\": ").append(batch.magic());
            to.append(", \"base_offset\": ").append(batch.baseOffset());
            to.append(", \"last_offset\": ").append(batch.lastOffset());
            to.append(", \"leader_epoch\": ").append(batch.partitionLeaderEpoch());
            to.append(", \"timestamp_type\": ").append(batch.timestampType().id);
            to.append(", \"max_timestamp\": ").append(batch.maxTimestamp());
            to.append(", \"producer_id\": ").append(batch.producerId());
            to.append(", \"producer_epoch\": ").append(batch.producerEpoch());
            to.append(", \"base_sequence\": ").append(batch.baseSequence());
            to.append(", \"codec\": \"").append(batch.compressionType().name);
            to.append("\", \"transactional\": ").append(batch.isTransactional());
            to.append(", \"control\": ").append(batch.isControlBatch());
            to.append(", \"delete_horizon\": ").append(batch.deleteHorizonMs().orElse(-1));
            to.append(", \"records\": [");
            String between = "\n    ";
            for (Record record : batch) {
                to.append(between);
                describe(record, to);
                between = ",\n    ";
            }
            to.append("]}");
            comma = ",\n   ";
        }
        to.append("]");
    }

    static void describe(Record record, StringBuilder to) throws Exception {
        to.append("[").append(record.offset()).append(", ").append(record.timestamp()).append(", ");
        to.append(hex(record.key())).append(", ").append(hex(record.value())).append(", [");
        String comma = "";
        for (Header header : record.headers()) {
            to.append(comma).append("[\"").append(HEX.formatHex(utf8(header.key()))).append("\", ");
            to.append(hex(header.value() == null ? null : ByteBuffer.wrap(header.value()))).append("]");
            comma = ", ";
        }
        to.append("]]");
    }

    static void read() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            StringBuilder text = new StringBuilder();
            describe(ByteBuffer.wrap(HEX.parseHex(line.strip())), text);
            System.out.println(text.toString().replace("\n", " "));
        }
    }

    static Settings settings(Compression compression) {
        Settings s = new Settings();
        s.compression = compression;
        s.baseOffset = 4_000_000_000L;
        s.leaderEpoch = 7;
        return s;
    }

    static void markers() throws Exception {
        Settings s = settings(Compression.NONE);
        s.producerId = 4000;
        s.producerEpoch = 3;
        s.transactional = true;
        s.control = true;
        emit("commit_marker", build(s, b -> b.appendEndTxnMarker(
            TIME, new EndTransactionMarker(ControlRecordType.COMMIT, 9))));
        emit("abort_marker", build(s, b -> b.appendEndTxnMarker(
            TIME, new EndTransactionMarker(ControlRecordType.ABORT, 9))));
    }

    static void write() throws Exception {
        emit("none_mixed", build(settings(Compression.NONE), BatchVectors::mixed));
        emit("lz4_mixed", build(settings(Compression.lz4().build()), BatchVectors::mixed));
        emit("gzip_mixed", build(settings(Compression.gzip().build()), BatchVectors::mixed));
        emit("lz4_many", build(settings(Compression.lz4().build()), BatchVectors::many));
        emit("gzip_many", build(settings(Compression.gzip().build()), BatchVectors::many));
        emit("snappy_many", build(settings(Compression.snappy().build()), BatchVectors::many));
        emit("zstd_many", build(settings(Compression.zstd().build()), BatchVectors::many));
        emit("snappy_mixed", build(settings(Compression.snappy().build()), BatchVectors::mixed));
        emit("zstd_mixed", build(settings(Compression.zstd().build()), BatchVectors::mixed));
        emit("lz4_noise", build(settings(Compression.lz4().build()),
            b -> b.append(TIME, utf8("k"), noise(1500))));

        Settings append = settings(Compression.NONE);
        append.type = TimestampType.LOG_APPEND_TIME;
        append.appendTime = TIME + 77;
        emit("log_append", build(append, BatchVectors::mixed));
        append.compression = Compression.lz4().build();
        emit("log_append_lz4", build(append, BatchVectors::mixed));

        Settings idempotent = settings(Compression.NONE);
        idempotent.producerId = 4000;
        idempotent.producerEpoch = 3;
        idempotent.sequence = 100;
        emit("idempotent", build(idempotent, BatchVectors::mixed));
        idempotent.transactional = true;
        emit("transactional", build(idempotent, BatchVectors::mixed));
        markers();

        emit("compacted", build(settings(Compression.NONE), b -> {
            b.appendWithOffset(4_000_000_001L, TIME, utf8("a"), utf8("1"));
            b.appendWithOffset(4_000_000_003L, TIME, utf8("b"), utf8("2"));
            b.overrideLastOffset(4_000_000_100L);
        }));
        Settings horizon = settings(Compression.NONE);
        horizon.deleteHorizon = TIME + 500;
        emit("delete_horizon", build(horizon, BatchVectors::mixed));

        legacy();
    }

    static void plain(MemoryRecordsBuilder b) {
        b.append(TIME, utf8("key"), utf8("value"));
        b.append(TIME + 1, (byte[]) null, utf8("no key"));
        b.append(TIME + 70, utf8("no value"), null);
        b.append(TIME + 9000, null, (byte[]) null);
        b.append(TIME - 5, new byte[0], new byte[0]);
        b.append(TIME + 2, utf8("k"), utf8("value ".repeat(50)));
        b.append(TIME + 3, utf8("noise"), noise(100));
    }

    static void legacy() throws Exception {
        Map<String, Compression> codecs = new TreeMap<>(Map.of("gzip", Compression.gzip().build(),
            "snappy", Compression.snappy().build(), "lz4", Compression.lz4().build()));
        for (byte magic = 0; magic < 2; magic++) {
            Settings old = new Settings();
            old.magic = magic;
            emit("v" + magic, build(old, b -> b.append(TIME, utf8("k"), utf8("v"))));
            old.baseOffset = 4_000_000_000L;
            emit("v" + magic + "_plain", build(old, BatchVectors::plain));
            for (Map.Entry<String, Compression> codec : codecs.entrySet()) {
                old.compression = codec.getValue();
                emit("v" + magic + "_" + codec.getKey(), build(old, BatchVectors::plain));
                emit("v" + magic + "_" + codec.getKey() + "_many", build(old, b -> many(b, 100)));
                emit("v" + magic + "_" + codec.getKey() + "_gaps", build(old, b -> {
                    b.appendWithOffset(4_000_000_003L, TIME, utf8("a"), utf8("1"));
                    b.appendWithOffset(4_000_000_007L, TIME + 1, utf8("b"), utf8("2"));
                }));
            }
        }
        Settings append = new Settings();
        append.magic = 1;
        append.type = TimestampType.LOG_APPEND_TIME;
        append.appendTime = TIME + 77;
        append.baseOffset = 70;
        emit("v1_log_append", build(append, BatchVectors::plain));
        append.compression = Compression.gzip().build();
        emit("v1_log_append_gzip", build(append, BatchVectors::plain));
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0 && args[0].equals("read")) {
            read();
            return;
        }
        out.append("{");
        write();
        System.out.println(out.append("}"));
    }
}
