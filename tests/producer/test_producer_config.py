"""ProducerConfig: names, defaults, conversions, ranges, contradictions."""

import dataclasses
import re

import pytest
from kafka import KafkaProducer

from kcore.errors import KafkaConfigurationError
from kcore.producer import options
from kcore.producer.config import ProducerConfig
from kcore.records import codecs


def make(**given):
    return ProducerConfig.from_options(given)


def test_every_field_has_a_parser_and_every_parser_a_field():
    fields = {field.name for field in dataclasses.fields(ProducerConfig)}
    assert fields - {"extras"} == set(options.PARSERS) - set(options.LEVELS)


def test_every_option_of_kafka_python_is_known():
    assert set(KafkaProducer.DEFAULT_CONFIG) - options.TABLE.known == set()


# The docstring of kcore.producer.config says why, or they are the same in other words.
DIFFERENT = {
    "bootstrap_servers",
    "client_id",
    "compression_type",  # None, "none"
    "kafka_client",
    "linger_ms",
    "metric_reporters",
    "partitioner",
    "receive_message_max_bytes",
    "reconnect_backoff_max_ms",
    "retries",  # infinite, 2^31 - 1
    "selector",
    "socks5_proxy",  # becomes proxy_url
    "socket_options",
}


def test_defaults_are_kafka_pythons_where_not_said_otherwise():
    ours = make().as_mapping()
    for name, value in KafkaProducer.DEFAULT_CONFIG.items():
        if name not in DIFFERENT:
            assert ours[name] == value, name


JAVA_DEFAULTS = {
    "acks": "all",
    "batch.size": 16384,
    "buffer.memory": 33554432,
    "compression.type": "none",
    "delivery.timeout.ms": 120000,
    "enable.idempotence": True,
    "linger.ms": 5,
    "max.block.ms": 60000,
    "max.in.flight.requests.per.connection": 5,
    "max.request.size": 1048576,
    "metadata.max.idle.ms": 300000,
    "partitioner.adaptive.partitioning.enable": True,
    "partitioner.ignore.keys": False,
    "request.timeout.ms": 30000,
    "retries": 2147483647,
    "retry.backoff.max.ms": 1000,
    "retry.backoff.ms": 100,
}


def test_javas_names_and_defaults():
    assert ProducerConfig.from_options(JAVA_DEFAULTS) == make(linger_ms=5)


@pytest.mark.parametrize(
    ("given", "told"),
    [({}, (5, False)), ({"linger_ms": None}, (5, False)), ({"linger_ms": 5}, (5, True))],
)
def test_a_linger_that_was_given_counts_for_what_somebody_waits_for_too(given, told):
    config = make(**given).produce()
    assert (config.linger_ms, config.awaited_linger) == told


GIVEN = [
    ("acks", "0", 0),
    ("acks", "all", -1),
    ("acks", -1, -1),
    ("compression_type", None, "none"),
    ("compression_type", "zstd", "zstd"),
    ("compression_level", 3, 3),
    ("retries", float("inf"), 2_147_483_647),
    ("retries", 5, 5),
    ("batch_size", 0, 0),
    ("linger_ms", 0, 0),
    ("linger_ms", None, None),
    ("buffer_memory", 1, 1),
    ("max_request_size", 1, 1),
    ("max_block_ms", 0, 0),
    ("partitioner_ignore_keys", True, True),
    ("metadata_max_idle_ms", 5_000, 5_000),
    ("key_serializer", repr, repr),
    ("value_serializer", None, None),
    ("partitioner", max, max),
]


@pytest.mark.parametrize(
    ("codec", "given", "kept"),
    [
        ("gzip", {"gzip": "9"}, 9),
        ("gzip", {"gzip": "-1"}, -1),
        ("lz4", {"lz4": "12"}, 12),
        ("lz4", {"lz4": "9"}, None),  # Java's default is the fast one
        ("zstd", {"zstd": -5, "gzip": 9}, -5),
        ("snappy", {"zstd": 5, "gzip": 9}, None),
        ("none", {"zstd": 5}, None),
    ],
)
def test_the_level_of_the_codec_counts(codec, given, kept):
    levels = {f"compression.{name}.level": level for name, level in given.items()}
    made = ProducerConfig.from_options({"compression.type": codec, **levels})
    assert made.compression_level == kept
    assert "compression_gzip_level" not in made.as_mapping()


def test_two_levels_that_differ():
    with pytest.raises(KafkaConfigurationError, match="give one") as caught:
        make(compression_type="zstd", compression_level=3, compression_zstd_level=5)
    assert caught.value.option == "compression_zstd_level"
    make(compression_type="zstd", compression_level=5, compression_zstd_level=5)
    for codec, level in (("gzip", 10), ("lz4", 0), ("lz4", 18), ("zstd", 23)):
        with pytest.raises(KafkaConfigurationError, match=f"compression_{codec}_level"):
            make(**{f"compression_{codec}_level": level})


@pytest.mark.parametrize(("name", "given", "kept"), GIVEN)
def test_what_is_taken(name, given, kept):
    assert getattr(make(**{name: given}), name) == kept


REFUSED = [
    ("acks", 2),
    ("acks", "some"),
    ("acks", True),
    ("acks", None),
    ("compression_type", "brotli"),
    ("compression_level", 23),
    ("retries", -1),
    ("retries", "many"),
    ("batch_size", -1),
    ("linger_ms", -1),
    ("linger_ms", "soon"),
    ("linger_ms", True),
    ("buffer_memory", 0),
    ("max_request_size", 0),
    ("max_block_ms", -1),
    ("delivery_timeout_ms", 0),
    ("max_in_flight_requests_per_connection", 0),
    ("enable_idempotence", "perhaps"),
    ("key_serializer", 5),
    ("value_serializer", str),
    ("partitioner", 5),
    ("partitioner", dict),
    ("partitioner", "murmur2_random"),
    ("partitioner", b"x"),
    ("metadata_max_idle_ms", 100),
    ("transactional_id", 5),
    ("transactional_id", ""),
    ("transactional_id", "\udc80"),
    ("transaction_timeout_ms", 0),
    ("transaction_two_phase_commit_enable", True),
    ("partitioner_class", "Mine"),
    ("partitioner_availability_timeout_ms", 5),
    ("group_id", "g"),
]


@pytest.mark.parametrize(("name", "given"), REFUSED)
def test_what_is_refused_by_name(name, given):
    with pytest.raises(KafkaConfigurationError, match=name) as caught:
        make(**{name: given})
    assert caught.value.option == name


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("enable_idempotence", False),
        ("acks", 1),
        ("acks", 0),
        ("retries", 0),
        ("max_in_flight_requests_per_connection", 6),
    ],
)
def test_transactions_need_idempotence(option, value):
    with pytest.raises(KafkaConfigurationError, match="transactional_id") as caught:
        make(transactional_id="x", **{option: value})
    assert caught.value.option == option


def test_transactional_options():
    made = make(**{"transactional.id": "x", "transaction.timeout.ms": 5_000})
    assert (made.transactional_id, made.produce().transactional_id) == ("x", "x")
    assert made.produce().transaction_timeout_ms == 5_000
    assert made.enable_idempotence
    assert make().produce().transactional_id is None


def test_a_name_that_is_nearly_right():
    with pytest.raises(KafkaConfigurationError, match="did you mean 'linger_ms'"):
        make(linger=5)


@pytest.mark.parametrize(
    "given",
    [{"acks": 1}, {"acks": 0}, {"retries": 0}, {"max_in_flight_requests_per_connection": 6}],
)
def test_idempotence_gives_way_unless_it_is_asked_for(given):
    assert make().enable_idempotence
    assert not make(**given).enable_idempotence
    with pytest.raises(KafkaConfigurationError, match="enable_idempotence") as caught:
        make(**given, enable_idempotence=True)
    assert caught.value.option in given


def test_the_delivery_timeout_has_room_for_an_attempt():
    assert make(request_timeout_ms=200_000).delivery_timeout_ms == 200_005
    assert make(linger_ms=100_000, request_timeout_ms=100_000).delivery_timeout_ms == 200_000
    assert make(request_timeout_ms=130_000).delivery_timeout_ms == 130_005
    with pytest.raises(KafkaConfigurationError, match="request_timeout_ms=130005"):
        make(request_timeout_ms=130_000, delivery_timeout_ms=130_004)
    with pytest.raises(KafkaConfigurationError, match="linger_ms"):
        make(delivery_timeout_ms=30_000)
    assert make(delivery_timeout_ms=30_005).delivery_timeout_ms == 30_005


def test_defaults_that_follow_from_other_options():
    assert make(client_id="").client_id == make().client_id
    slow = make(reconnect_backoff_ms=5_000, retry_backoff_ms=5_000)
    assert (slow.reconnect_backoff_max_ms, slow.retry_backoff_max_ms) == (5_000, 5_000)
    quick = make(reconnect_backoff_ms=20, retry_backoff_ms=20)
    assert (quick.reconnect_backoff_max_ms, quick.retry_backoff_max_ms) == (20, 1_000)
    at_once = make(retry_backoff_ms=0)  # as kafka-python and Java take it; it doubles from 1 on
    assert (at_once.retry_backoff_ms, at_once.retry_backoff_max_ms) == (1, 1_000)
    assert make(retry_backoff_ms=0, retry_backoff_max_ms=0).retry_backoff_max_ms == 1


def test_what_the_rooms_are_told():
    config = make(acks=1, compression_type="lz4", linger_ms=7, batch_size=9, retries=3)
    produce = config.produce()
    assert (produce.acks, produce.codec, produce.linger_ms, produce.batch_size) == (1, "lz4", 7, 9)
    assert (produce.retries, produce.max_in_flight, produce.enable_idempotence) == (3, 5, False)
    assert config.links().link.max_in_flight == 5


@pytest.mark.parametrize(
    ("codec", "level"), [("snappy", 1), ("gzip", 10), ("gzip", -2), ("gzip", 22)]
)
def test_levels_that_a_codec_does_not_have(codec, level):
    with pytest.raises(KafkaConfigurationError, match=codec) as caught:
        make(compression_type=codec, compression_level=level)
    assert caught.value.option == "compression_level"


@pytest.mark.parametrize(("codec", "level"), [("gzip", -1), ("gzip", 9), ("zstd", 22), ("lz4", 9)])
def test_levels_that_it_has(codec, level):
    assert make(compression_type=codec, compression_level=level).compression_level == level


@pytest.mark.parametrize(
    ("codec", "package"), [("snappy", "cramjam"), ("lz4", "lz4"), ("zstd", "zstandard")]
)
def test_a_codec_without_its_library_is_refused_at_once(monkeypatch, codec, package):
    """A batch failed then, and everything behind it: the producer's thread had ended."""

    def missing(name):
        raise codecs.MissingPackageError(name.partition(".")[0])

    monkeypatch.setattr(codecs, "_library", missing)
    wanted = f"compression_type='{codec}' needs the package {package}: pip install {package}"
    with pytest.raises(KafkaConfigurationError, match=re.escape(wanted)):
        ProducerConfig.from_options({"bootstrap_servers": "h:1", "compression_type": codec})
    for other in (None, "gzip"):
        ProducerConfig.from_options({"bootstrap_servers": "h:1", "compression_type": other})
