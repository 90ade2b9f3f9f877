"""Groups of other people's clients on the embedded broker: lost, static and mixed members, lag."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from foreign_members import DEADLINE_S, MEMBERS, SESSION_MS, until
from leftovers import ALSO_AIOKAFKA

import kcore

pytestmark = ALSO_AIOKAFKA


@pytest.fixture
def broker(kcore_broker):
    kcore_broker.create_topic("t", 4)
    yield kcore_broker
    kcore_broker.no_mishaps()
    assert not kcore_broker.faults


@pytest.fixture(params=MEMBERS)
def make(request, broker):
    """Members of the library that the test is about."""
    made = []

    def one(group="g", instance=None):
        made.append(MEMBERS[request.param](broker, group, instance))
        return made[-1]

    one.client = request.param
    yield one
    broker.restore_links()
    for member in made:
        member.close()


def produce(broker, count, start=0):
    broker.produce("t", [(None, b"v%d" % number) for number in range(start, start + count)])


def stepping(*members):
    def step():
        for member in members:
            member.step()

    return step


def described(broker, group="g"):
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    return admin.describe_consumer_groups([group])[group].result(DEADLINE_S)


def test_a_member_that_is_lost_is_replaced(make, broker):
    first = make()
    until(lambda: len(first.owned()) == 4, first.step)
    other = MEMBERS["kcore"](broker, "g")
    until(lambda: len(first.owned()) == len(other.owned()) == 2, stepping(first, other))
    broker.drop_link(client=make.client if make.client != "kcore" else "nobody")
    if make.client == "kcore":
        first.close()
        first.close = lambda: None
    else:
        for _ in range(2):
            broker.let_time_pass(SESSION_MS * 2 // 3)
            for _ in range(10):
                other.step()
    until(lambda: len(other.owned()) == 4, other.step)
    assert len(described(broker).members) == 1
    other.close()


def test_a_static_member_comes_back_to_what_it_had(make, broker):
    first, second = make(instance="one"), make(instance="two")
    until(lambda: len(first.owned()) == len(second.owned()) == 2, stepping(first, second))
    owned = first.owned()
    first.close()
    first.close = lambda: None
    again = make(instance="one")
    until(again.owned, stepping(again, second))
    assert again.owned() == owned
    state = described(broker)
    assert sorted(member.group_instance_id for member in state.members) == ["one", "two"]


def test_clients_of_every_make_form_one_group(broker):
    count = len(MEMBERS)
    broker.create_topic("shared", count)
    members = [make(broker, "g", topic="shared") for make in MEMBERS.values()]
    step = stepping(*members)
    until(lambda: [len(each.owned()) for each in members] == [1] * count, step)
    broker.produce("shared", [(None, b"%d" % number) for number in range(100 * count)])
    until(lambda: sum(len(each.values) for each in members) == 100 * count, step)
    for each in members:
        each.commit()
        assert len(each.values) == 100
    while len(members) > 1:
        leave_while_others_go_on(members.pop(0), members)
        until(lambda: sum(len(each.owned()) for each in members) == count, stepping(*members))
    members[0].close()


def leave_while_others_go_on(member, others):
    """Its LeaveGroup may stand in line behind a JoinGroup, which the others have to join."""
    with ThreadPoolExecutor(1) as pool:
        left = pool.submit(member.close)
        until(left.done, stepping(*others))
        left.result()


def test_offsets_are_reset_and_lag_is_seen(make, broker):
    produce(broker, 100)
    member = make()
    until(lambda: len(member.values) == 100, member.step)
    member.commit()
    member.close()
    member.close = lambda: None
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    wanted = [TopicPartition("t", number, 10) for number in range(4)]
    [changed] = admin.alter_consumer_group_offsets(
        [ConsumerGroupTopicPartitions("g", wanted)]
    ).values()
    changed.result(DEADLINE_S)
    [listed] = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions("g")]).values()
    lag = {part.partition: 25 - part.offset for part in listed.result(DEADLINE_S).topic_partitions}
    assert lag == dict.fromkeys(range(4), 15)
    again = make()
    until(lambda: len(again.values) == 60, again.step)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("client", ["kafka-python", "aiokafka"])
def test_others_produce_in_every_codec(broker, client, codec):
    values = [b"value %d" % number for number in range(200)]
    compression = None if codec == "none" else codec
    if client == "kafka-python":
        producer = kafka_python.KafkaProducer(
            bootstrap_servers=broker.bootstrap, compression_type=compression, linger_ms=20
        )
        for value in values:
            producer.send("t", value)
        producer.flush(DEADLINE_S)
        producer.close()
    else:
        aiokafka_produce(broker, values, compression)
    assert sum(broker.end_offsets("t")) == 200
    reader = MEMBERS["confluent"](broker, "g")
    until(lambda: len(reader.values) >= 200, reader.step)
    assert sorted(reader.values) == sorted(values)
    reader.close()


def aiokafka_produce(broker, values, compression):

    async def run():
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap, compression_type=compression, linger_ms=20
        )
        await producer.start()
        for sent in [await producer.send("t", value) for value in values]:
            await sent
        await producer.stop()

    asyncio.run(run())


def test_groups_are_listed_described_and_deleted(broker):
    member = MEMBERS["confluent"](broker, "g")
    until(member.owned, member.step)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    [found] = admin.list_consumer_groups().result(DEADLINE_S).valid
    assert (found.group_id, found.state.name) == ("g", "STABLE")
    state = described(broker)
    assert state.partition_assignor == "range"
    assert [part.partition for part in state.members[0].assignment.topic_partitions] == [0, 1, 2, 3]
    with pytest.raises(confluent_kafka.KafkaException, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups(["g"])["g"].result(DEADLINE_S)
    member.close()
    admin.delete_consumer_groups(["g"])["g"].result(DEADLINE_S)
    assert not admin.list_consumer_groups().result(DEADLINE_S).valid


@pytest.mark.parametrize("protocol", ["classic", pytest.param("consumer", marks=pytest.mark.slow)])
def test_a_deleted_topic_holds_up_no_rebalance_and_no_close(broker, protocol):
    """What was read of it cannot be committed any more, and everything else goes on."""
    broker.create_topic("gone", 2)
    broker.produce("gone", [(None, b"x")] * 20)
    broker.produce("t", [(None, b"x")] * 20)
    more = {} if protocol == "consumer" else {"heartbeat_interval_ms": 200}
    made = [
        kcore.Consumer(
            "t",
            "gone",
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            group_protocol=protocol,
            auto_offset_reset="earliest",
            metadata_max_age_ms=500,
            **more,
        )
        for _ in range(2)
    ]

    def read():
        return sum(len(found) for one in made for found in one.poll(timeout_ms=20).values())

    count = 0
    until_s = time.monotonic() + DEADLINE_S
    while count < 40 or not all(len(one.assignment()) == 3 for one in made):
        count += read()
        assert time.monotonic() < until_s
    broker.delete_topic("gone")
    began_s = time.monotonic()
    made.pop().close()
    assert time.monotonic() - began_s < 10  # of the 30 s that it may take
    broker.produce("t", [(None, b"y")] * 8)
    until_s = time.monotonic() + DEADLINE_S
    while count < 48:
        count += read()
        assert time.monotonic() < until_s
    made.pop().close()
