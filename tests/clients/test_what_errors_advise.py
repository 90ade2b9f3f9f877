"""What people ask first, by the errors they have got: each says how to go on."""

import asyncio
import shutil
import ssl
import subprocess

import pages
import pytest

import kcore
from kcore import errors
from kcore.admin import OffsetSpec
from kcore.embedded import EmbeddedBroker
from kcore.transports.tls import TlsOptions

AT = kcore.TopicPartition("orders", 0)


@pytest.fixture
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("orders")
        yield broker
        assert not broker.faults


def said(kind, call):
    with pytest.raises(kind) as raised:
        call()
    return str(raised.value)


def test_a_seek_right_behind_subscribe(broker):
    with kcore.Consumer("orders", bootstrap_servers=broker.bootstrap, group_id="g") as consumer:
        for call in (
            lambda: consumer.seek(AT, 0),
            consumer.seek_to_beginning,
        ):
            text = said(errors.UnassignedPartitionError, call)
            assert "assigned while it polls" in text
            assert "listener" in text
        while not consumer.poll(timeout_ms=20) and not consumer.assignment():
            pass
        other = kcore.TopicPartition("orders", 7)
        text = said(errors.UnassignedPartitionError, lambda: consumer.pause(other))
        assert "another member of the group may have it" in text


def test_a_seek_without_an_assignment(broker):
    with kcore.Consumer(bootstrap_servers=broker.bootstrap) as consumer:
        text = said(errors.UnassignedPartitionError, lambda: consumer.seek(AT, 0))
        assert "assign() it first" in text
        consumer.assign([AT])
        consumer.seek(AT, 0)
        other = kcore.TopicPartition("orders", 1)
        assert "assign() it, too" in said(ValueError, lambda: consumer.position(other))


def test_options_in_a_dict(broker):
    """confluent-kafka's way, which may have a password in it."""
    options = {"bootstrap.servers": broker.bootstrap, "sasl.password": "secret"}
    text = said(TypeError, lambda: kcore.Consumer(options))
    assert "keyword arguments" in text
    assert "secret" not in text
    assert "not ['orders']" in said(TypeError, lambda: kcore.Consumer(["orders"]))


def test_offsets_to_commit_that_are_numbers_or_records(broker):
    with kcore.Consumer("orders", bootstrap_servers=broker.bootstrap, group_id="g") as consumer:
        text = said(TypeError, lambda: consumer.commit({AT: 5}))
        assert "OffsetAndMetadata(5, '')" in text
        broker.produce("orders", [(None, bytes(100_000))])
        consumer.subscribe(["orders"])
        record = "a record" * 1_000
        assert len(said(TypeError, lambda: consumer.commit(record))) < 400


def test_where_to_reset_that_is_no_word(broker):
    with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
        text = said(
            errors.IllegalArgumentError,
            lambda: admin.reset_group_offsets("g", {AT: "2024-01-01T00:00:00"}),
        )
        assert "OffsetTimestamp" in text
        assert "LATEST" in text
    assert OffsetSpec.of("latest") is OffsetSpec.LATEST


def test_nobody_there_says_it_once():
    text = said(
        errors.NoBrokersAvailable,
        lambda: kcore.Producer(bootstrap_servers="localhost:1", bootstrap_timeout_ms=100),
    )
    assert text.count("Connection refused") == 1
    assert text.count("localhost:1") == 2
    assert "bootstrap_timeout_ms" in text


def test_a_record_that_is_too_large(broker):
    with kcore.Producer(bootstrap_servers=broker.bootstrap) as producer:
        text = said(
            errors.RecordTooLargeError, lambda: producer.send("orders", bytes(2_000_000)).get()
        )
    assert "max.message.bytes" in text


def test_headers_in_a_dict(broker):
    headers = {"source": b"radar"}
    with kcore.Producer(bootstrap_servers=broker.bootstrap) as producer:
        text = said(TypeError, lambda: producer.send("orders", b"", headers=headers))
        assert "list(headers.items())" in text

    async def main():
        async with kcore.AsyncProducer(bootstrap_servers=broker.bootstrap) as producer:
            with pytest.raises(TypeError, match=r"list\(headers\.items\(\)\)"):
                await producer.send("orders", b"", headers=headers)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("begins", "kind", "advice"),
    [
        (b"\xfe\xed\xfe\xed\0\0\0\2", "a key store of Java", "keytool -list -rfc -keystore"),
        (b"\x30\x82\x09\xdc\2\1\3\x30", "not PEM", "keytool -list -rfc -keystore"),
    ],
)
def test_a_key_store_of_java(tmp_path, begins, kind, advice):
    store = tmp_path / "store"
    store.write_bytes(begins + bytes(100))
    text = said(errors.KafkaConfigurationError, TlsOptions(cafile=str(store)).make_context)
    assert kind in text
    assert advice in text
    text = said(errors.KafkaConfigurationError, TlsOptions(certfile=str(store)).make_context)
    assert kind in text
    assert "openssl pkcs12 -in" in text


def test_javas_options_of_key_stores():
    for option, advice in (
        ("ssl.truststore.location", "keytool -list -rfc"),
        ("ssl.keystore.location", "openssl pkcs12 -in"),
    ):
        text = said(
            errors.KafkaConfigurationError,
            lambda option=option: kcore.ConsumerConfig.from_options(
                {"security.protocol": "SSL", option: "/etc/kafka.jks"}
            ),
        )
        assert advice in text


@pytest.mark.slow
@pytest.mark.skipif(
    not (shutil.which("keytool") and shutil.which("openssl")), reason="no keytool, or no openssl"
)
def test_pem_is_made_of_key_stores(tmp_path):
    """By the commands of the page."""

    def typed(command, *more):
        subprocess.run(f"{command} {' '.join(more)}", shell=True, cwd=tmp_path, check=True)

    given = "-storepass changeit -keypass changeit -storetype JKS -noprompt"
    typed(f"keytool -genkeypair -alias me -keyalg RSA -dname CN=me -keystore keystore.jks {given}")
    typed(
        "keytool -exportcert -rfc -alias me -file me.pem -keystore keystore.jks -storepass changeit"
    )
    typed(f"keytool -importcert -file me.pem -alias ca -keystore truststore.jks {given}")
    trust, own, both = [
        command
        for command in pages.commands("docs/SECURITY.md")
        if command.startswith(("keytool", "openssl"))
    ]
    typed(trust.replace("-list", "-list -storepass changeit"))
    typed(own, "-srcstorepass changeit -deststorepass changeit -noprompt")
    typed(both, "-passin pass:changeit")
    tls = TlsOptions(cafile=str(tmp_path / "ca.pem"), certfile=str(tmp_path / "client.pem"))
    context = tls.make_context()
    assert isinstance(context, ssl.SSLContext)
    assert context.cert_store_stats()["x509"] == 1
