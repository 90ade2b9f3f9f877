"""Delegation tokens of an EmbeddedBroker: our clients log in with them, over a restart, too."""

from dataclasses import replace

import pytest

import kcore
from kcore.embedded import EmbeddedBroker
from kcore.errors import SaslAuthenticationFailedError

KEY = "very-secret"


def made(directory):
    return EmbeddedBroker(
        security_protocol="SASL_PLAINTEXT",
        sasl_users={"alice": "secret"},
        delegation_token_secret_key=KEY,
        directory=directory,
    )


def by(broker, user, password, *, token=False):
    return {
        "bootstrap_servers": broker.bootstrap,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": user,
        "sasl_plain_password": password,
        "sasl_delegation_token": token,
    }


def test_they_outlive_the_broker_and_are_kept_without_what_they_are_worth(tmp_path):
    with made(tmp_path) as broker, kcore.Admin(**by(broker, "alice", "secret")) as admin:
        token = admin.create_delegation_token(["User:bob"])
        gone = admin.create_delegation_token()
        until_ms = admin.renew_delegation_token(token, 1_800_000)
        admin.expire_delegation_token(gone)
    code = token.hmac_as_base64_string
    with made(tmp_path) as broker:
        with_it = by(broker, token.token_id, code, token=True)
        with kcore.Producer(**with_it) as producer:
            producer.send("t", b"x").get(20)
        with kcore.Admin(**by(broker, "alice", "secret")) as admin:
            (told,) = admin.describe_delegation_token()
        assert told == replace(token, expiry_timestamp=until_ms)
        assert told.hmac == token.hmac
        broker.let_time_pass(1_800_001)
        with pytest.raises(SaslAuthenticationFailedError, match="has expired"):
            kcore.Admin(**with_it)
        assert not broker.faults
    secrets = (KEY.encode(), token.hmac, token.hmac.hex().encode(), code.encode())
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(token.token_id.encode() in text for text in kept)
    assert not [one for one in secrets for text in kept if one in text]
