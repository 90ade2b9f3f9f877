"""A real Kafka behind real proxies: every client under every driver, plain and with TLS inside; and
kafka-python by the same options.
"""

from __future__ import annotations

import time

import anyloop
import pytest
from anyloop import EACH_LOOP
from certificates import missing
from kafka import KafkaConsumer, KafkaProducer
from leftovers import KAFKA_PYTHON
from real_proxies import MADE, SOCKS, THERE, RealProxy
from tls_front import authority

import kcore
from kcore.errors import NoBrokersAvailable, ProxyAuthenticationError
from kcore.transports import NAMES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    *KAFKA_PYTHON,
]

LISTENERS = ["PLAIN", "TLS"]
VALUES = [b"%d" % number + b"x" * 1_000 for number in range(2_000)]
LIMIT_S = 30.0
SPOKEN = [(name, scheme) for name in THERE for scheme in MADE[name].schemes]
OURS = MADE["pproxy"].schemes


@pytest.fixture(scope="module")
def proxies():
    """By name, and whether they ask who one is: made when first wanted."""
    made = {}

    def get(name, *, asks=False):
        if (name, asks) not in made:
            made[name, asks] = RealProxy(name, asks=asks).__enter__()
        return made[name, asks]

    yield get
    for proxy in made.values():
        proxy.__exit__()


def options(kafka, listener, url):
    given = {"bootstrap_servers": kafka.bootstrap, "proxy_url": url}
    if url.startswith("https:"):
        given["proxy_ssl_cafile"] = authority().cafile
    if listener == "TLS":
        given |= {
            "bootstrap_servers": kafka.address("TLS"),
            "security_protocol": "SSL",
            "ssl_cafile": str(kafka.certificates.ca),
        }
    return given


def all_there_is(given, **more):
    """A topic is made, written to, and read by a member of a group."""
    topic = f"p-{time.monotonic_ns()}"
    with kcore.Admin(**given, **more) as admin:
        admin.create_topics([topic])
    with kcore.Producer(**given, **more) as producer:
        for value in VALUES:
            producer.send(topic, value)
    reading = {"group_id": topic, "auto_offset_reset": "earliest", **given, **more}
    with kcore.Consumer(topic, **reading) as consumer:
        values, end = [], time.monotonic() + LIMIT_S
        while len(values) < len(VALUES) and time.monotonic() < end:
            for records in consumer.poll(500).values():
                values += [record.value for record in records]
        consumer.commit()
    assert values == VALUES


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("transport", NAMES)
@pytest.mark.parametrize("scheme", OURS)
@pytest.mark.parametrize("asks", [False, True])
def test_every_driver(secure_kafka, proxies, scheme, transport, listener, asks):
    url = proxies("pproxy", asks=asks).url(scheme)
    all_there_is(options(secure_kafka, listener, url), transport=transport)


@EACH_LOOP
@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("scheme", OURS)
def test_on_an_event_loop(secure_kafka, proxies, scheme, listener):
    given = options(secure_kafka, listener, proxies("pproxy", asks=True).url(scheme))
    topic = f"a-{time.monotonic_ns()}"

    async def main():
        async with kcore.AsyncAdmin(**given) as admin:
            await admin.create_topics([topic])
        async with kcore.AsyncProducer(**given) as producer:
            for value in VALUES:
                await producer.send(topic, value)
        reading = {"group_id": topic, "auto_offset_reset": "earliest", **given}
        values = []
        async with kcore.AsyncConsumer(topic, **reading) as consumer:
            async with anyloop.timeout(LIMIT_S):
                while len(values) < len(VALUES):
                    values.append((await consumer.getone()).value)
            await consumer.commit()
        assert values == VALUES

    anyloop.run(main())


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize(("name", "scheme"), SPOKEN)
def test_every_proxy(secure_kafka, proxies, name, scheme, listener):
    all_there_is(options(secure_kafka, listener, proxies(name).url(scheme)))


@pytest.mark.parametrize(("name", "scheme"), [one for one in SPOKEN if MADE[one[0]].asks])
@pytest.mark.parametrize("user", [None, "mallory:wrong@", ""])
def test_who_is_let_in(secure_kafka, proxies, name, scheme, user):
    proxy = proxies(name, asks=True)
    given = options(secure_kafka, "PLAIN", proxy.url(scheme, user))
    if user is None:
        with kcore.Admin(**given) as admin:
            assert admin.list_topics() is not None
        return
    with pytest.raises((ProxyAuthenticationError, NoBrokersAvailable)) as caught:
        kcore.Admin(bootstrap_timeout_ms=3_000, **given)
    # pproxy hangs up on who does not say the right word; all others say so.
    assert isinstance(caught.value, ProxyAuthenticationError) or name.startswith("pproxy")


@pytest.mark.parametrize(("name", "scheme"), SPOKEN)
def test_a_broker_that_is_not_there(secure_kafka, proxies, name, scheme):
    given = options(secure_kafka, "PLAIN", proxies(name).url(scheme))
    given["bootstrap_servers"] = "127.0.0.1:1"
    with pytest.raises(NoBrokersAvailable) as caught:
        kcore.Admin(bootstrap_timeout_ms=1_000, **given)
    [why] = caught.value.attempts.values()
    # pproxy says that it has before it tries, and then hangs up.
    verb = "lost" if name == "pproxy" and scheme in SOCKS else "could not connect to"
    assert why.startswith(f"{verb} 127.0.0.1:1 through {scheme}://127.0.0.1:")


# kafka-python: theirs and ours by the same words -------------------------------------------------


# Of a proxy that answers with a name, as pproxy does if it was asked for one, it takes no answer;
# and it has no TLS with proxies.
THEIRS = [one for one in SPOKEN if one not in {("pproxy", "socks5h"), ("pproxy-tls", "https")}]


@pytest.mark.parametrize(("name", "scheme"), THEIRS)
@pytest.mark.parametrize("asks", [False, True])
def test_kafka_python_takes_the_same_words(secure_kafka, proxies, name, scheme, asks):
    proxy = proxies(name, asks=asks and MADE[name].asks)
    given = options(secure_kafka, "PLAIN", proxy.url(scheme))
    topic = f"k-{time.monotonic_ns()}"
    with kcore.Admin(**given) as admin:
        admin.create_topics([topic])
    # It does not decode what is written as %40.
    theirs = given | {"proxy_url": proxy.url(scheme).replace("%40", "@")}
    producer = KafkaProducer(**theirs)
    producer.send(topic, b"theirs").get(10)
    producer.close()
    with kcore.Producer(**given) as ours:
        ours.send(topic, b"ours").get(10)
    reader = KafkaConsumer(topic, auto_offset_reset="earliest", **theirs)
    values, end = [], time.monotonic() + LIMIT_S
    while len(values) < 2 and time.monotonic() < end:
        for records in reader.poll(500).values():
            values += [record.value for record in records]
    reader.close()
    assert values == [b"theirs", b"ours"]
