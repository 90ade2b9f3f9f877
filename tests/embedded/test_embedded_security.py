"""An EmbeddedBroker with TLS and SASL, and everybody's clients: who gets in, and who does not."""

import asyncio
import itertools
import logging
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import aiokafka
import certificates
import confluent_kafka
import kafka as kafka_python
import pytest
from confluent_kafka import admin as confluent_admin
from descriptors import descriptors, wait_for_descriptors
from kafka.net.sasl.oauth import AbstractTokenProvider
from leftovers import KAFKA_PYTHON

import kcore
from kcore.broker import BrokerConfig
from kcore.broker.crowd import CrowdLimits
from kcore.embedded import EmbeddedBroker
from kcore.errors import (
    KafkaConfigurationError,
    NoBrokersAvailable,
    SaslAuthenticationFailedError,
    SslAuthenticationError,
    UnsupportedSaslMechanismError,
    UsageError,
)

pytestmark = [
    pytest.mark.skipif(certificates.missing() is not None, reason=str(certificates.missing())),
    *KAFKA_PYTHON,
]

USER, PASSWORD = "alice", "al1ce-secret"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
PROTOCOLS = ("SASL_PLAINTEXT", "SASL_SSL")
LIMIT_S = 15.0
SLOW = pytest.mark.slow
MOSTLY_SLOW = ["SASL_SSL", *(pytest.param(one, marks=SLOW) for one in ("SSL", "SASL_PLAINTEXT"))]


def validate(token):
    if token != "good":
        raise ValueError(token)
    return USER, 60_000


def made(protocol, **options):
    sasl = {"sasl_users": {USER: PASSWORD}} if protocol.startswith("SASL") else {}
    return EmbeddedBroker(security_protocol=protocol, **sasl | options)


@pytest.fixture(scope="module")
def brokers():
    """One of each protocol, with every mechanism and a topic."""
    found = {}
    for protocol in ("SSL", *PROTOCOLS):
        more = {} if protocol == "SSL" else {"sasl_oauth_token_validator": validate}
        found[protocol] = made(protocol, **more).start()
        found[protocol].create_topic("t")
        found[protocol].produce("t", [(None, b"one")])
    yield found
    for broker in found.values():
        assert not broker.faults
        broker.stop()


class Tokens:
    def __init__(self, token="good"):
        self._token = token

    def token(self):
        return self._token


class TheirTokens(AbstractTokenProvider):
    def token(self):
        return "good"


def ours(broker, protocol, mechanism="PLAIN", password=PASSWORD, **more):
    options = {"bootstrap_servers": broker.bootstrap, "security_protocol": protocol}
    if protocol.endswith("SSL"):
        options["ssl_cafile"] = broker.ssl_cafile
    if mechanism == "OAUTHBEARER":
        token = "good" if password == PASSWORD else "bad"
        options |= {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": Tokens(token)}
    elif protocol.startswith("SASL"):
        options |= {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": USER,
            "sasl_plain_password": password,
        }
    return options | more


def dotted(broker, protocol, mechanism="PLAIN", password=PASSWORD, **more):
    options = {"bootstrap.servers": broker.bootstrap, "security.protocol": protocol}
    if protocol.endswith("SSL"):
        options["ssl.ca.location"] = broker.ssl_cafile
    if mechanism == "OAUTHBEARER":
        options |= {
            "sasl.mechanism": mechanism,
            "oauth_cb": lambda _config: ("good", time.time() + 60, USER, {}),
        }
    elif protocol.startswith("SASL"):
        options |= {
            "sasl.mechanism": mechanism, "sasl.username": USER, "sasl.password": password,
        }  # fmt: skip
    return options | more


def read_by_kcore(broker, *how):
    options = ours(broker, *how, auto_offset_reset="earliest")
    with kcore.Consumer("t", group_id=f"kcore-{how}", **options) as consumer:
        return polled(lambda: consumer.poll(timeout_ms=200))


def polled(poll):
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        for records in poll().values():
            return records[0].value
    return None


def read_by_kcore_async(broker, *how):
    async def main():
        options = ours(broker, *how, auto_offset_reset="earliest")
        async with kcore.AsyncConsumer("t", **options) as consumer:
            return (await consumer.getone()).value

    return asyncio.run(asyncio.wait_for(main(), LIMIT_S))


def read_by_confluent(broker, *how):
    more = {"group.id": f"confluent-{how}", "auto.offset.reset": "earliest"}
    consumer = confluent_kafka.Consumer(dotted(broker, *how, **more))
    consumer.subscribe(["t"])
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        found = consumer.poll(0.2)
        if found is not None and not found.error():
            consumer.close()
            return found.value()
    return None


def read_by_kafka_python(broker, *how):
    options = ours(broker, *how, auto_offset_reset="earliest")
    if "OAUTHBEARER" in how:
        options["sasl_oauth_token_provider"] = TheirTokens()
    consumer = kafka_python.KafkaConsumer(**options)
    with closing(consumer):
        consumer.assign([kafka_python.TopicPartition("t", 0)])
        return polled(lambda: consumer.poll(200))


READERS = (read_by_kcore, read_by_kcore_async, read_by_confluent, read_by_kafka_python)
# Every client, every mechanism and every protocol once; the rest is in the longer verb.
FEW = {
    (read_by_kcore, "PLAIN", "SASL_PLAINTEXT"),
    (read_by_kcore, "SCRAM-SHA-512", "SASL_SSL"),
    (read_by_kcore_async, "OAUTHBEARER", "SASL_SSL"),
    (read_by_confluent, "SCRAM-SHA-256", "SASL_SSL"),
    (read_by_kafka_python, "SCRAM-SHA-512", "SASL_PLAINTEXT"),
}
CASES = [
    pytest.param(*case, marks=() if case in FEW else SLOW)
    for case in itertools.product(READERS, MECHANISMS, PROTOCOLS)
]


@pytest.mark.parametrize(("read", "mechanism", "protocol"), CASES)
def test_every_client_gets_in_by_every_mechanism(brokers, read, mechanism, protocol):
    assert read(brokers[protocol], protocol, mechanism) == b"one"


@pytest.mark.parametrize(
    "read",
    [READERS[0], *(pytest.param(read, marks=SLOW) for read in READERS[1:])],
    ids=lambda read: read.__name__,
)
def test_every_client_gets_in_by_tls(brokers, read):
    assert read(brokers["SSL"], "SSL", "") == b"one"


@pytest.mark.slow
def test_aiokafka_gets_in(brokers):
    async def main():
        broker = brokers["SASL_SSL"]
        options = ours(broker, "SASL_SSL", "SCRAM-SHA-512")
        context = ssl.create_default_context(cafile=options.pop("ssl_cafile"))
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # as it is from Python 3.13 on
        options["ssl_context"] = context
        consumer = aiokafka.AIOKafkaConsumer("t", auto_offset_reset="earliest", **options)
        await consumer.start()
        try:
            return (await consumer.getone()).value
        finally:
            await consumer.stop()

    assert asyncio.run(asyncio.wait_for(main(), LIMIT_S)) == b"one"


@pytest.mark.parametrize("protocol", MOSTLY_SLOW)
def test_producers_get_in(brokers, protocol):
    broker = brokers[protocol]
    broker.create_topic("written")
    with kcore.Producer(**ours(broker, protocol)) as producer:
        assert producer.send("written", b"x" * 500_000).get(LIMIT_S).offset == 0
    theirs = confluent_kafka.Producer(dotted(broker, protocol))
    theirs.produce("written", b"y" * 500_000)
    assert theirs.flush(LIMIT_S) == 0
    assert broker.end_offsets("written") == [2]
    consumer = kcore.Consumer("written", auto_offset_reset="earliest", **ours(broker, protocol))
    with consumer:
        assert polled(lambda: consumer.poll(timeout_ms=200)) == b"x" * 500_000
    broker.delete_topic("written")


# Who does not get in ------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_who_has_not_the_password(brokers, mechanism, caplog):
    caplog.set_level(logging.DEBUG)
    broker = brokers["SASL_PLAINTEXT"]
    with pytest.raises(SaslAuthenticationFailedError) as caught:
        kcore.Consumer("t", **ours(broker, "SASL_PLAINTEXT", mechanism, "wr0ng-secret"))
    assert "secret" not in str(caught.value) + caplog.text


def test_confluent_is_told_why(brokers):
    said = []
    broker = brokers["SASL_SSL"]
    options = dotted(broker, "SASL_SSL", "SCRAM-SHA-256", "wrong", error_cb=said.append)
    producer = confluent_kafka.Producer(options)
    end = time.monotonic() + LIMIT_S
    while not said and time.monotonic() < end:
        producer.poll(0.1)
    assert said[0].code() == confluent_kafka.KafkaError._AUTHENTICATION
    assert "due to invalid credentials with SASL mechanism SCRAM-SHA-256" in said[0].str()


def test_a_mechanism_that_is_not_offered():
    with made("SASL_PLAINTEXT", sasl_enabled_mechanisms="SCRAM-SHA-512") as broker:
        with pytest.raises(UnsupportedSaslMechanismError) as caught:
            kcore.Consumer("t", **ours(broker, "SASL_PLAINTEXT", "PLAIN"))
        assert caught.value.offered == ("SCRAM-SHA-512",)


def test_who_does_not_trust_the_broker(brokers, tmp_path):
    stranger = certificates.Certificates(tmp_path).stranger
    with pytest.raises(SslAuthenticationError, match="not trusted"):
        kcore.Consumer("t", **ours(brokers["SSL"], "SSL", ssl_cafile=str(stranger)))


@pytest.mark.parametrize(
    ("asked", "there"),
    [
        ("PLAINTEXT", "SSL"),
        ("SSL", "SASL_PLAINTEXT"),
        pytest.param("PLAINTEXT", "SASL_PLAINTEXT", marks=SLOW),
        pytest.param("SASL_PLAINTEXT", "SASL_SSL", marks=SLOW),
        pytest.param("SASL_SSL", "SSL", marks=SLOW),
        pytest.param("SSL", "SASL_SSL", marks=SLOW),
    ],
)
def test_who_speaks_something_else_is_told_at_once_or_closed(brokers, asked, there, tmp_path):
    broker = brokers[there]
    cafile = brokers["SSL"].ssl_cafile if not there.endswith("SSL") else broker.ssl_cafile
    options = ours(brokers["SASL_PLAINTEXT"], asked.replace("SSL", "PLAINTEXT"))
    options |= {"bootstrap_servers": broker.bootstrap, "security_protocol": asked}
    if asked.endswith("SSL"):
        options["ssl_cafile"] = cafile
    began = time.monotonic()
    with pytest.raises((NoBrokersAvailable, SslAuthenticationError, SaslAuthenticationFailedError,
                        kcore.errors.IllegalSaslStateError)):  # fmt: skip
        kcore.Consumer("t", bootstrap_timeout_ms=200, **options)
    assert time.monotonic() - began < LIMIT_S


SAID = {
    "nothing": b"",
    "a length": struct.pack(">i", 100),
    "half a hello": bytes.fromhex("16030100c8010000c4"),
}
NO_SENSE = {
    "zeros": bytes(1_000),
    "ones": b"\xff" * 1_000,
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "too large": struct.pack(">i", 600_000) + bytes(100),
}


def ended(sock):
    with suppress(ConnectionError):
        while sock.recv(1_000):
            pass
    return True


@pytest.mark.parametrize("protocol", MOSTLY_SLOW)
def test_nonsense_ends_its_connection_and_nothing_else(brokers, protocol):
    before = descriptors()
    for said in NO_SENSE.values():
        host, port = brokers[protocol].bootstrap.split(":")
        with socket.create_connection((host, int(port)), LIMIT_S) as sock:
            sock.sendall(said)
            assert ended(sock)
    wait_for_descriptors(before)
    assert read_by_kcore(brokers[protocol], protocol) == b"one"


@pytest.mark.parametrize("protocol", MOSTLY_SLOW)
def test_who_stands_still_goes_after_his_time(protocol):
    limits = CrowdLimits(connections_max_idle_ms=60_000)
    with made(protocol, config=BrokerConfig(crowd=limits)) as broker:
        host, port = broker.bootstrap.split(":")
        still = [socket.create_connection((host, int(port)), LIMIT_S) for _ in SAID]
        for sock, said in zip(still, SAID.values(), strict=True):
            sock.sendall(said)
        broker.create_topic("t")
        broker.produce("t", [(None, b"one")])
        assert read_by_kcore(broker, protocol) == b"one"
        broker.let_time_pass(61_000)
        for sock in still:
            with sock, suppress(ConnectionError):
                assert sock.recv(1) == b""


# Users --------------------------------------------------------------------------------------------


def gets_in(broker, mechanism="PLAIN", password=PASSWORD, user=USER, protocol="SASL_PLAINTEXT"):
    options = ours(broker, protocol, mechanism, password, sasl_plain_username=user)
    try:
        kcore.Admin(**options).close()
    except SaslAuthenticationFailedError:
        return False
    return True


def test_users_come_change_and_go_while_it_runs():
    with made("SASL_PLAINTEXT", connection_failed_authentication_delay_ms=0) as broker:
        broker.set_user("bob", "first")
        broker.set_user("bob", "second")
        for mechanism in MECHANISMS[:3]:
            assert not gets_in(broker, mechanism, "first", "bob")
            assert gets_in(broker, mechanism, "second", "bob")
        broker.remove_user("bob")
        for mechanism in MECHANISMS[:3]:
            assert not gets_in(broker, mechanism, "second", "bob")
            assert gets_in(broker, mechanism)
        with pytest.raises(LookupError, match="bob"):
            broker.remove_user("bob")
        with pytest.raises(KafkaConfigurationError, match="carol"):
            broker.set_user("carol", "")
    with EmbeddedBroker() as plain, pytest.raises(UsageError, match="SASL_PLAINTEXT"):
        plain.set_user("bob", "x")


@pytest.mark.slow
def test_a_session_that_is_renewed_goes_on_and_one_of_a_user_who_is_gone_ends():
    with made("SASL_PLAINTEXT", connections_max_reauth_ms=1_500) as broker:
        broker.create_topic("t")
        options = ours(broker, "SASL_PLAINTEXT", auto_offset_reset="earliest", retry_backoff_ms=20)
        with kcore.Consumer(**options) as consumer:
            consumer.assign([kcore.TopicPartition("t", 0)])
            seen = []
            consumer._engine.observer = seen.append
            end = time.monotonic() + 1.8
            while time.monotonic() < end:
                consumer.poll(timeout_ms=100)
            broker.produce("t", [(None, b"one")])
            assert polled(lambda: consumer.poll(timeout_ms=100)) == b"one"
            closed = [event for event in seen if isinstance(event, kcore.events.LinkClosed)]
            assert not [event for event in closed if event.node_id >= 0]
            broker.remove_user(USER)
            with pytest.raises(SaslAuthenticationFailedError):
                polled(lambda: consumer.poll(timeout_ms=100))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS[:3])
def test_confluent_renews_its_sessions(mechanism):
    with made("SASL_PLAINTEXT", connections_max_reauth_ms=1_500) as broker:
        broker.create_topic("t")
        said = []
        options = dotted(broker, "SASL_PLAINTEXT", mechanism, error_cb=said.append)
        producer = confluent_kafka.Producer(options)
        end, sent = time.monotonic() + 4.0, 0
        while time.monotonic() < end:
            producer.produce("t", b"x")
            sent += 1
            assert producer.flush(LIMIT_S) == 0
            time.sleep(0.05)
        assert broker.end_offsets("t") == [sent]
        assert not said


def test_clients_alter_users(brokers):
    broker = brokers["SASL_SSL"]
    how = ours(broker, "SASL_SSL", "SCRAM-SHA-512")
    with kcore.Admin(**how) as admin:
        kinds = kcore.admin.UserScramCredentialUpsertion, kcore.admin.UserScramCredentialDeletion
        assert admin.alter_user_scram_credentials(
            [kinds[0]("kim", "SCRAM-SHA-256", "k1m", 8_192)]
        ) == {"kim": None}
        known = admin.describe_user_scram_credentials()
        assert set(known) == {USER, "kim"}
        assert known["kim"]["credential_infos"] == [{"mechanism": 1, "iterations": 8_192}]
        assert gets_in(broker, "SCRAM-SHA-256", "k1m", "kim", "SASL_SSL")
        assert not gets_in(broker, "PLAIN", "k1m", "kim", "SASL_SSL")
        assert admin.alter_user_scram_credentials([kinds[1]("kim", 1)]) == {"kim": None}
        assert not gets_in(broker, "SCRAM-SHA-256", "k1m", "kim", "SASL_SSL")


@pytest.mark.slow
def test_confluent_and_kafka_python_alter_users(brokers):
    broker = brokers["SASL_PLAINTEXT"]
    client = confluent_admin.AdminClient(dotted(broker, "SASL_PLAINTEXT"))
    mechanism = confluent_admin.ScramMechanism.SCRAM_SHA_512
    info = confluent_admin.ScramCredentialInfo(mechanism, 4_096)
    change = confluent_admin.UserScramCredentialUpsertion("lee", info, b"l33")
    client.alter_user_scram_credentials([change])["lee"].result(LIMIT_S)
    assert gets_in(broker, "SCRAM-SHA-512", "l33", "lee")
    with closing(kafka_python.KafkaAdminClient(**ours(broker, "SASL_PLAINTEXT"))) as theirs:
        known = theirs.describe_user_scram_credentials(["lee"])["lee"]
        assert known["credential_infos"] == [{"mechanism": 2, "iterations": 4_096}]
        gone = kafka_python.admin.UserScramCredentialDeletion("lee", "SCRAM-SHA-512")
        theirs.alter_user_scram_credentials([gone])
    assert not gets_in(broker, "SCRAM-SHA-512", "l33", "lee")


def test_credentials_outlive_a_restart_and_passwords_are_written_nowhere(tmp_path):
    how = {"directory": tmp_path, "connection_failed_authentication_delay_ms": 0}
    for turn in range(3):
        with made("SASL_PLAINTEXT", **how) as broker:
            if not turn:
                broker.set_user("bob", "b0b-secret")
                broker.set_user("gone", "g0ne-secret")
                broker.remove_user("gone")
                broker.set_user(USER, "other")
                continue
            assert gets_in(broker, "SCRAM-SHA-256", "b0b-secret", "bob")
            assert gets_in(broker, "SCRAM-SHA-512", "b0b-secret", "bob")
            assert not gets_in(broker, "PLAIN", "b0b-secret", "bob")
            assert not gets_in(broker, "SCRAM-SHA-512", "g0ne-secret", "gone")
            assert gets_in(broker, "SCRAM-SHA-512")  # given at the start: that counts
            with kcore.Admin(**ours(broker, "SASL_PLAINTEXT")) as admin:
                assert set(admin.describe_user_scram_credentials()) == {USER, "bob"}
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"bob" in written
    assert b"secret" not in written


def test_in_memory():
    with made("SASL_PLAINTEXT", in_memory=True) as broker:
        broker.create_topic("t")
        broker.produce("t", [(None, b"one")])
        options = ours(broker, "SASL_PLAINTEXT", "SCRAM-SHA-256", auto_offset_reset="earliest")
        with kcore.Consumer("t", transport=broker.transport(), **options) as consumer:
            assert polled(lambda: consumer.poll(timeout_ms=200)) == b"one"
        options["sasl_plain_password"] = "wrong"
        with pytest.raises(SaslAuthenticationFailedError):
            kcore.Consumer("t", transport=broker.transport(), **options)


@pytest.mark.slow
def test_the_command_asks_who_it_is():
    command = [sys.executable, "-m", "kcore.cli.main", "broker", "--listen", "127.0.0.1:0"]
    secure = ["--security-protocol", "SASL_SSL", "--user", f"{USER}:{PASSWORD}"]
    secure += ["--delegation-token-secret-key", PASSWORD]
    with subprocess.Popen([*command, *secure], stdout=subprocess.PIPE, text=True) as served:
        address = served.stdout.readline().split()[2].rstrip(";")
        cafile = served.stdout.readline().split()[2]
        options = {
            "bootstrap_servers": address,
            "security_protocol": "SASL_SSL",
            "ssl_cafile": cafile,
            "sasl_mechanism": "SCRAM-SHA-256",
            "sasl_plain_username": USER,
        }
        with kcore.Admin(sasl_plain_password=PASSWORD, **options) as admin:
            assert admin.list_topics() == []
            assert admin.create_delegation_token().owner == f"User:{USER}"
        with pytest.raises(SaslAuthenticationFailedError):
            kcore.Admin(sasl_plain_password="wrong", **options)
        served.send_signal(signal.SIGINT)
        assert served.wait(10) == 0
    assert not Path(cafile).exists()
    for wrong, said in (
        (["--user", f"{USER}:{PASSWORD}"], "sasl_users is given, but security_protocol"),
        (["--security-protocol", "SASL_SSL", "--user", PASSWORD], "NAME:PASSWORD"),
        (["--delegation-token-secret-key", PASSWORD], "delegation_token_secret_key is given, but"),
    ):
        ended = subprocess.run([*command, *wrong], capture_output=True, text=True, timeout=60)
        assert ended.returncode
        assert said in ended.stderr
        assert PASSWORD not in ended.stderr


# Certificates -------------------------------------------------------------------------------------


def principals(broker):
    cluster, server = broker._running()
    return server.call(lambda _now_ms: {link.principal for link in cluster.nodes[1]._links})


def test_clients_by_their_certificates():
    with made("SSL", ssl_client_auth="required") as broker:
        certfile, keyfile = broker.client_certificate("alice, ops")
        own = {"ssl_certfile": certfile, "ssl_keyfile": keyfile}
        with kcore.Admin(**ours(broker, "SSL", **own)) as admin:
            assert admin.list_topics() == []
            assert principals(broker) == {"User:CN=alice\\, ops"}
        with pytest.raises((SslAuthenticationError, NoBrokersAvailable)):
            kcore.Consumer("t", bootstrap_timeout_ms=1_000, **ours(broker, "SSL"))
        with pytest.raises(UsageError, match="name"):
            broker.client_certificate("")
    with pytest.raises(UsageError, match="does not serve"):
        broker.client_certificate("alice")


def test_who_shows_none_is_nobody_where_they_are_wanted_only():
    with made("SSL", ssl_client_auth="requested") as broker, kcore.Admin(**ours(broker, "SSL")):
        assert principals(broker) == {"User:ANONYMOUS"}


@pytest.mark.slow
def test_certificates_of_ones_own(tmp_path):
    pems = certificates.Certificates(tmp_path)
    own = {"ssl_certfile": str(pems.broker), "ssl_keyfile": str(pems.key("broker"))}
    with EmbeddedBroker(security_protocol="SSL", **own) as broker:
        broker.create_topic("t")
        options = ours_given(broker, pems)
        with kcore.Admin(**options) as admin:
            assert admin.list_topics() == ["t"]
        with pytest.raises(UsageError, match="given its certificate"):
            broker.client_certificate("alice")
    with EmbeddedBroker() as plain, pytest.raises(UsageError, match="does not speak TLS"):
        plain.client_certificate("alice")


def ours_given(broker, pems):
    return {
        "bootstrap_servers": broker.bootstrap,
        "security_protocol": "SSL",
        "ssl_cafile": str(pems.ca),
    }


def test_a_broker_begins_and_ends_as_often_as_one_likes():
    before = descriptors()
    broker = made("SASL_SSL", nodes=2)
    for _ in range(2):
        with broker:
            folder = broker.ssl_cafile
            assert len(broker.addresses) == 2
            broker.create_topic("t", 2)
            broker.produce("t", [(None, b"one")] * 2)
            broker.kill(2)
            broker.revive(2)
            assert read_by_kcore(broker, "SASL_SSL", "SCRAM-SHA-256") == b"one"
        assert not Path(folder).exists()
    wait_for_descriptors(before)
