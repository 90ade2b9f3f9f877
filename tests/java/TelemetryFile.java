import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.telemetry.ClientTelemetryContext;
import org.apache.kafka.server.telemetry.ClientTelemetryExporter;
import org.apache.kafka.server.telemetry.ClientTelemetryExporterProvider;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;

/**
 * A broker's plug-in for client telemetry (KIP-714): what clients push becomes lines of the file that the
 * broker's option `telemetry.file` names: client id, client instance id, whether it is the last push, the type
 * of the content, and the content (what a broker has unpacked) in base64, apart by tabs.
 */
public final class TelemetryFile implements MetricsReporter, ClientTelemetryExporterProvider, ClientTelemetryExporter {
    private Path file;

    @Override
    public void configure(Map<String, ?> options) {
        file = Path.of(options.get("telemetry.file").toString());
    }

    @Override
    public ClientTelemetryExporter clientTelemetryExporter() {
        return this;
    }

    @Override
    public synchronized void exportMetrics(ClientTelemetryContext context, ClientTelemetryPayload payload) {
        ByteBuffer data = payload.data().duplicate();
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        String line = String.join("\t", context.authorizableRequestContext().clientId(),
            payload.clientInstanceId().toString(),
            Boolean.toString(payload.isTerminating()), payload.contentType(),
            Base64.getEncoder().encodeToString(bytes));
        try {
            Files.writeString(file, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (java.io.IOException failed) {
            throw new java.io.UncheckedIOException(failed);
        }
    }

    @Override
    public void init(List<KafkaMetric> metrics) { }

    @Override
    public void metricChange(KafkaMetric metric) { }

    @Override
    public void metricRemoval(KafkaMetric metric) { }

    @Override
    public void close() { }
}
