"""Kafka's own tools against the embedded broker."""

import subprocess

import pytest

from kcore.cli.demo.java import TOOLS, KafkaUnavailableError, find_installation
from kcore.cli.demo.kafka_cluster import TOOL_JVM

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def installation():
    try:
        return find_installation()
    except KafkaUnavailableError as why:
        pytest.skip(str(why))


@pytest.fixture
def tool(installation, kcore_broker):
    def run(name, *args, stdin=""):
        command = installation.command(
            TOOLS[name], "--bootstrap-server", kcore_broker.bootstrap, *args, jvm=TOOL_JVM
        )
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    yield run
    assert not kcore_broker.faults


def test_topics_are_made_described_and_deleted(tool, kcore_broker):
    tool("kafka-topics", "--create", "--topic", "t", "--partitions", "3")
    assert kcore_broker.topics() == {"t": 3}
    described = tool("kafka-topics", "--describe", "--topic", "t")
    assert described.count("Leader: 1") == 3
    assert tool("kafka-topics", "--list").split() == ["t"]
    tool("kafka-topics", "--delete", "--topic", "t")
    assert kcore_broker.topics() == {}


def test_console_producer_and_a_group_of_console_consumers(tool, kcore_broker):
    kcore_broker.create_topic("t", 2)
    values = [f"value-{number}" for number in range(20)]
    tool("kafka-console-producer", "--topic", "t", stdin="\n".join(values))
    assert sum(kcore_broker.end_offsets("t")) == 20
    member = ("--topic", "t", "--group", "g", "--from-beginning")
    first = tool("kafka-console-consumer", *member, "--max-messages", "20")
    assert sorted(first.split()) == sorted(values)
    tool("kafka-console-producer", "--topic", "t", stdin="one more")
    assert tool("kafka-console-consumer", *member, "--max-messages", "1") == "one more\n"
    lags = tool("kafka-consumer-groups", "--describe", "--group", "g")
    assert [line.split()[5] for line in lags.splitlines() if line.startswith("g ")] == ["0", "0"]


def test_offsets_records_and_groups_are_administered(tool, kcore_broker, tmp_path):
    kcore_broker.create_topic("t")
    tool("kafka-console-producer", "--topic", "t", stdin="a\nb\nc")
    assert tool("kafka-get-offsets", "--topic", "t") == "t:0:3\n"
    wanted = tmp_path / "delete.json"
    wanted.write_text('{"partitions":[{"topic":"t","partition":0,"offset":2}],"version":1}')
    tool("kafka-delete-records", "--offset-json-file", str(wanted))
    assert tool("kafka-get-offsets", "--topic", "t", "--time", "earliest") == "t:0:2\n"
    reset = ("--group", "g", "--topic", "t", "--reset-offsets", "--to-latest", "--execute")
    tool("kafka-consumer-groups", *reset)
    assert "g" in tool("kafka-consumer-groups", "--list").split()
    tool("kafka-consumer-groups", "--delete", "--group", "g")
    assert "g" not in tool("kafka-consumer-groups", "--list").split()
