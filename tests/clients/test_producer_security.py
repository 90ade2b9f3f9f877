"""Producers that brokers no longer let in, for a while or for good."""

import gc
import shutil
import time
import weakref

import pytest
from transactional import read

from kcore import Producer, errors
from kcore.embedded import EmbeddedBroker

LOGIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_plain_username": "writer",
    "sasl_plain_password": "secret",
}


@pytest.fixture
def broker():
    with EmbeddedBroker(
        security_protocol="SASL_PLAINTEXT", sasl_users={"writer": "secret"}, seed=1
    ) as broker:
        broker.create_topic("t", 1)
        yield broker


def produced(broker):
    (found,) = read(broker.bootstrap, "t", **LOGIN).values()
    return found


@pytest.mark.parametrize("options", [{}, {"enable_idempotence": False}], ids=str)
def test_a_refusal_that_passes_costs_no_record(broker, options):
    with Producer(bootstrap_servers=broker.bootstrap, **LOGIN, **options) as producer:
        producer.send("t", b"first").get(10)
        broker.refuse("SaslAuthenticate", "SASL_AUTHENTICATION_FAILED", times=3)
        broker.cut("Produce")  # before it is written
        futures = [producer.send("t", b"%d" % number) for number in range(3)]
        for future in futures:
            future.get(10)
        assert broker.mishaps_to_come == 0
    assert produced(broker) == [b"first", b"0", b"1", b"2"]


def test_a_refusal_that_passes_costs_no_transaction(broker):
    with Producer(
        bootstrap_servers=broker.bootstrap, transactional_id="mover", **LOGIN
    ) as producer:
        producer.init_transactions()
        with producer.transaction():
            producer.send("t", b"first").get(10)
            broker.refuse("SaslAuthenticate", "SASL_AUTHENTICATION_FAILED", times=3)
            broker.cut("Produce")
            producer.send("t", b"second")
    assert produced(broker) == [b"first", b"second"]


def test_who_is_never_let_in_again_hears_why_when_the_time_is_over(broker):
    options = {"request_timeout_ms": 500, "delivery_timeout_ms": 1_000, "batch_size": 1}
    with Producer(bootstrap_servers=broker.bootstrap, **LOGIN, **options) as producer:
        producer.send("t", b"first").get(10)
        broker.remove_user("writer")
        broker.cut("Produce")
        began = time.monotonic()
        for future in [producer.send("t", b"%d" % number) for number in range(10)]:
            # Those that were never sent as well.
            with pytest.raises(errors.KafkaTimeoutError, match="Invalid username or password"):
                future.get(10)
        assert 0.9 < time.monotonic() - began < 5


class Big:
    """What a program had in hand as it called."""


def test_what_all_are_told_keeps_nobody_alive_who_was_told(broker):
    options = LOGIN | {"sasl_plain_password": "wrong", "api_version": (4, 0)}
    producer = Producer(bootstrap_servers=broker.bootstrap, **options)

    def refused():
        big = Big()
        with pytest.raises(errors.SaslAuthenticationFailedError):
            producer.send("t", b"v")
        return weakref.ref(big)

    found = refused()
    gc.collect()
    assert found() is None
    producer.close(0)


def test_brokers_whose_authority_is_another_one_now_are_trusted_by_what_is_in_the_file(tmp_path):
    cafile = tmp_path / "ca.pem"
    with EmbeddedBroker(security_protocol="SSL") as broker:
        broker.create_topic("t", 1)
        shutil.copy(broker.ssl_cafile, cafile)
        place = broker.bootstrap
        producer = Producer(
            bootstrap_servers=place, security_protocol="SSL", ssl_cafile=str(cafile)
        )
        producer.send("t", b"first").get(10)
    with EmbeddedBroker(security_protocol="SSL", port=int(place.rpartition(":")[2])) as broker:
        broker.create_topic("t", 1)
        shutil.copy(broker.ssl_cafile, cafile)
        try:
            producer.send("t", b"second").get(10)
        finally:
            producer.close(0)
