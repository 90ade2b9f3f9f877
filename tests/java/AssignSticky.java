import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** Reads a round of a group a line, as JSON, and answers what Kafka's own assignors make of it. */
public class AssignSticky {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(JSON.readTree(line)));
        }
    }

    private static String answer(JsonNode round) throws Exception {
        boolean cooperative = round.get("assignor").asText().equals("cooperative-sticky");
        AbstractStickyAssignor assignor =
            cooperative ? new CooperativeStickyAssignor() : new StickyAssignor();
        Map<String, List<PartitionInfo>> topics = new HashMap<>();
        for (Map.Entry<String, JsonNode> topic : round.get("topics").properties()) {
            topics.put(topic.getKey(), partitions(topic.getKey(), topic.getValue()));
        }
        Map<String, Subscription> members = new HashMap<>();
        for (Map.Entry<String, JsonNode> member : round.get("members").properties()) {
            members.put(member.getKey(), subscription(member.getValue()));
        }
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode order = answer.putArray("order");
        members.keySet().forEach(order::add);
        ObjectNode plan = answer.putObject("plan");
        assignor.assignPartitions(topics, members).forEach((member, given) -> {
            ArrayNode list = plan.putArray(member);
            given.forEach(at -> list.addArray().add(at.topic()).add(at.partition()));
        });
        return JSON.writeValueAsString(answer);
    }

    private static List<PartitionInfo> partitions(String topic, JsonNode racksOfEach) {
        List<PartitionInfo> found = new ArrayList<>();
        for (JsonNode racks : racksOfEach) {
            List<Node> replicas = new ArrayList<>();
            racks.forEach(rack -> replicas.add(new Node(replicas.size(), "h", 9, rack.asText())));
            Node[] nodes = replicas.toArray(new Node[0]);
            Node leader = nodes.length == 0 ? null : nodes[0];
            found.add(new PartitionInfo(topic, found.size(), leader, nodes, nodes));
        }
        return found;
    }

    private static Subscription subscription(JsonNode member) throws Exception {
        List<String> topics = new ArrayList<>();
        member.get("topics").forEach(topic -> topics.add(topic.asText()));
        List<TopicPartition> owned = new ArrayList<>();
        for (JsonNode at : member.get("owned")) {
            owned.add(new TopicPartition(at.get(0).asText(), at.get(1).asInt()));
        }
        JsonNode userdata = member.get("userdata");
        ByteBuffer data = userdata.isNull() ? null : ByteBuffer.wrap(userdata.binaryValue());
        Optional<String> rack = Optional.ofNullable(member.get("rack").textValue());
        return new Subscription(topics, data, owned, member.get("generation").asInt(), rack);
    }
}
