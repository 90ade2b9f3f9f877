import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.coordinator.group.api.streams.StreamsGroupTopologyDescription;
import org.apache.kafka.coordinator.group.api.streams.StreamsGroupTopologyDescriptionPlugin;

/** Keeps descriptions of topologies of streams groups as long as the broker is up. */
public class DescriptionsInMemory implements StreamsGroupTopologyDescriptionPlugin {
    private record Key(String group, int epoch) { }

    private final Map<Key, StreamsGroupTopologyDescription> kept = new ConcurrentHashMap<>();

    public void configure(Map<String, ?> options) { }

    public CompletableFuture<Void> setTopology(String group, int epoch, StreamsGroupTopologyDescription described) {
        kept.put(new Key(group, epoch), described);
        return CompletableFuture.completedFuture(null);
    }

    public CompletableFuture<Void> deleteTopology(String group) {
        kept.keySet().removeIf(key -> key.group.equals(group));
        return CompletableFuture.completedFuture(null);
    }

    public CompletableFuture<StreamsGroupTopologyDescription> getTopology(String group, int epoch) {
        return CompletableFuture.completedFuture(kept.get(new Key(group, epoch)));
    }

    public void close() { }
}
