"""Answers that were damaged on their way: any bit, any length, any time.

Whatever they do to the bytes, nothing but a KafkaError comes out, nothing spins, and when the
damage ends everything is read again. The seeds make a failure the same each time.
"""

import random

import pytest
from longer import quickly
from scripted import ScriptedCluster, World

from kcore.errors import KafkaError
from kcore.records import encode_batch
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey

PARTITIONS, BATCHES, PER_BATCH = 3, 6, 5
EVERY = [TopicPartition("t", number) for number in range(PARTITIONS)]
EXTREMES = (0x00, 0x7F, 0x80, 0xFF)
# In half a minute with polls at 100 ms; a core that turned in circles would use thousands a second.
INPUTS_MAX = 20_000


def garbled(rng, frame):
    """The frame with bits flipped, bytes overwritten, put in or taken out, or cut off."""
    data = bytearray(frame)
    begin = rng.choice((0, 4, 8, 8, 8, 8))  # mostly behind length and correlation id
    at = rng.randrange(min(begin, len(data) - 1), len(data))
    length = rng.choice((1, 1, 2, 4, 8))
    kind = rng.randrange(8)
    if kind < 4:
        for _ in range(length):
            data[rng.randrange(min(begin, len(data) - 1), len(data))] ^= 1 << rng.randrange(8)
        return bytes(data)
    if kind == 4:
        for place in range(at, min(len(data), at + length)):
            data[place] = rng.choice(EXTREMES)
        return bytes(data)
    if kind == 5:
        data[at:at] = rng.randbytes(length)
    elif kind == 6:
        del data[at : at + length]
    else:
        del data[at:]
    data[:4] = (max(0, len(data) - 4)).to_bytes(4, "big")
    return bytes(data)


def world_of(rng):
    cluster = ScriptedCluster({"t": PARTITIONS, "u": 2}, rng.choice((1, 2, 3)))
    for tp in EVERY:
        for number in range(BATCHES):
            records = [(1, b"k", b"%d" % (number * PER_BATCH + i)) for i in range(PER_BATCH)]
            batch = encode_batch(records, base_offset=number * PER_BATCH)
            cluster.append("t", tp.partition, batch, number * PER_BATCH, PER_BATCH)
    world = World(cluster, rng.randrange(1 << 30))
    share = rng.choice((0.02, 0.1, 0.3))

    def garble(request, frame):
        # A lie about versions is believed until the link ends, so that one is left out.
        spared = request.api_key == ApiKey.API_VERSIONS or rng.random() >= share
        return frame if spared else garbled(rng, frame)

    world.garble = garble
    return world


def begin(world, rng, mode):
    options = {
        "auto_offset_reset": rng.choice(("earliest", "latest", "none")),
        "isolation_level": rng.choice(("read_committed", "read_uncommitted")),
        "request_timeout_ms": 3_000,
        "session_timeout_ms": 4_000,
        "heartbeat_interval_ms": 500,
        "auto_commit_interval_ms": 500,
        "metadata_max_age_ms": rng.choice((1_000, 300_000)),
    }
    if mode == "assign":
        client = world.client(**options)
        client.core.assign(EVERY, world.now)
    else:
        client = world.client(group_id="g", **options)
        if mode == "pattern":
            client.core.subscribe_pattern("t|u", world.now)
        else:
            client.core.subscribe(["t"], world.now)
    client.drain()
    return client


def take(client, count):
    """What comes, an error included if it is one of ours."""
    try:
        return client.core.take_records(count, client.world.now) if client.core.has_records else {}
    except KafkaError:
        return {}
    finally:
        client.drain()


def use(client, rng, now):
    """What an application does: read, seek, look up, commit."""
    for _ in range(10):
        take(client, rng.choice((1, 7, 500)))
    assigned = sorted(client.core.assignment())
    if assigned and rng.random() < 0.1:
        client.core.seek(rng.choice(assigned), rng.randrange(40), now)
    if rng.random() < 0.1:
        client.core.list_offsets({EVERY[0]: -1}, now, 2_000)
    if rng.random() < 0.05 and client.core.config.group_id is not None:
        client.core.commit(None, now, 2_000)
    client.drain()


def read_everything(world, client):
    for tp in EVERY:
        client.core.seek(tp, 0, world.now)
    client.drain()
    seen = {tp: set() for tp in EVERY}
    end = world.now + 60_000
    while any(len(offsets) < BATCHES * PER_BATCH for offsets in seen.values()):
        assert world.now < end, f"stalled: {client.core.health()}"
        world.run(200, polls_ms=100)
        for tp, records in take(client, 500).items():
            seen[tp].update(record.offset for record in records)


@pytest.mark.parametrize("mode", ["assign", "group", "pattern", "pair"])
@pytest.mark.parametrize("seed", quickly(4, of=8))
def test_garbled_answers_cost_time_and_nothing_else(seed, mode):
    rng = random.Random(f"{mode} {seed}")
    world = world_of(rng)
    clients = [begin(world, rng, mode) for _ in range(2 if mode == "pair" else 1)]
    for _ in range(60):
        world.run(500, polls_ms=100)
        for client in clients:
            use(client, rng, world.now)
    assert world.inputs < INPUTS_MAX
    if mode == "assign":
        world.garble = None
        read_everything(world, clients[0])
