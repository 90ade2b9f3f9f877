// A Kafka Streams application of one process: counts words, which takes a repartition topic and a
// changelog. It prints each state that it comes to, and ends when its input does.
//
//     CountWords BOOTSTRAP APPLICATION FOLDER INPUT OUTPUT [OPTION=VALUE]...

import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

public class CountWords {
    public static void main(String[] args) throws Exception {
        Properties options = new Properties();
        options.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        options.put(StreamsConfig.APPLICATION_ID_CONFIG, args[1]);
        options.put(StreamsConfig.STATE_DIR_CONFIG, args[2]);
        options.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
        options.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "100");
        options.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        options.put("auto.offset.reset", "earliest");
        for (String more : Arrays.asList(args).subList(5, args.length)) {
            options.put(more.substring(0, more.indexOf('=')), more.substring(more.indexOf('=') + 1));
        }
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(args[3], Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with("words", Serdes.String(), Serdes.String()))
            .count(Materialized.as("counts"))
            .toStream()
            .mapValues(count -> Long.toString(count))
            .to(args[4], Produced.with(Serdes.String(), Serdes.String()));
        CountDownLatch over = new CountDownLatch(1);
        KafkaStreams streams = new KafkaStreams(builder.build(), options);
        streams.setUncaughtExceptionHandler(error -> {
            System.out.println("failed " + error);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.setStateListener((now, before) -> {
            System.out.println(now);
            if (now == KafkaStreams.State.ERROR || now == KafkaStreams.State.NOT_RUNNING) {
                over.countDown();
            }
        });
        streams.start();
        Thread watcher = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (java.io.IOException gone) {
                // as if it had ended
            }
            over.countDown();
        });
        watcher.setDaemon(true);
        watcher.start();
        over.await();
        streams.close();
        System.out.println("closed");
    }
}
