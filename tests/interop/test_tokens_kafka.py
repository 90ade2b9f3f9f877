"""Delegation tokens of a real Kafka, which its own clients log in with."""

import time

import pytest
from admins import ADMINS
from certificates import missing
from secure_kafka import PASSWORD, USER

from kcore import errors

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


@pytest.mark.parametrize("kind", list(ADMINS))
def test_who_does_not_say_who_it_is_gets_none(secure_kafka, kind):
    admin = ADMINS[kind](bootstrap_servers=secure_kafka.bootstrap)
    with pytest.raises(errors.DelegationTokenRequestNotAllowedError, match="says who it is"):
        admin.create_delegation_token()
    admin.close()
