"""kcore in the place of other clients, and programs that notice nothing of it."""

import importlib
import subprocess
import sys

import pytest

import kcore
from kcore.clients.stand_in import aiokafka_names, kafka_python_names
from kcore.clients.stand_in.confluent import names as confluent_names
from kcore.embedded import EmbeddedBroker
from kcore.errors import IllegalStateError

TABLES = {
    "aiokafka": aiokafka_names.MODULES,
    "confluent_kafka": confluent_names.MODULES,
    "kafka": kafka_python_names.MODULES,
}
MODULES = [(package, name) for package, table in TABLES.items() for name in table]

OF_AIOKAFKAS = """
import sys
import kcore
kcore.install_as_aiokafka()
kcore.install_as_aiokafka()
import asyncio
from typing import Any
import aiokafka.admin
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.errors import TopicAlreadyExistsError, for_code
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.producer.producer import _missing

class Marked(ConsumerRecord[Any, Any]):
    mark: int

try:
    from aiokafka import AIOKafkaClient
except ImportError:
    print("no-client")

class Listener(ConsumerRebalanceListener):
    async def on_partitions_assigned(self, assigned):
        print("assigned", len(assigned), reader._coordinator.member_id != "")

async def main(where):
    global reader
    admin = AIOKafkaAdminClient(bootstrap_servers=where)
    await admin.start()
    for _ in range(2):
        told = await admin.create_topics([NewTopic("t", 1, 1)])
        (row,) = told.to_object()["topic_errors"]
        assert told.topic_errors[0][0] == row["topic"] == "t"
        print(row["error_code"])
    assert for_code(row["error_code"]) is TopicAlreadyExistsError
    told = await admin.create_partitions({"t": NewPartitions(2)})
    assert told.topic_errors == [("t", 0, None)]
    (topic,) = await admin.describe_topics(["t"])
    assert [part["leader"] for part in topic["partitions"]] == [1, 1]
    assert await admin.list_topics() == ["t"]
    async with AIOKafkaProducer(
        bootstrap_servers=where, acks=_missing, partitioner=DefaultPartitioner()
    ) as producer:
        await producer.send_and_wait("t", b"v", key=b"k", headers=[("h", b"1")])
        await producer.send_and_wait("t", b"w", key=b"k")
    reader = AIOKafkaConsumer(
        bootstrap_servers=where,
        group_id="g",
        auto_offset_reset="earliest",
        partition_assignment_strategy=[RoundRobinPartitionAssignor],
    )
    reader.subscribe(["t"], listener=Listener())
    await reader.start()
    record = await reader.getone()
    assert isinstance(record, ConsumerRecord)
    record.value *= 2
    record.mark = 7
    print(record.value.decode(), record.headers == (("h", b"1"),))
    (found,) = (await reader.getmany(timeout_ms=5000)).values()
    assert type(found[0]) is ConsumerRecord
    print(found[0].value.decode())
    await reader.commit()
    assert await admin.list_consumer_groups() == [("g", "consumer")]
    print(sum((await admin.list_consumer_group_offsets("g")).values(), ())[0])
    await reader.stop()
    told = await admin.delete_topics(["t", "u"])
    print(*(code for _, code in told.topic_error_codes))
    await admin.close()

asyncio.run(main(sys.argv[1]))
print(aiokafka.AIOKafkaConsumer.__mro__[1].__name__)
"""
OF_KAFKA_PYTHONS = """
import sys
import kcore
kcore.install_as_kafka_python()
import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import TopicAlreadyExistsError
from kafka.partitioner import DefaultPartitioner
from kafka.serializer import Serializer

class Text(Serializer):
    def serialize(self, topic, headers, data):
        return data.encode()

where = sys.argv[1]
with KafkaAdminClient(bootstrap_servers=where) as admin:
    admin.create_topics([NewTopic("t", 1, 1)])
    try:
        admin.create_topics([NewTopic("t", 1, 1)])
    except TopicAlreadyExistsError:
        print("there")
with KafkaProducer(
    bootstrap_servers=where, value_serializer=Text(), partitioner=DefaultPartitioner()
) as producer:
    print(producer.send("t", "v").get(10).offset)
consumer = KafkaConsumer(
    "t",
    bootstrap_servers=where,
    group_id="g",
    auto_offset_reset="earliest",
    partition_assignment_strategy=[RangePartitionAssignor],
)
print(next(consumer).value.decode())
consumer.close()
print(issubclass(kafka.KafkaConsumer, kcore.Consumer))
"""


def program(text, *arguments):
    """What a program of its own has printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", text, *arguments],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(("package", "name"), MODULES)
def test_what_stands_there_is_there(package, name):
    """Nothing is offered that the other client does not have at that place."""
    theirs, ours = importlib.import_module(name), TABLES[package][name]
    held = vars(importlib.import_module(ours)) if isinstance(ours, str) else ours
    if isinstance(ours, str):  # errors: all of theirs, of which ours are made when first asked for
        module = importlib.import_module(ours)
        wanted = {
            key
            for key, value in vars(theirs).items()
            if isinstance(value, type) and issubclass(value, Exception)
        }
        assert [key for key in sorted(wanted) if not hasattr(module, key)] == []
        return
    own = {"DelegationToken", "ElectionType", "OffsetDuration", "OffsetShift", "PartitionLag"}
    own |= {"ConfigFilterType", "ClientQuotaMatch", "FencedProducer", "SharePartitionOffset"}
    own |= {"NewPartitions", "NewTopic", "RecordsToDelete", "TopicPartitionReplica"}
    own |= {"BrokerVersionData", "RaftVoterEndpoint", "ReplicaLogDirs"}
    allowed = own if name == "kafka.admin" else set()
    assert [key for key in held if not hasattr(theirs, key) and key not in allowed] == []


def test_modules_say_what_package_they_are_of():
    """New Relic's agent looks at each that it traces."""
    program(
        "import kcore, sys; kcore.install_as_kafka_python(); kcore.install_as_aiokafka()\n"
        "packages = 'kafka', 'aiokafka'\n"
        "made = [one for name, one in sys.modules.items() if name.startswith(packages)]\n"
        "assert made and all(one.__package__ for one in made)"
    )


def test_what_is_loaded_already_is_not_replaced():
    importlib.import_module("aiokafka")
    importlib.import_module("confluent_kafka")
    importlib.import_module("kafka")
    for install in (
        kcore.install_as_aiokafka,
        kcore.install_as_confluent_kafka,
        kcore.install_as_kafka_python,
    ):
        with pytest.raises(IllegalStateError, match="before anything imports it"):
            install()


def test_a_program_of_aiokafkas():
    with EmbeddedBroker() as broker:
        assert program(OF_AIOKAFKAS, broker.bootstrap) == [
            "no-client", "0", "36", "assigned", "2", "True", "vv", "True", "w", "2", "0", "3",
            "AsyncConsumer",
        ]  # fmt: skip


def test_a_program_of_kafka_pythons():
    with EmbeddedBroker() as broker:
        assert program(OF_KAFKA_PYTHONS, broker.bootstrap) == ["there", "0", "v", "True"]


def test_the_default_partitioner():
    ours = aiokafka_names.MODULES["aiokafka.partitioner"]["DefaultPartitioner"]()
    theirs = importlib.import_module("aiokafka.partitioner").DefaultPartitioner()
    keys = [b"%d" % number for number in range(50)]
    chosen = [ours(key, [0, 1, 2], [1]) for key in keys]
    assert chosen == [theirs(key, [0, 1, 2], [1]) for key in keys]
    assert {*chosen} == {0, 1, 2}
    assert ours(None, [0, 1, 2], [1]) == 1
    assert ours(None, [4], []) == 4
