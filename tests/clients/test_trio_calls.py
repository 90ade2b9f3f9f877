"""What trio's system tasks call, from which nothing may escape; and the futures that trio's tasks
await.
"""

import pytest
import trio
from async_consumers import consumer, fill
from async_producers import producer as make
from descriptors import descriptors, wait_for_descriptors

from kcore import AsyncProducer, TopicPartition, errors
from kcore.embedded import EmbeddedBroker
from kcore.events import HeartbeatAnswered as Beat

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


# What system tasks call ---------------------------------------------------------------------------


class Rude(BaseException):
    """What nobody catches."""


def test_whatever_a_listener_raises_the_program_goes_on(broker, caplog):
    class Listener:
        async def on_partitions_assigned(self, assigned):
            raise Rude

        async def on_partitions_revoked(self, revoked):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.lowlevel.checkpoint)
                raise KeyError("in a nursery")

    async def main():
        reader = consumer(broker, group_id="rude")
        reader.subscribe(["t"], listener=Listener())
        async with reader:
            assert await reader.getone()
            reader.unsubscribe()

    run(main)
    assert "Rude" in caplog.text


def test_whatever_a_callback_raises_the_program_goes_on(broker, caplog):
    told = []

    def auto_committed(*_):
        told.append(1)
        if len(told) == 1:
            raise Rude

    async def main():
        async with consumer(
            broker,
            "t",
            group_id="rude-commits",
            enable_auto_commit=True,
            auto_commit_interval_ms=20,
            default_offset_commit_callback=auto_committed,
        ) as reader:
            with trio.move_on_after(10):
                while len(told) < 3:
                    await reader.getmany(timeout_ms=10, max_records=1)
            assert len(told) >= 3

    run(main)
    assert "Rude" in caplog.text


def test_a_listener_at_work_is_broken_off_by_stop(broker):
    ended = []

    class Listener:
        async def on_partitions_assigned(self, assigned):
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(trio.sleep_forever)
            finally:
                ended.append("broken off")

        async def on_partitions_revoked(self, revoked):
            pass

    async def main():
        reader = consumer(broker, group_id="broken-off", request_timeout_ms=300)
        reader.subscribe(["t"], listener=Listener())
        with trio.move_on_after(0.2):
            await reader.start()
        await reader.stop()
        with trio.fail_after(5):
            while not ended:
                await trio.sleep(0.01)

    run(main)


def test_heartbeats_go_on_while_a_task_sleeps(broker):
    beats = []

    async def main():
        async with consumer(broker, "t", group_id="beats", heartbeat_interval_ms=20) as reader:
            await reader.getone()
            reader._engine.observer = lambda event: (
                beats.append(event) if type(event) is Beat else 0
            )
            await trio.sleep(0.3)

    run(main)
    assert len(beats) >= 5


# Futures ------------------------------------------------------------------------------------------


def test_a_record_whose_future_is_awaited_does_not_linger(broker, monkeypatch):
    monkeypatch.setattr("kcore.producer.config.LINGER_MS", 60_000)

    async def main():
        async with make(broker, linger_ms=None, delivery_timeout_ms=120_000) as producer:
            for offset in range(2):
                with trio.fail_after(20):
                    assert (await (await producer.send("out", b"v"))).offset == offset

    run(main)


def test_the_future_of_a_record(broker):
    async def main():
        async with make(broker, linger_ms=20) as producer:
            future = await producer.send("out", b"v")
            called, found = [], []
            future.add_done_callback(called.append)
            future.add_done_callback(found.append)
            assert future.remove_done_callback(found.append) == 1
            assert not future.done()
            assert not future.cancelled()
            for ask in (future.result, future.exception):
                with pytest.raises(errors.IllegalStateError):
                    ask()

            async def wait():
                found.append((await future).offset)

            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(wait)
                with trio.move_on_after(0):  # who goes away takes nothing with it
                    await future
            assert found == [future.result().offset] * 3
            assert future.done()
            assert future.exception() is None
            await trio.sleep(0)
            await trio.sleep(0)
            assert called == [future]
            future.add_done_callback(called.append)
            future.add_done_callback(lambda _: 1 / 0)  # logged
            while len(called) < 2:
                await trio.sleep(0)

    run(main)


def test_send_waits_for_at_most_max_block_ms(broker):
    async def main():
        async with make(broker, max_block_ms=100, allow_auto_create_topics=False) as producer:
            with pytest.raises(errors.KafkaTimeoutError, match="nobody-made-this"):
                await producer.send("nobody-made-this", b"v")
            with trio.move_on_after(0.02) as scope:
                await producer.send("nor-this", b"v")
            assert scope.cancelled_caught
            assert (await producer.send_and_wait("out", b"v")).offset >= 0

    run(main)


def test_a_send_that_waits_for_room_and_is_cancelled_has_taken_nothing(broker):
    broker.create_topic("room", 1)

    async def main():
        async with make(broker, buffer_memory=4_000, batch_size=500) as producer:
            await producer.send_and_wait("room", b"first")
            broker.delay("Produce", 300, times=1)
            await producer.send("room", bytes(3_000))
            for _ in range(5):
                with trio.move_on_after(0.01) as scope:
                    await producer.send("room", bytes(3_000))
                assert scope.cancelled_caught
            assert producer._door.in_line == 0
            await producer.send_and_wait("room", b"last")
        assert broker.end_offsets("room") == [3]

    run(main)


def test_many_clients_in_one_run(broker):
    before = descriptors()

    async def main():
        async def one(number):
            async with AsyncProducer(bootstrap_servers=broker.bootstrap) as producer:
                await producer.send_and_wait("out", b"%d" % number)

        async with trio.open_nursery() as nursery:
            for number in range(30):
                nursery.start_soon(one, number)

    run(main)
    wait_for_descriptors(before)
