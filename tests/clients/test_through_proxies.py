"""Clients that reach their brokers through a proxy, under every driver; and those that do not."""

from __future__ import annotations

import logging
import socket
import time

import anyloop
import pytest
from anyloop import EACH_LOOP
from proxy_server import ProxyServer
from tls_front import authority

import kcore
from kcore.admin import ConfigResource
from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaConfigurationError, NoBrokersAvailable, ProxyAuthenticationError
from kcore.transports import NAMES

SECRET = "s3cr3t-word"
SCHEMES = ["socks5", "socks5h", "http", "https"]
NOWHERE = "127.0.0.1:9"  # no proxy is asked to go there
ELSEWHERE = "kafka.invalid"  # a name that nobody here knows (RFC 6761)
LIMIT_S = 20.0


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(advertised_host=ELSEWHERE) as broker:
        broker.create_topic("t")
        yield broker


@pytest.fixture(scope="module")
def proxy():
    with ProxyServer(user="me", password=SECRET, names={ELSEWHERE: "127.0.0.1"}) as proxy:
        yield proxy


def trusted(scheme):
    return {"proxy_ssl_cafile": authority().cafile} if scheme == "https" else {}


def options(broker, proxy, scheme="socks5h", **more):
    more |= trusted(scheme)
    where = broker.bootstrap.replace("127.0.0.1", ELSEWHERE)
    url = proxy.url(scheme, f"me:{SECRET}@")
    return {"bootstrap_servers": where, "proxy_url": url, "bootstrap_timeout_ms": 5_000, **more}


@pytest.mark.parametrize("transport", NAMES)
@pytest.mark.parametrize("scheme", SCHEMES[1:])
def test_all_there_is_through_a_proxy_that_knows_the_names(
    broker, proxy, monkeypatch, transport, scheme
):
    looked_up = []
    real = socket.getaddrinfo

    def spy(host, *args, **more):
        looked_up.append(host)
        return real(host, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", spy)
    given = options(broker, proxy, scheme, transport=transport)
    topic = f"t-{transport}-{scheme}"
    with kcore.Admin(**given) as admin:
        admin.create_topics([topic])
    with kcore.Producer(**given) as producer:
        for number in range(50):
            producer.send(topic, b"%d" % number)
    reading = {"group_id": topic, "auto_offset_reset": "earliest", **given}
    with kcore.Consumer(topic, **reading) as consumer:
        values = []
        while len(values) < 50:
            for records in consumer.poll(500).values():
                values += [record.value for record in records]
        consumer.commit()
    assert values == [b"%d" % number for number in range(50)]
    assert {host for host, _ in proxy.asked} == {ELSEWHERE}
    assert {as_text(host) for host in looked_up} <= {"127.0.0.1"}


def as_text(host):
    return host.decode() if isinstance(host, bytes) else host


@EACH_LOOP
@pytest.mark.parametrize("scheme", SCHEMES[1:])
def test_on_an_event_loop(broker, proxy, scheme):
    given = options(broker, proxy, scheme)

    async def main():
        async with kcore.AsyncProducer(**given) as producer:
            future = await producer.send("t", b"on a loop")
            at = (await future).offset
        async with kcore.AsyncConsumer(**given) as consumer:
            consumer.assign([kcore.TopicPartition("t", 0)])
            consumer.seek(kcore.TopicPartition("t", 0), at)
            assert (await consumer.getone()).value == b"on a loop"
        async with kcore.AsyncAdmin(**given) as admin:
            assert "t" in await admin.list_topics()

    anyloop.run(main())


def test_a_share_consumer(broker, proxy):
    broker.create_topic("shared")
    earliest = ConfigResource("group", "sharers", {"share.auto.offset.reset": "earliest"})
    with kcore.Admin(**options(broker, proxy)) as admin:
        admin.alter_configs([earliest])
    with kcore.Producer(**options(broker, proxy)) as producer:
        producer.send("shared", b"one").get(10)
    with kcore.ShareConsumer("shared", group_id="sharers", **options(broker, proxy)) as consumer:
        values = []
        end = time.monotonic() + LIMIT_S
        while not values and time.monotonic() < end:
            for records in consumer.poll(500).values():
                values += [record.value for record in records]
    assert values == [b"one"]


def test_the_name_of_a_broker_that_is_looked_up_here(broker, proxy):
    with pytest.raises(NoBrokersAvailable, match=f"could not connect to {ELSEWHERE}") as caught:
        kcore.Admin(**options(broker, proxy, "socks5", bootstrap_timeout_ms=100))
    assert "proxy" not in str(caught.value)


# Who is not let through --------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_wrong_is_said_without_the_secret(scheme, caplog):
    caplog.set_level(logging.DEBUG)
    with ProxyServer() as gone:
        url = gone.url(scheme, f"me:{SECRET}@")
    given = {"proxy_url": url, "bootstrap_timeout_ms": 100, **trusted(scheme)}
    with pytest.raises(NoBrokersAvailable) as caught:
        kcore.Consumer("t", bootstrap_servers=NOWHERE, **given)
    [(where, why)] = caught.value.attempts.items()
    assert where == NOWHERE
    assert f"through {gone.url(scheme)}: the proxy was not reached: Connection refused" in why
    assert SECRET not in f"{caught.value!r} {caplog.text}"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("user", ["me:wrong@", ""])
def test_a_proxy_that_does_not_take_us(proxy, scheme, user):
    given = {"proxy_url": proxy.url(scheme, user), **trusted(scheme)}
    with pytest.raises(ProxyAuthenticationError) as caught:
        kcore.Admin(bootstrap_servers=NOWHERE, bootstrap_timeout_ms=5_000, **given)
    error = caught.value
    assert (error.host, error.port) == ("127.0.0.1", 9)
    assert error.proxy == proxy.url(scheme)
    assert NOWHERE in str(error)
    assert error.proxy in str(error)
    assert "wrong" not in str(error)


def test_a_proxy_whose_certificate_is_not_trusted(proxy):
    with pytest.raises(ProxyAuthenticationError, match="the proxy's certificate is not trusted"):
        kcore.Admin(bootstrap_servers=NOWHERE, proxy_url=proxy.url("https"))


def test_authorities_that_cannot_be_read(proxy):
    given = {"proxy_url": proxy.url("https"), "proxy_ssl_cafile": "/no/such/file"}
    with pytest.raises(KafkaConfigurationError, match="proxy_ssl_cafile='/no/such") as caught:
        kcore.Admin(bootstrap_servers=NOWHERE, **given)
    assert caught.value.option == "proxy_ssl_cafile"


def test_one_broker_of_two_that_the_proxy_refuses():
    with EmbeddedBroker(nodes=2) as cluster:
        cluster.create_topic("t", 2)
        one, other = [int(server.split(":")[1]) for server in cluster.bootstrap.split(",")]
        open_to = {one, other}
        with ProxyServer(refuse=lambda _host, port: 0 if port in open_to else 2) as proxy:
            given = {"bootstrap_servers": f"127.0.0.1:{one}", "proxy_url": proxy.url("socks5")}
            with kcore.Producer(**given) as producer:
                for partition in (0, 1):
                    producer.send("t", b"%d" % partition, partition=partition).get(10)
                open_to.remove(other)
                proxy.cut()
                proxy.asked.clear()
                with kcore.Consumer(auto_offset_reset="earliest", **given) as consumer:
                    consumer.assign([("t", 0), ("t", 1)])
                    values, began = [], time.monotonic()

                    def read_until(done):
                        while not done() and time.monotonic() < began + LIMIT_S:
                            for records in consumer.poll(50).values():
                                values.extend(record.value for record in records)

                    def refused():
                        return sum(port == other for _, port in proxy.asked)

                    read_until(lambda: values and refused() >= 3)
                    assert len(values) == 1  # what the one leads is read on
                    # With the backoff of connections, 50 ms at first, less a fifth.
                    assert refused() <= 3 + (time.monotonic() - began) / 0.04
                    open_to.add(other)
                    read_until(lambda: len(values) == 2)
                assert sorted(values) == [b"0", b"1"]


def test_the_time_to_set_up_a_connection_is_the_proxys_too():
    with (
        ProxyServer(talk=lambda sock: sock.recv(1 << 16) and sock.recv(1)) as proxy,
        pytest.raises(NoBrokersAvailable) as caught,
    ):
        kcore.Admin(
            bootstrap_servers=NOWHERE,
            proxy_url=proxy.url("http"),
            bootstrap_timeout_ms=500,
            socket_connection_setup_timeout_ms=50,
        )
    [why] = caught.value.attempts.values()
    assert f"did not connect through {proxy.url('http')} within the set-up timeout" in why
