"""`read_until`: records below given ends, whatever stands at the ends (PAINS 13)."""

import asyncio
import threading
import time

import pytest
from async_consumers import consumer as async_consumer
from async_consumers import run
from confluent_kafka import Producer
from strikes import Strike

from kcore import Consumer, TopicPartition
from kcore.embedded import EmbeddedBroker
from kcore.errors import (
    IllegalArgumentError,
    IllegalStateError,
    KafkaTimeoutError,
    UnassignedPartitionError,
    WakeupError,
)

LIMIT_S = 10
LIMIT_MS = 10_000
ISOLATION = pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture(scope="module")
def topics(broker):
    """uneven: 0, 1, 30 and 1,000 records. markers: see `transact`."""
    broker.create_topic("uneven", 4)
    for number, count in enumerate([0, 1, 30, 1_000]):
        if count:
            rows = [(None, b"%d" % one) for one in range(count)]
            broker.produce("uneven", rows, partition=number)
    broker.create_topic("markers", 3)
    transact(broker, "markers")
    return broker


def transact(broker, topic):
    """Partition 0: two committed and the marker. 1: two aborted and the marker. 2: two committed,
    the marker, and two that are open.
    """
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic})
    producer.init_transactions(LIMIT_S)

    def transaction(*partitions):
        producer.begin_transaction()
        for number in partitions:
            producer.produce(topic, b"a", partition=number)
            producer.produce(topic, b"b", partition=number)
        producer.flush(LIMIT_S)

    transaction(0, 2)
    producer.commit_transaction(LIMIT_S)
    transaction(1)
    producer.abort_transaction(LIMIT_S)
    transaction(2)


def tps(topic, count):
    return [TopicPartition(topic, number) for number in range(count)]


def reader(broker, *assigned, **options):
    options = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 20} | options
    consumer = Consumer(bootstrap_servers=broker.bootstrap, **options)
    if assigned:
        consumer.assign(assigned)
    return consumer


def offsets(records):
    found = {}
    for record in records:
        found.setdefault(TopicPartition(record.topic, record.partition), []).append(record.offset)
    return found


def places(consumer):
    return {tp: consumer.position(tp) for tp in consumer.assignment()}


async def collect(read):
    return [record async for record in read]


def everything(broker, partitions, ends=None, **options):
    """What a read gives, and the positions behind it, as both consumers have it."""
    with reader(broker, *partitions, **options) as consumer:
        found = offsets(consumer.read_until(ends, timeout_ms=LIMIT_MS))
        at = places(consumer)

    async def main():
        async with async_consumer(broker, **options) as consumer:
            consumer.assign(partitions)
            found = offsets(await collect(consumer.read_until(ends, timeout_ms=LIMIT_MS)))
            return found, {tp: await consumer.position(tp) for tp in partitions}

    assert run(main()) == (found, at)
    return found, at


# What stands at the ends -----------------------------------------------------------------------


def test_uneven_partitions_and_an_empty_one(topics):
    a, b, c, d = partitions = tps("uneven", 4)
    found, at = everything(topics, partitions)
    assert found == {b: [0], c: [*range(30)], d: [*range(1_000)]}
    assert at == {a: 0, b: 1, c: 30, d: 1_000}


@ISOLATION
def test_markers_and_aborted_transactions(topics, isolation):
    a, b, c = partitions = tps("markers", 3)
    found, at = everything(topics, partitions, isolation_level=isolation)
    if isolation == "read_committed":  # the open transaction is beyond the end
        assert found == {a: [0, 1], c: [0, 1]}
        assert at == {a: 3, b: 3, c: 3}
    else:
        assert found == {a: [0, 1], b: [0, 1], c: [0, 1, 3, 4]}
        assert at == {a: 3, b: 3, c: 5}


def test_an_end_in_the_middle_of_a_batch(topics):
    tp = TopicPartition("uneven", 2)
    found, at = everything(topics, [tp], {tp: 17})
    assert (found, at) == ({tp: [*range(17)]}, {tp: 17})


def test_an_end_that_is_there_already(topics):
    tp = TopicPartition("uneven", 2)
    assert everything(topics, [tp], {tp: 0}) == ({}, {tp: 0})
    assert everything(topics, [tp], {}) == ({}, {tp: 0})


def compacted(broker):
    """A topic of one partition, a good part of it compacted away; its end."""
    settings = {"cleanup.policy": "compact", "segment.ms": "1000"}
    settings |= {"min.cleanable.dirty.ratio": "0.01"}
    broker.create_topic("compacted", settings=settings)
    for number in range(20):
        broker.produce("compacted", [(b"key-%d" % (number % 2), b"%d" % number)])
        broker.let_time_pass(2_000)
    tp = TopicPartition("compacted", 0)
    until = time.monotonic() + LIMIT_S
    with reader(broker, tp) as consumer:
        while True:
            broker.let_time_pass(60_000)
            consumer.seek(tp, 0)
            found = offsets(consumer.read_until(timeout_ms=LIMIT_MS))[tp]
            if len(found) < 10:
                return tp, found
            assert time.monotonic() < until
            time.sleep(0.02)


def test_ends_in_what_was_compacted_away():
    with EmbeddedBroker() as broker:
        tp, kept = compacted(broker)
        missing = [offset for offset in range(20) if offset not in kept]
        for end in [missing[0] + 1, missing[-1], missing[-1] + 1, 20]:
            below = [offset for offset in kept if offset < end]
            found, at = everything(broker, [tp], {tp: end})
            assert (found.get(tp, []), at) == (below, {tp: end})


def test_the_same_where_all_of_a_log_is_read_one_by_one():
    with EmbeddedBroker() as broker:
        tp, kept = compacted(broker)
        with reader(broker, tp) as consumer:
            seen = []
            for end in range(21):
                seen += offsets(consumer.read_until({tp: end}, timeout_ms=LIMIT_MS)).get(tp, [])
                assert seen == [offset for offset in kept if offset < end]
                assert consumer.position(tp) >= end


# What follows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [1, 64, 65, 400, 1_000])
def test_poll_goes_on_at_the_end(topics, end):
    tp = TopicPartition("uneven", 3)
    with reader(topics, tp) as consumer:
        seen = offsets(consumer.read_until({tp: end}, timeout_ms=LIMIT_MS))[tp]
        while len(seen) < 1_000:
            found = consumer.poll(timeout_ms=LIMIT_MS, max_records=7)
            seen += [record.offset for record in found[tp]]
    assert seen == [*range(1_000)]


def test_what_is_left_half_way_comes_once(topics):
    partitions = tps("uneven", 4)
    with reader(topics, *partitions) as consumer:
        taken = []
        for record in consumer.read_until(dict.fromkeys(partitions[2:], 25), timeout_ms=LIMIT_MS):
            taken.append(record)
            if len(taken) == 20:
                break
        while len(taken) < 1_031:
            for records in consumer.poll(timeout_ms=LIMIT_MS).values():
                taken += records
        seen = offsets(taken)
        assert {tp: len(found) for tp, found in seen.items()} == dict(
            zip(partitions[1:], [1, 30, 1_000], strict=True)
        )
        assert all(found == sorted(set(found)) for found in seen.values())


def test_a_loop_and_a_read_in_turns(topics):
    tp = TopicPartition("uneven", 3)
    with reader(topics, tp, consumer_timeout_ms=LIMIT_MS, fetch_max_wait_ms=1) as consumer:
        read = consumer.read_until({tp: 30}, timeout_ms=LIMIT_MS)
        other = consumer.read_until({tp: 90}, timeout_ms=LIMIT_MS)
        seen = []
        while len(seen) < 30:
            seen += [next(read).offset, next(other).offset, next(consumer).offset]
        assert list(read) == []
        seen += [record.offset for record in other]
        assert seen == [*range(90)]


def test_others_are_set_aside_and_not_paused(topics):
    partitions = tps("uneven", 4)
    with reader(topics, *partitions, fetch_max_bytes=1_000) as consumer:
        consumer.pause(partitions[0])
        read = consumer.read_until({partitions[3]: 1_000, partitions[2]: 10}, timeout_ms=LIMIT_MS)
        for record in read:
            if record.partition == 3 and record.offset == 900:
                break
        why = consumer.health()
        assert "aside" in why[partitions[1]]
        assert "aside" in why[partitions[2]]
        assert "aside" not in why[partitions[3]]
        assert consumer.paused() == {partitions[0]}
        consumer.poll()
        assert "aside" not in "".join(consumer.health().values())
        assert consumer.paused() == {partitions[0]}


def test_behind_its_end_nothing_is_set_aside(topics):
    partitions = tps("uneven", 4)
    with reader(topics, *partitions) as consumer:
        list(consumer.read_until({partitions[2]: 10}, timeout_ms=LIMIT_MS))
        assert "aside" not in "".join(consumer.health().values())


def test_what_is_beyond_the_ends_is_not_fetched(topics):
    a, b = TopicPartition("uneven", 2), TopicPartition("uneven", 3)
    with reader(topics, a, b) as consumer:
        read = consumer.read_until({a: 1, b: 1_000}, timeout_ms=LIMIT_MS)
        held = [consumer.buffered_bytes for record in read if record.partition == 3]
        assert held[-1] < held[0]


# Commits -----------------------------------------------------------------------------------------


def test_a_commit_covers_what_was_yielded_and_no_more(topics):
    tp = TopicPartition("uneven", 3)
    with reader(topics, tp, group_id="commits", enable_auto_commit=False) as consumer:
        read = consumer.read_until({tp: 100}, timeout_ms=LIMIT_MS)
        for _ in range(3):
            next(read)
        consumer.commit()
        assert consumer.committed(tp) == consumer.position(tp) == 3
        list(read)
        consumer.commit()
        assert consumer.committed(tp) == 100


def test_a_commit_at_an_end_in_a_gap():
    with EmbeddedBroker() as broker:
        tp, kept = compacted(broker)
        assert 5 not in kept
        with reader(broker, tp, group_id="g", enable_auto_commit=False) as consumer:
            list(consumer.read_until({tp: 5}, timeout_ms=LIMIT_MS))
            consumer.commit()
            assert consumer.committed(tp) == 5


def test_auto_commit_takes_a_record_for_handled_when_the_next_is_asked_for(topics):
    tp = TopicPartition("uneven", 3)
    with reader(topics, tp, group_id="auto", auto_commit_interval_ms=0) as consumer:
        read = consumer.read_until({tp: 100}, timeout_ms=LIMIT_MS)
        for _ in range(10):
            next(read)
    with reader(topics, tp, group_id="auto") as consumer:
        assert consumer.committed(tp) == 9
        list(consumer.read_until({tp: 100}, timeout_ms=LIMIT_MS))
    with reader(topics, tp, group_id="auto") as consumer:
        assert consumer.committed(tp) == 100


# Waiting -----------------------------------------------------------------------------------------


def test_an_end_beyond_the_log_waits_for_it():
    with EmbeddedBroker() as broker:
        tp = TopicPartition("t", 0)
        broker.create_topic("t")
        broker.produce("t", [(None, b"0"), (None, b"1")])
        with reader(broker, tp) as consumer:
            seen = []
            for record in consumer.read_until({tp: 5}):
                seen.append(record.offset)
                if len(seen) in {2, 4}:  # one more than is wanted
                    broker.produce("t", [(None, b"x"), (None, b"y")])
            assert (seen, consumer.position(tp)) == ([0, 1, 2, 3, 4], 5)
            assert [one.offset for one in consumer.poll(timeout_ms=LIMIT_MS)[tp]] == [5]


def test_a_wait_in_vain_names_who_is_behind(topics):
    partitions = tps("uneven", 4)
    ends = dict(zip(partitions, [0, 3, 30, 1_001], strict=True))
    with reader(topics, *partitions) as consumer:
        read = consumer.read_until(ends, timeout_ms=500)
        with pytest.raises(KafkaTimeoutError) as caught:
            list(read)
        assert "uneven-1 is at 1 of 3, uneven-3 is at 1000 of 1001" in str(caught.value)
        assert caught.value.timeout_ms == 500
        with pytest.raises(KafkaTimeoutError):  # it goes on waiting
            next(read)

    async def main():
        async with async_consumer(topics) as consumer:
            consumer.assign(partitions)
            with pytest.raises(KafkaTimeoutError, match="uneven-1 is at 1 of 3, uneven-3"):
                await collect(consumer.read_until(ends, timeout_ms=500))

    run(main())


def test_a_wake_up_ends_a_wait_and_not_the_read(topics):
    tp = TopicPartition("uneven", 2)
    with reader(topics, tp) as consumer:
        read = consumer.read_until({tp: 31})
        assert len([next(read) for _ in range(30)]) == 30
        threading.Timer(0.05, consumer.wakeup).start()
        with pytest.raises(WakeupError):
            next(read)
        consumer.seek(tp, 29)
        assert next(read).offset == 29


def test_ctrl_c_anywhere_and_it_goes_on(topics):
    tp = TopicPartition("uneven", 3)
    with reader(topics, tp, fetch_max_wait_ms=1, reconnect_backoff_ms=1) as consumer:
        read, seen, struck = consumer.read_until({tp: 900}, timeout_ms=LIMIT_MS), [], 0
        for at in [*range(1, 120, 7)] * 2:
            try:
                with Strike(at):
                    seen.append(next(read).offset)
            except KeyboardInterrupt:
                struck += 1
            consumer.poll()  # what is in hand goes back
            consumer.seek(tp, len(seen))
        seen += [record.offset for record in read]
        assert seen == [*range(900)]
        assert struck > 10
        assert consumer.poll(timeout_ms=LIMIT_MS)[tp][0].offset == 900


def test_close_ends_it(topics):
    tp = TopicPartition("uneven", 2)
    consumer = reader(topics, tp)
    read = consumer.read_until({tp: 31})
    next(read)
    consumer.close()
    assert list(read) == []


# What cannot be ----------------------------------------------------------------------------------


def test_what_is_not_assigned_is_refused_at_the_call(topics):
    here, elsewhere = tps("uneven", 2)
    with reader(topics) as consumer, pytest.raises(UnassignedPartitionError):
        consumer.read_until()
    with reader(topics, here) as consumer:
        with pytest.raises(UnassignedPartitionError, match="uneven-1") as caught:
            consumer.read_until({here: 1, elsewhere: 1})
        assert caught.value.partition == elsewhere
        with pytest.raises(TypeError):
            consumer.read_until([here])
        with pytest.raises(IllegalArgumentError):
            consumer.read_until({here: -1})
        with pytest.raises(IllegalArgumentError):
            consumer.read_until({here: 1}, timeout_ms=-1)

    async def main():
        async with async_consumer(topics) as consumer:
            with pytest.raises(IllegalStateError):
                consumer.read_until()
            consumer.assign([here])
            with pytest.raises(UnassignedPartitionError):
                consumer.read_until({elsewhere: 1})

    run(main())


def test_what_is_assigned_no_more_is_not_waited_for(topics):
    a, b = tps("uneven", 2)
    with reader(topics, a, b) as consumer:
        read = consumer.read_until({a: 9, b: 9}, timeout_ms=LIMIT_MS)
        assert next(read).partition == 1
        consumer.assign([b])
        consumer.seek(b, 0)
        assert next(read).offset == 0
        consumer.assign([a])
        consumer.assign([TopicPartition("uneven", 2)])
        assert list(read) == []
        consumer.unsubscribe()
        with pytest.raises(IllegalStateError):
            next(consumer.read_until({}))


# In an event loop --------------------------------------------------------------------------------


def test_a_loop_left_half_way_goes_on(topics):
    partitions = tps("uneven", 4)

    async def main():
        async with async_consumer(topics) as consumer:
            consumer.assign(partitions)
            taken = []
            ends = dict.fromkeys(partitions[2:], 25)
            async for record in consumer.read_until(ends, timeout_ms=LIMIT_MS):
                taken.append(record)
                if len(taken) == 40:
                    break
            taken.append(await consumer.getone())
            while len(taken) < 1_031:
                for records in (await consumer.getmany(timeout_ms=LIMIT_MS)).values():
                    taken += records
            seen = offsets(taken)
            assert sorted(map(len, seen.values())) == [1, 30, 1_000]
            assert all(found == sorted(set(found)) for found in seen.values())

    run(main())


def test_tasks_share_it_with_one_that_reads_to_an_end(topics):
    a, b = TopicPartition("uneven", 2), TopicPartition("uneven", 3)

    async def main():
        async with async_consumer(topics) as consumer:
            consumer.assign([a, b])
            others = []

            async def reads_all():
                while True:
                    others.append(await consumer.getone())
                    await asyncio.sleep(0)

            task = asyncio.create_task(reads_all())
            mine = []
            async for record in consumer.read_until({b: 700}, timeout_ms=LIMIT_MS):
                mine.append(record)
                await asyncio.sleep(0)
            task.cancel()
            assert mine
            assert all(record.partition == 3 and record.offset < 700 for record in mine)
            seen = offsets(mine + others)
            assert sorted(seen[a]) == [*range(len(seen[a]))]
            assert sorted(seen[b]) == [*range(len(seen[b]))]
            assert len(seen[b]) >= 700

    run(main())


def test_what_another_call_may_take_at_once_is_not_for_it(topics):
    tp = TopicPartition("uneven", 3)

    async def main():
        async with async_consumer(topics) as consumer:
            consumer.assign([tp])
            read = consumer.read_until({tp: 6}, timeout_ms=LIMIT_MS)
            assert (await anext(read)).offset == 0
            assert [(await consumer.getone()).offset for _ in range(8)] == [*range(1, 9)]
            assert await collect(read) == []
            assert (await consumer.getone()).offset == 9

    run(main())


def test_a_commit_in_the_middle_covers_what_was_yielded(topics):
    tp = TopicPartition("uneven", 3)

    async def main():
        async with async_consumer(topics, group="async") as consumer:
            consumer.assign([tp])
            seen = 0
            async for record in consumer.read_until({tp: 100}, timeout_ms=LIMIT_MS):
                seen += 1
                if seen in {1, 50, 100}:
                    await consumer.commit()
                    assert await consumer.committed(tp) == record.offset + 1 == seen

    run(main())


def test_stop_ends_it_in_peace(topics):
    tp = TopicPartition("uneven", 2)

    async def main():
        consumer = async_consumer(topics)
        await consumer.start()
        consumer.assign([tp])
        task = asyncio.create_task(collect(consumer.read_until({tp: 31})))
        while await consumer.position(tp) < 30:
            await asyncio.sleep(0.01)
        await consumer.stop()
        assert len(await task) == 30

    run(main())
