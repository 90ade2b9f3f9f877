"""A broker with a directory: what a restart keeps, and what a crash may not take."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

import kcore
from kcore import TopicPartition
from kcore.cli.demo.java import TOOLS
from kcore.cli.demo.kafka_node import free_ports
from kcore.embedded import EmbeddedBroker
from kcore.errors import UsageError

DEADLINE_S = 30


@pytest.fixture
def start(tmp_path):
    """A broker on the test's folder; `with start():`, again and again."""

    def make(nodes=1, **options):
        return EmbeddedBroker(nodes, directory=tmp_path / "kept", **options)

    return make


def read(broker, topic, **options):
    """Every record of a topic, as (partition, offset, value)."""
    options = {"bootstrap_servers": broker.bootstrap, "auto_offset_reset": "earliest"} | options
    with kcore.Consumer(**options) as reader:
        parts = [TopicPartition(topic, number) for number in range(broker.topics()[topic])]
        reader.assign(parts)
        ends = reader.end_offsets(parts)
        found = []
        end = time.monotonic() + DEADLINE_S
        while any(reader.position(part) < ends[part] for part in parts):
            assert time.monotonic() < end
            for part, records in reader.poll(timeout_ms=50).items():
                found += [(part.partition, record.offset, record.value) for record in records]
        return sorted(found)


def test_topics_and_records_are_there_after_a_restart(start):
    with start() as broker:
        broker.create_topic("t", 3, settings={"retention.ms": "12345"})
        broker.create_topic("gone")
        broker.delete_topic("gone")
        broker.produce("t", [(None, b"v%d" % number) for number in range(90)])
        before = read(broker, "t")
        topic_id = broker._cluster.topics.id_of("t")
    for _ in range(3):
        with start() as broker:
            assert broker.topics() == {"t": 3}
            assert broker._cluster.topics.id_of("t") == topic_id
            assert broker._cluster.topics.get("t").settings == {"retention.ms": "12345"}
            assert read(broker, "t") == before
            assert not broker.faults
    with start() as broker:
        broker.produce("t", [(None, b"more")], partition=1)
        assert (1, 30, b"more") in read(broker, "t")


def test_topics_that_are_alike_but_for_dots_are_there_after_a_restart(start):
    with start() as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        alike = [NewTopic("a.b", 1), NewTopic("a_b", 1)]
        for future in admin.create_topics(alike).values():
            future.result(DEADLINE_S)
    for _ in range(2):
        with start() as broker:
            assert set(broker.topics()) == {"a.b", "a_b"}


def test_leader_epochs_go_on(start):
    def epochs(broker):
        return [part.leader_epoch for part in broker._cluster.topics.get("t").partitions]

    with start(3) as broker:
        broker.create_topic("t", 2, replication_factor=3)
        for node in (2, 3, 1):
            broker.move_leader("t", 0, node)
        before = epochs(broker)
    with start(3) as broker:
        after = epochs(broker)
        assert all(new > old for new, old in zip(after, before, strict=True))
        assert broker._cluster.topics.get("t").partitions[0].leader == 1


def test_records_of_every_replica_are_kept(start):
    with start(3) as broker:
        broker.create_topic("t", 3, replication_factor=3)
        broker.produce("t", [(None, b"v%d" % number) for number in range(30)])
        broker.kill(2)
        broker.produce("t", [(None, b"w%d" % number) for number in range(30)])
        before = read(broker, "t")
    with start(3) as broker:
        assert read(broker, "t") == before
        for partition in broker._cluster.topics.get("t").partitions:
            assert [log.end_offset for log in partition.logs.values()] == [20, 20, 20]
            assert sorted(partition.isr) == [1, 2, 3]
        for node in (1, 3):
            broker.kill(node)
        assert read(broker, "t") == before


def test_a_replica_that_was_behind_does_not_lead_after_a_restart(start):
    with start(2) as broker:
        broker.create_topic("t", 1, replication_factor=2)
        broker.produce("t", [(None, b"both")])
        broker.kill(1)
        broker.produce("t", [(None, b"only 2")])
    with start(2) as broker:
        assert [value for _, _, value in read(broker, "t")] == [b"both", b"only 2"]


def test_groups_are_there_after_a_restart(start):
    with start() as broker:
        broker.create_topic("t", 2)
        broker.produce("t", [(None, b"v")] * 10)
        with kcore.Consumer(
            "t",
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as reader:
            seen = 0
            while seen < 10:
                seen += sum(map(len, reader.poll(timeout_ms=50).values()))
            reader.commit()
    with start() as broker:
        with kcore.Consumer(bootstrap_servers=broker.bootstrap, group_id="g") as reader:
            assert [reader.committed(TopicPartition("t", number)) for number in (0, 1)] == [5, 5]
        assert not broker.faults


def test_members_go_on_over_a_restart(tmp_path):
    options = {"directory": tmp_path, "flush": "always", "port": free_ports(1)[0]}
    first = EmbeddedBroker(**options).start()
    first.create_topic("t", 2)
    with kcore.Consumer(
        "t",
        bootstrap_servers=first.bootstrap,
        group_id="g",
        auto_offset_reset="earliest",  # it may not know yet where to begin when the broker ends
        heartbeat_interval_ms=100,
        retry_backoff_ms=10,
        reconnect_backoff_ms=10,
    ) as member:
        while not member.assignment():
            member.poll(timeout_ms=50)
        generation = member.group_metadata().generation_id
        first.stop()
        with EmbeddedBroker(**options) as again:
            again.produce("t", [(None, b"after")])
            found = []
            end = time.monotonic() + DEADLINE_S
            while not found and time.monotonic() < end:
                for records in member.poll(timeout_ms=50).values():
                    found += [record.value for record in records]
            assert found == [b"after"]
            assert member.group_metadata().generation_id == generation
            member.close()
            assert not again.faults


def test_producers_are_known_after_a_restart(start):
    options = {"enable.idempotence": True, "linger.ms": 0}
    port = free_ports(1)[0]  # one that nobody gets while the broker is away
    with start(port=port) as broker:
        broker.create_topic("t")
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap} | options)
        producer.produce("t", b"before")
        assert producer.flush(DEADLINE_S) == 0
        first_id = broker._cluster.new_producer_id()
    with start(port=port) as broker:
        assert broker._cluster.new_producer_id() > first_id
        producer.produce("t", b"after")
        assert producer.flush(DEADLINE_S) == 0
        assert [value for _, _, value in read(broker, "t")] == [b"before", b"after"]


def test_deleted_records_stay_deleted(start):
    with start() as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"v%d" % number) for number in range(5)])
        broker.produce("t", [(None, b"w%d" % number) for number in range(5)])
        partition = broker._cluster.topics.get("t").partitions[0]
        broker._server.call(lambda now_ms: partition.delete_before(7, now_ms))
    with start() as broker:
        assert [offset for _, offset, _ in read(broker, "t")] == [7, 8, 9]


def test_a_leader_without_a_replica_gets_one_on_disk(start):
    with start(2) as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"before")])
        old = broker._cluster.topics.get("t").partitions[0].leader
        broker.move_leader("t", 0, 3 - old)
        broker.produce("t", [(None, b"after")])
    with start(2) as broker:
        assert broker._cluster.topics.get("t").partitions[0].replicas == [3 - old]
        assert [value for _, _, value in read(broker, "t")] == [b"before", b"after"]


def test_a_topic_made_again_has_nothing_of_the_one_before(start):
    with start() as broker:
        for value in (b"old", b"new"):
            broker.create_topic("t")
            broker.produce("t", [(None, value)])
            assert [found for _, _, found in read(broker, "t")] == [value]
            if value == b"old":
                broker.delete_topic("t")
    with start() as broker:
        assert [found for _, _, found in read(broker, "t")] == [b"new"]


def test_a_transaction_is_decided_over_a_restart(start):
    options = {"transactional.id": "x", "transaction.timeout.ms": 10_000}
    port = free_ports(1)[0]
    with start(port=port) as broker:
        broker.create_topic("t")
        producer = confluent_kafka.Producer({"bootstrap.servers": broker.bootstrap} | options)
        producer.init_transactions(DEADLINE_S)
        for value, end in ((b"yes", "commit"), (b"no", "abort"), (b"open", None)):
            producer.begin_transaction()
            producer.produce("t", value)
            producer.flush(DEADLINE_S)
            if end is not None:
                getattr(producer, f"{end}_transaction")(DEADLINE_S)
    committed = {"isolation_level": "read_committed"}
    with start(port=port) as broker:
        assert [found for _, _, found in read(broker, "t")] == [b"yes", b"no", b"open"]
        producer.commit_transaction(DEADLINE_S)
        assert [found for _, _, found in read(broker, "t", **committed)] == [b"yes", b"open"]
        assert not broker.faults
    with start() as broker:
        assert [found for _, _, found in read(broker, "t", **committed)] == [b"yes", b"open"]


def log_bytes(tmp_path):
    sizes = []
    for path in (tmp_path / "kept" / "node-1").glob("*/*.log"):
        with suppress(FileNotFoundError):  # it has just been deleted
            sizes.append(path.stat().st_size)
    return sum(sizes)


def test_what_compaction_has_left_is_what_is_kept(start, tmp_path):
    settings = {
        "cleanup.policy": "compact",
        "segment.bytes": "1048576",
        "segment.ms": "1000",
        "min.cleanable.dirty.ratio": "0.01",
    }
    with start() as broker:
        broker.create_topic("t", settings=settings)
        for number in range(50):
            broker.produce("t", [(b"key-%d" % (number % 3), b"%d" % number + b" " * 1_000)])
            broker.let_time_pass(2_000)
        end = time.monotonic() + DEADLINE_S
        while log_bytes(tmp_path) > 10_000:  # of 50,000
            assert time.monotonic() < end
            broker.let_time_pass(60_000)
            time.sleep(0.02)
        left = read(broker, "t")
        assert len(left) < 10
        assert left[-1][1] == 49
    with start() as broker:
        assert read(broker, "t") == left
        assert not broker.faults


def test_what_retention_has_taken_is_gone_from_the_folder(start, tmp_path):
    with start() as broker:
        broker.create_topic("t", settings={"retention.ms": "60000", "segment.ms": "1000"})
        broker.produce("t", [(None, b"old" * 1_000)])
        broker.let_time_pass(3_600_000)
        end = time.monotonic() + DEADLINE_S
        while log_bytes(tmp_path):
            assert time.monotonic() < end
            broker.let_time_pass(60_000)
            time.sleep(0.02)
        assert broker.end_offsets("t") == [1]
    with start() as broker:
        assert broker.end_offsets("t") == [1]
        broker.produce("t", [(None, b"new")])
        assert [(offset, value) for _, offset, value in read(broker, "t")] == [(1, b"new")]


class PowerCut:
    """What a machine has on its disk: of a file, what was there when it was synced last.

    A file that was put in the place of another is there whole, as it is synced before; one that
    was made is not there until its folder is synced.
    """

    def __init__(self, folder, monkeypatch):
        self._folder = folder
        self._sizes = {}
        sync = os.fdatasync

        def note(fd):
            sync(fd)
            self._sizes[os.readlink(f"/proc/self/fd/{fd}")] = os.fstat(fd).st_size

        monkeypatch.setattr("os.fdatasync", note)

    def cut(self, to):
        """A copy of the folder as it is after it."""
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self._folder, to)
        for path in to.rglob("*"):
            original = str(self._folder / path.relative_to(to))
            if path.is_file() and path.suffix == ".log" and path.name != "cluster.log":
                os.truncate(path, self._sizes.get(original, 0))


def test_a_power_cut_takes_nothing_that_was_answered_if_it_is_always_flushed(tmp_path, monkeypatch):
    power = PowerCut(tmp_path / "kept", monkeypatch)
    with EmbeddedBroker(3, directory=tmp_path / "kept", flush="always") as broker:
        broker.create_topic("t", 2, replication_factor=3)
        for number in range(20):
            broker.produce("t", [(None, b"v%d" % number)], number % 2)
            with kcore.Consumer(bootstrap_servers=broker.bootstrap, group_id="g") as one:
                one.commit({TopicPartition("t", 0): kcore.OffsetAndMetadata(number, "", -1)})
            if number % 5 == 4:
                power.cut(tmp_path / "after")
                with EmbeddedBroker(3, directory=tmp_path / "after") as again:
                    values = {value for _, _, value in read(again, "t")}
                    assert values == {b"v%d" % each for each in range(number + 1)}
                    with kcore.Consumer(bootstrap_servers=again.bootstrap, group_id="g") as one:
                        assert one.committed(TopicPartition("t", 0)) == number


def test_one_folder_is_for_one_broker(start, tmp_path):
    with start() as broker:
        broker.create_topic("t")
        with pytest.raises(UsageError, match="in use"):
            start().start()
        assert broker.topics() == {"t": 1}
    with start():
        pass


def test_a_folder_of_more_nodes_wants_them(start):
    with start(3) as broker:
        broker.create_topic("t", 3, replication_factor=3)
    with pytest.raises(UsageError, match="node 3"):
        start(2).start()
    with start(3) as broker:
        assert broker.topics() == {"t": 3}


def test_the_folder_of_an_unknown_topic_is_set_aside(start, tmp_path):
    with start() as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"v")])
    about = tmp_path / "kept" / "cluster.log"
    lines = about.read_bytes().splitlines(keepends=True)
    about.write_bytes(b"".join(line for line in lines if b'"topic"' not in line))
    with start() as broker:
        assert broker.topics() == {}
        broker.create_topic("t")
        assert broker.end_offsets("t") == [0]
    [stray] = (tmp_path / "kept" / "node-1").glob("*-stray")
    assert [path.suffix for path in stray.glob("*.log")] == [".log"]


def test_the_last_lines_of_a_torn_file_are_cut(start, tmp_path):
    with start() as broker:
        for number in range(3):
            broker.create_topic(f"t{number}")
    about = tmp_path / "kept" / "cluster.log"
    whole = about.read_bytes()
    first = whole.index(b'"name":"t0"')
    for cut in range(first, len(whole), 31):
        shutil.rmtree(tmp_path / "again", ignore_errors=True)
        shutil.copytree(tmp_path / "kept", tmp_path / "again")
        (tmp_path / "again" / "cluster.log").write_bytes(whole[:cut])
        with EmbeddedBroker(directory=tmp_path / "again", in_memory=True) as broker:
            found = list(broker.topics())
            assert found == ["t0", "t1", "t2"][: len(found)]
            broker.create_topic("new")
        with EmbeddedBroker(directory=tmp_path / "again", in_memory=True) as broker:
            assert list(broker.topics()) == ["new", *found]


def test_a_file_that_is_damaged_before_its_end_is_put_aside(start, tmp_path, caplog):
    with start() as broker:
        broker.create_topic("t")
        broker.create_topic("u")
    about = tmp_path / "kept" / "cluster.log"
    aside = about.with_name("cluster.log.damaged")
    damaged = about.read_bytes().replace(b'"name":"t"', b'"name":"x"', 1)
    about.write_bytes(damaged)
    with start() as broker:
        assert broker.topics() == {}
    assert aside.read_bytes() == damaged
    assert "cluster.log.damaged" in caplog.text
    aside.unlink()
    about.write_bytes(about.read_bytes() + b"torn")
    with start():
        assert not aside.exists()


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda _whole: b"no line of ours\n\xff\xfe\n", id="another-file"),
        pytest.param(lambda _whole: b"\xff" * 200, id="not-one-line"),
        pytest.param(lambda whole: whole[:-3] + b"!}\n", id="the-last-line"),
        pytest.param(lambda whole: whole + b"{}\n{}\n", id="more-behind-it"),
    ],
)
def test_what_no_crash_does_to_a_file_is_put_aside(start, tmp_path, caplog, harm):
    with start() as broker:
        broker.create_topic("t")
    about = tmp_path / "kept" / "cluster.log"
    aside = about.with_name("cluster.log.damaged")
    damaged = harm(about.read_bytes())
    about.write_bytes(damaged)
    with start():
        pass
    assert aside.read_bytes() == damaged
    assert "cluster.log.damaged" in caplog.text


@pytest.mark.parametrize("flush", ["always", 10])
def test_what_is_answered_is_synced(tmp_path, flush, monkeypatch):
    synced = []
    sync = os.fdatasync
    monkeypatch.setattr("os.fdatasync", lambda fd: (synced.append(fd), sync(fd)))
    with EmbeddedBroker(directory=tmp_path, flush=flush, in_memory=True) as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"v")])
        assert not broker._store.sync_first
        with kcore.Consumer(
            transport=broker.transport(), bootstrap_servers=broker.bootstrap, group_id="g"
        ) as one:
            one.commit({TopicPartition("t", 0): kcore.OffsetAndMetadata(1, "", -1)})
        end = time.monotonic() + DEADLINE_S
        while broker._store.disk.dirty and time.monotonic() < end:
            time.sleep(0.01)
        assert synced
        assert not broker._store.disk.dirty


def test_a_full_disk_is_no_answer(tmp_path, monkeypatch):
    with EmbeddedBroker(directory=tmp_path) as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"kept")])

        def full(_fd, _data):
            raise OSError(28, "No space left on device")

        producer = confluent_kafka.Producer(
            {"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 1_000}
        )
        errors = []
        with monkeypatch.context() as patched:
            patched.setattr("kcore.embedded.disk.os.write", full)
            producer.produce("t", b"lost", on_delivery=lambda error, _: errors.append(error))
            producer.flush(DEADLINE_S)
        assert errors[0] is not None
        assert "No space" in str(broker.faults[0])
    with EmbeddedBroker(directory=tmp_path) as broker:
        assert [value for _, _, value in read(broker, "t")] == [b"kept"]


# Killed -------------------------------------------------------------------------------------------

SERVE = """
import sys, signal
from kcore.embedded import EmbeddedBroker
directory, port, flush = sys.argv[1], int(sys.argv[2]), sys.argv[3]
flush = int(flush) if flush.isdigit() else flush
broker = EmbeddedBroker(3, port=port, directory=directory, flush=flush).start()
if not broker.topics():
    broker.create_topic("t", 3, replication_factor=3)
print(broker.bootstrap, flush=True)
signal.pause()
"""


SENT_MIN = 60  # a round, however busy the machine is


def killed_rounds(tmp_path, rounds, flush):
    """Kill a broker under a producing client, again and again; every acknowledged record is there,
    once, in its order.
    """
    free = {*free_ports(500)}
    port = next(port for port in free if {port + 1, port + 2} <= free)  # three nodes
    acknowledged = []
    producer = None
    sent = sent_before = 0
    for round_number in range(rounds):
        command = [sys.executable, "-c", SERVE, str(tmp_path / "kept"), str(port), flush]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
            bootstrap = served.stdout.readline().strip()
            assert bootstrap, "the broker did not come back"
            if producer is None:
                producer = confluent_kafka.Producer(
                    {
                        "bootstrap.servers": bootstrap,
                        "enable.idempotence": True,
                        "linger.ms": 1,
                        "reconnect.backoff.ms": 10,
                        "reconnect.backoff.max.ms": 50,
                        "log_level": 0,
                    }
                )
            until = time.monotonic() + 0.1 + 0.05 * (round_number % 7)
            while time.monotonic() < until or sent - sent_before < SENT_MIN:
                for _ in range(20):
                    producer.produce(
                        "t",
                        b"%d" % sent,
                        b"k",
                        partition=sent % 3,
                        on_delivery=lambda error, message: (
                            acknowledged.append(int(message.value())) if error is None else None
                        ),
                    )
                    sent += 1
                producer.poll(0.002)
            sent_before = sent
            served.send_signal(signal.SIGKILL)
    with EmbeddedBroker(3, port=port, directory=tmp_path / "kept") as broker:
        producer.flush(DEADLINE_S)
        values = [(part, int(value)) for part, _, value in read(broker, "t")]
    assert acknowledged
    kept = {value for _, value in values}
    assert not set(acknowledged) - kept
    assert len(values) == len(kept)  # nothing twice: the producer's sequences are known
    for part in range(3):
        mine = [value for number, value in values if number == part]
        assert mine == sorted(mine)
    return len(acknowledged)


def test_a_killed_broker_loses_nothing_that_it_answered(tmp_path):
    assert killed_rounds(tmp_path, 3, "never") > 100


@pytest.mark.slow
@pytest.mark.parametrize("flush", ["never", "always", "20"])
def test_many_kills(tmp_path, flush):
    assert killed_rounds(tmp_path, 40, flush) > 1_000


# Kafka's own tool ---------------------------------------------------------------------------------


def test_kafkas_own_tool_reads_the_files(installation, tmp_path):
    with EmbeddedBroker(directory=tmp_path) as broker:
        broker.create_topic("t")
        for count in (1, 2, 3):
            broker.produce("t", [(b"k", b"value-%d" % count)] * count)
        with kcore.Consumer(bootstrap_servers=broker.bootstrap, group_id="dumped") as one:
            one.commit({TopicPartition("t", 0): kcore.OffsetAndMetadata(4, "note", -1)})
        options = {"bootstrap.servers": broker.bootstrap, "transactional.id": "x"}
        confluent_kafka.Producer(options).init_transactions(DEADLINE_S)

    def dump(path, *options):
        command = installation.command(
            TOOLS["kafka-dump-log"],
            *("--files", str(path), "--print-data-log", *options),
        )
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    [log] = (tmp_path / "node-1" / "t-0").glob("*.log")
    said = dump(log)
    assert said.count("isvalid: true") == 3
    assert said.count("payload: value-3") == 3
    [journal] = (tmp_path / "node-1").glob("__transaction_state-*/*.log")
    assert '"transactionalId":"x"' in dump(journal, "--transaction-log-decoder")
    [journal] = (tmp_path / "node-1").glob("__consumer_offsets-*/*.log")
    said = dump(journal, "--offsets-decoder")
    assert '"group":"dumped"' in said
    assert '"metadata":"note"' in said
    assert json.dumps({"offset": 4})[1:-1].replace(" ", "") in said
