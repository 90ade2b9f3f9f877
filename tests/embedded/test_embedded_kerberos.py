"""Clients with tickets at the embedded broker: ours, kafka-python's, Java's."""

import subprocess
import sys
import time
from types import SimpleNamespace

import anyloop
import kafka as kafka_python
import pytest
from anyloop import EACH_LOOP
from kdc import REALM, Kdc, missing

import kcore
from kcore import TopicPartition
from kcore.broker.authorization.config import AuthorizerConfig
from kcore.cli.demo.java import TOOL_JVM
from kcore.embedded import EmbeddedBroker
from kcore.errors import (
    KafkaConfigurationError,
    NoBrokersAvailable,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
    UnsupportedSaslMechanismError,
)
from kcore.events import LinkOpened
from kcore.transports import NAMES

HOST = "localhost"
SASL = {"security_protocol": "SASL_PLAINTEXT"}
T0 = TopicPartition("t", 0)

needs_kdc = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(scope="module")
def kdc():
    with Kdc() as kdc, pytest.MonkeyPatch.context() as patch:
        for name, value in kdc.environment.items():
            patch.setenv(name, value)
        for principal in (f"kafka/{HOST}", "alice", "bob"):
            kdc.add(principal)
        kdc.kinit("alice")
        yield kdc


@pytest.fixture(scope="module")
def broker(kdc):
    with EmbeddedBroker(
        host=HOST,
        **SASL,
        sasl_kerberos_keytab=str(kdc.keytab(f"kafka/{HOST}")),
        connections_max_reauth_ms=1_500,
        connection_failed_authentication_delay_ms=0,
        authorizer=AuthorizerConfig(super_users=["User:alice"]),
    ) as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"0"), (None, b"1")])
        broker.create_topic("renewed")
        broker.produce("renewed", [(None, b"early")])
        yield broker
        assert not broker.faults


def options(kdc, broker, who="alice", **more):
    return {
        "bootstrap_servers": broker.bootstrap,
        **SASL,
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_keytab": kdc.keytab(who),
        "bootstrap_timeout_ms": 10_000,
        **more,
    }


def read(consumer, count=2, within_s=20.0):
    values, end = [], time.monotonic() + within_s
    while len(values) < count and time.monotonic() < end:
        for records in consumer.poll(100).values():
            values += [record.value for record in records]
    return values


@needs_kdc
@pytest.mark.parametrize("transport", NAMES)
def test_a_consumer_is_let_in(kdc, broker, transport):
    given = options(kdc, broker, transport=transport, auto_offset_reset="earliest")
    with kcore.Consumer("t", group_id=f"g-{transport}", **given) as consumer:
        assert read(consumer) == [b"0", b"1"]


@needs_kdc
@EACH_LOOP
def test_on_an_event_loop(kdc, broker, each_loop):
    async def main():
        given = options(kdc, broker, auto_offset_reset="earliest")
        async with kcore.AsyncConsumer("t", **given) as consumer:
            return (await consumer.getone()).value

    assert anyloop.run(main()) == b"0"


@needs_kdc
def test_who_may_do_nothing_and_who_has_another_key(kdc, broker):
    with kcore.Consumer(**options(kdc, broker, "bob")) as consumer:
        consumer.assign([T0])
        with pytest.raises(TopicAuthorizationFailedError):
            read(consumer)
    other = kdc.add(f"other/{HOST}")
    with EmbeddedBroker(
        host=HOST, **SASL, sasl_enabled_mechanisms="GSSAPI", sasl_kerberos_keytab=str(other)
    ) as stranger:
        given = options(kdc, stranger, bootstrap_timeout_ms=500)
        said = r"invalid credentials.*its keytab"
        with pytest.raises((SaslAuthenticationFailedError, NoBrokersAvailable), match=said):
            kcore.Consumer(**given)


@needs_kdc
@pytest.mark.slow
def test_sessions_are_renewed(kdc, broker):
    seen = []
    with kcore.Consumer(**options(kdc, broker, auto_offset_reset="earliest")) as consumer:
        consumer._engine.observer = seen.append
        consumer.assign([TopicPartition("renewed", 0)])
        assert read(consumer, 1) == [b"early"]
        end = time.monotonic() + 5
        while time.monotonic() < end:
            consumer.poll(100)
        broker.produce("renewed", [(None, b"late")])
        assert read(consumer, 1) == [b"late"]
    # Without renewal the broker would have closed it three times meanwhile.
    assert sum(isinstance(event, LinkOpened) for event in seen) <= 2


@needs_kdc
def test_kafka_python_is_let_in(kdc, broker):
    consumer = kafka_python.KafkaConsumer(
        "t",
        bootstrap_servers=broker.bootstrap,
        **SASL,
        sasl_mechanism="GSSAPI",
        auto_offset_reset="earliest",
    )
    try:
        assert read(consumer)[:2] == [b"0", b"1"]
    finally:
        consumer.close()


@needs_kdc
@pytest.mark.slow
def test_java_is_let_in(kdc, broker, installation, tmp_path):
    config = tmp_path / "client.properties"
    module = "com.sun.security.auth.module.Krb5LoginModule"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\n"
        "sasl.kerberos.service.name=kafka\n"
        f"sasl.jaas.config={module} required useKeyTab=true storeKey=true "
        f'keyTab="{kdc.keytab("alice")}" principal="alice@{REALM}";\n'
    )
    command = installation.command(
        "org.apache.kafka.tools.TopicCommand",
        *("--bootstrap-server", broker.bootstrap, "--command-config", str(config), "--list"),
        jvm=(*TOOL_JVM, f"-Djava.security.krb5.conf={kdc.config}"),
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["renewed", "t"], done.stderr


@needs_kdc
@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"sasl_enabled_mechanisms": "GSSAPI"}, "sasl_kerberos_keytab"),
        ({"sasl_kerberos_principal": "kafka/x"}, "sasl_kerberos_principal"),
        ({"sasl_enabled_mechanisms": "PLAIN", "sasl_kerberos_keytab": "k"}, "sasl_kerberos_keytab"),
        ({"sasl_kerberos_keytab": "/no/such"}, "sasl_kerberos_keytab"),
        ({"sasl_kerberos_keytab": __file__}, "sasl_kerberos_keytab"),
        ({"sasl_kerberos_keytab": 3}, "sasl_kerberos_keytab"),
        ({"sasl_kerberos_keytab": True, "sasl_kerberos_principal": "x"}, "sasl_kerberos_keytab"),
    ],
)
def test_keys_that_are_none(kdc, given, option):
    keytab = str(kdc.keytab("alice"))
    given = {name: keytab if value is True else value for name, value in given.items()}
    with pytest.raises(KafkaConfigurationError) as caught:
        EmbeddedBroker(**SASL, **given)
    assert caught.value.option == option


def test_brokers_without_keys_say_what_they_offer(monkeypatch):
    monkeypatch.setitem(sys.modules, "gssapi", SimpleNamespace())  # which is never called
    with (
        EmbeddedBroker(
            **SASL, sasl_users={"alice": "secret"}, connection_failed_authentication_delay_ms=0
        ) as broker,
        kcore.Consumer(
            bootstrap_servers=broker.bootstrap, **SASL, sasl_mechanism="GSSAPI", api_version=(4, 3)
        ) as consumer,
    ):
        consumer.assign([T0])
        with pytest.raises(UnsupportedSaslMechanismError, match="it offers PLAIN"):
            read(consumer)
