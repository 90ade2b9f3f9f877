"""A broker's options under Kafka's names, as texts: `EmbeddedBroker(settings=)`."""

import pytest

from kcore.broker import AuthorizerConfig, BrokerConfig, LogConfig
from kcore.broker.node_options import in_file, with_settings
from kcore.broker.options import OPTIONS as TOPICS
from kcore.broker.options import SYNONYMS, Kind
from kcore.coordinator import CoordinatorConfig
from kcore.errors import KafkaConfigurationError

FILE = list(in_file(BrokerConfig()))
# What is told otherwise: it is refused, whatever the value.
NOT_HERE = {
    "authorizer.class.name": "is told by authorizer",
    "sasl.enabled.mechanisms": "is of a broker that asks who its clients are",
    "sasl.server.max.receive.size": "is of a broker that asks",
    "connections.max.reauth.ms": "is of a broker that asks",
    "connection.failed.authentication.delay.ms": "is of a broker that asks",
    "node.id": "no setting of all nodes",
    "broker.rack": "no setting of all nodes",
}
# Where one more than the default is none.
OTHERS = {
    "replica.selector.class": "RackAwareReplicaSelector",
    "group.consumer.assignors": "range",
    "group.consumer.migration.policy": "disabled",
    "group.streams.assignors": "sticky",
    "group.streams.rack.aware.assignment.tags": "zone",
    "group.streams.topology.description.plugin.class": "InMemory",
    "errors.deadletterqueue.topic.name.prefix": "dead-",
    "max.connections.per.ip.overrides": "127.0.0.1:7",
    "max.connections": "1000",
    "max.connections.per.ip": "1000",
    "delegation.token.secret.key": "secret",
}
# What would be out of its bounds alone.
WITH = {"group.share.min.assignment.interval.ms": {"group.share.assignment.interval.ms": "5"}}


def other(option):
    """A value that it does not have by itself."""
    if option.name in OTHERS:
        return OTHERS[option.name]
    if option.kind is Kind.BOOLEAN:
        return "false" if option.value == "true" else "true"
    value, bound = int(option.value), any(one in option.name for one in (".min.", ".max."))
    up = value < 2 or (option.name.endswith(("timeout.ms", "heartbeat.interval.ms")) and not bound)
    return str(value + 1 if up else value - 1)


@pytest.mark.parametrize(
    "option", [one for one in FILE if one.name not in NOT_HERE], ids=lambda one: one.name
)
def test_what_a_file_says_of_each_is_said(option):
    settings = {option.name: other(option), **WITH.get(option.name, {})}
    told = {one.name: one.value for one in in_file(with_settings(BrokerConfig(), settings))}
    assert told == {one.name: one.value for one in FILE} | settings


@pytest.mark.parametrize("name", SYNONYMS)
def test_what_topics_have_by_themselves(name):
    field = SYNONYMS[name].replace(".", "_")
    value = TOPICS[SYNONYMS[name]].default
    if hasattr(LogConfig(), field):
        assert with_settings(BrokerConfig(), {name: value}) == BrokerConfig()
    else:
        with pytest.raises(KafkaConfigurationError, match=f"{name} has no effect"):
            with_settings(BrokerConfig(), {name: value})


def test_several_and_what_was_told_before():
    config = BrokerConfig(
        num_partitions=2,
        log=LogConfig(segment_ms=5_000),
        coordinator=CoordinatorConfig(group_max_size=7),
    )
    config = with_settings(
        config,
        {
            "log.retention.ms": " 60000 ",
            "log.cleanup.policy": "compact,delete",
            "default.replication.factor": "3",
            "group.initial.rebalance.delay.ms": "50",
            "offsets.topic.replication.factor": "1",
        },
    )
    assert (config.num_partitions, config.default_replication_factor) == (2, 3)
    assert config.log == LogConfig(
        segment_ms=5_000, retention_ms=60_000, cleanup_policy=("compact", "delete")
    )
    assert config.coordinator.group_initial_rebalance_delay_ms == 50
    assert config.coordinator.group_max_size == 7
    assert config.offsets_topic_replication_factor == 1


@pytest.mark.parametrize("name", NOT_HERE)
def test_what_is_told_otherwise(name):
    with pytest.raises(KafkaConfigurationError, match=NOT_HERE[name]) as caught:
        with_settings(BrokerConfig(), {name: "1"})
    assert caught.value.option == name


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("num.partition", "4", "'num.partition'; did you mean num.partitions\\?"),
        ("listeners", "PLAINTEXT://:9092", "no setting of a broker is called 'listeners'"),
        ("num.partitions", "four", "Invalid value four for configuration num.partitions"),
        ("num.partitions", "0", "num_partitions=0 is not within 1 to 10000"),
        ("num.partitions", 4, "'num.partitions': 4 are not a name and a value"),
        (4, "num.partitions", "4: 'num.partitions' are not a name and a value"),
        ("offsets.topic.replication.factor", "x", "Invalid value x for configuration offsets"),
        ("offsets.topic.replication.factor", "32768", "Invalid value 32768 for configuration"),
        ("log.cleanup.policy", "tidy", "Invalid value tidy for configuration log.cleanup.policy"),
        ("auto.create.topics.enable", "perhaps", "Expected value to be either true or false"),
        ("replica.selector.class", "Nearest", "replica_selector_class='Nearest' is neither"),
        ("max.connections.per.ip.overrides", "here", "here is no address:number"),
    ],
)  # fmt: skip
def test_what_cannot_be(name, value, said):
    with pytest.raises(KafkaConfigurationError, match=said):
        with_settings(BrokerConfig(), {name: value})


@pytest.mark.parametrize("name", ["super.users", "allow.everyone.if.no.acl.found"])
def test_what_only_an_authorizer_reads(name):
    with pytest.raises(KafkaConfigurationError, match=f"{name} is of a broker with an authorizer"):
        with_settings(BrokerConfig(), {name: ""})
    config = with_settings(BrokerConfig(authorizer=AuthorizerConfig()), {name: ""})
    assert config.authorizer == AuthorizerConfig()


def test_what_an_authorizer_is_told():
    config = BrokerConfig(authorizer=AuthorizerConfig(principals={"a": "User:a"}))
    told = {"super.users": " User:a;User:CN=b,O=c ;", "allow.everyone.if.no.acl.found": "True"}
    assert with_settings(config, told).authorizer == AuthorizerConfig(
        super_users=("User:a", "User:CN=b,O=c"),
        allow_everyone_if_no_acl_found=True,
        principals={"a": "User:a"},
    )
    with pytest.raises(KafkaConfigurationError, match="'a' is no principal"):
        with_settings(config, {"super.users": "a"})


def test_what_a_release_did_not_have():
    name = "group.streams.num.warmup.replicas"
    assert with_settings(BrokerConfig(), {name: "3"}) != BrokerConfig()
    with pytest.raises(KafkaConfigurationError, match=f"no setting of a broker is called '{name}'"):
        with_settings(BrokerConfig(release=(4, 1)), {name: "3"})
