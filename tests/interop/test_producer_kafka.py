"""`Producer` against real Kafka: what is written is read back, also while a node is killed."""

import threading
import time

import confluent_kafka
import pytest

from kcore import Producer

pytestmark = pytest.mark.kafka


def read(cluster, topic, partitions):
    """Values of each partition by offset, as librdkafka reads them, with checksums."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "unused",
            "check.crcs": True,
            "isolation.level": "read_committed",
        }
    )
    ends = cluster.end_offsets(topic)
    consumer.assign([confluent_kafka.TopicPartition(topic, n, 0) for n in range(partitions)])
    found = {number: {} for number in range(partitions)}
    wanted = sum(ends.values())
    until = time.monotonic() + 60
    while sum(map(len, found.values())) < wanted:
        assert time.monotonic() < until
        for message in consumer.consume(1_000, 1.0):
            assert message.error() is None
            found[message.partition()][message.offset()] = message
    consumer.close()
    return found


@pytest.mark.parametrize("options", [{}, {"acks": 1}, {"compression_type": "zstd"}], ids=str)
def test_what_is_sent_is_read_by_others(kafka, names, options):
    # Kafka goes by the records' own times: by default those of 2023 are gone at its next look.
    kafka.create_topic(names.topic, 2, configs={"retention.ms": "-1"})
    with Producer(bootstrap_servers=kafka.bootstrap, batch_size=1_000, **options) as producer:
        futures = [
            producer.send(
                names.topic,
                b"%d" % number,
                key=b"%d" % (number % 7),
                headers=[("h", b"1")] if number % 3 == 0 else None,
                timestamp_ms=1_700_000_000_000 + number,
            )
            for number in range(500)
        ]
        producer.flush(30)
    found = read(kafka, names.topic, 2)
    for number, future in enumerate(futures):
        told = future.value
        message = found[told.partition][told.offset]
        assert (message.key(), message.value()) == (b"%d" % (number % 7), b"%d" % number)
        assert message.timestamp()[1] == 1_700_000_000_000 + number
        assert message.headers() == ([("h", b"1")] if number % 3 == 0 else None)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("options", [{}, {"compression_type": "lz4", "batch_size": 1_000}], ids=str)
def test_a_node_is_killed_and_everything_is_there_once(kafka3, names, options):
    count, threads = 40_000, 4
    kafka3.create_topic(names.topic, threads)
    with Producer(bootstrap_servers=kafka3.bootstrap, **options) as producer:
        futures = [[] for _ in range(threads)]

        def send(mine):
            for number in range(count // threads):
                value = b"%d-%06d" % (mine, number)
                futures[mine].append((value, producer.send(names.topic, value, partition=mine)))
                if number % 20 == 0:
                    time.sleep(0.02)

        workers = [threading.Thread(target=send, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        time.sleep(2.0)
        kafka3.kill(1)
        time.sleep(4.0)
        kafka3.restart(1)
        for worker in workers:
            worker.join()
        producer.flush(120)
    found = read(kafka3, names.topic, threads)
    for mine in range(threads):
        in_log = [message.value() for _, message in sorted(found[mine].items())]
        assert in_log == [value for value, _ in futures[mine]]
        for value, future in futures[mine]:
            assert found[mine][future.value.offset].value() == value
