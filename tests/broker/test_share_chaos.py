"""Share groups in random histories at the nodes: members that come, go and lie, leaders that move,
time that passes. A simple book beside them says who may have what.
"""

import random
from collections import Counter

import pytest
from longer import quickly
from share_world import ACCEPT, REJECT, RELEASE, RENEW, Member, ShareWorld, told

from kcore.wire.codes import ErrorCode as E

LOCK = 15_000
ENABLE = "errors.deadletterqueue.group.enable"
PARTITIONS = 2
NOT_HERE = {E.NOT_LEADER_OR_FOLLOWER, E.SHARE_SESSION_NOT_FOUND, E.UNKNOWN_TOPIC_OR_PARTITION}


class Book:
    """What members were told: who has which offset until when, and what is done."""

    def __init__(self, limit):
        self.limit = limit
        self.holders = {}
        self.done = set()
        self.seen = set()
        self.accepted = set()
        self.rejected = set()

    def acquired(self, who, part, first, last, count, now_ms):
        for offset in range(first, last + 1):
            key = (*part, offset)
            holder = self.holders.get(key)
            assert holder is None or holder[1] <= now_ms, f"{key} has {holder}, {who} gets it too"
            assert key not in self.done, f"{key} is done, and {who} gets it"
            assert 1 <= count <= self.limit
            self.holders[key] = who, now_ms + LOCK, count
            self.seen.add(key)

    def held_by(self, who, part, now_ms):
        return sorted(
            offset
            for (topic, number, offset), (owner, until_ms, _) in self.holders.items()
            if owner == who and (topic, number) == part and until_ms > now_ms
        )

    def said(self, part, offset, kind, now_ms):
        key = (*part, offset)
        who, _, count = self.holders[key]
        if kind == RENEW:
            self.holders[key] = who, now_ms + LOCK, count
            return
        del self.holders[key]
        if kind != RELEASE or count >= self.limit:
            self.done.add(key)
        if kind == ACCEPT:
            self.accepted.add(key)
        if kind == REJECT:
            self.rejected.add(key)

    def gone(self, who):
        for key in [key for key, holder in self.holders.items() if holder[0] == who]:
            del self.holders[key]

    def moved(self, part):
        for key in [key for key in self.holders if key[:2] == part]:
            del self.holders[key]


class Chaos:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.limit = self.rng.choice([2, 3, 5])
        self.world = ShareWorld(nodes=3, partitions=PARTITIONS, assignments=[[1, 2], [2, 1]])
        self.world.topic("dlq.g", 2, assignments=[[1], [3]], settings={ENABLE: "true"})
        self.world.set_for(
            "g",
            record_lock_duration_ms=str(LOCK),
            delivery_count_limit=str(self.limit),
            partition_max_record_locks="100",
        )
        self.world.cluster.settings.groups["g"]["errors.deadletterqueue.topic.name"] = "dlq.g"
        self.outages = False
        self.parts = [("t", number) for number in range(PARTITIONS)]
        self.book = Book(self.limit)
        self.members = {}
        self.names = 0
        self.written = 0

    def leader(self, part):
        return self.world.cluster.partition(*part).leader

    def session(self, name, part):
        """The member's session with the node that leads a partition."""
        node_id = self.leader(part)
        sessions = self.members[name]
        if node_id not in sessions:
            sessions[node_id] = Member(self.world, name, node_id=node_id)
        return sessions[node_id]

    def step(self):
        steps = {
            self.write: 20, self.join: 8, self.fetch: 35, self.say: 30, self.leave: 3,
            self.pass_on: 12, self.move: 2, self.lie: 4, self.outage: 2,
        }  # fmt: skip
        (step,) = self.rng.choices(list(steps), list(steps.values()))
        step()
        assert not self.world.faults

    def write(self):
        part = self.rng.choice(self.parts)
        count = self.rng.randrange(1, 8)
        self.world.put(*(f"r{n}" for n in range(count)), partition=part[1])
        self.written += count

    def join(self):
        if len(self.members) < 4:
            self.names += 1
            self.members[f"m{self.names}"] = {}

    def fetch(self):
        if not self.members:
            return
        name, part = self.rng.choice(list(self.members)), self.rng.choice(self.parts)
        session = self.session(name, part)
        most = self.rng.randrange(1, 20)
        mode = self.rng.randrange(2)
        answer = session.fetch(part, max_records=most, share_acquire_mode=mode)
        assert answer.error_code == E.NONE, answer
        total = 0
        for topic in answer.responses:
            for one in topic.partitions:
                found = ("t", one.partition_index)
                if one.error_code:  # of a partition in the session that is led elsewhere now
                    assert one.error_code == E.NOT_LEADER_OR_FOLLOWER
                    assert self.leader(found) != session.client.node.node_id
                for got in one.acquired_records:
                    total += got.last_offset - got.first_offset + 1
                    self.book.acquired(
                        name, found, got.first_offset, got.last_offset, got.delivery_count,
                        self.world.now_ms,
                    )  # fmt: skip
        assert not mode or total <= most

    def say(self):
        holders = [
            (name, part, held)
            for name in self.members
            for part in self.parts
            if (held := self.book.held_by(name, part, self.world.now_ms))
        ]
        if not holders:
            return
        name, part, held = self.rng.choice(holders)
        held = held[: self.rng.randrange(1, len(held) + 1)]
        kinds = [self.rng.choice([ACCEPT, ACCEPT, RELEASE, REJECT, RENEW]) for _ in held]
        session = self.session(name, part)
        if not session.epoch:
            session.take(part, max_records=0)
        said = {part: [(offset, offset, kind) for offset, kind in zip(held, kinds, strict=True)]}
        answer = session.acknowledge(said, is_renew_ack=True)
        assert answer.error_code == E.NONE, answer
        (one,) = answer.responses[0].partitions
        assert one.error_code == E.NONE, (one, name, part, held)
        for offset, kind in zip(held, kinds, strict=True):
            self.book.said(part, offset, kind, self.world.now_ms)

    def leave(self):
        if not self.members:
            return
        name = self.rng.choice(list(self.members))
        for session in self.members.pop(name).values():
            if self.rng.random() < 0.5 and session.epoch:
                assert session.fetch(epoch=-1).error_code == E.NONE
            session.client.close()
        self.book.gone(name)

    def pass_on(self):
        self.world.run(self.rng.choice([10, 1_000, LOCK // 2, LOCK]))

    def move(self):
        part = self.rng.choice(self.parts)
        topic = self.world.cluster.topics.get("t")
        self.world.cluster.move_leader(topic, part[1], 3 - self.leader(part), self.world.now_ms)
        self.world.drain()
        self.book.moved(part)

    def outage(self):
        """Of a node that has only what is written of what was given up."""
        cluster = self.world.cluster
        self.outages = True
        if 3 in cluster.live:
            cluster.stop_node(3, self.world.now_ms)
        else:
            cluster.start_node(3, self.world.now_ms)

    def lie(self):
        """Nobody is believed who speaks of what he does not have."""
        if not self.members:
            return
        name, part = self.rng.choice(list(self.members)), self.rng.choice(self.parts)
        mine = self.book.held_by(name, part, self.world.now_ms)
        others = [
            key[2]
            for key, holder in self.book.holders.items()
            if key[:2] == part and holder[0] != name and holder[1] > self.world.now_ms
        ]
        wrong = [offset for offset in others if offset not in mine]
        session = self.session(name, part)
        if not wrong or not session.epoch:
            return
        offset = self.rng.choice(wrong)
        answer = session.acknowledge({part: [(offset, offset, ACCEPT)]})
        (one,) = answer.responses[0].partitions
        assert one.error_code in {E.INVALID_RECORD_STATE, E.INVALID_REQUEST, *NOT_HERE}

    def finish(self):
        """In peace one member reads what is left, and then there is nothing."""
        for name in list(self.members):
            for session in self.members.pop(name).values():
                session.client.close()
            self.book.gone(name)
        if 3 not in self.world.cluster.live:
            self.outage()
        self.world.run(3 * LOCK)
        self.members["last"] = {}
        for part in self.parts:
            session = self.session("last", part)
            for _ in range(300):
                got = session.take(part)
                if part not in got:
                    break
                for first, last, count in got[part]:
                    self.book.acquired("last", part, first, last, count, self.world.now_ms)
                    assert session.say(first, last, ACCEPT, part=part) == E.NONE
                    for offset in range(first, last + 1):
                        self.book.said(part, offset, ACCEPT, self.world.now_ms)
            share = self.world.share(part, node_id=self.leader(part))
            assert (share.in_flight, share.start_offset) == (0, self.end(part))
        assert len(self.book.seen) == self.written
        self.count_letters()
        assert not self.world.faults

    def count_letters(self):
        """One for each that was given up; none is missing but where nobody could write it."""
        letters = [one for number in (0, 1) for one in told(self.world, number)]
        found = Counter(("t", *one[:2]) for one in letters)
        assert set(found.values()) <= {1}
        assert not found.keys() & self.book.accepted
        left = self.book.seen - self.book.accepted - found.keys()
        assert {key[1] for key in left} <= ({1} if self.outages else set())
        assert self.book.rejected - left <= found.keys()

    def end(self, part):
        return self.world.cluster.partition(*part).log.end_offset


@pytest.mark.parametrize("seed", quickly(7, of=20))
def test_histories(seed):
    chaos = Chaos(seed)
    for _ in range(250):
        chaos.step()
    chaos.finish()


def test_a_broken_promise_is_seen():
    book = Book(2)
    book.acquired("a", ("t", 0), 0, 3, 1, 0)
    with pytest.raises(AssertionError, match="gets it too"):
        book.acquired("b", ("t", 0), 3, 3, 1, 0)
    book.said(("t", 0), 0, ACCEPT, 0)
    with pytest.raises(AssertionError, match="is done"):
        book.acquired("b", ("t", 0), 0, 0, 2, 0)
