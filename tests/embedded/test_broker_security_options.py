"""What TLS and SASL of an EmbeddedBroker cannot be told: it is said when it is made, by the name of
the option, and never with a password.
"""

import ssl

import pytest

from kcore.broker import BrokerConfig
from kcore.broker.delegation.config import DelegationTokenConfig
from kcore.broker.sasl.config import SaslConfig
from kcore.embedded import EmbeddedBroker
from kcore.embedded.security import SecurityOptions, read_security
from kcore.errors import KafkaConfigurationError

SASL = {"security_protocol": "SASL_PLAINTEXT"}
TLS = {"security_protocol": "SSL"}
NUMBERS = [-1, 1 << 31, 1.5, "1", True, [], float("nan")]

WRONG = [
    ("security_protocol", {"security_protocol": value})
    for value in ("", "TLS", "ssl", "SASL", 1, b"SSL", [], {})
]
WRONG += [
    (name, SASL | {name: value})
    for name in ("connections_max_reauth_ms", "connection_failed_authentication_delay_ms",
                 "sasl_server_max_receive_size")
    for value in NUMBERS
]  # fmt: skip
WRONG += [
    ("sasl_enabled_mechanisms", SASL | {"sasl_enabled_mechanisms": value})
    for value in ("", [], "NTLM", ["PLAIN", "plain"], "PLAIN,,", 1, [["PLAIN"]], [1])
]
WRONG += [
    ("sasl_users", SASL | {"sasl_users": value})
    for value in ("alice:s3cret", ["alice"], {"": "s3cret"}, {"alice": ""}, {"alice": b"s3cret"},
                  {1: "s3cret"}, {"a\0": "s3cret"}, {"alice": "s3cret\0"})
]  # fmt: skip
WRONG += [
    (
        "sasl_users",
        SASL | {"sasl_users": {"a": "s3cret"}, "sasl_enabled_mechanisms": "OAUTHBEARER"},
    ),
    ("sasl_oauth_token_validator", SASL | {"sasl_oauth_token_validator": "x"}),
    (
        "sasl_oauth_token_validator",
        SASL | {"sasl_oauth_token_validator": str, "sasl_enabled_mechanisms": "PLAIN"},
    ),
    # Without the protocol that has a use for it
    ("sasl_users", {"sasl_users": {"alice": "s3cret"}}),
    ("sasl_users", TLS | {"sasl_users": {"alice": "s3cret"}}),
    ("connections_max_reauth_ms", {"connections_max_reauth_ms": 1}),
    ("ssl_certfile", SASL | {"ssl_certfile": "x"}),
    ("ssl_client_auth", {"ssl_client_auth": "required"}),
    # Delegation tokens
    *[
        ("delegation_token_secret_key", SASL | {"delegation_token_secret_key": value})
        for value in ("", b"s3cret", 1, [], "s3cret\ud800")
    ],
    *[
        (name, SASL | {"delegation_token_secret_key": "s3cret", name: value})
        for name in (
            "delegation_token_max_lifetime_ms",
            "delegation_token_expiry_time_ms",
            "delegation_token_expiry_check_interval_ms",
        )
        for value in (0, *NUMBERS[:1], 1 << 62, *NUMBERS[2:])
    ],
    ("delegation_token_secret_key", SASL | {"delegation_token_expiry_time_ms": 1}),
    # Certificates
    ("ssl_certfile", TLS | {"ssl_certfile": "nowhere.pem"}),
    ("ssl_certfile", TLS | {"ssl_certfile": 1}),
    ("ssl_certfile", TLS | {"ssl_cafile": "nowhere.pem"}),
    ("ssl_certfile", TLS | {"ssl_keyfile": "nowhere.pem"}),
    ("ssl_client_auth", TLS | {"ssl_client_auth": "wanted"}),
    ("ssl_client_auth", TLS | {"ssl_client_auth": True}),
    ("ssl_cafile", TLS | {"ssl_certfile": "x", "ssl_client_auth": "required"}),
    ("ssl_context", TLS | {"ssl_context": "x"}),
    (
        "ssl_certfile",
        TLS | {"ssl_context": ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), "ssl_certfile": "x"},
    ),
    ("security_protocol", TLS | {"in_memory": True}),
    ("ssl_cert", TLS | {"ssl_cert": "x"}),
]


@pytest.mark.parametrize(("name", "given"), WRONG, ids=lambda value: str(value)[:60])
def test_a_wrong_option_is_named(name, given):
    with pytest.raises(KafkaConfigurationError, match=name) as caught:
        EmbeddedBroker(**given)
    assert caught.value.option == name
    assert "s3cret" not in str(caught.value)


def test_what_is_meant_is_guessed():
    with pytest.raises(KafkaConfigurationError, match="security_protocol is meant"):
        EmbeddedBroker(security_protocoll="SSL")


def test_what_is_not_given_is_kafkas_or_what_can_be():
    found = read_security(SASL | {"sasl_users": None})
    assert found.tls is None
    assert found.sasl == SaslConfig(mechanisms=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"))
    with_tokens = read_security(SASL | {"sasl_oauth_token_validator": str})
    assert with_tokens.sasl.mechanisms[-1] == "OAUTHBEARER"
    assert read_security(SASL | {"sasl_enabled_mechanisms": "PLAIN, PLAIN"}).sasl.mechanisms == (
        "PLAIN",
    )
    assert read_security(TLS | {"ssl_client_auth": "required"}).makes_certificates
    assert read_security({"security_protocol": "PLAINTEXT"}).sasl is None


def test_every_option_is_of_one_protocol_only():
    for name in set(SecurityOptions.__annotations__) - {"security_protocol"}:
        with pytest.raises(KafkaConfigurationError, match=f"^{name} is given, but"):
            read_security({name: "x"})


def test_without_openssl_it_is_said_what_to_give(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(KafkaConfigurationError, match=r"openssl.*give ssl_certfile"):
        EmbeddedBroker(security_protocol="SSL")


def test_what_is_said_of_delegation_tokens():
    given = {"delegation_token_secret_key": "s3cret", "delegation_token_expiry_time_ms": 5}
    for protocol in (SASL, TLS):
        found = read_security(protocol | given)
        assert found.delegation_tokens == DelegationTokenConfig("s3cret", expiry_time_ms=5)
        assert "s3cret" not in repr(found)
    assert read_security(SASL).delegation_tokens is None


def test_passwords_are_in_no_repr():
    found = read_security(SASL | {"sasl_users": {"alice": "s3cret"}})
    assert "s3cret" not in repr(found)
    assert "s3cret" not in repr(found.sasl)
    key = read_security(TLS | {"ssl_certdata": "x", "ssl_keydata": "k3y", "ssl_password": "s3cret"})
    assert "k3y" not in repr(key)
    assert "s3cret" not in repr(key)


def test_a_config_may_say_it_as_well():
    config = BrokerConfig(sasl=SaslConfig(users={"alice": "secret"}))
    with EmbeddedBroker(config=config) as broker:
        broker.set_user("bob", "secret")
        broker.remove_user("alice")
