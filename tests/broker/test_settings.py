"""Options of topics and nodes; codes and words are those of a Kafka 4.3.1."""

import pytest
from broker_world import World, batch, only, produce

from kcore.broker import AuthorizerConfig, BrokerConfig, LogConfig
from kcore.broker.crowd import CrowdLimits
from kcore.broker.delegation.config import DelegationTokenConfig
from kcore.broker.sasl.config import SaslConfig
from kcore.coordinator import CoordinatorConfig
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def alter(client, kind, name, *operations, validate_only=False):
    request = m.IncrementalAlterConfigsRequest(
        resources=[resource(kind, name, *operations)], validate_only=validate_only
    )
    (result,) = client.ask(request).responses
    return result.error_code, result.error_message


def resource(kind, name, *operations):
    cls = m.IncrementalAlterConfigsRequest
    return cls.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            cls.AlterableConfig(name=option, config_operation=operation, value=value)
            for option, operation, value in operations
        ],
    )


def describe(client, kind, name, *keys):
    cls = m.DescribeConfigsRequest
    wanted = cls.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
    )
    return client.ask(cls(resources=[wanted], include_synonyms=True)).results[0]


def shown(client, kind, name, key):
    (option,) = describe(client, kind, name, key).configs
    layers = [(one.name, one.value, one.source) for one in option.synonyms]
    return option.value, option.config_source, layers


@pytest.mark.parametrize(
    ("operation", "code", "why"),
    [
        (("retention.ms", SET, "5"), 0, None),
        (("retention.ms", SET, "abc"), ErrorCode.INVALID_CONFIG,
         "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
        (("retention.ms", SET, "1_0"), ErrorCode.INVALID_CONFIG,
         "Invalid value 1_0 for configuration retention.ms: Not a number of type LONG"),
        (("retention.ms", SET, "+-5"), ErrorCode.INVALID_CONFIG,
         "Invalid value +-5 for configuration retention.ms: Not a number of type LONG"),
        (("retention.ms", SET, "9" * 19), ErrorCode.INVALID_CONFIG,
         f"Invalid value {'9' * 19} for configuration retention.ms: Not a number of type LONG"),
        (("retention.ms", SET, "-2"), ErrorCode.INVALID_CONFIG,
         "Invalid value -2 for configuration retention.ms: Value must be at least -1"),
        (("retention.ms", SET, "\u00a05"), ErrorCode.INVALID_CONFIG,
         "Invalid value \u00a05 for configuration retention.ms: Not a number of type LONG"),
        (("retention.ms", SET, "\x00\uff15 "), 0, None),
        (("compression.gzip.level", SET, "\x005"), 0, None),
        (("cleanup.policy", SET, "delete\u00a0"), ErrorCode.INVALID_CONFIG,
         ("Invalid value delete\u00a0 for configuration cleanup.policy: String must be one of:"
         " compact, delete")),
        (("nope", SET, "1"), ErrorCode.INVALID_CONFIG, "Unknown topic config name: nope"),
        (("retention.ms", DELETE, None), 0, None),
        (("cleanup.policy", APPEND, "compact"), 0, None),
        (("cleanup.policy", SUBTRACT, "delete"), 0, None),
        (("cleanup.policy", APPEND, "bogus"), ErrorCode.INVALID_CONFIG,
         ("Invalid value bogus for configuration cleanup.policy: String must be one of: compact,"
         " delete")),
        (("cleanup.policy", SET, ""), 0, None),
        (("cleanup.policy", SET, "delete,"), ErrorCode.INVALID_CONFIG,
         "Configuration 'cleanup.policy' values must not be empty."),
        (("compression.gzip.level", SET, "0"), ErrorCode.INVALID_CONFIG,
         ("Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9"
         " or equal to -1")),
        (("remote.storage.enable", SET, "true"), ErrorCode.INVALID_CONFIG,
         ("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with"
         " remote log storage.")),
        (("leader.replication.throttled.replicas", SET, "0:1,x"), ErrorCode.INVALID_CONFIG,
         ("Invalid value [0:1, x] for configuration leader.replication.throttled.replicas:"
         " leader.replication.throttled.replicas must be the literal '*' or a list of replicas in"
         " the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...")),
        (("cleanup.policy", SET, "delete,delete"), 0, None),
        (("retention.ms", APPEND, "5"), ErrorCode.INVALID_CONFIG,
         "Can't APPEND to key retention.ms because its type is not LIST."),
        (("retention.ms", SET, None), ErrorCode.INVALID_REQUEST,
         "Null value not supported for : retention.ms"),
        (("retention.ms", 7, "5"), ErrorCode.INVALID_REQUEST,
         "Unknown operation 7 for retention.ms"),
        (("compression.type", SET, "bogus"), ErrorCode.INVALID_CONFIG,
         ("Invalid value bogus for configuration compression.type: String must be one of:"
         " uncompressed, zstd, lz4, snappy, gzip, producer")),
        (("min.insync.replicas", SET, "0"), ErrorCode.INVALID_CONFIG,
         "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"),
        (("min.insync.replicas", SET, "3"), 0, None),
        (("segment.bytes", SET, "100"), ErrorCode.INVALID_CONFIG,
         "Invalid value 100 for configuration segment.bytes: Value must be at least 1048576"),
        (("internal.segment.bytes", SET, "100"), 0, None),
        (("unclean.leader.election.enable", SET, "maybe"), ErrorCode.INVALID_CONFIG,
         ("Invalid value maybe for configuration unclean.leader.election.enable: Expected value to"
         " be either true or false")),
        (("min.cleanable.dirty.ratio", SET, "1.5"), ErrorCode.INVALID_CONFIG,
         ("Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more"
         " than 1")),
        (("min.cleanable.dirty.ratio", SET, "nan"), ErrorCode.INVALID_CONFIG,
         ("Invalid value nan for configuration min.cleanable.dirty.ratio: Not a number of type"
          " DOUBLE")),
        (("message.timestamp.type", SET, "X"), ErrorCode.INVALID_CONFIG,
         ("Invalid value X for configuration message.timestamp.type: String must be one of:"
         " CreateTime, LogAppendTime")),
    ],
)  # fmt: skip
def test_options_of_topics_are_checked(client, operation, code, why):
    assert alter(client, TOPIC, "t", operation) == (code, why)


def test_options_that_contradict_each_other_are_refused(client):
    code, why = alter(
        client, TOPIC, "t",
        ("min.compaction.lag.ms", SET, "10"), ("max.compaction.lag.ms", SET, "5"),
    )  # fmt: skip
    assert code == ErrorCode.INVALID_CONFIG
    assert why.startswith("conflict topic config setting min.compaction.lag.ms (10) > max")


def test_an_option_named_twice_is_refused(client):
    twice = [("retention.ms", SET, "5"), ("retention.ms", SET, "6")]
    refused = (ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    assert alter(client, TOPIC, "t", *twice) == refused


def test_a_resource_named_twice_is_refused(client):
    one = resource(TOPIC, "t", ("retention.ms", SET, "5"))
    answer = client.ask(m.IncrementalAlterConfigsRequest(resources=[one, one]))
    assert {result.error_code for result in answer.responses} == {ErrorCode.INVALID_REQUEST}


@pytest.mark.parametrize(
    ("kind", "name", "option", "code", "why"),
    [
        (TOPIC, "nope", "retention.ms", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
         "The topic 'nope' does not exist."),
        (TOPIC, "", "retention.ms", ErrorCode.INVALID_REQUEST,
         "Default topic resources are not allowed."),
        (BROKER, "9", "message.max.bytes", ErrorCode.INVALID_REQUEST,
         "Unexpected broker id, expected 1 or empty string, but received 9"),
        (BROKER, "1", "node.id", ErrorCode.INVALID_REQUEST,
         "Cannot update these configs dynamically: [node.id]"),
        (3, "x", "a", ErrorCode.INVALID_REQUEST, "Unknown resource type 3"),
    ],
)  # fmt: skip
def test_what_cannot_be_altered(client, kind, name, option, code, why):
    assert alter(client, kind, name, (option, SET, "2")) == (code, why)


def test_nothing_is_done_of_what_is_refused_or_only_tried(world, client):
    before = world.cluster.topics.get("t").config.retention_ms
    alter(client, TOPIC, "t", ("retention.ms", SET, "5"), ("nope", SET, "1"))
    alter(client, TOPIC, "t", ("retention.ms", SET, "5"), validate_only=True)
    assert world.cluster.topics.get("t").config.retention_ms == before
    assert world.cluster.topics.get("t").settings == {}


def test_layers_are_shown_as_kafka_shows_them(client):
    alter(client, BROKER, "1", ("log.retention.ms", SET, "500"))
    alter(
        client, BROKER, "", ("log.retention.ms", SET, "600"), ("message.max.bytes", SET, "2000000")
    )
    assert shown(client, TOPIC, "t", "max.message.bytes") == (
        "2000000", 3, [("message.max.bytes", "2000000", 3), ("message.max.bytes", "1048588", 5)]
    )  # fmt: skip
    value, source, layers = shown(client, TOPIC, "t", "retention.ms")
    assert (value, source) == ("500", 2)
    assert layers[:2] == [("log.retention.ms", "500", 2), ("log.retention.ms", "600", 3)]
    alter(client, TOPIC, "t", ("retention.ms", SET, "1000"))
    assert shown(client, TOPIC, "t", "retention.ms")[:2] == ("1000", 1)
    alter(client, TOPIC, "t", ("retention.ms", DELETE, None))
    assert shown(client, TOPIC, "t", "retention.ms")[:2] == ("500", 2)
    assert [option.name for option in describe(client, BROKER, "").configs] == [
        "log.retention.ms", "message.max.bytes"]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "key", "given", "understood"),
    [
        (TOPIC, "max.message.bytes", " +50", "50"),
        (GROUP, "share.session.timeout.ms", " 050000", "50000"),
        (GROUP, "share.auto.offset.reset", "earliest ", "earliest"),
        (GROUP, "share.auto.offset.reset", "EARLIEST", None),
        (CLIENT_METRICS, "interval.ms", " +05000", "5000"),
        (CLIENT_METRICS, "metrics", " a , b,a,\u00a0c", "a,b,\u00a0c"),
    ],
)
def test_what_is_set_is_shown_as_it_is_understood(client, kind, key, given, understood):
    code, _ = alter(client, kind, "t", (key, SET, given))
    if understood is None:
        assert code == ErrorCode.INVALID_CONFIG
        return
    value, _, layers = shown(client, kind, "t", key)
    assert (code, value, layers[0][:2]) == (0, understood, (key, understood))


def test_who_makes_a_topic_is_told_what_he_gave(client):
    Create = m.CreateTopicsRequest
    wanted = Create.CreatableTopic(name="new", num_partitions=1, replication_factor=1)
    wanted.configs = [Create.CreatableTopicConfig(name="max.message.bytes", value=" +50")]
    (made,) = client.ask(Create(topics=[wanted], timeout_ms=1_000)).topics
    assert {one.name: one.value for one in made.configs}["max.message.bytes"] == " +50"
    assert shown(client, TOPIC, "new", "max.message.bytes")[0] == "50"


def test_what_is_set_for_all_nodes_acts_on_every_topic(world, client):
    alter(client, BROKER, "", ("message.max.bytes", SET, "100"))
    answer = only(client.ask(produce(batch(b"a" * 200)), 9))
    assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
    alter(client, TOPIC, "t", ("max.message.bytes", SET, "1000"))
    assert only(client.ask(produce(batch(b"a" * 200)), 9)).error_code == 0
    alter(client, BROKER, "", ("message.max.bytes", DELETE, None))
    assert world.cluster.topics.get("t").config.max_message_bytes == 1_000


def test_what_a_cluster_was_started_with_is_from_its_file():
    world = World(config=BrokerConfig(num_partitions=3, log=LogConfig(retention_ms=7)))
    world.topic()
    client = world.client()
    assert shown(client, TOPIC, "t", "retention.ms") == (
        "7", 4, [("log.retention.ms", "7", 4), ("log.retention.hours", "168", 5)]
    )  # fmt: skip
    assert shown(client, BROKER, "1", "num.partitions") == (
        "3", 4, [("num.partitions", "3", 4), ("num.partitions", "1", 5)]
    )  # fmt: skip
    assert shown(client, BROKER, "1", "node.id")[0] == "1"
    assert all(
        one.read_only for one in describe(client, BROKER, "1", "node.id", "broker.rack").configs
    )


def test_every_option_of_a_topic_is_described(client):
    names = {option.name for option in describe(client, TOPIC, "t").configs}
    assert len(names) == 37
    assert "internal.segment.bytes" not in names
    alter(client, TOPIC, "t", ("internal.segment.bytes", SET, "100"))
    assert shown(client, TOPIC, "t", "internal.segment.bytes")[0] == "100"


@pytest.mark.parametrize(
    ("kind", "name", "code", "why"),
    [
        (TOPIC, "nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""),
        (TOPIC, "", ErrorCode.INVALID_TOPIC_EXCEPTION,
         "Topic name is invalid: the empty string is not allowed"),
        (BROKER, "7", ErrorCode.INVALID_REQUEST,
         "Unexpected broker id, expected 1 or empty string, but received 7"),
        (BROKER, "abc", ErrorCode.INVALID_REQUEST, "Broker id must be an integer, but it is: abc"),
        (3, "x", ErrorCode.INVALID_REQUEST, "Unknown resource type 3"),
    ],
)  # fmt: skip
def test_what_cannot_be_described(client, kind, name, code, why):
    result = describe(client, kind, name)
    assert (result.error_code, result.error_message, result.configs) == (code, why, [])


def test_unclean_elections_begin_as_soon_as_they_are_allowed():
    world = World(nodes=2)
    (partition,) = world.topic("t", assignments=[[1, 2]]).partitions
    world.cluster.stop_node(2, world.now_ms)
    world.cluster.stop_node(1, world.now_ms)
    world.cluster.start_node(2, world.now_ms)
    assert partition.leader == -1
    allowed = ("unclean.leader.election.enable", SET, "true")
    assert alter(world.client(2), TOPIC, "t", allowed) == (0, None)
    assert partition.leader == 2


def test_a_lower_minimum_lets_more_be_read():
    world = World(nodes=2)
    topic = world.topic("t", assignments=[[1, 2]], settings={"min.insync.replicas": "2"})
    world.cluster.stop_node(2, world.now_ms)
    client = world.client(1)
    client.ask(produce(batch(b"a"), acks=1), 9)
    assert topic.partitions[0].log.high_watermark == 0
    alter(client, TOPIC, "t", ("min.insync.replicas", SET, "1"))
    assert topic.partitions[0].log.high_watermark == 1


INTERVAL = "group.consumer.assignment.interval.ms"


def interval_ms(world, group="g"):
    return world.cluster.consumer_options(group).assignment_interval_ms


def test_what_is_set_for_a_node_acts_on_the_groups_that_it_keeps():
    world = World(nodes=2)
    keeper = world.cluster.coordinator_of("g")
    client, other = world.client(keeper), world.client(3 - keeper)
    assert alter(client, BROKER, "", (INTERVAL, SET, "70")) == (0, None)
    assert interval_ms(world) == 70
    assert alter(other, BROKER, str(3 - keeper), (INTERVAL, SET, "80")) == (0, None)
    assert interval_ms(world) == 70
    assert alter(client, BROKER, str(keeper), (INTERVAL, SET, "90")) == (0, None)
    assert interval_ms(world) == 90
    own = ("consumer.assignment.interval.ms", SET, "5")
    assert alter(client, GROUP, "g", own) == (0, None)
    assert interval_ms(world) == 5
    alter(client, GROUP, "g", ("consumer.assignment.interval.ms", DELETE, None))
    assert interval_ms(world) == 90
    alter(client, BROKER, str(keeper), (INTERVAL, SET, "1"), validate_only=True)
    alter(client, BROKER, str(keeper), (INTERVAL, SET, "x"))
    assert interval_ms(world) == 90
    world.cluster.stop_node(keeper, world.now_ms)
    assert interval_ms(world) == 80


def test_what_a_file_does_not_allow_any_more_does_nothing():
    """A directory remembers what nodes were told, and its broker is started with another file."""
    config = CoordinatorConfig(group_consumer_min_assignment_interval_ms=100)
    world = World(config=BrokerConfig(coordinator=config))
    world.cluster.settings.tell_node("", {INTERVAL: "7", "producer.id.expiration.ms": "x"})
    assert interval_ms(world) == 1_000
    assert world.cluster.settings.producer_id_expiration_ms(1) == 86_400_000


def described(world, client=None):
    found = describe(client or world.client(), BROKER, "1").configs
    return {
        one.name: (
            one.value,
            one.config_type,
            one.read_only,
            one.is_sensitive,
            [(layer.value, layer.source) for layer in one.synonyms],
        )
        for one in found
    }


INT, LONG, TEXT, LIST, PASSWORD = 3, 5, 2, 7, 9
FILE, DEFAULT = 4, 5
GUARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def test_who_may_come_in_is_shown_as_kafka_shows_it():
    config = BrokerConfig(
        crowd=CrowdLimits(max_connections=9, max_connections_per_ip_overrides={"::1": 5, "::2": 6}),
        leader_imbalance_check_interval_seconds=7,
        authorizer=AuthorizerConfig(super_users=("User:ANONYMOUS",)),
        delegation_tokens=DelegationTokenConfig(secret_key="hidden"),
    )
    found = described(World(config=config))
    for name, (kind, changing, value, default) in {
        "max.connections": (INT, True, "9", "2147483647"),
        "max.connections.per.ip": (INT, True, "20000", "2147483647"),
        "max.connections.per.ip.overrides": (TEXT, True, "::1:5,::2:6", ""),
        "leader.imbalance.check.interval.seconds": (LONG, False, "7", "300"),
        "authorizer.class.name": (TEXT, False, GUARD, ""),
    }.items():
        layers = [(value, FILE), (default, DEFAULT)]
        assert found[name] == (value, kind, not changing, False, layers), name
    key = "delegation.token.secret.key"
    assert found[key] == (None, PASSWORD, True, True, [(None, FILE)])
    assert "hidden" not in repr(found)


@pytest.mark.parametrize("asked", [True, False])
def test_how_one_says_who_one_is_is_shown_too(asked):
    """Of a node that asks nobody it is Kafka's default, as it is of a Kafka that asks nobody."""
    sasl = SaslConfig(
        mechanisms=("PLAIN", "SCRAM-SHA-256"),
        connections_max_reauth_ms=60_000,
        connection_failed_authentication_delay_ms=0,
        sasl_server_max_receive_size=1_000,
    )
    world = World(config=BrokerConfig(sasl=sasl if asked else None))
    settings = world.cluster.settings
    found = {one.name: one for one in settings.of_node(1)}
    for name, (kind, value, default) in {
        "sasl.enabled.mechanisms": (LIST, "PLAIN,SCRAM-SHA-256", "GSSAPI"),
        "connections.max.reauth.ms": (LONG, "60000", "0"),
        "connection.failed.authentication.delay.ms": (INT, "0", "100"),
        "sasl.server.max.receive.size": (INT, "1000", "524288"),
    }.items():
        one = found[name]
        assert one.kind == kind
        assert (one.value, one.source) == ((value, FILE) if asked else (default, DEFAULT))
        assert one.layers[-1].value == default


PER_IP, OVERRIDES = "max.connections.per.ip", "max.connections.per.ip.overrides"


@pytest.mark.parametrize(
    ("node", "operations", "why"),
    [
        ("", [("sasl.enabled.mechanisms", SET, "PLAIN")],
         ("Cannot update these configs at default cluster level, broker id must be specified:"
          " [sasl.enabled.mechanisms]")),
        ("1", [("delegation.token.secret.key", SET, "x")],
         "Cannot update these configs dynamically: [delegation.token.secret.key]"),
        ("1", [("max.connections", SET, "0")],
         "Invalid value 0 for configuration max.connections: Value must be at least 1"),
        ("1", [(PER_IP, SET, "0")], f"{PER_IP} can be set to zero only if {OVERRIDES} is set."),
        ("", [(PER_IP, SET, "0"), (OVERRIDES, SET, ",")],
         f"{PER_IP} can be set to zero only if {OVERRIDES} is set."),
        ("1", [(OVERRIDES, SET, "::1:4,a host:5")],
         (f"Invalid value ::1:4,a host:5 for configuration {OVERRIDES}: a host:5 is no"
          " address:number")),
        ("1", [(OVERRIDES, SET, "9")],
         f"Invalid value 9 for configuration {OVERRIDES}: 9 is no address:number"),
        ("1", [(OVERRIDES, SET, "::1:1_0")],
         f"Invalid value 1_0 for configuration {OVERRIDES}: Not a number of type INT"),
    ],
)  # fmt: skip
def test_who_may_come_in_cannot_be_anything(client, node, operations, why):
    assert alter(client, BROKER, node, *operations) == (ErrorCode.INVALID_REQUEST, why)


def test_who_may_come_in_can_be_changed(world, client):
    def acting():
        limits = world.cluster.settings.crowd(1)
        return limits.max_connections_per_ip, dict(limits.max_connections_per_ip_overrides)

    assert alter(client, BROKER, "", (OVERRIDES, SET, "localhost: 9 , ::1:-5")) == (0, None)
    assert acting() == (20_000, {"127.0.0.1": 9, "::1": 0})
    assert alter(client, BROKER, "1", (PER_IP, SET, "0")) == (0, None)
    assert acting() == (0, {"127.0.0.1": 9, "::1": 0})
    assert alter(client, BROKER, "1", (OVERRIDES, SET, "")) != (0, None)
    assert alter(client, BROKER, "", (OVERRIDES, DELETE, None)) == (0, None)
    assert acting() == (20_000, {})  # nobody could come in else
    assert alter(client, BROKER, "1", (PER_IP, DELETE, None), (OVERRIDES, SET, ",")) == (0, None)
    assert acting() == (20_000, {})
    # The listener that is there does not change, as a Kafka's does not.
    mechanisms = "sasl.enabled.mechanisms"
    assert alter(client, BROKER, "1", (mechanisms, SET, "PLAIN, SCRAM-SHA-256")) == (0, None)
    assert shown(client, BROKER, "1", mechanisms) == (
        "PLAIN,SCRAM-SHA-256", 2,
        [(mechanisms, "PLAIN, SCRAM-SHA-256", 2), (mechanisms, "GSSAPI", 5)],
    )  # fmt: skip
    assert world.nodes[1]._door is None
