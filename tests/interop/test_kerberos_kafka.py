"""SASL/GSSAPI (Kerberos): a real KDC and a real Kafka, every client, and what goes wrong."""

import itertools
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import anyloop
import kafka as kafka_python
import pytest
from anyloop import EACH_LOOP
from kdc import missing
from kerberos_kafka import BRIEF, BRIEF_S, HOST, OTHER, USER, KerberosKafka

import kcore
from kcore import TopicPartition
from kcore.clients.credentials.kerberos import Kerberos
from kcore.errors import (
    AuthorizationError,
    NoBrokersAvailable,
    SaslAuthenticationFailedError,
)
from kcore.events import LinkClosed, LinkOpened
from kcore.transports import NAMES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kafka,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]

COUNT = 50
ALL = [b"%d" % number for number in range(COUNT)]
T0 = TopicPartition("t", 0)


@pytest.fixture(scope="module")
def kafka():
    with KerberosKafka() as kafka, pytest.MonkeyPatch.context() as patch:
        for name, value in kafka.kdc.environment.items():
            patch.setenv(name, value)
        for topic in ("t", "written", "late", "renewed"):
            kafka.create_topic(topic)
        kafka.produce("t", [(None, value) for value in ALL])
        yield kafka


@pytest.fixture(autouse=True)
def no_tickets(kafka):
    kafka.kdc.cache.unlink(missing_ok=True)


def gssapi(kafka, listener="KERBEROS", **options):
    return {
        "bootstrap_servers": kafka.address(listener),
        "bootstrap_timeout_ms": 10_000,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "GSSAPI",
        **options,
    }


def by_keytab(kafka, who=USER, listener="KERBEROS", **options):
    return gssapi(kafka, listener, sasl_kerberos_keytab=kafka.kdc.keytab(who), **options)


def read(consumer, count=COUNT, within_s=30.0):
    values, end = [], time.monotonic() + within_s
    while len(values) < count and time.monotonic() < end:
        for records in consumer.poll(200).values():
            values += [record.value for record in records]
    return values


@pytest.mark.parametrize("transport", NAMES)
def test_alone_and_in_a_group(kafka, transport):
    options = by_keytab(kafka, auto_offset_reset="earliest", transport=transport)
    with kcore.Consumer(**options) as consumer:
        consumer.assign([T0])
        assert read(consumer) == ALL
    with kcore.Consumer("t", group_id=f"kerberos-{transport}", **options) as consumer:
        assert read(consumer) == ALL
        consumer.commit()
        assert consumer.committed(T0) == COUNT


def test_tickets_of_kinit(kafka):
    kafka.kdc.kinit(USER)
    with kcore.Consumer("t", **gssapi(kafka, auto_offset_reset="earliest")) as consumer:
        assert read(consumer) == ALL


@EACH_LOOP
def test_on_an_event_loop(kafka, each_loop):
    topic = f"loop-{each_loop}"

    async def main():
        options = by_keytab(kafka)
        async with kcore.AsyncAdmin(**options) as admin:
            await admin.create_topics([topic])
        async with kcore.AsyncProducer(**options) as producer:
            for value in ALL:
                await producer.send_and_wait(topic, value)
        values = []
        async with kcore.AsyncConsumer(
            topic, group_id=topic, **options, auto_offset_reset="earliest"
        ) as consumer:
            async for record in consumer:
                values.append(record.value)
                if len(values) == COUNT:
                    break
        return values

    assert anyloop.run(main()) == ALL


def test_producer_and_admin(kafka):
    with kcore.Admin(**by_keytab(kafka)) as admin:
        assert "t" in admin.list_topics()
    with kcore.Producer(**by_keytab(kafka)) as producer:
        assert producer.send("written", b"x").get(20).offset == 0


def test_share_consumers(kafka):
    kafka.tool(
        "kafka-configs",
        *("--alter", "--entity-type", "groups", "--entity-name", "shared"),
        *("--add-config", "share.auto.offset.reset=earliest"),
    )
    with kcore.ShareConsumer("t", group_id="shared", **by_keytab(kafka)) as consumer:
        assert sorted(read(consumer)) == sorted(ALL)

    async def main():
        options = by_keytab(kafka)
        async with kcore.AsyncShareConsumer("t", group_id="shared", **options) as consumer:
            await consumer.getmany(timeout_ms=500)

    anyloop.run(main())


def test_who_we_are_is_the_tickets_principal(kafka):
    for more in ({}, {"sasl_kerberos_principal": OTHER}):
        with kcore.Consumer(**by_keytab(kafka, OTHER, **more)) as consumer:
            consumer.assign([T0])
            with pytest.raises(AuthorizationError):
                read(consumer)


def test_beside_kafka_python(kafka):
    """Which takes the ticket cache alone."""
    kafka.kdc.kinit(USER)
    theirs = {
        "bootstrap_servers": kafka.address(),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": "kafka",
    }
    consumer = kafka_python.KafkaConsumer("t", auto_offset_reset="earliest", **theirs)
    try:
        values, end = [], time.monotonic() + 30
        while len(values) < COUNT and time.monotonic() < end:
            for records in consumer.poll(200).values():
                values += [record.value for record in records]
    finally:
        consumer.close()
    assert values == ALL
    with kcore.Consumer("t", auto_offset_reset="earliest", **theirs) as ours:
        assert read(ours) == ALL


# What goes wrong ----------------------------------------------------------------------------------

WRONG = {
    "no ticket": ({}, r"No Kerberos credentials.*kinit"),
    "wrong service": (
        {"sasl_kerberos_service_name": "kafak", "sasl_kerberos_keytab": USER},
        f"kafak/{HOST}.*not found.*sasl_kerberos_service_name",
    ),
    "somebody else's keytab": (
        {"sasl_kerberos_keytab": OTHER, "sasl_kerberos_principal": USER},
        "sasl_kerberos_keytab has keys of sasl_kerberos_principal",
    ),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("kind", ["Consumer", "Producer", "Admin", "ShareConsumer"])
def test_why_not_is_raised(kafka, what, kind):
    wrong, said = WRONG[what]
    options = gssapi(kafka, bootstrap_timeout_ms=1_500, **wrong)
    if "sasl_kerberos_keytab" in options:
        options["sasl_kerberos_keytab"] = kafka.kdc.keytab(options["sasl_kerberos_keytab"])
    if kind == "ShareConsumer":
        options["group_id"] = "g"
    with pytest.raises((SaslAuthenticationFailedError, NoBrokersAvailable), match=said):
        getattr(kcore, kind)(**options).close()


def test_a_ticket_that_the_broker_has_no_key_for(kafka):
    kafka.kdc.add(f"stranger/{HOST}")
    options = by_keytab(kafka, bootstrap_timeout_ms=1_500, sasl_kerberos_service_name="stranger")
    said = "invalid credentials with SASL mechanism GSSAPI.*its keytab has not the keys"
    with pytest.raises((SaslAuthenticationFailedError, NoBrokersAvailable), match=said):
        kcore.Consumer(**options)


@EACH_LOOP
def test_why_not_is_raised_on_an_event_loop(kafka, each_loop):
    async def main():
        async with kcore.AsyncConsumer("t", **gssapi(kafka, bootstrap_timeout_ms=1_500)):
            pass

    with pytest.raises((SaslAuthenticationFailedError, NoBrokersAvailable), match="kinit"):
        anyloop.run(main())


def test_a_host_that_has_no_principal(kafka):
    """Kafka advertises an address there, for which the KDC knows nothing."""
    options = by_keytab(kafka, listener="MOVED", auto_offset_reset="earliest")
    with kcore.Consumer(**options) as consumer:
        consumer.assign([T0])
        with pytest.raises(SaslAuthenticationFailedError, match=r"kafka/127\.0\.0\.1"):
            read(consumer)
    with kcore.Consumer(**options, sasl_kerberos_domain_name=HOST) as consumer:
        consumer.assign([T0])
        assert read(consumer) == ALL


# Tickets and sessions that end --------------------------------------------------------------------


def test_tickets_of_a_keytab_outlive_themselves(kafka):
    """Sessions are renewed all the while, by tickets that are over soon."""
    seen = []
    options = by_keytab(kafka, BRIEF, "SHORT", auto_offset_reset="earliest")
    with kcore.Consumer(**options) as consumer:
        consumer._engine.observer = seen.append
        consumer.assign([TopicPartition("renewed", 0)])
        kafka.produce("renewed", [(None, b"early")])
        assert read(consumer, 1) == [b"early"]
        end = time.monotonic() + 3 * BRIEF_S
        while time.monotonic() < end:
            consumer.poll(200)
        kafka.produce("renewed", [(None, b"late")])
        assert read(consumer, 1) == [b"late"]
    opened = [event for event in seen if isinstance(event, LinkOpened)]
    closed = [event for event in seen if isinstance(event, LinkClosed)]
    assert len(opened) <= 2, (opened, closed)  # the broker would have closed them six times
    log = (kafka.kdc.folder / "kdc.log").read_text()
    asked = [line for line in log.splitlines() if "AS_REQ" in line and BRIEF in line]
    assert len(asked) >= 3


def test_tickets_of_a_cache_that_are_over_and_new_ones(kafka):
    kafka.kdc.kinit(USER, "-l", "4s")
    options = gssapi(kafka, "SHORT", auto_offset_reset="latest")
    with kcore.Consumer(**options) as consumer:
        consumer.assign([TopicPartition("late", 0)])
        consumer.poll(500)
        with pytest.raises(SaslAuthenticationFailedError, match=r"xpired.*kinit"):
            read(consumer, within_s=20)
        kafka.kdc.kinit(USER)
        position = consumer.position(TopicPartition("late", 0))
        kafka.produce("late", [(None, b"%d" % position)])
        assert read_on(consumer) == [b"%d" % position]


def read_on(consumer):
    """The next record, for whoever may be told once more of what was before."""
    values, end = [], time.monotonic() + 20
    while not values and time.monotonic() < end:
        with suppress(SaslAuthenticationFailedError):
            values = read(consumer, 1)
    return values


# A KDC that says nothing --------------------------------------------------------------------------


HURRIED = {"socket_connection_setup_timeout_ms": 700, "bootstrap_timeout_ms": 2_500}
_numbers = itertools.count()


@pytest.fixture
def silent(kafka):
    """Options of somebody who has no ticket yet, of a KDC that takes connections and answers
    nobody.
    """
    who = f"nobody-{next(_numbers)}"
    kafka.kdc.add(who)
    os.kill(kafka.kdc._process.pid, signal.SIGSTOP)
    yield by_keytab(kafka, who) | HURRIED
    os.kill(kafka.kdc._process.pid, signal.SIGCONT)


@pytest.mark.parametrize("transport", NAMES)
def test_nobody_waits_for_a_silent_kdc_for_ever(silent, transport):
    with pytest.raises(NoBrokersAvailable, match=r"is its KDC there\?"):
        kcore.Consumer(**silent, transport=transport)


@pytest.mark.parametrize("transport", NAMES)
def test_a_poll_is_over_before_a_silent_kdc_is(silent, transport, monkeypatch):
    made, ask = [], Kerberos.ask
    monkeypatch.setattr(Kerberos, "ask", lambda *given: (made.append(given[0]), ask(*given)))
    patient = {
        "socket_connection_setup_timeout_ms": 30_000,
        "socket_connection_setup_timeout_max_ms": 30_000,
        "api_version": (4, 3),
    }
    with kcore.Consumer(**silent | patient, transport=transport) as consumer:
        consumer.assign([T0])
        for _ in range(3):
            assert consumer.poll(300) == {}
        (source,) = made
        assert source._aside.under_way == 1


@EACH_LOOP
def test_a_loop_goes_on_while_a_kdc_is_silent(silent, each_loop):
    async def main():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                await anyloop.sleep(0.01)
                ticks += 1

        ticking = anyloop.create_task(tick())
        with pytest.raises(NoBrokersAvailable, match=r"is its KDC there\?"):
            async with kcore.AsyncConsumer("t", **silent):
                pass
        ticking.cancel()
        return ticks

    assert anyloop.run(main()) > 10


def test_a_kdc_that_comes_back(kafka):
    """Who is refused for want of a ticket tries again, with the backoff of connections."""
    who = f"nobody-{next(_numbers)}"
    options = by_keytab(kafka, kafka.kdc.add(who) and who, api_version=(4, 3))
    kafka.kdc.stop()
    try:
        with kcore.Consumer(**options) as consumer:
            consumer.assign([T0])
            with pytest.raises(SaslAuthenticationFailedError, match="check that the KDC runs"):
                read(consumer)
            kafka.kdc.start()
            with pytest.raises(AuthorizationError):  # somebody, who may do nothing
                read_on(consumer)
    finally:
        kafka.kdc.stop()
        kafka.kdc.start()


PATCHED = """
from gevent import monkey; monkey.patch_all()
import sys, gevent, kcore
ticks = []
gevent.spawn(lambda: [(gevent.sleep(0.001), ticks.append(1)) for _ in range(10_000)])
address, keytab = sys.argv[1:]
options = dict(
    bootstrap_servers=address, security_protocol="SASL_PLAINTEXT", sasl_mechanism="GSSAPI",
    sasl_kerberos_keytab=keytab,
)
with kcore.Producer(**options) as producer:
    producer.send("written", b"by a greenlet").get(20)
with kcore.Consumer("t", auto_offset_reset="earliest", **options) as consumer:
    print(next(consumer).value.decode())
assert ticks
"""


def test_in_a_process_that_gevent_has_patched(kafka):
    command = [sys.executable, "-c", PATCHED, kafka.address(), str(kafka.kdc.keytab(USER))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
