"""Partitions of records without keys (KIP-480, KIP-794, KIP-1123)."""

import random
from collections import Counter

import pytest

from kcore.produce.accumulator import Accumulator
from kcore.produce.config import ProduceConfig
from kcore.produce.partitioning import Partitioning, Sticky
from kcore.structs import Leader, Node, TopicPartition

T0 = TopicPartition("t", 0)


class Cluster:
    """Partition n is led by node n, whose rack is racks[n]."""

    def __init__(self, without_leader=(), racks=()):
        self.version = 1
        self.without_leader = set(without_leader)
        self.racks = [*racks]

    def leader(self, tp):
        return None if tp.partition in self.without_leader else Leader(tp.partition, 1)

    def node(self, node_id):
        if node_id >= len(self.racks):
            return None
        return Node(node_id, "host", 9092, self.racks[node_id])


def drawn(queued, count=4000, numbers=(0, 1, 2)):
    rng = random.Random(7)
    return Counter(Sticky(100, rng).choose([*numbers], queued) for _ in range(count))


def test_partitions_are_drawn_alike():
    found = drawn(None)
    assert all(1200 < found[number] < 1470 for number in range(3))


def test_long_queues_are_drawn_less():
    # KIP-794: lengths 0, 3, 1 weigh 4, 1, 3.
    found = drawn([0, 3, 1], 8000)
    assert all(abs(found[n] - 1000 * weight) < 150 for n, weight in ((0, 4), (1, 1), (2, 3)))


def test_one_partition_is_not_drawn():
    assert drawn(None, 10, [5]) == {5: 10}


@pytest.mark.parametrize(
    ("taken", "full", "stays"), [(100, True, False), (150, False, True), (200, False, False)]
)
def test_a_sticky_partition_is_left_with_a_full_batch_or_at_twice_its_size(taken, full, stays):
    sticky = Sticky(100, random.Random(1))
    sticky.choose([1], None)
    sticky.taken_bytes = taken
    sticky.move_on(full=full)
    assert (sticky.partition >= 0) is stays


def choosing(adaptive=True, without_leader=(), racks=(), rack=""):
    config = ProduceConfig(partitioner_adaptive=adaptive, rack=rack)
    accumulator = Accumulator(config)
    cluster = Cluster(without_leader, racks)
    choice = Partitioning(config, cluster, accumulator, random.Random(3))
    return choice, accumulator


def again(choice, numbers):
    choice.sticky("t", numbers).partition = -1
    return choice.choose_sticky("t", numbers)


def test_partitions_without_a_leader_are_passed_over_while_there_are_others():
    choice, _ = choosing(without_leader=[1])
    assert {again(choice, [0, 1, 2]) for _ in range(50)} == {0, 2}
    choice, _ = choosing(without_leader=[0, 1, 2])
    assert {again(choice, [0, 1, 2]) for _ in range(50)} == {0, 1, 2}


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize(
    ("racks", "without_leader", "found"),
    [
        (["a", "b", "a"], [], {0, 2}),
        (["a", "b", "a"], [0], {2}),
        (["b", "b", None], [], {0, 1, 2}),
        (["a", "b", "b"], [0], {1, 2}),
        (["a"], [], {0}),
        ([], [], {0, 1, 2}),
        (["a", "b", "a"], [0, 1, 2], {0, 1, 2}),
    ],
    ids=[
        "leaders there", "those with a leader", "none there", "the one there has no leader",
        "nodes that are not known", "no node is known", "no leaders",
    ],
)  # fmt: skip
def test_partitions_led_in_the_own_rack_come_first(adaptive, racks, without_leader, found):
    """KIP-1123."""
    choice, _ = choosing(adaptive, without_leader, racks, "a")
    assert {again(choice, [0, 1, 2]) for _ in range(100)} == found


def test_racks_do_not_count_unless_that_is_wanted():
    choice, _ = choosing(racks=["a", "b", "a"])
    assert {again(choice, [0, 1, 2]) for _ in range(50)} == {0, 1, 2}


def test_a_partition_whose_leader_leaves_the_rack_gets_no_more():
    choice, _ = choosing(racks=["a", "b", "b"], rack="a")
    assert again(choice, [0, 1, 2]) == 0
    cluster = choice._cluster
    cluster.racks = ["b", "a", "b"]
    assert choice.choose_sticky("t", [0, 1, 2]) == 0  # it is not known yet
    cluster.version += 1
    assert choice.choose_sticky("t", [0, 1, 2]) == 1
    cluster.racks = ["b", "b", "b"]
    cluster.version += 1
    assert choice.choose_sticky("t", [0, 1, 2]) == 1  # nobody is there: as good as any


@pytest.mark.parametrize("adaptive", [True, False])
def test_queues_count_only_if_that_is_wanted(adaptive):
    choice, accumulator = choosing(adaptive)
    accumulator.lane(T0).queue.extend([None] * 50)
    found = Counter(again(choice, [0, 1]) for _ in range(400))
    assert (found[0] < 40) is adaptive
