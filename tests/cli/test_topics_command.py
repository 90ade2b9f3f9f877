"""`kcore topics` over an embedded broker: listed, led, made and deleted."""

import pytest
from click.testing import CliRunner

from kcore import Admin, TopicPartition
from kcore.cli.commands import kcore


def run(broker, *line):
    return CliRunner().invoke(kcore, ["topics", *line, "-b", broker.bootstrap])


def rows(done):
    assert done.exit_code == 0, done.output
    return [row.split() for row in done.stdout.splitlines()]


def test_topics_are_listed(kcore_broker):
    kcore_broker.create_topic("b", 2)
    kcore_broker.create_topic("a")
    kcore_broker.create_topic("__mine")
    kcore_broker.produce("b", [(None, b"v")] * 3, 1)
    head = ["topic", "partitions"]
    assert rows(run(kcore_broker)) == [head, ["a", "1"], ["b", "2"]]
    assert rows(run(kcore_broker, "--internal"))[1] == ["__mine", "1"]
    assert rows(run(kcore_broker, "__mine", "a", "a")) == [head, ["__mine", "1"], ["a", "1"]]
    assert rows(run(kcore_broker, "-o", "b", "b")) == [
        ["topic", "partition", "first", "end", "between"],
        ["b", "0", "0", "0", "0"],
        ["b", "1", "0", "3", "3"],
    ]
    with Admin(bootstrap_servers=kcore_broker.bootstrap) as admin:
        admin.delete_records({TopicPartition("b", 1): 1})
    assert rows(run(kcore_broker, "-o", "b"))[2] == ["b", "1", "1", "3", "2"]


@pytest.mark.parametrize("more", [(), ("-o",), ("-l",), ("--delete",)])
def test_one_that_is_not_there(kcore_broker, more):
    done = run(kcore_broker, "nosuch", *more)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "nosuch" in done.stderr


def test_leaders_and_replicas(kcore_cluster):
    kcore_cluster.create_topic("t", 3, replication_factor=2)
    kcore_cluster.create_topic("__mine")
    with Admin(bootstrap_servers=kcore_cluster.bootstrap) as admin:
        (told,) = admin.describe_topics(["t"])
    shown = rows(run(kcore_cluster, "-l"))
    assert shown == [
        ["topic", "partition", "leader", "replicas", "in", "sync"],
        *(
            [
                "t",
                str(part["partition_index"]),
                str(part["leader_id"]),
                ",".join(map(str, part["replica_nodes"])),
                ",".join(map(str, part["isr_nodes"])),
            ]
            for part in told["partitions"]
        ),
    ]
    assert len(shown[1][3].split(",")) == 2
    assert rows(run(kcore_cluster, "-l", "t", "t")) == shown
    assert rows(run(kcore_cluster, "-l", "--internal"))[1][0] == "__mine"
    assert rows(run(kcore_cluster, "-l", "__mine"))[1][0] == "__mine"


def test_a_node_may_have_the_number_0(kcore_broker, monkeypatch):
    part = {"partition_index": 0, "leader_id": 0, "replica_nodes": [0, 1], "isr_nodes": []}
    told = [{"error_code": 0, "name": "t", "partitions": [part]}]
    monkeypatch.setattr(Admin, "describe_topics", lambda *_: told)
    assert rows(run(kcore_broker, "-l", "t"))[1] == ["t", "0", "0", "0,1", "-"]


def test_a_partition_that_nobody_leads(kcore_cluster):
    kcore_cluster.create_topic("t")
    (_, row) = rows(run(kcore_cluster, "-l", "t"))
    kcore_cluster.kill(int(row[2]))
    (_, row) = rows(run(kcore_cluster, "-l", "t"))
    assert row[2] == "-"


def test_topics_are_made_and_deleted(kcore_broker):
    line = ("a", "b", "a", "--create", "-p", "3", "-r", "1", "--set", "retention.ms=5")
    done = run(kcore_broker, *line)
    assert (done.exit_code, done.output) == (0, "")
    assert rows(run(kcore_broker))[1:] == [["a", "3"], ["b", "3"]]
    shown = CliRunner().invoke(kcore, ["configs", "topic", "b", "-b", kcore_broker.bootstrap])
    assert shown.stdout.splitlines()[1].split()[:3] == ["b", "retention.ms", "5"]
    done = run(kcore_broker, "a", "c", "--create")
    assert done.exit_code == 1
    assert "TOPIC_ALREADY_EXISTS" in done.stderr
    assert rows(run(kcore_broker, "c"))[1:] == [["c", "1"]]  # as many as the broker likes
    done = run(kcore_broker, "a", "nosuch", "b", "--delete")
    assert done.exit_code == 1
    assert "UNKNOWN_TOPIC_OR_PARTITION" in done.stderr
    assert rows(run(kcore_broker))[1:] == [["c", "1"]]
    assert run(kcore_broker, "c", "--delete").output == ""


def test_more_replicas_than_nodes(kcore_broker):
    done = run(kcore_broker, "a", "--create", "-r", "2")
    assert done.exit_code == 1
    assert "INVALID_REPLICATION_FACTOR" in done.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--create", "takes the topics that it is for"),
        ("--delete", "takes the topics that it is for"),
        ("t --create --delete", "one of --create, --grow, --delete"),
        ("t -o -l", "one of --create, --grow, --delete"),
        ("t --create -o", "one of --create, --grow, --delete"),
        ("t --delete -l", "one of --create, --grow, --delete"),
        ("t -p 3", "goes with --create"),
        ("t -r 3 --delete", "go with --create"),
        ("t --set a=b", "go with --create"),
        ("t --create --set a", "'a' is not NAME=VALUE"),
        ("t --create -p 0", "--partitions"),
        ("t --create -r 0", "--replicas"),
        ("t --create -r 32768", "--replicas"),
    ],
)
def test_what_does_not_go_together(line, said):
    done = CliRunner().invoke(kcore, ["topics", "-b", "127.0.0.1:1", *line.split()])
    assert done.exit_code == 2
    assert said in done.output


def test_topics_grow(kcore_broker):
    kcore_broker.create_topic("a", 2)
    kcore_broker.create_topic("b", 3)
    done = run(kcore_broker, "a", "b", "--grow", "-p", "5")
    assert (done.exit_code, done.output) == (0, "")
    assert rows(run(kcore_broker))[1:] == [["a", "5"], ["b", "5"]]


def test_what_cannot_grow_is_told_and_the_others_do(kcore_broker):
    kcore_broker.create_topic("a", 2)
    kcore_broker.create_topic("b", 5)
    done = run(kcore_broker, "b", "gone", "a", "--grow", "-p", "3")
    assert done.exit_code == 1
    assert "b" in done.stderr
    assert rows(run(kcore_broker))[1:] == [["a", "3"], ["b", "5"]]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("--grow", "-p", "3"), "--grow takes the topics"),
        (("t", "--grow"), "--grow takes the --partitions"),
        (("t", "--grow", "-p", "3", "-r", "1"), "--replicas and --set go with --create"),
        (("t", "--grow", "--create", "-p", "3"), "one of --create, --grow, --delete"),
        (("t", "-p", "3"), "--partitions goes with --create and --grow"),
        (("t", "--delete", "-p", "3"), "--partitions goes with --create and --grow"),
    ],
    ids=str,
)
def test_what_does_not_go_with_growing(kcore_broker, line, said):
    done = run(kcore_broker, *line)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())
