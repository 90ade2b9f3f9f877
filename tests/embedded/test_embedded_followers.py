"""Consumers that read from a follower in their rack (KIP-392): ours and other people's."""

import asyncio
import subprocess

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest
from foreign_members import until
from leftovers import ALSO_AIOKAFKA
from verifiable import DEADLINE_S

import kcore
from kcore.broker import BrokerConfig, apis
from kcore.cli.demo.java import TOOLS
from kcore.embedded import CoreLoop, EmbeddedBroker
from kcore.errors import KafkaConfigurationError, UsageError
from kcore.wire.apis import ApiKey

pytestmark = ALSO_AIOKAFKA

slow = pytest.mark.slow
RACKS = ["a", "b", "c"]
RACK_AWARE = BrokerConfig(replica_selector_class="RackAwareReplicaSelector")
WHO = "reader"
# Who is sent to a node that its metadata does not have asks on and on, in some clients.
SOON_MS = 1_500


@pytest.fixture
def asked(monkeypatch):
    """The nodes that WHO has sent a Fetch to, the last one last."""
    nodes = []
    handle = apis.HANDLERS[ApiKey.FETCH]

    def noting(call, request):
        if call.client_id == WHO:
            nodes.append(call.node.node_id)
        return handle(call, request)

    monkeypatch.setitem(apis.HANDLERS, ApiKey.FETCH, noting)
    return nodes


@pytest.fixture
def broker(asked):
    with EmbeddedBroker(3, racks=RACKS, config=RACK_AWARE) as broker:
        broker.create_topic("t", replication_factor=3)
        broker.move_leader("t", 0, 1)
        yield broker
        assert not broker.faults


class Ours:
    def __init__(self, bootstrap, rack):
        self._consumer = kcore.Consumer(
            "t",
            bootstrap_servers=bootstrap,
            client_id=WHO,
            client_rack=rack,
            auto_offset_reset="earliest",
            retry_backoff_ms=20,
        )

    def take(self):
        batches = self._consumer.poll(timeout_ms=50)
        return [one.value for batch in batches.values() for one in batch]

    def close(self):
        self._consumer.close()


class Librdkafka:
    def __init__(self, bootstrap, rack):
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": WHO,
                "client.rack": rack,
                "group.id": "g",
                "auto.offset.reset": "earliest",
                "reconnect.backoff.max.ms": 100,
            }
        )
        self._consumer.assign([confluent_kafka.TopicPartition("t", 0, 0)])

    def take(self):
        return [one.value() for one in self._consumer.consume(100, 0.05) if one.error() is None]

    def close(self):
        self._consumer.close()


class KafkaPython:
    def __init__(self, bootstrap, rack):
        self._consumer = kafka_python.KafkaConsumer(
            bootstrap_servers=bootstrap.split(","),
            client_id=WHO,
            client_rack=rack,
            metadata_max_age_ms=SOON_MS,
        )
        where = kafka_python.TopicPartition("t", 0)
        self._consumer.assign([where])
        self._consumer.seek(where, 0)

    def take(self):
        batches = self._consumer.poll(timeout_ms=50)
        return [one.value for batch in batches.values() for one in batch]

    def close(self):
        self._consumer.close()


class Aiokafka:
    def __init__(self, bootstrap, rack):
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._start(bootstrap, rack))

    async def _start(self, bootstrap, rack):
        self._consumer = aiokafka.AIOKafkaConsumer(
            "t",
            bootstrap_servers=bootstrap.split(","),
            client_id=WHO,
            client_rack=rack,
            auto_offset_reset="earliest",
            metadata_max_age_ms=SOON_MS,
        )
        await self._consumer.start()

    def take(self):
        batches = self._loop.run_until_complete(self._consumer.getmany(timeout_ms=50))
        return [one.value for batch in batches.values() for one in batch]

    def close(self):
        self._loop.run_until_complete(self._consumer.stop())
        self._loop.close()


OTHERS = [Librdkafka, KafkaPython, Aiokafka]


@pytest.fixture(params=[Ours, *(pytest.param(kind, marks=slow) for kind in OTHERS)])
def reader(request, broker):
    reader = request.param(broker.bootstrap, "b")
    yield reader
    reader.close()


def read(reader, broker, values):
    broker.produce("t", [(None, value) for value in values])
    taken = []
    until(lambda: len(taken) >= len(values), lambda: taken.extend(reader.take()))
    assert taken == values


def test_a_consumer_reads_in_its_rack_while_it_can(reader, broker, asked):
    read(reader, broker, [b"one", b"two"])
    until(lambda: asked[-1] == 2, reader.take)  # the leader, node 1, has sent it there
    read(reader, broker, [b"three"])
    assert asked[-1] == 2
    broker.kill(2)
    until(lambda: asked[-1] == 1, reader.take)
    read(reader, broker, [b"four"])
    broker.revive(2)
    until(lambda: asked[-1] == 2, reader.take)
    read(reader, broker, [b"five"])


def test_another_leader_is_asked_where_to_read(reader, broker, asked):
    until(lambda: asked[-2:] == [2, 2], reader.take)
    broker.move_leader("t", 0, 3)
    read(reader, broker, [b"one"])
    until(lambda: asked[-1] == 2, reader.take)
    assert asked.count(1) > 0
    broker.move_leader("t", 0, 2)
    read(reader, broker, [b"two"])  # librdkafka may go on at node 3, which serves it as a follower


def test_what_only_the_leader_has_is_read_when_the_follower_has_it(broker, asked):
    reader = Ours(broker.bootstrap, "b")
    read(reader, broker, [b"one"])
    until(lambda: asked[-1] == 2, reader.take)
    broker.delay_replication(2, 60_000)
    with kcore.Producer(bootstrap_servers=broker.bootstrap, acks=1) as producer:
        producer.send("t", b"two").get(DEADLINE_S)
    assert reader.take() == []
    broker.restore_links()
    taken = []
    until(lambda: taken == [b"two"], lambda: taken.extend(reader.take()))
    assert asked[-1] == 2
    reader.close()


def test_without_a_selector_the_leader_is_read_whatever_the_rack(asked):
    with EmbeddedBroker(3, racks=RACKS) as broker:
        broker.create_topic("t", replication_factor=3)
        broker.move_leader("t", 0, 1)
        reader = Ours(broker.bootstrap, "b")
        read(reader, broker, [b"one"])
        read(reader, broker, [b"two"])
        assert set(asked) == {1}
        reader.close()


@slow
@pytest.mark.kafka
def test_java_reads_in_its_rack(installation, broker, asked):
    broker.produce("t", [(None, b"%d" % number) for number in range(1_000)])
    command = installation.command(
        TOOLS["kafka-console-consumer"],
        *("--bootstrap-server", broker.bootstrap, "--topic", "t", "--from-beginning"),
        *("--max-messages", "1000", "--command-property", "client.rack=c"),
        *("--command-property", f"client.id={WHO}"),
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode == 0, done.stderr
    assert [int(line) for line in done.stdout.split()] == list(range(1_000))
    assert asked[0] == 1
    assert asked[1] == 3


def test_replicas_are_spread_over_racks():
    with EmbeddedBroker(6, racks=["a", "a", "b", "b", "c", "c"], in_memory=True) as broker:
        broker.create_topic("t", 6, replication_factor=3)
        topic = broker._running()[0].topics.get("t")
        for partition in topic.partitions:
            assert {"aabbcc"[node - 1] for node in partition.replicas} == set("abc")


@pytest.mark.parametrize("racks", [["a"], "abc", ["a", "b", ""], ["a", "b", 3], 3])
def test_racks_are_one_for_each_node(racks):
    with pytest.raises(UsageError, match="racks="):
        EmbeddedBroker(3, racks=racks)
    with pytest.raises(UsageError, match="racks="):
        CoreLoop(3, racks=racks)


def test_a_selector_that_is_none_is_refused():
    with pytest.raises(KafkaConfigurationError, match="replica_selector_class='Rack'"):
        BrokerConfig(replica_selector_class="Rack")
