"""Workers that are killed, and members that come and go: no record is skipped, and those of a key
are in their order.
"""

import random
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest
from at_work import QUICK

import kcore
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker

PROCESS = Path(__file__).parent.parent / "support" / "worker_process.py"
PARTITIONS = 2
KEYS = 6
LIMIT_S = 30.0


def options(broker, **more):
    return {
        "bootstrap_servers": broker.bootstrap,
        "group_id": "g",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "retry_backoff_ms": 20,
        "fetch_max_wait_ms": 20,
        "max_poll_records": 20,
    } | more


def fill(broker, partitions, count):
    broker.create_topic("t", partitions)
    for number in range(partitions):
        rows = [(b"%d" % (i % KEYS) if i % 7 else None, b"") for i in range(count)]
        broker.produce("t", rows, partition=number)


def committed(judge, partitions):
    return [judge.committed(kcore.TopicPartition("t", number)) or 0 for number in range(partitions)]


# Killed ----------------------------------------------------------------------------------------


def killed_somewhere(broker, rng):
    """What it has handled: (partition, offset)."""
    process = subprocess.Popen(
        [sys.executable, str(PROCESS), broker.bootstrap, str(rng.random())[2:]],
        stdout=subprocess.PIPE,
    )
    try:
        first = process.stdout.readline()  # it has begun
        time.sleep(rng.random() * 0.12)
    finally:
        process.kill()
        rest, _ = process.communicate()
    lines = (first + rest).decode().split("\n")[:-1]  # the last is cut, or empty
    return {tuple(map(int, line.split())) for line in lines}


@pytest.mark.parametrize("seed", range(2))
def test_killed_at_any_moment_nothing_is_skipped(seed):
    rng = random.Random(seed)
    done, moved = set(), set()
    with (
        EmbeddedBroker(config=BrokerConfig(coordinator=QUICK)) as broker,
        kcore.Consumer(**options(broker)) as judge,
    ):
        fill(broker, PARTITIONS, 2_000)
        for _ in range(4):
            done |= killed_somewhere(broker, rng)
            ends = committed(judge, PARTITIONS)
            moved.add(tuple(ends))
            for number, end in enumerate(ends):
                assert {(number, offset) for offset in range(end)} <= done
            broker.let_time_pass(60_000)  # its session is over
        assert len(moved) > 2
        left = PARTITIONS * 2_000 - sum(ends)

        def handle(record):
            rest.append((record.partition, record.offset))
            if len(rest) == left:
                workers.stop()

        rest = []
        with kcore.Consumer("t", **options(broker)) as last:
            workers = kcore.Workers(last, handle, threads=2)
            workers.run()
        assert done | set(rest) == {(p, o) for p in range(PARTITIONS) for o in range(2_000)}
        assert committed(judge, PARTITIONS) == [2_000] * PARTITIONS


# Members that come and go ------------------------------------------------------------------------


class Judge:
    """Notes what is handled. Before a record is begun, all before it of its key have been finished,
    by whomever; before an offset is committed, all below it.
    """

    def __init__(self, count):
        self.lock = threading.Lock()
        self.before = {}  # record -> the one of its key before it
        self.done = set()
        self.running = defaultdict(set)  # member -> keys
        self.wrong = []
        for number in range(PARTITIONS):
            last = {}
            for offset in range(count):
                key = offset % KEYS if offset % 7 else None
                self.before[number, offset] = last.get(key)
                last[key] = (number, offset)

    def handle(self, member, record, pause_s):
        at = (record.partition, record.offset)
        lane = (record.partition, record.key)
        with self.lock:
            before = self.before[at]
            if before is not None and before not in self.done:
                self.wrong.append(f"{at} was begun before {before} was finished")
            if lane in self.running[member]:
                self.wrong.append(f"{at} was begun beside another one of its key")
            self.running[member].add(lane)
        time.sleep(pause_s)
        with self.lock:
            self.done.add(at)
            self.running[member].discard(lane)

    def look(self, ends):
        with self.lock:
            for number, end in enumerate(ends):
                missing = [offset for offset in range(end) if (number, offset) not in self.done]
                if missing:
                    self.wrong.append(f"{number}: {end} is committed, and {missing[:5]} not done")


class Member:
    """Workers in a thread."""

    def __init__(self, broker, judge, seed, more):
        rng = random.Random(seed)
        self.error = None
        self.name = seed
        self.consumer = kcore.Consumer("t", **options(broker, **more))
        self.workers = kcore.Workers(
            self.consumer,
            lambda record: judge.handle(self.name, record, rng.random() * 0.003),
            threads=rng.randrange(1, 5),
            max_in_flight=rng.randrange(1, 60),
            commit_interval_ms=rng.randrange(1, 40),
        )
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        try:
            with self.consumer:
                self.workers.run()
        except BaseException as error:  # noqa: BLE001 - `end` raises it
            self.error = error

    def end(self):
        self.workers.close()
        self.thread.join(LIMIT_S)
        assert not self.thread.is_alive()
        if self.error is not None:
            raise self.error


# Nobody's session has to end for the others to go on: each says that it goes.
CLASSIC = {"heartbeat_interval_ms": 30, "session_timeout_ms": 60_000}
HOW = {
    "range": CLASSIC,
    "cooperative": CLASSIC | {"partition_assignment_strategy": ["cooperative-sticky"]},
    "consumer": {"group_protocol": "consumer"},
}


@pytest.mark.parametrize(("how", "seed"), [*zip(HOW, range(3), strict=True)])
def test_members_that_come_and_go(how, seed):
    count, rng = 700, random.Random(seed)
    judge, members = Judge(count), []
    with (
        EmbeddedBroker(config=BrokerConfig(coordinator=QUICK)) as broker,
        kcore.Consumer(**options(broker)) as asking,
    ):
        fill(broker, PARTITIONS, count)
        try:
            end = time.monotonic() + LIMIT_S
            changes = 0
            while min(ends := committed(asking, PARTITIONS)) < count:
                assert time.monotonic() < end
                judge.look(ends)
                assert not judge.wrong, judge.wrong[:5]
                time.sleep(rng.random() * 0.08)
                if not members or (len(members) < 3 and rng.random() < 0.6):
                    members.append(Member(broker, judge, rng.randrange(2**32), HOW[how]))
                    changes += 1
                elif len(members) > 1 and rng.random() < 0.5:
                    members.pop(rng.randrange(len(members))).end()
                    changes += 1
            assert changes > 3
            assert not judge.wrong, judge.wrong[:5]
        finally:
            for member in members:
                member.end()
