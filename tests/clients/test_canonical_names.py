"""client_dns_lookup=resolve_canonical_bootstrap_servers_only: an alias of brokers is no name that a
certificate has, their own names are.
"""

from __future__ import annotations

import socket
from importlib import import_module

import anyloop
import pytest
from anyloop import EACH_LOOP
from certificates import missing

import kcore
from kcore.embedded import EmbeddedBroker
from kcore.errors import IllegalStateError, KafkaConfigurationError, SslAuthenticationError

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))
CANONICAL = {"client_dns_lookup": "resolve_canonical_bootstrap_servers_only"}
ALIAS = "alias.invalid"


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(host="localhost", security_protocol="SSL") as broker:
        broker.create_topic("t")
        yield broker


@pytest.fixture(autouse=True)
def alias(monkeypatch):
    """A name that this machine's resolvers take for its own."""
    for resolver in (socket, import_module("gevent.socket")):
        real = resolver.getaddrinfo

        def find(host, *args, real=real, **more):
            known = host in (ALIAS, ALIAS.encode())
            return real("127.0.0.1" if known else host, *args, **more)

        def name(sockaddr, _flags):
            assert sockaddr[0] == "127.0.0.1"
            return "localhost", str(sockaddr[1])

        monkeypatch.setattr(resolver, "getaddrinfo", find)
        monkeypatch.setattr(resolver, "getnameinfo", name)


def options(broker, **more):
    port = broker.bootstrap.rpartition(":")[2]
    trusted = {"security_protocol": "SSL", "ssl_cafile": broker.ssl_cafile}
    return {"bootstrap_servers": f"{ALIAS}:{port}", **trusted, **more}


def test_an_alias_is_not_what_the_certificate_is_for(broker):
    with pytest.raises(SslAuthenticationError, match="not trusted"):
        kcore.Admin(**options(broker))


@pytest.mark.parametrize("transport", ["blocking", "gevent"])  # each has a resolver of its own
def test_every_client_begins_at_the_names(broker, transport):
    given = options(broker, transport=transport, **CANONICAL)
    with kcore.Admin(**given) as admin:
        assert "t" in admin.list_topics()
    with kcore.Producer(**given) as producer:
        producer.send("t", b"x").get(10)
    with kcore.Consumer(**given) as consumer:
        assert consumer.end_offsets([("t", 0)])
    with kcore.ShareConsumer("t", group_id="g", **given) as sharer:
        assert sharer.poll(100) == {}  # it begins at the end


@EACH_LOOP
def test_on_an_event_loop(broker):
    given = options(broker, **CANONICAL)

    async def main():
        async with kcore.AsyncAdmin(**given) as admin:
            assert "t" in await admin.list_topics()
        async with kcore.AsyncProducer(**given) as producer:
            await producer.send_and_wait("t", b"x")
        async with kcore.AsyncConsumer("t", group_id="h", **given) as consumer:
            assert consumer.assignment()
        async with kcore.AsyncShareConsumer("t", group_id="g", **given):
            pass

    anyloop.run(main())


@EACH_LOOP
@pytest.mark.parametrize(
    ("room", "kind", "call"),
    [
        ("admin.async_admin", kcore.AsyncAdmin, lambda admin: admin.list_topics()),
        ("producer.async_producer", kcore.AsyncProducer, lambda producer: producer.send("t", b"x")),
        ("producer.async_producer", kcore.AsyncProducer, lambda producer: producer.flush()),
    ],
)
def test_who_calls_while_names_are_looked_up_is_early(broker, monkeypatch, room, kind, call):
    place = f"kcore.clients.{room}.begin_at_names"
    begin = import_module(f"kcore.clients.{room}").begin_at_names

    async def main():
        client = kind(**options(broker, **CANONICAL))

        async def look_up(core, settings):
            with pytest.raises(IllegalStateError, match="was not started"):
                await call(client)
            await begin(core, settings)

        monkeypatch.setattr(place, look_up)
        async with client:
            await call(client)

    anyloop.run(main())


def test_names_that_a_proxy_looks_up_are_not_looked_up_here(broker):
    for url in ("socks5h://p:1", "http://p:1"):
        with pytest.raises(KafkaConfigurationError, match="by the proxy") as caught:
            kcore.Admin(**options(broker, proxy_url=url, **CANONICAL))
        assert caught.value.option == "client_dns_lookup"
    kcore.ConsumerConfig.from_options(options(broker, proxy_url="socks5://p:1", **CANONICAL))


@pytest.mark.parametrize("lookup", ["default", "", None, 1])
def test_what_is_no_way_of_looking_up(lookup):
    with pytest.raises(KafkaConfigurationError, match="client_dns_lookup"):
        kcore.ConsumerConfig.from_options({"client.dns.lookup": lookup})
