"""`kcore.Workers` at work on an embedded broker, in a thread of their own."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from contextlib import contextmanager

import kcore
from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker

LIMIT_S = 20.0
# Groups begin at once.
QUICK = CoordinatorConfig(
    group_initial_rebalance_delay_ms=0,
    group_consumer_assignment_interval_ms=0,
    group_consumer_heartbeat_interval_ms=50,
)
T0, T1 = kcore.TopicPartition("t", 0), kcore.TopicPartition("t", 1)


@contextmanager
def embedded():
    """A broker with quick groups and a topic of two partitions, that makes no mistake."""
    with EmbeddedBroker(config=BrokerConfig(coordinator=QUICK)) as broker:
        broker.create_topic("t", 2)
        yield broker
        assert not broker.faults


def at_work():
    """The threads that there are."""
    return [one for one in threading.enumerate() if one.name.startswith("kcore-worker")]


def options(broker, **more):
    return {
        "bootstrap_servers": broker.bootstrap,
        "group_id": "g",
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "heartbeat_interval_ms": 50,
        "retry_backoff_ms": 20,
        "fetch_max_wait_ms": 50,
        "max_poll_records": 20,
    } | more


def consumer(broker, *topics, **more):
    return kcore.Consumer(*topics or ("t",), **options(broker, **more))


def fill(broker, count, keys=5, partition=0):
    rows = [(b"%d" % (number % keys), b"%d" % number) for number in range(count)]
    broker.produce("t", rows, partition=partition)


def committed_now(broker):
    """What another client hears of T0."""
    with consumer(broker) as other:
        return other.committed(T0)


def until(done):
    end = time.monotonic() + LIMIT_S
    while not done():
        assert time.monotonic() < end
        time.sleep(0.002)


class Handler:
    """Notes what it handles; `gates` are events for which records (by offset) wait first. Stops its
    workers when `enough` were handled.
    """

    def __init__(self, enough=None):
        self.enough = enough
        self.workers = None
        self.begun = []
        self.done = []
        self.gates = defaultdict(lambda: OPEN)
        self.lock = threading.Lock()

    def __call__(self, record):
        self.begun.append(record.offset)
        assert self.gates[record.offset].wait(LIMIT_S)
        with self.lock:
            self.done.append(record.offset)
            if len(self.done) == self.enough:
                self.workers.stop()


OPEN = threading.Event()
OPEN.set()


class Running:
    """Workers at work in a thread of their own, until the `with` ends."""

    def __init__(self, consumer, handle, **more):
        self.consumer = consumer
        self.workers = kcore.Workers(consumer, handle, **more)
        self.error = None
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            self.workers.run()
        except BaseException as error:  # noqa: BLE001 - raised at the end
            self.error = error

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.workers.close()
        self.thread.join(LIMIT_S)
        assert not self.thread.is_alive()
        if self.error is not None:
            raise self.error
