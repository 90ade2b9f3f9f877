"""Configurations that librdkafka refuses as a whole are refused under confluent-kafka's name."""

import confluent_kafka
import pytest

from kcore.clients.stand_in.confluent.consumer import Consumer
from kcore.clients.stand_in.confluent.errors import KafkaException
from kcore.clients.stand_in.confluent.producer import Producer

NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
CONSUMERS = [
    {"fetch.min.bytes": 0},
    {"fetch.min.bytes": 1},
    {"max.poll.interval.ms": 45_000},
    {"max.poll.interval.ms": 44_999},
    {"session.timeout.ms": 400_000},
    {"session.timeout.ms": 6_000, "max.poll.interval.ms": 6_000},
    {"fetch.max.bytes": 1_000_000},
    {"fetch.max.bytes": 999_999},
    {"fetch.max.bytes": 2_000, "message.max.bytes": 2_000},
    {"message.max.bytes": 60_000_000},
    {"receive.message.max.bytes": 52_429_312},
    {"receive.message.max.bytes": 52_429_311},
    *(
        {"group.protocol": "consumer", **more}
        for more in (
            {"session.timeout.ms": 45_000},
            {"heartbeat.interval.ms": 3_000},
            {"partition.assignment.strategy": "range"},
            {"group.protocol.type": "consumer"},
            {"max.poll.interval.ms": 1_000},
            {"group.remote.assignor": "uniform"},
        )
    ),
    *(
        {"partition.assignment.strategy": names}
        for names in (
            "cooperative-sticky,range",
            "range,cooperative-sticky",
            "cooperative-sticky",
            "range,range",
        )
    ),
    *({"debug": name} for name in ("x", "", "all", "broker,topic", "broker,x", "broker, topic")),
    {"reconnect.backoff.ms": 20_000},
    {"reconnect.backoff.ms": 200, "reconnect.backoff.max.ms": 100},
    {"reconnect.backoff.ms": 200, "reconnect.backoff.max.ms": 200},
    {"sasl.mechanism": "PLAIN", "security.protocol": "SASL_PLAINTEXT", "sasl.username": "a"},
    {"sasl.mechanism": "PLAIN", "security.protocol": "SASL_PLAINTEXT"},
    {
        "sasl.mechanism": "SCRAM-SHA-256",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.username": "a",
        "sasl.password": "b",
    },
]
PRODUCERS = [
    {"message.timeout.ms": 1, "linger.ms": 1_000},
    {"message.timeout.ms": 1_000, "linger.ms": 1_000},
    {"message.timeout.ms": 1_001, "linger.ms": 1_000},
    {"message.timeout.ms": 1},
    {"message.timeout.ms": 0, "linger.ms": 1_000},
    {"linger.ms": 400_000},
    {"transactional.id": "x", "message.timeout.ms": 70_000},
    {"transactional.id": "x", "message.timeout.ms": 60_000},
    {"transactional.id": "x", "transaction.timeout.ms": 1_000},
    {"transactional.id": "x", "transaction.timeout.ms": 1_000, "message.timeout.ms": 1_001},
    {"debug": "zz"},
    {"reconnect.backoff.ms": 20_000},
]


def refused(kind, error, options):
    """The name of the code; None: it is made."""
    try:
        made = kind({**NOWHERE, **options})
    except error as wrong:
        return wrong.args[0].name()
    if hasattr(made, "close"):
        made.close()
    return None


@pytest.mark.parametrize("options", CONSUMERS, ids=str)
def test_a_consumer(options):
    options = {"group.id": "g", **options}
    ours = refused(Consumer, KafkaException, options)
    assert ours == refused(confluent_kafka.Consumer, confluent_kafka.KafkaException, options)


@pytest.mark.parametrize("options", PRODUCERS, ids=str)
def test_a_producer(options):
    ours = refused(Producer, KafkaException, options)
    assert ours == refused(confluent_kafka.Producer, confluent_kafka.KafkaException, options)
