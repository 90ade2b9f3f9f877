"""Kafka's own administration tools against three embedded nodes."""

import json
import subprocess

import pytest

from kcore.cli.demo.java import TOOLS

pytestmark = pytest.mark.kafka


@pytest.fixture
def tool(installation, kcore_cluster):
    def run(name, *args, fails=False):
        command = installation.command(
            TOOLS[name], "--bootstrap-server", kcore_cluster.bootstrap, *args
        )
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr * fails

    yield run
    assert not kcore_cluster.faults


@pytest.mark.slow
def test_options_are_set_and_shown(tool, kcore_cluster):
    kcore_cluster.create_topic("t")
    topic = ("--entity-type", "topics", "--entity-name", "t")
    more = "retention.ms=1000,cleanup.policy=[compact,delete]"
    tool("kafka-configs", "--alter", *topic, "--add-config", more)
    shown = tool("kafka-configs", "--describe", *topic)
    assert (
        "  retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000}\n"
    ) in shown  # as on a Kafka 4.3.1, where nothing is said of log.retention.hours
    assert "  cleanup.policy=compact,delete " in shown
    wrong = ("--add-config", "retention.ms=abc")
    said = tool("kafka-configs", "--alter", *topic, *wrong, fails=True)
    assert "Invalid value abc for configuration retention.ms: Not a number of type LONG" in said


@pytest.mark.slow
def test_options_of_all_nodes_are_set(tool):
    nodes = ("--entity-type", "brokers", "--entity-default")
    tool("kafka-configs", "--alter", *nodes, "--add-config", "log.retention.ms=5")
    assert "  log.retention.ms=5 " in tool("kafka-configs", "--describe", *nodes)


@pytest.mark.slow
def test_replicas_are_described_and_lead_again(tool, kcore_cluster):
    kcore_cluster.create_topic("t", 3, replication_factor=3)
    kcore_cluster.kill(2)
    behind = tool("kafka-topics", "--describe", "--under-replicated-partitions")
    assert behind.count("Isr: ") == 3
    kcore_cluster.revive(2)
    assert not tool("kafka-topics", "--describe", "--under-replicated-partitions").strip()
    every = ("--election-type", "preferred", "--all-topic-partitions")
    assert "(PREFERRED) for partitions t-1" in tool("kafka-leader-election", *every)
    leaders = [
        line.split("Leader: ")[1][0]
        for line in tool("kafka-topics", "--describe", "--topic", "t").splitlines()[1:]
    ]
    assert sorted(leaders) == ["1", "2", "3"]


@pytest.mark.slow
def test_replicas_are_moved(tool, kcore_cluster, tmp_path):
    kcore_cluster.create_topic("t")
    plan = tmp_path / "plan.json"
    moved = {"topic": "t", "partition": 0, "replicas": [3, 2]}
    plan.write_text(json.dumps({"version": 1, "partitions": [moved]}))
    tool("kafka-reassign-partitions", "--execute", "--reassignment-json-file", str(plan))
    said = tool("kafka-reassign-partitions", "--verify", "--reassignment-json-file", str(plan))
    assert "Reassignment of partition t-0 is completed." in said
    assert "Replicas: 3,2" in tool("kafka-topics", "--describe", "--topic", "t")


@pytest.mark.slow
def test_the_quorum_is_described(tool, kcore_cluster):
    told = tool("kafka-metadata-quorum", "describe", "--status")
    lines = dict(line.split(":", 1) for line in told.splitlines())
    assert lines["LeaderId"].strip() == "1"
    assert lines["CurrentVoters"].count('"id"') == len(kcore_cluster.bootstrap.split(","))
    replicas = tool("kafka-metadata-quorum", "describe", "--replication").splitlines()[1:]
    assert [row.split()[-1] for row in replicas] == ["Leader", "Follower", "Follower"]


@pytest.mark.slow
def test_features_are_shown_and_set(tool):
    def levels():
        rows = [line.split() for line in tool("kafka-features", "describe").splitlines()]
        return {row[1]: row[row.index("FinalizedVersionLevel:") + 1] for row in rows}

    assert levels() == {
        "group.version": "1", "share.version": "2", "streams.version": "1",
        "transaction.version": "2",
    }  # fmt: skip
    said = tool("kafka-features", "downgrade", "--feature", "share.version=0")
    assert said.splitlines() == ["share.version was downgraded to 0."]
    tool("kafka-features", "downgrade", "--feature", "transaction.version=1")
    assert levels()["transaction.version"] == "1"
    assert levels()["share.version"] == "0"
    said = tool("kafka-features", "upgrade", "--feature", "share.version=3", fails=True)
    assert "only supports versions 0-2" in said
    assert "share.version was upgraded to 1." in tool(
        "kafka-features", "upgrade", "--feature", "share.version=1"
    )
