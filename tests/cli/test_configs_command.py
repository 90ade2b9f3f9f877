"""`kcore configs` over an embedded broker."""

import pytest
from click.testing import CliRunner

from kcore.cli.commands import kcore


@pytest.fixture
def run(kcore_broker):
    kcore_broker.create_topic("t")
    kcore_broker.create_topic("u")

    def made(*line):
        return CliRunner().invoke(kcore, ["configs", *line, "-b", kcore_broker.bootstrap])

    return made


def rows(result):
    assert result.exit_code == 0, result.output
    return [row.strip().split(maxsplit=3) for row in result.stdout.splitlines()]


def test_entries_are_set_shown_and_unset(run):
    assert rows(run("topic", "t")) == [["topic", "name", "value", "by"]]
    assert not rows(run("topic", "t", "u", "--set", "retention.ms=7"))
    assert rows(run("topic", "t"))[1:] == [["t", "retention.ms", "7", "dynamic topic config"]]
    assert [row[:3] for row in rows(run("topic"))[1:]] == [
        ["t", "retention.ms", "7"],
        ["u", "retention.ms", "7"],
    ]
    every = {row[1]: row[2:] for row in rows(run("topic", "t", "--all"))[1:]}
    assert every["segment.bytes"] == ["1073741824", "default config"]
    rows(run("topic", "t", "--unset", "retention.ms", "--set", "segment.ms=100"))
    assert [row[1] for row in rows(run("topic", "t"))[1:]] == ["segment.ms"]


def test_of_all_brokers_and_of_groups(run):
    rows(run("broker", "default", "--set", "log.retention.ms=9"))
    assert rows(run("broker", "default"))[1:] == [
        ["default", "log.retention.ms", "9", "dynamic default broker config"]
    ]
    assert len(rows(run("topic", "t"))) == 1
    assert [row[0] for row in rows(run("broker", "1"))[1:]] == ["1"]
    rows(run("group", "later", "--set", "share.auto.offset.reset=earliest"))
    assert [row[:3] for row in rows(run("group"))[1:]] == [
        ["later", "share.auto.offset.reset", "earliest"]
    ]


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (["topic", "nope"], 1, "'nope'"),
        (["topic", "t", "--set", "retention.ms=soon"], 1, "retention.ms"),
        (["topic", "t", "--set", "nope=1"], 1, "nope"),
        (["topic", "--set", "retention.ms=1"], 2, "take the NAME"),
        (["topic", "t", "--all", "--unset", "retention.ms"], 2, "no --all"),
        (["topic", "t", "--set", "retention.ms"], 2, "is not NAME=VALUE"),
        (["table", "t"], 2, "'table' is not one of"),
    ],
)
def test_what_cannot_be(run, line, code, said):
    result = run(*line)
    assert result.exit_code == code
    assert said in result.output


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ([], 2, "or '--bootstrap-controllers'"),
        (["-b", "h:1", "--bootstrap-controllers", "h:2"], 2, "not both"),
        (["-X", "bootstrap_controllers=h:2"], 2, "given by --bootstrap-controllers"),
    ],
)
def test_brokers_or_controllers(line, code, said):
    result = CliRunner().invoke(kcore, ["configs", "topic", "t", *line])
    assert result.exit_code == code
    assert said in result.output


def test_an_embedded_broker_is_no_controller(kcore_broker):
    line = ["configs", "topic", "t", "--bootstrap-controllers", kcore_broker.bootstrap]
    # What the environment says is for those who say nothing.
    result = CliRunner().invoke(kcore, line, env={"KCORE_BOOTSTRAP": kcore_broker.bootstrap})
    assert result.exit_code == 1
    assert "MISMATCHED_ENDPOINT_TYPE" in result.output
