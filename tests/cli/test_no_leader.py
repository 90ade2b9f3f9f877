"""One partition has no leader: what is known of the others is printed, and what is missing said."""

import io
import threading
import time

import pytest
from click.testing import CliRunner

from kcore import Admin, OffsetAndMetadata, TopicPartition
from kcore.cli import places
from kcore.cli.commands import kcore
from kcore.cli.consume import ConsumeOptions, Printer, open_consumer
from kcore.cli.endings import RefusalError
from kcore.cli.formats import formatter
from kcore.cli.tables import Page

ALONE_AND_IN_A_GROUP = pytest.mark.parametrize("group", [(), ("-g", "g")], ids=str)


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setattr(places, "PATIENCE_MS", 600)


@pytest.fixture
def cluster(kcore_cluster):
    """Three partitions of `t` with a replica each, and three records in each."""
    kcore_cluster.create_topic("t", 3, replication_factor=1)
    for number in range(3):
        kcore_cluster.produce("t", [(None, b"%d" % at) for at in range(3)], partition=number)
    return kcore_cluster


def leader_of(cluster, number):
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        parts = admin.describe_topics(["t"])[0]["partitions"]
    return {part["partition_index"]: part["leader_id"] for part in parts}[number]


@pytest.fixture
def bereft(cluster):
    cluster.kill(leader_of(cluster, 1))
    return cluster


def run(broker, *line):
    return CliRunner().invoke(kcore, [*line, "-b", broker.bootstrap])


def test_offsets_of_topics(bereft):
    done = run(bereft, "topics", "-o")
    assert [line.split() for line in done.stdout.splitlines()[1:]] == [
        ["t", "0", "0", "3", "3"],
        ["t", "2", "0", "3", "3"],
    ]
    assert done.exit_code == 1
    assert "no offset was found in time for t-1: no leader of t-1 is known" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_else_is_wrong_is_said_too(bereft):
    done = run(bereft, "topics", "-o", "nosuch", "t")
    assert len(done.stdout.splitlines()) == 3
    assert done.exit_code == 1
    assert "nosuch" in done.stderr
    assert "no leader of t-1" in done.stderr


def test_how_long_may_be_said(bereft, monkeypatch):
    monkeypatch.setattr(places, "PATIENCE_MS", 600_000)
    done = run(bereft, "topics", "-o", "-X", "default.api.timeout.ms=700")
    assert len(done.stdout.splitlines()) == 3
    assert done.exit_code == 1


@ALONE_AND_IN_A_GROUP
@pytest.mark.parametrize("end", [("-e",), ("--to", "@9999999999999"), ("--to", "3", "-e")], ids=str)
def test_records_up_to_the_ends_that_are_known(bereft, group, end):
    line = ("consume", "t", "--from", "earliest", "-f", "%p/%o ", *end, *group)
    done = run(bereft, *line)
    assert sorted(done.stdout.split()) == [f"{part}/{at}" for part in (0, 2) for at in range(3)]
    assert done.exit_code == 1
    assert "t-1 was not read: no offset was found in time for t-1: no leader" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("start", ["-2", "@1000"])
def test_places_that_are_looked_up(bereft, start):
    done = run(bereft, "consume", "t", "--from", start, "-e", "-f", "%p/%o ")
    first = {"-2": 1, "@1000": 0}[start]
    known = [f"{part}/{at}" for part in (0, 2) for at in range(first, 3)]
    assert sorted(done.stdout.split()) == known
    assert done.exit_code == 1
    assert "t-1 was not read" in done.stderr


def test_what_was_asked_for_is_there_without_it(bereft):
    done = run(bereft, "consume", "t", "--from", "earliest", "-e", "-n", "2", "-f", "%p ")
    assert (done.exit_code, len(done.stdout.split()), done.stderr) == (0, 2, "")


def test_nothing_at_all_is_known(cluster):
    line = ("consume", "t", "-p", "1", "--from", "earliest", "-e")
    cluster.kill(leader_of(cluster, 1))
    done = run(cluster, *line)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "no leader of t-1" in done.stderr


def test_a_leader_that_goes_while_it_is_read(cluster):
    out = io.BytesIO()
    settings = {"fetch_max_bytes": 1, "max_partition_fetch_bytes": 1}
    options = ConsumeOptions(
        ("t",), cluster.bootstrap, start="earliest", stop_at_end=True, settings=settings
    )
    gone = leader_of(cluster, 1)
    with open_consumer(options) as consumer:
        prints = Printer(consumer, options, formatter("%p/%o "), out)
        consumer.assign([TopicPartition("t", number) for number in range(3)])
        consumer.seek_to_beginning()
        assert not prints.finished()
        consumer.pause(TopicPartition("t", 1))
        cluster.kill(gone)
        consumer.resume(TopicPartition("t", 1))
        while not prints.finished():
            prints.step()
        printed = out.getvalue().decode().split()
        assert {f"{part}/{at}" for part in (0, 2) for at in range(3)} <= {*printed}
        with pytest.raises(RefusalError, match=r"t-1 was not read: no offset .*: no leader of t-1"):
            prints.check()


def test_a_leader_that_comes_back_is_read_after_all(cluster):
    out = io.BytesIO()
    options = ConsumeOptions(("t",), cluster.bootstrap, start="earliest", stop_at_end=True)
    gone = leader_of(cluster, 1)
    cluster.kill(gone)
    with open_consumer(options) as consumer:
        prints = Printer(consumer, options, formatter("%p/%o "), out)
        consumer.assign([TopicPartition("t", number) for number in range(3)])
        consumer.seek_to_beginning()
        assert not prints.finished()
        assert [*prints.offsets.lost] == [TopicPartition("t", 1)]
        cluster.revive(gone)
        while len(out.getvalue().split()) < 9:
            prints.step()
        assert prints.finished()
        prints.check()


def commit(cluster, *groups):
    """Each has read one record of each partition of `t`."""
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        at = {TopicPartition("t", number): OffsetAndMetadata(1, "") for number in range(3)}
        for group in groups:
            admin.alter_group_offsets(group, at, raise_errors=True)


def test_the_lag_of_groups(bereft):
    commit(bereft, "g", "h")
    done = run(bereft, "lag", "g", "h")
    assert [line for line in done.stdout.splitlines() if "behind" in line] == [
        "g: 4 behind in 2 partitions",
        "h: 4 behind in 2 partitions",
    ]
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("kcore: g, h: ")
    assert line.count("no leader") == 1
    assert "finding the leader of t-1" in line


def test_offsets_of_several_partitions_are_missed_on_lines_of_their_own(cluster):
    for number in {leader_of(cluster, 0), leader_of(cluster, 1)}:
        cluster.kill(number)
    missing = {"t-0", "t-1"} if leader_of(cluster, 2) >= 0 else {"t-0", "t-1", "t-2"}
    done = run(cluster, "topics", "-o")
    assert done.exit_code == 1
    assert len(done.stdout.splitlines()) == 4 - len(missing)
    assert len(done.stderr.splitlines()) == len(missing)


def test_groups_wait_for_a_leader_side_by_side(cluster, monkeypatch):
    monkeypatch.setattr(places, "PATIENCE_MS", 30_000)
    groups = ["g3", "g1", "g2"]
    commit(cluster, *groups)
    gone = leader_of(cluster, 1)
    cluster.kill(gone)
    cluster.delay("OffsetFetch", 1, times=3)

    def revive():
        while cluster.mishaps_to_come:  # one of the groups has not been asked for yet
            time.sleep(0.005)
        cluster.revive(gone)

    reviver = threading.Thread(target=revive)
    reviver.start()
    done = run(cluster, "lag", *groups)
    reviver.join()
    assert (done.exit_code, done.stderr) == (0, "")
    said = [line for line in done.stdout.splitlines() if "behind" in line]
    assert said == [f"{group}: 6 behind in 3 partitions" for group in groups]


ALONE = {"nodes": 3, "settings": {"offsets.topic.replication.factor": "1"}}


@pytest.mark.parametrize("kcore_broker_options", [ALONE], ids=["alone"])
def test_a_group_whose_coordinator_is_away_hides_no_other(kcore_cluster):
    kcore_cluster.create_topic("u", 1, replication_factor=3)
    groups = [f"g{number}" for number in range(6)]
    with Admin(bootstrap_servers=kcore_cluster.bootstrap) as admin:
        for group in groups:
            at = {TopicPartition("u", 0): OffsetAndMetadata(0, "")}
            admin.alter_group_offsets(group, at, raise_errors=True)
        at = {group: admin.find_coordinator(group) for group in groups}
    kcore_cluster.kill(at["g0"])
    away = [group for group in groups if at[group] == at["g0"]]
    here = [group for group in groups if group not in away]
    assert here
    done = run(kcore_cluster, "lag", *groups)
    said = [line for line in done.stdout.splitlines() if "behind" in line]
    assert said == [f"{group}: 0 behind in 1 partition" for group in here]
    assert done.exit_code == 1
    assert all(group in done.stderr for group in away)
    assert len(done.stderr.splitlines()) == len(away)


def test_what_is_known_is_printed_while_another_is_waited_for(cluster, monkeypatch):
    monkeypatch.setattr(places, "PATIENCE_MS", 30_000)
    cluster.create_topic("u", 1, replication_factor=3)
    commit(cluster, "g")
    with Admin(bootstrap_servers=cluster.bootstrap) as admin:
        at = {TopicPartition("u", 0): OffsetAndMetadata(0, "")}
        admin.alter_group_offsets("h", at, raise_errors=True)
    gone = leader_of(cluster, 1)
    cluster.kill(gone)
    show = Page.show

    def shown(page, first, *parts):
        show(page, first, *parts)
        if first.startswith("h"):
            cluster.revive(gone)

    monkeypatch.setattr(Page, "show", shown)
    done = run(cluster, "lag", "h", "g")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "g: 6 behind in 3 partitions" in done.stdout
