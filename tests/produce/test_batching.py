"""Rules of partitions, memory and sequences, each by itself."""

import random
from itertools import pairwise

import pytest

from kcore.errors import InvalidRecordError
from kcore.limits import MAX_BATCH_BYTES
from kcore.produce import splitting
from kcore.produce.accumulator import Accumulator
from kcore.produce.batch import SEQUENCES, Batch, BatchState
from kcore.produce.config import ProduceConfig
from kcore.produce.intake import record_bytes
from kcore.produce.lane import Lane
from kcore.produce.requests import build_produce
from kcore.records import RecordReader
from kcore.records.batches import describe_batches
from kcore.structs import TopicPartition
from kcore.timers import NEVER

T0 = TopicPartition("t", 0)
OLD, NEW = b"o" * 16, b"n" * 16


# Memory and time ----------------------------------------------------------------------------------


def take(accumulator, value, now=0, tp=T0):
    size = record_bytes(None, value, ())
    return accumulator.append(accumulator.lane(tp), size, 0, None, value, (), now)


def test_memory_is_what_batches_hold():
    accumulator = Accumulator(ProduceConfig(buffer_memory=1000, batch_size=10_000))
    assert take(accumulator, bytes(500)) is not None
    assert take(accumulator, bytes(500)) is None
    assert accumulator.starved
    (batch,) = accumulator.unfinished
    assert accumulator.held_bytes == batch.raw_bytes > 500
    accumulator.seal(batch)
    assert accumulator.held_bytes == len(batch.data)
    accumulator.release(batch)
    assert accumulator.held_bytes == 0
    assert take(accumulator, bytes(500)) is not None
    assert not accumulator.starved


@pytest.mark.parametrize("value_bytes", [1, 30, 100])
def test_headers_of_batches_are_part_of_the_memory(value_bytes):
    accumulator = Accumulator(ProduceConfig(buffer_memory=1000, batch_size=10_000))
    count = 0
    while take(accumulator, bytes(value_bytes), tp=TopicPartition("t", count)) is not None:
        count += 1
    assert accumulator.held_bytes <= 1000
    assert count > 4
    assert accumulator.starved


def test_a_batch_is_due_when_it_has_lingered():
    accumulator = Accumulator(ProduceConfig(linger_ms=10))
    take(accumulator, b"a", now=100)
    take(accumulator, b"b", now=105)
    assert accumulator.deadline() == 110
    accumulator.handle_tick(109)
    assert not accumulator.due
    accumulator.handle_tick(110)
    assert [*accumulator.due] == [accumulator.lane(T0)]
    assert accumulator.deadline() == NEVER


def test_want_of_room_and_a_flush_end_the_lingering():
    for hurry in ("starved", "flush"):
        accumulator = Accumulator(ProduceConfig(linger_ms=10_000, buffer_memory=300))
        take(accumulator, bytes(100))
        if hurry == "flush":
            accumulator.flush()
        else:
            assert take(accumulator, bytes(200)) is None
            accumulator.handle_tick(1)
        assert len(accumulator.due) == 1


@pytest.mark.parametrize("awaited_linger", [False, True])
def test_what_somebody_waits_for_lingers_where_that_was_said(awaited_linger):
    config = ProduceConfig(linger_ms=10, awaited_linger=awaited_linger)
    accumulator = Accumulator(config)
    t1, t2 = (TopicPartition("t", number) for number in (1, 2))
    for tp in (T0, t1, t2):
        take(accumulator, b"a", tp=tp)
    first, second, third = accumulator.unfinished
    assert accumulator.hurry_awaited([first, third]) is not awaited_linger
    due = [] if awaited_linger else [accumulator.lane(T0), accumulator.lane(t2)]
    assert [*accumulator.due] == due
    assert [one.lingers for one in (first, second, third)] == [awaited_linger, True, awaited_linger]
    assert not accumulator.hurry_awaited([first, third])  # again
    accumulator.lanes[t1].queue.remove(second)
    second.finish()
    assert accumulator.deadline() == (10 if awaited_linger else NEVER)


def test_how_records_pack_is_learnt():
    """Java's CompressionRatioEstimator: worse at once, better step by step."""
    accumulator = Accumulator(ProduceConfig(codec="gzip", batch_size=10_000))
    assert accumulator.raw_limit == 10_000
    for _ in range(3):
        take(accumulator, bytes(9_000))
        accumulator.close(accumulator.lane(T0))
    assert accumulator.raw_limit == int(10_000 / 0.985)
    take(accumulator, random.Random(1).randbytes(9_000))
    accumulator.close(accumulator.lane(T0))
    assert accumulator.raw_limit < 9_600


# Sequences ----------------------------------------------------------------------------------------


def queued(lane, count=1, **options):
    config = ProduceConfig(**options)
    for _ in range(count):
        lane.opened += 1
        batch = Batch(lane.tp, config, 0, (lane.opened,))
        batch.append(0, None, b"v", ())
        batch.append(0, None, b"w", ())
        batch.seal()
        lane.queue.append(batch)
    return [*lane.queue][-count:]


def go(lane, epoch=0):
    assert lane.sendable(7, epoch)
    batch = lane.take(sequenced=True)
    batch.sent_as = batch.identity
    return batch


def end(lane, batch):
    lane.sent -= 1
    lane.acknowledge(batch)


def started(count=0):
    """A lane whose first batch is through."""
    lane = Lane(T0)
    queued(lane)
    end(lane, go(lane))
    return lane, queued(lane, count) if count else []


def test_what_a_request_holds_stays_as_it_was_when_a_batch_is_numbered_anew():
    lane = Lane(T0)
    queued(lane)
    batch = lane.take(sequenced=False)
    batch.identify(7, 0, 5)
    request = build_produce(ProduceConfig(), [batch], {"t": None}, 9)
    (held,) = request.topic_data[0].partition_data[0].records
    before = bytes(held)
    batch.identify(7, 1, 0)  # KIP-360, while the link has not written it yet
    assert bytes(held) == before
    assert next(describe_batches(held)).producer_epoch == 0
    assert next(describe_batches(batch.data)).producer_epoch == 1


def test_sequences_follow_and_wrap():
    lane, _ = started()
    assert lane.next_sequence == 2
    lane.next_sequence = SEQUENCES - 1
    lane.acked_sequence = SEQUENCES - 2
    one, other = queued(lane, 2)
    go(lane), go(lane)
    assert (one.base_sequence, other.base_sequence) == (SEQUENCES - 1, 1)
    assert next(describe_batches(one.data)).base_sequence == SEQUENCES - 1
    end(lane, one)
    assert lane.acked_sequence == 0
    end(lane, other)
    assert (lane.acked_sequence, lane.next_sequence) == (2, 3)


def test_five_are_under_way_at_most_from_the_oldest_on():
    lane, batches = started(8)
    for _ in range(5):
        go(lane)
    assert not lane.sendable(7, 0)
    for batch in batches[1:5]:
        end(lane, batch)
    assert not lane.sendable(7, 0)  # the oldest could not be told from a new one
    end(lane, batches[0])
    assert lane.sendable(7, 0)


@pytest.mark.parametrize("back", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]])
def test_what_comes_back_is_sent_again_in_order_one_at_a_time(back):
    lane, batches = started(5)
    for _ in range(4):
        go(lane)
    for number in back:
        lane.sent -= 1
        lane.put_back(batches[number])
    assert [*lane.queue] == batches
    first = lane.take(sequenced=True)
    assert first is batches[0]
    assert not lane.sendable(7, 0)
    end(lane, first)
    assert lane.sendable(7, 0)


def test_numbers_of_what_was_surely_not_written_are_used_again_if_nothing_is_behind():
    lane, (one,) = started(1)
    go(lane)
    lane.drop(one, certain=True)
    assert (lane.next_sequence, lane.unresolved) == (2, False)


@pytest.mark.parametrize(
    ("certain", "behind", "attempts"), [(False, 0, 1), (True, 1, 1), (True, 0, 2)]
)
def test_other_numbers_are_not_used_again(certain, behind, attempts):
    lane, batches = started(1 + behind)
    for _ in batches:
        go(lane)
    batches[0].attempts = attempts
    lane.drop(batches[0], certain=certain)
    assert lane.unresolved
    queued(lane)
    assert not lane.sendable(7, 0)
    for batch in batches[1:]:
        end(lane, batch)
    # What is behind it was written, so it was, too; else there is a gap.
    assert lane.resolve() is bool(behind)


def test_a_late_answer_does_not_turn_back_what_is_known():
    lane, (one, other) = started(2)
    go(lane), go(lane)
    end(lane, other)
    end(lane, one)
    assert lane.acked_sequence == 5


def test_under_another_epoch_numbers_begin_again():
    lane, (one, other) = started(2)
    go(lane), go(lane)
    lane.sent -= 1
    lane.put_back(one)
    lane.renumber(7, 1)
    assert [b.identity for b in (one, other)] == [(7, 1, 0), (7, 1, 2)]
    end(lane, other)  # which was under way as what it was before
    assert lane.acked_sequence == -1
    assert lane.unresolved


def test_the_first_batch_of_an_epoch_goes_alone():
    lane, (one, *_) = started(3)
    go(lane)
    end(lane, one)
    lane.renumber(7, 1)
    first = go(lane, 1)
    assert not lane.sendable(7, 1)
    end(lane, first)
    assert lane.sendable(7, 1)


def test_nothing_goes_to_a_topic_made_anew_before_what_is_under_way_is_answered():
    """An answer of the one before says nothing of the new one, whose first batch goes alone."""
    lane, _ = started(5)
    assert lane.moves_to(OLD)
    first = go(lane)
    assert not lane.moves_to(NEW)
    assert lane.topic_id == OLD
    end(lane, first)
    assert lane.moves_to(None)  # brokers that know no ids
    assert lane.topic_id == OLD
    assert lane.moves_to(NEW)
    first = go(lane)
    assert not lane.sendable(7, 0)
    end(lane, first)
    assert lane.sendable(7, 0)


def test_a_gap_that_was_none_holds_nothing_up():
    """A batch that was given up is acknowledged after all."""
    lane, (one, _) = started(2)
    go(lane)
    lane.drop(one, certain=False)
    assert not lane.sendable(7, 0)
    end(lane, one)
    assert lane.resolve()
    assert lane.sendable(7, 0)


def test_another_epoch_leaves_no_gap_behind():
    lane, (one, *_) = started(2)
    go(lane)
    lane.drop(one, certain=False)
    lane.renumber(7, 1)
    assert lane.sendable(7, 1)


def test_without_idempotence_batches_have_no_numbers():
    lane, (one, _) = started(2)
    assert lane.take(sequenced=False) is one
    assert one.identity == (-1, -1, -1)
    assert not lane.tracked


def test_what_is_under_way_ends_under_the_epoch_it_began_in():
    lane, (one, other) = started(2)
    go(lane)
    assert not lane.sendable(7, 1)
    assert (lane.producer_epoch, lane.next_sequence) == (0, 4)
    end(lane, one)
    assert lane.sendable(7, 1)
    lane.take(sequenced=True)
    assert other.identity == (7, 1, 0)


def test_an_answer_to_what_was_given_up_changes_nothing():
    lane, (one, other) = started(2)
    go(lane), go(lane)
    lane.drop(one, certain=False)  # its time was over
    end(lane, other)
    before = lane.acked_sequence, lane.next_sequence
    end(lane, one)
    assert (lane.acked_sequence, lane.next_sequence) == before
    assert lane.unresolved


def test_an_answer_under_the_epoch_before_says_nothing_of_this_one():
    lane, (one,) = started(1)
    go(lane)
    lane.drop(one, certain=False)
    assert not lane.resolve()
    lane.renumber(7, 1)
    end(lane, one)
    assert (lane.acked_sequence, lane.next_sequence) == (-1, 0)


# Struck, perhaps in the middle of a change --------------------------------------------------------


def filled(**options):
    batch = Batch(T0, ProduceConfig(**options), 0, (1,))
    batch.append(0, None, b"v", ())
    return batch


def test_a_batch_that_was_opened_for_a_record_that_never_came_is_over():
    batch = Batch(T0, ProduceConfig(), 0, (1,))
    batch.mend()
    assert batch.state is BatchState.DONE


def test_an_open_batch_goes_on_taking_records():
    batch = filled()
    batch.mend()
    assert batch.state is BatchState.OPEN
    assert batch.append(0, None, b"w", ()) == 1


def test_a_batch_that_was_being_sealed_is_sealed():
    batch = filled()
    batch.pack()
    batch.mend()
    assert (batch.state, batch.record_count) == (BatchState.SEALED, 1)


@pytest.mark.parametrize("attempts", [0, 1])
def test_a_batch_that_was_being_numbered_is_what_its_numbers_say(attempts):
    batch = filled()
    batch.seal()
    batch.attempts = attempts
    batch.producer_id, batch.producer_epoch, batch.base_sequence = 7, 1, 5  # and not its bytes
    batch.mend()
    (info,) = describe_batches(batch.data)
    assert (info.producer_id, info.producer_epoch, info.base_sequence) == (7, 1, 5)


def test_what_a_batch_that_is_not_over_has_suffered_is_forgotten():
    batch, over = filled(), filled()
    for one in (batch, over):
        one.seal()
        one.identify(7, 0, 0)
        one.error, one.record_errors = InvalidRecordError("x"), {0: InvalidRecordError("y")}
    over.finish()
    for one in (batch, over):
        one.mend()
    assert (batch.state, batch.error, batch.record_errors) == (BatchState.SEALED, None, {})
    assert str(over.outcome(0).error).endswith("y")


def test_a_lane_that_was_numbering_goes_on_behind_it():
    lane, (one, other) = started(2)
    one.identify(7, 0, lane.next_sequence)  # and the lane has not counted it
    lane.mend([one, other])
    assert (lane.tracked, lane.next_sequence) == ([one], 4)
    assert lane.sendable(7, 0)
    go(lane)
    end(lane, one)
    assert go(lane).base_sequence == 4
    assert (one.place, other.place) == (2, 3)


def test_a_lane_goes_on_behind_what_it_has_numbered():
    lane, batches = started(3)
    go(lane), go(lane)
    lane.mend(batches)
    assert lane.sent == 0
    assert (lane.tracked, lane.next_sequence) == (batches[:2], 6)
    assert [*lane.queue] == batches


def test_a_lane_that_was_numbering_anew_is_all_of_one_epoch():
    lane, (one, other) = started(2)
    go(lane), go(lane)
    lane.producer_epoch, lane.next_sequence = 1, 0
    one.identify(7, 1, 0)  # and not yet the other
    lane.mend([one, other])
    assert [batch.identity for batch in (one, other)] == [(7, 1, 0), (7, 1, 2)]
    assert lane.next_sequence == 4


# Splitting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[10, 900], [900, 10], [1] * 50, [500, 500, 500], [1, 900, 1]])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_parts_are_more_than_one_and_hold_the_records_in_order(sizes, codec):
    batch = Batch(T0, ProduceConfig(codec=codec), 5, (1,))
    for number, size in enumerate(sizes):
        batch.append(number, b"%d" % number, bytes(size), [("h", b"x")])
    batch.seal()
    batch.identify(7, 0, SEQUENCES - 1)
    parts = splitting.split(batch, ProduceConfig(codec=codec))
    assert len(parts) > 1
    limit = batch.raw_bytes // 2  # the batch was smaller than batch_size
    for part, following in pairwise(parts):  # none could have taken another record
        (first,) = RecordReader("t", 0, bytes(following.data), 0).take(1)
        assert part.raw_bytes + record_bytes(first.key, first.value, first.headers) > limit
    found = []
    for part in parts:
        (info,) = describe_batches(part.data)
        assert info.base_sequence == (SEQUENCES - 1 + len(found)) % SEQUENCES
        found += RecordReader("t", 0, bytes(part.data), 0).take(info.record_count)
        assert part.held_bytes == len(part.data)
    assert [record.key for record in found] == [b"%d" % n for n in range(len(sizes))]
    assert [len(record.value) for record in found] == sizes
    assert [record.timestamp for record in found] == [*range(len(sizes))]


def test_a_batch_is_split_though_it_unpacks_to_more_than_readers_take():
    config = ProduceConfig(codec="lz4", batch_size=1 << 20)
    batch = Batch(T0, config, 0, (1,))
    count = MAX_BATCH_BYTES // (1 << 20) + 2
    for number in range(count):
        batch.append(number, None, bytes(1 << 20), ())
    batch.seal()
    assert batch.raw_bytes > MAX_BATCH_BYTES
    batch.identify(7, 0, 0)
    parts = splitting.split(batch, config)
    assert [part.record_count for part in parts] == [1] * count


@pytest.mark.parametrize("batch_size", [1 << 19, MAX_BATCH_BYTES * 2])
def test_however_well_records_pack_readers_can_unpack_a_batch(batch_size, monkeypatch):
    monkeypatch.setattr("kcore.produce.accumulator._RATIO_STEP", 1.0)  # it learns at once
    config = ProduceConfig(codec="lz4", batch_size=batch_size, buffer_memory=MAX_BATCH_BYTES * 4)
    accumulator = Accumulator(config)
    sealed = set()
    for _ in range(3 * MAX_BATCH_BYTES >> 18):
        batch, _ = take(accumulator, bytes(1 << 18))
        sealed.add(batch)
    assert max(batch.raw_bytes for batch in sealed) <= MAX_BATCH_BYTES // 4
    assert 0 < accumulator.raw_limit <= MAX_BATCH_BYTES // 4


def test_outcomes_follow_records_into_parts_of_parts():
    config = ProduceConfig()
    batch = Batch(T0, config, 0, (1,))
    for number in range(8):
        batch.append(number, None, bytes(100), ())
    batch.seal()
    batch.identify(-1, -1, -1)
    parts = splitting.split(batch, config)
    parts[0].attempts = 1
    smaller = splitting.split(parts[0], config)
    assert batch.outcome(0) is None
    leaves = [*smaller, *parts[1:]]
    first = 0
    for base, leaf in zip(range(0, 1000, 100), leaves, strict=False):
        leaf.base_offset = base
        leaf.finish()
        assert batch.outcome(first).offset == base
        assert batch.outcome(first + leaf.record_count - 1).offset == base + leaf.record_count - 1
        first += leaf.record_count
    assert first == 8
    assert batch.done


def test_blame():
    batch = Batch(T0, ProduceConfig(), 0, (1,))
    for _ in range(3):
        batch.append(0, None, b"", ())

    class Found:
        batch_index = 1
        batch_index_error_message = None

    splitting.blame(batch, [Found], InvalidRecordError, "t-0")
    batch.state = BatchState.DONE
    texts = [str(batch.outcome(number).error) for number in range(3)]
    assert "does not say why" in texts[1]
    assert "number 1" in texts[0]
    assert texts[0] == texts[2]
