"""What is trio's own: scopes that cancel, the end of a run, Ctrl-C, system tasks that nothing may
escape from. What the clients promise on any loop is asked in test_async_*.py, under both.
"""

import asyncio
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest
import trio
from async_consumers import Seen, consumer, fill
from async_producers import producer as make
from descriptors import descriptors, wait_for_descriptors

from kcore import AsyncAdmin, AsyncConsumer, TopicPartition, errors
from kcore.embedded import EmbeddedBroker
from kcore.events import GroupLeft
from kcore.transports import trio_loop

PARTITIONS, EACH = 2, 300
ALL = PARTITIONS * EACH
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as embedded:
        fill(embedded, "t", PARTITIONS, EACH)
        embedded.create_topic("out", 1)
        yield embedded


def run(main, *args):
    """It does not take for ever."""

    async def bounded():
        with trio.fail_after(30):
            return await main(*args)

    return trio.run(bounded)


# Scopes -------------------------------------------------------------------------------------------


def test_cancelled_while_records_come_it_loses_nothing_and_doubles_nothing():
    chance = random.Random(7)
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)

        async def main():
            seen, cancelled = Seen(), 0

            async def write():
                for number in range(150):
                    broker.produce("t", [(None, b"%d" % number)], partition=0)
                    await trio.sleep(0.001)

            async with (
                consumer(broker, "t", fetch_max_wait_ms=10) as reader,
                trio.open_nursery() as nursery,
            ):
                nursery.start_soon(write)
                calls = [reader.getone, reader.__anext__, lambda: reader.getmany(timeout_ms=5)]
                while seen.total() < 150:
                    with trio.move_on_after(chance.uniform(0, 0.004)) as scope:
                        found = await chance.choice(calls)()
                        seen.take_all(found if isinstance(found, dict) else {T0: [found]})
                    cancelled += scope.cancelled_caught
            seen.check(1, 150)
            assert cancelled > 10

        run(main)


def test_a_deadline_around_a_read(broker):
    async def main():
        async with consumer(broker) as reader:
            reader.assign([T0])
            reader.seek(T0, EACH)
            with pytest.raises(trio.TooSlowError):
                with trio.fail_after(0.05):
                    await reader.getone()
            reader.seek(T0, EACH - 1)
            assert (await reader.getone()).offset == EACH - 1

    run(main)


def test_a_member_whose_scope_is_cancelled_leaves_its_group(broker):
    """Nothing may be waited for in there, and yet it does not keep its partitions to itself for a
    session's timeout.
    """

    async def member(started):
        async with consumer(broker, "t", group_id="left") as reader:
            started.set()
            async for _ in reader:
                pass

    async def main():
        for _ in range(3):
            async with trio.open_nursery() as nursery:
                started = trio.Event()
                nursery.start_soon(member, started)
                await started.wait()
                nursery.cancel_scope.cancel()
        async with AsyncAdmin(bootstrap_servers=broker.bootstrap) as admin:
            (found,) = await admin.describe_consumer_groups(["left"])
            assert found["members"] == []

    run(main)


def test_last_words_have_their_time(broker, monkeypatch):
    """Brokers that are silent do not hold a cancelled scope up for ever."""
    monkeypatch.setattr(trio_loop, "LAST_WORDS_S", 0.1)
    before = descriptors()

    async def main():
        with trio.move_on_after(60) as scope:
            async with consumer(broker, "t", group_id="silent") as reader:
                broker.delay("LeaveGroup", 20_000)
                scope.cancel()
                began = time.monotonic()
                await trio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert 0.05 < time.monotonic() - began < 10
        with pytest.raises(errors.ConsumerStoppedError):
            await reader.getone()
        broker.no_mishaps()

    run(main)
    wait_for_descriptors(before)


def test_a_stop_that_is_cancelled_while_it_waits(broker, monkeypatch):
    monkeypatch.setattr(trio_loop, "LAST_WORDS_S", 0.1)

    async def main():
        reader = consumer(broker, "t", group_id="stop-cancelled")
        await reader.start()
        broker.delay("LeaveGroup", 20_000)
        with trio.move_on_after(0.05) as scope:
            await reader.stop()
        assert scope.cancelled_caught
        with pytest.raises(errors.ConsumerStoppedError):
            await reader.getone()
        broker.no_mishaps()

    run(main)


def test_what_was_sent_in_a_scope_that_is_cancelled_is_delivered(broker):
    broker.create_topic("scoped", 1)

    async def main():
        futures = []
        with trio.move_on_after(60) as scope:
            async with make(broker, linger_ms=5_000) as producer:
                futures += [await producer.send("scoped", b"v") for _ in range(10)]
                scope.cancel()
                await trio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert [future.result().offset for future in futures] == [*range(10)]

    run(main)


def test_what_cannot_be_delivered_in_time_is_told(broker, monkeypatch):
    monkeypatch.setattr(trio_loop, "LAST_WORDS_S", 0.1)
    broker.create_topic("scoped-late", 1)

    async def main():
        with trio.move_on_after(60) as scope:
            async with make(broker) as producer:
                await producer.send_and_wait("scoped-late", b"v")
                broker.delay("Produce", 20_000)
                future = await producer.send("scoped-late", b"v")
                scope.cancel()
                await trio.lowlevel.checkpoint()
        with pytest.raises(errors.ProducerClosed):
            await future
        broker.no_mishaps()

    run(main)


def test_a_transaction_whose_scope_is_cancelled_is_aborted(broker):
    broker.create_topic("transacted", 1)

    async def main():
        async with make(broker, transactional_id="scoped") as producer:
            with trio.move_on_after(60) as scope:
                async with producer.transaction():
                    await producer.send("transacted", b"no")
                    scope.cancel()
                    await trio.lowlevel.checkpoint()
            assert scope.cancelled_caught
            async with producer.transaction():  # at once
                await producer.send("transacted", b"yes")
        options = {"isolation_level": "read_committed", "auto_offset_reset": "earliest"}
        async with AsyncConsumer(
            "transacted", bootstrap_servers=broker.bootstrap, **options
        ) as reader:
            assert (await reader.getone()).value == b"yes"

    run(main)


def test_errors_at_the_end_of_a_block_are_no_groups(broker):
    """The end waits in a nursery of its own, which wraps what is raised there."""

    async def main():
        with pytest.raises(KeyError):
            async with consumer(broker, "t", group_id="plain-errors"):
                raise KeyError("k")
        producer = make(broker, transactional_id="plain")
        await producer.start()
        with pytest.raises(KeyError):
            async with producer.transaction():
                raise KeyError("k")
        await producer.stop()

    run(main)


# Ctrl-C -------------------------------------------------------------------------------------------


def test_ctrl_c_ends_a_program_that_reads(broker):
    before = descriptors()
    told = []

    async def main():
        async with consumer(broker, "t", group_id="ctrl-c") as reader:
            reader.seek(T0, EACH)
            reader.seek(T1, EACH)
            reader.observe(lambda event: told.append(type(event)))
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            async for _ in reader:
                pass

    with pytest.raises(KeyboardInterrupt):
        trio.run(main)
    assert GroupLeft in told
    wait_for_descriptors(before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_anywhere_in_a_reading_task(broker):
    """It strikes at random in what the task itself runs: afterwards nothing hangs, and nothing is
    left. One in a hundred strikes a callback of the garbage collector's, and Python goes on.
    """
    before = descriptors()
    for seed in range(10):
        seen = []

        async def main(seen=seen, seed=seed):
            async with consumer(broker, "t", group_id=f"ctrl-{seed}") as reader:
                wait_s = 0.001 * (seed + 1)
                threading.Timer(wait_s, os.kill, (os.getpid(), signal.SIGINT)).start()
                with trio.fail_after(1):
                    while True:
                        seen += (await reader.getmany(timeout_ms=1, max_records=1)).values()

        with pytest.raises((KeyboardInterrupt, trio.TooSlowError)):
            trio.run(main)
    gc.collect()
    wait_for_descriptors(before)


# The end of a run ---------------------------------------------------------------------------------


def test_a_run_that_ends_without_stop(broker):
    """Sockets are closed with the run, later calls say why not, and what is dropped warns."""
    before = descriptors()
    kept = []

    async def main():
        reader = consumer(broker, "t", group_id="run-over")
        await reader.start()
        await reader.getone()
        producer = make(broker, linger_ms=60_000)
        await producer.start()
        admin = AsyncAdmin(bootstrap_servers=broker.bootstrap)
        await admin.start()
        kept.extend([reader, producer, admin, await producer.send("out", b"v")])

    run(main)
    wait_for_descriptors(before)
    reader, producer, admin, future = kept
    assert isinstance(future.exception(), errors.KafkaError)
    with pytest.raises(errors.ConcurrentUseError, match="closed"):
        reader.pause(T0)
    for call in (reader.getone, reader.commit, admin.list_topics):
        with pytest.raises(errors.ConcurrentUseError, match="closed"):
            run(call)
        with pytest.raises(errors.ConcurrentUseError, match="closed"):
            asyncio.run(call())
    with pytest.raises(errors.KafkaError, match="has ended"):
        run(producer.send, "out", b"v")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        kept.clear()
        del reader, producer, admin, future, call
        gc.collect()
    assert [one.category for one in said] == [ResourceWarning] * 3


def test_stopped_after_its_run(broker):
    before = descriptors()
    made = []

    async def main():
        made.append(consumer(broker, "t", group_id="stopped-late"))
        await made[0].start()

    run(main)
    run(made[0].stop)
    with pytest.raises(errors.ConsumerStoppedError):
        run(made[0].getone)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.clear()
        gc.collect()
    wait_for_descriptors(before)


def test_one_run_after_the_other(broker):
    async def main(values):
        async with make(broker) as producer:
            sent = await producer.send_and_wait("out", b"again")
        async with consumer(broker) as reader:
            tp = TopicPartition("out", 0)
            reader.assign([tp])
            reader.seek(tp, sent.offset)
            values.append((await reader.getone()).value)

    values = []
    run(main, values)
    asyncio.run(main(values))
    run(main, values)
    assert values == [b"again"] * 3


def test_a_run_that_fails_has_its_own_error(broker):
    async def main():
        await consumer(broker, "t").start()
        raise KeyError("mine")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(KeyError, match="mine"):
            run(main)
        gc.collect()


# Other places -------------------------------------------------------------------------------------


def test_another_loop_or_thread_is_refused(broker):
    async def main():
        async with consumer(broker, "t", group_id="places") as reader, make(broker) as producer:

            def elsewhere():
                with pytest.raises(errors.ConcurrentUseError, match=r"trio\.from_thread\.run"):
                    reader.pause(T0)
                for call in (reader.getone(), producer.send("out", b"v")):
                    with pytest.raises(errors.ConcurrentUseError, match="event loop"):
                        asyncio.run(call)

            await trio.to_thread.run_sync(elsewhere)

            async def there():
                return await reader.getone()

            def from_there():
                return trio.from_thread.run(there)

            assert (await trio.to_thread.run_sync(from_there)).value

    run(main)


def test_one_that_lives_on_asyncio_is_refused(broker):
    loop = asyncio.new_event_loop()
    reader, producer = consumer(broker, "t"), make(broker)
    for client in (reader, producer):
        loop.run_until_complete(client.start())
    with pytest.raises(errors.ConcurrentUseError, match="event loop"):
        run(reader.getone)
    with pytest.raises(errors.ConcurrentUseError, match="event loop"):
        run(producer.send, "out", b"v")
    for client in (reader, producer):
        loop.run_until_complete(client.stop())
    other = consumer(broker, "t", loop=loop)
    with pytest.raises(errors.ConcurrentUseError, match="given another event loop"):
        run(other.start)
    loop.close()
    run(other.stop)


def test_as_a_guest_of_asyncio(broker):
    """Trio in the thread of asyncio's loop: each task has its own."""

    async def under_trio():
        async with consumer(broker, "t") as reader:
            return (await reader.getone()).value

    async def main():
        over = asyncio.get_running_loop().create_future()
        call = asyncio.get_running_loop().call_soon_threadsafe
        trio.lowlevel.start_guest_run(
            under_trio, run_sync_soon_threadsafe=call, done_callback=over.set_result
        )
        async with consumer(broker, "t") as reader:
            ours = (await reader.getone()).value
        return ours, (await over).unwrap()

    ours, theirs = asyncio.run(main())
    assert ours
    assert theirs


def test_who_runs_asyncio_loads_no_trio():
    program = """
import asyncio, sys, kcore
async def main():
    reader = kcore.AsyncConsumer("t", bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=50)
    try:
        await reader.start()
    except kcore.errors.NoBrokersAvailable:
        pass
    await reader.stop()
asyncio.run(main())
print([name for name in ("trio", "sniffio", "kcore.transports.trio_loop") if name in sys.modules])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
