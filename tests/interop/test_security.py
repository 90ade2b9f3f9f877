"""A real Kafka's listeners with SASL and TLS: who gets in, and how those who do not are told."""

from __future__ import annotations

import time
from contextlib import suppress

import anyloop
import pytest
from admins import ADMINS
from anyloop import EACH_LOOP
from certificates import missing
from secure_kafka import MECHANISMS, PASSWORD, SESSION_MS, UNPREPARED, USER

from kcore import AsyncConsumer, Consumer, TopicPartition
from kcore.errors import (
    AuthenticationMethodNotSupported,
    IllegalSaslStateError,
    NoBrokersAvailable,
    SaslAuthenticationFailedError,
    SslAuthenticationError,
    UnsupportedSaslMechanismError,
)
from kcore.events import LinkClosed, LinkOpened
from kcore.transports import NAMES

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

RECORDS = 200
LIMIT_S = 20.0


@pytest.fixture(scope="module")
def kafka(secure_kafka):
    secure_kafka.create_topic("t")
    secure_kafka.produce("t", [(None, b"%d" % number) for number in range(RECORDS)])
    return secure_kafka


def sasl(mechanism="SCRAM-SHA-256", user=USER, password=PASSWORD, protocol="SASL_PLAINTEXT"):
    return {
        "security_protocol": protocol,
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


def tls(kafka, authority="ca", protocol="SSL", **more):
    ca = getattr(kafka.certificates, authority)
    return {"security_protocol": protocol, "ssl_cafile": str(ca), **more}


def consumer(kafka, listener, **options):
    options = {"bootstrap_timeout_ms": 10_000, "auto_offset_reset": "earliest"} | options
    return Consumer(bootstrap_servers=kafka.address(listener), **options)


def read_all(kafka, listener, **options):
    """Every value of topic t, alone and in a group."""
    with consumer(kafka, listener, **options) as alone:
        alone.assign([TopicPartition("t", 0)])
        values = poll_values(alone)
    group = f"g-{time.monotonic_ns()}"
    with consumer(kafka, listener, group_id=group, **options) as member:
        member.subscribe(["t"])
        assert poll_values(member) == values
        member.commit()
    return values


def poll_values(consumer):
    values, end = [], time.monotonic() + LIMIT_S
    while len(values) < RECORDS and time.monotonic() < end:
        for records in consumer.poll(200).values():
            values += [record.value for record in records]
    return values


ALL = [b"%d" % number for number in range(RECORDS)]


@pytest.mark.parametrize("transport", NAMES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sasl(kafka, mechanism, transport):
    assert read_all(kafka, "SASL", transport=transport, **sasl(mechanism)) == ALL


@pytest.mark.parametrize("transport", NAMES)
def test_tls(kafka, transport):
    assert read_all(kafka, "TLS", transport=transport, **tls(kafka)) == ALL


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sasl_over_tls(kafka, mechanism):
    options = {**tls(kafka), **sasl(mechanism, protocol="SASL_SSL")}
    assert read_all(kafka, "SASLTLS", **options) == ALL


def test_tls_with_a_client_certificate(kafka):
    own = {
        "ssl_certfile": str(kafka.certificates.client),
        "ssl_keyfile": str(kafka.certificates.key("client")),
    }
    assert read_all(kafka, "MTLS", **tls(kafka, **own)) == ALL


def test_tls_with_texts_in_place_of_files(kafka):
    certificates = kafka.certificates
    texts = {
        "security_protocol": "SSL",
        "ssl_cadata": certificates.ca.read_text(),
        "ssl_certdata": certificates.client.read_text(),
        "ssl_keydata": certificates.key("client").read_text(),
    }
    assert read_all(kafka, "MTLS", **texts) == ALL


ASYNC = {
    "SASL": lambda _kafka: sasl("SCRAM-SHA-512"),
    "TLS": tls,
    "SASLTLS": lambda kafka: tls(kafka, **sasl("PLAIN", protocol="SASL_SSL")),
}


@EACH_LOOP
@pytest.mark.parametrize("listener", ASYNC)
def test_on_an_event_loop(kafka, listener):
    async def main():
        values = []
        async with AsyncConsumer(
            "t",
            bootstrap_servers=kafka.address(listener),
            group_id=f"g-{time.monotonic_ns()}",
            auto_offset_reset="earliest",
            **ASYNC[listener](kafka),
        ) as reader:
            async for record in reader:
                values.append(record.value)
                if len(values) == RECORDS:
                    break
            await reader.commit()
            assert await reader.committed(TopicPartition("t", 0)) == RECORDS
        return values

    assert anyloop.run(anyloop.wait_for(main(), LIMIT_S)) == ALL


@EACH_LOOP
def test_refused_on_an_event_loop(kafka):
    async def start(listener, **options):
        async with AsyncConsumer("t", bootstrap_servers=kafka.address(listener), **options):
            pass

    with pytest.raises(SaslAuthenticationFailedError):
        anyloop.run(start("SASL", **sasl(password="wrong")))
    with pytest.raises(SslAuthenticationError, match="certificate is not trusted"):
        anyloop.run(start("TLS", **tls(kafka, "stranger")))


@EACH_LOOP
def test_large_answers_over_tls_on_an_event_loop(kafka, each_loop):
    """Decrypted bytes that wait without the kernel's knowing are not forgotten."""
    value = bytes(range(256)) * 2_000
    topic = f"large-{each_loop}"
    kafka.create_topic(topic)
    kafka.produce(topic, [(None, value)] * 30)

    async def main():
        async with AsyncConsumer(
            bootstrap_servers=kafka.address("TLS"), auto_offset_reset="earliest", **tls(kafka)
        ) as reader:
            reader.assign([TopicPartition(topic, 0)])
            for _ in range(30):
                assert (await reader.getone()).value == value

    anyloop.run(anyloop.wait_for(main(), LIMIT_S))


def test_large_answers_over_tls(kafka):
    value = bytes(range(256)) * 4_000
    kafka.create_topic("large")
    kafka.produce("large", [(None, value)] * 20, **{"message.max.bytes": 2_000_000})
    with consumer(kafka, "TLS", **tls(kafka)) as reader:
        reader.assign([TopicPartition("large", 0)])
        seen, end = 0, time.monotonic() + LIMIT_S
        while seen < 20 and time.monotonic() < end:
            for records in reader.poll(500).values():
                assert all(record.value == value for record in records)
                seen += len(records)
    assert seen == 20


# Refused: at once, typed, and with the reason ----------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("wrong", [{"password": "wrong"}, {"user": "nobody"}])
def test_wrong_credentials(kafka, mechanism, wrong):
    started = time.monotonic()
    with pytest.raises(SaslAuthenticationFailedError, match="Authentication failed") as caught:
        consumer(kafka, "SASL", **sasl(mechanism, **wrong))
    assert time.monotonic() - started < 8  # far from the bootstrap timeout
    assert not caught.value.retriable


def test_a_poll_raises_when_the_constructor_did_not_connect(kafka):
    with consumer(kafka, "SASL", api_version=(4, 0), **sasl(password="wrong")) as reader:
        reader.assign([TopicPartition("t", 0)])
        for _ in range(2):  # it is tried again, and said again
            with pytest.raises(SaslAuthenticationFailedError):
                poll_values(reader)


def test_a_group_member_is_told_too(kafka):
    options = sasl(password="wrong") | {"group_id": "g", "api_version": (4, 0)}
    with consumer(kafka, "SASL", **options) as reader:
        reader.subscribe(["t"])
        with pytest.raises(SaslAuthenticationFailedError):
            poll_values(reader)
        with pytest.raises(SaslAuthenticationFailedError):
            reader.committed(TopicPartition("t", 0), timeout_ms=10_000)


def test_a_mechanism_that_is_not_offered(kafka):
    with pytest.raises(UnsupportedSaslMechanismError, match="PLAIN") as caught:
        consumer(kafka, "SHORT", **sasl("SCRAM-SHA-512"))
    assert set(caught.value.offered) == {"PLAIN", "SCRAM-SHA-256"}


@pytest.mark.parametrize("transport", NAMES)
def test_an_authority_not_trusted(kafka, transport):
    with pytest.raises(SslAuthenticationError, match="certificate is not trusted"):
        consumer(kafka, "TLS", transport=transport, **tls(kafka, "stranger"))
    options = tls(kafka, "stranger", api_version=(4, 0), transport=transport)
    with consumer(kafka, "TLS", **options) as reader:
        reader.assign([TopicPartition("t", 0)])
        with pytest.raises(SslAuthenticationError):
            poll_values(reader)


def test_no_client_certificate_where_one_is_wanted(kafka):
    with pytest.raises(SslAuthenticationError, match="ssl_certfile"):
        consumer(kafka, "MTLS", **tls(kafka))


def test_plain_against_tls(kafka):
    with pytest.raises(AuthenticationMethodNotSupported, match="speaks TLS"):
        consumer(kafka, "TLS")


def test_tls_against_plain(kafka):
    with pytest.raises(NoBrokersAvailable, match="is TLS spoken") as caught:
        Consumer(bootstrap_servers=kafka.bootstrap, bootstrap_timeout_ms=1_500, **tls(kafka))
    assert caught.value.attempts


def test_plain_against_sasl(kafka):
    with pytest.raises(NoBrokersAvailable, match="want SASL"):
        consumer(kafka, "SASL", bootstrap_timeout_ms=1_500)


def test_sasl_against_plain(kafka):
    with pytest.raises(IllegalSaslStateError, match="security_protocol"):
        Consumer(bootstrap_servers=kafka.bootstrap, **sasl())


# Details ------------------------------------------------------------------------------------------


def test_passwords_are_not_prepared_because_kafka_does_not(kafka):
    kafka.add_user("unprepared", UNPREPARED)
    assert read_all(kafka, "SASL", **sasl(user="unprepared", password=UNPREPARED)) == ALL
    prepared = "pass-\u00e9-x"  # what SASLprep makes of it
    with pytest.raises(SaslAuthenticationFailedError):
        consumer(kafka, "SASL", **sasl(user="unprepared", password=prepared))


@pytest.mark.slow
def test_sessions_are_renewed_on_the_same_links(kafka):
    news = []
    group = f"short-{time.monotonic_ns()}"
    with consumer(kafka, "SHORT", group_id=group, **sasl("PLAIN")) as reader:
        reader.observe(news.append)
        reader.subscribe(["t"])
        values = poll_values(reader)
        settled = len(news)
        end = time.monotonic() + 2.5 * SESSION_MS / 1000
        while time.monotonic() < end:
            values += [r.value for records in reader.poll(100).values() for r in records]
        reader.commit()
    assert values == ALL
    before_close = [event for event in news[settled:] if isinstance(event, LinkOpened)]
    assert before_close == []
    closed = [event for event in news[settled:] if isinstance(event, LinkClosed)]
    assert closed
    assert all("closed" in str(event.error) for event in closed)


@pytest.mark.parametrize("group", [None, "late"])
def test_a_user_who_is_made_later_gets_in(kafka, group):
    user = f"late-{group}"
    options = sasl(user=user, password="x") | {"api_version": (4, 0), "group_id": group}
    with consumer(kafka, "SASL", **options) as reader:
        reader.subscribe(["t"])
        for _ in range(2):
            with pytest.raises(SaslAuthenticationFailedError):
                poll_values(reader)
        kafka.add_user(user, "x")
        values, end = [], time.monotonic() + LIMIT_S
        while len(values) < RECORDS and time.monotonic() < end:
            with suppress(SaslAuthenticationFailedError):
                values += [r.value for records in reader.poll(200).values() for r in records]
    assert values == ALL


# Administration -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(ADMINS))
def test_an_admin_client_gets_in(kafka, kind):
    options = sasl(protocol="SASL_SSL") | {"ssl_cafile": str(kafka.certificates.ca)}
    admin = ADMINS[kind](bootstrap_servers=kafka.address("SASLTLS"), **options)
    assert "t" in admin.list_topics()
    found = admin.list_partition_offsets({TopicPartition("t", 0): "latest"})
    assert found[TopicPartition("t", 0)].offset == RECORDS
    admin.close()


@pytest.mark.parametrize("kind", list(ADMINS))
def test_an_admin_client_that_is_refused_is_told_at_once(kafka, kind):
    with pytest.raises(SaslAuthenticationFailedError):
        ADMINS[kind](bootstrap_servers=kafka.address("SASL"), **sasl(password="another"))
