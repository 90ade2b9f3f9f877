"""Iteration, and what a commit covers in the middle of it."""

import random

import pytest
from scripted_consumer import T0, T1, assigned, record, records

from kcore import errors
from kcore.clients.iteration import Batch, next_size
from kcore.structs import OffsetAndMetadata, TopicPartition


def test_records_come_one_by_one_until_the_timeout():
    consumer = assigned(consumer_timeout_ms=50)
    consumer.core.batches.extend([records(T0, 1, 2), records(T1, 7)])
    assert [r.offset for r in consumer] == [1, 2, 7]


def test_next_may_be_called_again_after_the_end():
    consumer = assigned(consumer_timeout_ms=50)
    with pytest.raises(StopIteration):
        next(consumer)
    consumer.core.batches.append(records(T0, 1))
    assert next(consumer).offset == 1
    with pytest.raises(StopIteration):
        next(consumer)


def test_a_closed_consumer_ends_the_loop():
    consumer = assigned()
    consumer.core.batches.append(records(T0, 1, 2))
    for _ in consumer:
        consumer.close()
    with pytest.raises(StopIteration):
        next(consumer)


def test_commit_in_the_loop_covers_the_record_just_yielded():
    consumer = assigned(T0, T1, group_id="g", enable_auto_commit=False)
    consumer.core.batches.append({**records(T0, 10, 11), **records(T1, 20)})
    next(consumer)
    consumer.commit()
    next(consumer)
    consumer.commit()
    committed = [entry[1] for entry in consumer.core.verbs("commit")]
    assert committed[0] == {T0: OffsetAndMetadata(11, "", 3), T1: OffsetAndMetadata(20)}
    assert committed[1] == {T0: OffsetAndMetadata(12, "", 3), T1: OffsetAndMetadata(20)}
    next(consumer)
    consumer.commit()
    assert consumer.core.verbs("commit")[-1][1] is None  # all of it: the core knows


def test_commit_async_in_the_loop_covers_the_same():
    consumer = assigned(group_id="g")
    consumer.core.batches.append(records(T0, 10, 11))
    next(consumer)
    consumer.commit_async()
    assert consumer.core.verbs("commit")[0][1] == {T0: OffsetAndMetadata(11, "", 3)}


def test_pains_10_close_does_not_commit_the_record_in_hand():
    consumer = assigned(group_id="g")
    consumer.core.batches.append(records(T0, 10, 11, 12))
    next(consumer)
    next(consumer)
    consumer.close()
    assert consumer.core.verbs("commit", "close") == [
        ("commit", {T0: OffsetAndMetadata(11, "", 3)}, 30000),
        ("close", 30000, False),
    ]


def test_pains_10_nor_if_it_is_the_last_of_its_batch():
    consumer = assigned(group_id="g")
    consumer.core.batches.append(records(T0, 10))
    next(consumer)
    consumer.close()
    assert consumer.core.verbs("commit")[0][1] == {T0: OffsetAndMetadata(10)}


@pytest.mark.parametrize("left", [(), (11, 12)])
def test_pains_10_nor_if_its_partition_is_paused(left):
    consumer = assigned(T0, T1, group_id="g")
    consumer.core.batches.append({**records(T0, 10, *left), **records(T1, 20)})
    next(consumer)
    consumer.pause(T0)
    consumer.close()
    expected = {T0: OffsetAndMetadata(10), T1: OffsetAndMetadata(20)}
    assert consumer.core.verbs("commit")[0][1] == expected


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("left", [(), (11, 12)])
def test_close_commits_what_was_sought_in_place_of_the_record_in_hand(left, paused):
    consumer = assigned(T0, group_id="g")
    consumer.core.batches.append(records(T0, 10, *left))
    next(consumer)
    if paused:
        consumer.pause(T0)
    consumer.seek(T0, 3)
    consumer.close()
    assert consumer.core.verbs("commit", "close") == [("close", 30000, True)]  # the core knows


def test_close_after_the_loop_has_ended_leaves_the_commit_to_the_core():
    consumer = assigned(group_id="g", consumer_timeout_ms=10)
    consumer.core.batches.append(records(T0, 10))
    list(consumer)
    consumer.close()
    assert consumer.core.verbs("commit", "close") == [("close", 30000, True)]


def test_auto_commit_only_ever_sees_whole_batches():
    """The core commits inside poll(); the loop polls only when every record's step has finished."""
    consumer = assigned(group_id="g")
    consumer.core.batches.extend([records(T0, 1, 2, 3), records(T0, 4)])
    for expected in (1, 2, 3):
        assert next(consumer).offset == expected
        assert len(consumer.core.verbs("poll")) == 1
    next(consumer)
    assert len(consumer.core.verbs("poll")) == 2


def test_poll_in_the_middle_goes_on_where_the_loop_was():
    consumer = assigned(T0, T1)
    consumer.core.batches.append({**records(T0, 10, 11), **records(T1, 20)})
    next(consumer)
    consumer.poll()
    assert consumer.core.verbs("go_back") == [("go_back", T0, 11, 3), ("go_back", T1, 20, -1)]


def test_position_in_the_middle():
    consumer = assigned()
    consumer.core.batches.append(records(T0, 10, 12))
    next(consumer)
    assert consumer.position(T0) == 12
    next(consumer)
    assert consumer.position(T0) == 13


def test_seek_in_the_middle_drops_that_partition_only():
    consumer = assigned(T0, T1)
    consumer.core.batches.append({**records(T0, 10, 11, 12), **records(T1, 20)})
    next(consumer)
    consumer.seek(T0, 0)
    assert next(consumer).partition == 1
    assert consumer.core.verbs("go_back", "seek") == [("seek", T0, 0, -1)]


def test_pause_in_the_middle_gives_that_partition_back():
    consumer = assigned(T0, T1, group_id="g")
    consumer.core.batches.append({**records(T0, 10, 11, 12), **records(T1, 20)})
    next(consumer)
    consumer.pause(T0)
    assert consumer.core.verbs("go_back", "pause") == [("go_back", T0, 11, 3), ("pause", [T0])]
    assert next(consumer).offset == 20


def test_pains_9_partitions_that_went_are_not_committed():
    consumer = assigned(T0, T1, group_id="g")
    consumer.core.batches.append({**records(T0, 10, 11), **records(T1, 20)})
    next(consumer)
    consumer.core.assigned = {T1}
    del consumer.core.consumed[T0]
    consumer.commit()
    consumer.close()
    commits = [set(entry[1]) for entry in consumer.core.verbs("commit")]
    assert commits == [{T1}, {T1}]


def test_partitions_that_went_are_not_sought():
    consumer = assigned()
    consumer.core.batches.append(records(T0, 10, 11))
    next(consumer)
    consumer.core.assigned = set()
    consumer.poll()
    assert consumer.core.verbs("go_back", "seek") == []


def test_errors_in_the_middle_of_a_loop_leave_it_usable():
    consumer = assigned(consumer_timeout_ms=10)
    consumer.core.batches.extend([records(T0, 1), errors.CorruptRecordError("x"), records(T0, 5)])
    assert next(consumer).offset == 1
    with pytest.raises(errors.CorruptRecordError):
        next(consumer)
    assert next(consumer).offset == 5


# Batch by itself --------------------------------------------------------------------------------


def walk(batch, count):
    return [next(batch.records) for _ in range(count)]


def test_positions_at_every_step():
    taken = {T0: [record(T0, o) for o in (5, 8)], T1: [record(T1, o, None) for o in (1, 2)]}
    offsets = []
    for count in range(5):
        batch = Batch(taken, 0)
        walk(batch, count)
        at = batch.positions(finished=True)
        offsets.append({tp: at[tp].offset for tp in at})
        assert len(batch) == 4 - count
    assert offsets == [{T0: 5, T1: 1}, {T0: 8, T1: 1}, {T1: 1}, {T1: 2}, {}]


def test_positions_with_the_record_in_hand():
    batch = Batch({T0: [record(T0, o) for o in (5, 8)]}, 0)
    assert batch.positions(finished=False) == {T0: OffsetAndMetadata(5)}
    walk(batch, 1)
    assert batch.positions(finished=False) == {T0: OffsetAndMetadata(5)}
    walk(batch, 1)
    assert batch.positions(finished=False) == {T0: OffsetAndMetadata(8, "", 3)}


@pytest.mark.parametrize("walked", range(5))
@pytest.mark.parametrize("given", [T0, T1])
def test_giving_back_keeps_the_rest_in_order(walked, given):
    taken = {T0: [record(T0, o) for o in (5, 8)], T1: [record(T1, o) for o in (1, 2)]}
    batch = Batch(taken, 0)
    walk(batch, walked)
    rest = [r for r in [*taken[T0], *taken[T1]][walked:] if (r.topic, r.partition) != given]
    batch.give_back(given)
    assert given not in batch.positions(finished=True)
    assert list(batch.records) == rest


T2 = TopicPartition("t", 2)


@pytest.mark.parametrize("seed", range(50))
def test_positions_whatever_is_given_back_and_when(seed):
    rng = random.Random(seed)
    taken = {tp: [record(tp, o) for o in range(rng.randint(1, 4))] for tp in (T0, T1, T2)}
    batch = Batch(taken, 0)
    ahead = [one for found in taken.values() for one in found]
    hand, moved = [], set()  # the record in hand; partitions that stand somewhere else
    while ahead:
        if rng.random() < 0.6:
            hand = [ahead.pop(0)]
            assert next(batch.records) is hand[0]
        else:
            given, whole = rng.choice([T0, T1, T2]), rng.random() < 0.5
            batch.give_back(given, whole=whole)
            ahead = [one for one in ahead if one.partition != given.partition]
            moved |= {given} if whole else set()
        for finished, left in ((True, ahead), (False, hand + ahead)):
            expected = {}
            for one in left:
                expected.setdefault(TopicPartition(one.topic, one.partition), one.offset)
            found = batch.positions(finished=finished)
            assert {tp: at.offset for tp, at in found.items()} == {
                tp: offset for tp, offset in expected.items() if tp not in moved
            }
        assert len(batch) == len(ahead)
    assert not list(batch.records)


@pytest.mark.parametrize(
    ("size", "took_ms", "expected"),
    [(64, 10, 128), (64, 500, 64), (64, 5000, 32), (1, 9999, 1), (400, 1, 500)],
)
def test_batch_sizes_follow_the_handler(size, took_ms, expected):
    assert next_size(size, took_ms, 500) == expected
