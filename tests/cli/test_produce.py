"""`kcore produce` over an embedded broker: what is in the topic, what is said, how it ends."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

from kcore import Consumer, TopicPartition
from kcore.cli import produce as module
from kcore.cli.commands import kcore
from kcore.cli.lines import Line
from kcore.cli.produce import ProduceOptions
from kcore.errors import KafkaTimeoutError


def run(broker, line, given=b""):
    line = ["produce", *line.split(), "-b", broker.bootstrap]
    return CliRunner().invoke(kcore, line, input=given)


def records(broker, topic="t"):
    with Consumer(bootstrap_servers=broker.bootstrap) as consumer:
        numbers = sorted(consumer.partitions_for_topic(topic) or ())
        partitions = [TopicPartition(topic, number) for number in numbers]
        consumer.assign(partitions)
        consumer.seek_to_beginning()
        found = [*consumer.read_until(consumer.end_offsets(partitions))]
    return sorted(found, key=lambda one: (one.partition, one.offset))


@pytest.fixture
def broker(kcore_broker):
    kcore_broker.create_topic("t", 2)
    return kcore_broker


def test_lines_in_order(broker):
    done = run(broker, "t -p 1", b"a\n\nb")
    assert done.exit_code == 0, done.output
    assert [(one.partition, one.key, one.value) for one in records(broker)] == [
        (1, None, b"a"),
        (1, None, b""),
        (1, None, b"b"),
    ]
    assert done.stdout == ""
    assert done.stderr == "kcore: 3 records written to t (partition 1: 0 to 2)\n"


def test_nothing_on_standard_input(broker):
    done = run(broker, "t")
    assert done.exit_code == 0
    assert done.stderr == "kcore: 0 records written to t\n"


def test_what_all_records_have(broker):
    done = run(broker, "t -q -k key -H a=b=c -H a= -Z -X acks=1 -z gzip", b"v\n\n")
    assert done.exit_code == 0, done.output
    assert [(one.key, one.value, one.headers) for one in records(broker)] == [
        (b"key", b"v", [("a", b"b=c"), ("a", b"")]),
        (b"key", None, [("a", b"b=c"), ("a", b"")]),
    ]
    assert done.output == ""


def test_bytes_that_are_no_text_are_written_as_they_were_typed(broker):
    """It was a traceback."""
    done = run(broker, "t -k \udcff\udcfe -H a=\udcff", b"v\n")
    assert done.exit_code == 0, done.output
    assert [(one.key, one.headers) for one in records(broker)] == [(b"\xff\xfe", [("a", b"\xff")])]


def test_keys_of_lines_win(broker):
    done = run(broker, "t -f key-value -K : -k other", b"k:v:w\n:x\n")
    assert done.exit_code == 0, done.output
    assert {(one.key, one.value) for one in records(broker)} == {(b"k", b"v:w"), (b"", b"x")}


@pytest.mark.parametrize(("more", "where"), [("", {0}), (" --keep-partitions", {0, 1})])
def test_a_topic_is_copied(broker, more, where):
    """What consume prints as JSON is what produce reads; partitions only if they are wanted."""
    lines = b"".join(
        json.dumps({"value": f"v{i}", "key": "same", "partition": i % 2, "timestamp": i}).encode()
        + b"\n"
        for i in range(6)
    )
    run(broker, "t -f json --keep-partitions", lines)
    line = ["consume", "t", "-b", broker.bootstrap, "--from", "earliest", "-e", "-f", "json"]
    printed = CliRunner().invoke(kcore, line).stdout_bytes
    broker.create_topic("copy", 2)
    done = run(broker, f"copy -f json{more}", printed)
    assert done.exit_code == 0, done.output
    copied = records(broker, "copy")
    assert sorted((one.timestamp, one.value) for one in copied) == [
        (i, b"v%d" % i) for i in range(6)
    ]
    assert len({one.partition for one in copied}) == len(where)


def test_a_line_that_is_no_record_ends_it_and_what_was_before_is_written(broker):
    done = run(broker, "t -f key-value -p 0", b"a\tb\nc\td\nnothing\ne\tf\n")
    assert done.exit_code == 1
    assert "line 3: there is no b'\\t' between key and value" in done.stderr
    assert "2 records written to t (partition 0: 0 to 1)" in done.stderr
    assert [one.value for one in records(broker)] == [b"b", b"d"]


@pytest.mark.parametrize(
    ("line", "given", "said"),
    [
        ("t -p 2", b"v\n", "line 1: IllegalArgumentError: t has no partition 2"),
        ("t -X max_request_size=20", b"v\n" + b"w" * 30, "line 1: RecordTooLargeError"),
        ("t -f json", b'{"value": "v", "timestamp": -7}\n', "line 1: "),
        ("t -f json", b'{"value": "v", "timestamp": 99999999999999999999}\n', "line 1: "),
        ("t -f json --keep-partitions", b'{"value": "v", "partition": -1}\n', "line 1: "),
        ("nonsense/name", b"v\n", "line 1: InvalidTopicError"),
    ],
)
def test_a_record_that_is_not_taken(broker, line, given, said):
    done = run(broker, line, given)
    assert done.exit_code == 1, done.output
    assert said in done.stderr
    assert "0 records written" in done.stderr
    assert "1 not" in done.stderr


def test_a_record_that_is_refused_later_is_said_by_its_line(broker):
    broker.create_topic("small", settings={"max.message.bytes": "200"})
    given = b"\n".join([b"a", b"b" * 500, b"c"])
    done = run(broker, "small -X batch_size=0", given)
    assert done.exit_code == 1
    assert "line 2: " in done.stderr
    assert "2 records written to small (partition 0: 0 to 1), 1 not" in done.stderr


def test_nobody_is_there():
    line = "produce t -b 127.0.0.1:1 -X bootstrap_timeout_ms=300"
    done = CliRunner().invoke(kcore, line.split(), input=b"v\n")
    assert done.exit_code == 1
    assert "NoBrokersAvailable" in done.stderr


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_what_was_read_before_it_is_ended_is_written(broker, end):
    """While more may come: records do not wait for the end of the input."""
    program = "from kcore.cli.main import main; main()"
    line = [sys.executable, "-c", program, "produce", "t", "-p", "0", "-b", broker.bootstrap]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(b"a\nb\n")
        process.stdin.flush()
        until = time.monotonic() + 20
        while len(records(broker)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(end)
        said = process.stderr.read()
        assert process.wait(20) == 128 + end
        process.stdin.close()
    assert said == b"kcore: 2 records written to t (partition 0: 0 to 1)\n"


def test_standard_input_that_is_closed(broker):
    line = '"$0" -c "from kcore.cli.main import main; main()" produce t -b "$1" <&-'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, broker.bootstrap],
        capture_output=True, text=True, timeout=20, env=os.environ,
    )  # fmt: skip
    assert done.returncode == 1
    assert "standard input is closed" in done.stderr


class Lost:
    """A future, of a producer whose brokers cannot be reached; it fails when that is closed."""

    is_done = False
    value = None
    exception = KafkaTimeoutError("closed")


@pytest.mark.parametrize(
    ("struck", "not_written"), [("flush", 2), ("send", 1)], ids=["waiting", "before it is taken"]
)
def test_what_is_given_up_is_counted(monkeypatch, capsys, struck, not_written):
    """It was said that 0 were written, and not that 2 were not."""
    lost = Lost()

    def closed(_timeout_ms):
        lost.is_done = True

    producer = Mock(**{"send.return_value": lost, "close.side_effect": closed})
    getattr(producer, struck).side_effect = KeyboardInterrupt
    monkeypatch.setattr(module, "open_producer", lambda _options: producer)
    with pytest.raises(KeyboardInterrupt):
        module.produce(ProduceOptions("t", "h:1"), Line, io.BytesIO(b"a\nb\n"))
    assert capsys.readouterr().err == f"kcore: 0 records written to t, {not_written} not\n"
