"""Consumers that are kept between tasks: whose they are, how many, and what they hold."""

import threading
import time

import pytest
from pipeline_support import (
    DEADLINE_S,
    create_topic,
    delete_topic,
    options,
    read,
    rows_of,
    topic_of,
    values,
)

from kcore.errors import ConsumerStoppedError, NoOffsetForPartitionError
from kcore.pipeline import leases as leases_module
from kcore.pipeline import reading
from kcore.pipeline.errors import DataLossError
from kcore.pipeline.planning import OffsetRange
from kcore.pipeline.reading import read_range
from kcore.structs import TopicPartition

pytestmark = pytest.mark.usefixtures("own_leases")


def test_what_was_fetched_beyond_a_range_begins_the_next(broker, hundred):
    wanted = options(broker.bootstrap, hundred)
    assert read(wanted, hundred, 0, 10) == values(0, 10)
    broker.refuse("Fetch", "NOT_LEADER_OR_FOLLOWER", times=1_000_000)
    try:
        assert read(wanted, hundred, 10, 100) == values(10, 100)
    finally:
        broker.no_mishaps()


def test_back_again_while_nothing_comes(broker, hundred, monkeypatch):
    """Where it was before says nothing of where it is now."""
    monkeypatch.setattr(reading, "_POLL_MS", 0)
    wanted = options(broker.bootstrap, hundred)
    for begin, end in [(0, 70), (10, 15), (99, 100), (0, 100)]:
        assert read(wanted, hundred, begin, end) == values(begin, end)


def test_idle_ones_are_closed_and_few_are_kept(broker, hundred, own_leases, monkeypatch):
    wanted = options(broker.bootstrap, hundred)
    lent = [own_leases.take(wanted, TopicPartition(hundred, 0)) for _ in range(3)]
    monkeypatch.setattr(leases_module, "KEPT_MAX", 2)
    for one in lent:
        own_leases.give_back(one, usable=True)
    (kept,) = own_leases._kept.values()
    assert len(kept) == 2
    for one in kept:
        one.used_at -= leases_module.IDLE_S + 1
    fresh = own_leases.take(wanted, TopicPartition(hundred, 0))
    assert fresh not in lent
    assert not own_leases._kept
    own_leases.give_back(fresh, usable=False)
    assert not own_leases._kept


def test_idle_is_who_was_not_used_for_long_however_long_it_was_lent(broker, hundred, own_leases):
    tp = TopicPartition(hundred, 0)
    wanted = options(broker.bootstrap, hundred)
    mine = own_leases.take(wanted, tp)
    mine.used_at -= leases_module.IDLE_S + 1
    own_leases.give_back(mine, usable=True)
    assert own_leases.take(wanted, tp) is mine
    own_leases.give_back(mine, usable=True)


def test_those_that_are_not_kept_are_closed(broker, hundred, own_leases, monkeypatch):
    """Not usable any more, idle for long, too many, or all of them."""
    tp = TopicPartition(hundred, 0)
    wanted = options(broker.bootstrap, hundred)
    made = [own_leases.take(wanted, tp) for _ in range(4)]
    broken, idle, first, last = made
    own_leases.give_back(broken, usable=False)
    own_leases.give_back(idle, usable=True)
    idle.used_at -= leases_module.IDLE_S + 1
    made.append(own_leases.take(wanted, tp))
    own_leases.give_back(made[-1], usable=False)
    monkeypatch.setattr(leases_module, "KEPT_MAX", 1)
    own_leases.give_back(first, usable=True)
    own_leases.give_back(last, usable=True)
    own_leases.close()
    for one in made:
        with pytest.raises(ConsumerStoppedError):
            one.position()


def test_of_too_many_those_used_longest_ago_go(broker, request, own_leases, monkeypatch):
    topic = topic_of(broker, request, partitions=3)
    broker.produce(topic, [(None, b"0")] * 3)
    wanted = options(broker.bootstrap, topic)
    monkeypatch.setattr(leases_module, "KEPT_MAX", 2)
    for partition in (0, 1, 0, 2):
        assert len(read(wanted, topic, 0, 1, partition=partition)) == 1
    assert [kept[0]._tp.partition for kept in own_leases._kept.values()] == [0, 2]


def test_what_was_fetched_ahead_is_bounded_and_those_used_last_keep_it(
    broker, request, own_leases, monkeypatch
):
    topic = topic_of(broker, request, partitions=4)
    values = [b"%04d" % number * 250 for number in range(200)]
    for number in range(4):
        broker.produce(topic, [(None, value) for value in values], partition=number)
    monkeypatch.setattr(leases_module, "KEPT_BYTES", 500_000)
    wanted = options(broker.bootstrap, topic)
    for begin in range(0, 200, 40):
        for number in range(4):
            found = read_range(wanted, OffsetRange(topic, number, begin, begin + 40))
            assert [row.as_py() for batch in found for row in batch.column("value")] == (
                values[begin : begin + 40]
            )
        kept = [lease for leases in own_leases._kept.values() for lease in leases]
        held = [lease.held_bytes for lease in kept]
        assert len(held) == 4
        assert sum(held) <= 500_000
        assert held == sorted(held)
        assert begin == 160 or held[-1] > 0


def test_a_forked_child_takes_none_of_its_parents(broker, hundred, own_leases):
    wanted = options(broker.bootstrap, hundred)
    assert read(wanted, hundred, 0, 10) == values(0, 10)
    ((parents,),) = own_leases._kept.values()
    own_leases._pid -= 1  # as if this were the child
    mine = own_leases.take(wanted, TopicPartition(hundred, 0))
    assert mine is not parents
    assert not own_leases._kept
    own_leases.give_back(mine, usable=True)
    assert read(wanted, hundred, 0, 20) == values(0, 20)
    parents.seek(10)  # the parent's goes on: the child has not closed its connections
    batch, _ = parents.cut(parents.poll(5_000), 20)
    assert [row["offset"] for row in rows_of([batch])] == [*range(10, 20)]
    parents.close()


def test_threads_never_share_one(broker, hundred, own_leases):
    wanted = options(broker.bootstrap, hundred)
    wrong = []

    def work():
        wrong.extend(True for _ in range(5) if read(wanted, hundred, 20, 80) != values(20, 80))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert not wrong


def make_anew(broker, topic, count):
    delete_topic(broker.bootstrap, topic)
    create_topic(broker.bootstrap, topic)
    broker.produce(topic, [(None, b"%d" % number) for number in range(count)], partition=0)


@pytest.mark.parametrize("loss", ["true", "false"])
def test_a_topic_made_anew_goes_on_where_its_log_has_the_range(broker, hundred, quick_doubt, loss):
    """Where a consumer is kept that knows better, too: by offsets alone, which is all that a
    checkpoint has, it cannot be told from the old one. docs/spark.md says so.
    """
    wanted = options(broker.bootstrap, hundred, failOnDataLoss=loss)
    assert read(wanted, hundred, 0, 100) == values(0, 100)
    make_anew(broker, hundred, 130)
    assert read(wanted, hundred, 100, 130) == values(100, 130)


def test_a_topic_made_anew_that_is_shorter_is_loss(broker, hundred, quick_doubt):
    wanted = options(broker.bootstrap, hundred)
    assert read(wanted, hundred, 0, 100) == values(0, 100)
    make_anew(broker, hundred, 20)
    with pytest.raises(DataLossError, match="records 100 to 130 are gone; the log ends at 20"):
        read(wanted, hundred, 100, 130)
    wanted = options(broker.bootstrap, hundred, failOnDataLoss="false")
    assert read(wanted, hundred, 100, 130) == []


def test_nobody_waits_for_a_position_that_is_lost(broker, hundred, own_leases):
    lease = own_leases.take(options(broker.bootstrap, hundred), TopicPartition(hundred, 0))
    lease.seek(60)
    assert lease.poll(5_000)
    make_anew(broker, hundred, 130)
    until = time.monotonic() + DEADLINE_S
    while lease.limits() != (0, 130) or "unknown" not in lease.health():
        assert time.monotonic() < until
    began = time.monotonic()
    assert lease.position() == 60
    with pytest.raises(NoOffsetForPartitionError):  # says why, at once
        lease.poll(50)
    assert time.monotonic() - began < 10
    own_leases.give_back(lease, usable=False)
