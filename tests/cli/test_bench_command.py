"""`kcore bench`: it runs, with its own broker and with others, and leaves nothing behind."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from kcore.cli.commands import kcore

KCORE = [sys.executable, "-m", "kcore.cli.main"]


def rows(text):
    """The title, and the figures of each way."""
    title, _, *ways = text.splitlines()
    return title, {
        way.split()[0]: [float(n.replace(",", "")) for n in way.split()[1:]] for way in ways
    }


def test_on_a_broker_of_its_own():
    done = subprocess.run(
        [*KCORE, "bench", "-n", "4000", "-r", "2"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    title, ways = rows(done.stdout)
    assert title == (
        "4,000 records of 100 bytes in 4 partitions at an embedded broker in a process of its own"
    )
    assert list(ways) == ["send()", "poll()", "poll_arrow()"]
    for rate, least, most, _, cpu_us in ways.values():
        assert 0 < least <= rate <= most
        assert cpu_us > 0


@pytest.mark.parametrize("more", [[], ["-z", "lz4", "-s", "1000", "-p", "2"]])
def test_on_brokers_that_are_there(kcore_broker, more):
    line = ["bench", "-b", kcore_broker.bootstrap, "-n", "2000", "-r", "1", *more]
    done = CliRunner().invoke(kcore, line)
    assert done.exit_code == 0, done.output
    title, ways = rows(done.stdout)
    words = "1000 bytes in 2 partitions, lz4" if more else "100 bytes in 4 partitions"
    assert title == f"2,000 records of {words} at {kcore_broker.bootstrap}"
    assert len(ways) == 3
    assert kcore_broker.topics() == {}


def test_a_topic_that_is_there_is_only_read(kcore_broker):
    kcore_broker.create_topic("t", 2)
    kcore_broker.produce("t", [(None, b"v" * 50)] * 300, partition=1)
    line = ["bench", "-b", kcore_broker.bootstrap, "-t", "t", "-r", "1", "-n"]
    title, ways = rows(CliRunner().invoke(kcore, [*line, "1000"]).stdout)
    assert title == f"300 records of 't' at {kcore_broker.bootstrap}"
    assert list(ways) == ["poll()", "poll_arrow()"]
    title, _ = rows(CliRunner().invoke(kcore, [*line, "200"]).stdout)
    assert title.startswith("200 records")
    done = CliRunner().invoke(kcore, ["bench", "-b", kcore_broker.bootstrap, "-t", "nosuch"])
    assert done.exit_code == 1
    assert "there is no topic 'nosuch'" in done.stderr


def test_a_topic_with_nothing_in_it(kcore_broker):
    kcore_broker.create_topic("t")
    done = CliRunner().invoke(kcore, ["bench", "-b", kcore_broker.bootstrap, "-t", "t"])
    assert done.exit_code == 1
    assert "there is nothing in topic 't'" in done.stderr
