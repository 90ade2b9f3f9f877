"""Transactions on a real Kafka, as our admin client, kafka-python's and Kafka's own tool see them:
one that hangs, and one whose producer was killed.
"""

import subprocess
import sys
import time

import kafka as kafka_python
import pytest
from admins import ADMINS
from kafka.admin import AbortTransactionSpec as TheirSpec
from late_writes import LONG_AGO_MS, write_late
from leftovers import KAFKA_PYTHON

import kcore
from kcore import errors
from kcore.admin import AbortTransactionSpec, ConfigResource, TransactionListing, TransactionState
from kcore.structs import TopicPartition

pytestmark = [pytest.mark.kafka, *KAFKA_PYTHON]
DEADLINE_S = 30
DIES = """
import os, sys
import kcore
producer = kcore.Producer(
    bootstrap_servers=sys.argv[1], transactional_id=sys.argv[2], transaction_timeout_ms=800_000
)
producer.init_transactions()
producer.begin_transaction()
producer.send(sys.argv[2], b"never committed", partition=0).get()
os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module")
def trusting(kafka):
    """A Kafka that takes what is written outside a transaction, as all did before 3.6 (KIP-890)."""
    every = ConfigResource("broker", "", {"transaction.partition.verification.enable": "false"})
    with kcore.Admin(bootstrap_servers=kafka.bootstrap) as admin:
        admin.alter_configs([every], raise_on_unknown=False, raise_errors=True)
        yield kafka
        admin.reset_configs([every], raise_on_unknown=False, raise_errors=True)


@pytest.fixture(params=list(ADMINS))
def make(request):
    made = []

    def build(cluster):
        made.append(ADMINS[request.param](bootstrap_servers=cluster.bootstrap))
        return made[-1]

    yield build
    for client in made:
        client.close()


def read(cluster, topic, count):
    """So many values that are read as committed."""
    found = []
    with kcore.Consumer(
        topic,
        bootstrap_servers=cluster.bootstrap,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
    ) as consumer:
        until = time.monotonic() + DEADLINE_S
        while len(found) < count:
            assert time.monotonic() < until
            found += [row.value for rows in consumer.poll(200).values() for row in rows]
    return found


def stable(admin, tp):
    return admin.list_partition_offsets({tp: "latest"}, "read_committed")[tp].offset


def test_a_transaction_whose_producer_was_killed(kafka, make, names):
    """Its coordinator knows it, and would end it when its timeout is over."""
    admin, name = make(kafka), names.topic
    kafka.create_topic(name)
    tp = TopicPartition(name, 0)
    command = [sys.executable, "-c", DIES, kafka.bootstrap, name]
    assert subprocess.run(command, timeout=60, check=False).returncode == -9
    kafka.produce(name, [(None, b"behind it")])
    assert stable(admin, tp) == 0
    state = admin.describe_transactions([name])[name]
    assert (state.state, state.topic_partitions) == (TransactionState.ONGOING, {tp})
    assert state.transaction_timeout_ms == 800_000
    (node,) = (row["broker_id"] for row in admin.describe_cluster()["brokers"])
    assert state.coordinator_id == node
    with kafka_python.KafkaAdminClient(bootstrap_servers=kafka.bootstrap) as theirs:
        assert theirs.describe_transactions([name])[name]._asdict() == state._asdict()
        filters = {"producer_id_filters": [state.producer_id], "state_filters": ["Ongoing"]}
        (row,) = admin.list_transactions(**filters)[node]
        assert row == TransactionListing(name, state.producer_id, TransactionState.ONGOING)
        assert [tuple(one) for one in theirs.list_transactions(**filters)[node]] == [tuple(row)]
    pattern = f"{name[:-3]}.*"
    listed = admin.list_transactions(transactional_id_pattern=pattern, duration_filter_ms=0)
    assert row in listed[node]
    long = admin.list_transactions(transactional_id_pattern=name, duration_filter_ms=600_000)
    assert long == {node: []}
    with pytest.raises(errors.InvalidRegularExpressionError):
        admin.list_transactions(transactional_id_pattern="[")
    found = admin.find_hanging_transactions(None, 0, [name])
    assert found == []
    fenced = admin.fence_producers([name])[name]
    assert fenced.producer_id == state.producer_id
    assert fenced.producer_epoch > state.producer_epoch
    assert read(kafka, name, 1) == [b"behind it"]


def test_a_transaction_that_hangs(trusting, make, names):
    """It is open in a partition, and its coordinator does not know: no timeout ends it."""
    admin, name = make(trusting), names.topic
    trusting.create_topic(name, 2)
    tp = TopicPartition(name, 1)
    trusting.produce(name, [(None, b"before it")], partition=1)
    number, epoch = admin.fence_producers([name])[name]
    assert write_late(trusting.bootstrap, name, tp, number, epoch) == 0
    trusting.produce(name, [(None, b"behind it")], partition=1)
    assert stable(admin, tp) == 1
    (row,) = admin.find_hanging_transactions(topic_partitions=[name])
    assert row["topic_partitions"] == [tp]
    assert (row["producer_id"], row["producer_epoch"]) == (number, epoch)
    assert (row["start_offset"], row["last_timestamp"]) == (1, LONG_AGO_MS)
    assert (row["transactional_id"], row["state"]) == (name, "Empty")
    with pytest.raises(errors.InvalidTxnStateError):
        admin.abort_transaction(AbortTransactionSpec(TopicPartition(name, 0), number, epoch))
    admin.abort_transaction(row["spec"])
    assert read(trusting, name, 2) == [b"before it", b"behind it"]
    assert admin.find_hanging_transactions(topic_partitions=[name]) == []


@pytest.mark.slow
def test_kafkas_own_tool_finds_the_same_and_ends_it(trusting, names):
    name = names.topic
    trusting.create_topic(name, 2)
    tps = [TopicPartition(name, number) for number in range(2)]
    with kcore.Admin(bootstrap_servers=trusting.bootstrap) as admin:
        number, epoch = admin.fence_producers([name])[name]
        for tp in tps:
            assert write_late(trusting.bootstrap, name, tp, number, epoch) == 0
        rows = admin.find_hanging_transactions(topic_partitions=[name])
        assert [row["topic_partitions"] for row in rows] == [[tp] for tp in tps]
        lines = trusting.tool("kafka-transactions", "find-hanging", "--topic", name).splitlines()
        said = [
            [str(part) for part in (name, tp.partition, number, epoch, -1, 0, LONG_AGO_MS)]
            for tp in tps
        ]
        assert sorted(line.split()[:7] for line in lines[1:]) == said
        where = ("--topic", name, "--partition", "0", "--start-offset", "0")
        trusting.tool("kafka-transactions", "abort", *where)
        rows = admin.find_hanging_transactions(topic_partitions=[name])
        assert [row["topic_partitions"] for row in rows] == [[tps[1]]]


def test_epochs_that_are_old_are_refused(trusting, make, names):
    """By theirs as well: -1 is no way around the epoch of the coordinator."""
    admin, name = make(trusting), names.topic
    trusting.create_topic(name)
    tp = TopicPartition(name, 0)
    number, epoch = admin.fence_producers([name])[name]
    assert write_late(trusting.bootstrap, name, tp, number, epoch) == 0
    admin.abort_transaction(AbortTransactionSpec(tp, number, epoch, 5))
    assert stable(admin, tp) == 2
    assert write_late(trusting.bootstrap, name, tp, number, epoch, sequence=1) == 0
    with pytest.raises(errors.TransactionCoordinatorFencedError, match="or -1"):
        admin.abort_transaction(AbortTransactionSpec(tp, number, epoch, 4))
    theirs = kafka_python.KafkaAdminClient(bootstrap_servers=trusting.bootstrap)
    with pytest.raises(kafka_python.errors.TransactionCoordinatorFencedError):
        theirs.abort_transaction(TheirSpec(tp, number, epoch))
    theirs.close()
    assert stable(admin, tp) == 2
    admin.abort_transaction(TheirSpec(tp, number, epoch))
    assert stable(admin, tp) == 4
