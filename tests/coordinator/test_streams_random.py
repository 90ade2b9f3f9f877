"""Members of streams groups that come and go as they like, and what comes of it."""

import random

import pytest
from longer import quickly
from streams_groups_world import STATEFUL, STATELESS, WORDS, StreamsWorld, owning

from kcore.coordinator.streams.states import StreamsGroupState
from kcore.wire.codes import ErrorCode as E


class Client:
    """A member that does what it is told, some time."""

    def __init__(self, world, name, process, said):
        self.world, self.name, self.process, self.said = world, name, process, said
        self.epoch = 0
        self.has = ([], [])  # active, standby

    def beat(self):
        if self.epoch:
            token = self.world.put_beat(self.name, self.epoch, **owning(*self.has))
        else:
            self.has = ([], [])
            token = self.world.put_enter(self.name, self.said, process_id=self.process)
        found = self.world.answer(token)
        if isinstance(found, E):
            assert found in {E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID}
            self.epoch = 0
            return
        self.epoch, active, standby = found
        if active is not None:
            self.has = active, standby


@pytest.mark.parametrize("release", [(4, 3), (4, 4)], ids="{0[0]}.{0[1]}".format)
@pytest.mark.parametrize("seed", quickly(4, of=12))
def test_members_come_and_go_as_they_like(seed, release):
    rng = random.Random(seed)
    said = rng.choice((STATELESS, STATEFUL, WORDS))
    w = StreamsWorld({"in": rng.randint(1, 9)}, release=release)
    w.set_for["g"] = {"num_standby_replicas": rng.choice((0, 1, 2))}
    clients = {}
    for step in range(120):
        name = f"m{rng.randrange(6)}"
        client = clients.get(name)
        if client is None:
            clients[name] = Client(w, name, f"p{rng.randrange(3)}", said)
        elif rng.random() < 0.08:
            del clients[name]
            w.beat(name, -1)
            continue
        clients[name].beat()
        if rng.random() < 0.1:
            w.until(w.now + rng.choice((100, 20_000)))
        if step == 60:
            w.set_for["g"] = {"num_standby_replicas": 1}
        w.check()
    if not clients:
        return
    for _ in range(12):
        for client in clients.values():
            client.beat()
    w.check()
    group = w.streams
    assert group.state is StreamsGroupState.STABLE
    assert group.members.keys() == clients.keys()
    parts = group.configured.parts.items()
    every = {(name, number) for name, one in parts for number in range(one.task_count)}
    assert set(group.active_in) == every
