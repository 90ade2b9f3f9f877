"""Handlers that take longer than the session, and longer than they may."""

import time

import gevent
import pytest

from kcore import Consumer, ConsumerRebalanceListener
from kcore.errors import CommitFailedError

SESSION_MS = 2_000
SLEEPS = {"blocking": time.sleep, "selectors": time.sleep, "gevent": gevent.sleep}


class Told(ConsumerRebalanceListener):
    """Counts what it is told."""

    def __init__(self):
        self.assigned = self.revoked = self.lost = 0

    def on_partitions_assigned(self, assigned):
        self.assigned += 1

    def on_partitions_revoked(self, revoked):
        self.revoked += 1

    def on_partitions_lost(self, lost):
        self.lost += 1


def reading(kafka, names, records, transport, **options):
    """A member that has got its first records."""
    kafka.create_topic(names.topic, 2)
    kafka.produce(names.topic, records(100))
    consumer = Consumer(
        bootstrap_servers=kafka.bootstrap,
        group_id=names.group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=10,
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=200,
        transport=transport,
        **options,
    )
    told = Told()
    consumer.subscribe([names.topic], listener=told)
    deadline_s = time.monotonic() + 20
    while not consumer.poll(100):
        assert time.monotonic() < deadline_s, "nothing was read"
    return consumer, told


@pytest.mark.parametrize(
    "transport",
    [x if x == "blocking" else pytest.param(x, marks=pytest.mark.slow) for x in SLEEPS],
)
def test_a_handler_longer_than_the_session_stays_in_the_group(kafka, names, records, transport):
    consumer, told = reading(kafka, names, records, transport)
    with consumer:
        before = consumer.group_metadata()
        SLEEPS[transport](1.5 * SESSION_MS / 1000)
        consumer.commit()  # would be refused by the coordinator if it had given us up
        assert consumer.poll(1_000)
        after = consumer.group_metadata()
        assert (after.generation_id, after.member_id) == (before.generation_id, before.member_id)
        assert (told.assigned, told.revoked, told.lost) == (1, 0, 0)


def test_a_handler_longer_than_max_poll_interval_is_told_which_timer(kafka, names, records):
    consumer, told = reading(kafka, names, records, "blocking", max_poll_interval_ms=2_000)
    with consumer:
        time.sleep(3)
        with pytest.raises(CommitFailedError, match="max_poll_interval_ms"):
            consumer.commit()
        deadline_s = time.monotonic() + 20
        while told.assigned < 2:
            assert time.monotonic() < deadline_s, "did not come back"
            consumer.poll(100)
        assert told.lost == 1
        consumer.commit()
