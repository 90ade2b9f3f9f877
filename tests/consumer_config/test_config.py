"""ConsumerConfig: names, defaults, conversions, ranges, contradictions."""

import dataclasses
import enum
import pickle
import re
from pathlib import Path

import pytest
from kafka import KafkaConsumer
from kafka.coordinator.assignors.range import RangePartitionAssignor

from kcore import errors
from kcore.consumer import options
from kcore.consumer.config import ConsumerConfig
from kcore.errors import KafkaConfigurationError
from kcore.fetch.config import IsolationLevel, ResetStrategy
from kcore.settings.names import canonical


def make(**given):
    return ConsumerConfig.from_options(given)


# Names ------------------------------------------------------------------------------------------


def test_every_field_has_a_parser_and_every_parser_a_field():
    fields = {f.name for f in dataclasses.fields(ConsumerConfig)}
    assert fields - {"extras", "await_acknowledgement"} == set(options.PARSERS)


def test_every_default_is_one_its_parser_keeps():
    config = make(group_id="g")
    for name, parse in options.PARSERS.items():
        value = getattr(config, name)
        if name == "bootstrap_servers":
            value = list(value)
        assert parse(name, value) == getattr(config, name), name


def test_every_option_of_kafka_python_is_known():
    unknown = set(KafkaConsumer.DEFAULT_CONFIG) - options.TABLE.known
    assert unknown == set()


# Read beside kafka-python's own table; the docstring of kcore.consumer.config says why.
DIFFERENT = {
    "bootstrap_servers",
    "client_id",
    "default_offset_commit_callback",  # theirs does nothing, ours is None
    "kafka_client",
    "key_deserializer",
    "max_in_flight_requests_per_connection",
    "metric_reporters",  # an empty list, an empty tuple
    "partition_assignment_strategy",  # classes, names
    "receive_message_max_bytes",
    "reconnect_backoff_max_ms",
    "selector",
    "socks5_proxy",  # becomes proxy_url
    "socket_options",  # TCP_NODELAY is always set here
}


def test_defaults_are_kafka_pythons_where_not_said_otherwise():
    ours = make(group_id="g").as_mapping()
    for name, value in KafkaConsumer.DEFAULT_CONFIG.items():
        if name not in DIFFERENT | {"group_id"}:
            assert ours[name] == value, name
    assert make().group_id is None


JAVA_DEFAULTS = {
    "session.timeout.ms": 45000,
    "heartbeat.interval.ms": 3000,
    "max.poll.interval.ms": 300000,
    "max.poll.records": 500,
    "auto.commit.interval.ms": 5000,
    "auto.offset.reset": "latest",
    "fetch.min.bytes": 1,
    "fetch.max.bytes": 52428800,
    "max.partition.fetch.bytes": 1048576,
    "fetch.max.wait.ms": 500,
    "isolation.level": "read_uncommitted",
    "check.crcs": True,
    "client.rack": "",
    "exclude.internal.topics": True,
    "allow.auto.create.topics": True,
    "metadata.max.age.ms": 300000,
    "metadata.recovery.strategy": "rebootstrap",
    "metadata.recovery.rebootstrap.trigger.ms": 300000,
    "request.timeout.ms": 30000,
    "default.api.timeout.ms": 60000,
    "retry.backoff.ms": 100,
    "retry.backoff.max.ms": 1000,
    "reconnect.backoff.ms": 50,
    "reconnect.backoff.max.ms": 1000,
    "socket.connection.setup.timeout.ms": 10000,
    "socket.connection.setup.timeout.max.ms": 30000,
    "connections.max.idle.ms": 540000,
    "group.protocol": "classic",
    "security.protocol": "PLAINTEXT",
}


@pytest.mark.parametrize(("name", "value"), JAVA_DEFAULTS.items())
def test_java_names_and_defaults(name, value):
    mapping = make(group_id="g").as_mapping()
    assert mapping[canonical(name, options.TABLE.known)] == value


def java_names():
    """Every consumer option of CONFIG.md section 1; kept as data so that the test stands alone."""
    return [*JAVA_DEFAULTS, *OTHER_JAVA_NAMES]


OTHER_JAVA_NAMES = [
    "bootstrap.servers",
    "client.dns.lookup",
    "client.id",
    "config.providers",
    "enable.auto.commit",
    "enable.metrics.push",
    "group.id",
    "group.instance.id",
    "group.remote.assignor",
    "interceptor.classes",
    "key.deserializer",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "partition.assignment.strategy",
    "receive.buffer.bytes",
    "security.providers",
    "send.buffer.bytes",
    "value.deserializer",
]


@pytest.mark.parametrize("name", java_names())
def test_every_java_name_is_known(name):
    assert canonical(name, options.TABLE.known) == name.replace(".", "_")


def test_java_mapping_with_strings():
    config = ConsumerConfig.from_options(
        {
            "bootstrap.servers": "a:1,b:2",
            "group.id": "g",
            "enable.auto.commit": "false",
            "max.poll.records": " 5 ",
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
            "isolation.level": "READ_COMMITTED",
        }
    )
    assert config.bootstrap_servers == (("a", 1), ("b", 2))
    assert config.enable_auto_commit is False
    assert config.max_poll_records == 5
    assert config.partition_assignment_strategy == ("range",)
    assert config.isolation_level == "read_committed"


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("bootstrap_server", "bootstrap_servers"),
        ("groupid", "group_id"),
        ("auto_offset_rest", "auto_offset_reset"),
        ("session.timeout", "session.timeout.ms"),
    ],
)
def test_unknown_names_suggest_the_nearest(name, nearest):
    with pytest.raises(KafkaConfigurationError, match=re.escape(nearest)) as caught:
        ConsumerConfig.from_options({name: 1})
    assert caught.value.option == name
    assert caught.value.suggestion == nearest


def test_an_assignor_that_there_is_not_is_named_beside_those_there_are():
    known = re.escape("there is no 'stickyy', only range, roundrobin, sticky, cooperative-sticky")
    with pytest.raises(KafkaConfigurationError, match=known) as caught:
        make(group_id="g", partition_assignment_strategy=["range", "stickyy"])
    assert caught.value.option == "partition_assignment_strategy"


def test_a_wild_name_suggests_nothing():
    with pytest.raises(KafkaConfigurationError) as caught:
        make(qqqq=1)
    assert caught.value.suggestion is None
    assert "qqqq" in str(caught.value)


def test_the_same_option_twice():
    with pytest.raises(KafkaConfigurationError, match="same option"):
        ConsumerConfig.from_options({"group.id": "a", "group_id": "a"})


# Values -----------------------------------------------------------------------------------------

BAD_VALUES = [
    ("max_poll_records", 0),
    ("retry_backoff_ms", -1),
    ("max_poll_records", True),
    ("max_poll_records", "many"),
    ("max_poll_records", 1.5),
    ("fetch_min_bytes", -1),
    ("session_timeout_ms", None),
    ("enable_auto_commit", 1),
    ("enable_auto_commit", "perhaps"),
    ("auto_offset_reset", "newest"),
    ("auto_offset_reset", None),
    ("out_of_range_reset", "newest"),
    ("auto_offset_reset", "by_duration"),
    ("auto_offset_reset", "by_duration:"),
    ("auto_offset_reset", "by_duration:1h"),
    ("auto_offset_reset", "by_duration: PT1H"),
    ("out_of_range_reset", "by_duration:-PT1H"),
    ("auto_offset_reset", 3_600_000),
    ("isolation_level", "committed"),
    ("client_id", 7),
    ("client_id", "a\udc80"),
    ("group_id", "\ud800"),
    ("group_id", ""),
    ("group_id", "  "),
    ("group_id", 5),
    ("group_id", "x" * 40000),
    ("group_instance_id", ""),
    ("group_instance_id", "a/b"),
    ("group_instance_id", ".."),
    ("group_instance_id", "x" * 250),
    ("value_deserializer", 5),
    ("value_deserializer", dict),
    ("value_deserializer", "org.apache.kafka.common.serialization.StringDeserializer"),
    ("consumer_timeout_ms", "soon"),
    ("consumer_timeout_ms", True),
    ("consumer_timeout_ms", float("nan")),
    ("api_version", "newest"),
    ("api_version", (1, -1)),
    ("api_version", 3),
    ("api_version", "9" * 5_000),
    ("api_version", "4.²"),
    ("socket_options", [(1, 2)]),
    ("socket_options", "6,1,1"),
    ("socket_options", [("TCP", 1, 1)]),
    ("socket_options", [(6, 1.0, 1)]),
    ("socket_options", [(6, True, 1)]),
    ("socket_options", [(6, 1, "1")]),
    ("socket_options", [(6, 1, None)]),
    ("socket_options", [(6, 1, 1 << 31)]),
    ("socket_options", [(6, 1, 1), 5]),
    ("partition_assignment_strategy", []),
    ("partition_assignment_strategy", ["range", "range"]),
    ("partition_assignment_strategy", ["nearest"]),
    ("transport", None),
    ("request_timeout_ms", 2**31),
]


@pytest.mark.parametrize(("name", "value"), BAD_VALUES)
def test_bad_values_name_their_option(name, value):
    given = {"group_id": "g", name: value}
    with pytest.raises(KafkaConfigurationError, match=name) as caught:
        ConsumerConfig.from_options(given)
    assert caught.value.option == name
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, errors.KafkaError)


class Level(enum.IntEnum):
    READ_COMMITTED = 1


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("auto_offset_reset", "smallest", "earliest"),
        ("auto_offset_reset", "largest", "latest"),
        ("out_of_range_reset", None, None),
        ("out_of_range_reset", "Smallest", "earliest"),
        ("auto_offset_reset", "by_duration:PT1H", "by_duration:PT1H"),
        ("out_of_range_reset", " By_Duration:p1dt0.5s ", "by_duration:P1DT0.5S"),
        ("isolation_level", Level.READ_COMMITTED, "read_committed"),
        ("fetch_max_wait_ms", 100.0, 100),
        ("retry_backoff_ms", 0, 1),
        ("consumer_timeout_ms", -1, float("inf")),
        ("consumer_timeout_ms", 1000, 1000.0),
        ("consumer_timeout_ms", 10**400, float("inf")),
        ("consumer_timeout_ms", -(10**400), float("inf")),
        ("api_version", "2.5.0", (2, 5, 0)),
        ("api_version", "auto", None),
        ("api_version", (4, 3), (4, 3)),
        ("api_version_auto_timeout_ms", 500, None),
        ("partition_assignment_strategy", [RangePartitionAssignor], ("range",)),
        ("partition_assignment_strategy", "roundrobin, range", ("roundrobin", "range")),
        ("client_id", "", make().client_id),
    ],
)
def test_conversions(name, value, kept):
    config = ConsumerConfig.from_options({name: value})
    if name == "api_version_auto_timeout_ms":
        assert config.bootstrap_timeout_ms == value
    else:
        assert getattr(config, name) == kept


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("newest", ""),
        ("by_duration", ""),
        ("by_duration:1h", " (not a duration)"),
        ("by_duration:P1DT-25H", " (a negative duration)"),
        ("by_duration:P999999999999999999D", " (too long a duration)"),
    ],
)
@pytest.mark.parametrize("option", ["auto_offset_reset", "out_of_range_reset"])
def test_where_to_begin_is_refused_with_an_example(option, value, why):
    with pytest.raises(errors.KafkaConfigurationError) as caught:
        make(**{option: value})
    said = f"{option}={value!r}: must be 'earliest', 'latest', 'none' or a duration as"
    assert str(caught.value) == f"{said} 'by_duration:PT1H30M'{why}"
    assert caught.value.option == option


CONSUMER = {"group_protocol": "consumer"}
CONTRADICTIONS = [
    ({"heartbeat_interval_ms": 45000}, "heartbeat_interval_ms"),
    ({"session_timeout_ms": 3000}, "heartbeat_interval_ms"),
    ({"group_id": None, "group_instance_id": "a"}, "group_instance_id"),
    ({"fetch_max_wait_ms": 30000}, "fetch_max_wait_ms"),
    ({"connections_max_idle_ms": 30000}, "connections_max_idle_ms"),
    ({"fetch_min_bytes": 100, "fetch_max_bytes": 10}, "fetch_min_bytes"),
    ({"retry_backoff_ms": 100, "retry_backoff_max_ms": 10}, "retry_backoff_max_ms"),
    ({"group_remote_assignor": "uniform"}, "group_remote_assignor"),
    (CONSUMER | {"partition_assignment_strategy": "range"}, "partition_assignment_strategy"),
    (CONSUMER | {"session.timeout.ms": 45000}, "session_timeout_ms"),
    (CONSUMER | {"heartbeat_interval_ms": 3000}, "heartbeat_interval_ms"),
]


@pytest.mark.parametrize(("given", "option"), CONTRADICTIONS, ids=lambda v: str(v)[:40])
def test_contradictions(given, option):
    with pytest.raises(KafkaConfigurationError, match=option) as caught:
        ConsumerConfig.from_options({"group_id": "g", **given})
    assert caught.value.option == option


def test_the_consumer_protocol_and_its_assignor():
    config = ConsumerConfig.from_options(
        {"group.id": "g", "group.protocol": "consumer", "group.remote.assignor": "uniform"}
    )
    assert (config.group().group_protocol, config.group().remote_assignor) == (
        "consumer",
        "uniform",
    )
    assert make(group_id="g", group_protocol="consumer").group().remote_assignor is None
    assert make(group_protocol="consumer").group_id is None  # partitions by hand, as in Java


def test_auto_commit_follows_the_group():
    assert make().enable_auto_commit is False
    assert make(enable_auto_commit=False).enable_auto_commit is False
    assert make(enable_auto_commit=True).enable_auto_commit is False  # as kafka-python, aiokafka
    assert make(group_id="g").enable_auto_commit is True


def test_reconnect_maximum_follows_the_first_value():
    assert make(reconnect_backoff_ms=400).reconnect_backoff_max_ms == 400
    assert make(retry_backoff_ms=4000).retry_backoff_max_ms == 4000
    assert make(retry_backoff_ms=40).retry_backoff_max_ms == 1000


def test_idle_time_may_be_switched_off():
    assert make(connections_max_idle_ms=-1).links().connections_max_idle_ms > 10**9


def test_frames_as_large_as_a_fetch_are_let_in():
    config = make(fetch_max_bytes=200_000_000)
    assert config.links().link.max_frame_bytes > 200_000_000


# What is not there yet --------------------------------------------------------------------------


def test_other_options_not_there_yet():
    with pytest.raises(KafkaConfigurationError, match="selector"):
        ConsumerConfig.from_options({"selector": "x"})


def test_defaults_of_what_is_not_there_are_taken():
    config = make(sasl_mechanism=None, ssl_check_hostname=True, metrics_num_samples=3)
    mapping = config.as_mapping()
    assert mapping["metrics_num_samples"] == 3
    assert mapping["sasl_mechanism"] is None
    assert mapping["proxy_url"] is None


# Rooms ------------------------------------------------------------------------------------------


def test_rooms_get_their_part():
    config = make(
        group_id="g",
        isolation_level="read_committed",
        auto_offset_reset="none",
        fetch_max_wait_ms=7,
        client_rack="r1",
        metadata_max_age_ms=9,
        client_id="me",
        max_buffered_bytes=4096,
        session_timeout_ms=9000,
    )
    assert config.fetch().isolation_level is IsolationLevel.READ_COMMITTED
    assert config.fetch().fetch_max_wait_ms == 7
    assert config.fetch().max_buffered_bytes == 4096
    assert config.reset_strategy is ResetStrategy.NONE
    assert config.group().session_timeout_ms == 9000
    assert config.group().client_rack == "r1"
    assert [a.name for a in config.group().assignors] == ["range", "roundrobin"]
    assert config.refresh().metadata_max_age_ms == 9
    assert config.links().link.client_id == "me"


@pytest.mark.parametrize("room", ["links", "refresh", "fetch", "group"])
def test_every_option_of_a_room_is_passed_on(room):
    """A room's option that has a namesake here follows it."""
    changes = {"group_id": "g", "session_timeout_ms": 44_000, "auto_commit_interval_ms": 4_999}
    changes |= {"fetch_min_bytes": 2, "fetch_max_wait_ms": 499, "fetch_max_bytes": 52_428_801}
    changes |= {"max_partition_fetch_bytes": 1_048_577, "max_buffered_bytes": 999_999}
    changes |= {"max_batch_bytes": 65_536, "include_control_records": True}
    changes |= {"check_crcs": False, "client_rack": "r", "request_timeout_ms": 29_999}
    changes |= {"retry_backoff_ms": 99, "retry_backoff_max_ms": 999, "metadata_max_age_ms": 9}
    changes |= {"reconnect_backoff_ms": 49, "reconnect_backoff_max_ms": 998}
    changes |= {"connections_max_idle_ms": 530_000, "allow_auto_create_topics": False}
    changes |= {"heartbeat_interval_ms": 2_999, "max_poll_interval_ms": 299_999}
    changes |= {"enable_auto_commit": False, "group_instance_id": "i"}
    changes |= {"enable_incremental_fetch_sessions": False, "isolation_level": "read_committed"}
    part = getattr(make(**changes), room)()
    names = {f.name for f in dataclasses.fields(part)} & set(options.PARSERS)
    # The protocol excludes some of the others: it has a test of its own.
    untested = {"key_deserializer", "value_deserializer", "group_protocol"}
    assert names - untested <= set(changes)
    for name in names - untested - {"isolation_level"}:
        assert getattr(part, name) == changes[name], name


def test_without_a_group_there_is_no_group_part():
    with pytest.raises(errors.IllegalStateError):
        make().group()


def test_config_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make().group_id = "x"


def test_config_travels_to_other_processes():
    config = make(group_id="g", auto_offset_reset="earliest", api_version="4.0")
    again = pickle.loads(pickle.dumps(config))
    assert again == config
    assert again.as_mapping() == config.as_mapping()


def test_the_module_says_where_defaults_differ():
    text = Path("kcore/consumer/config.py").read_text()
    for name in DIFFERENT - {
        "default_offset_commit_callback",
        "kafka_client",
        "key_deserializer",
        "metric_reporters",
        "receive_message_max_bytes",
        "selector",
        "socks5_proxy",
        "socket_options",
    }:
        assert f"| {name} |" in text, name
