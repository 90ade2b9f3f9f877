"""AsyncConsumers in groups: who has what, listeners that are coroutines, and who waits for whom."""

import anyloop
import pytest
from anyloop import EACH_LOOP
from async_consumers import Seen, consumer, fill, run

from kcore import (
    AsyncAdmin,
    AsyncConsumer,
    AsyncProducer,
    ConsumerRebalanceListener,
    TopicPartition,
    errors,
)
from kcore.admin import NewTopic
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker

pytestmark = EACH_LOOP

PARTITIONS, EACH = 2, 300
ALL = PARTITIONS * EACH
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture(scope="module")
def broker(each_loop):
    with EmbeddedBroker() as embedded:
        fill(embedded, "t", PARTITIONS, EACH)
        yield embedded


class Listener:
    """Commits what it gives up, by the consumer itself; counts what it is told."""

    def __init__(self, reader=None):
        self.reader = reader
        self.told = []
        self.refused = False

    async def on_partitions_revoked(self, revoked):
        if self.reader is not None and revoked:
            await anyloop.sleep(0.01)
            self.refused = True
            await self.reader.commit()
            self.refused = False
        self.told.append(("revoked", revoked))

    async def on_partitions_assigned(self, assigned):
        await anyloop.sleep(0.01)
        self.told.append(("assigned", assigned))


class PlainListener:
    """The same without a coroutine."""

    def __init__(self):
        self.told = []

    def on_partitions_revoked(self, revoked):
        self.told.append(("revoked", revoked))

    def on_partitions_assigned(self, assigned):
        self.told.append(("assigned", assigned))


def test_a_listener_commits_what_unsubscribe_gives_up(broker):
    async def main():
        async with consumer(broker, group_id="given-up") as reader:
            listener = Listener(reader)
            reader.subscribe(["t"], listener=listener)
            left = ALL
            while left:
                found = await reader.getmany(timeout_ms=5_000)
                assert found
                left -= sum(map(len, found.values()))
            reader.unsubscribe()
            while listener.told[-1] != ("revoked", {T0, T1}):
                await anyloop.sleep(0.005)
            assert not listener.refused
            assert await reader.committed(T0) == await reader.committed(T1) == EACH
            while reader.assignment():
                await anyloop.sleep(0.005)

    run(main())


def test_a_listener_commits_what_unsubscribe_gives_up_while_it_is_at_work(broker):
    class AtWork(Listener):
        async def on_partitions_assigned(self, assigned):
            if self.told:
                self.reader.unsubscribe()
            await super().on_partitions_assigned(assigned)

    async def main():
        options = {"partition_assignment_strategy": "cooperative-sticky"}
        async with consumer(broker, group_id="at-work", **options) as reader:
            listener = AtWork(reader)
            reader.subscribe(["t"], listener=listener)
            left = ALL
            while left:
                left -= sum(map(len, (await reader.getmany(timeout_ms=5_000)).values()))
            reader.enforce_rebalance()
            with pytest.raises(errors.IllegalStateError, match="nothing is subscribed"):
                await reader.getone()
            while len(listener.told) < 3:
                await anyloop.sleep(0.005)
            assert listener.told[-1] == ("revoked", {T0, T1})
            assert not listener.refused
            assert await reader.committed(T0) == await reader.committed(T1) == EACH
            while reader.assignment():
                await anyloop.sleep(0.005)

    run(main())


def test_unsubscribed_while_it_hears_what_goes_a_listener_commits_it(broker):
    class Slow(Listener):
        async def on_partitions_revoked(self, revoked):
            goes.set()
            await anyloop.sleep(0.05)
            await super().on_partitions_revoked(revoked)

    goes = None

    async def main():
        nonlocal goes
        goes = anyloop.Event()
        async with consumer(broker, group_id="hears") as reader:
            listener = Slow(reader)
            reader.subscribe(["t"], listener=listener)
            left = ALL
            while left:
                left -= sum(map(len, (await reader.getmany(timeout_ms=5_000)).values()))
            reader.enforce_rebalance()
            await reader.getmany()
            await goes.wait()
            reader.unsubscribe()
            while len(listener.told) < 2:
                await anyloop.sleep(0.005)
            assert listener.told[-1] == ("revoked", {T0, T1})
            assert await reader.committed(T0) == await reader.committed(T1) == EACH

    run(main())


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_members_come_and_go_and_listeners_commit(broker, strategy):
    async def main():
        seen = Seen()

        async def member(goes_on):
            reader = consumer(
                broker, group_id=f"come-{strategy}", partition_assignment_strategy=strategy
            )
            listener = Listener(reader)
            reader.subscribe(["t"], listener=listener)
            async with reader:
                readers.append(reader)
                while goes_on():
                    seen.take_all(await reader.getmany(timeout_ms=50, max_records=5))
                    await anyloop.sleep(0.002)
            return listener

        def shared():
            """In the middle of a rebalance nobody may commit what goes."""
            generations = {reader.group_metadata().generation_id for reader in readers}
            return len(readers) == 2 and readers[1].assignment() and len(generations) == 1

        def all_read():
            return seen.total() >= ALL and readers[1].assignment() == {T0, T1}

        # The one until the other has its share, the other until it has all and has read it.
        readers = []
        first = anyloop.create_task(member(lambda: not shared()))
        while not readers:
            await anyloop.sleep(0.01)
        second = anyloop.create_task(member(lambda: not all_read()))
        left, other = await anyloop.gather(first, second)
        assert left.told[0][0] == "assigned"
        assert left.told[0][1] == {T0, T1}
        assert {T0, T1} == set().union(*(tps for what, tps in other.told if what == "assigned"))
        if left.refused:  # the next rebalance had begun as it left: its last records come again
            assert len(seen) == ALL
        else:
            assert left.told[-1][0] == "revoked"
            seen.check(PARTITIONS, EACH)

    run(main())


def test_members_started_one_after_the_other_while_nobody_reads(broker):
    """The first one makes room without being asked for records: it has none in hand."""

    async def main():
        listeners = [PlainListener(), Listener(), None]
        readers = []
        for listener in listeners:
            reader = consumer(broker, group_id="one-by-one")
            reader.subscribe(["t"], listener=listener)
            await reader.start()
            readers.append(reader)
        while sum(len(reader.assignment()) for reader in readers) != PARTITIONS:
            await anyloop.sleep(0.01)
        for reader in readers:
            await reader.stop()
        assert listeners[0].told[0] == ("assigned", {T0, T1})

    run(main())


def test_records_in_hand_hold_a_rebalance_up(broker):
    async def main():
        async with consumer(broker, "t", group_id="in-hand") as one:
            await one.getone()
            other = consumer(broker, "t", group_id="in-hand")
            joins = anyloop.create_task(other.start())
            await anyloop.sleep(0.5)
            assert not joins.done()
            assert one.assignment() == {T0, T1}
            while not joins.done():
                await one.getmany(timeout_ms=20)
            await other.stop()

    run(main())


def test_a_read_that_is_cancelled_leaves_the_listener_to_its_work(broker):
    async def main():
        done = []

        class Slow(Listener):
            async def on_partitions_assigned(self, assigned):
                await anyloop.sleep(0.2)
                done.append(assigned)

        reader = consumer(broker, group_id="slow-listener")
        await reader.start()
        reader.subscribe(["t"], listener=Slow())
        while not done:
            with pytest.raises(TimeoutError):
                await anyloop.wait_for(reader.getone(TopicPartition("t", 77)), 0.03)
        assert done == [{T0, T1}]
        await reader.stop()

    run(main())


def test_what_a_listener_raises_comes_out_of_the_next_read(broker):
    async def main():
        class Failing(Listener):
            async def on_partitions_assigned(self, assigned):
                raise ZeroDivisionError

        reader = consumer(broker, group_id="failing-listener")
        await reader.start()
        reader.subscribe(["t"], listener=Failing())
        with pytest.raises(errors.KafkaError, match="listener") as caught:
            await reader.getone()
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert (await reader.getone()).offset == 0
        await reader.stop()

    run(main())


def test_a_listener_that_would_wait_for_a_record_is_told_that_it_cannot(broker):
    async def main():
        refused = []

        class Reading(Listener):
            async def on_partitions_assigned(self, assigned):
                for read in (reader.getone, reader.__anext__):
                    with pytest.raises(errors.IllegalStateError, match="rebalance listener"):
                        await read()
                    refused.append(read)
                assert await reader.getmany(timeout_ms=10) == {}

        reader = consumer(broker, group_id="reading-listener")
        reader.subscribe(["t"], listener=Reading())
        await reader.start()
        assert len(refused) == 2
        assert await reader.getone()
        await reader.stop()

    run(main())


def test_a_listener_may_stop_the_consumer(broker):
    async def main():
        reader = consumer(broker, group_id="stopping-listener")

        class Stopping(Listener):
            async def on_partitions_assigned(self, assigned):
                await reader.stop()

        await reader.start()
        reader.subscribe(["t"], listener=Stopping())
        assert [record async for record in reader] == []

    run(main())


def test_a_stop_that_is_cancelled_anywhere_leaves_the_group(broker):
    async def main():
        admin = AsyncAdmin(bootstrap_servers=broker.bootstrap)
        await admin.start()
        for turns in range(1, 6):
            group = f"hurried-{turns}"
            reader = consumer(broker, "t", group_id=group, enable_auto_commit=True)
            await reader.start()
            await reader.getone()
            task = anyloop.create_task(reader.stop())
            for _ in range(turns):
                await anyloop.sleep(0)
            task.cancel()
            await anyloop.wait([task])
            assert turns > 2 or task.cancelled()
            while (await admin.describe_groups([group]))[group]["group_state"] != "Empty":
                await anyloop.sleep(0.01)
        await admin.close()

    run(main())


def test_unsubscribed_its_listener_is_told(broker):
    async def main():
        reader = consumer(broker, group_id="unsubscribes")
        listener = Listener()
        reader.subscribe(["t"], listener=listener)
        async with reader:
            reader.unsubscribe()
            while len(listener.told) < 2:
                await anyloop.sleep(0.01)
            assert listener.told[1] == ("revoked", {T0, T1})
            other = Listener()
            reader.subscribe(pattern="t.*", listener=other)
            await reader.getone()
            assert other.told == [("assigned", {T0, T1})]
            assert reader.subscription() == {"t"}

    run(main())


@pytest.mark.parametrize("group", [None, "made-meanwhile"])
def test_what_is_written_when_it_has_started_is_read_of_a_topic_that_was_being_made(group):
    async def main(where):
        reader = AsyncConsumer("late", bootstrap_servers=where, group_id=group)
        admin = AsyncAdmin(bootstrap_servers=where)
        await admin.start()

        async def make():
            await anyloop.sleep(0.3)
            await admin.create_topics([NewTopic("late", 1, 1)])

        making = anyloop.create_task(make())
        await reader.start()
        assert reader.assignment() == {TopicPartition("late", 0)}
        await making
        async with AsyncProducer(bootstrap_servers=where) as producer:
            await producer.send_and_wait("late", b"v")
        found = await reader.getmany(timeout_ms=10_000)
        assert [record.value for record in found[TopicPartition("late", 0)]] == [b"v"]
        await reader.stop()
        await admin.close()

    with EmbeddedBroker(config=BrokerConfig(auto_create_topics=False)) as embedded:
        run(main(embedded.bootstrap))


def test_partitions_that_were_lost_reach_a_coroutine():
    """The base class has revoked stand for lost: what that gives has to be awaited."""

    class Told(ConsumerRebalanceListener):
        async def on_partitions_revoked(self, revoked):
            told.append(revoked)

    told = []
    anyloop.run(Told().on_partitions_lost({T0}))
    assert told == [{T0}]
