"""The topics that coordinators keep groups and transactions in, as clients see them."""

import json
import shutil
import subprocess
import threading

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

import kcore
from kcore import TopicPartition
from kcore.broker.batches import RefusedError
from kcore.cli.demo.java import TOOLS
from kcore.coordinator import Entry, partition_for
from kcore.coordinator.journal import OFFSETS_TOPIC, offset_entry, read_entry
from kcore.embedded import EmbeddedBroker
from kcore.records import encode_batch
from kcore.wire.messages import OffsetCommitKey, OffsetCommitValue

DEADLINE_S = 30
NUMBER = partition_for("g", 50)


def commit(broker, offset, group="g"):
    with kcore.Consumer(bootstrap_servers=broker.bootstrap, group_id=group) as consumer:
        consumer.commit({TopicPartition("t", 0): kcore.OffsetAndMetadata(offset, "note", -1)})


def committed(broker, group="g"):
    return broker.committed_offsets(group, "t")[0]


def read(broker, partition=NUMBER):
    """Group -> the offsets that it has committed, by what its topic says."""
    found = {}
    at = TopicPartition(OFFSETS_TOPIC, partition)
    with kcore.Consumer(bootstrap_servers=broker.bootstrap) as consumer:
        consumer.assign([at])
        consumer.seek_to_beginning()
        end = consumer.end_offsets([at])[at]
        while consumer.position(at) < end:
            for record in consumer.poll(1_000).get(at, ()):
                key, value = read_entry(Entry(bytes(record.key), bytes(record.value)))
                if isinstance(key, OffsetCommitKey):
                    found.setdefault(key.group, []).append(value.offset)
    return found


def test_a_client_reads_what_groups_have_committed():
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t")
        assert broker.topics() == {"t": 1}
        for offset in (3, 5, 8):
            commit(broker, offset)
        assert read(broker) == {"g": [3, 5, 8]}
        assert broker.topics() == {"t": 1}
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        assert OFFSETS_TOPIC in admin.list_topics(timeout=DEADLINE_S).topics
        with kcore.Admin(bootstrap_servers=broker.bootstrap) as ours:
            assert sorted(ours.list_topics()) == [OFFSETS_TOPIC, "t"]


def test_a_group_is_moved_with_its_partition():
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t")
        commit(broker, 3)
        for node in (1, 2, 3, 1):
            broker.move_leader(OFFSETS_TOPIC, NUMBER, node)
            assert committed(broker) == 3
            commit(broker, 3)
        assert read(broker) == {"g": [3] * 5}


def test_a_consumer_goes_on_while_its_coordinator_is_moved_about():
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t")
        over = threading.Event()

        def move():
            node = 0
            while not over.wait(0.05):
                broker.move_leader(OFFSETS_TOPIC, NUMBER, node % 3 + 1)
                node += 1

        options = {"group_id": "g", "auto_offset_reset": "earliest", "enable_auto_commit": False}
        with kcore.Consumer("t", bootstrap_servers=broker.bootstrap, **options) as consumer:
            consumer.poll(0)
            mover = threading.Thread(target=move)
            mover.start()
            try:
                for number in range(1, 41):
                    broker.produce("t", [(None, b"%d" % number)])
                    found = {}
                    while not found:
                        found = consumer.poll(1_000)
                    consumer.commit()
                    assert committed(broker) == number
            finally:
                over.set()
                mover.join()
        assert not broker.faults


def test_nobody_writes_to_them():
    with EmbeddedBroker() as broker:
        broker.create_topic("t")
        commit(broker, 3)
        with pytest.raises(RefusedError, match="INVALID_TOPIC_EXCEPTION"):
            broker.produce(OFFSETS_TOPIC, [(b"k", b"v")], NUMBER)
        assert read(broker) == {"g": [3]}


# In a directory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [1, 3])
def test_they_outlast_a_restart(tmp_path, nodes):
    for start in range(1, 4):
        with EmbeddedBroker(nodes=nodes, directory=tmp_path) as broker:
            if start == 1:
                broker.create_topic("t")
            else:
                assert committed(broker) == start - 1
            commit(broker, start)
            assert read(broker) == {"g": list(range(1, start + 1))}
    # Folders are made for what something is kept in.
    assert len(list((tmp_path / "node-1").glob(f"{OFFSETS_TOPIC}-*"))) == 1


def old_folder(folder, number, batches):
    """What a broker kept of a journal before it was a topic."""
    place = folder / "coordinators" / f"{OFFSETS_TOPIC}-{number}"
    place.mkdir(parents=True)
    (place / f"{0:020d}.log").write_bytes(b"".join(batches))


def old_batch(offset, *entries, **more):
    records = [(0, entry.key, entry.value) for entry in entries]
    return encode_batch(records, base_offset=offset, leader_epoch=65_536, **more)


def said(offset, group="g"):
    value = OffsetCommitValue(offset=offset, metadata="", commit_timestamp=1_700_000_000_000)
    return offset_entry(group, "t", 0, value)


@pytest.mark.parametrize("struck", [False, True])
def test_what_was_kept_before_they_were_topics_is_taken_over(tmp_path, struck):
    with EmbeddedBroker(nodes=3, directory=tmp_path) as broker:
        broker.create_topic("t")
        if struck:  # the first start after that did not end
            commit(broker, 77)
    # A journal that was written anew, and appended to; torn at its end by a crash.
    torn = old_batch(92, said(9))[:-1]
    old_folder(tmp_path, NUMBER, [old_batch(0, said(3)), old_batch(90, said(4), said(5)), torn])
    for _ in range(2):
        with EmbeddedBroker(nodes=3, directory=tmp_path) as broker:
            assert committed(broker) == 5
            assert read(broker) == {"g": [3, 4, 5]}
            assert not (tmp_path / "coordinators").exists()
            partition = broker._cluster.topics.get(OFFSETS_TOPIC).partitions[NUMBER]
            assert partition.leader_epoch > 65_536  # whoever led it before
            broker.kill(partition.leader)
            assert committed(broker) == 5
    with EmbeddedBroker(nodes=3, directory=tmp_path) as broker:
        commit(broker, 6)
        assert committed(broker) == 6


def test_files_of_another_topic_of_this_name_are_not_read(tmp_path):
    """A system that crashed may have forgotten that they were deleted."""
    with EmbeddedBroker(directory=tmp_path) as broker:
        broker.create_topic("t")
    left = tmp_path / "node-1" / "t-0"
    assert not left.exists()
    for _ in range(2):
        left.mkdir(parents=True)
        (left / "partition.metadata").write_text(f"version: 0\ntopic_id: {'7' * 32}\n")
        (left / f"{0:020d}.log").write_bytes(old_batch(0, said(1)))
        with EmbeddedBroker(directory=tmp_path) as broker:
            assert broker.end_offsets("t") == [0]
        assert not left.exists()
    with EmbeddedBroker(directory=tmp_path) as broker:
        broker.produce("t", [(None, b"v")])
    with EmbeddedBroker(directory=tmp_path) as broker:
        assert broker.end_offsets("t") == [1]


def test_an_empty_folder_of_before_is_no_matter(tmp_path):
    (tmp_path / "coordinators").mkdir()
    with EmbeddedBroker(directory=tmp_path) as broker:
        assert not (tmp_path / "coordinators").exists()
        broker.create_topic("t")
        commit(broker, 1)
    shutil.rmtree(tmp_path)


# Kafka's own tools --------------------------------------------------------------------------------


def test_kafkas_console_consumer_reads_them(installation):
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t")
        for offset in (3, 5):
            commit(broker, offset)
        options = {"bootstrap.servers": broker.bootstrap, "transactional.id": "x"}
        confluent_kafka.Producer(options).init_transactions(DEADLINE_S)
        formatters = {
            OFFSETS_TOPIC: ("OffsetsMessageFormatter", NUMBER, 2),
            "__transaction_state": ("TransactionLogMessageFormatter", partition_for("x", 50), 1),
        }
        for topic, (formatter, partition, count) in formatters.items():
            command = installation.command(
                TOOLS["kafka-console-consumer"], "--bootstrap-server", broker.bootstrap,
                "--topic", topic, "--partition", str(partition), "--offset", "earliest",
                "--max-messages", str(count), "--timeout-ms", "20000",
                "--formatter", f"org.apache.kafka.tools.consumer.{formatter}",
            )  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, done.stderr
            text = done.stdout.replace('}{"key"', '}\n{"key"')  # nothing is between them
            lines = [json.loads(line) for line in text.splitlines()]
            assert len(lines) == count
            if topic == OFFSETS_TOPIC:
                assert [line["key"]["data"]["group"] for line in lines] == ["g", "g"]
                assert [line["value"]["data"]["offset"] for line in lines] == [3, 5]
            else:
                assert lines[0]["key"]["data"]["transactionalId"] == "x"
        assert not broker.faults


@pytest.mark.parametrize("left", [None, b"", b"\0" * 54, b"version: 0\ntopic_id: 12", b"\xff\xfe"])
def test_a_folder_of_which_nothing_says_whose_it_is_is_read_as_a_kafka_does(tmp_path, left):
    """A system that crashed may have forgotten that; committed offsets were gone with it."""
    with EmbeddedBroker(directory=tmp_path) as broker:
        broker.create_topic("t")
        commit(broker, 5)
    path = tmp_path / "node-1" / f"{OFFSETS_TOPIC}-{NUMBER}" / "partition.metadata"
    said = path.read_bytes()
    path.unlink()
    if left is not None:
        path.write_bytes(left)
    for offset in (5, 6):
        with EmbeddedBroker(directory=tmp_path) as broker:
            assert committed(broker) == offset
            assert path.read_bytes() == said
            commit(broker, 6)
    assert not list(tmp_path.glob("node-1/*-stray"))


def test_what_is_asked_of_whoever_leads_is_asked_of_who_does_then():
    """`committed_offsets` and `produce` while leaders move: none is refused by who led before."""
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t", replication_factor=3)
        with kcore.Consumer(bootstrap_servers=broker.bootstrap, group_id="g") as consumer:
            consumer.assign([kcore.TopicPartition("t", 0)])
            consumer.commit({kcore.TopicPartition("t", 0): kcore.OffsetAndMetadata(7, "", -1)})
        over = threading.Event()

        def move():
            node = 0
            while not over.is_set():
                broker.move_leader(OFFSETS_TOPIC, NUMBER, node % 3 + 1)
                broker.move_leader("t", 0, node % 3 + 1)
                node += 1

        mover = threading.Thread(target=move)
        mover.start()
        try:
            for _ in range(300):
                assert committed(broker) == 7
                broker.produce("t", [(None, b"v")])
        finally:
            over.set()
            mover.join()
        assert broker.end_offsets("t") == [300]
