"""Java's tools and consumer at an EmbeddedBroker that has an authorizer."""

import re
import subprocess

import pytest

from kcore.broker import AuthorizerConfig
from kcore.cli.demo.java import TOOLS
from kcore.embedded import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]

ACLS = "org.apache.kafka.tools.AclCommand"
WHO = AuthorizerConfig(
    super_users=("User:root",), principals={"root": "User:root", "alice": "User:alice"}
)


@pytest.fixture
def broker():
    with EmbeddedBroker(authorizer=WHO) as made:
        made.create_topic("orders")
        made.produce("orders", [(None, b"one"), (None, b"two")])
        yield made
        assert not made.faults


@pytest.fixture
def tool(installation, broker, tmp_path):
    """A tool as somebody; what it says, and whether it ends well."""

    def run(who, name, *args, option="--command-config"):
        config = tmp_path / f"{who}.properties"
        config.write_text(f"client.id={who}\n")
        command = installation.command(
            TOOLS.get(name, name), "--bootstrap-server", broker.bootstrap, option, str(config),
            *args,
        )  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr, done.returncode == 0

    return run


def test_entries_are_made_listed_and_deleted_by_kafkas_tool(tool, broker):
    alice = ("--allow-principal", "User:alice", "--topic", "ord")
    said, well = tool("root", ACLS, "--add", *alice, "--operation", "Read",
                      "--resource-pattern-type", "prefixed")  # fmt: skip
    assert well, said
    (entry,) = broker.acls()
    assert entry.resource_pattern.pattern_type.name == "PREFIXED"
    said, well = tool("root", ACLS, "--list", "--topic", "orders",
                      "--resource-pattern-type", "match")  # fmt: skip
    assert "principal=User:alice, host=*, operation=READ, permissionType=ALLOW" in said
    said, well = tool("alice", ACLS, "--list")
    assert "ClusterAuthorizationException: Cluster authorization failed" in said
    said, well = tool("root", ACLS, "--remove", "--force", *alice, "--operation", "Read",
                      "--resource-pattern-type", "prefixed")  # fmt: skip
    assert well, said
    assert broker.acls() == []


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_javas_consumer_says_what_it_may_not(tool, broker, protocol):
    def consume():
        return tool(
            "alice", "kafka-console-consumer", "--topic", "orders", "--group", "billing",
            "--from-beginning", "--max-messages", "2", "--timeout-ms", "20000",
            "--consumer-property", f"group.protocol={protocol}", option="--consumer.config",
        )  # fmt: skip

    broker.allow("User:alice", "READ", group="billing")
    said, _ = consume()
    # By its metadata or, in the newer protocol, by its heartbeat: whichever is first.
    assert re.search(r"TopicAuthorizationException: (Not|Topic) authoriz", said), said[:1000]
    broker.allow("User:alice", "READ", topic="orders")
    broker.revoke("User:alice", "READ", group="billing")
    said, _ = consume()
    assert "GroupAuthorizationException: Not authorized to access group: billing" in said
    broker.allow("User:alice", "READ", group="billing")
    said, well = consume()
    assert well
    assert "one\ntwo\n" in said


MEANWHILE = {
    "topic": ({"topic": "orders"}, "TopicAuthorizationException: Not authorized to access topics"),
    "group": ({"group": "billing"}, "GroupAuthorizationException: Not authorized to access group"),
}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("kind", MEANWHILE)
def test_javas_consumer_is_told_when_a_right_goes(installation, broker, tmp_path, kind, protocol):
    """A topic's by its next fetch; a group's by the next heartbeat, or with the classic protocol
    when its session has ended.
    """
    where, said = MEANWHILE[kind]
    config = tmp_path / "alice.properties"
    config.write_text(f"client.id=alice\ngroup.protocol={protocol}\n")
    if protocol == "classic":
        config.write_text(config.read_text() + "session.timeout.ms=6000\n")
    broker.allow("User:alice", "READ", topic="orders", group="billing")
    command = installation.command(
        TOOLS["kafka-console-consumer"], "--bootstrap-server", broker.bootstrap, "--topic",
        "orders", "--group", "billing", "--from-beginning", "--consumer.config", str(config),
    )  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        lines = iter(process.stdout.readline, "")
        assert any("two" in line for line in lines)
        broker.revoke("User:alice", "READ", **where)
        rest = "".join(lines)
        process.wait(60)
    assert said in rest


def test_javas_tools_show_what_who_asks_may_see(tool, broker):
    broker.create_topic("hidden")
    assert tool("alice", "kafka-topics", "--list")[0].split() == []
    broker.allow("User:alice", ["DESCRIBE", "DESCRIBE_CONFIGS"], topic="orders")
    assert tool("alice", "kafka-topics", "--list")[0].split() == ["orders"]
    said, _ = tool("alice", "kafka-topics", "--describe", "--topic", "orders")
    assert said.count("Leader: 1") == 1
    said, _ = tool("alice", "kafka-topics", "--create", "--topic", "new")
    assert "TopicAuthorizationException" in said
    assert sorted(broker.topics()) == ["hidden", "orders"]
