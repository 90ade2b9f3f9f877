"""`kcore consume --from`: where printing begins."""

import io
import json
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from kcore import Admin
from kcore.cli import consume as module
from kcore.cli.commands import kcore
from kcore.cli.consume import ConsumeOptions, Printer, open_consumer
from kcore.cli.formats import formatter
from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaTimeoutError, LogTruncationError, OffsetOutOfRangeError
from kcore.structs import OffsetAndMetadata, TopicPartition


@pytest.fixture
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 2)
        broker.produce("t", [(None, b"%d" % number) for number in range(20)])
        yield broker
        assert not broker.faults


def consumed(broker, start, *options):
    line = ["consume", "t", "-b", broker.bootstrap, "--from", start, "-e", "-f", "%p/%o ", *options]
    return CliRunner().invoke(kcore, line)


def printed(broker, start):
    done = consumed(broker, start)
    assert done.exit_code == 0, done.output
    return sorted(done.stdout.split())


def trim(broker, before):
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.delete_records({TopicPartition("t", 1): before})


def test_what_is_not_there_is_refused(broker):
    line = ["consume", "nosuch", "-b", broker.bootstrap, "-e"]
    for done, said in (
        (CliRunner().invoke(kcore, line), "there is no topic 'nosuch'"),
        (consumed(broker, "earliest", "-p", "1", "-p", "2"), "t has no partition 2: 2 in all"),
    ):
        assert (done.exit_code, done.stdout) == (1, "")
        assert said in done.stderr


def test_earliest_latest_and_partitions_that_are_named(broker):
    """Whatever a reset would be."""
    done = consumed(broker, "earliest", "-p", "1", "-X", "auto_offset_reset=none")
    assert sorted(done.output.split()) == [f"1/{offset}" for offset in range(10)]
    assert consumed(broker, "latest", "-X", "auto_offset_reset=earliest").output == ""


def test_a_group_goes_on_behind_what_was_printed(broker):
    first, rest = (consumed(broker, "earliest", "-g", "g", *more) for more in (("-n", "13"), ()))
    assert (first.exit_code, rest.exit_code) == (0, 0)
    assert (len(first.stdout.split()), len(rest.stdout.split())) == (13, 7)
    printed_all = [*first.stdout.split(), *rest.stdout.split()]
    assert sorted(printed_all) == sorted(f"{p}/{offset}" for p in (0, 1) for offset in range(10))


@pytest.mark.parametrize(
    ("start", "offsets"), [("8", (8, 9)), ("-3", (7, 8, 9)), ("-99", range(10)), ("-0", ())]
)
def test_an_offset_or_the_last_of_each_partition(broker, start, offsets):
    assert printed(broker, start) == [f"{p}/{offset}" for p in (0, 1) for offset in offsets]


@pytest.mark.parametrize(
    ("start", "offsets"),
    [
        ("@1015", {5, 6, 7, 8, 9}),
        ("1970-01-01T00:00:01.015", {5, 6, 7, 8, 9}),
        ("1970-01-01T01:00:01.0159+01:00", {5, 6, 7, 8, 9}),
        ("1970-01-01T00:00:01.020Z", {9}),
        ("@1020", {9}),
        ("@1021", set()),
        ("2999-01-01", set()),
        ("1970-01-01", set(range(10))),
    ],
)
def test_from_a_time_on(broker, start, offsets):
    """Of a partition that has nothing as young as that: what comes."""
    broker.create_topic("timed", 2)
    for partition in (0, 1):
        for number in range(10):
            value = json.dumps({"value": "v", "timestamp": 1010 + number + (number == 9)})
            line = ["produce", "timed", "-b", broker.bootstrap, "-f", "json", "-p", str(partition)]
            assert CliRunner().invoke(kcore, line, input=value).exit_code == 0
    line = ["consume", "timed", "-b", broker.bootstrap, "--from", start, "-e", "-f", "%p/%o "]
    done = CliRunner().invoke(kcore, line)
    assert done.exit_code == 0, done.output
    assert {*done.stdout.split()} == {f"{p}/{offset}" for p in (0, 1) for offset in offsets}


def test_of_what_is_left(broker):
    trim(broker, 8)
    assert printed(broker, "-3") == ["0/7", "0/8", "0/9", "1/8", "1/9"]


def test_a_group_has_a_place_of_its_own():
    done = CliRunner().invoke(kcore, ["consume", "t", "-b", "h:1", "-g", "g", "--from", "-3"])
    assert done.exit_code == 2
    assert "--from OFFSET is without it" in done.output


def test_what_is_gone_begins_with_the_nearest_that_is_left(broker):
    """It went to the end, behind all of it."""
    trim(broker, 8)
    done = consumed(broker, "6")
    assert done.exit_code == 0
    assert sorted(done.stdout.split()) == ["0/6", "0/7", "0/8", "0/9", "1/8", "1/9"]
    assert done.stderr.splitlines() == ["kcore: t-1 has no offset 6: going on at 8"]
    trim(broker, 10)  # nothing is left
    done = consumed(broker, "8")
    assert (done.exit_code, sorted(done.stdout.split())) == (0, ["0/8", "0/9"])


def test_beyond_the_end_it_waits_there(broker):
    options = ConsumeOptions(("t",), broker.bootstrap, partitions=(0,), start="12")
    with open_consumer(options) as consumer:
        consumer.assign([TopicPartition("t", 0)])
        consumer.seek(TopicPartition("t", 0), 12)
        out = io.BytesIO()
        printer = Printer(consumer, options, formatter("%o %s "), out)
        while consumer.position(TopicPartition("t", 0)) == 12:
            printer.step()
        broker.produce("t", [(None, b"new")], 0)
        while not out.getvalue():
            printer.step()
        assert out.getvalue() == b"10 new "


def more_partitions(broker, count):
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.create_partitions({"t": count})


@pytest.mark.parametrize(
    ("more", "printed_too"),
    [({}, True), ({"partitions": (0, 1)}, False), ({"stop_at_end": True}, False)],
)
@pytest.mark.parametrize("start", ["latest", "10"])
def test_partitions_that_come_later_are_read_from_their_beginning(
    broker, monkeypatch, start, more, printed_too
):
    """What was written there was never printed. Not where partitions are named, or it ends."""
    monkeypatch.setattr(module, "COMMIT_EVERY_S", 0.0)
    settings = {"metadata_max_age_ms": 50}
    options = ConsumeOptions(("t",), broker.bootstrap, start=start, settings=settings, **more)
    out = io.BytesIO()
    with open_consumer(options) as consumer:
        printer = Printer(consumer, options, formatter("%p/%o "), out)
        module._begin(consumer, options, printer)
        while any(consumer.position(TopicPartition("t", number)) != 10 for number in (0, 1)):
            printer.step()
        more_partitions(broker, 3)
        broker.produce("t", [(None, b"new")], 2)
        while len(consumer.partitions_for_topic("t")) < 3:
            printer.step()
        printer.step()
        broker.produce("t", [(None, b"old")], 0)
        while b"0/10" not in out.getvalue() or (printed_too and b"2/0" not in out.getvalue()):
            printer.step()
        assert sorted(out.getvalue().split()) == [b"0/10", b"2/0"][: 1 + printed_too]
        assert len(consumer.assignment()) == 2 + printed_too


def test_a_topic_that_is_gone_is_waited_for(monkeypatch):
    """Nobody answers where its partitions are."""
    monkeypatch.setattr(module, "COMMIT_EVERY_S", 0.0)
    consumer = Mock(**{
        "poll.return_value": {}, "partitions_for_topic.side_effect": KafkaTimeoutError("gone")
    })  # fmt: skip
    Printer(consumer, ConsumeOptions(("t",), "h:1"), str, io.BytesIO()).step()
    consumer.partitions_for_topic.assert_called_once_with("t")
    consumer.assign.assert_not_called()


@pytest.mark.parametrize("option", ["auto_offset_reset", "out_of_range_reset"])
def test_where_to_go_on_may_be_said(broker, option):
    trim(broker, 8)
    done = consumed(broker, "6", "-X", f"{option}=latest")
    assert (done.exit_code, sorted(done.stdout.split())) == (0, ["0/6", "0/7", "0/8", "0/9"])
    assert "going on at 8" not in done.stderr


def test_a_log_that_was_cut_off_goes_on_where_it_parts(capsys):
    """An unclean election; `at`: None where nobody knows."""
    cut = TopicPartition("t", 0)
    for at, place in ((OffsetAndMetadata(7, "", 1), 7), (None, 9)):
        consumer = Mock(**{
            "poll.side_effect": LogTruncationError({cut: at}),
            "beginning_offsets.return_value": {cut: 2},
            "end_offsets.return_value": {cut: 9},
        })  # fmt: skip
        printer = Printer(consumer, ConsumeOptions(("t",), "h:1", start="5"), str, io.BytesIO())
        printer.step()
        consumer.seek.assert_called_once_with(cut, place)
        assert capsys.readouterr().err == f"kcore: t-0 was truncated: going on at {place}\n"


def test_a_leader_that_has_it_after_all_is_left_alone(capsys):
    """Where it is not asked again at once."""
    at = TopicPartition("t", 0)
    consumer = Mock(**{
        "poll.side_effect": OffsetOutOfRangeError({at: 5}, offsets={at: 5}),
        "beginning_offsets.return_value": {at: 2},
        "end_offsets.return_value": {at: 9},
    })  # fmt: skip
    Printer(consumer, ConsumeOptions(("t",), "h:1", start="5"), str, io.BytesIO()).step()
    consumer.seek.assert_not_called()
    assert capsys.readouterr().err == ""
