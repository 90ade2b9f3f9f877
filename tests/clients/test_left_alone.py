"""Consumers that nobody looks after: idle ones cost next to nothing, and a program may end, or a
greenlet compute, without a word to them (PAINS 4, 15, 16 and 18).
"""

import asyncio
import subprocess
import sys
import threading

import pytest
from async_consumers import consumer as async_consumer
from async_consumers import run

from kcore import Consumer
from kcore.embedded import EmbeddedBroker

PARTITIONS = 200
NODES = 3
IDLE_MS = 600
FETCH_WAIT_MS = 200


@pytest.fixture(scope="module")
def cluster():
    with EmbeddedBroker(nodes=NODES) as broker:
        broker.create_topic("wide", PARTITIONS)
        broker.create_topic("t", 2)
        broker.produce("t", [(None, b"%d" % number) for number in range(1_000)])
        yield broker


def test_many_idle_partitions_on_several_nodes_cost_an_answer_a_node_now_and_then(cluster):
    before = set(threading.enumerate())
    with Consumer(
        "wide",
        bootstrap_servers=cluster.bootstrap,
        group_id="idle",
        auto_offset_reset="earliest",
        fetch_max_wait_ms=FETCH_WAIT_MS,
    ) as reader:
        while not (held := reader.assignment()) or None in map(reader.highwater, held):
            assert reader.poll(timeout_ms=50) == {}
        assert len(held) == PARTITIONS
        waits, sent = [], []
        transport, core = reader._engine.pump.transport, reader._engine.core
        wait, next_action = transport.wait, core.next_action

        def waiting(timeout_ms):
            waits.append(timeout_ms)
            return wait(timeout_ms)

        def acting():
            action = next_action()
            sent.append(len(getattr(action, "data", b"")))
            return action

        transport.wait, core.next_action = waiting, acting
        assert reader.poll(timeout_ms=IDLE_MS) == {}
        answers = NODES * (IDLE_MS // FETCH_WAIT_MS + 1)
        assert len(waits) <= 2 * answers
        assert sum(sent) <= 200 * answers  # a session is told what is new, not what it has
        assert len(set(threading.enumerate()) - before) == 1  # the keeper, however many nodes


def test_a_consumer_of_an_event_loop_has_no_thread(cluster):
    async def main():
        before = set(threading.enumerate())
        async with async_consumer(cluster, "t", group_id="loop") as reader:
            for _ in range(100):
                await reader.getone()
            await reader.commit()
            await asyncio.sleep(0.15)  # heartbeats
            assert set(threading.enumerate()) <= before

    run(main())


# The end of a program -----------------------------------------------------------------------------

LEFT = """
import sys
from kcore import Consumer

def read():
    consumer = Consumer(
        "t",
        bootstrap_servers=sys.argv[1],
        group_id="left-" + sys.argv[2] + sys.argv[3],
        auto_offset_reset="earliest",
        heartbeat_interval_ms=15,
        transport=sys.argv[2],
    )
    return consumer, next(consumer), [next(consumer) for _ in range(20)]

kept = read()
{how}
"""
LEFT_IN_A_LOOP = """
import asyncio, sys
from kcore import AsyncConsumer

async def main():
    global kept
    kept = consumer = AsyncConsumer(
        "t", bootstrap_servers=sys.argv[1], group_id="left-" + sys.argv[3],
        auto_offset_reset="earliest", heartbeat_interval_ms=15,
    )
    await consumer.start()
    await consumer.getone()
    task = asyncio.ensure_future(consumer.getmany(timeout_ms=60_000, max_records=1))
    await asyncio.sleep(0.03)
    {how}

asyncio.run(main())
"""
ENDS = {"end": "pass", "exit": "sys.exit(3)", "error": "raise ValueError('the last word')"}
CODES = {"end": 0, "exit": 3, "error": 1}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("driver", ["blocking", "selectors", "gevent", "asyncio"])
def test_a_program_ends_with_a_consumer_that_nobody_closed(cluster, driver, how):
    script = LEFT_IN_A_LOOP if driver == "asyncio" else LEFT
    program = script.replace("{how}", ENDS[how])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program, cluster.bootstrap, driver, how],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == CODES[how], done.stderr
    said = done.stderr.splitlines()
    assert said[-1:] == (["ValueError: the last word"] if how == "error" else []), done.stderr
    assert "Fatal" not in done.stderr


# Greenlets ----------------------------------------------------------------------------------------

BUSY = """
import sys, time
import gevent

PATCHED
gevent.config.monitor_thread = True
gevent.config.max_blocking_time = 0.1
from kcore import Consumer
from kcore.events import HeartbeatAnswered

def compute():
    while True:
        end = time.monotonic() + 0.001
        while time.monotonic() < end:
            pass
        gevent.sleep(0)

with Consumer(
    "t", bootstrap_servers=sys.argv[1], group_id=sys.argv[2], auto_offset_reset="earliest",
    heartbeat_interval_ms=30, transport="gevent",
) as consumer:
    next(consumer)
    consumer.seek_to_end()
    beats, turns = [], []
    watcher = gevent.get_hub().loop.prepare()
    watcher.start(turns.append, 1)
    consumer.observe(lambda event: beats.append(event) if type(event) is HeartbeatAnswered else 0)
    gevent.get_hub().start_periodic_monitoring_thread()
    busy = [gevent.spawn(compute) for _ in range(3)]
    turns.clear()
    while len(turns) < 12:  # a handler, of 0.6 s if nobody else wants the processor
        gevent.sleep(0.05)
    print(len(beats), len(turns))
    gevent.killall(busy)
    consumer.poll(timeout_ms=300)
"""

QUIET = ["-W", "ignore:Unable to monitor memory"]  # without psutil; it is not asked to


@pytest.mark.parametrize("patched", [False, True])
def test_heartbeats_go_on_beside_busy_greenlets_and_nothing_blocks_the_hub(cluster, patched):
    """Where greenlets do nothing but compute and `sleep(0)`, the hub looks at sockets and timers
    behind every fiftieth of those only: so what a heartbeat takes is counted in turns of the hub.
    """
    pytest.importorskip("gevent")
    program = BUSY.replace("PATCHED", "from gevent import monkey; monkey.patch_all()" * patched)
    done = subprocess.run(
        [sys.executable, *QUIET, "-c", program, cluster.bootstrap, f"busy-{patched}"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")  # gevent's monitor would say who blocks
    beats, turns = map(int, done.stdout.split())
    assert turns < 100  # it was busy
    assert beats >= 2
    assert turns <= 4 * (beats + 1)
