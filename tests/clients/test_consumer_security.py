"""How Consumer hands TLS and SASL on: the context to the pump, randomness nobody can guess."""

import os
import ssl

import pytest

from kcore import Consumer
from kcore.errors import KafkaConfigurationError

NOBODY = {"bootstrap_servers": "127.0.0.1:1", "api_version": (4, 0)}
SASL = {
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_plain_username": "alice",
    "sasl_plain_password": "very-secret",
}


def test_nonces_are_drawn_from_the_system(monkeypatch):
    asked = []

    def urandom(size):
        asked.append(size)
        return b"\xa5" * size

    with Consumer(**NOBODY, **SASL) as consumer:
        monkeypatch.setattr("kcore.clients.randomness.urandom", urandom)
        assert consumer._engine.core._links._rng.getrandbits(128) == int("a5" * 16, 16)
    assert 16 in asked


def test_a_context_of_the_users_is_the_pumps():
    context = ssl.create_default_context()
    with Consumer(**NOBODY, security_protocol="SSL", ssl_context=context) as consumer:
        assert consumer._engine.pump._tls is context


def test_without_tls_there_is_no_context():
    with Consumer(**NOBODY) as consumer:
        assert consumer._engine.pump._tls is None


def test_passwords_are_not_in_config():
    with Consumer(**NOBODY, **SASL) as consumer:
        assert consumer.config["sasl_plain_password"] == "[hidden]"
        assert "very-secret" not in str(consumer.config)


def test_unusable_files_need_no_broker_and_leave_nothing_open():
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(KafkaConfigurationError, match="ssl_cafile"):
            Consumer(security_protocol="SSL", ssl_cafile="nowhere.pem", transport="selectors")
    assert len(os.listdir("/proc/self/fd")) == before
