"""Members of both protocols in one group, which changes its own as they come and go: no partition
is ever read by two members, and all of it ends well.
"""

import pytest
from consumer_groups_world import parts
from longer import quickly
from test_coordinator_consumer_chaos import SESSION_MS, Chaos, Client

from kcore.assignors import MemberSubscription
from kcore.assignors.blobs import encode_subscription
from kcore.coordinator.consumer.blobs import (
    ids_and_partitions,
    read_assignment,
    read_subscription,
    write_assignment,
)
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.states import GroupState
from kcore.wire.codes import ErrorCode

STEPS = 150


class Classic:
    """A member of the classic protocol that gives up everything before it joins again."""

    def __init__(self, world, name, topics):
        self.world = world
        self.name = name  # not its id, which the coordinator makes
        self.topics = list(topics)
        self.instance = None
        self.epoch = 0  # 1: it is in the group
        self.heard_ms = world.now
        self.forget()

    def forget(self):
        self.member_id, self.generation, self.owned = "", 0, set()
        self.joining = self.syncing = None
        self.full = True  # it is to join

    def step(self, lost=False):
        if self.joining is not None or self.syncing is not None:
            self.take_answers()  # it has nothing, and waits
            return
        if self.member_id and self.world.now - self.heard_ms >= SESSION_MS:
            self.forget()
        if self.full:
            self.owned = set()
            said = encode_subscription(MemberSubscription(topics=tuple(self.topics)))
            self.joining = self.world.join(
                self.member_id, protocols=[("range", said)], st=SESSION_MS, rt=10 * SESSION_MS
            )
            self.full = False
            self.take_answers()
        else:
            error = self.world.heartbeat(self.member_id, self.generation)
            if not lost:
                self.heard(error)

    def heard(self, error):
        self.heard_ms = self.world.now
        if error in {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND}:
            self.forget()
        elif error:
            assert error in {
                ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION,
                ErrorCode.NOT_COORDINATOR,
            }, error  # fmt: skip
            self.full = True

    def take_answers(self):
        joined = self.world.replies.get(self.joining)
        if joined is not None:
            self.joining = None
            self.heard(joined.error_code)
            if not joined.error_code:
                self.member_id, self.generation = joined.member_id, joined.generation_id
                self.syncing = self.world.sync(
                    self.member_id, self.generation, self.plan(joined.members)
                )
        synced = self.world.replies.get(self.syncing)
        if synced is not None:
            self.syncing = None
            self.heard(synced.error_code)
            if not synced.error_code:
                named = read_assignment(synced.assignment).assigned_partitions
                self.owned = ids_and_partitions(
                    [(part.topic, part.partitions) for part in named], self.world.sizes
                )

    def plan(self, members):
        """What this member gives to all, as it leads a classic group: topic by topic."""
        given = {member.member_id: {} for member in members}
        for topic in self.world.sizes.names():
            wanting = [
                member.member_id
                for member in members
                if topic in read_subscription(member.metadata).topics
            ]
            for number in range(self.world.sizes.partition_count(topic) if wanting else 0):
                at = wanting[number % len(wanting)]
                given[at].setdefault(topic, []).append(number)
        return {
            one: write_assignment(parts(**topics), self.world.sizes, 1)
            for one, topics in given.items()
        }


class Native(Client):
    """A member of the consumer protocol that does not join while a classic group rebalances.

    A group that is downgraded and upgraded again before its members have joined anew takes them to
    have what they were to get, not what they have: two may read a partition until the older one
    hears of it, and only the newer one can commit. A Kafka (4.3) does the same.
    """

    def step(self, lost=False):
        group = self.world.coordinator.group("g")
        if group is None or group.state is not GroupState.PREPARING_REBALANCE:
            super().step(lost)


class Mixed(Chaos):
    client = Native

    def new_client(self):
        if self.rng.random() < 0.5:
            super().new_client()
            return
        self.made += 1
        wanted = self.rng.sample(["foo", "bar"], self.rng.randint(1, 2))
        self.clients.append(Classic(self.world, f"c{self.made}", wanted))

    def leave(self, client):
        if not isinstance(client, Classic):
            super().leave(client)
            return
        self.clients.remove(client)
        if client.member_id and self.rng.random() < 0.7:
            self.world.leave((client.member_id, None))

    def settle(self):
        """As many of both as there are; classic members come again on their own."""
        for _ in range(4 * SESSION_MS // 1_000):
            self.world.after(1_000)
            for client in self.clients:
                client.step()
            self.check()
        kinds = {type(client) for client in self.clients}
        wanted = {topic for client in self.clients for topic in client.topics}
        owned = set().union(*(client.owned for client in self.clients))
        expected = {
            (self.world.sizes.id_of(topic), number)
            for topic in wanted
            for number in range(self.world.sizes.partition_count(topic))
        }
        if kinds == {Classic}:
            # Nobody has told a classic leader of topics that grew.
            assert {topic for topic, _ in owned} == {topic for topic, _ in expected}
        else:
            assert owned == expected


def run(seed):
    chaos = Mixed(seed)
    chaos.world.appending = not chaos.world.immediate
    for _ in range(STEPS):
        chaos.step()
    chaos.settle()


@pytest.mark.parametrize("seed", quickly(6, of=25))
def test_no_partition_has_two_readers(seed):
    run(seed)


def test_a_coordinator_that_gives_too_early_is_found(monkeypatch):
    monkeypatch.setattr(ConsumerGroup, "is_held", lambda _group, _partition: False)
    monkeypatch.setattr(Mixed, "settle", lambda _chaos: None)

    def run_them():
        for seed in range(25):
            run(seed)

    with pytest.raises(AssertionError):
        run_them()
