"""Who reads the log and raises (a handler that does not go through `handleError`, a filter) breaks
nothing: records go on, nobody waits without end, and what was raised is on stderr.
"""

import asyncio
import logging

import pytest

from kcore import (
    Admin,
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    Consumer,
    Producer,
    Workers,
)
from kcore.embedded import EmbeddedBroker

COUNT = 60
SOON_S = 20


class RaisingHandler(logging.Handler):
    """Fails with every line."""

    def emit(self, record):
        raise ZeroDivisionError(record.getMessage())


def raising_filter(record):
    raise ZeroDivisionError(record.getMessage())


LOGGERS = [
    "kcore.producer",
    "kcore.consumer",
    "kcore.admin",
    "kcore.clients",
    "kcore.transports.serve",
]


@pytest.fixture(params=["handler", "filter"])
def raising(request, capsys, monkeypatch):
    """A log that raises; lines() are what was said of it."""
    monkeypatch.setattr(logging, "raiseExceptions", True)
    handler = RaisingHandler()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        if request.param == "handler":
            logger.addHandler(handler)
        else:
            logger.addFilter(raising_filter)
    yield lambda: capsys.readouterr().err
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
        logger.removeHandler(handler)
        logger.removeFilter(raising_filter)


@pytest.fixture
def broker(raising):
    with EmbeddedBroker() as running:
        running.create_topic("t", 2)
        yield running


def fill(broker):
    broker.produce("t", [(b"%d" % (n % 7), b"%d" % n) for n in range(COUNT)])


def disturb(broker, api):
    """Gives clients something to say."""
    broker.cut(api)
    broker.refuse(api, "NOT_LEADER_OR_FOLLOWER", times=2)


def fail(*_):
    raise ValueError("a callback that fails")


def offsets(broker):
    return sum(broker.end_offsets("t"))


QUICK = {"reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 1, "retry_backoff_ms": 1}
READS = QUICK | {"auto_offset_reset": "earliest"}


def test_a_producer(broker, raising):
    with Producer(bootstrap_servers=broker.bootstrap, **QUICK) as producer:
        for _ in range(2):
            futures = [producer.send("t", b"%d" % n) for n in range(COUNT)]
            futures[0].add_callback(fail)
            for future in futures:
                future.get(SOON_S)
            disturb(broker, "PRODUCE")
        producer.send("t", b"last").add_callback(fail)
    assert offsets(broker) == 2 * COUNT + 1
    assert "ZeroDivisionError" in raising()


@pytest.mark.parametrize("group_id", [None, "g"])
def test_a_consumer(broker, raising, group_id):
    fill(broker)
    found = []
    options = READS | {"group_id": group_id, "bootstrap_servers": broker.bootstrap}
    with Consumer("t", consumer_timeout_ms=SOON_S * 1_000, **options) as consumer:
        for record in consumer:
            found.append((record.partition, record.offset))
            if len(found) == 1:
                disturb(broker, "FETCH")
                fill(broker)
            if len(found) == 2 * COUNT:
                break
    assert len(set(found)) == 2 * COUNT
    assert "ZeroDivisionError" in raising()


def test_workers(broker, raising):
    fill(broker)
    found = []

    def handle(record):
        found.append((record.partition, record.offset))
        if len(found) == COUNT:
            workers.stop()

    options = READS | {"group_id": "w", "bootstrap_servers": broker.bootstrap}
    with Consumer("t", enable_auto_commit=False, **options) as consumer:
        workers = Workers(consumer, handle, threads=3, commit_interval_ms=5)
        disturb(broker, "OFFSET_COMMIT")
        workers.run()
    assert len(set(found)) == len(found) == COUNT
    assert "ZeroDivisionError" in raising()


def test_an_administrator(broker, raising):
    with Admin(bootstrap_servers=broker.bootstrap, **QUICK) as admin:
        for _ in range(3):
            assert admin.list_topics() == ["t"]
            broker.cut("METADATA")
    assert "ZeroDivisionError" in raising()


def soon(work):
    return asyncio.run(asyncio.wait_for(work, SOON_S))


def test_an_async_producer(broker, raising):
    async def work():
        async with AsyncProducer(bootstrap_servers=broker.bootstrap, **QUICK) as producer:
            for _ in range(2):
                await asyncio.gather(*[await producer.send("t", b"x") for _ in range(COUNT)])
                disturb(broker, "PRODUCE")
            await producer.send_and_wait("t", b"last")

    soon(work())
    assert offsets(broker) == 2 * COUNT + 1
    assert "ZeroDivisionError" in raising()


def test_an_async_consumer(broker, raising):
    fill(broker)
    found = []

    async def work():
        options = READS | {"group_id": "g", "bootstrap_servers": broker.bootstrap}
        async with AsyncConsumer("t", **options) as consumer:
            while len(found) < 2 * COUNT:
                record = await consumer.getone()
                found.append((record.partition, record.offset))
                if len(found) == 1:
                    disturb(broker, "FETCH")
                    fill(broker)

    soon(work())
    assert len(set(found)) == 2 * COUNT
    assert "ZeroDivisionError" in raising()


def test_an_async_administrator(broker, raising):
    async def work():
        async with AsyncAdmin(bootstrap_servers=broker.bootstrap, **QUICK) as admin:
            for _ in range(3):
                assert await admin.list_topics() == ["t"]
                broker.cut("METADATA")

    soon(work())
    assert "ZeroDivisionError" in raising()


def test_a_broker_goes_on(broker, raising):
    """Its fault is kept, and that nobody heard of it."""
    node = broker._cluster.nodes[1]
    handle = node.handle_connected

    def break_once(*given):
        node.handle_connected = handle
        raise KeyError("broken")

    node.handle_connected = break_once
    with Producer(bootstrap_servers=broker.bootstrap, **QUICK) as producer:
        producer.send("t", b"x").get(SOON_S)
    kinds = [type(fault) for fault in broker.faults]
    assert kinds == [KeyError, ZeroDivisionError]
