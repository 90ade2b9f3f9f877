"""Far behind on more partitions than an answer has room for, which take turns, while things happen.

Each record comes once and in order, whatever becomes of leaders, sessions and links meanwhile, and
records that are new come soon although others are still behind.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict

import pytest

import kcore
from kcore.embedded import EmbeddedBroker

PARTITIONS = 60
BEHIND = 120  # records of each
DEADLINE_S = 30


@pytest.fixture
def cluster(kcore_cluster):
    kcore_cluster.create_topic("many", PARTITIONS, replication_factor=3)
    for partition in range(PARTITIONS):
        rows = [(None, b"%d " % number + b"." * 100) for number in range(BEHIND)]
        for first in range(0, BEHIND, 10):
            kcore_cluster.produce("many", rows[first : first + 10], partition)
    return kcore_cluster


def reader(cluster: EmbeddedBroker) -> kcore.Consumer:
    return kcore.Consumer(
        "many",
        bootstrap_servers=cluster.bootstrap,
        auto_offset_reset="earliest",
        fetch_max_bytes=10_000,
        max_partition_fetch_bytes=2_500,
        retry_backoff_ms=10,
        max_poll_records=100,
    )


def is_narrow(consumer: kcore.Consumer) -> bool:
    """Whether any partition waits for its turn."""
    return any("its turn comes" in why for why in consumer.health().values())


def nothing(_cluster: EmbeddedBroker, _rng: random.Random) -> None:
    """All goes well."""


def move(cluster: EmbeddedBroker, rng: random.Random) -> None:
    cluster.move_leader("many", rng.randrange(PARTITIONS), rng.randint(1, 3))


def restart(cluster: EmbeddedBroker, rng: random.Random) -> None:
    """Sessions are lost, and whom it led goes to others."""
    node = rng.randint(1, 3)
    cluster.kill(node)
    cluster.revive(node)


def cut(cluster: EmbeddedBroker, _rng: random.Random) -> None:
    cluster.cut("Fetch")


@pytest.mark.parametrize("mishap", [nothing, move, restart, cut])
def test_all_comes_once_and_in_order(cluster, mishap):
    rng = random.Random(7)
    found = defaultdict(list)
    turns = 0
    end = time.monotonic() + DEADLINE_S
    with reader(cluster) as consumer:
        while sum(map(len, found.values())) < PARTITIONS * BEHIND and time.monotonic() < end:
            for tp, records in consumer.poll(timeout_ms=100).items():
                found[tp.partition] += [record.offset for record in records]
            turns += is_narrow(consumer)
            if rng.random() < 0.2:
                mishap(cluster, rng)
    assert dict(found) == {number: list(range(BEHIND)) for number in range(PARTITIONS)}
    assert turns > 10
    assert not cluster.faults


def test_new_records_overtake_a_backlog(cluster):
    """Of a partition that is read to its end; it does not wait until the others are."""
    with reader(cluster) as consumer:
        tps = sorted(consumer.partitions_for_topic("many") or ())
        ahead = kcore.TopicPartition("many", tps[0])
        consumer.poll(timeout_ms=1_000)
        consumer.seek(ahead, BEHIND)
        while not is_narrow(consumer):
            consumer.poll(timeout_ms=100)
        cluster.produce("many", [(None, b"new")], ahead.partition)
        behind, new = 0, []
        while not new:
            for tp, records in consumer.poll(timeout_ms=100).items():
                if tp == ahead:
                    new = [record.value for record in records if record.offset >= BEHIND]
                else:
                    behind += len(records)
        assert new == [b"new"]
        assert behind < 30 * BEHIND
        assert is_narrow(consumer)
