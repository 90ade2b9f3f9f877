"""SASL/OAUTHBEARER against a real Kafka, which takes tokens that nobody has signed (KIP-255)."""

from __future__ import annotations

import time

import anyloop
import pytest
from anyloop import EACH_LOOP
from certificates import missing
from secure_kafka import unsigned_token
from token_endpoint import TokenEndpoint

from kcore import AsyncConsumer, AsyncProducer, Consumer, Producer, TopicPartition
from kcore.errors import NoBrokersAvailable, SaslAuthenticationFailedError
from kcore.events import LinkClosed, LinkOpened
from kcore.transports import NAMES

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

COUNT = 50
ALL = [b"%d" % number for number in range(COUNT)]
T0 = TopicPartition("tokens", 0)


@pytest.fixture(scope="module")
def kafka(secure_kafka):
    secure_kafka.create_topic("tokens")
    secure_kafka.create_topic("written")
    secure_kafka.produce("tokens", [(None, value) for value in ALL])
    return secure_kafka


class Provider:
    """Tokens that last so long."""

    def __init__(self, lasts_s=600.0):
        self.lasts_s = lasts_s
        self.asked = 0

    def token(self):
        self.asked += 1
        return unsigned_token(self.lasts_s)

    def extensions(self):
        return {"traceId": "123"}


class LoopProvider(Provider):
    async def token(self):
        await anyloop.sleep(0.05)
        return super().token()


def bearer(kafka, provider, **options):
    return {
        "bootstrap_servers": kafka.address("BEARER"),
        "bootstrap_timeout_ms": 10_000,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": provider,
        **options,
    }


def read(consumer, count=COUNT, within_s=20.0):
    values, end = [], time.monotonic() + within_s
    while len(values) < count and time.monotonic() < end:
        for records in consumer.poll(200).values():
            values += [record.value for record in records]
    return values


@pytest.mark.parametrize("transport", NAMES)
def test_alone_and_in_a_group(kafka, transport):
    provider = Provider()
    options = bearer(kafka, provider, auto_offset_reset="earliest", transport=transport)
    with Consumer(**options) as consumer:
        consumer.assign([T0])
        assert read(consumer) == ALL
    with Consumer("tokens", group_id=f"tokens-{transport}", **options) as consumer:
        assert read(consumer) == ALL
        consumer.commit()
        assert consumer.committed(T0) == COUNT
    assert provider.asked >= 3  # one for each connection


@EACH_LOOP
@pytest.mark.parametrize("kind", [Provider, LoopProvider])
def test_on_an_event_loop(kafka, kind, each_loop):
    async def main():
        values = []
        provider = kind()
        options = bearer(kafka, provider, auto_offset_reset="earliest")
        async with AsyncConsumer(
            "tokens", group_id=f"loop-{kind.__name__}-{each_loop}", **options
        ) as consumer:
            async for record in consumer:
                values.append(record.value)
                if len(values) == COUNT:
                    break
        assert provider.asked >= 2
        return values

    assert anyloop.run(main()) == ALL


def test_producers(kafka):
    with Producer(**bearer(kafka, Provider())) as producer:
        assert producer.send("written", b"x").get(20).offset == 0

    async def main():
        async with AsyncProducer(**bearer(kafka, LoopProvider())) as producer:
            assert (await producer.send_and_wait("written", b"y")).offset == 1

    anyloop.run(main())


@pytest.mark.slow
def test_sessions_end_with_their_tokens_and_are_renewed(kafka):
    provider = Provider(2.5)
    seen = []
    with Consumer(**bearer(kafka, provider, auto_offset_reset="earliest")) as consumer:
        consumer._engine.observer = seen.append
        consumer.assign([T0])
        assert read(consumer) == ALL
        asked = provider.asked
        end = time.monotonic() + 5.5
        while time.monotonic() < end:
            consumer.poll(200)
        assert provider.asked >= asked + 2
    opened = [event for event in seen if isinstance(event, LinkOpened)]
    closed = [event for event in seen if isinstance(event, LinkClosed)]
    # Without renewal the broker would have closed the connection twice meanwhile.
    assert len(opened) <= 2, (opened, closed)


def test_a_token_that_is_over_is_refused_and_the_broker_says_so(kafka):
    options = bearer(kafka, Provider(-60.0), api_version=(4, 1))
    with Consumer(**options) as consumer:
        consumer.assign([T0])
        with pytest.raises(SaslAuthenticationFailedError, match="invalid_token"):
            read(consumer)


def test_why_there_is_no_token_is_raised(kafka):
    class Broken(Provider):
        def token(self):
            raise ValueError("the vault is locked")

    with pytest.raises((SaslAuthenticationFailedError, NoBrokersAvailable), match="vault"):
        Consumer(**bearer(kafka, Broken(), bootstrap_timeout_ms=2_000))

    async def main():
        async with AsyncConsumer("tokens", **bearer(kafka, Broken(), bootstrap_timeout_ms=2_000)):
            pass

    with pytest.raises((SaslAuthenticationFailedError, NoBrokersAvailable), match="vault"):
        anyloop.run(main())
    with pytest.raises((SaslAuthenticationFailedError, NoBrokersAvailable), match="vault"):
        Producer(**bearer(kafka, Broken(), bootstrap_timeout_ms=2_000))


# An endpoint (KIP-768) ----------------------------------------------------------------------------


def for_me(who, _form):
    """A token for who knows the client's secret."""
    if who != "Basic bWU6c2VjcmV0":  # me:secret
        return 401, {"error": "invalid_client"}, {}
    return 200, {"access_token": unsigned_token(600), "expires_in": 600}, {}


@pytest.fixture
def endpoint():
    with TokenEndpoint() as endpoint:
        endpoint.answer = for_me
        yield endpoint


def asking(kafka, endpoint, secret="secret"):
    return {
        "bootstrap.servers": kafka.address("BEARER"),
        "bootstrap_timeout_ms": 5_000,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": endpoint.url,
        "sasl.oauthbearer.client.credentials.client.id": "me",
        "sasl.oauthbearer.client.credentials.client.secret": secret,
        "sasl.oauthbearer.scope": "read write",
        "auto.offset.reset": "earliest",
    }


def test_tokens_of_an_endpoint_are_kept(kafka, endpoint):
    with Consumer("tokens", group_id="endpoint", **asking(kafka, endpoint)) as consumer:
        assert read(consumer) == ALL
    ((_, form),) = endpoint.asked
    assert form == {"grant_type": ["client_credentials"], "scope": ["read write"]}


def test_an_endpoint_that_refuses(kafka, endpoint):
    with pytest.raises((SaslAuthenticationFailedError, NoBrokersAvailable)) as caught:
        Consumer(**asking(kafka, endpoint, "very-wrong"))
    assert "401" in str(caught.value)
    assert "very-wrong" not in str(caught.value)
