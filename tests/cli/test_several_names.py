"""Verbs that are given several names: what is known of some is printed, and what is wrong with
others said, whichever comes first.
"""

import json

import pytest
from click.testing import CliRunner

from kcore import Admin, OffsetAndMetadata, TopicPartition
from kcore.admin import ConfigResource
from kcore.cli.commands import kcore
from kcore.cli.endings import Attempts, RefusalError
from kcore.errors import KafkaTimeoutError, UnknownTopicOrPartitionError

NAMES = [("a", "nosuch", "b"), ("nosuch", "b", "a"), ("a", "b", "nosuch")]


@pytest.fixture
def broker(kcore_broker):
    kcore_broker.create_topic("a", 1)
    kcore_broker.create_topic("b", 1)
    with Admin(bootstrap_servers=kcore_broker.bootstrap) as admin:
        for name in ("a", "b"):
            at = {TopicPartition(name, 0): OffsetAndMetadata(0, "")}
            admin.alter_group_offsets(name, at, raise_errors=True)
        set_ = [ConfigResource("topic", name, {"retention.ms": "5"}) for name in ("a", "b")]
        admin.alter_configs(set_, raise_errors=True)
    return kcore_broker


def run(broker, *line):
    return CliRunner().invoke(kcore, [*line, "-b", broker.bootstrap])


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize(
    "verb",
    [("groups",), ("lag",), ("groups", "--reset-to", "latest"), ("topics",), ("topics", "-o"),
     ("topics", "-l"), ("configs", "topic")],
    ids=" ".join,
)  # fmt: skip
def test_what_is_known_is_printed_beside_what_is_wrong(broker, verb, names):
    right, done = run(broker, *verb, "a", "b"), run(broker, *verb, *names)
    assert right.exit_code == 0, right.output
    assert sorted(done.stdout.splitlines()) == sorted(right.stdout.splitlines())
    assert done.exit_code == 1
    assert "nosuch" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("verb", "column"),
    [(("groups",), "group"), (("lag",), "group"), (("topics",), "topic"),
     (("configs", "topic"), "topic")],
    ids=str,
)  # fmt: skip
def test_for_programs_too(broker, verb, column):
    done = run(broker, *verb, "nosuch", "a", "--json")
    assert [json.loads(line)[column] for line in done.stdout.splitlines()] == ["a"]
    assert done.exit_code == 1


@pytest.mark.parametrize("verb", [("groups",), ("lag",), ("topics",)], ids=" ".join)
def test_all_that_is_wrong_is_said(broker, verb):
    done = run(broker, *verb, "a", "no1", "no2")
    assert "no1" in done.stderr
    assert "no2" in done.stderr
    assert len(done.stderr.splitlines()) == (1 if verb == ("topics",) else 2)
    assert all(line.startswith("kcore: ") for line in done.stderr.splitlines())


def test_groups_are_reset_beside_one_that_is_not_there(broker):
    broker.produce("a", [(None, b"v")] * 3)
    done = run(broker, "groups", "nosuch", "a", "--reset-to", "latest", "--execute")
    assert done.exit_code == 1
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        (at,) = admin.list_group_offsets(["a"])["a"].values()
    assert at.offset == 3


def test_what_alone_is_wrong_keeps_its_class():
    attempts = Attempts()
    with attempts.one():
        raise UnknownTopicOrPartitionError("of one")
    with attempts.one():
        pass
    with pytest.raises(UnknownTopicOrPartitionError, match="of one"):
        attempts.check()


def test_no_time_ends_all_attempts():
    attempts = Attempts()
    with attempts.one():
        raise RefusalError("of one")
    said = r"^of one\nKafkaTimeoutError: time is over$"
    with pytest.raises(RefusalError, match=said), attempts.one():
        raise KafkaTimeoutError("time is over")


def test_what_is_wrong_with_many_alike_is_said_once():
    attempts = Attempts()
    for number in range(300):
        attempts.note(KafkaTimeoutError("t-1 has no leader"), f"g{number}")
    attempts.note(RefusalError("there is no group 'h'"))
    with pytest.raises(RefusalError) as said:
        attempts.check()
    assert str(said.value).splitlines() == [
        "g0, g1, g2, g3, g4 and 295 more: KafkaTimeoutError: t-1 has no leader",
        "there is no group 'h'",
    ]


def test_one_of_several_is_named():
    attempts = Attempts()
    attempts.note(KafkaTimeoutError("t-1 has\nno leader"), "g\x1b")
    with pytest.raises(RefusalError, match=r"^g\\x1b: KafkaTimeoutError: t-1 has\\nno leader$"):
        attempts.check()
