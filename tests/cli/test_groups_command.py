"""`kcore groups` and `kcore lag` over an embedded broker, with groups of both protocols."""

from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from kcore import Admin, AsyncAdmin, Consumer, OffsetAndMetadata, TopicPartition
from kcore.admin import PartitionLag
from kcore.cli.commands import kcore
from kcore.cli.groups import ranges

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def run(broker, *line):
    return CliRunner().invoke(kcore, [*line, "-b", broker.bootstrap])


@pytest.fixture
def broker(kcore_broker):
    kcore_broker.create_topic("t", 2)
    for number in range(2):
        kcore_broker.produce("t", [(None, b"v")] * 10, partition=number)
    with Consumer(bootstrap_servers=kcore_broker.bootstrap, group_id="gone") as consumer:
        consumer.assign([T0])
        consumer.commit({T0: OffsetAndMetadata(4, "", -1)})
    return kcore_broker


@contextmanager
def member(broker, group, **more):
    options = {"auto_offset_reset": "earliest", "client_id": "reader", **more}
    with Consumer("t", bootstrap_servers=broker.bootstrap, group_id=group, **options) as consumer:
        while not consumer.assignment():
            consumer.poll(100)
        while any(consumer.position(tp) < 10 for tp in (T0, T1)):
            consumer.poll(100)
        consumer.commit()
        yield consumer


def committed(broker, group):
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        found = admin.list_group_offsets([group])[group]
        return {tp: one.offset for tp, one in found.items()}


@pytest.mark.parametrize(
    ("numbers", "said"), [((), ""), ((3,), "3"), ((2, 0, 1), "0-2"), ((0, 1, 3, 7, 8), "0-1,3,7-8")]
)
def test_ranges(numbers, said):
    assert ranges(numbers) == said


def test_all_groups(broker):
    with member(broker, "old"), member(broker, "new", group_protocol="consumer"):
        rows = [row.split() for row in run(broker, "groups").stdout.splitlines()]
        stable = [
            row.split() for row in run(broker, "groups", "--state", "stable").stdout.splitlines()
        ]
        newer = [
            row.split() for row in run(broker, "groups", "--type", "consumer").stdout.splitlines()
        ]
    head = ["group", "type", "protocol", "state"]
    old = ["old", "classic", "consumer", "Stable"]
    new = ["new", "consumer", "consumer", "Stable"]
    assert rows == [head, ["gone", "classic", "-", "Empty"], new, old]
    assert stable == [head, new, old]
    assert newer == [head, new]


@pytest.mark.parametrize("mishap", ["pause", "kill"])
def test_what_is_known_of_groups_is_printed_beside_a_broker_that_does_not_answer(
    kcore_cluster, mishap
):
    groups = [f"g{number}" for number in range(8)]
    with Admin(bootstrap_servers=kcore_cluster.bootstrap) as admin:
        kcore_cluster.create_topic("t", 2)
        for group in groups:
            admin.alter_group_offsets(group, {T0: OffsetAndMetadata(1, "")}, raise_errors=True)
        lost = {row["group_id"] for row in admin.list_groups([3])}
    known = sorted({*groups} - lost)
    assert lost
    assert known
    getattr(kcore_cluster, mishap)(3)
    limits = ("default_api_timeout_ms=1200", "request_timeout_ms=400")
    limits += ("socket_connection_setup_timeout_ms=300",)  # it may be the first that is asked
    done = run(kcore_cluster, "groups", *(part for each in limits for part in ("-X", each)))
    rows = [row.split()[0] for row in done.stdout.splitlines()]
    if mishap == "kill":  # the others have what it had
        assert (done.exit_code, rows) == (0, ["group", *groups])
        return
    assert done.exit_code == 1
    assert rows == ["group", *known]
    assert "listing the groups of broker 3: not done in time" in done.stderr


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_the_lag_of_a_group_beside_a_partition_without_a_leader(kcore_cluster, more):
    kcore_cluster.create_topic("t", 3, replication_factor=1)
    with Admin(bootstrap_servers=kcore_cluster.bootstrap) as admin:
        at = {TopicPartition("t", number): OffsetAndMetadata(0, "") for number in range(3)}
        admin.alter_group_offsets("g", at, raise_errors=True)
        parts = admin.describe_topics(["t"])[0]["partitions"]
    leaders = {part["partition_index"]: part["leader_id"] for part in parts}
    kcore_cluster.kill(leaders[1])
    limits = ("default_api_timeout_ms=2000", "request_timeout_ms=400")
    done = run(kcore_cluster, "lag", "g", *more, *(part for one in limits for part in ("-X", one)))
    assert done.exit_code == 1
    assert len(done.stdout.splitlines()) == (2 if more else 4)
    assert "t-1" in done.stderr
    assert "no leader" in done.stderr


def test_nothing_is_printed_where_nothing_is_known(broker):
    broker.refuse("ListGroups", "CLUSTER_AUTHORIZATION_FAILED")
    done = run(broker, "groups")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "CLUSTER_AUTHORIZATION_FAILED" in done.stderr


@pytest.fixture
def odd(broker):
    """A group whose name nobody would want to meet on a terminal."""
    name = "a\x1b[31mb\nc"
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.alter_group_offsets(name, {T0: OffsetAndMetadata(1, "")}, raise_errors=True)
    return name


@pytest.mark.parametrize(
    "line", [["groups"], ["groups", "{}"], ["lag", "{}"], ["groups", "{}", "--reset-to", "latest"]]
)
def test_a_terminal_obeys_no_name(broker, odd, line):
    nosuch = f"nosuch{odd}"
    done = run(broker, *(word.format(odd) for word in line))
    assert done.exit_code == 0, done.output
    assert r"a\x1b[31mb\nc" in done.stdout
    assert "\x1b" not in done.stdout
    refused = run(broker, line[0], nosuch)
    assert refused.exit_code == 1
    assert r"nosucha\x1b[31mb\nc" in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_members_of_a_group(broker, protocol):
    with member(broker, "g", group_protocol=protocol, group_instance_id="one"):
        done = run(broker, "groups", "g", "gone")
    assert done.exit_code == 0, done.output
    first, head, row, last = done.stdout.splitlines()
    assert first.startswith(f"g: Stable, {protocol}, ")
    assert first.endswith(", 1 member")
    assert head.split() == ["member", "client", "host", "instance", "partitions"]
    assert row.split()[1:] == ["reader", "/127.0.0.1", "one", "t", "0-1"]
    assert last == "gone: Empty, classic, no members"


@pytest.mark.parametrize(
    "line", [("groups", "nosuch"), ("lag", "nosuch"), ("groups", "nosuch", "--delete"),
             ("groups", "nosuch", "--reset-to", "earliest", "--execute")],
)  # fmt: skip
def test_a_group_that_is_not_there(broker, line):
    done = run(broker, *line)
    assert done.exit_code == 1
    assert "GROUP_ID_NOT_FOUND" in done.stderr
    assert "nosuch" in done.stderr


def test_a_group_is_deleted_when_its_members_have_gone(broker):
    with member(broker, "g"):
        done = run(broker, "groups", "g", "gone", "--delete")
        assert done.exit_code == 1
        assert "NonEmptyGroupError" in done.stderr
    done = run(broker, "groups", "g", "--delete")
    assert (done.exit_code, done.output) == (0, "")
    assert run(broker, "groups").stdout.split() == ["group", "type", "protocol", "state"]


def test_lag(broker):
    with member(broker, "g"):
        broker.produce("t", [(None, b"v")] * 3, partition=1)
        done = run(broker, "lag", "g", "gone", "--max", "6")
    assert done.exit_code == 0, done.output
    rows = [row.split() for row in done.stdout.splitlines()]
    assert rows == [
        ["g:", "3", "behind", "in", "2", "partitions"],
        ["topic", "partition", "committed", "end", "lag", "member"],
        ["t", "0", "10", "10", "0", "reader", "at", "/127.0.0.1"],
        ["t", "1", "10", "13", "3", "reader", "at", "/127.0.0.1"],
        ["gone:", "6", "behind", "in", "1", "partition"],
        ["topic", "partition", "committed", "end", "lag", "member"],
        ["t", "0", "4", "10", "6", "-"],
    ]


def test_lag_that_is_too_much_is_the_exit_code(broker):
    done = run(broker, "lag", "gone", "--max", "5")
    assert done.exit_code == 1
    assert done.stderr == ""
    assert "gone: 6 behind" in done.stdout


def test_lag_of_a_topic_that_the_group_does_not_read(broker):
    assert run(broker, "lag", "gone", "--topic", "t").exit_code == 0
    done = run(broker, "lag", "gone", "--max", "5", "--topic", "T")
    assert done.exit_code == 1
    assert "group 'gone' reads nothing of topic 'T'" in done.stderr


def test_a_partition_without_a_commit_is_too_late_for_any_bound(broker):
    options = {"auto_offset_reset": "latest", "enable_auto_commit": False}
    with Consumer("t", bootstrap_servers=broker.bootstrap, group_id="g", **options) as consumer:
        while not consumer.assignment():
            consumer.poll(100)
        done = run(broker, "lag", "g", "--max", "1000")
    assert done.exit_code == 1
    assert "g: 0 behind in 2 partitions, 2 of them without a commit" in done.stdout


def awaited(told):
    async def lag(*_, **_options):
        return told

    return lag


@pytest.mark.parametrize("gone", [False, True])
def test_where_nothing_was_ever_written_nobody_is_late(broker, monkeypatch, gone):
    """A topic of which some partitions have no keys yet was an alarm for as long as that."""
    end = None if gone else 0
    told = {T0: PartitionLag(4, 10, 6), T1: PartitionLag(None, end, None)}
    monkeypatch.setattr(AsyncAdmin, "lag", awaited(told))
    done = run(broker, "lag", "gone", "--max", "6")
    assert done.exit_code == gone, done.output
    assert "gone: 6 behind in 2 partitions, 1 of them without a commit" in done.stdout
    assert run(broker, "lag", "gone", "--max", "5").exit_code == 1


def test_a_lag_that_is_not_told_is_no_lag_of_nothing(broker, monkeypatch):
    told = {T0: PartitionLag(4, 10, None), T1: PartitionLag(4, 10, 6)}
    monkeypatch.setattr(AsyncAdmin, "lag", awaited(told))
    done = run(broker, "lag", "gone", "--max", "1000")
    assert done.exit_code == 1
    said, _, first, _ = done.stdout.splitlines()
    assert said == "gone: 6 behind in 2 partitions, 1 of them with a lag that is not told"
    assert first.split() == ["t", "0", "4", "10", "-", "-"]


@pytest.mark.parametrize(
    ("where", "to"),
    [
        ("earliest", 0),
        ("latest", 10),
        ("7", 7),
        ("99", 10),
        ("-3", 1),
        ("+2", 6),
        ("by_duration:PT1H", 0),
        ("@1", 0),
        ("1970-01-01", 0),
        ("2999-12-31T12:00+01:00", 10),
    ],
)
def test_reset(broker, where, to):
    line = ("groups", "gone", f"--reset-to={where}")
    done = run(broker, *line)
    assert done.exit_code == 0, done.output
    said, _, row = done.stdout.splitlines()
    assert said == "gone: nothing is reset without --execute"
    assert row.split() == ["t", "0", "4", str(to)]
    assert committed(broker, "gone") == {T0: 4}
    done = run(broker, *line, "--execute")
    assert done.exit_code == 0, done.output
    said, _, row = done.stdout.splitlines()
    assert said == "gone: reset"
    assert row.split() == ["t", "0", "4", str(to)]
    assert committed(broker, "gone") == {T0: to}


def test_topics_that_are_named_are_reset_with_all_their_partitions(broker):
    done = run(broker, "groups", "gone", "--reset-to", "latest", "-t", "t", "--execute")
    assert done.exit_code == 0, done.output
    assert [row.split() for row in done.stdout.splitlines()[2:]] == [
        ["t", "0", "4", "10"],
        ["t", "1", "-", "10"],
    ]
    assert committed(broker, "gone") == {T0: 10, T1: 10}
    done = run(broker, "groups", "gone", "--reset-to", "latest", "-t", "nosuch", "--execute")
    assert done.exit_code == 1
    assert "UNKNOWN_TOPIC_OR_PARTITION" in done.stderr


def test_a_group_begins_before_its_first_member_comes(broker):
    """As with kafka-consumer-groups: it was refused, as not there."""
    line = ("groups", "soon", "--reset-to", "7", "-t", "t")
    rows = [["t", "0", "-", "7"], ["t", "1", "-", "7"]]
    done = run(broker, *line)
    assert done.exit_code == 0, done.output
    said, _, *shown = done.stdout.splitlines()
    assert said == "soon: nothing is reset without --execute, a new group"
    assert [row.split() for row in shown] == rows
    assert "soon" not in run(broker, "groups").stdout
    done = run(broker, *line, "--execute")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0] == "soon: reset, a new group"
    assert committed(broker, "soon") == {T0: 7, T1: 7}
    assert run(broker, *line, "--execute").stdout.splitlines()[0] == "soon: reset"


@pytest.mark.parametrize("more", [(), ("--execute",)])
def test_a_group_that_has_committed_nothing_is_not_said_to_be_reset(broker, more):
    options = {"auto_offset_reset": "latest", "enable_auto_commit": False}
    with Consumer("t", bootstrap_servers=broker.bootstrap, group_id="g", **options) as consumer:
        while not consumer.assignment():
            consumer.poll(100)
        done = run(broker, "groups", "g", "--reset-to", "earliest", *more)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "group 'g' has committed nothing: --topic says for what it is reset" in done.stderr


def test_a_group_with_members_is_not_reset(broker):
    with member(broker, "g"):
        done = run(broker, "groups", "g", "--reset-to", "earliest", "--execute")
        assert done.exit_code == 1
        assert "UnknownMemberIdError" in done.stderr
        assert committed(broker, "g") == {T0: 10, T1: 10}


def test_a_terminal_that_has_not_all_characters(kcore_broker):
    kcore_broker.create_topic("t")
    for group in ("f\u00fcr", "\u65e5\u672c"):
        with Consumer(bootstrap_servers=kcore_broker.bootstrap, group_id=group) as consumer:
            consumer.commit({T0: OffsetAndMetadata(4, "", -1)})
    line = ["groups", "-b", kcore_broker.bootstrap]
    done = CliRunner(charset="iso-8859-1").invoke(kcore, line)
    assert done.exit_code == 0, done.output
    assert [row.split()[0] for row in done.stdout.splitlines()] == [
        "group",
        "f\u00fcr",
        r"\u65e5\u672c",
    ]
