"""Ranges and micro-batches: the rules of Spark's KafkaOffsetRangeCalculator and rateLimit."""

import itertools
import random

import pytest

from kcore.pipeline import offsets as json_offsets
from kcore.pipeline.admission import PAUSE_MAX_MS, Admission, Idling
from kcore.pipeline.errors import PlanError
from kcore.pipeline.offsets import listed
from kcore.pipeline.planning import RANGE_RECORDS, OffsetRange, limit_offsets, pack, split
from kcore.structs import TopicPartition


def ranges(*sizes, begin=0):
    return [OffsetRange("t", number, begin, begin + size) for number, size in enumerate(sizes)]


def shape(pieces):
    """Partition -> sizes of its pieces."""
    return [
        [one.size for one in group]
        for _, group in itertools.groupby(pieces, key=lambda one: one.partition)
    ]


@pytest.mark.parametrize(
    ("sizes", "options", "wanted"),
    [
        # Nothing asked for: a task a partition, none for nothing.
        ([5, 0, 7], {}, [[5], [7]]),
        ([], {"min_partitions": 3}, []),
        ([0, 0], {"min_partitions": 3}, []),
        # Enough there already.
        ([5, 7], {"min_partitions": 2}, [[5], [7]]),
        ([9, 1], {"min_partitions": 2}, [[9], [1]]),
        ([90, 5, 5], {"min_partitions": 2}, [[90], [5], [5]]),
        ([400, 100, *[1] * 6], {"min_partitions": 8}, [[400], [100], *[[1]] * 6]),
        # One large one is cut evenly; what does not divide comes later.
        ([5], {"min_partitions": 3}, [[1, 2, 2]]),
        ([100], {"min_partitions": 4}, [[25, 25, 25, 25]]),
        # In proportion.
        ([100, 200], {"min_partitions": 6}, [[50, 50], [50, 50, 50, 50]]),
        # Small ones stay whole, and are left out of the sum for the large ones.
        ([10_000, 1, 1, 1], {"min_partitions": 7}, [[2500] * 4, [1], [1], [1]]),
        (
            [500, 400, 100, 100, 100],
            {"min_partitions": 7},
            [[250] * 2, [200] * 2, [100], [100], [100]],
        ),
        # More than there are records: no empty ones.
        ([2], {"min_partitions": 5}, [[1, 1]]),
        ([2, 1], {"min_partitions": (1 << 31) - 1}, [[1, 1], [1]]),
        # So many records a task, at most.
        ([10], {"max_records": 4}, [[3, 3, 4]]),
        ([4, 5], {"max_records": 4}, [[4], [2, 3]]),
        # Both: the records first.
        ([10, 2], {"max_records": 4, "min_partitions": 4}, [[3, 3, 4], [2]]),
    ],
)
def test_split(sizes, options, wanted):
    assert shape(split(ranges(*sizes), **options)) == wanted


def test_pieces_are_the_whole_and_in_order():
    for sizes in itertools.product([0, 1, 3, 10, 1000], repeat=3):
        for least, most in itertools.product([None, 1, 4, 11], [None, 1, 7]):
            whole = ranges(*sizes, begin=1 << 40)
            pieces = split(whole, min_partitions=least, max_records=most)
            assert all(one.size > 0 for one in pieces)
            assert most is None or all(one.size <= most for one in pieces)
            for one in whole:
                mine = [piece for piece in pieces if piece.partition == one.partition]
                ends = [one.begin, *(piece.end for piece in mine)]
                assert [piece.begin for piece in mine] == ends[:-1]
                assert ends[-1] == one.end


def offsets(*numbers):
    return {TopicPartition("t", number): offset for number, offset in enumerate(numbers)}


@pytest.mark.parametrize(
    ("begin", "end", "limit", "wanted"),
    [
        ([0, 0], [100, 300], 40, [10, 30]),
        # Of what there is to read, wherever that begins.
        ([1000, 0], [1100, 300], 40, [1010, 30]),
        # Less than one record is one: the slow ones move, too, and the limit is passed by that.
        ([0, 0], [1, 1000], 10, [1, 9]),
        ([0, 0, 0], [10, 10, 10], 1, [1, 1, 1]),
        # What is over is not handed out: 1.5 and 0.5, and 33.3 each.
        ([0, 0], [30, 10], 2, [1, 1]),
        ([0, 0, 0], [50, 50, 50], 100, [33, 33, 33]),
        # All there is.
        ([5, 5], [6, 7], 100, [6, 7]),
        ([5, 5], [5, 5], 10, [5, 5]),
        # An end that is behind the beginning (data lost, and allowed) is taken as it is.
        ([9, 0], [4, 10], 5, [4, 5]),
        ([(1 << 63) - 3], [(1 << 63) - 1], 1, [(1 << 63) - 2]),
    ],
)
def test_limit(begin, end, limit, wanted):
    assert limit_offsets(offsets(*begin), offsets(*end), limit) == offsets(*wanted)


def test_limit_leaves_alone_what_has_no_beginning():
    new = TopicPartition("u", 0)
    assert limit_offsets(offsets(0), {**offsets(10), new: 7}, 5) == {**offsets(5), new: 7}


# Packing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "least", "more", "wanted"),
    [
        ([], 100, {}, []),
        ([5, 7], 1, {}, [[5], [7]]),
        ([5, 7], 10_000, {}, [[5, 7]]),
        # What is large enough stays alone.
        ([9_500, 9_500], 10_000, {}, [[9_500], [9_500]]),
        ([2_000] * 6, 5_000, {}, [[2_000] * 2] * 3),
        ([100_000, 10, 10], 20_000, {}, [[100_000], [10], [10]]),
        ([100_000, *[10] * 8], 20_000, {}, [[100_000], [10] * 8]),
        # As many tasks as ranges: none shares one, however small.
        ([10**6, 1, 1], 334_000, {}, [[10**6], [1], [1]]),
        # The smallest ranges cost something, too: so many and no more share a task.
        ([1] * 40, 5_010, {}, [[1] * 10] * 4),
        # As many tasks as are asked for, if there are ranges for them.
        ([5] * 6, 20_000, {"min_partitions": 2}, [[5] * 3] * 2),
        ([5] * 6, 20_000, {"min_partitions": 9}, [[5]] * 6),
        # Even where nearly all there is to read is in one of them.
        ([10**6, *[1] * 8], 10**7, {"min_partitions": 4}, [[10**6], [1] * 2, [1] * 2, [1] * 4]),
        ([10**6, *[1] * 4], 10**7, {"min_partitions": 3}, [[10**6], [1] * 2, [1] * 2]),
    ],
)
def test_pack(sizes, least, more, wanted):
    packed = pack(ranges(*sizes), least, **more)
    assert [[one.size for one in task] for task in packed] == wanted


def test_what_is_packed_is_everything_in_order_and_no_task_has_much_more():
    rng = random.Random(7)
    for least in (1, 1_000, 5_000, 20_000, 1_000_000):
        wanted = ranges(*(rng.randint(1, 3_000) for _ in range(40)))
        packed = pack(wanted, least)
        assert list(itertools.chain(*packed)) == wanted
        loads = [sum(one.size + RANGE_RECORDS for one in task) for task in packed]
        even = sum(loads) / -(-sum(loads) // least)
        assert max(loads) <= even + 3_000 + RANGE_RECORDS


# Admission ---------------------------------------------------------------------------------------


def test_the_first_may_be_at_once_and_later_ones_wait_for_enough():
    one = Admission(minimum=10, delay_ms=1000)
    assert one.admits(offsets(0), offsets(1), now_ms=0)
    one.took(0)
    assert not one.admits(offsets(1, 0), offsets(5, 5), now_ms=999)
    assert one.admits(offsets(1, 0), offsets(6, 5), now_ms=1)
    assert one.admits(offsets(1, 0), offsets(2, 0), now_ms=1000)


def test_the_first_counts_even_if_it_is_empty():
    one = Admission(minimum=10, delay_ms=1000)
    assert one.admits(offsets(5), offsets(5), now_ms=5_000)  # a stream that begins at the end
    assert not one.admits(offsets(5), offsets(7), now_ms=5_999)
    assert one.admits(offsets(5), offsets(7), now_ms=6_000)


def test_without_a_minimum_there_is_always_one():
    one = Admission(minimum=None, delay_ms=1000)
    one.took(0)
    assert one.admits(offsets(1), offsets(1), now_ms=0)


def test_ends_behind_and_partitions_without_a_beginning_count_nothing():
    one = Admission(minimum=1, delay_ms=1000)
    one.took(0)
    assert not one.admits(offsets(9), offsets(4, 100), now_ms=0)


def ask(one, now_ms, new):
    """One question and its answer, which takes a ms. How long the question had to wait."""
    pause_ms = one.pause_ms(now_ms)
    one.answered(now_ms + pause_ms + 1, new=new)
    return pause_ms


def test_an_idle_query_asks_less_and_less_often():
    one, now_ms, pauses = Idling(), 1_000, []
    while now_ms < 5_000:  # Spark's default is to ask again after 10 ms
        pauses.append(ask(one, now_ms, new=False))
        now_ms += pauses[-1] + 11
    assert pauses[:2] == [0, 0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == PAUSE_MAX_MS
    assert len(pauses) < 4_000 / PAUSE_MAX_MS + 100


def test_what_has_come_ends_the_pauses():
    one = Idling()
    for now_ms in range(0, 4_000, 10):
        ask(one, now_ms, new=False)
    assert ask(one, 4_000, new=True) > 0
    assert ask(one, 4_020, new=False) == 0


def test_who_asks_seldom_never_waits():
    one = Idling()
    assert [ask(one, now_ms, new=False) for now_ms in range(0, 100_000, 200)] == [0] * 500


# Offsets as Spark keeps them ---------------------------------------------------------------------


def test_mapping_and_back():
    there = {TopicPartition("b", 10): 5, TopicPartition("b", 2): 1 << 40, TopicPartition("a", 0): 0}
    mapping = json_offsets.to_mapping(there)
    assert mapping == {"a": {"0": 0}, "b": {"2": 1 << 40, "10": 5}}
    assert [*mapping] == ["a", "b"]
    assert [*mapping["b"]] == ["2", "10"]
    assert json_offsets.from_mapping(mapping) == there


@pytest.mark.parametrize(
    "said", [5, None, [1], {"logOffset": 3}, {"t": {"x": 1}}, {"t": {"0": "1"}}, {"t": {"0": None}}]
)
def test_a_checkpoint_of_another_kind_of_source_is_said(said):
    with pytest.raises(PlanError, match=r"no place in topics, .* the checkpoint is of another"):
        json_offsets.from_mapping(said)


def test_names_for_messages_are_few():
    many = [TopicPartition("t", number) for number in range(12)]
    assert listed(many[:2]) == "t-0, t-1"
    assert listed(many).endswith("t-9 and 2 more")
