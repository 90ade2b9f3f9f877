import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentConfigsImpl;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberMetadataAndStateImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;

/**
 * The assignor of streams groups of Kafka 4.4: a group as JSON a line, its plan as JSON a line.
 *
 * {"standbys": 1, "parts": {"0": [4, true]},
 *  "members": [["m1", "process", {"0": [1]}, {"0": [2]}, {"0": {"3": 17}}]]}
 * -> {"m1": [{"0": [0, 1]}, {}]}
 */
public class AssignStreams {
    static final ObjectMapper JSON = new ObjectMapper();

    static Map<String, Set<Integer>> tasks(JsonNode node) {
        Map<String, Set<Integer>> found = new HashMap<>();
        node.fields().forEachRemaining(entry -> {
            Set<Integer> numbers = new HashSet<>();
            entry.getValue().forEach(number -> numbers.add(number.asInt()));
            found.put(entry.getKey(), numbers);
        });
        return found;
    }

    static Map<String, Map<Integer, Long>> offsets(JsonNode node) {
        Map<String, Map<Integer, Long>> found = new HashMap<>();
        node.fields().forEachRemaining(entry -> {
            Map<Integer, Long> numbers = new HashMap<>();
            entry.getValue().fields().forEachRemaining(
                one -> numbers.put(Integer.valueOf(one.getKey()), one.getValue().asLong()));
            found.put(entry.getKey(), numbers);
        });
        return found;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode group = JSON.readTree(line);
            Map<String, MemberMetadataAndStateImpl> members = new HashMap<>();
            for (JsonNode one : group.get("members")) {
                members.put(one.get(0).asText(), new MemberMetadataAndStateImpl(
                    Optional.empty(), Optional.empty(), one.get(1).asText(), Map.of(), tasks(one.get(2)),
                    tasks(one.get(3)), Map.of(), offsets(one.get(4)), Map.of()));
            }
            JsonNode parts = group.get("parts");
            List<String> names = new ArrayList<>();
            parts.fieldNames().forEachRemaining(names::add);
            names.sort(null);
            TopologyDescriber topology = new TopologyDescriber() {
                public List<String> subtopologies() {
                    return names;
                }

                public int maxNumInputPartitions(String name) {
                    return parts.get(name).get(0).asInt();
                }

                public boolean isStateful(String name) {
                    return parts.get(name).get(1).asBoolean();
                }
            };
            AssignmentConfigsImpl configs = new AssignmentConfigsImpl(group.get("standbys").asInt(), List.of());
            GroupAssignment plan = new StickyTaskAssignor().assign(new GroupSpecImpl(members, configs), topology);
            Map<String, Object> shown = new TreeMap<>();
            for (Map.Entry<String, MemberAssignment> entry : plan.members().entrySet()) {
                shown.put(entry.getKey(), List.of(
                    new TreeMap<>(entry.getValue().activeTasks()), new TreeMap<>(entry.getValue().standbyTasks())));
            }
            System.out.println(JSON.writeValueAsString(shown));
        }
    }
}
