"""Tables as JSON, an object on a line for each row: what programs are told."""

import json

import pytest
from click.testing import CliRunner

from kcore import Consumer, OffsetAndMetadata, TopicPartition
from kcore.cli.commands import kcore
from kcore.cli.tables import Cell, Page, table

T0 = TopicPartition("t", 0)


def run(broker, *line, code=0):
    done = CliRunner().invoke(kcore, [*line, "--json", "-b", broker.bootstrap])
    assert done.exit_code == code, done.output
    assert done.stdout.isascii()
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def broker(kcore_broker):
    kcore_broker.create_topic("t", 2)
    kcore_broker.produce("t", [(None, b"v")] * 10, partition=0)
    with Consumer(bootstrap_servers=kcore_broker.bootstrap, group_id="g") as consumer:
        consumer.assign([T0])
        consumer.commit({T0: OffsetAndMetadata(4, "", -1)})
    return kcore_broker


def test_topics(broker):
    assert run(broker, "topics") == [{"topic": "t", "partitions": 2}]
    assert run(broker, "topics", "-o", "t") == [
        {"topic": "t", "partition": 0, "first": 0, "end": 10, "between": 10},
        {"topic": "t", "partition": 1, "first": 0, "end": 0, "between": 0},
    ]
    assert run(broker, "topics", "-l", "t")[0] == (
        {"topic": "t", "partition": 0, "leader": 1, "replicas": [1], "in_sync": [1]}
    )


def test_a_partition_without_a_leader(kcore_cluster):
    kcore_cluster.create_topic("t", replication_factor=1)
    (row,) = run(kcore_cluster, "topics", "-l", "t")
    kcore_cluster.kill(row["leader"])
    (row,) = run(kcore_cluster, "topics", "-l", "t")
    assert row["leader"] is None
    assert len(row["replicas"]) == 1


def test_groups(broker):
    assert run(broker, "groups") == [
        {"group": "g", "type": "classic", "protocol": None, "state": "Empty"}
    ]
    assert run(broker, "groups", "g") == [
        {"group": "g", "type": "classic", "state": "Empty", "assignor": None, "members": []}
    ]
    assert run(broker, "groups", "--state", "stable") == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_and_how_far_it_is_behind(broker, protocol):
    with Consumer(
        "t", bootstrap_servers=broker.bootstrap, group_id="m", client_id="reader",
        group_protocol=protocol, group_instance_id="i",
    ) as consumer:  # fmt: skip
        while not consumer.assignment():
            consumer.poll(100)
        (group,) = run(broker, "groups", "m")
        (member,) = group["members"]
        assert (group["type"], group["state"]) == (protocol, "Stable")
        assert (member["client"], member["instance"]) == ("reader", "i")
        assert member["partitions"] == {"t": [0, 1]}
        rows = run(broker, "lag", "m")
        assert [row["member"] for row in rows] == [[member["member"]]] * 2


def test_lag(broker):
    first = {"group": "g", "topic": "t", "partition": 0, "committed": 4, "end": 10, "lag": 6}
    assert run(broker, "lag", "g", "--max", "6") == [{**first, "member": []}]
    assert run(broker, "lag", "g", "--max", "5", code=1) == [{**first, "member": []}]


@pytest.mark.parametrize("execute", [True, False])
def test_where_a_group_goes_on(broker, execute):
    more = ("--execute",) if execute else ()
    of = {"group": "g", "done": execute, "topic": "t"}
    assert run(broker, "groups", "g", "-t", "t", "--reset-to", "earliest", *more) == [
        {**of, "partition": 0, "committed": 4, "reset_to": 0},
        {**of, "partition": 1, "committed": None, "reset_to": 0},
    ]


def test_configs(broker):
    line = ["configs", "topic", "t", "--set", "retention.ms=5", "-b", broker.bootstrap]
    assert CliRunner().invoke(kcore, line).exit_code == 0
    (row,) = run(broker, "configs", "topic", "t")
    assert row == {
        "topic": "t", "name": "retention.ms", "value": "5", "by": "dynamic topic config",
    }  # fmt: skip


def test_words_of_strangers_are_one_line(kcore_broker):
    odd = "a\nb\x1b\ud800é"
    with Consumer(bootstrap_servers=kcore_broker.bootstrap, group_id="a\nb") as consumer:
        kcore_broker.create_topic("t")
        consumer.assign([T0])
        consumer.commit({T0: OffsetAndMetadata(0, "", -1)})
    assert run(kcore_broker, "groups")[0]["group"] == "a\nb"
    rows = table("name")
    rows.add_row(odd)
    assert rows.objects == [{"name": odd}]


def test_cells(capsys):
    rows = table("one", "two words", right=("three",), of={"of": "x"})
    rows.add_row(Cell("shown", {"told": 1}), None, [1, 2])
    rows.add_row("a", ["b", "c"], [])
    page = Page(as_json=True)
    page.show("a line for people", rows)
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"of": "x", "one": {"told": 1}, "two_words": None, "three": [1, 2]},
        {"of": "x", "one": "a", "two_words": ["b", "c"], "three": []},
    ]
    Page().show("a line for people", rows)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["a", "line", "for", "people"]
    assert lines[2:] == [["shown", "-", "1,2"], ["a", "b,", "c", "-"]]
