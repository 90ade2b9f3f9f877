"""`deadline()` is kept between inputs: it may be early, and must never be late."""

import random

import pytest
from longer import quickly
from scripted_producer import CUT_AFTER, CUT_BEFORE, NOT_LEADER, produce_world

from kcore.errors import KafkaError

PARTITIONS = 3


def turn(client):
    """What drivers do that let the core be patient (clients/producer)."""
    core = client.core
    if core.stirred:
        core.stirred = False
        core.handle_deadline(client.world.now)
    client.drain()


def act(rng, world, client):
    core, now = client.core, world.now
    kind = rng.randrange(10)
    try:
        if kind < 3:
            for _ in range(rng.choice([1, 5, 40])):
                client.send(bytes(rng.choice([1, 300])), partition=rng.randrange(PARTITIONS))
        elif kind < 6:
            world.run(rng.choice([1, 5, 50, 700, 4_000]))
        elif kind == 6:
            core.hurry([batch for batch, _, _ in client.taken[-3:]], now)
        elif kind == 7:
            core.flush(now)
        elif kind == 8:
            client.send(b"v", topic=rng.choice(["unknown", "u"]))
        else:
            core.append_batch(filled(core), "t", rng.randrange(PARTITIONS), now)
    except KafkaError:
        pass


def filled(core):
    builder = core.new_batch()
    builder.append(5, None, b"value", [])
    return builder


@pytest.mark.parametrize("seed", quickly(4, of=8))
@pytest.mark.parametrize("linger_ms", [None, 0, 30])
def test_what_is_said_is_never_later_than_what_the_rooms_say(seed, linger_ms):
    rng = random.Random(seed)
    world, cluster, client = produce_world(
        topics={"t": PARTITIONS, "u": 1},
        nodes=2,
        seed=seed,
        linger_ms=linger_ms,
        batch_size=1_000,
        buffer_memory=20_000,
        request_timeout_ms=3_000,
        delivery_timeout_ms=10_000,
        retry_backoff_ms=50,
    )
    cluster.fault = lambda *_: rng.choice([None] * 8 + [NOT_LEADER, CUT_BEFORE, CUT_AFTER])
    core = client.core
    core.patient, core.stirred = True, False
    kept = 0
    for step in range(300):
        if step == 100:
            world.kill_node(1)
        if step == 200:
            world.revive_node(1)
        kept += core._due >= 0 and not core.stirred
        act(rng, world, client)
        assert core.deadline() <= core._first_due()
        turn(client)
        assert core.deadline() <= core._first_due()
    assert kept > 100
