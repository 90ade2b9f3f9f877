"""AsyncConsumer's life: beginning and end, cancellation, other loops, outages, garbage."""

import gc
import random
import threading
import time
import warnings

import anyloop
import pytest
from anyloop import ASYNCIO, EACH_LOOP
from async_consumers import Seen, consumer, fill, run, ticking
from descriptors import descriptors, wait_for_descriptors

from kcore import AsyncConsumer, TopicPartition, errors
from kcore.embedded import EmbeddedBroker
from kcore.events import HeartbeatAnswered as Beat

pytestmark = EACH_LOOP

PARTITIONS, EACH = 2, 300
ALL = PARTITIONS * EACH
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture(scope="module")
def broker(each_loop):
    with EmbeddedBroker() as embedded:
        fill(embedded, "t", PARTITIONS, EACH)
        yield embedded


# Beginning and end --------------------------------------------------------------------------------


def test_before_the_start(broker):
    async def main():
        reader = consumer(broker, "t", group_id="early")
        for call in (reader.getone(), reader.getmany(), reader.commit(), reader.position(T0)):
            with pytest.raises(errors.IllegalStateError, match="not started"):
                await call
        reader.subscribe(["t"])
        assert reader.assignment() == set()
        await reader.start()
        with pytest.raises(errors.IllegalStateError, match="already"):
            await reader.start()
        assert reader.assignment() == {T0, T1}
        await reader.stop()
        await reader.stop()

    run(main())


def test_what_comes_after_the_start_is_read_of_a_topic_that_it_has_made():
    async def main(broker):
        async with consumer(broker, "made", auto_offset_reset="latest") as reader:
            assert broker.topics() == {"made": 1}
            broker.produce("made", [(None, b"new")])
            assert (await reader.getone()).value == b"new"

    with EmbeddedBroker() as broker:
        run(main(broker))


@pytest.mark.parametrize("group", [None, "latest"])
def test_what_comes_after_the_start_is_read(group):
    """With `latest`, too: the end of the log is known when `start` returns."""

    async def main(broker):
        broker.delay("ListOffsets", 200)
        async with consumer(broker, "t", group=group, auto_offset_reset="latest") as reader:
            broker.produce("t", [(None, b"new")], partition=1)
            record = await reader.getone()
            assert (record.partition, record.offset, record.value) == (1, 0, b"new")

    with EmbeddedBroker() as broker:
        broker.create_topic("t", 2)
        run(main(broker))


def test_a_start_does_not_wait_for_what_cannot_be_known():
    async def main(broker):
        async with consumer(broker, "t", group="none", auto_offset_reset="none") as reader:
            with pytest.raises(errors.NoOffsetForPartitionError):
                await reader.getone()

    with EmbeddedBroker() as broker:
        broker.create_topic("t", 2)
        run(main(broker))


def test_a_block_leaves_alone_what_somebody_else_has_started(broker):
    async def main():
        async with consumer(broker, "t") as reader:
            with pytest.raises(errors.IllegalStateError, match="already"):
                async with reader:
                    pass
            assert await reader.getone()

    run(main())


def test_after_the_end(broker):
    async def main():
        reader = consumer(broker, "t", group_id="late")
        await reader.start()
        await reader.stop()
        for call in (reader.getone(), reader.getmany(), reader.commit(), reader.start()):
            with pytest.raises(errors.ConsumerStoppedError):
                await call
        with pytest.raises(errors.ConsumerStoppedError):
            reader.subscribe(["t"])
        with pytest.raises(errors.ConsumerStoppedError):
            aiter(reader)

    run(main())


def test_nothing_to_read(broker):
    async def main():
        async with consumer(broker) as reader:
            with pytest.raises(errors.IllegalStateError, match="nothing is subscribed"):
                await reader.getone()

    run(main())


def test_never_started_it_is_stopped_in_silence(broker):
    before = descriptors()
    reader = consumer(broker, "t")
    anyloop.run(reader.stop())
    wait_for_descriptors(before)
    reader = consumer(broker, "t")
    del reader
    gc.collect()
    wait_for_descriptors(before)


def test_nobody_there_and_then_somebody():
    with EmbeddedBroker() as broker:
        fill(broker, "t", 1, 3)

        async def main():
            broker.kill(1)
            reader = consumer(broker, "t", bootstrap_timeout_ms=300, reconnect_backoff_max_ms=100)
            with pytest.raises(errors.NoBrokersAvailable):
                await reader.start()
            broker.revive(1)
            while True:
                try:
                    await reader.start()
                    break
                except errors.KafkaConnectionError:
                    pass
            assert (await reader.getone()).offset == 0
            await reader.stop()

        run(main())


def test_a_start_that_fails_in_a_with_leaves_nothing():
    before = descriptors()

    async def main():
        reader = AsyncConsumer("t", bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=100)
        with pytest.raises(errors.NoBrokersAvailable):
            async with reader:
                pass

    run(main())
    wait_for_descriptors(before)


def test_stop_ends_whoever_waits(broker):
    async def main():
        reader = consumer(broker)
        await reader.start()
        reader.assign([T0])
        reader.seek(T0, EACH)

        async def loop():
            return [record async for record in reader]

        waits = [
            anyloop.create_task(call)
            for call in (reader.getone(), reader.getmany(timeout_ms=60_000), loop())
        ]
        await anyloop.sleep(0.05)
        await reader.stop()
        one, many, looped = await anyloop.gather(*waits, return_exceptions=True)
        assert isinstance(one, errors.ConsumerStoppedError)
        assert isinstance(many, errors.ConsumerStoppedError)
        assert looped == []

    run(main())


def test_a_stop_that_is_cancelled_closes_all_the_same(broker):
    before = descriptors()

    async def main():
        reader = consumer(broker, "t", group_id="cancelled-stop")
        await reader.start()
        broker.delay("LeaveGroup", 5_000)
        task = anyloop.create_task(reader.stop())
        await anyloop.sleep(0.05)
        task.cancel()
        with pytest.raises(anyloop.CancelledError):
            await task
        with pytest.raises(errors.ConsumerStoppedError):
            await reader.getone()
        broker.no_mishaps()

    run(main())
    wait_for_descriptors(before)


def test_a_start_that_is_cancelled_anywhere(broker):
    before = descriptors()

    async def main():
        started = 0
        for turns in range(60):
            reader = consumer(broker, "t", group_id="cancelled-start")
            task = anyloop.create_task(reader.start())
            await anyloop.sleep(turns / 3_000)
            for _ in range(turns % 4):
                await anyloop.sleep(0)
            task.cancel()
            await anyloop.wait([task])
            started += not task.cancelled()
            await reader.stop()
        assert started < 60

    run(main())
    wait_for_descriptors(before)


def test_of_two_starts_at_once_the_second_is_refused(broker):
    async def main():
        reader = consumer(broker, "t", group_id="two-starts")
        found = await anyloop.gather(reader.start(), reader.start(), return_exceptions=True)
        assert None in found  # trio begins tasks in any order
        found.remove(None)
        assert isinstance(found[0], errors.IllegalStateError)
        assert reader.assignment() == {T0, T1}
        await reader.stop()

    run(main())


def test_a_start_that_was_cancelled_while_it_waited_for_partitions_can_be_made_again(broker):
    async def main():
        broker.delay("JoinGroup", 5_000)
        reader = consumer(broker, "t", group_id="start-again")
        starting = anyloop.create_task(reader.start())
        while broker.mishaps_to_come:
            await anyloop.sleep(0.005)
        starting.cancel()
        with pytest.raises(anyloop.CancelledError):
            await starting
        again = anyloop.create_task(reader.start())
        await anyloop.sleep(0)
        with pytest.raises(errors.IllegalStateError, match="already"):
            await reader.start()
        broker.let_time_pass(5_000)
        await again
        assert reader.assignment() == {T0, T1}
        await reader.stop()

    run(main())


def test_a_start_is_told_of_a_stop_while_it_waits_for_partitions(broker):
    async def main():
        broker.delay("JoinGroup", 5_000)
        reader = consumer(broker, "t", group_id="stopped-start", request_timeout_ms=1_000)
        starting = anyloop.create_task(reader.start())
        while broker.mishaps_to_come:
            await anyloop.sleep(0.005)
        await reader.stop()
        with pytest.raises(errors.ConsumerStoppedError):
            await starting

    run(main())


# Cancellation -------------------------------------------------------------------------------------


def one_of(reader):
    return reader.getone(random.choice([T0, T1]))


CALLS = {
    "getone": AsyncConsumer.getone,
    "getone-of": one_of,
    "anext": anext,
    "getmany": lambda reader: reader.getmany(timeout_ms=1_000, max_records=3),
    "getmany-now": lambda reader: reader.getmany(max_records=3),
}


@pytest.mark.parametrize("name", CALLS)
def test_cancelled_anywhere_it_loses_nothing_and_doubles_nothing(broker, name, each_loop):
    """Every number of turns of the loop after which the call may be broken off."""

    async def main():
        seen, cancelled, turns = Seen(), 0, 0
        broker.delay("Fetch", 20)  # so that the first calls have something to wait for
        async with consumer(broker, "t", group_id=f"cancel-{name}") as reader:

            async def call():
                return await CALLS[name](reader)

            while seen.total() < ALL:
                task = anyloop.create_task(call())
                for _ in range(turns % 7):
                    await anyloop.sleep(0)
                turns += 1
                if turns % 50 == 0:
                    await anyloop.sleep(0.002)
                task.cancel()
                try:
                    found = await task
                except anyloop.CancelledError:
                    cancelled += 1
                    if turns > 200 and not seen.total():
                        await anyloop.sleep(0.01)
                    if name == "getone-of" and turns % 3 == 0:
                        for tp, records in (await reader.getmany(max_records=1)).items():
                            seen.take_all({tp: records})
                    continue
                seen.take_all(found if isinstance(found, dict) else {T0: [found]})
        seen.check(PARTITIONS, EACH)
        assert cancelled > (20 if each_loop != "trio" else 0)  # trio lets whoever need not wait

    run(main())


def test_wait_for_around_a_read(broker):
    async def main():
        seen = Seen()
        async with consumer(broker, "t") as reader:
            while seen.total() < ALL:
                try:
                    seen.take(await anyloop.wait_for(reader.getone(), 0.0005))
                except TimeoutError:
                    pass
        seen.check(PARTITIONS, EACH)

    run(main())


def test_calls_with_hardly_any_time_get_on(broker):
    """Each is cancelled after one turn of the loop: it still takes what is there."""

    async def main():
        seen = Seen()
        async with consumer(broker, "t") as reader:
            while seen.total() < ALL:
                task = anyloop.create_task(reader.getmany(timeout_ms=1_000, max_records=50))
                await anyloop.sleep(0)
                time.sleep(0.005)  # longer than a loop may be kept from its turn
                task.cancel()
                await anyloop.wait([task])
                if not task.cancelled():
                    seen.take_all(task.result())
        seen.check(PARTITIONS, EACH)

    run(main())


def test_a_cancelled_commit_harms_nothing(broker):
    async def main():
        async with consumer(broker, "t", group_id="cancel-commit") as reader:
            for at in range(1, 30):
                task = anyloop.create_task(reader.commit({T0: at}))
                for _ in range(at % 6):
                    await anyloop.sleep(0)
                task.cancel()
                await anyloop.wait([task])
            await reader.commit({T0: 99})
            assert await reader.committed(T0) == 99

    run(main())


# Other places -------------------------------------------------------------------------------------


@ASYNCIO
def test_another_loop_or_thread_is_refused(broker):
    reader = consumer(broker, "t", group_id="places")
    loop = anyloop.new_event_loop()
    loop.run_until_complete(reader.start())
    assert loop.run_until_complete(reader.getone()).value
    for call in (reader.getone, reader.getmany, reader.commit, reader.stop):
        with pytest.raises(errors.ConcurrentUseError, match="event loop"):
            anyloop.run(call())
    reader.pause(T0)  # between two runs of its loop, in the same thread
    refused = []

    def elsewhere():
        for call in (lambda: reader.resume(T0), lambda: anyloop.run(reader.getone())):
            try:
                call()
            except errors.ConcurrentUseError as error:
                refused.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(refused) == 2
    loop.run_until_complete(reader.stop())
    loop.close()


@ASYNCIO
def test_its_loop_is_closed(broker):
    before = descriptors()
    reader = consumer(broker, "t", group_id="closed-loop")
    loop = anyloop.new_event_loop()
    loop.run_until_complete(reader.start())
    loop.close()
    with pytest.raises(errors.ConcurrentUseError, match="closed"):
        reader.pause(T0)
    with pytest.raises(errors.ConcurrentUseError, match="closed"):
        anyloop.run(reader.getone())
    anyloop.run(reader.stop())
    wait_for_descriptors(before)


@ASYNCIO
def test_another_loop_than_the_one_given(broker):
    other = anyloop.new_event_loop()

    async def main():
        reader = consumer(broker, "t", loop=other)
        with pytest.raises(errors.ConcurrentUseError):
            await reader.start()

    run(main())
    other.close()


# Garbage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", [None, "garbage"])
def test_dropped_without_stop_it_warns_and_frees_its_sockets(broker, group):
    before = descriptors()

    async def main():
        reader = consumer(broker, "t", group_id=group)
        await reader.start()
        await reader.getone()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            del reader
            gc.collect()
        assert [str(one.message)[-17:] for one in said] == ["was never stopped"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await anyloop.sleep(0.05)
        assert anyloop.watched() == 0

    run(main())
    wait_for_descriptors(before)


def test_dropped_in_another_thread(broker):
    async def main():
        readers = [consumer(broker, "t")]
        await readers[0].start()
        fds = len(descriptors())
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            await anyloop.to_thread(readers.clear)
            gc.collect()
        assert [one.category for one in said] == [ResourceWarning]
        await anyloop.sleep(0.05)
        assert len(descriptors()) < fds

    run(main())


# Outages ------------------------------------------------------------------------------------------


def test_a_broker_goes_and_comes_back():
    with EmbeddedBroker(nodes=2) as cluster:
        fill(cluster, "t", PARTITIONS, EACH)

        async def main():
            seen = Seen()
            async with consumer(cluster, "t", group_id="outage") as reader:
                while seen.total() < ALL // 2:
                    seen.take_all(await reader.getmany(timeout_ms=100, max_records=20))
                for node in (1, 2):
                    await anyloop.to_thread(cluster.kill, node)
                seen.take_all(await reader.getmany(timeout_ms=200))
                for node in (1, 2):
                    await anyloop.to_thread(cluster.revive, node)
                while seen.total() < ALL:
                    seen.take_all(await reader.getmany(timeout_ms=100))
                seen.check(PARTITIONS, EACH)
                await reader.commit()

        run(main())


def test_heartbeats_go_on_while_a_task_is_busy_elsewhere(broker):
    async def main():
        async with consumer(broker, "t", group_id="beats", heartbeat_interval_ms=50) as reader:
            await reader.getone()
            beats = []
            reader.observe(lambda event: beats.append(event) if type(event) is Beat else None)
            await anyloop.sleep(0.5)
            assert len(beats) >= 3
            reader.observe(None)

    run(main())


# Names --------------------------------------------------------------------------------------------


def test_names_are_resolved_beside_the_loop(broker):
    port = broker.bootstrap.rpartition(":")[2]
    asked = []

    async def main():
        loop = anyloop.get_running_loop()
        resolve = loop.getaddrinfo

        async def slow(host, *args, **more):
            asked.append(host)
            await anyloop.sleep(0.2)
            return await resolve("127.0.0.1", *args, **more)

        loop.getaddrinfo = slow
        options = {"bootstrap_servers": f"kafka.example:{port}", "auto_offset_reset": "earliest"}
        async with ticking() as turns, AsyncConsumer("t", **options) as reader:
            assert turns[0] > 100
            assert await reader.getone()

    run(main())
    assert asked == ["kafka.example"]


def test_a_name_that_there_is_not():
    async def main():
        loop = anyloop.get_running_loop()

        async def no_such_name(*_args, **_more):
            await anyloop.sleep(0)
            raise OSError("no such name")

        loop.getaddrinfo = no_such_name
        reader = AsyncConsumer("t", bootstrap_servers="nowhere:9092", bootstrap_timeout_ms=200)
        with pytest.raises(errors.NoBrokersAvailable, match="no such name"):
            async with reader:
                pass

    run(main())


@pytest.mark.slow
def test_a_thousand_on_one_loop(broker):
    """Groups of their own, so that each has its coordinator's link and its heartbeats."""

    async def main():
        quiet = {"heartbeat_interval_ms": 3_000, "fetch_max_wait_ms": 500}
        readers = [consumer(broker, "t", group_id=f"crowd-{n}", **quiet) for n in range(1_000)]
        for start in range(0, 1_000, 50):
            await anyloop.gather(*(reader.start() for reader in readers[start : start + 50]))
        first = await anyloop.gather(*(reader.getone(T0) for reader in readers))
        assert {record.offset for record in first} == {0}
        await anyloop.gather(*(reader.stop() for reader in readers))

    run(main(), limit_s=100)  # a core is busy for 25 s
