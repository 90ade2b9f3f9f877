import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/** Prints Kafka's error codes: code, name, whether it is retriable, whether it means stale metadata. */
public class ListErrors {
    public static void main(String[] args) {
        for (Errors error : Errors.values()) {
            Exception thrown = error.exception();
            System.out.printf("%d %s %b %b%n", error.code(), error.name(),
                thrown instanceof RetriableException, thrown instanceof InvalidMetadataException);
        }
    }
}
