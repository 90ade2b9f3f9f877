"""`deadline()` is kept between inputs: it may be early, and must never be late."""

import random

import pytest

from kcore.consumer.config import ConsumerConfig
from kcore.consumer.core import ConsumerCore
from kcore.embedded.loop import CoreLoop
from kcore.errors import KafkaError

PARTITIONS = 4


def member(loop, **options):
    config = ConsumerConfig.from_options(
        {
            "bootstrap_servers": loop.bootstrap,
            "group_id": "g",
            "auto_offset_reset": "earliest",
            "auto_commit_interval_ms": 700,
            "retry_backoff_ms": 50,
            **options,
        }
    )
    core = ConsumerCore(config, random.Random(1), loop.now_ms)
    loop.add(core)
    core.subscribe(["t"], loop.now_ms)
    return core


def act(rng, loop, core):
    now, assigned = loop.now_ms, sorted(core.assignment())
    some = rng.sample(assigned, rng.randint(0, len(assigned)))
    kind = rng.randrange(11)
    try:
        if kind < 4:
            loop.pass_time(rng.choice([1, 50, 500, 1_100, 3_500]))
            return
        if kind in (4, 5):
            core.poll(now)
        elif kind == 6:
            core.take_records(rng.choice([1, None]), now)
        elif kind == 7:
            core.pause(some)
            core.seek_to_beginning(some[:1], now)
        elif kind == 8:
            core.commit(None, now, rng.choice([None, 2_000]))
        elif kind == 9:
            core.resume(sorted(core.paused()), now)
        else:
            core.request_rejoin("a test", now)
    except KafkaError:
        pass


@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_is_never_later_than_what_the_rooms_say(seed):
    rng = random.Random(seed)
    loop = CoreLoop(2, seed=seed)
    loop.call(lambda _: loop.cluster.topics.create("t", PARTITIONS))
    cores = [member(loop), member(loop, enable_auto_commit=False)]
    kept = 0
    for step in range(200):
        if step == 60:
            loop.remove(cores.pop())
        if rng.random() < 0.2:
            loop.produce("t", [(None, b"v")] * 3, rng.randrange(PARTITIONS))
        core = rng.choice(cores)
        kept += core._due >= 0
        act(rng, loop, core)
        for one in cores:
            assert one.deadline() <= one._first_due()
        loop.run()
        for one in cores:
            assert one.deadline() <= one._first_due()
    assert kept > 50


def lent(core):
    """Bytes come as drivers give them: into the buffer that the core lends."""

    def handle_data(link, data, now_ms):
        while data:
            room = core.receive_buffer(link)
            size = min(len(room), len(data))
            room[:size] = data[:size]
            core.receive_advance(link, size, now_ms)
            data = data[size:]

    return handle_data


def test_who_has_nothing_to_read_is_woken_for_the_group_alone(monkeypatch):
    """Each empty answer puts off when it is odd that a node is silent (a tenth of
    request_timeout_ms); an idle member had been woken for that in between, every few seconds.
    """
    loop = CoreLoop(1, seed=1)
    loop.call(lambda _: loop.cluster.topics.create("t", PARTITIONS))
    core = member(loop, auto_commit_interval_ms=5_000, heartbeat_interval_ms=2_600)
    monkeypatch.setattr(core, "handle_data", lent(core))
    woken = []
    handle_deadline = core.handle_deadline

    def watched(now_ms):
        woken.append(core._group.deadline() <= now_ms)
        return handle_deadline(now_ms)

    for second in range(60):
        if second == 10:
            monkeypatch.setattr(core, "handle_deadline", watched)
        loop.pass_time(1_000)
        core.poll(loop.now_ms)
    assert woken.count(True) > 15
    assert woken.count(False) <= 1
