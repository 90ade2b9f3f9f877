"""What is in hand: lanes, windows, prefixes (clients/consumer/hands.py); no broker, no thread."""

import random
from types import SimpleNamespace

import pytest

from kcore import OffsetAndMetadata, TopicPartition
from kcore.clients.consumer.hands import WINDOW_FACTOR, Hands

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def record(offset, key=None, epoch=3):
    return SimpleNamespace(offset=offset, key=key, leader_epoch=epoch)


def put(hands, tp, *rows):
    hands.put(tp, [record(*row) for row in rows])


class Told:
    """In place of waking whoever feeds."""

    def __init__(self):
        self.times = 0

    def __call__(self):
        self.times += 1


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def hands(told):
    return Hands(10, told)


def taken(hands, count):
    return [hands.take() for _ in range(count)]


def nothing_is_ready(hands):
    return hands._ready.empty()


def test_a_key_is_handled_by_one_at_a_time_in_its_order(hands):
    put(hands, T0, (0, b"a"), (1, b"a"), (2, b"b"))
    first, other = taken(hands, 2)
    assert (first.offset, other.offset) == (0, 2)
    assert nothing_is_ready(hands)
    hands.finish(first)
    assert hands.take().offset == 1


def test_records_without_a_key_are_one_lane_a_partition(hands):
    put(hands, T0, (0,), (1,))
    put(hands, T1, (0,))
    assert {slot.share.partition for slot in taken(hands, 2)} == {T0, T1}
    assert nothing_is_ready(hands)


def test_one_key_in_two_partitions_is_two_lanes(hands):
    put(hands, T0, (0, b"a"))
    put(hands, T1, (0, b"a"))
    assert len(taken(hands, 2)) == 2


def test_keys_without_a_hash_share_a_lane(hands):
    put(hands, T0, (0, {"id": 1}), (1, {"id": 2}), (2, b"a"))
    assert [slot.offset for slot in taken(hands, 2)] == [0, 2]
    assert nothing_is_ready(hands)


def test_only_what_has_no_gap_before_it_may_be_committed(hands):
    put(hands, T0, *((offset, b"%d" % offset) for offset in range(4)))
    slots = taken(hands, 4)
    hands.finish(slots[1])
    hands.finish(slots[3])
    assert hands.uncommitted() == {}
    hands.finish(slots[0])
    assert hands.uncommitted() == {T0: OffsetAndMetadata(2, "", 3)}
    hands.finish(slots[2])
    assert hands.uncommitted() == {T0: OffsetAndMetadata(4, "", 3)}


def test_offsets_that_the_log_does_not_have_hold_nothing_up(hands):
    put(hands, T0, (5, b"a"), (90, b"b"), (91, b"c", None))
    slots = taken(hands, 3)
    hands.finish(slots[1])
    hands.finish(slots[0])
    assert hands.uncommitted() == {T0: OffsetAndMetadata(91, "", 3)}
    hands.finish(slots[2])
    assert hands.uncommitted() == {T0: OffsetAndMetadata(92, "", -1)}


def test_what_is_committed_is_so_once(hands):
    put(hands, T0, (0, b"a"), (1, b"b"))
    slots = taken(hands, 2)
    hands.finish(slots[0])
    hands.note_committed(hands.uncommitted())
    assert hands.uncommitted() == {}
    hands.finish(slots[1])
    assert hands.uncommitted()[T0].offset == 2


def test_of_a_partition_given_up_nothing_is_begun(hands, told):
    put(hands, T0, (0, b"a"), (1, b"a"), (2, b"b"))
    put(hands, T1, (0, b"a"))
    first = hands.take()
    (share,) = hands.give_up([T0, TopicPartition("t", 7)])
    assert (share.running, hands.in_flight) == (1, 1)
    assert hands.take().share.partition == T1
    hands.finish(first)
    assert (share.running, told.times) == (0, 1)
    assert hands.uncommitted([share]) == {T0: OffsetAndMetadata(1, "", 3)}
    assert share.resumes_at.offset == 1
    assert hands.in_flight == 1
    hands.end(1)
    assert hands.take() is None


def test_a_record_still_being_handled_comes_before_those_of_its_key_that_are_new(hands):
    put(hands, T0, (0, b"a"))
    old = hands.take()
    hands.give_up([T0])
    put(hands, T0, (0, b"a"), (1, b"a"))  # the partition has come back
    assert nothing_is_ready(hands)
    hands.finish(old)
    assert hands.uncommitted() == {}
    again = hands.take()
    assert (again.offset, again is old) == (0, False)


def test_who_waits_for_room_is_told_once_at_half(hands, told):
    put(hands, T0, *((offset, b"%d" % offset) for offset in range(10)))
    slots = taken(hands, 10)
    assert hands.need_room()
    for slot in slots[:4]:
        hands.finish(slot)
    assert (hands.in_flight, told.times) == (6, 0)
    hands.finish(slots[4])
    assert told.times == 1
    hands.finish(slots[5])
    assert told.times == 1
    assert not hands.need_room()


def test_a_window_that_does_not_move_is_long_until_half_of_it_has(hands, told):
    most = 10 * WINDOW_FACTOR
    put(hands, T0, *((offset, b"%d" % offset) for offset in range(most - 1)))
    assert not hands.long
    put(hands, T0, (most, b"last"))
    assert hands.long == {T0}
    slots = taken(hands, most)
    for slot in slots[most // 2 :]:
        hands.finish(slot)
    for slot in slots[: most // 2 - 1]:
        hands.finish(slot)
    assert (hands.long, told.times) == ({T0}, 0)
    hands.finish(slots[most // 2 - 1])
    assert (hands.long, told.times) == (set(), 1)


def test_a_failure_ends_all_and_keeps_the_prefix_back(hands, told):
    put(hands, T0, (0, b"a"), (1, b"b"), (2, b"c"), (3, b"d"))
    first, second, third = taken(hands, 3)
    error = ValueError("no")
    hands.fail(second, error)
    assert (hands.failure, told.times) == ((second.record, error), 1)
    hands.finish(third)
    hands.finish(first)
    assert hands.uncommitted()[T0].offset == 1
    assert hands.take() is None
    assert told.times == 2  # nothing is being handled any more


def test_nobody_is_told_when_all_is_over(hands, told):
    put(hands, T0, (0,))
    slot = hands.take()
    hands.end(1)
    hands.be_over()
    hands.finish(slot)
    hands.nudge()
    assert told.times == 0


def test_positions_are_where_nothing_is_skipped(hands):
    put(hands, T0, (3, b"a"), (7, b"b"))
    put(hands, T1, (0, b"a"))
    slots = taken(hands, 3)
    hands.finish(slots[1])
    hands.finish(slots[2])
    assert hands.unfinished() == {T0: OffsetAndMetadata(3, "", -1)}
    assert hands.positions() == {
        T0: OffsetAndMetadata(3, "", -1),
        T1: OffsetAndMetadata(1, "", 3),
    }
    hands.finish(slots[0])
    assert hands.unfinished() == {}


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_done_in_whatever_order(seed):
    """Order per key, prefixes, counts: against a plain model."""
    rng = random.Random(seed)
    hands = Hands(50, lambda: None)
    handed, done, running, last = {T0: [], T1: []}, set(), [], {}
    offsets = {T0: 0, T1: 0}
    for _ in range(600):
        if rng.random() < 0.4 and hands.in_flight < 50:
            tp = rng.choice([T0, T1])
            rows = []
            for _ in range(rng.randrange(1, 4)):
                offsets[tp] += rng.choice([1, 1, 1, 5])
                rows.append((offsets[tp], rng.choice([None, b"a", b"b", b"c"])))
            put(hands, tp, *rows)
            handed[tp] += [offset for offset, _ in rows]
        if rng.random() < 0.5 and not nothing_is_ready(hands):
            slot = hands.take()
            assert slot.lane not in [other.lane for other in running]
            assert last.get(slot.lane, -1) < slot.offset
            last[slot.lane] = slot.offset
            running.append(slot)
        if running and rng.random() < 0.5:
            slot = running.pop(rng.randrange(len(running)))
            hands.finish(slot)
            done.add((slot.share.partition, slot.offset))
        for tp, at in hands.uncommitted().items():
            before = [offset for offset in handed[tp] if offset < at.offset]
            assert all((tp, offset) in done for offset in before)
            behind = handed[tp][len(before) :]
            assert not behind or (tp, behind[0]) not in done
        assert hands.in_flight == sum(map(len, handed.values())) - len(done)


def test_what_is_in_hand_of_a_topic_that_was_made_anew_is_handled_and_is_no_place(hands):
    put(hands, T0, (5, "a"), (6, "b"))
    old = hands.take()
    hands.detach([T0])
    put(hands, T0, (0, "b"))
    assert hands.positions() == {T0: OffsetAndMetadata(0, "", -1)}
    assert hands.in_flight == 3
    hands.finish(old)
    old = hands.take()
    assert old.offset == 6
    hands.finish(old)
    assert hands.in_flight == 1
    assert not hands.uncommitted()
    hands.finish(hands.take())
    assert hands.uncommitted() == {T0: OffsetAndMetadata(1, "", 3)}


def test_it_goes_with_the_partition(hands):
    put(hands, T0, (5, "a"), (6, "b"))
    slot = hands.take()
    hands.detach([T0])
    put(hands, T0, (0, "c"))
    new, old = hands.give_up([T0])
    assert (old.running, new.running) == (1, 0)
    assert (old.resumes_at, new.resumes_at) == (None, OffsetAndMetadata(0, "", -1))
    hands.finish(slot)
    assert not hands.uncommitted([new, old])
    assert hands.in_flight == 0


def test_what_was_given_up_says_nothing_of_what_came_since(hands):
    """A straggler of the partition's last time here, whose window is short."""
    put(hands, T0, (0, b"a"))
    straggler = hands.take()
    hands.give_up([T0])
    put(hands, T0, *((offset, b"b") for offset in range(10 * WINDOW_FACTOR)))
    assert hands.long == {T0}
    hands.finish(straggler)
    assert hands.long == {T0}


def test_a_lane_of_which_all_was_given_up_is_one_that_nobody_has(hands):
    put(hands, T0, (0, b"a"), (1, b"b"))
    hands.give_up([T0])
    put(hands, T1, (0, b"c"))
    assert hands.take().share.partition == T1  # behind the two of which nothing is left
    put(hands, T0, (0, b"a"))
    assert hands.take().lane == (T0, b"a")


def test_a_key_that_comes_again_when_it_was_done_with_is_handled_again(hands):
    for offset in range(3):
        put(hands, T0, (offset, b"a"))
        slot = hands.take()
        hands.finish(slot)
        assert slot.offset == offset
        assert nothing_is_ready(hands)
    assert hands._lanes == {}
    assert hands.uncommitted() == {T0: OffsetAndMetadata(3, "", 3)}


def test_what_is_finished_and_then_given_up_is_in_hand_once(hands):
    put(hands, T0, (0, b"a"), (1, b"b"), (2, b"c"))
    put(hands, T1, (0, b"a"))
    first = hands.take()
    hands.finish(first)
    hands.give_up([T0])
    assert hands.in_flight == 1  # T1's


def test_who_gives_a_partition_up_is_told_when_its_last_record_is_put_down(hands, told):
    put(hands, T0, (0, b"a"), (1, b"b"))
    put(hands, T1, (0, b"a"))
    first, second, other = taken(hands, 3)
    hands.give_up([T0])
    hands.finish(other)
    hands.finish(first)
    assert told.times == 0
    hands.finish(second)
    assert told.times == 1


def test_who_ends_is_told_when_nothing_is_handled_any_more(hands, told):
    put(hands, T0, (0, b"a"), (1, b"b"), (2, b"c"))
    first, second = taken(hands, 2)
    hands.end(1)
    hands.finish(first)
    assert told.times == 0
    hands.finish(second)
    assert told.times == 1
    assert hands.take() is None


@pytest.mark.parametrize("goes", ["given up", "made anew"])
def test_a_partition_that_is_not_there_any_more_is_not_long(hands, goes):
    put(hands, T0, *((offset, b"a") for offset in range(10 * WINDOW_FACTOR)))
    assert hands.long == {T0}
    if goes == "given up":
        hands.give_up([T0])
    else:
        hands.detach([T0])
    assert hands.long == set()


def test_of_a_topic_that_was_made_anew_nothing_is_begun_when_its_partition_goes(hands):
    put(hands, T0, (0, b"a"), (1, b"b"))
    put(hands, T1, (0, b"a"))
    hands.detach([T0, T1])
    hands.give_up([T0])
    assert hands.in_flight == 1
    assert hands.take().share.partition == T1
