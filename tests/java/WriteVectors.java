import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

/**
 * Encodes messages with Kafka's own classes. Each line of the input is a message's name, a version and its value
 * in the JSON form of Kafka's JsonConverter classes; each line of the output is the body in hex.
 * Each body is also read back and written again by Kafka, which must give the same bytes.
 */
public class WriteVectors {
    // Records of Kafka's own topics have their classes in the jars of the coordinators.
    private static final String[] CLASSES = {
        "org.apache.kafka.common.message.%sData",
        "org.apache.kafka.common.message.%s",
        "org.apache.kafka.coordinator.group.generated.%s",
        "org.apache.kafka.coordinator.transaction.generated.%s",
        "org.apache.kafka.coordinator.share.generated.%s",
    };

    public static void main(String[] args) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 3);
            short version = Short.parseShort(words[1]);
            System.out.println(encode(words[0], version, mapper.readTree(words[2])));
        }
    }

    private static String encode(String name, short version, JsonNode value) throws Exception {
        Class<?> type = find(name);
        Class<?> converter = Class.forName(type.getName() + "JsonConverter");
        Message message = (Message) converter.getMethod("read", JsonNode.class, short.class).invoke(null, value, version);
        ByteBuffer body = MessageUtil.toByteBufferAccessor(message, version).buffer();
        String hex = hex(body);
        Message again = (Message) type.getConstructor().newInstance();
        again.read(new ByteBufferAccessor(body.duplicate()), version);
        String hexAgain = hex(MessageUtil.toByteBufferAccessor(again, version).buffer());
        if (!hex.equals(hexAgain)) {
            throw new IllegalStateException(name + " v" + version + ": " + hex + " became " + hexAgain);
        }
        return hex;
    }

    private static Class<?> find(String name) throws ClassNotFoundException {
        for (String pattern : CLASSES) {
            try {
                return Class.forName(String.format(pattern, name));
            } catch (ClassNotFoundException elsewhere) {
                continue;
            }
        }
        throw new ClassNotFoundException(name);
    }

    private static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
