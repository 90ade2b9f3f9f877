import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.SimpleAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * Reads a group a line, as JSON, and answers what Kafka's assignors on the broker's side make of it. Topics
 * are small numbers; members and topics are walked in their order.
 */
public class AssignConsumers {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(JSON.readTree(line)));
        }
    }

    private static Uuid topic(JsonNode number) {
        return new Uuid(0, number.asLong());
    }

    private static String answer(JsonNode group) throws Exception {
        PartitionAssignor assignor = switch (group.get("assignor").asText()) {
            case "range" -> new RangeAssignor();
            case "simple" -> new SimpleAssignor();
            default -> new UniformAssignor();
        };
        Map<Uuid, Integer> sizes = new HashMap<>();
        for (JsonNode one : group.get("topics")) {
            sizes.put(topic(one.get(0)), one.get(1).asInt());
        }
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new TreeMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        Set<Set<Uuid>> subscriptions = new HashSet<>();
        for (Map.Entry<String, JsonNode> member : group.get("members").properties()) {
            Set<Uuid> topics = new TreeSet<>();
            member.getValue().get("topics").forEach(one -> topics.add(topic(one)));
            subscriptions.add(topics);
            Map<Uuid, Set<Integer>> target = new TreeMap<>();
            for (JsonNode at : member.getValue().get("target")) {
                target.computeIfAbsent(topic(at.get(0)), one -> new TreeSet<>()).add(at.get(1).asInt());
                owners.computeIfAbsent(topic(at.get(0)), one -> new HashMap<>())
                    .put(at.get(1).asInt(), member.getKey());
            }
            Optional<String> instance = Optional.ofNullable(member.getValue().get("instance").textValue());
            members.put(member.getKey(), new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), instance, topics, new Assignment(target)));
        }
        SubscriptionType type =
            subscriptions.size() == 1 ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        SubscribedTopicDescriber describer = new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topicId) {
                return sizes.getOrDefault(topicId, -1);
            }

            @Override
            public Set<String> racksForPartition(Uuid topicId, int partition) {
                return Set.of();
            }
        };
        ObjectNode plan = JSON.createObjectNode();
        assignor.assign(new GroupSpecImpl(members, type, owners), describer).members().forEach((member, given) -> {
            ArrayNode list = plan.putArray(member);
            given.partitions().forEach((id, numbers) -> numbers.forEach(
                number -> list.addArray().add(id.getLeastSignificantBits()).add(number)));
        });
        return JSON.writeValueAsString(plan);
    }
}
