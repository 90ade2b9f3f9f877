"""Made when a program is loaded, begun when it runs: what lies between is nobody's delay."""

from __future__ import annotations

import logging

import anyloop
import pytest
from anyloop import EACH_LOOP

from kcore import (
    Admin,
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    AsyncShareConsumer,
    Consumer,
    Producer,
    ShareConsumer,
)
from kcore.embedded import EmbeddedBroker
from kcore.transports import core

READS = {"auto_offset_reset": "earliest"}


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as embedded:
        embedded.create_topic("t", 1)
        embedded.produce("t", [(None, b"x")])
        yield embedded


@pytest.fixture(params=[9.99, 100], ids=["nearly too late", "long"])
def later(request, caplog, monkeypatch):
    """Puts the clock forward; nothing is to be warned of. 10 s are there for a connection, 30 for
    an answer.
    """
    caplog.set_level(logging.WARNING, "kcore")
    clock_ns, passed_ns = core._clock_ns, int(request.param * 1e9)
    yield lambda: monkeypatch.setattr(core, "_clock_ns", lambda: clock_ns() + passed_ns)
    assert [record.getMessage() for record in caplog.get_records("call")] == []


async def read_one(reader):
    async with reader:
        assert (await reader.getone()).value


async def send_one(producer):
    async with producer:
        await producer.send_and_wait("t", b"y")


async def list_all(admin):
    async with admin:
        assert "t" in await admin.list_topics()


async def only_start(reader):
    async with reader:
        pass


@EACH_LOOP
@pytest.mark.parametrize(
    ("make", "use"),
    [
        (lambda **o: AsyncConsumer("t", **o, **READS), read_one),
        (lambda **o: AsyncConsumer("t", group_id="g", **o, **READS), read_one),
        (AsyncProducer, send_one),
        (AsyncAdmin, list_all),
        (lambda **o: AsyncShareConsumer("t", group_id="s", **o), only_start),
    ],
    ids=["consumer", "member", "producer", "admin", "share consumer"],
)
def test_on_a_loop(broker, later, make, use):
    client = make(bootstrap_servers=broker.bootstrap)
    later()
    anyloop.run(use(client))


def test_blocking(broker, later):
    options = {"bootstrap_servers": broker.bootstrap}
    made = [
        Consumer("t", **options, **READS),
        Consumer("t", group_id="g2", **options, **READS),
        ShareConsumer("t", group_id="s2", **options),
        Producer(**options),
        Admin(**options),
    ]
    reader, member, share, producer, admin = made
    later()
    assert reader.poll(5_000)
    assert member.poll(5_000)
    share.poll(100)
    producer.send("t", value=b"y").get(5)
    assert "t" in admin.list_topics()
    for client in made:
        client.close()
