"""What a follower cuts off before it takes over from a new leader (KIP-101, KIP-279): all that the
leader does not have, and nothing else.
"""

import random

import pytest
from broker_world import batch

from kcore.broker import LogConfig, PartitionLog
from kcore.broker.batches import read_header
from kcore.broker.partitions import align

RECORD = batch(b"x")


def log_of(epochs):
    """Of records that were written in these epochs."""
    log = PartitionLog("t", 0, LogConfig())
    for epoch in epochs:
        log.add(RECORD, read_header(RECORD), epoch, 0)
    return log


def common(one, other):
    """How many records two logs begin with alike."""
    pairs = zip(one, other, strict=False)
    return next(
        (n for n, (mine, its) in enumerate(pairs) if mine != its), min(len(one), len(other))
    )


def histories(rng):
    """The epochs of the records of three logs, one of which leads at a time; others follow, or hear
    nothing of it.
    """
    logs = [[], [], []]
    for epoch in range(rng.randint(1, 7)):
        leader = rng.randrange(3)
        for _ in range(rng.randint(0, 3)):
            logs[leader].append(epoch)
            for follower in {0, 1, 2} - {leader}:
                if rng.random() < 0.5:
                    known = common(logs[follower], logs[leader])
                    logs[follower] = logs[leader][: known + rng.randint(1, 3)]
    return logs[:2]


@pytest.mark.parametrize("first", range(0, 1_000, 100))
def test_what_both_have_stays_and_nothing_else(first):
    for seed in range(first, first + 100):
        rng = random.Random(seed)
        mine, its = histories(rng)
        follower, leader = log_of(mine), log_of(its)
        alike = common(mine, its)
        start = leader.high_watermark = rng.randint(0, alike)
        leader.advance_start(start)
        leader.begin_epoch(100)
        align(follower, leader)
        assert follower.end_offset == alike, (mine, its, start)
        assert follower.epochs.latest == (mine[alike - 1] if alike else -1)


def test_what_cannot_be_compared_stays_as_far_as_it_was_read():
    """A leader that knows no epoch as late as the follower's."""
    follower, leader = log_of([3, 3, 3]), log_of([1, 1, 1, 1])
    follower.high_watermark = 2
    align(follower, leader)
    assert follower.end_offset == 2


def test_no_more_stays_than_the_leader_has():
    follower, leader = log_of([3, 3, 3]), log_of([3])
    follower.high_watermark = 3
    align(follower, leader)
    assert follower.end_offset == 1
    follower, leader = log_of([3, 3, 3]), log_of([1])
    follower.high_watermark = 2
    align(follower, leader)
    assert follower.end_offset == 1
