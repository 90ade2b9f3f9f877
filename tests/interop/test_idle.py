"""Members to whom nothing happens, on a real Kafka: they stay, and what they have read stays
committed, though neither heartbeats nor commits are put together or taken apart.
"""

import time

import pytest

from kcore import Consumer, TopicPartition
from kcore.group.member import GroupMember
from kcore.group.repeated import Repeated

SESSION_S = 2.0
IDLE_S = 1.5 * SESSION_S


@pytest.fixture
def short(monkeypatch):
    """How often an answer was taken unread, by kind."""
    counts = {"answers": 0, "turns saved": 0}
    again, repeat = Repeated.again, GroupMember.repeat

    def counted_again(self, *args):
        found = again(self, *args)
        counts["answers"] += found is not None
        return found

    def counted_repeat(self, now_ms):
        found = repeat(self, now_ms)
        counts["turns saved"] += found
        return found

    monkeypatch.setattr(Repeated, "again", counted_again)
    monkeypatch.setattr(GroupMember, "repeat", counted_repeat)
    return counts


@pytest.mark.timeout(120)
@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_who_has_nothing_to_do_stays_a_member(kafka, names, records, short, count):
    kafka.create_topic(names.topic, 4)
    kafka.produce(names.topic, records(100))
    ends = kafka.end_offsets(names.topic)
    members = [
        Consumer(
            names.topic,
            bootstrap_servers=kafka.bootstrap,
            group_id=names.group,
            auto_offset_reset="earliest",
            session_timeout_ms=int(SESSION_S * 1000),
            heartbeat_interval_ms=400,
            auto_commit_interval_ms=300,
        )
        for _ in range(count)
    ]
    read = 0

    def poll_until(enough, seconds):
        nonlocal read
        end_s = time.monotonic() + seconds
        while not enough() and time.monotonic() < end_s:
            for member in members:
                read += sum(map(len, member.poll(timeout_ms=100).values()))

    poll_until(lambda: read >= 100 and all(m.assignment() for m in members), 30)
    poll_until(lambda: False, 1)
    before = [member.group_metadata() for member in members]
    short.update(dict.fromkeys(short, 0))
    poll_until(lambda: False, IDLE_S)
    assert [member.group_metadata() for member in members] == before
    # A commit a second, as nothing is new, and two heartbeats, of each; most of them the short way.
    assert short["answers"] > count * 2 * IDLE_S
    assert short["turns saved"] > 2 * IDLE_S
    for number, end in ends.items():
        assert members[0].committed(TopicPartition(names.topic, number)) == end
    for member in members:
        member.close()
    kafka.produce(names.topic, records(1))
    with Consumer(
        names.topic,
        bootstrap_servers=kafka.bootstrap,
        group_id=names.group,
        auto_offset_reset="earliest",
    ) as after:
        end_s = time.monotonic() + 30
        found = {}
        while not found and time.monotonic() < end_s:
            found = after.poll(timeout_ms=100)
        assert sum(map(len, found.values())) == 1, "where it was committed"
