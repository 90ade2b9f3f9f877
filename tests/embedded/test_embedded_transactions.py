"""Other people's transactional producers against the embedded broker, read back by everybody."""

import asyncio
import contextlib
import time

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest
from leftovers import ALSO_AIOKAFKA

import kcore
from kcore import TopicPartition
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker

DEADLINE_S = 30
slow = pytest.mark.slow
# 4.3 has transactions of version 2; before 3.6 nobody asked the coordinator about a Produce.
RELEASES = [
    (4, 4),
    *(pytest.param(one, marks=slow) for one in [(2, 1), (3, 5), (3, 7)]),
]

pytestmark = ALSO_AIOKAFKA


@pytest.fixture(params=RELEASES, ids=lambda release: "{}.{}".format(*release))
def broker(request):
    """A broker of each release; whatever a client did to it, nothing went wrong inside."""
    with EmbeddedBroker(config=BrokerConfig(release=request.param)) as embedded:
        embedded.create_topic("t", 2)
        yield embedded
        assert not embedded.faults


class Confluent:
    """A producer with a transactional id; the same few verbs for every library."""

    def __init__(self, broker, name="x", **options):
        self.producer = confluent_kafka.Producer(
            {"bootstrap.servers": broker.bootstrap, "transactional.id": name, "log_level": 0}
            | options
        )
        self.producer.init_transactions(DEADLINE_S)

    def begin(self):
        self.producer.begin_transaction()

    def send(self, value, partition=0):
        self.producer.produce("t", value, partition=partition)

    def flush(self):
        assert self.producer.flush(DEADLINE_S) == 0

    def end(self, committed):
        end = self.producer.commit_transaction if committed else self.producer.abort_transaction
        end(DEADLINE_S)

    def close(self):
        del self.producer


class KafkaPython:
    def __init__(self, broker, name="x"):
        self.producer = kafka_python.KafkaProducer(
            bootstrap_servers=broker.bootstrap, transactional_id=name
        )
        self.producer.init_transactions()

    def begin(self):
        self.producer.begin_transaction()

    def send(self, value, partition=0):
        self.producer.send("t", value, partition=partition)

    def flush(self):
        self.producer.flush(DEADLINE_S)

    def end(self, committed):
        if committed:
            self.producer.commit_transaction()
        else:
            self.producer.abort_transaction()

    def commit_offset(self, offset, group):
        part = kafka_python.TopicPartition("t", 0)
        found = {part: kafka_python.OffsetAndMetadata(offset, "", -1)}
        self.producer.send_offsets_to_transaction(found, group)

    def close(self):
        self.producer.close()


class Aiokafka:
    def __init__(self, broker, name="x"):
        self._loop = asyncio.new_event_loop()
        self._run = self._loop.run_until_complete

        async def make():
            return aiokafka.AIOKafkaProducer(
                bootstrap_servers=broker.bootstrap, transactional_id=name
            )

        self.producer = self._run(make())
        self._run(self.producer.start())
        self._sent = []

    def begin(self):
        self._run(self.producer.begin_transaction())

    def send(self, value, partition=0):
        self._sent.append(self._run(self.producer.send("t", value, partition=partition)))

    def flush(self):
        sent, self._sent = self._sent, []
        for future in sent:
            self._run(future)

    def end(self, committed):
        end = self.producer.commit_transaction if committed else self.producer.abort_transaction
        self._run(end())

    def commit_offset(self, offset, group):
        found = {aiokafka.TopicPartition("t", 0): offset}
        self._run(self.producer.send_offsets_to_transaction(found, group))

    def close(self):
        self._run(self.producer.stop())
        self._loop.close()


PRODUCERS = [Confluent, KafkaPython, Aiokafka]


def read_by_confluent(broker, level):
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "unused",
            "isolation.level": level,
            "enable.partition.eof": True,
        }
    )
    parts = [confluent_kafka.TopicPartition("t", number, 0) for number in (0, 1)]
    consumer.assign(parts)
    values, ended = [], set()
    end = time.monotonic() + DEADLINE_S
    while len(ended) < len(parts) and time.monotonic() < end:
        for message in consumer.consume(1_000, 0.05):
            if message.error() is None:
                values.append(message.value())
            else:
                assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
                ended.add(message.partition())
    consumer.close()
    return sorted(values)


def read_by_kafka_python_api(broker, level, module):
    """Kafka-python's and ours: up to the end that this isolation level has."""
    maker = getattr(module, "KafkaConsumer", None) or module.Consumer
    consumer = maker(
        bootstrap_servers=broker.bootstrap, isolation_level=level, auto_offset_reset="earliest"
    )
    parts = [module.TopicPartition("t", number) for number in (0, 1)]
    consumer.assign(parts)
    consumer.seek_to_beginning(*parts)
    ends = consumer.end_offsets(parts)
    values = []
    end = time.monotonic() + DEADLINE_S
    while any(consumer.position(part) < ends[part] for part in parts):
        assert time.monotonic() < end, "not in time"
        for records in consumer.poll(timeout_ms=50).values():
            values += [record.value for record in records]
    consumer.close()
    return sorted(values)


READERS = {
    "confluent": read_by_confluent,
    "kcore": lambda broker, level: read_by_kafka_python_api(broker, level, kcore),
    "kafka-python": lambda broker, level: read_by_kafka_python_api(broker, level, kafka_python),
}


@pytest.mark.parametrize("producer", PRODUCERS)
def test_commits_aborts_and_what_is_still_open(broker, producer):
    maker = producer(broker)
    for number, committed in enumerate([True, False, True, False]):
        maker.begin()
        for partition in (0, 1):
            maker.send(b"%d-%d-%s" % (number, partition, b"c" if committed else b"a"), partition)
        maker.flush()
        maker.end(committed)
    maker.begin()
    maker.send(b"open", 1)
    maker.flush()
    committed = sorted(b"%d-%d-c" % (number, part) for number in (0, 2) for part in (0, 1))
    everything = sorted(
        [
            *committed,
            *(b"%d-%d-a" % (number, part) for number in (1, 3) for part in (0, 1)),
            b"open",
        ]
    )
    for name, read in READERS.items():
        assert read(broker, "read_committed") == committed, name
        assert read(broker, "read_uncommitted") == everything, name
    maker.end(True)
    assert READERS["kcore"](broker, "read_committed") == sorted([*committed, b"open"])
    maker.close()


@pytest.mark.parametrize(
    "producer", [Confluent, *(pytest.param(one, marks=slow) for one in (KafkaPython, Aiokafka))]
)
def test_a_second_producer_fences_the_first_and_ends_its_transaction(broker, producer):
    zombie = producer(broker)
    zombie.begin()
    zombie.send(b"zombie")
    zombie.flush()
    heir = producer(broker)
    heir.begin()
    heir.send(b"heir")
    heir.flush()
    heir.end(True)
    with pytest.raises(Exception, match=r"(?i)fenced|epoch"):  # noqa: PT012
        zombie.send(b"late", 1)
        zombie.flush()
        zombie.end(True)
    assert READERS["kcore"](broker, "read_committed") == [b"heir"]
    heir.close()
    with contextlib.suppress(aiokafka.errors.ProducerFenced):
        zombie.close()


def test_offsets_go_with_the_transaction(broker):
    plain = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(10):
        plain.produce("t", b"in-%d" % number, partition=0)
    assert plain.flush(DEADLINE_S) == 0
    broker.create_topic("out")
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["t"])
    got = []
    end = time.monotonic() + DEADLINE_S
    while len(got) < 10:
        assert time.monotonic() < end
        got += [one for one in consumer.consume(10, 0.05) if one.error() is None]
    maker = Confluent(broker)
    here = [confluent_kafka.TopicPartition("t", 0, 10)]
    outside = kcore.Consumer(bootstrap_servers=broker.bootstrap, group_id="g")
    for committed in (False, True):
        maker.begin()
        maker.producer.produce("out", b"out")
        maker.producer.send_offsets_to_transaction(
            here, consumer.consumer_group_metadata(), DEADLINE_S
        )
        maker.end(committed)
        assert outside.committed(TopicPartition("t", 0)) == (10 if committed else None)
    outside.close()
    consumer.close()
    maker.close()


def test_an_older_generation_cannot_commit_in_a_transaction():
    """KIP-447: who has lost its partitions is told so."""
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 2)
        options = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 100,
        }
        first = confluent_kafka.Consumer(options)
        first.subscribe(["t"])
        end = time.monotonic() + DEADLINE_S
        while len(first.assignment()) < 2:
            assert time.monotonic() < end
            first.poll(0.05)
        old = first.consumer_group_metadata()
        second = confluent_kafka.Consumer(options)
        second.subscribe(["t"])
        while not (len(first.assignment()) == len(second.assignment()) == 1):
            assert time.monotonic() < end
            first.poll(0.05)
            second.poll(0.05)
        maker = Confluent(broker)
        maker.begin()
        maker.send(b"v")
        with pytest.raises(confluent_kafka.KafkaException) as caught:
            maker.producer.send_offsets_to_transaction(
                [confluent_kafka.TopicPartition("t", 0, 1)], old, DEADLINE_S
            )
        assert caught.value.args[0].code() == confluent_kafka.KafkaError.ILLEGAL_GENERATION
        assert caught.value.args[0].txn_requires_abort()
        maker.end(False)
        maker.close()
        first.close()
        second.close()
        assert not broker.faults


def test_a_transaction_that_takes_too_long_is_aborted_by_the_broker(kcore_broker):
    kcore_broker.create_topic("t", 2)
    maker = Confluent(kcore_broker, **{"transaction.timeout.ms": 60_000})
    maker.begin()
    maker.send(b"late")
    maker.flush()
    kcore_broker.let_time_pass(60_001)
    assert READERS["kcore"](kcore_broker, "read_committed") == []
    with pytest.raises(confluent_kafka.KafkaException):
        maker.end(True)
    assert READERS["kcore"](kcore_broker, "read_uncommitted") == [b"late"]
    maker.close()
    assert not kcore_broker.faults


def test_transactions_outlive_the_node_of_their_coordinator(kcore_cluster):
    kcore_cluster.create_topic("t", 2, replication_factor=3)
    maker = Confluent(kcore_cluster)
    for number in range(3):
        maker.begin()
        for partition in (0, 1):
            maker.send(b"%d-%d" % (number, partition), partition)
        maker.flush()
        kcore_cluster.kill(number + 1)
        maker.end(True)
        kcore_cluster.revive(number + 1)
    wanted = [b"%d-%d" % (number, part) for number in range(3) for part in (0, 1)]
    assert READERS["kcore"](kcore_cluster, "read_committed") == wanted
    maker.close()
    assert not kcore_cluster.faults


@pytest.mark.parametrize("producer", [KafkaPython, Aiokafka])
def test_offsets_by_group_id_alone(kcore_broker, producer):
    """As before KIP-447: who commits is not compared with who is in the group."""
    kcore_broker.create_topic("t", 2)
    maker = producer(kcore_broker)
    for committed in (False, True):
        maker.begin()
        maker.send(b"v")
        maker.flush()
        maker.commit_offset(7, "g")
        maker.end(committed)
        with kcore.Consumer(bootstrap_servers=kcore_broker.bootstrap, group_id="g") as reader:
            assert reader.committed(TopicPartition("t", 0)) == (7 if committed else None)
    maker.close()
    assert not kcore_broker.faults
