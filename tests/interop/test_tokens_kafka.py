"""Delegation tokens of a real Kafka, which clients log in with: its own, and ours."""

import asyncio
import time
from contextlib import contextmanager

import pytest
from admins import ADMINS
from certificates import missing
from secure_kafka import PASSWORD, USER

from kcore import AsyncConsumer, AsyncProducer, Consumer, Producer, TopicPartition, errors
from kcore.events import LinkOpened

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]
ALICE = f"User:{USER}"
HOUR_MS = 3_600_000
JAAS = (
    "org.apache.kafka.common.security.scram.ScramLoginModule required "
    'username="{}" password="{}" tokenauth="true";'
)


@pytest.fixture(params=list(ADMINS))
def admin(request, secure_kafka):
    made = ADMINS[request.param](
        bootstrap_servers=secure_kafka.address("SASL"),
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="SCRAM-SHA-256",
        sasl_plain_username=USER,
        sasl_plain_password=PASSWORD,
    )
    yield made
    made.close()


def until_known(admin, token, *, gone=False):
    """What is told of a token, as soon as the broker has heard of it from the controller."""
    until = time.monotonic() + 20
    while True:
        told = {one.token_id: one for one in admin.describe_delegation_token([ALICE])}
        if (token.token_id in told) is not gone:
            return told.get(token.token_id)
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_token_from_its_beginning_to_its_end(admin):
    now_ms = time.time_ns() // 1_000_000
    token = admin.create_delegation_token(["User:bob"], max_lifetime_ms=24 * HOUR_MS)
    assert (token.owner, token.token_requester, token.renewers) == (ALICE, ALICE, ("User:bob",))
    assert abs(token.issue_timestamp - now_ms) < HOUR_MS
    assert token.max_timestamp - token.issue_timestamp == 24 * HOUR_MS
    assert until_known(admin, token) == token
    until_ms = admin.renew_delegation_token(token, HOUR_MS)
    assert token.issue_timestamp < until_ms <= token.max_timestamp
    assert admin.expire_delegation_token(token.hmac, 2 * HOUR_MS) > until_ms
    admin.expire_delegation_token(token)
    until_known(admin, token, gone=True)
    assert token.token_id not in {one.token_id for one in admin.describe_delegation_token()}
    with pytest.raises(errors.DelegationTokenNotFoundError, match="renewing a delegation token"):
        admin.renew_delegation_token(token)


@pytest.mark.slow
@pytest.mark.parametrize("admin", ["blocking"], indirect=True)
def test_kafkas_own_tool_logs_in_with_one(secure_kafka, admin, tmp_path):
    token = admin.create_delegation_token()
    until_known(admin, token)
    config = tmp_path / "client.properties"
    jaas = JAAS.format(token.token_id, token.hmac_as_base64_string)
    config.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config={jaas}\n"
    )
    where = ("--bootstrap-server", secure_kafka.address("SASL"), "--command-config", str(config))
    secure_kafka.tool("kafka-topics", "--list", *where)


def by(kafka, token, **more):
    """Options of who brings a token."""
    return {
        "bootstrap_servers": kafka.address("SASL"),
        "bootstrap_timeout_ms": 20_000,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": token.token_id,
        "sasl_plain_password": token.hmac_as_base64_string,
        "sasl_delegation_token": True,
        **more,
    }


def poll_on(consumer):
    until = time.monotonic() + 30
    while time.monotonic() < until:
        consumer.poll(200)


@contextmanager
def opened(kind, **options):
    made = ADMINS[kind](**options)
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("admin", ["blocking"], indirect=True)
@pytest.mark.parametrize(
    "mechanism", ["SCRAM-SHA-256", pytest.param("SCRAM-SHA-512", marks=pytest.mark.slow)]
)
def test_all_clients_log_in_with_one(secure_kafka, admin, mechanism):
    token = admin.create_delegation_token()
    until_known(admin, token)
    options = by(secure_kafka, token, sasl_mechanism=mechanism)
    topic = f"by-token-{mechanism}"
    for kind in ADMINS:
        with opened(kind, **options) as holder:
            if kind == "blocking":
                holder.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})
            # A token makes no tokens (KIP-48).
            refused = errors.DelegationTokenRequestNotAllowedError
            for ask in (
                holder.create_delegation_token,
                holder.describe_delegation_token,
                lambda: holder.renew_delegation_token(token),
                lambda: holder.expire_delegation_token(token),
            ):
                with pytest.raises(refused, match="not by a token"):
                    ask()
    with Producer(**options) as producer:
        assert producer.send(topic, b"x").get(20).offset == 0

    async def written_and_read():
        async with AsyncProducer(**options) as producer:
            assert (await producer.send_and_wait(topic, b"y")).offset == 1
        async with AsyncConsumer(topic, auto_offset_reset="earliest", **options) as consumer:
            return [(await consumer.getone()).value for _ in range(2)]

    assert asyncio.run(written_and_read()) == [b"x", b"y"]
    with Consumer(group_id=topic, auto_offset_reset="earliest", **options) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        values = []
        while len(values) < 2:
            values += [one.value for got in consumer.poll(500).values() for one in got]
        consumer.commit()
    assert values == [b"x", b"y"]


@pytest.mark.slow
@pytest.mark.parametrize("admin", ["blocking"], indirect=True)
def test_tokens_that_are_refused(secure_kafka, admin):
    token, other = admin.create_delegation_token(), admin.create_delegation_token()
    until_known(admin, token)
    until_known(admin, other)
    admin.expire_delegation_token(other)
    until_known(admin, other, gone=True)
    wrong = {
        "gone": by(secure_kafka, other),
        "of another": by(secure_kafka, other, sasl_plain_username=token.token_id),
        "unknown": by(secure_kafka, token, sasl_plain_username="nobody"),
        "a password": by(secure_kafka, token, sasl_plain_username=USER),
        "not said to be one": by(secure_kafka, token, sasl_delegation_token=False),
    }
    for what, options in wrong.items():
        for kind in ADMINS:
            with (
                pytest.raises(errors.SaslAuthenticationFailedError) as caught,
                opened(kind, **options),
            ):
                pytest.fail(f"let in: {what}")
            assert options["sasl_plain_password"] not in str(caught.value)
    with pytest.raises(errors.SaslAuthenticationFailedError):
        Consumer(**wrong["of another"])
    with pytest.raises(errors.SaslAuthenticationFailedError):
        Producer(**wrong["of another"])


@pytest.mark.slow
@pytest.mark.parametrize("admin", ["blocking"], indirect=True)
def test_one_that_is_over_is_said_to_be(secure_kafka, admin):
    """Kafka sweeps them away once an hour, and until then lets in who brings one, for one request
    that it does not answer.
    """
    token = admin.create_delegation_token(max_lifetime_ms=3_000)
    until_known(admin, token)
    options = by(secure_kafka, token)
    over = f"the delegation token {token.token_id} has expired"
    with Consumer(**options) as consumer:
        secure_kafka.create_topic("outlived")
        consumer.assign([TopicPartition("outlived", 0)])
        with pytest.raises(errors.SaslAuthenticationFailedError, match=over):
            poll_on(consumer)
    for kind in ADMINS:
        with (
            pytest.raises(errors.SaslAuthenticationFailedError, match=over),
            opened(kind, **options),
        ):
            pytest.fail("let in")
    for kind in (Consumer, Producer):
        with pytest.raises(errors.SaslAuthenticationFailedError, match=over):
            kind(**options)


@pytest.mark.slow
@pytest.mark.parametrize("admin", ["blocking"], indirect=True)
def test_a_session_goes_on_with_a_token_that_is_renewed(secure_kafka, admin):
    token = admin.create_delegation_token()
    until_known(admin, token)
    admin.expire_delegation_token(token, 4_000)
    while until_known(admin, token).expiry_timestamp == token.expiry_timestamp:
        time.sleep(0.02)
    secure_kafka.create_topic("renewed")
    seen = []
    with Consumer(**by(secure_kafka, token)) as consumer:
        consumer._engine.observer = seen.append
        consumer.assign([TopicPartition("renewed", 0)])
        consumer.poll(500)
        admin.renew_delegation_token(token)
        until = time.monotonic() + 6
        while time.monotonic() < until:
            consumer.poll(200)
        assert consumer.end_offsets([TopicPartition("renewed", 0)])
    opened_links = [event for event in seen if isinstance(event, LinkOpened)]
    # Without renewal the broker would have hung up, and another link would have followed.
    assert len(opened_links) <= 2, seen


@pytest.mark.parametrize("kind", list(ADMINS))
def test_who_does_not_say_who_it_is_gets_none(secure_kafka, kind):
    admin = ADMINS[kind](bootstrap_servers=secure_kafka.bootstrap)
    with pytest.raises(errors.DelegationTokenRequestNotAllowedError, match="says who it is"):
        admin.create_delegation_token()
    admin.close()
