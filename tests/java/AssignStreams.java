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
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentMemberSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.apache.kafka.coordinator.group.streams.assignor.TopologyDescriber;

/**
 * Kafka's assignor of streams groups: a group as JSON a line, its plan as JSON a line.
 *
 * {"standbys": 1, "parts": {"0": [4, true]}, "members": [["m1", "process", {"0": [1]}, {"0": [2]}]]}
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

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode group = JSON.readTree(line);
            Map<String, AssignmentMemberSpec> members = new HashMap<>();
            for (JsonNode one : group.get("members")) {
                members.put(one.get(0).asText(), new AssignmentMemberSpec(
                    Optional.empty(), Optional.empty(), tasks(one.get(2)), tasks(one.get(3)), Map.of(),
                    one.get(1).asText(), Map.of(), Map.of(), Map.of()));
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
            Map<String, String> configs = Map.of("num.standby.replicas", group.get("standbys").asText());
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
