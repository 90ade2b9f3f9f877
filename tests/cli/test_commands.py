"""The command line says what is wrong with it before anything connects."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from kcore.broker import BrokerConfig
from kcore.cli.commands import kcore


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("consume", "Missing argument 'TOPIC...'"),
        ("consume t", "--bootstrap"),
        ("consume t -b h:1 --from yesterday", "neither earliest, latest nor an offset"),
        ("consume t -b h:1 --from ²", "neither earliest, latest nor an offset"),
        ("consume t -b h:1 --from 9999999999999999999999", "neither earliest, latest nor"),
        ("consume t -b h:1 --from by_duration:1h", "'by_duration:1h': not a duration"),
        ("consume t -b h:1 --from by_duration:-PT1H", "a negative duration"),
        ("consume t -b h:1 --from by_duration", "nor as by_duration:PT1H30M"),
        ("consume t -b h:1 --from @", "neither earliest, latest nor an offset"),
        ("consume t -b h:1 --from @9223372036854775808", "neither earliest, latest nor an offset"),
        ("consume t -b h:1 --from 2026-02-30", "'2026-02-30': day is out of range"),
        ("consume t -b h:1 --from 2026-02", "'2026-02': Invalid isoformat"),
        ("consume t -b h:1 --from 1969-12-31T23:59:59.999", "it is before 1970"),
        ("consume t -b h:1 -g g --from @7", "--from OFFSET is without it"),
        ("groups g -b h:1 --reset-to 1969-12-31", "it is before 1970"),
        ("broker -l 127.0.0.1:²", "is not HOST:PORT"),
        ("broker -l :9092", "is not HOST:PORT"),
        ("broker -l 127.0.0.1:65536", "is not HOST:PORT"),
        (f"broker -l {'a' * 64}:0", "is no name of a host"),
        ("broker -l \udcff:0", "is no name of a host"),
        ("broker --flush 0", "is neither never, always nor a number of ms"),
        ("broker --flush ²", "is neither never, always nor a number of ms"),
        ("broker --release ².3", "is no release"),
        ("broker --racks a,,b", "is not NAME,NAME"),
        ("broker --topic :3", "is not NAME[:PARTITIONS[:REPLICAS]]"),
        ("broker --topic a:b", "is not NAME[:PARTITIONS[:REPLICAS]]"),
        ("broker --topic a:1:1:1", "is not NAME[:PARTITIONS[:REPLICAS]]"),
        ("consume t -b h:1 -X session_timeout_ms=--5 -g g", "session_timeout_ms"),
        ("consume t -b h:1 --format %z", "unknown letter %z"),
        ("consume t -b h:1 -g g -p 0", "--partition is without it"),
        ("consume t -b h:1 -g g --from 7", "--from OFFSET is without it"),
        ("consume t -b h:1 --share", "--share takes a --group"),
        ("consume t -b h:1 --share -g g --from earliest", "--from is without it"),
        ("consume t -b h:1 --share -g g --from latest", "share.auto.offset.reset"),
        ("consume t -b h:1 --share -g g -p 0", "--partition is without it"),
        ("consume t -b h:1 --share -g g --exit", "--exit is without it"),
        ("consume t -b h:1 --share -g g --to 7", "--to is without it"),
        ("consume ^t -b h:1 --share -g g", "takes no patterns"),
        ("consume ^( -b h:1", "'^(' is no regular expression"),
        ("consume t u -b h:1 -p 0", "--partition is of one TOPIC"),
        ("consume ^t -b h:1 -p 0", "--partition is of one TOPIC"),
        ("consume t -b h:1 --to -3", "'-3' is no offset, nor as"),
        ("consume t -b h:1 --to latest", "'latest' is no offset, nor as"),
        ("consume t -b h:1 --to 2026-02-31", "'2026-02-31': day is out of range"),
        ("consume t -b h:1 --share -g g -X auto_offset_reset=earliest", "auto_offset_reset"),
        ("consume t -b h:1 -X nonsense", "is not NAME=VALUE"),
        ("consume t -b h:1 -X =v", "'=v' is not NAME=VALUE"),
        ("consume t -b h:1 -X bootstrap_servers=h:2", "bootstrap_servers is given by -b"),
        ("consume t -b h:1 -X group_id=g", "group_id is given by -g"),
        ("consume t -b h:1 --max -1", "--max"),
        ("produce", "Missing argument 'TOPIC'"),
        ("produce t", "--bootstrap"),
        ("produce t -b h:1 -f %k", "'%k' is not one of"),
        ("produce t -b h:1 -K :", "lines of format 'value' have none"),
        ("produce t -b h:1 -f json -K :", "lines of format 'json' have none"),
        ("produce t -b h:1 -H a", "'a' is not NAME=VALUE"),
        ("produce t -b h:1 -H =a", "'=a' is not NAME=VALUE"),
        ("produce t -b h:1 -p -1", "--partition"),
        ("produce t -b h:1 --keep-partitions", "--keep-partitions is for --format json"),
        ("produce t -b h:1 -f json -p 0 --keep-partitions", "without --partition"),
        ("produce t -b h:1 -z bz2", "'bz2' is not one of"),
        ("produce t -b h:1 -X compression_type=lz4", "compression_type is given by -z"),
        ("produce t -b h:1 -X acks=7", "acks"),
        ("produce t -b h:1 -X transactional_id=a", "makes no transactions"),
        ("groups", "--bootstrap"),
        ("groups g -b h:1 --state Stable", "without GROUP"),
        ("groups -b h:1 --delete", "take the groups that they are for"),
        ("groups -b h:1 --reset-to latest", "take the groups that they are for"),
        ("groups g -b h:1 --reset-to latest --delete", "not both"),
        ("groups g -b h:1 --execute", "go with --reset-to"),
        ("groups g -b h:1 -t t", "go with --reset-to"),
        ("groups g -b h:1 --reset-to yesterday", "or +N"),
        ("groups g -b h:1 --reset-to x7", "or +N"),
        ("groups g -b h:1 --reset-to by_duration:-PT1H", "a negative duration"),
        ("groups g -b h:1 --reset-to +", "or +N"),
        ("groups -b h:1 -X group_id=g", "group_id"),
        ("lag -b h:1", "Missing argument 'GROUP...'"),
        ("lag g", "--bootstrap"),
        ("lag g -b h:1 --max -1", "--max"),
        ("bench -t t", "--bootstrap says which"),
        ("bench -n 0", "--records"),
        ("bench -s 0", "--size"),
        ("topics", "--bootstrap"),
        ("demo --topic t", "go together"),
        ("demo --bootstrap h:1", "go together"),
        ("demo --members 0", "--members"),
        ("unheard-of", "No such command"),
    ],
)
def test_misuse_is_exit_2(line, said):
    done = CliRunner().invoke(kcore, line.split())
    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.parametrize(
    "verb", ["", "consume", "produce", "groups", "lag", "topics", "bench", "demo"]
)
def test_help(verb):
    done = CliRunner().invoke(kcore, [*verb.split(), "--help"])
    assert done.exit_code == 0
    assert "Usage:" in done.output


def test_as_a_module() -> None:
    """Of a certain Python, whatever is first on the PATH."""
    line = [sys.executable, "-m", "kcore", "topics", "--help"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.lstrip().startswith("Usage: python -m kcore topics")


def test_names_are_whole_where_no_terminal_cuts_them(kcore_broker):
    names = ["long." * 40 + end for end in ("a", "b")]
    for name in names:
        kcore_broker.create_topic(name, 2)
    for more, rows in (([], 2), (["--offsets"], 4)):
        line = ["topics", "--bootstrap", kcore_broker.bootstrap, *more]
        done = CliRunner().invoke(kcore, line)
        assert done.exit_code == 0, done.output
        first = [row.split()[0] for row in done.stdout.splitlines()[1:]]
        assert sorted(set(first)) == names
        assert len(first) == rows


def test_help_names_the_release_that_is_offered() -> None:
    said = CliRunner().invoke(kcore, ["broker", "--help"]).output
    assert "{}.{}]".format(*BrokerConfig().release) in said
