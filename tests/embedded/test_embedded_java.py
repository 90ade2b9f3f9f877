"""Kafka's own tools and clients against the embedded broker."""

import subprocess

import pytest
from verifiable import DEADLINE_S, running

from kcore.broker import BrokerConfig
from kcore.cli.demo.java import TOOLS
from kcore.embedded import EmbeddedBroker

# The tools have limits of their own, which say more than pytest's would.
pytestmark = [pytest.mark.kafka, pytest.mark.timeout(400)]

# A JVM for each call of a tool: what the ordinary run leaves to the long one.
slow = pytest.mark.slow
CODECS = [*(pytest.param(name, marks=slow) for name in ("none", "gzip", "snappy", "lz4")), "zstd"]
RELEASES = [(2, 1), *(pytest.param(release, marks=slow) for release in [(2, 8), (4, 4)])]


def tool_of(installation, broker):
    def run(name, *args, stdin=""):
        command = installation.command(TOOLS[name], "--bootstrap-server", broker.bootstrap, *args)
        done = subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=DEADLINE_S
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def tool(installation, kcore_broker):
    yield tool_of(installation, kcore_broker)
    assert not kcore_broker.faults


@pytest.fixture
def cluster_tool(installation, kcore_cluster):
    yield tool_of(installation, kcore_cluster)
    assert not kcore_cluster.faults


def rows(text):
    """The lines of a tool's table, as words."""
    return [line.split() for line in text.splitlines() if line.split()]


# Topics -------------------------------------------------------------------------------------------


def test_topics_are_made_described_and_deleted(tool, kcore_broker):
    tool("kafka-topics", "--create", "--topic", "t", "--partitions", "3")
    assert kcore_broker.topics() == {"t": 3}
    described = tool("kafka-topics", "--describe", "--topic", "t")
    assert described.count("Leader: 1") == 3
    tool("kafka-topics", "--alter", "--topic", "t", "--partitions", "5")
    assert kcore_broker.topics() == {"t": 5}
    assert tool("kafka-topics", "--list").split() == ["t"]
    tool("kafka-topics", "--delete", "--topic", "t")
    assert kcore_broker.topics() == {}


@slow
def test_replicas_and_their_state_are_described(cluster_tool, kcore_cluster):
    kcore_cluster.create_topic("t", 3, replication_factor=3)
    kcore_cluster.kill(2)
    described = cluster_tool("kafka-topics", "--describe", "--under-replicated-partitions")
    assert described.count("Topic: t") == 3
    kcore_cluster.revive(2)
    assert not cluster_tool("kafka-topics", "--describe", "--under-replicated-partitions").split()


@slow
def test_options_of_a_topic_are_changed(tool, kcore_broker):
    tool("kafka-topics", "--create", "--topic", "t", "--config", "retention.ms=1000")
    entity = ("--entity-type", "topics", "--entity-name", "t")
    tool("kafka-configs", "--alter", *entity, "--add-config", "cleanup.policy=compact")
    described = tool("kafka-configs", "--describe", *entity)
    assert "cleanup.policy=compact" in described
    assert "retention.ms=1000" in described
    tool("kafka-configs", "--alter", *entity, "--delete-config", "retention.ms")
    assert "retention.ms" not in tool("kafka-configs", "--describe", *entity)


# Records ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS)
def test_console_tools_in_every_codec(tool, kcore_broker, codec):
    kcore_broker.create_topic("t", 2)
    values = [f"value-{number}" for number in range(50)]
    tool(
        "kafka-console-producer", "--topic", "t", "--compression-codec", codec,
        stdin="\n".join(values),
    )  # fmt: skip
    assert sum(kcore_broker.end_offsets("t")) == 50
    read = tool(
        "kafka-console-consumer", "--topic", "t", "--from-beginning", "--max-messages", "50"
    )
    assert sorted(read.split()) == sorted(values)


def test_a_group_of_console_consumers_goes_on_where_it_was(tool, kcore_broker):
    kcore_broker.create_topic("t", 2)
    kcore_broker.produce("t", [(None, b"value-%d" % number) for number in range(20)])
    member = ("--topic", "t", "--group", "g", "--from-beginning")
    tool("kafka-console-consumer", *member, "--max-messages", "20")
    kcore_broker.produce("t", [(None, b"one more")])
    assert tool("kafka-console-consumer", *member, "--max-messages", "1") == "one more\n"
    lags = tool("kafka-consumer-groups", "--describe", "--group", "g")
    assert [line[5] for line in rows(lags) if line[0] == "g"] == ["0", "0"]


@slow
def test_records_are_deleted(tool, kcore_broker, tmp_path):
    kcore_broker.create_topic("t")
    kcore_broker.produce("t", [(None, b"a"), (None, b"b"), (None, b"c")])
    assert tool("kafka-get-offsets", "--topic", "t") == "t:0:3\n"
    wanted = tmp_path / "delete.json"
    wanted.write_text('{"partitions":[{"topic":"t","partition":0,"offset":2}],"version":1}')
    tool("kafka-delete-records", "--offset-json-file", str(wanted))
    assert tool("kafka-get-offsets", "--topic", "t", "--time", "earliest") == "t:0:2\n"


@slow
def test_the_perf_tools_run(tool, kcore_broker):
    kcore_broker.create_topic("t", 3)
    said = tool(
        "kafka-producer-perf-test", "--topic", "t", "--num-records", "20000",
        "--record-size", "100", "--throughput", "-1", "--command-property", "acks=all",
    )  # fmt: skip
    assert "20000 records sent" in said
    assert sum(kcore_broker.end_offsets("t")) == 20_000
    said = tool("kafka-consumer-perf-test", "--topic", "t", "--num-records", "20000")
    assert "20000" in said


# Groups -------------------------------------------------------------------------------------------


@slow
def test_verifiable_members_share_lose_one_and_count_every_record(installation, kcore_broker):
    kcore_broker.create_topic("t", 4)
    group = ("--topic", "t", "--group-id", "g", "--reset-policy", "earliest")
    with running(installation, kcore_broker, "Consumer", *group) as first:
        assert len(first.wait("partitions_assigned")[0]["partitions"]) == 4
        with running(installation, kcore_broker, "Consumer", *group) as second:
            second.wait("partitions_assigned")
            assert len(first.wait("partitions_assigned", 2)[1]["partitions"]) == 2
            produced = ("--topic", "t", "--max-messages", "1000", "--acks", "-1")
            with running(installation, kcore_broker, "Producer", *produced) as producer:
                producer.wait("producer_send_success", 1_000)
                said = producer.wait("tool_data")[0]
                assert (said["sent"], said["acked"]) == (1000, 1000)
            assert sum(kcore_broker.end_offsets("t")) == 1_000

            def read():
                found = first.named("records_consumed") + second.named("records_consumed")
                return sum(event["count"] for event in found)

            while read() < 1_000:
                events = first if first_lacks(kcore_broker, first) else second
                events.wait("records_consumed", len(events.named("records_consumed")) + 1)
            assert read() == 1_000
        assert len(first.wait("partitions_assigned", 3)[2]["partitions"]) == 4
    assert not kcore_broker.faults


def first_lacks(broker, events):
    """Whether a member has not read all of the partitions that it has."""
    ends = broker.end_offsets("t")
    mine = events.named("partitions_assigned")[-1]["partitions"]
    wanted = sum(ends[each["partition"]] for each in mine)
    return sum(event["count"] for event in events.named("records_consumed")) < wanted


@slow
def test_a_static_verifiable_member_comes_back(installation, kcore_broker):
    kcore_broker.create_topic("t", 4)
    group = ("--topic", "t", "--group-id", "g", "--group-instance-id", "one")
    with running(installation, kcore_broker, "Consumer", *group) as member:
        member.wait("partitions_assigned")
    tool = tool_of(installation, kcore_broker)
    described = tool("kafka-consumer-groups", "--describe", "--group", "g", "--members")
    assert any("one" in line for line in rows(described))
    with running(installation, kcore_broker, "Consumer", *group) as member:
        assert len(member.wait("partitions_assigned")[0]["partitions"]) == 4
    assert not kcore_broker.faults


@slow
def test_a_group_is_described_reset_and_deleted(tool, kcore_broker):
    kcore_broker.create_topic("t", 2)
    kcore_broker.produce("t", [(None, b"v")] * 20)
    reset = ("--group", "g", "--topic", "t", "--reset-offsets", "--execute")
    tool("kafka-consumer-groups", *reset, "--to-latest")
    tool("kafka-consumer-groups", *reset, "--shift-by", "-3")
    lags = tool("kafka-consumer-groups", "--describe", "--group", "g")
    assert [line[5] for line in rows(lags) if line[0] == "g"] == ["3", "3"]
    state = tool("kafka-consumer-groups", "--describe", "--group", "g", "--state")
    assert "Empty" in state
    assert "Empty" in tool("kafka-consumer-groups", "--list", "--state")
    tool("kafka-consumer-groups", "--delete-offsets", "--group", "g", "--topic", "t:0")
    lags = tool("kafka-consumer-groups", "--describe", "--group", "g")
    assert [line[2] for line in rows(lags) if line[0] == "g"] == ["1"]
    tool("kafka-consumer-groups", "--delete", "--group", "g")
    assert "g" not in tool("kafka-consumer-groups", "--list").split()


@slow
def test_a_console_group_outlives_its_coordinator(installation, kcore_cluster):
    kcore_cluster.create_topic("t", 3, replication_factor=3)
    group = ("--topic", "t", "--group-id", "g", "--reset-policy", "earliest")
    with running(installation, kcore_cluster, "Consumer", *group) as member:
        member.wait("partitions_assigned")
        for round_number, node in enumerate((1, 2, 3), 1):
            kcore_cluster.kill(node)
            kcore_cluster.produce("t", [(None, b"v")] * 30)
            member.wait("offsets_committed", 1)
            until_read(member, 30 * round_number)
            kcore_cluster.revive(node)
    assert not kcore_cluster.faults


def until_read(events, count):
    while sum(event["count"] for event in events.named("records_consumed")) < count:
        events.wait("records_consumed", len(events.named("records_consumed")) + 1)


@pytest.mark.parametrize("release", RELEASES)
def test_the_tools_work_with_what_older_releases_had(installation, release):
    with EmbeddedBroker(config=BrokerConfig(release=release)) as broker:
        tool = tool_of(installation, broker)
        made = ("--topic", "t", "--partitions", "2", "--replication-factor", "1")
        tool("kafka-topics", "--create", *made)
        tool("kafka-console-producer", "--topic", "t", stdin="a\nb")
        member = ("--topic", "t", "--group", "g", "--from-beginning", "--max-messages", "2")
        assert sorted(tool("kafka-console-consumer", *member).split()) == ["a", "b"]
        assert not broker.faults
