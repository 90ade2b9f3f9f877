"""Options of nodes: what a real Kafka and the embedded broker say of the same names, and what they
let be changed while they are up. Each test leaves a Kafka's nodes as they were.
"""

import itertools
import time

import pytest
from differences import compare
from raw_client import DEADLINE_S, Link, Peer
from scenarios_admin import APPEND, BROKER, DELETE, SET, SUBTRACT, TOPIC, altered
from scenarios_consumer_groups import beat, enter, known, renamed

from kcore.broker import AuthorizerConfig, BrokerConfig
from kcore.broker.crowd import CrowdLimits
from kcore.broker.delegation.config import DelegationTokenConfig
from kcore.broker.node_options import NODE_ID, OPTIONS
from kcore.broker.sasl.config import SaslConfig
from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.embedded import EmbeddedBroker
from kcore.wire import messages as m

GROUP = 32
DEFAULT = 5  # the source
INTERVALS = [f"group.{kind}.assignment.interval.ms" for kind in ("consumer", "share", "streams")]
PRODUCER_IDS = "producer.id.expiration.ms"
_tags = itertools.count(1)


@pytest.fixture(scope="module")
def embedded(kafka):
    """Told what a Kafka's file says, and what an embedded broker has otherwise by itself."""
    file = kafka.broker_settings(0)
    settings = dict.fromkeys(INTERVALS, "1000")
    settings |= {name: file[name] for name in OPTIONS.keys() & file.keys() - {NODE_ID}}
    with EmbeddedBroker(settings=settings) as broker:
        yield broker
        assert not broker.faults


def options(link, kind, name, keys=None):
    """Name -> what is said of it."""
    cls = m.DescribeConfigsRequest
    entry = cls.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys
    )
    (found,) = link.ask(cls(resources=[entry], include_synonyms=True), 4).results
    assert not found.error_code
    return {
        one.name: {
            "value": one.value,
            "source": one.config_source,
            "type": one.config_type,
            "read only": one.read_only,
            "sensitive": one.is_sensitive,
            "synonyms": [(layer.name, layer.value, layer.source) for layer in one.synonyms],
        }
        for one in found.configs
    }


def asked_once(address):
    link = Link(address)
    try:
        return options(link, BROKER, "1")
    finally:
        link.close()


@pytest.mark.kafka
def test_all_that_is_shown_of_a_node_is_as_in_a_kafka(kafka, embedded):
    """All of it but what is of no other's: the number and addresses, and the least of the ISR,
    which a Kafka sets itself (KIP-966).
    """
    ours, theirs = (asked_once(address) for address in (embedded.addresses[0], kafka.bootstrap))
    own = {"min.insync.replicas"}
    told = {name for name in ours if name.startswith(("group.", "offset", "producer.", "transac"))}
    assert {"group.max.size", "offsets.retention.minutes", "group.share.max.share.sessions"} < told
    assert not ours.keys() - theirs.keys()
    assert {name: ours[name] for name in told} == {name: theirs[name] for name in told}
    for name in ours.keys() - own - told:
        mine, other = ours[name], theirs[name]
        defaults = [[layer for layer in one["synonyms"] if layer[2] == DEFAULT]
                    for one in (mine, other)]  # fmt: skip
        assert defaults[0] == defaults[1], name
        for what in ("type", "read only", "sensitive"):
            assert mine[what] == other[what], (name, what)


GUARDED = {
    "max.connections": "1000",
    "max.connections.per.ip": "900",
    "max.connections.per.ip.overrides": "127.0.0.1:800,::1:700",
    "leader.imbalance.check.interval.seconds": "77",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "sasl.server.max.receive.size": "100000",
    "connections.max.reauth.ms": "3600000",
    "connection.failed.authentication.delay.ms": "50",
    "delegation.token.secret.key": "never shown",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
}


@pytest.mark.kafka
@pytest.mark.slow
def test_who_may_come_in_is_shown_as_by_a_kafka():
    everybody = AuthorizerConfig(super_users=("User:ANONYMOUS", "User:root"))
    config = BrokerConfig(
        crowd=CrowdLimits(
            max_connections=1_000,
            max_connections_per_ip=900,
            max_connections_per_ip_overrides={"127.0.0.1": 800, "::1": 700},
        ),
        leader_imbalance_check_interval_seconds=77,
        sasl=SaslConfig(
            mechanisms=("PLAIN", "SCRAM-SHA-256"),
            users={"root": "r"},
            sasl_server_max_receive_size=100_000,
            connections_max_reauth_ms=3_600_000,
            connection_failed_authentication_delay_ms=50,
        ),
        delegation_tokens=DelegationTokenConfig(secret_key=GUARDED["delegation.token.secret.key"]),
        authorizer=everybody,
    )
    users = {"super.users": "User:ANONYMOUS"}
    with KafkaCluster(1, settings=GUARDED | users) as kafka:
        link = Link(kafka.bootstrap)
        theirs = options(link, BROKER, "1", list(GUARDED))
        link.close()
    with EmbeddedBroker(config=config) as broker:
        link = Link(broker.addresses[0])
        link.ask(m.SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert not link.ask(m.SaslAuthenticateRequest(auth_bytes=b"\0root\0r"), 2).error_code
        ours = options(link, BROKER, "1", list(GUARDED))
        link.close()
    assert ours == theirs
    assert ours.keys() == GUARDED.keys()
    assert "never shown" not in repr(ours)


FIXED = [
    "group.min.session.timeout.ms", "group.max.session.timeout.ms", "group.max.size",
    "offset.metadata.max.bytes", "offsets.retention.minutes", "offsets.topic.num.partitions",
    "offsets.retention.check.interval.ms", "group.share.max.share.sessions",
    "group.consumer.session.timeout.ms", "group.consumer.assignors", "transaction.max.timeout.ms",
    "group.consumer.regex.refresh.interval.ms", "node.id", "num.partitions",
    "leader.imbalance.check.interval.seconds", "connections.max.reauth.ms",
    "sasl.server.max.receive.size", "connection.failed.authentication.delay.ms",
    "delegation.token.secret.key", "authorizer.class.name",
]  # fmt: skip
PER_IP, OVERRIDES = "max.connections.per.ip", "max.connections.per.ip.overrides"
CHANGING = [
    *INTERVALS,
    PRODUCER_IDS,
    "max.connections",
    PER_IP,
    OVERRIDES,
    "sasl.enabled.mechanisms",
]
TEXTS = ["50000", "x", "", "-1", "99999999999", "15000", "15001", "0", "1_0"]


def refused(peer):
    """Nothing is done of this: it is only tried."""
    for name, node in itertools.product([*FIXED, *CHANGING, "unknown"], ["1", ""]):
        operations = [(name, SET, text) for text in (*TEXTS, None)]
        operations += [(name, kind, "1") for kind in (DELETE, APPEND, SUBTRACT)]
        for operation in operations:
            request = altered(BROKER, node, operation, validate_only=True)
            peer.ask(request, 1, note=f"{node!r} {operation}")
    for text in ("127.0.0.1:5", "::1:x", "127.0.0.1: 6 , 10.0.0.1:3", "no such:5", "a", ","):
        peer.ask(altered(BROKER, "1", (OVERRIDES, SET, text), validate_only=True), 1, note=text)
    alone = [(PER_IP, SET, "0"), (OVERRIDES, SET, "127.0.0.1:5")]
    for node in ("1", ""):
        peer.ask(altered(BROKER, node, *alone, validate_only=True), 1, note=f"{alone} {node!r}")
    fixed = [(name, SET, "5") for name in ("offsets.retention.minutes", "group.max.size")]
    for both in ([fixed[1], (INTERVALS[0], SET, "x")], fixed):
        peer.ask(altered(BROKER, "1", *both, validate_only=True), 1, note=f"{both}")
    for name, text in (("message.max.bytes", "x"), ("log.cleanup.policy", "bogus"),
                       ("min.insync.replicas", "0")):  # fmt: skip
        peer.ask(altered(BROKER, "1", (name, SET, text), validate_only=True), 1, note=f"{name}")
    for kind in (APPEND, SUBTRACT):
        operation = ("log.cleanup.policy", kind, "compact")
        peer.ask(altered(BROKER, "1", operation, validate_only=True), 1, note=f"{operation}")


def set_of(peer, node, *operations):
    peer.ask(altered(BROKER, node, *operations), 1, note=f"{node!r} {operations}")


def until(peer, kind, name, keys, said, note):
    """What is said of these options, once it is `said` of the first; a Kafka's nodes hear of a
    change a little later.
    """
    end = time.monotonic() + DEADLINE_S
    while True:
        found = options(peer.link(), kind, name, keys)
        if found[keys[0]]["value"] == said:
            break
        assert time.monotonic() < end, found
        time.sleep(0.05)
    peer.said.append((note, found))


def shown(peer):
    """In layers: a node's own over those of all nodes over its file, of groups as well."""
    first = INTERVALS[0]
    keys = [*INTERVALS, PRODUCER_IDS, "unknown.thing"]
    of_group = [name.removeprefix("group.") for name in INTERVALS]
    group = peer.name("g")
    policy = "log.cleanup.policy"
    set_of(peer, "", (first, SET, "70"), (PRODUCER_IDS, SET, "77000"))
    set_of(peer, "1", (policy, SET, "compact, delete"))
    until(peer, BROKER, "1", keys, "70", "set for all")
    until(peer, BROKER, "1", [policy], "compact,delete", "with spaces")
    peer.said.append(("of all", options(peer.link(), BROKER, "", keys)))
    set_of(peer, "1", (policy, DELETE, None))
    set_of(peer, "1", (first, SET, "90"), (INTERVALS[2], SET, "200"), ("unknown.thing", SET, "3"))
    until(peer, BROKER, "1", keys, "90", "set for one")
    until(peer, GROUP, group, of_group, "90", "of a group")
    set_of(peer, "1", (first, DELETE, None), ("unknown.thing", DELETE, None))
    until(peer, BROKER, "1", keys, "70", "not for one any more")
    set_of(peer, "1", (INTERVALS[2], DELETE, None), ("log.roll.ms", SET, "700000000"))
    set_of(peer, "1", ("sasl.enabled.mechanisms", SET, "PLAIN, GSSAPI"), (OVERRIDES, SET, "::1:0"))
    until(peer, BROKER, "1", [OVERRIDES, "sasl.enabled.mechanisms"], "::1:0", "who may come in")
    set_of(peer, "1", ("sasl.enabled.mechanisms", DELETE, None), (OVERRIDES, DELETE, None))
    topic = peer.topic("t")
    until(peer, TOPIC, topic, ["segment.ms", "retention.ms"], "700000000", "of a topic")
    until(peer, BROKER, "1", ["log.roll.ms", "log.retention.ms"], "700000000", "of logs")
    set_of(peer, "1", ("log.roll.ms", DELETE, None))
    set_of(peer, "", (first, DELETE, None), (PRODUCER_IDS, DELETE, None))
    until(peer, BROKER, "1", keys, "0", "as it was")


def acting(peer):
    """How long a group waits until it shares out again is what its coordinator says now."""
    name = INTERVALS[0]
    group, topic = renamed(peer, "g"), peer.topic(partitions=2)
    known(peer, group, topic)
    set_of(peer, "1", (name, SET, "15000"))
    until(peer, BROKER, "1", [name], "15000", "long")
    peer.ask(enter(group, "m1", [topic]), note="the first")
    peer.ask(enter(group, "m2", [topic]), note="no target so soon")
    set_of(peer, "1", (name, DELETE, None))
    until(peer, BROKER, "1", [name], "0", "short")
    peer.ask(beat(group, "m2", 2), note="a target now")


def crowded(peer):
    """No more from here than so many."""

    def met():
        link = Link(peer.address)
        try:
            return bool(link.ask(m.MetadataRequest(topics=[]), 9).brokers)
        except (ConnectionError, TimeoutError):
            return False
        finally:
            link.close()

    peer.link()
    for operation in ((PER_IP, SET, "1"), (PER_IP, DELETE, None)):
        set_of(peer, "1", operation)
        end = time.monotonic() + DEADLINE_S
        while met() != (operation[1] == DELETE):
            assert time.monotonic() < end
            time.sleep(0.05)
        peer.said.append(("done", operation))


@pytest.mark.kafka
@pytest.mark.parametrize(
    "scenario", [refused, shown, acting, crowded], ids=lambda one: one.__name__
)
def test_the_same_is_said_of_nodes(scenario, kafka, embedded):
    tag = f"n{next(_tags)}"
    said = []
    for address in (embedded.addresses[0], kafka.bootstrap):
        peer = Peer(address, tag)
        try:
            scenario(peer)
        finally:
            peer.close()
        said.append(peer.said)
    found = compare(*said)
    assert not found, "\n".join(found)
