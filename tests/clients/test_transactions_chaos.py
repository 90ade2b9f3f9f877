"""Consume, transform, produce: processors that are killed and come back, on nodes that fall and
rise. Whoever reads committed records finds each input once.
"""

import random
import threading
import time
from collections import Counter
from contextlib import suppress

import pytest
from transactional import committed, positions_behind, read

from kcore import Consumer, Producer, errors
from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker

INPUTS, OUTPUTS = 4, 3
DEADLINE_S = 60


class KilledError(Exception):
    """A processor is gone, in the middle of whatever it did."""


class Processor(threading.Thread):
    """Copies "in" to "out" in transactions, under an id that it keeps, until it is told to end."""

    def __init__(self, broker, number, seed, done):
        super().__init__(name=f"processor-{number}")
        self.broker = broker
        self.number = number
        self.rng = random.Random(f"{seed} {number}")
        self.done = done
        self.lives = 0
        self.failures = Counter()
        self.fault = None

    def run(self):
        while not self.done.is_set():
            self.lives += 1
            try:
                self.live()
            except KilledError:
                self.failures["killed"] += 1
            except errors.KafkaError as error:
                self.failures[type(error).__name__] += 1
            except BaseException as error:
                self.fault = error
                raise

    def maybe_die(self):
        if self.rng.random() < 0.02:
            raise KilledError

    def live(self):
        """One process; whatever ends it, nothing of it is kept."""
        group = {"session_timeout_ms": 1_000, "heartbeat_interval_ms": 100}
        consumer = Consumer(
            "in",
            bootstrap_servers=self.broker.bootstrap,
            group_id="copiers",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            **group,
        )
        producer = Producer(
            bootstrap_servers=self.broker.bootstrap,
            transactional_id=f"copier-{self.number}",
            linger_ms=self.rng.choice([0, 5]),
            batch_size=self.rng.choice([0, 200, 16_384]),
            delivery_timeout_ms=8_000,
            request_timeout_ms=3_000,
            retry_backoff_ms=20,
        )
        try:
            producer.init_transactions(30)
            while not self.done.is_set():
                self.copy(consumer, producer)
        finally:
            producer.close(0)  # as a process that is killed: it aborts nothing
            with suppress(errors.KafkaError):
                consumer.close(timeout_ms=1_000)

    def copy(self, consumer, producer):
        batches = consumer.poll(100, max_records=self.rng.choice([1, 10, 100]))
        if not batches:
            return
        producer.begin_transaction()
        try:
            for records in batches.values():
                for record in records:
                    producer.send("out", record.value, key=record.value)
                    self.maybe_die()
            group = consumer.group_metadata()
            producer.send_offsets_to_transaction(positions_behind(batches), group, 20)
            self.maybe_die()
            producer.commit_transaction(20)
        except errors.TransactionAbortableError:
            producer.abort_transaction(20)
            raise  # what was polled is to be read again, by the next life


def mischief(broker, nodes, rng, stop):
    while not stop.wait(0.1):
        what = rng.randrange(6)
        if what == 0 and nodes > 1:
            node = rng.randrange(1, nodes + 1)
            broker.kill(node)
            stop.wait(rng.random() / 2)
            broker.revive(node)
        elif what == 1:
            broker.cut(rng.choice(APIS), rng.randrange(1, 3))
        elif what == 2:
            broker.refuse(rng.choice(COORDINATED), rng.choice(PASSING))
        elif what == 3:
            broker.delay(rng.choice(APIS), 200)
        elif what == 4:
            broker.move_leader("out", rng.randrange(OUTPUTS), rng.randrange(1, nodes + 1))
        else:
            broker.refuse("Produce", "NOT_LEADER_OR_FOLLOWER")


COORDINATED = ["InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit"]
COORDINATED += ["EndTxn", "FindCoordinator"]
APIS = [*COORDINATED, "Produce", "Fetch", "OffsetFetch"]
PASSING = ["COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"]


@pytest.mark.parametrize(
    ("seed", "count", "processors", "release"),
    [
        (1, 100, 2, (4, 4)),
        *(
            pytest.param(seed, 3_000, 3, release, marks=pytest.mark.slow)
            for seed in range(2, 6)
            for release in [(4, 4), (3, 9), (2, 8)]
        ),
    ],
)
@pytest.mark.timeout(300)
def test_every_input_is_copied_once(seed, count, processors, release):
    rng = random.Random(seed)
    done, stop, nodes = threading.Event(), threading.Event(), 3
    # Members that are killed are gone soon.
    groups = CoordinatorConfig(
        group_min_session_timeout_ms=1_000, group_initial_rebalance_delay_ms=0
    )
    config = BrokerConfig(release=release, coordinator=groups)
    with EmbeddedBroker(nodes=nodes, config=config) as broker:
        broker.create_topic("in", INPUTS, replication_factor=nodes)
        broker.create_topic("out", OUTPUTS, replication_factor=nodes)
        values = [b"%06d" % number for number in range(count)]
        for number in range(INPUTS):
            broker.produce("in", [(None, value) for value in values[number::INPUTS]], number)
        ends = broker.end_offsets("in")
        threads = [Processor(broker, number, seed, done) for number in range(processors)]
        trouble = threading.Thread(target=mischief, args=(broker, nodes, rng, stop))
        for thread in [*threads, trouble]:
            thread.start()
        until = time.monotonic() + DEADLINE_S
        try:
            time.sleep(count / 600)
            stop.set()
            trouble.join()
            broker.no_mishaps()
            while committed(broker.bootstrap, "copiers", "in", INPUTS) != ends:
                assert time.monotonic() < until, [thread.failures for thread in threads]
                time.sleep(0.1)
        finally:
            stop.set()
            done.set()
            for thread in [*threads, trouble]:
                thread.join()
        assert [thread.fault for thread in threads] == [None] * processors
        found = read(broker.bootstrap, "out")
        assert broker.faults == []
    copies = Counter(value for copied in found.values() for value in copied)
    assert [value for value, times in copies.items() if times > 1] == []
    assert set(copies) == set(values)
