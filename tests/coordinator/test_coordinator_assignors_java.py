"""The coordinator's assignors beside Kafka's own (tests/java/AssignConsumers.java), round by round.

Members and topics are walked in the same order, so that the plans are the same, too.
"""

import json
import random
import subprocess
from collections import Counter

import java_programs
import pytest

from kcore.coordinator.consumer.assignors import ASSIGNORS, Subscriber
from kcore.coordinator.share.assignor import assign as simple

pytestmark = pytest.mark.kafka
ROUNDS = 400


@pytest.fixture(scope="module")
def java(installation):
    """Asks Kafka's assignors for a plan: {member id: {(topic, partition)}}."""
    command = java_programs.command(installation, "AssignConsumers")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:

        def ask(name, sizes, members):
            group = {
                "assignor": name,
                "topics": list(sizes.items()),
                "members": {
                    member_id: {
                        "instance": instance,
                        "topics": sorted(topics),
                        "target": sorted(target),
                    }
                    for member_id, (instance, topics, target) in members.items()
                },
            }
            process.stdin.write(json.dumps(group) + "\n")
            plan = json.loads(process.stdout.readline())
            return {one: {tuple(at) for at in given} for one, given in plan.items()}

        yield ask
        process.stdin.close()
        assert process.wait(20) == 0


def ours(name, sizes, members):
    def id_of(topic):
        return topic.to_bytes(16, "big")

    found = ASSIGNORS[name](
        [
            Subscriber(
                member_id,
                instance,
                frozenset(map(id_of, topics)),
                frozenset((id_of(topic), number) for topic, number in target),
            )
            for member_id, (instance, topics, target) in members.items()
        ],
        {id_of(topic): size for topic, size in sizes.items()},
    )
    return {
        one: {(int.from_bytes(topic, "big"), number) for topic, number in target}
        for one, target in found.items()
    }


class Group:
    """Members that come, go and change their minds; topics that grow."""

    def __init__(self, rng):
        self.rng = rng
        self.alike = rng.random() < 0.5
        self.sizes = {topic: rng.randint(1, 8) for topic in range(1, rng.randint(2, 6))}
        self.common = self.some()
        self.members = {}
        for _ in range(rng.randint(1, 6)):
            self.join()

    def some(self):
        return set(self.rng.sample(sorted(self.sizes), self.rng.randint(1, len(self.sizes))))

    def join(self):
        member_id = f"m{self.rng.randrange(1_000):03}"
        instance = f"i{self.rng.getrandbits(64)}" if self.rng.random() < 0.3 else None
        topics = self.common if self.alike else self.some()
        self.members.setdefault(member_id, (instance, topics, set()))

    def change(self):
        what = self.rng.randrange(4)
        if what == 0 and len(self.members) > 1:
            del self.members[self.rng.choice(sorted(self.members))]
        elif what == 1:
            self.join()
        elif what == 2:
            self.sizes[self.rng.choice(sorted(self.sizes))] += self.rng.randint(1, 3)
        elif self.alike:
            self.common = self.some()
            self.members = {
                one: (instance, self.common, target)
                for one, (instance, _, target) in self.members.items()
            }
        else:
            one = self.rng.choice(sorted(self.members))
            instance, _, target = self.members[one]
            self.members[one] = (instance, self.some(), target)

    def take(self, plan):
        self.members = {
            one: (instance, topics, plan[one])
            for one, (instance, topics, _) in self.members.items()
        }


@pytest.mark.parametrize("name", ["uniform", "range"])
def test_round_by_round(java, name):
    rng = random.Random(7)
    for _ in range(ROUNDS // 8):
        group = Group(rng)
        for _ in range(8):
            plan = ours(name, group.sizes, group.members)
            assert plan == java(name, group.sizes, group.members), (group.sizes, group.members)
            group.take(plan)
            group.change()


def shares(sizes, members):
    """What `simple` makes of a group, for share groups."""

    def id_of(topic):
        return topic.to_bytes(16, "big")

    found = simple(
        {one: frozenset(map(id_of, topics)) for one, (_, topics, _) in sorted(members.items())},
        {
            one: frozenset((id_of(topic), number) for topic, number in target)
            for one, (_, _, target) in members.items()
        },
        {id_of(topic): range(size) for topic, size in sizes.items()},
    )
    return {
        one: {(int.from_bytes(topic, "big"), number) for topic, number in target}
        for one, target in found.items()
    }


def weights(plan):
    """How much members have, and how many members partitions have, whoever and whichever."""
    held = Counter(at for target in plan.values() for at in target)
    return sorted(map(len, plan.values())), sorted(held.values()), set(held)


def test_simple_weighs_the_same(java):
    """Who gets which of partitions that weigh the same is a matter of Java's hashes."""
    rng = random.Random(9)
    alike = 0
    for _ in range(ROUNDS // 8):
        group = Group(rng)
        for _ in range(8):
            plan = shares(group.sizes, group.members)
            other = java("simple", group.sizes, group.members)
            assert set(plan) == set(other)
            assert weights(plan)[2] == weights(other)[2]
            for one, (_, topics, _) in group.members.items():
                assert {topic for topic, _ in plan[one]} <= topics
            if group.alike:
                alike += 1
                assert weights(plan) == weights(other), (group.sizes, group.members)
            group.take(plan)
            group.change()
    assert alike > 50


@pytest.mark.slow
def test_a_difference_would_be_seen(java):
    members = {"a": (None, {1}, set()), "b": (None, {1}, set())}
    assert java("range", {1: 3}, members) == {"a": {(1, 0), (1, 1)}, "b": {(1, 2)}}
    assert java("uniform", {1: 3}, members) != java("range", {1: 3}, members)
