"""Members of groups, each made with another library, with the same few verbs for tests."""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import aiokafka
import confluent_kafka
import kafka as kafka_python
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

import kcore

DEADLINE_S = 30
HEARTBEAT_MS = 100
SESSION_MS = 45_000  # of time that only the broker's clock sees pass


def until(enough, step):
    """Call `step` until `enough` says so."""
    end = time.monotonic() + DEADLINE_S
    while not enough():
        assert time.monotonic() < end, "not in time"
        step()


class ConfluentMember:
    """librdkafka; `values` of what it has read."""

    def __init__(self, broker, group, instance=None, topic="t", assignor="range"):
        self.values = []
        options = {
            "bootstrap.servers": broker.bootstrap,
            "client.id": "confluent",
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "session.timeout.ms": SESSION_MS,
            "partition.assignment.strategy": assignor,
        }
        if instance is not None:
            options["group.instance.id"] = instance
        self._consumer = confluent_kafka.Consumer(options)
        self._consumer.subscribe([topic])

    def step(self):
        for message in self._consumer.consume(1_000, 0.05):
            assert message.error() is None, message.error()
            self.values.append(message.value())

    def owned(self):
        return {part.partition for part in self._consumer.assignment()}

    def member_id(self):
        return self._consumer.memberid()

    def commit(self):
        self._consumer.commit(asynchronous=False)

    def close(self):
        self._consumer.close()


class KcoreMember:
    """Ours, which has kafka-python's methods."""

    name = "kcore"
    maker = kcore.Consumer

    def __init__(self, broker, group, instance=None, topic="t", **options):
        self.values = []
        if instance is not None:
            options["group_instance_id"] = instance
        self._consumer = self.maker(
            topic,
            bootstrap_servers=broker.bootstrap,
            client_id=self.name,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=HEARTBEAT_MS,
            session_timeout_ms=SESSION_MS,
            **options,
        )

    def step(self, timeout_ms=50):
        for records in self._consumer.poll(timeout_ms=timeout_ms).values():
            self.values += [record.value for record in records]

    def owned(self):
        return {part.partition for part in self._consumer.assignment()}

    def commit(self):
        self._consumer.commit()

    def close(self):
        self._consumer.close()


class KcoreInAThread(KcoreMember):
    """Ours, going on by itself while others are stepped or waited for."""

    def __init__(self, broker, group, instance=None, topic="t", **options):
        super().__init__(broker, group, instance, topic, **options)
        self._one_at_a_time = threading.Lock()
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self.prepare(topic)
        self._reading = self._pool.submit(self._read)

    def prepare(self, topic):
        """Before it begins to read."""

    def _read(self):
        while not self._stop.wait(0.001):
            with self._one_at_a_time:
                super().step(timeout_ms=100)

    def step(self):
        time.sleep(0.02)
        if self._reading.done():
            self._reading.result()

    def commit(self):
        with self._one_at_a_time:
            super().commit()

    def close(self):
        self._stop.set()
        self._pool.shutdown()
        super().close()
        self._reading.result()


class KafkaPythonMember(KcoreInAThread):
    """kafka-python. What it has joined between two polls it throws away and joins anew, so that two
    that are polled in turn may keep each other rejoining for ever: each has a thread of its own.
    """

    name = "kafka-python"
    maker = kafka_python.KafkaConsumer

    def prepare(self, topic):
        # It may lead a group before it knows the topic, and then assigns nothing for minutes: it
        # has to be faster than a broker of the same process.
        self._consumer.partitions_for_topic(topic)


class AiokafkaMember:
    """aiokafka, on a loop in a thread of its own, where it goes on while others are stepped: its
    calls wait for a rebalance that the others have to take part in.
    """

    name = "aiokafka"
    maker = aiokafka.AIOKafkaConsumer
    assignors = (RangePartitionAssignor,)

    def __init__(self, broker, group, instance=None, topic="t"):
        self.values = []
        self._consumer = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._reading = asyncio.run_coroutine_threadsafe(
            self._read(broker, group, instance, topic), self._loop
        )

    async def _read(self, broker, group, instance, topic):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            consumer = self.maker(
                topic,
                bootstrap_servers=broker.bootstrap,
                client_id=self.name,
                group_id=group,
                group_instance_id=instance,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                heartbeat_interval_ms=HEARTBEAT_MS,
                session_timeout_ms=SESSION_MS,
                partition_assignment_strategy=self.assignors,
            )
            try:
                await consumer.start()
                self._consumer = consumer
                while True:
                    for records in (await consumer.getmany(timeout_ms=50)).values():
                        self.values += [record.value for record in records]
            finally:
                await consumer.stop()

    def step(self):
        time.sleep(0.02)
        if self._reading.done():
            self._reading.result()

    def owned(self):
        if self._consumer is None:
            return set()
        return {part.partition for part in self._consumer.assignment()}

    def commit(self):
        asyncio.run_coroutine_threadsafe(self._consumer.commit(), self._loop).result(DEADLINE_S)

    def close(self):
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join(DEADLINE_S)
        self._loop.close()

    def _end(self):
        for task in asyncio.all_tasks(self._loop):
            if task.get_coro().__qualname__ == "AiokafkaMember._read":
                task.add_done_callback(lambda _: self._loop.stop())
                task.cancel()


class AsyncMember(AiokafkaMember):
    """Ours, which has the methods of aiokafka's."""

    name = "kcore-async"
    maker = kcore.AsyncConsumer
    assignors = ("range",)


MEMBERS = {
    "confluent": ConfluentMember,
    "kafka-python": KafkaPythonMember,
    "aiokafka": AiokafkaMember,
    "kcore": KcoreMember,
    "kcore-async": AsyncMember,
}
