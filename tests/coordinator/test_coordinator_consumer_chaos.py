"""Members that behave, in a world that does not: answers are lost, members die and come back, the
coordinator moves, its journal is slow or fails, topics grow. No partition is ever read by two
members, and all of it ends well.
"""

import random

import pytest
from consumer_groups_world import ConsumerWorld
from coordinator_world import World
from longer import quickly

from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.states import ConsumerGroupState
from kcore.wire.codes import ErrorCode

TOPICS = ["foo", "bar", "baz"]
SESSION_MS = 45_000
STEPS = 150


class Client:
    """A member's side: what it has, and what it says next. It gives up what it is not assigned any
    more with a heartbeat of its own, and reads what it is assigned.
    """

    def __init__(self, world, name, topics, instance=None):
        self.world = world
        self.name = name
        self.topics = list(topics)
        self.instance = instance
        self.epoch = 0
        self.owned = set()
        self.heard_ms = world.now
        self.full = True
        self.told = False  # what it has, as of now

    def request(self):
        more = {} if self.instance is None else {"instance_id": self.instance}
        owned = None if self.told else dict.fromkeys(self.owned, 0)
        if self.full or self.epoch == 0:
            # Where answers are lost, a member may be asked for partitions and not know: it is not
            # to be out for that before its session is over, which it does know.
            more["rebalance_timeout_ms"] = SESSION_MS + 15_000
            return (self.name, self.epoch, self.topics, {} if self.epoch == 0 else owned), more
        return (self.name, self.epoch, None, owned), more

    def send(self, lost):
        args, more = self.request()
        token = self.world.put_beat(*args, **more)
        answer = self.world.replies.get(token)
        if answer is None or lost:
            self.full = True
            self.told = False
            return
        self.full = False
        self.heard_ms = self.world.now
        if answer.error_code in {
            ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.GROUP_ID_NOT_FOUND,
        }:  # fmt: skip
            self.forget()
        elif answer.error_code:
            assert answer.error_code in {
                ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.NOT_COORDINATOR,
                ErrorCode.FENCED_INSTANCE_ID, ErrorCode.COORDINATOR_NOT_AVAILABLE,
            }  # fmt: skip
            if answer.error_code == ErrorCode.FENCED_INSTANCE_ID:
                self.forget()
        else:
            self.take(answer)

    def take(self, answer):
        self.epoch = answer.member_epoch
        self.told = True
        if answer.assignment is None:
            return
        new = {
            (part.topic_id, number)
            for part in answer.assignment.topic_partitions
            for number in part.partitions
        }
        if new != self.owned:
            self.owned = new
            self.told = False

    def forget(self):
        self.epoch, self.owned, self.full = 0, set(), True

    def step(self, lost=False):
        # Who has heard nothing for as long as a session knows that it is out of the group.
        if self.world.now - self.heard_ms >= SESSION_MS:
            self.forget()
        self.send(lost)


class Chaos:
    client = Client

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.world = ConsumerWorld(
            {"foo": 4, "bar": 2},
            group_consumer_assignment_interval_ms=self.rng.choice([0, 1_000]),
            group_consumer_assignors=self.rng.choice([("uniform", "range"), ("range",)]),
            immediate=self.rng.random() < 0.3,
        )
        # A journal that takes its time; entries may fail.
        self.world.appending = self.world.immediate or self.rng.random() < 0.5
        self.clients = []
        self.made = 0

    def new_client(self):
        self.made += 1
        wanted = self.rng.sample(TOPICS, self.rng.randint(1, 3))
        instance = f"i{self.made}" if self.rng.random() < 0.3 else None
        self.clients.append(self.client(self.world, f"m{self.made}", wanted, instance))

    def leave(self, client):
        self.clients.remove(client)
        if client.epoch == 0 or self.rng.random() < 0.3:
            return  # without a word
        if client.instance is not None and self.rng.random() < 0.7:
            self.world.put_beat(client.name, -2, instance_id=client.instance)
            self.made += 1
            self.clients.append(
                self.client(self.world, f"m{self.made}", client.topics, client.instance)
            )
        else:
            more = {} if client.instance is None else {"instance_id": client.instance}
            self.world.put_beat(client.name, -1, **more)

    def move_coordinator(self):
        self.world.waiting.clear()  # what was on its way is lost, or was never there
        self.world.coordinator.handle_resigned(0, self.world.now)
        self.world.drain()
        self.world.lead()

    def step(self):
        what = self.rng.random()
        if self.world.waiting and self.rng.random() < 0.6:
            failed = self.rng.random() < 0.1
            self.world.settle(ErrorCode.NOT_ENOUGH_REPLICAS if failed else ErrorCode.NONE, count=1)
        if not self.clients or (what < 0.06 and len(self.clients) < 6):
            self.new_client()
        elif what < 0.10:
            self.leave(self.rng.choice(self.clients))
        elif what < 0.13:
            self.move_coordinator()
        elif what < 0.16:
            sizes = self.world.sizes
            name = self.rng.choice(TOPICS)
            sizes.resize(**{name: sizes.partition_count(name) + 1})
        elif what < 0.19:
            client = self.rng.choice(self.clients)
            client.topics = self.rng.sample(TOPICS, self.rng.randint(1, 3))
            client.full = True
        elif what < 0.25:
            self.world.after(self.rng.choice([10, 1_000, 20_000]))
        else:
            self.rng.choice(self.clients).step(lost=self.rng.random() < 0.1)
        self.check()

    def check(self):
        owners = {}
        for client in self.clients:
            if self.world.now - client.heard_ms >= SESSION_MS:
                continue  # it will find out before it reads on
            for partition in client.owned:
                assert owners.setdefault(partition, client.name) == client.name, partition

    def settle(self):
        self.world.appending = True
        self.world.settle()
        for _ in range(60):
            self.world.after(1_000)
            for client in self.clients:
                client.step()
            self.check()
        wanted = {topic for client in self.clients for topic in client.topics}
        expected = {
            (self.world.sizes.id_of(topic), number)
            for topic in wanted
            for number in range(self.world.sizes.partition_count(topic))
        }
        assert set().union(*(client.owned for client in self.clients)) == expected
        if self.clients:
            assert self.world.consumers.state is ConsumerGroupState.STABLE
            assert set(self.world.consumers.members) == {client.name for client in self.clients}


def run(seed):
    chaos = Chaos(seed)
    for _ in range(STEPS):
        chaos.step()
    chaos.settle()


@pytest.mark.parametrize("seed", quickly(12, of=40))
def test_no_partition_has_two_readers(seed):
    run(seed)


def test_a_coordinator_that_gives_too_early_is_found(monkeypatch):
    """The canary: without what is held, partitions are given before they are given up."""
    monkeypatch.setattr(ConsumerGroup, "is_held", lambda _group, _partition: False)
    monkeypatch.setattr(World, "_check_consumers", lambda _world, _group: None)

    def run_them():
        for seed in range(20):
            run(seed)

    with pytest.raises(AssertionError):
        run_them()
