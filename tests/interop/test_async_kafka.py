"""AsyncConsumer on a real Kafka, in groups beside other people's members, and while brokers go."""

import aiokafka
import anyloop
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as Range
from anyloop import ASYNCIO, EACH_LOOP
from async_consumers import Seen, consumer, options, run
from foreign_members import ConfluentMember
from leftovers import ALSO_AIOKAFKA

from kcore import AsyncConsumer, ConsumerRebalanceListener, TopicPartition

pytestmark = [pytest.mark.kafka, *ALSO_AIOKAFKA, EACH_LOOP]
PARTITIONS = 6
SOME = 6_000


@pytest.fixture
def topic(kafka, names):
    kafka.create_topic(names.topic, PARTITIONS)
    return names.topic


async def produce(kafka, topic, rows):
    await anyloop.to_thread(kafka.produce, topic, list(rows))


def test_reads_commits_and_goes_on(kafka, names, topic, records):
    kafka.produce(topic, records(SOME))
    ends = kafka.end_offsets(topic)

    async def main():
        seen = Seen()
        for share in (SOME // 3, SOME):
            async with consumer(kafka, topic, group_id=names.group) as reader:
                async for record in reader:
                    seen.take(record)
                    if seen.total() == share:
                        break
                await reader.commit()
        assert len(seen) == seen.total() == SOME
        async with consumer(kafka, group_id=names.group) as reader:
            for number, end in ends.items():
                assert await reader.committed(TopicPartition(topic, number)) == end

    run(main())


class Commits(ConsumerRebalanceListener):
    """Commits what goes, by a coroutine."""

    def __init__(self, reader):
        self.reader = reader

    async def on_partitions_revoked(self, revoked):
        if revoked:
            await self.reader.commit()

    async def on_partitions_assigned(self, assigned):
        await anyloop.sleep(0.01)


KINDS = {
    "range": {"partition_assignment_strategy": "range"},
    "cooperative-sticky": {"partition_assignment_strategy": "cooperative-sticky"},
    "consumer protocol": {"group_protocol": "consumer"},
}


@pytest.mark.parametrize(
    "kind",
    [
        kind if kind == "cooperative-sticky" else pytest.param(kind, marks=pytest.mark.slow)
        for kind in KINDS
    ],
)
def test_a_group_on_one_loop_that_commits_as_it_gives_up(kafka, names, topic, writer, quick, kind):
    """Members come and go while somebody writes: what was committed is read by nobody else."""
    quick(kafka)
    wanted = options(kafka, names.group) | KINDS[kind]
    if "group_protocol" in wanted:
        del wanted["heartbeat_interval_ms"]  # the brokers say that

    async def main():
        seen, readers = Seen(), []

        async def member(leave):
            reader = AsyncConsumer(**wanted)
            reader.subscribe([topic], listener=Commits(reader))
            async with reader:
                readers.append(reader)
                while not leave.is_set():
                    seen.take_all(await reader.getmany(timeout_ms=50, max_records=50))
                readers.remove(reader)

        async def shared(members):
            while not (
                len(readers) == members
                and all(reader.assignment() for reader in readers)
                and sum(len(reader.assignment()) for reader in readers) == PARTITIONS
            ):
                await anyloop.sleep(0.02)

        with writer(kafka, topic) as writing:
            leaves = [anyloop.Event() for _ in range(3)]
            tasks = []
            for number, leave in enumerate(leaves, 1):
                tasks.append(anyloop.create_task(member(leave)))
                await shared(number)
            leaves[0].set()
            await tasks[0]
            await shared(2)
            await anyloop.to_thread(writing.stop)
            ends = await anyloop.to_thread(kafka.end_offsets, topic)
            while len(seen) < sum(ends.values()):
                await anyloop.sleep(0.02)
            for leave in leaves:
                leave.set()
            await anyloop.gather(*tasks)
        assert seen.total() == len(seen) == sum(ends.values())

    run(main())


@ASYNCIO
def test_in_one_group_with_aiokafka_and_librdkafka(kafka, names, topic):
    """Two of ours and aiokafka's on one loop, librdkafka beside it: each record comes to one."""

    async def main():
        counts = {}
        theirs = {"bootstrap_servers": kafka.bootstrap, "group_id": names.group}
        theirs |= {"auto_offset_reset": "earliest", "heartbeat_interval_ms": 100}
        made = [
            AIOKafkaConsumer(topic, partition_assignment_strategy=(Range,), **theirs),
            AsyncConsumer(topic, **theirs),
            AsyncConsumer(topic, **theirs),
        ]
        confluent = ConfluentMember(kafka, names.group, topic=topic)
        values, done, all_left = [], anyloop.Event(), anyloop.Event()

        async def read(number, reader):
            await reader.start()
            while not done.is_set():
                for found in (await reader.getmany(timeout_ms=50)).values():
                    values.extend(record.value for record in found)
                    counts[number] = counts.get(number, 0) + len(found)
            await reader.stop()

        async def step():
            while not all_left.is_set():
                await anyloop.to_thread(confluent.step)
            await anyloop.to_thread(confluent.close)

        tasks = [anyloop.create_task(read(*pair)) for pair in enumerate(made)]
        last = anyloop.create_task(step())

        def shares():
            owned = [len(reader.assignment()) for reader in made] + [len(confluent.owned())]
            return owned if sum(owned) == PARTITIONS and all(owned) else None

        while not shares():
            await anyloop.sleep(0.05)
        await produce(kafka, topic, numbered(SOME))
        while len(values) + len(confluent.values) < SOME:
            await anyloop.sleep(0.05)
        done.set()
        await anyloop.gather(*tasks)
        # As the last: it commits nothing, so that who is still there would read its records again.
        all_left.set()
        await last
        assert sorted(values + confluent.values) == sorted(value for _, value in numbered(SOME))
        assert all(counts.values())
        assert len(counts) == len(made)

    run(main())


def numbered(count):
    return [(b"%d" % number, b"%d" % number) for number in range(count)]


@ASYNCIO
@pytest.mark.parametrize("make", [AIOKafkaConsumer, AsyncConsumer], ids=["aiokafka", "kcore"])
def test_a_program_written_for_aiokafka(kafka, names, topic, records, make):
    """State beside the offsets: a listener saves it and seeks back, batches are committed by hand.

    The same source for both clients: only the class differs.
    """
    kafka.produce(topic, records(SOME))
    ends = kafka.end_offsets(topic)
    saved = {}

    class Saves(aiokafka.ConsumerRebalanceListener):
        def __init__(self, reader, counts):
            self.reader, self.counts = reader, counts

        async def on_partitions_revoked(self, revoked):
            for tp in revoked:
                saved[tp.partition] = (self.counts.pop(tp, 0), await self.reader.position(tp))

        async def on_partitions_assigned(self, assigned):
            for tp in assigned:
                count, offset = saved.get(tp.partition, (0, 0))
                self.counts[tp] = count
                self.reader.seek(tp, offset)

    async def life(until):
        counts = {}
        reader = make(
            bootstrap_servers=kafka.bootstrap,
            group_id=names.group,
            enable_auto_commit=False,
            auto_offset_reset="none",
        )
        reader.subscribe([topic], listener=Saves(reader, counts))
        await reader.start()
        try:
            while sum(counts.values()) < until:
                for tp, found in (await reader.getmany(timeout_ms=200, max_records=500)).items():
                    counts[tp] = counts.get(tp, 0) + len(found)
                    await reader.commit({tp: found[-1].offset + 1})
                    assert await reader.committed(tp) == found[-1].offset + 1
        finally:
            saved.update(
                {tp.partition: (count, await reader.position(tp)) for tp, count in counts.items()}
            )
            await reader.stop()

    async def main():
        await life(SOME // 3)
        assert SOME // 3 <= sum(count for count, _ in saved.values()) <= SOME
        await life(SOME)
        assert {number: at for number, (_, at) in saved.items()} == ends
        assert sum(count for count, _ in saved.values()) == SOME

    run(main())


@pytest.mark.slow
def test_the_only_broker_goes_and_comes_back(kafka, names, topic, records, request):
    kafka.produce(topic, records(SOME))
    request.addfinalizer(lambda: kafka.restart(0))  # whatever became of it

    async def main():
        seen = Seen()
        async with consumer(
            kafka, topic, group_id=names.group, session_timeout_ms=45_000
        ) as reader:
            while seen.total() < SOME // 2:
                seen.take_all(await reader.getmany(timeout_ms=100, max_records=100))
            await anyloop.to_thread(kafka.kill, 0)
            for _ in range(5):
                seen.take_all(await reader.getmany(timeout_ms=200, max_records=10))
            await anyloop.to_thread(kafka.restart, 0)
            await produce(kafka, topic, records(SOME))
            while len(seen) < 2 * SOME:
                seen.take_all(await reader.getmany(timeout_ms=100))
            await reader.commit()
        assert seen.total() == 2 * SOME

    run(main())
