"""Tests of applications stop the clock (freezegun does): time that passes is still seen."""

import asyncio
import ctypes
import time

import pytest

from kcore import AsyncProducer, Consumer, Producer, errors
from kcore.clients.stand_in.confluent.admin import AdminClient
from kcore.clients.stand_in.confluent.producer import Producer as ConfluentProducer
from kcore.clients.stand_in.confluent.share import ShareConsumer
from kcore.embedded import EmbeddedBroker
from kcore.transports import monotonic_ms

STOPPED_S = 1_577_836_800


@pytest.fixture
def stopped(monkeypatch):
    for name in ("time", "monotonic", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: float(STOPPED_S))
        monkeypatch.setattr(time, f"{name}_ns", lambda: STOPPED_S * 10**9)


def test_the_clock_of_pumps_goes_on(stopped):
    before = monotonic_ms()
    time.sleep(0.02)
    assert monotonic_ms() - before >= 10


def test_records_go_through_and_what_does_not_come_is_not_waited_for(stopped):
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        place = {"bootstrap_servers": broker.bootstrap}
        with Producer(**place) as producer:
            producer.send("t", b"v", timestamp_ms=5).get(10)
            broker.pause(1)
            future = producer.send("t", b"w", timestamp_ms=6)
            with pytest.raises(errors.KafkaTimeoutError):
                future.get(0.2)
            broker.resume(1)
        with Consumer("t", **place, group_id="g", auto_offset_reset="earliest") as consumer:
            found = []
            while len(found) < 2:
                found += [one.value for part in consumer.poll(500).values() for one in part]
            assert found == [b"v", b"w"]
            assert consumer.poll(timeout_ms=100) == {}


class MethodDef(ctypes.Structure):
    """The beginning of CPython's PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("target", ctypes.c_void_p))


class BuiltIn(ctypes.Structure):
    """The beginning of CPython's PyCFunctionObject."""

    _fields_ = (
        ("head", ctypes.c_byte * object.__basicsize__),
        ("method", ctypes.POINTER(MethodDef)),
    )


@pytest.fixture
def stopped_within():
    """As time-machine does: the function is the same, and does something else."""
    tell = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p)(
        lambda _self, _none: STOPPED_S * 10**9
    )
    method = BuiltIn.from_address(id(time.time_ns)).method.contents
    before, method.target = method.target, ctypes.cast(tell, ctypes.c_void_p).value
    yield
    method.target = before


@pytest.mark.parametrize("way", ["stopped", "stopped_within"])
def test_records_are_of_the_time_at_which_it_was_stopped(way, request):
    request.getfixturevalue(way)
    assert time.time_ns() == STOPPED_S * 10**9
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        with Producer(bootstrap_servers=broker.bootstrap) as producer:
            producer.send("t", b"v").get(10)
            begun = producer.send("t", b"v"), producer.send("t", b"v", key=b"k")
            assert {one.get(10).timestamp for one in begun} == {STOPPED_S * 1000}


@pytest.fixture
def wall_stopped(monkeypatch):
    monkeypatch.setattr(time, "time_ns", lambda: STOPPED_S * 10**9)  # loops need the other clock


@pytest.mark.parametrize("way", ["wall_stopped", "stopped_within"])
def test_so_are_those_that_a_loop_sends(way, request):
    request.getfixturevalue(way)

    async def main(broker):
        async with AsyncProducer(bootstrap_servers=broker.bootstrap) as producer:
            await producer.send_and_wait("t", b"v")
            begun = [await producer.send("t", b"v") for _ in range(3)]
            return {(await one).timestamp for one in begun}

    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        assert asyncio.run(main(broker)) == {STOPPED_S * 1000}


@pytest.mark.parametrize("now_ms", [-1, -2, -3])
def test_there_are_no_records_of_a_time_before_1970(monkeypatch, now_ms):
    async def main(broker):
        async with AsyncProducer(bootstrap_servers=broker.bootstrap) as producer:
            await producer.send_and_wait("t", b"v", timestamp_ms=5)
            await producer.send("t", b"v", timestamp_ms=5)
            with pytest.raises(errors.IllegalArgumentError, match=f"timestamp_ms={now_ms}"):
                await producer.send("t", b"v")

    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        monkeypatch.setattr(time, "time_ns", lambda: now_ms * 1_000_000)
        asyncio.run(main(broker))
        with Producer(bootstrap_servers=broker.bootstrap) as producer:
            producer.send("t", b"v", timestamp_ms=5).get(10)
            producer.send("t", b"v", timestamp_ms=5)
            with pytest.raises(errors.IllegalArgumentError, match=f"timestamp_ms={now_ms}"):
                producer.send("t", b"v")


def test_confluents_own_waits_end(stopped):
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        place = {"bootstrap.servers": broker.bootstrap}
        producer = ConfluentProducer(place)
        producer.produce("t", b"v")
        assert producer.flush(10) == 0
        assert producer.poll(0.1) == 0
        broker.pause(1)
        producer.produce("t", b"w")
        assert producer.flush(0.1) == 1
        broker.resume(1)
        assert producer.flush(10) == 0
        assert AdminClient(place).poll(0.1) == 0
        share = ShareConsumer(place | {"group.id": "g"})
        share.subscribe(["t"])
        assert len(share.poll(0.1)) == 0
        share.close()
