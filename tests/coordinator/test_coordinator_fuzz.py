"""Requests that make no sense: none raises, each is answered or parked, in its own version."""

import random

import pytest
from consumer_groups_world import ConsumerWorld, id_of
from coordinator_world import subscription
from longer import quickly

from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codec import decode, encode

APIS = [
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.OFFSET_DELETE,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.DELETE_GROUPS,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    *[ApiKey.CONSUMER_GROUP_HEARTBEAT] * 5,
]
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
LONG = "x" * 32_767


class Fuzz:
    """Random requests whose names and numbers often meet what the coordinator knows."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.world = ConsumerWorld(
            {"t": 3, "g": 1},
            group_initial_rebalance_delay_ms=self.rng.choice([0, 100]),
            group_min_session_timeout_ms=self.rng.choice([0, 6_000]),
            offsets_retention_minutes=1,
            offsets_retention_check_interval_ms=5_000,
            group_consumer_assignment_interval_ms=self.rng.choice([0, 1_000]),
        )

    def names(self):
        known = ["", "g", "h", "t", "consumer", "range", "i", LONG, "\U0001f600"]
        for group in self.world.groups():
            known += [group.group_id, *group.members, *group.pending_join]
        for group in self.world.consumer_groups():
            known += [group.group_id, *group.members]
        return known

    def struct(self, root, cls, version):
        rows = [row for row in cls.FIELDS if row[2] <= version <= row[3]]
        return cls(**{row[0]: self.value(root, row, version) for row in rows})

    def value(self, root, row, version):
        if row[4] <= version <= row[5] and self.rng.random() < 0.4:
            return None
        item = row[1].removeprefix("[]")
        if item != row[1]:
            count = self.rng.choice((0, 1, 1, 1, 2, 3))
            return [self.item(root, item, row[0], version) for _ in range(count)]
        return self.item(root, item, row[0], version)

    def item(self, root, kind, name, version):
        if kind in BITS:
            high = (1 << (BITS[kind] - 1)) - 1
            if name.endswith("timeout_ms") and self.rng.random() < 0.8:
                return self.rng.choice((0, 6_000, 20_000))
            return self.rng.choice((-1, -1, 0, 0, 0, 1, 1, 2, 3, 4, -2, high, -high - 1))
        if kind == "bool":
            return self.rng.random() < 0.5
        if kind == "string":
            return self.rng.choice(self.names())
        if kind == "bytes":
            return self.rng.choice((b"", b"\0", subscription("t"), subscription("t", "g")))
        if kind == "uuid":
            return self.rng.choice((m.ZERO_UUID, id_of("t"), id_of("g")))
        return self.struct(root, getattr(root, kind), version)

    def step(self):
        api = API_TABLE[self.rng.choice(APIS)]
        version = self.rng.randint(api.min_version, api.max_version)
        request = self.struct(api.request, api.request, version)
        sent = decode(api.request, version, encode(request, version))
        token = self.world.send(sent, version, client=self.rng.choice(["c", "", LONG]))
        if api.key not in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP):
            assert not self.world.parked(token)
        if self.rng.random() < 0.2:
            self.world.after(self.rng.choice((1, 50, 3_000, 30_000)))


@pytest.mark.parametrize("seed", quickly(8, of=25))
def test_requests_that_make_no_sense(seed):
    fuzz = Fuzz(seed)
    for _ in range(200):
        fuzz.step()
    fuzz.world.after(2_000_000)
    w = fuzz.world
    timeouts = [x.rebalance_timeout_ms for g in w.groups() for x in g.members.values()]
    if not any(timeout > 2_000_000 for timeout in timeouts):
        assert w.coordinator.parked == 0
    ConsumerWorld(loaded=w.journal)
