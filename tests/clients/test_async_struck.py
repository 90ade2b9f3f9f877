"""What raises in a turn of the event loop, in the middle of anything: a signal handler, mostly.

Nothing waits for ever, nothing is lost, and the error is seen.
"""

import asyncio
import logging
from contextlib import suppress
from itertools import count

import pytest
from async_consumers import consumer, run
from async_producers import producer as make
from async_producers import read, topic_of
from leftovers import STRUCK
from strikes import Strike

from kcore import AsyncConsumer, errors
from kcore.clients.looping import LoopGuard
from kcore.embedded import EmbeddedBroker

pytestmark = STRUCK

QUICK = {"reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 1, "retry_backoff_ms": 1}


class StruckError(Exception):
    """Of a signal handler of the user's."""


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as embedded:
        yield embedded


@pytest.fixture
def topic(broker, request):
    return topic_of(broker, request)


def struck_at(pump, places, error):
    """Have the pump struck, in each third of its steps at one of these places; how often it was."""
    step, struck, turns = pump.step, [], count()

    def stepping(*given):
        if next(turns) % 3 or not places:
            return step(*given)
        with Strike(places.pop(), error) as strike:
            try:
                return step(*given)
            finally:
                struck.append(strike.left <= 0)

    pump.step = stepping
    return struck


def test_a_producer_goes_on(broker, topic, caplog):
    async def main():
        async with make(broker, **QUICK) as producer:
            await producer.send_and_wait(topic, b"first")
            places = list(range(1, 240, 3))
            struck = struck_at(producer._courier._pump, places, StruckError)
            sent = 1
            while places:
                futures = [await producer.send(topic, b"v") for _ in range(3)]
                sent += len(futures)
                async with asyncio.timeout(10):
                    await asyncio.gather(*futures)
            await producer.flush()
            assert sum(struck) > 20
        found = await read(broker, topic)
        assert len(found[0]) == sent

    with caplog.at_level(logging.ERROR, "kcore.producer"):
        run(main())
    assert "goes on" in caplog.text
    assert "StruckError" in caplog.text


def test_a_producer_whose_loop_is_ended_goes_on_with_the_loop(broker, topic):
    """KeyboardInterrupt comes out of the loop, which can be run again."""
    loop = asyncio.new_event_loop()

    def ended(awaitable):
        while True:
            task = asyncio.ensure_future(awaitable, loop=loop)
            with suppress(KeyboardInterrupt):
                return loop.run_until_complete(asyncio.wait_for(task, 10))
            awaitable = task

    try:
        producer = make(broker, **QUICK)
        loop.run_until_complete(producer.start())
        struck = struck_at(producer._courier._pump, [40, 25, 10, 3], KeyboardInterrupt)
        future = ended(producer.send(topic, b"v"))
        assert ended(future).offset == 0
        ended(producer.flush())
        ended(producer.stop())
        assert sum(struck) >= 1
    finally:
        loop.close()


@pytest.mark.parametrize("api", ["send", "send_and_wait"])
def test_what_the_users_own_functions_raise_is_for_who_sends(broker, topic, api):
    def refuse(*_):
        raise StruckError("mine")

    async def main():
        for option in ("value_serializer", "key_serializer", "partitioner"):
            async with make(broker, **{option: refuse}) as producer:
                with pytest.raises((StruckError, errors.KafkaError)) as raised:
                    await getattr(producer, api)(topic, b"v", key=b"k")
                assert StruckError in (type(raised.value), type(raised.value.__cause__))
                async with asyncio.timeout(10):
                    await producer.flush()
                    assert await producer.partitions_for(topic) == {0}

    run(main())


def test_a_done_callback_that_raises_is_the_loops(broker, topic):
    async def main():
        said = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: said.append(told))
        async with make(broker) as producer:
            future = await producer.send(topic, b"v")
            future.add_done_callback(lambda _: 1 / 0)
            await future
            assert (await producer.send_and_wait(topic, b"v")).offset == 1
        assert [type(told["exception"]) for told in said] == [ZeroDivisionError]

    run(main())


@pytest.mark.parametrize("error", [StruckError, errors.CorruptRecordError])
def test_a_turn_that_is_struck_is_made_again_and_said_by_the_next_call(broker, error):
    """Nothing else may bring another one."""

    async def main():
        async with consumer(broker) as reader:
            driver, guard = reader._driver, reader._engine.guard
            step, begin_anew, turns, mended = driver._pump.step, guard._mend, [], []
            guard.mends(lambda: mended.append(len(turns)) or begin_anew())

            def stepping(*given):
                turns.append(given)
                if len(turns) == 1:
                    raise error("mine")
                return step(*given)

            driver._pump.step = stepping
            driver.turn_soon()
            await asyncio.sleep(0.05)
            assert len(turns) > 1
            assert mended == ([1] if error is StruckError else [])  # an error of its own is none
            reader.assign([("t", 0)])
            with pytest.raises(errors.KafkaError, match="mine"):
                await reader.getmany()
            await reader.getmany()

    run(main())


def test_a_call_that_is_struck_has_the_next_one_begin_anew():
    guard, mended = LoopGuard(), []
    guard.mends(lambda: mended.append(guard.struck))
    for error, struck in ((KeyboardInterrupt, 1), (StruckError, 2), (errors.KafkaError, 2)):
        with pytest.raises(error), guard:
            raise error
        for _ in range(2):
            with guard:
                assert len(mended) == struck
    assert mended == [True, True]


def test_a_consumer_goes_on(broker, topic):
    async def main():
        async with make(broker) as producer:
            for number in range(0, 400, 5):  # a batch each, so that they come in many parts
                sent = [await producer.send(topic, b"%d" % n) for n in range(number, number + 5)]
                await asyncio.gather(*sent)
        options = {"auto_offset_reset": "earliest", "max_poll_records": 5} | QUICK
        options |= {"max_partition_fetch_bytes": 100, "fetch_max_wait_ms": 5}
        consumer = AsyncConsumer(topic, bootstrap_servers=broker.bootstrap, **options)
        async with consumer:
            places = list(range(1, 200, 8))
            struck = struck_at(consumer._engine.pump._pump, places, StruckError)
            seen = []
            async with asyncio.timeout(20):
                while len(seen) < 400:
                    with suppress(errors.KafkaError):  # who was struck is told
                        for records in (await consumer.getmany(timeout_ms=500)).values():
                            seen += [record.offset for record in records]
            assert seen == list(range(400))
            assert sum(struck) >= 5

    run(main())


def test_a_member_whose_alarm_is_struck_lives_on(broker, topic):
    """No answer of a fetch comes meanwhile that would make a turn in its place."""

    async def main():
        options = {"heartbeat_interval_ms": 20, "session_timeout_ms": 6_000} | QUICK
        options |= {"group_id": topic, "fetch_max_wait_ms": 20_000}
        consumer = AsyncConsumer(topic, bootstrap_servers=broker.bootstrap, **options)
        driver, heard, rung = consumer._driver, [], []
        ring, places = driver._ring, list(range(14, 0, -1))

        def struck_ring():
            if not places:
                return ring()
            with Strike(places.pop(), StruckError) as strike:
                try:
                    return ring()
                finally:
                    heard.clear()
                    rung.append(strike.left <= 0)

        async with consumer, asyncio.timeout(20):
            while not consumer.assignment():
                await consumer.getmany(timeout_ms=20)
            consumer._engine.observer = lambda event: heard.append(type(event).__name__)
            driver._ring = struck_ring
            while places:
                left = len(places)
                while len(places) == left or "HeartbeatAnswered" not in heard:
                    await asyncio.sleep(0.005)
                    if left == 14:  # nothing of ours has run: it is the next call that looks
                        with suppress(errors.KafkaError):
                            await consumer.getmany()
            assert sum(rung) >= 10
            del driver._ring

    run(main())
