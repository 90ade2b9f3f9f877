"""The futures of records that were sent from a loop, and what may go by between its turns: rules of
`loop_door.pyx` and `stint.pyx` that no broker brings about at will.
"""

import asyncio
import gc
import pickle
import time

import pytest

from kcore.clients.producer.loop_door import LoopDoor
from kcore.clients.producer.metadata import RecordMetadata
from kcore.errors import InvalidRecordError, KafkaError, TransactionAbortedError
from kcore.produce import splitting
from kcore.produce.batch import Batch
from kcore.produce.config import ProduceConfig
from kcore.produce.intake import Budget, Intake, Receiver
from kcore.stint import Stint
from kcore.structs import TopicPartition

T0 = TopicPartition("t", 0)


class Courier(Receiver):
    told_of = None

    def __init__(self):
        self.stopped = False
        self.turns = 0

    def passed(self, records):
        self.turns += records


class World:
    """A batch of records, each with a future."""

    def __init__(self, count, **options):
        self.courier, self.stint = Courier(), Stint(500, 4)
        self.door = LoopDoor(Intake(Budget(1 << 20, 1 << 14), 1 << 14), self.courier, self.stint)
        self.door.bind(asyncio.get_running_loop())
        self.config = ProduceConfig(**options)
        self.batch = Batch(T0, self.config, 0, (1,))
        self.futures = [self.add(at) for at in range(count)]

    def add(self, at):
        return self.door.follow(self.batch, self.batch.append(1000 + at, None, b"v", []), 1000 + at)

    def settle(self, batch=None):
        for waiter in self.batch.waiters:
            assert not waiter.settle(batch or self.batch)

    def deliver(self, batch, base_offset):
        batch.base_offset = base_offset
        batch.finish()
        self.settle(batch)


def in_a_loop(test):
    return lambda: asyncio.run(test())


class Counting(asyncio.SelectorEventLoop):
    """A loop that makes futures in a way of its own."""

    made = 0

    def create_future(self):
        self.made += 1
        return super().create_future()


def counted_by_itself():
    return Counting()


def counted_by_what_was_put_into_it():
    loop = asyncio.SelectorEventLoop()
    loop.made, own = 0, loop.create_future

    def create_future():
        loop.made += 1
        return own()

    loop.create_future = create_future
    return loop


@pytest.mark.parametrize("make", [counted_by_itself, counted_by_what_was_put_into_it])
def test_a_loop_that_makes_futures_in_its_own_way_makes_these(make):
    async def main():
        loop = asyncio.get_running_loop()
        before = loop.made
        World(2)
        return loop.made - before

    with asyncio.Runner(loop_factory=make) as runner:
        assert runner.run(main()) == 2


def test_so_does_one_whose_class_was_patched(monkeypatch):
    made, own = [], asyncio.BaseEventLoop.create_future
    monkeypatch.setattr(
        asyncio.BaseEventLoop, "create_future", lambda loop: made.append(own(loop)) or made[-1]
    )

    async def main():
        return World(2).futures

    assert asyncio.run(main()) == made[-2:]


@in_a_loop
async def test_what_is_put_in_the_place_of_asyncios_futures_is_used():
    with pytest.MonkeyPatch.context() as patch:  # nest_asyncio does this
        patch.setattr(asyncio.futures, "Future", asyncio.futures._PyFuture)
        before = World(1)
        assert isinstance(before.futures[0], asyncio.futures._PyFuture)
        before.add(1)
    assert isinstance(before.add(2), asyncio.Future)  # as its loop does
    before.deliver(before.batch, 5)
    assert [future.result().offset for future in before.futures] == [5]


@in_a_loop
async def test_all_of_a_batch_are_told_side_by_side():
    world = World(5)
    world.batch.log_start_offset = 3
    world.settle()
    assert not any(future.done() for future in world.futures)
    world.deliver(world.batch, 70)
    found = [future.result() for future in world.futures]
    assert found == [RecordMetadata("t", 0, T0, 70 + at, 1000 + at, 0, 3) for at in range(5)]
    assert all(type(one) is RecordMetadata for one in found)
    assert pickle.loads(pickle.dumps(found)) == found
    assert len(world.batch.waiters) == 1


@in_a_loop
async def test_the_time_of_the_log_is_told_where_that_is_what_counts():
    world = World(2)
    world.batch.log_append_time_ms = 5
    world.deliver(world.batch, 0)
    assert [(f.result().timestamp, f.result().timestamp_type) for f in world.futures] == [
        (5, 1)
    ] * 2


@in_a_loop
async def test_who_waits_has_the_batch_hurried_and_nobody_else():
    world, hurried = World(4), []
    world.courier.hurry = hurried.append
    first, *others = world.futures
    first.add_done_callback(lambda _: None)
    first.remove_done_callback(print)
    assert hurried == []
    waiting = asyncio.ensure_future(asyncio.wait_for(first, 20))
    await asyncio.sleep(0)
    assert hurried
    assert set(hurried) == {(world.batch,)}
    gathered = asyncio.gather(*others)
    world.deliver(world.batch, 7)
    await asyncio.gather(waiting, gathered)
    hurried.clear()
    await first
    await asyncio.gather(first)
    first.followers.hurry()
    assert hurried == []


@in_a_loop
async def test_one_that_lingers_no_longer_is_not_hurried():
    world, hurried = World(1), []
    world.courier.hurry = hurried.append
    world.batch.hurried = True
    gathered = asyncio.gather(*world.futures)
    assert hurried == []
    world.deliver(world.batch, 7)
    await gathered


def kept_by(future):
    return [one for one in gc.get_referents(future.followers) if type(one) is Batch]


@in_a_loop
async def test_futures_that_are_kept_keep_no_batch():
    world = World(2)
    assert kept_by(world.futures[0]) == [world.batch]
    world.settle()
    assert kept_by(world.futures[0]) == [world.batch]
    world.deliver(world.batch, 7)
    assert kept_by(world.futures[0]) == []


@in_a_loop
async def test_nor_where_one_was_refused():
    world = World(2)
    world.batch.error, world.batch.record_errors = KafkaError("x"), {1: InvalidRecordError("y")}
    world.batch.finish()
    world.settle()
    assert [type(one.exception()) for one in world.futures] == [KafkaError, InvalidRecordError]
    assert kept_by(world.futures[0]) == []


@in_a_loop
async def test_nobody_has_said_where_they_are():
    world = World(2)
    world.deliver(world.batch, -1)  # acks=0
    assert [future.result().offset for future in world.futures] == [-1, -1]


@in_a_loop
async def test_who_was_cancelled_hears_nothing_and_the_others_do():
    world = World(3)
    world.futures[1].cancel()
    world.deliver(world.batch, 7)
    assert [world.futures[at].result().offset for at in (0, 2)] == [7, 9]
    assert world.futures[1].cancelled()


@in_a_loop
async def test_a_batch_that_is_told_of_twice_is_told_once():
    world = World(3)
    world.deliver(world.batch, 7)
    first = [future.result() for future in world.futures]
    world.settle()
    assert all(one is future.result() for one, future in zip(first, world.futures, strict=True))


class Strikes:
    """A loop's future that a signal strikes."""

    struck = False

    def done(self):
        return False

    def set_result(self, result):
        if not self.struck:
            self.struck = True
            raise KeyboardInterrupt
        self.result = result


@in_a_loop
async def test_who_is_struck_in_the_middle_goes_on_from_there():
    world, strikes = World(1), Strikes()
    loop = asyncio.get_running_loop()
    world.door.bind(type("Loop", (), {"create_future": lambda _: strikes})())
    world.add(1)
    world.door.bind(loop)
    last = world.add(2)
    with pytest.raises(KeyboardInterrupt):
        world.deliver(world.batch, 5)
    first = world.futures[0].result()
    assert not last.done()
    world.settle()
    assert (first.offset, strikes.result.offset, last.result().offset) == (5, 6, 7)
    assert world.futures[0].result() is first


@in_a_loop
async def test_one_record_is_refused_and_the_others_are_with_it_or_not():
    world = World(3)
    refused = InvalidRecordError("x")
    world.batch.error, world.batch.record_errors = KafkaError("with them"), {1: refused}
    world.settle()  # it is not over
    assert not any(future.done() for future in world.futures)
    world.batch.finish()
    world.settle()
    assert world.futures[1].exception() is refused
    assert [str(world.futures[at].exception()) for at in (0, 2)] == ["with them"] * 2


def unheard_of(errors):
    """What a loop is told of futures with errors at which nobody has looked."""

    async def main():
        heard = []
        asyncio.get_running_loop().set_exception_handler(lambda _, about: heard.append(about))
        for error in errors:
            world = World(3)
            world.batch.error = error
            world.batch.finish()
            world.settle()
            del world
        await asyncio.sleep(0)
        return heard

    return asyncio.run(main())


def test_a_batch_that_fails_is_told_once_to_those_who_look_at_no_future():
    assert len(unheard_of([KafkaError("a")])) == 1
    assert len(unheard_of([KafkaError("a"), KafkaError("b")])) == 2


def test_what_the_user_has_aborted_is_no_news():
    assert unheard_of([TransactionAbortedError("aborted")]) == []
    failed = TransactionAbortedError("aborted")
    failed.__cause__ = KafkaError("because of this")
    assert len(unheard_of([failed])) == 1


@in_a_loop
async def test_parts_of_a_batch_are_told_as_they_come():
    world = World(4, batch_size=150)
    world.batch.seal()
    world.batch.identify(-1, -1, -1)  # its checksum
    parts = splitting.split(world.batch, world.config)
    assert len(parts) > 1
    world.deliver(parts[-1], 90)
    told = [future.done() for future in world.futures]
    assert told == sorted(told)
    assert told[-1]
    assert not told[0]
    for at, part in enumerate(parts[:-1]):
        world.deliver(part, 10 * at)
    assert world.futures[0].result().offset == 0
    assert all(future.done() for future in world.futures)


@in_a_loop
async def test_what_went_by_is_counted():
    world = World(2)
    assert world.courier.turns == 2  # it begins a stint, which this one does not
    world.stint.begin()
    world.add(2)
    assert (world.stint.records, world.courier.turns) == (1, 2)


# Between two turns --------------------------------------------------------------------------------


def test_a_stint_is_over_by_its_records():
    stint = Stint(3, 60_000)
    assert not stint.spent()
    stint.begin()
    stint.records += 2
    assert not stint.spent()
    stint.records += 1
    assert stint.spent()
    stint.end()
    assert (stint.begun, stint.records, stint.spent()) == (False, 0, False)


def test_a_stint_is_over_by_the_clock():
    stint = Stint(3, 10)
    time.sleep(0.011)
    assert not stint.spent()  # nothing has gone by
    stint.begin()
    time.sleep(0.011)
    assert stint.spent()
    stint.end()
    assert not stint.spent()
