"""Bare consumer cores and a cluster in one loop, with a clock that only jumps."""

import random

import pytest

from kcore import ConsumerConfig, ConsumerCore
from kcore.embedded.loop import CoreLoop
from kcore.errors import UsageError


@pytest.fixture(params=[1, 3], ids=["one", "three"])
def loop(request):
    made = CoreLoop(request.param)
    made.call(lambda _now_ms: made.cluster.topics.create("t", 4))
    yield made
    assert not [fault for node in made.cluster.nodes.values() for fault in node.faults]


def member(loop, **options):
    config = ConsumerConfig.from_options(
        {
            "bootstrap_servers": loop.bootstrap,
            "group_id": "g",
            "auto_offset_reset": "earliest",
            **options,
        }
    )
    core = ConsumerCore(config, random.Random(1), loop.now_ms)
    loop.add(core)
    core.subscribe(["t"], loop.now_ms)
    return core


def poll(loop, *cores):
    values = []
    for core in cores:
        core.poll(loop.now_ms)
    loop.run()
    for core in cores:
        for records in core.take_records(500, loop.now_ms).values():
            values += [record.value for record in records]
    loop.run()
    return values


def poll_for(loop, ms, *cores):
    values = []
    for _ in range(ms // 100):
        values += poll(loop, *cores)
        loop.pass_time(100)
    return values


def test_a_core_reads_everything_without_a_thread_or_a_wait(loop):
    loop.produce("t", [(None, b"v%d" % number) for number in range(100)])
    core = member(loop)
    values = poll_for(loop, 1_000, core)
    assert sorted(values) == sorted(b"v%d" % number for number in range(100))
    assert len(core.assignment()) == 4


def test_a_group_of_cores_shares(loop):
    cores = [member(loop) for _ in range(4)]
    poll_for(loop, 10_000, *cores)
    assert [len(core.assignment()) for core in cores] == [1, 1, 1, 1]
    loop.remove(cores[0])  # its session of 45 s goes by in no time
    poll_for(loop, 60_000, *cores[1:])
    assert sorted(len(core.assignment()) for core in cores[1:]) == [1, 1, 2]


def test_the_same_seed_is_the_same_run():
    def run():
        loop = CoreLoop(3, seed=7)
        loop.call(lambda _now_ms: loop.cluster.topics.create("t", 4))
        core = member(loop)
        poll_for(loop, 1_000, core)
        return core.group_metadata(), loop.cluster.topics.id_of("t")

    assert run() == run()


def test_time_does_not_go_back(loop):
    with pytest.raises(UsageError):
        loop.pass_time(-1)
