"""`kcore consume`: several topics, those that a pattern matches, and where it ends (`--to`)."""

import io
import json

import pytest
from click.testing import CliRunner
from test_printer import T0, T1, MadeUpConsumer, printer

from kcore.cli import consume as module
from kcore.cli.commands import kcore
from kcore.cli.consume import ConsumeOptions, Printer, open_consumer
from kcore.cli.formats import formatter
from kcore.embedded import EmbeddedBroker
from kcore.structs import TopicPartition


@pytest.fixture
def broker():
    with EmbeddedBroker() as broker:
        yield broker
        assert not broker.faults


def run(broker, *line, given=None):
    return CliRunner().invoke(kcore, [line[0], *line[1:], "-b", broker.bootstrap], input=given)


def fill(broker, *topics, count=2):
    for topic in topics:
        broker.create_topic(topic, 1)
        broker.produce(topic, [(None, b"%d" % number) for number in range(count)])


def printed(broker, *line):
    done = run(broker, "consume", "--from", "earliest", "-e", "-f", "%t/%o ", *line)
    assert done.exit_code == 0, done.output
    return sorted(done.stdout.split())


ALONE_AND_IN_A_GROUP = pytest.mark.parametrize(
    "group", [(), ("-g", "g"), ("-g", "g", "-X", "group_protocol=consumer")], ids=str
)


@ALONE_AND_IN_A_GROUP
@pytest.mark.parametrize(
    ("topics", "of"),
    [
        (("a", "c.d"), ("a", "c.d")),
        (("a", "a"), ("a",)),
        (("^a", "c.d"), ("a", "ab", "c.d")),
        (("^a$", "^c.d$"), ("a", "c.d", "cxd")),
        (("c.d", "^.*b|^nosuch"), ("ab", "c.d")),
    ],
)
def test_topics_that_are_named_or_matched(broker, group, topics, of):
    fill(broker, "a", "ab", "c.d", "cxd", "e")
    assert printed(broker, *topics, *group) == sorted(
        f"{name}/{at}" for name in of for at in (0, 1)
    )


def test_what_is_not_there_is_refused(broker):
    fill(broker, "a")
    for topics, said in (
        (("a", "nosuch"), "there is no topic 'nosuch'"),
        (("^x", "^y"), "no topic at {} matches '^x ^y'"),
        (("^__consumer_offsets",), "no topic at {} matches '^__consumer_offsets'"),
    ):
        done = run(broker, "consume", *topics)
        assert (done.exit_code, done.stdout) == (1, "")
        assert said.format(broker.bootstrap) in done.stderr


def test_topics_that_come_later_are_read_from_their_beginning(broker, monkeypatch):
    monkeypatch.setattr(module, "COMMIT_EVERY_S", 0.0)
    fill(broker, "a1")
    settings = {"metadata_max_age_ms": 50}
    options = ConsumeOptions(("^a", "b"), broker.bootstrap, settings=settings)
    out = io.BytesIO()
    fill(broker, "b")
    with open_consumer(options) as consumer:
        prints = Printer(consumer, options, formatter("%t/%o "), out)
        module._begin(consumer, options, prints)
        while any(consumer.position(TopicPartition(name, 0)) != 2 for name in ("a1", "b")):
            prints.step()
        fill(broker, "a2", "c")
        while b"a2/1" not in out.getvalue():
            prints.step()
        broker.produce("b", [(None, b"old")])
        while b"b/2" not in out.getvalue():
            prints.step()
    assert sorted(out.getvalue().split()) == [b"a2/0", b"a2/1", b"b/2"]


def test_a_share_group_of_several_topics(broker):
    fill(broker, "a", "b")
    earliest = "share.auto.offset.reset=earliest"
    assert run(broker, "configs", "group", "g", "--set", earliest).exit_code == 0
    line = ("a", "b", "--share", "-g", "g", "-n", "4", "-f", "%t/%o ")
    done = run(broker, "consume", *line)
    assert done.exit_code == 0, done.output
    assert sorted(done.stdout.split()) == ["a/0", "a/1", "b/0", "b/1"]


@pytest.fixture
def timed(broker):
    """Two partitions of ten records, whose times are 10 ms apart and meet at each full second."""
    broker.create_topic("t", 2)
    for partition in (0, 1):
        lines = [
            json.dumps({"value": "v", "timestamp": 1_000 * (1 + partition) + 10 * number})
            for number in range(10)
        ]
        done = run(
            broker, "produce", "t", "-f", "json", "-p", str(partition), given="\n".join(lines)
        )
        assert done.exit_code == 0, done.output
    return broker


def shown(offsets):
    return [f"{p}/{at}" for p in (0, 1) for at in range(offsets[p])]


@ALONE_AND_IN_A_GROUP
@pytest.mark.parametrize(
    ("to", "counts"),
    [
        ("3", (3, 3)),
        ("0", (0, 0)),
        ("10", (10, 10)),
        ("@1050", (5, 0)),
        ("@1051", (6, 0)),
        ("1970-01-01T00:00:02", (10, 0)),
        ("1970-01-01T00:00:02.085", (10, 9)),
        ("2999-01-01", (10, 10)),
    ],
)
def test_before_an_offset_or_a_time(timed, group, to, counts):
    done = run(timed, "consume", "t", "--from", "earliest", "--to", to, "-f", "%p/%o ", *group)
    assert done.exit_code == 0, done.output
    assert sorted(done.stdout.split()) == shown(counts)


def test_a_group_goes_on_where_it_ended(timed):
    line = ("consume", "t", "-g", "g", "--from", "earliest", "-f", "%p/%o ")
    first = run(timed, *line, "--to", "@2040")
    rest = run(timed, *line, "-e")
    assert sorted(first.stdout.split()) == shown((10, 4))
    assert sorted(rest.stdout.split()) == [f"1/{at}" for at in range(4, 10)]


def test_with_exit_it_ends_at_what_is_nearer(timed):
    line = ("consume", "t", "--from", "earliest", "-e", "-f", "%p/%o ")
    assert sorted(run(timed, *line, "--to", "99").stdout.split()) == shown((10, 10))
    assert sorted(run(timed, *line, "--to", "4").stdout.split()) == shown((4, 4))


def test_an_offset_that_is_still_to_come_is_waited_for(timed):
    options = ConsumeOptions(("t",), timed.bootstrap, start="latest", stop="12")
    out = io.BytesIO()
    with open_consumer(options) as consumer:
        prints = Printer(consumer, options, formatter("%p/%o "), out)
        module._begin(consumer, options, prints)
        assert not prints.finished()
        for partition in (0, 1):
            while consumer.position(TopicPartition("t", partition)) != 10:
                prints.step()
            timed.produce("t", [(None, b"new")] * 5, partition)
        while not prints.finished():
            prints.step()
    assert sorted(out.getvalue().split()) == [b"0/10", b"0/11", b"1/10", b"1/11"]


def test_what_comes_behind_the_end_is_not_printed_while_others_are_read():
    """Of a partition that was read to its end; it is not fetched any more."""
    paused = []
    consumer = MadeUpConsumer({T0: [b"a", b"b"], T1: [b"c", b"d"]})
    consumer.pause = paused.append
    out = io.BytesIO()
    prints = printer(consumer, out, stop_at_end=True, count=0)
    assert not prints.finished()
    consumer.records[T0] += [b"late", b"later"]
    while not prints.finished():
        prints.step()
    assert out.getvalue() == b"abcd"
    assert consumer.commits == []
    prints.end()
    assert consumer.commits == [{T0: 2, T1: 2}]
    assert paused == [T0]
