"""What people do with clients, on real Kafkas of older releases: a 1.1, which is older than what is
promised, the oldest that is, and what people had between that and the one of the other tests.
"""

import asyncio
import contextlib
import subprocess
import time

import confluent_kafka
import older_kafka
import pyarrow
import pytest
from member_group import GroupOfMembers

from kcore import (
    Admin,
    AsyncConsumer,
    AsyncProducer,
    Consumer,
    OffsetAndMetadata,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from kcore.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kcore.broker import BrokerConfig
from kcore.cli.demo.java import KafkaInstallation, find_java
from kcore.embedded import EmbeddedBroker
from kcore.errors import UnsupportedForMessageFormatError, UnsupportedVersionError
from kcore.wire.apis import ApiKey
from kcore.wire.releases import RELEASES, highest_versions

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow,
    pytest.mark.skipif(older_kafka.missing() is not None, reason=str(older_kafka.missing())),
]
PARTITIONS = 3
SOME = 3_000
LIMIT_S = 60
PARTS = [TopicPartition("", number) for number in range(PARTITIONS)]


@pytest.fixture(scope="module", params=older_kafka.RELEASES)
def kafka(request):
    with older_kafka.OlderKafka(request.param) as cluster:
        yield cluster


@pytest.fixture
def topic(kafka, names):
    kafka.create_topic(names.topic, PARTITIONS)
    return names.topic


@pytest.fixture
def client(kafka):
    """Clients on that Kafka, closed when the test is over."""
    with contextlib.ExitStack() as opened:
        yield lambda kind, *given, **options: opened.enter_context(
            kind(*given, bootstrap_servers=kafka.bootstrap, **options)
        )


def expect(kafka, since, what):
    """A block that works on releases from this one on, and is refused in words before it."""
    if kafka.release >= since:
        return contextlib.nullcontext()
    return pytest.raises(UnsupportedVersionError, match=what)


def parts(topic):
    return [part._replace(topic=topic) for part in PARTS]


def numbers(count, start=0):
    return [b"%d" % number for number in range(start, start + count)]


def write(producer, topic, values, **given):
    for future in [producer.send(topic, value, key=value, **given) for value in values]:
        future.get(LIMIT_S)


def read(consumer, count):
    """So many values, and none more."""
    found, until = [], time.monotonic() + LIMIT_S
    while len(found) < count:
        assert time.monotonic() < until, len(found)
        for records in consumer.poll(500).values():
            found += [record.value for record in records]
    assert len(found) == count
    return found


def test_what_is_spoken_is_what_the_table_says(kafka, client):
    """With a ZooKeeper there is no UnregisterBroker; a 1.1 is in no column."""
    admin = client(Admin)
    served = admin.api_versions()
    assert admin.get_broker_version_data(1).broker_version == (
        kafka.release if kafka.release in RELEASES else (1, 0)
    )
    if kafka.release not in RELEASES:
        return
    told = highest_versions(kafka.release)
    different = {
        api.name for api, highest in told.items() if highest != served.get(int(api), (0, -1))[1]
    }
    # Version 0 of these is nothing that we speak; the other came with KRaft.
    assert different <= {ApiKey.WRITE_TXN_MARKERS.name, ApiKey.UNREGISTER_BROKER.name}


@pytest.mark.parametrize("transport", ["blocking", "gevent"])
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_group_reads_and_commits(kafka, client, topic, names, strategy, transport):
    write(client(Producer), topic, numbers(SOME))
    options = {
        "group_id": names.group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "partition_assignment_strategy": strategy,
        "transport": transport,
    }
    reader = client(Consumer, topic, **options)
    assert sorted(read(reader, SOME)) == sorted(numbers(SOME))
    reader.commit()
    ends = kafka.end_offsets(topic)
    assert kafka.group_offsets(names.group, topic) == ends
    reader.close()
    write(client(Producer), topic, numbers(10, SOME))
    assert sorted(read(client(Consumer, topic, **options), 10)) == sorted(numbers(10, SOME))


def test_members_come_and_go_and_are_killed(kafka, topic, names, tmp_path):
    group = GroupOfMembers(kafka.bootstrap, topic, names.group, tmp_path)
    try:
        members = [group.add() for _ in range(PARTITIONS)]
        group.wait_shared(members, PARTITIONS)
        kafka.produce(topic, [(value, value) for value in numbers(SOME)])
        group.kill(members.pop())
        group.wait_shared(members, PARTITIONS)
        members.append(group.add())
        group.wait_shared(members, PARTITIONS)
        kafka.produce(topic, [(value, value) for value in numbers(SOME, SOME)])
        ends = kafka.end_offsets(topic)
        group.wait_read(lambda: ends)
        group.stop()
        group.sessions.check(ends)
    finally:
        group.stop()


def test_a_static_member_comes_back_to_what_it_had(kafka, client, topic, names):
    write(client(Producer), topic, numbers(30))
    options = {"group_id": names.group, "group_instance_id": "one", "auto_offset_reset": "earliest"}
    with expect(kafka, (2, 3), "group_instance_id needs brokers of release 2.3"):
        first = client(Consumer, topic, **options)
        read(first, 30)
        first.close()
        again = client(Consumer, topic, **options)
        write(client(Producer), topic, numbers(1))
        assert read(again, 1) == numbers(1)
        assert again.assignment() == set(parts(topic))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(kafka, client, topic, codec):
    producer = client(Producer, compression_type=codec, linger_ms=50)
    since = (2, 1) if codec == "zstd" else (0, 11)
    with expect(kafka, since, r"zstd.* needs brokers of release 2\.1"):
        write(producer, topic, numbers(SOME))
        reader = client(Consumer, auto_offset_reset="earliest")
        reader.assign(parts(topic))
        assert sorted(read(reader, SOME)) == sorted(numbers(SOME))
        assert read_by_others(kafka, topic, SOME) == sorted(numbers(SOME))


def read_by_others(kafka, topic, count):
    theirs = confluent_kafka.Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "unused", "check.crcs": True}
    )
    theirs.assign(
        [confluent_kafka.TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
    )
    found, until = [], time.monotonic() + LIMIT_S
    while len(found) < count and time.monotonic() < until:
        found += [message.value() for message in theirs.consume(1_000, 0.5)]
    theirs.close()
    return sorted(found)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("form", ["0.9.0", "0.10.0"])
@pytest.mark.parametrize("kafka", ["1.1.1", "2.1.1", "2.8.2"], indirect=True)
def test_messages_that_are_kept_in_an_old_format(kafka, client, names, form, codec):
    """v0 and v1 as brokers write them: those of 3 and later write nothing but v2."""
    kafka.create_topic(names.topic, PARTITIONS, configs={"message.format.version": form})
    with pytest.raises(UnsupportedForMessageFormatError, match="enable_idempotence=False"):
        write(client(Producer), names.topic, numbers(1))
    plain = {"enable_idempotence": False, "linger_ms": 50}
    write(client(Producer, compression_type=codec, **plain), names.topic, numbers(SOME))
    reader = client(Consumer, auto_offset_reset="earliest", check_crcs=True)
    reader.assign(parts(names.topic))
    assert sorted(read(reader, SOME)) == sorted(numbers(SOME))
    reader.seek_to_beginning()
    rows, until = 0, time.monotonic() + LIMIT_S
    while rows < SOME and time.monotonic() < until:
        rows += pyarrow.record_batch(reader.poll_arrow(500)).num_rows
    assert rows == SOME
    part = parts(names.topic)[0]
    reader.assign([part])
    reader.seek(part, 7)  # in the middle of what was compressed in one
    assert reader.poll(10_000)[part][0].offset == 7


def test_transactions(client, topic):
    producer = client(Producer, transactional_id=f"tx-{topic}")
    producer.init_transactions()
    for number in range(3):
        producer.begin_transaction()
        write(producer, topic, numbers(10, 10 * number))
        (producer.abort_transaction if number == 1 else producer.commit_transaction)()
    reader = client(Consumer, auto_offset_reset="earliest", isolation_level="read_committed")
    reader.assign(parts(topic))
    assert sorted(read(reader, 20)) == sorted(numbers(10) + numbers(10, 20))


def test_consume_transform_produce(kafka, client, topic, names):
    write(client(Producer), topic, numbers(SOME))
    kafka.create_topic(names.topic + "-out", PARTITIONS)
    producer = client(Producer, transactional_id=f"move-{topic}")
    producer.init_transactions()
    reader = client(
        Consumer,
        topic,
        group_id=names.group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    moved, until = 0, time.monotonic() + LIMIT_S
    while moved < SOME and time.monotonic() < until:
        got = reader.poll(500)
        if not got:
            continue
        producer.begin_transaction()
        for records in got.values():
            for record in records:
                producer.send(names.topic + "-out", record.value)
            moved += len(records)
        offsets = {tp: OffsetAndMetadata(rs[-1].offset + 1, "", -1) for tp, rs in got.items()}
        member = reader.group_metadata() if kafka.release >= (2, 5) else names.group
        producer.send_offsets_to_transaction(offsets, member)
        producer.commit_transaction()
    out = client(Consumer, auto_offset_reset="earliest", isolation_level="read_committed")
    out.assign(parts(names.topic + "-out"))
    assert sorted(read(out, SOME)) == sorted(numbers(SOME))


def test_group_metadata_in_a_transaction_is_refused_in_words_before_2_5(
    kafka, client, topic, names
):
    producer = client(Producer, transactional_id=f"refused-{topic}")
    producer.init_transactions()
    reader = client(Consumer, topic, group_id=names.group, auto_offset_reset="earliest")
    write(client(Producer), topic, numbers(3))
    read(reader, 3)
    producer.begin_transaction()
    offsets = {parts(topic)[0]: OffsetAndMetadata(1, "", -1)}
    with expect(kafka, (2, 5), "since 2.5.*give the group id"):
        producer.send_offsets_to_transaction(offsets, reader.group_metadata())
        producer.commit_transaction()


def test_under_asyncio(kafka, topic, names):
    async def main():
        servers = {"bootstrap_servers": kafka.bootstrap}
        async with AsyncProducer(**servers) as producer:
            for value in numbers(300):
                await producer.send(topic, value)
            await producer.flush()
        found = []
        options = {"group_id": names.group, "auto_offset_reset": "earliest"}
        async with AsyncConsumer(topic, **servers, **options) as consumer:
            async for record in consumer:
                found.append(record.value)
                if len(found) == 300:
                    break
        assert sorted(found) == sorted(numbers(300))

    asyncio.run(asyncio.wait_for(main(), LIMIT_S))


def test_offsets_by_time_and_by_place(client, topic):
    producer, reader = client(Producer), client(Consumer)
    part = parts(topic)[1]
    for number in range(5):
        stamp = 1_700_000_000_000 + number
        producer.send(topic, b"x", partition=1, timestamp_ms=stamp).get(LIMIT_S)
    assert reader.beginning_offsets([part]) == {part: 0}
    assert reader.end_offsets([part]) == {part: 5}
    found = reader.offsets_for_times({part: 1_700_000_000_003})[part]
    assert (found.offset, found.timestamp) == (3, 1_700_000_000_003)
    assert reader.offsets_for_times({part: 1_800_000_000_000}) == {part: None}


def test_administration(kafka, client, names):
    admin = client(Admin)
    topic, resource = names.topic, ConfigResource(ConfigResourceType.TOPIC, names.topic)
    admin.create_topics([NewTopic(topic, 2, 1, topic_configs={"retention.ms": "7200000"})])
    admin.create_partitions({topic: NewPartitions(PARTITIONS)})
    kafka.produce(topic, [(None, value) for value in numbers(30)], partition=0)
    assert len(admin.describe_topics([topic])[0]["partitions"]) == PARTITIONS
    assert topic in admin.list_topics()
    described = admin.describe_configs([resource])["topic"][topic]
    assert described["retention.ms"]["value"] == "7200000"
    with expect(kafka, (2, 3), r"INCREMENTAL_ALTER_CONFIGS at all; Apache Kafka 2\.4 does"):
        changed = {"retention.ms": "3600000"}
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, changed)])
        described = admin.describe_configs([resource])["topic"][topic]
        assert described["retention.ms"]["value"] == "3600000"
    part = parts(topic)[0]
    admin.delete_records({part: 10})
    assert client(Consumer).beginning_offsets([part]) == {part: 10}
    reader = client(Consumer, topic, group_id=names.group, auto_offset_reset="earliest")
    read(reader, 20)
    reader.commit()
    (state,) = admin.describe_groups([names.group]).values()
    assert state["group_state"] == "Stable"
    assert [member["client_id"] for member in state["members"]] == [reader.config["client_id"]]
    reader.close()
    assert admin.list_group_offsets([names.group])[names.group][part].offset == 30
    assert names.group in {group["group_id"] for group in admin.list_groups()}
    assert admin.delete_groups([names.group]) == {names.group: "OK"}
    admin.delete_topics([topic])
    assert admin.describe_cluster()["controller_id"] == 1


def test_a_group_of_the_consumer_protocol(kafka, client, topic, names):
    write(client(Producer), topic, numbers(SOME))
    options = {"group_id": names.group, "group_protocol": "consumer"}
    with expect(kafka, (4, 0), r"Apache Kafka 4\.0 or later"):
        first = client(Consumer, topic, auto_offset_reset="earliest", **options)
        assert sorted(read(first, SOME)) == sorted(numbers(SOME))
        first.commit()
        second = client(Consumer, topic, **options)
        until = time.monotonic() + LIMIT_S
        while not (first.assignment() and second.assignment()) and time.monotonic() < until:
            assert not first.poll(100)
            assert not second.poll(100)
        assert first.assignment() | second.assignment() == set(parts(topic))
        assert not first.assignment() & second.assignment()


def test_a_share_group(kafka, client, topic, names):
    admin = client(Admin)
    options = {"group_id": names.group}
    if kafka.release >= (4, 1):
        group = ConfigResource(
            ConfigResourceType.GROUP, names.group, {"share.auto.offset.reset": "earliest"}
        )
        admin.alter_configs([group])
    write(client(Producer), topic, numbers(300))
    with expect(kafka, (4, 1), r"Apache Kafka 4\.1 or later"):
        member = client(ShareConsumer, topic, **options)
        assert sorted(read(member, 300)) == sorted(numbers(300))
        member.commit_sync()
        (state,) = admin.describe_groups([names.group]).values()
        assert state["group_type"] == "share"


def test_what_is_not_served_is_said_with_who_does(kafka, client):
    with expect(kafka, (3, 0), r"at all; Apache Kafka 3\.0 does"):
        assert client(Admin).list_transactions() is not None
    with expect(kafka, (4, 1), r"Apache Kafka 3\.7 does|before 4\.1"):
        client(Admin).list_config_resources()


@pytest.mark.parametrize("release", ["2.1.1", "2.8.2"])
def test_a_leader_dies_while_it_is_written_and_read(release, names):
    with older_kafka.OlderKafka(release, nodes=3) as cluster:
        cluster.create_topic(names.topic, PARTITIONS)
        servers = {"bootstrap_servers": cluster.bootstrap}
        options = {"group_id": names.group, "auto_offset_reset": "earliest"}
        with Producer(**servers) as producer, Consumer(names.topic, **servers, **options) as reader:
            write(producer, names.topic, numbers(300))
            found = read(reader, 300)
            cluster.kill(0)
            futures = [producer.send(names.topic, value) for value in numbers(300, 300)]
            found += read(reader, 300)
            for future in futures:
                future.get(LIMIT_S)
            cluster.restart(0)
            write(producer, names.topic, numbers(300, 600))
            found += read(reader, 300)
        assert sorted(found) == sorted(numbers(900))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_brokers_are_upgraded_one_by_one_under_running_clients(installation, names, protocol):
    """What a link speaks changes with each node, and topic ids come in; nobody is started anew."""
    release = "3.9.1" if protocol == "classic" else "4.0.1"
    with older_kafka.OlderKafka(release, nodes=3) as cluster:
        cluster.create_topic(names.topic, PARTITIONS)
        servers = {"bootstrap_servers": cluster.bootstrap}
        options = {"group_id": names.group, "group_protocol": protocol}
        options["auto_offset_reset"] = "earliest"
        with (
            Producer(**servers) as producer,
            Producer(transactional_id=names.group, **servers) as transactional,
            Consumer(names.topic, **servers, **options) as reader,
        ):
            transactional.init_transactions()
            for number in range(-1, 3):
                if number >= 0:
                    cluster.upgrade(number, installation)
                for part in range(3):
                    write(producer, names.topic, [b"%d/%d" % (number, part)], partition=part)
                    transactional.begin_transaction()
                    write(transactional, names.topic, [b"%d/%d t" % (number, part)], partition=part)
                    transactional.commit_transaction()
                assert len(set(read(reader, 6))) == 6
                reader.commit()
            admin = Admin(**servers)
            versions = {admin.get_broker_version_data(node + 1).broker_version for node in range(3)}
            admin.close()
            assert versions == {(4, 4)}
        with Consumer(names.topic, **servers, **options) as reader:
            assert not reader.poll(3_000)  # all is committed, once
            assert reader.assignment() == set(parts(names.topic))


@pytest.mark.parametrize("spoken", [None, (2, 1), (3, 9)], ids=str)
@pytest.mark.parametrize("release", ["1.1.1", "2.1.1", "2.8.2"])
def test_their_tools_on_the_embedded_broker(release, spoken, names):
    config = BrokerConfig(release=spoken) if spoken else BrokerConfig()
    tools = KafkaInstallation(find_java(), older_kafka.JARS / release)

    def run(name, *args, **given):
        command = tools.command(f"kafka.tools.Console{name}", *args, "--topic", names.topic)
        return subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, check=True, **given
        ).stdout

    with EmbeddedBroker(config=config) as broker:
        broker.create_topic(names.topic, PARTITIONS)
        lines = "".join(f"{number}\n" for number in range(SOME))
        run(
            "Producer",
            "--broker-list",
            broker.bootstrap,
            "--request-required-acks=all",
            input=lines,
        )
        wanted = f"--from-beginning --max-messages {SOME} --group {names.group}".split()
        found = run("Consumer", "--bootstrap-server", broker.bootstrap, *wanted)
        assert sorted(found.split()) == sorted(lines.split())
        with Consumer(bootstrap_servers=broker.bootstrap, group_id=names.group) as reader:
            assert sum(reader.committed(part) for part in parts(names.topic)) == SOME
