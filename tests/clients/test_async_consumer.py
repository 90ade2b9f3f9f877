"""AsyncConsumer against embedded brokers: reading, asking, its face beside aiokafka's."""

import inspect
import ssl
import time

import aiokafka
import anyloop
import pyarrow
import pytest
from anyloop import EACH_LOOP
from async_consumers import Seen, consumer, fill, options, run, ticking
from leftovers import COLLECTED

from kcore import AsyncConsumer, OffsetAndMetadata, OffsetAndTimestamp, TopicPartition, errors
from kcore.clients.turns import RECORDS_PER_TURN
from kcore.embedded import EmbeddedBroker

pytestmark = [COLLECTED, EACH_LOOP]
PARTITIONS, EACH = 4, 500
ALL = PARTITIONS * EACH
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture(scope="module")
def broker(each_loop):
    with EmbeddedBroker() as embedded:
        fill(embedded, "t", PARTITIONS, EACH)
        yield embedded


# Its face --------------------------------------------------------------------------------------


def test_the_face_is_aiokafkas():
    theirs = {
        name: method
        for name, method in vars(aiokafka.AIOKafkaConsumer).items()
        if inspect.isfunction(method) and (name[0] != "_" or name in ("__aiter__", "__anext__"))
    }
    assert len(theirs) > 25
    for name, method in theirs.items():
        ours = getattr(AsyncConsumer, name)
        assert inspect.iscoroutinefunction(ours) is inspect.iscoroutinefunction(method), name
        wanted = inspect.signature(method).parameters.values()
        given = inspect.signature(ours).parameters
        named = [(p.name, p.kind) for p in wanted if p.kind is not p.VAR_POSITIONAL]
        mine = [p for p in given.values() if p.kind is not p.VAR_POSITIONAL]
        assert [(p.name, p.kind) for p in mine[: len(named)]] == named, name
        assert all(p.default is not p.empty for p in mine[len(named) :]), name  # ours beside theirs
        assert any(p.kind is p.VAR_POSITIONAL for p in wanted) is any(
            p.kind is p.VAR_POSITIONAL for p in given.values()
        )


def test_the_options_of_aiokafka_are_understood():
    defaults = {
        parameter.name: parameter.default
        for parameter in inspect.signature(aiokafka.AIOKafkaConsumer).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    del defaults["sasl_mechanism"]  # named without SASL, it is a contradiction here
    AsyncConsumer(**defaults | {"group_id": "g"})
    with pytest.raises(errors.KafkaConfigurationError, match="max_poll_interval_ms"):
        AsyncConsumer(rebalance_timeout_ms=1_000)
    with pytest.raises(errors.KafkaConfigurationError, match="event loop"):
        AsyncConsumer(transport="blocking")


def test_an_option_of_javas():
    assert AsyncConsumer(**{"group.id": "g"}).config["group_id"] == "g"


# Reading ---------------------------------------------------------------------------------------


async def iterate(reader, seen):
    async for record in reader:
        seen.take(record)
        if seen.total() == ALL:
            break


async def one_by_one(reader, seen):
    while seen.total() < ALL:
        seen.take(await reader.getone())


async def many(reader, seen):
    while seen.total() < ALL:
        seen.take_all(await reader.getmany(timeout_ms=1_000))


async def without_waiting(reader, seen):
    while seen.total() < ALL:
        seen.take_all(await reader.getmany(max_records=7))


async def columns(reader, seen):
    while seen.total() < ALL:
        batch = pyarrow.record_batch(await reader.getmany_arrow(timeout_ms=1_000))
        for row in batch.to_pylist():
            seen[row["topic"], row["partition"], row["offset"]] += 1


async def partition_by_partition(reader, seen):
    while seen.total() < ALL:
        for number in range(PARTITIONS):
            for _ in range(3):
                if len([1 for _, p, _ in seen if p == number]) < EACH:
                    seen.take(await reader.getone(TopicPartition("t", number)))


WAYS = [iterate, one_by_one, many, without_waiting, columns, partition_by_partition]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("group", [None, "g"])
def test_every_record_once(broker, way, group):
    async def main():
        seen = Seen()
        name = None if group is None else f"{group}-{way.__name__}"
        async with consumer(broker, "t", group_id=name) as reader:
            assert len(reader.assignment()) == PARTITIONS  # start has waited for that
            await way(reader, seen)
        seen.check(PARTITIONS, EACH)

    run(main())


def test_what_may_come_at_once_may_in_one_turn_of_the_loop_only(broker):
    async def main():
        async with consumer(broker, "t") as reader:
            inside = reader._engine.core.inside
            while not inside.burst:
                await reader.getone()
            for _ in range(2):
                await anyloop.sleep(0)
            assert inside.burst == 0

    run(main())


def from_text(key):
    return int(key)


@pytest.mark.parametrize("way", [iterate, one_by_one, many])
def test_with_deserializers(broker, way):
    async def main():
        seen = Seen()
        async with consumer(broker, "t", key_deserializer=from_text) as reader:
            first = await reader.getone()
            assert first.key == first.offset
            seen.take(first)
            await way(reader, seen)
        seen.check(PARTITIONS, EACH)

    run(main())


def test_several_tasks_share_the_records(broker):
    async def main():
        seen = Seen()
        async with consumer(broker, "t") as reader:

            async def work(call):
                while True:
                    found = await call()
                    seen.take_all(found if isinstance(found, dict) else {T0: [found]})

            def some():
                return reader.getmany(timeout_ms=200, max_records=10)

            work_of = [reader.getone, some, reader.__anext__, lambda: reader.getone(T1)]
            tasks = [anyloop.create_task(work(call)) for call in work_of]
            while seen.total() < ALL:
                await anyloop.sleep(0.01)
            await reader.stop()
            ended = await anyloop.gather(*tasks, return_exceptions=True)
            wanted = (errors.ConsumerStoppedError, StopAsyncIteration, RuntimeError)
            assert all(isinstance(error, wanted) for error in ended)
        seen.check(PARTITIONS, EACH)

    run(main())


@pytest.mark.parametrize("way", [iterate, one_by_one, many, without_waiting])
def test_a_backlog_leaves_the_others_their_turn(broker, way):
    """Counted in turns, not in time: behind so many records the other task has run again."""

    async def main():
        per_turn = []

        class Counting(Seen):
            turn = records = 0

            def note(self):
                if self.turn != turns[0]:
                    per_turn.append(self.records)
                    self.turn, self.records = turns[0], 0
                self.records += 1

            def __setitem__(self, key, value):
                super().__setitem__(key, value)
                self.note()

        async with consumer(broker, "t", max_poll_records=200) as reader, ticking() as turns:
            seen = Counting()
            while await reader.position(T0) < 0:
                pass
            await anyloop.sleep(0.3)  # all of it is buffered
            before = turns[0]
            await way(reader, seen)
            assert turns[0] - before >= 3
        assert seen.total() == ALL
        assert max(per_turn) <= RECORDS_PER_TURN + 250

    run(main())


def test_getmany_ends_at_its_time(broker):
    async def main():
        async with consumer(broker) as reader:
            reader.assign([T0])
            reader.seek(T0, EACH)
            began = anyloop.time()
            assert await reader.getmany(timeout_ms=100) == {}
            assert 0.09 <= anyloop.time() - began < 5
            assert await reader.getmany() == {}

    run(main())


def test_whoever_asks_without_a_wait_lets_others_run(broker):
    async def main():
        async with consumer(broker) as reader, ticking() as turns:
            reader.assign([T0])
            reader.seek(T0, EACH)
            before = turns[0]
            for _ in range(100):
                assert await reader.getmany() == {}
            assert turns[0] - before >= 100

    run(main())


def test_what_nobody_asks_for_is_not_in_the_way():
    """More of one partition than is fetched ahead, while only the other is read."""

    async def main(broker):
        async with consumer(
            broker, "t", max_partition_fetch_bytes=20_000, max_buffered_bytes=60_000
        ) as reader:
            for number in (1, 0):
                seen = Seen()
                while seen.total() < 2_000:
                    seen.take_all(await reader.getmany(TopicPartition("t", number), timeout_ms=500))
                    assert {p for _, p, _ in seen} <= {number}
                assert sorted(offset for _, _, offset in seen) == list(range(2_000))

    with EmbeddedBroker() as broker:
        fill(broker, "t", 2, 2_000, size=200)
        run(main(broker))


def test_reading_follows_seek_pause_and_the_like(broker):
    async def main():
        async with consumer(broker) as reader:
            reader.assign([T0, T1])
            assert (await reader.getone(T0)).offset == 0
            reader.seek(T0, 42)
            assert (await reader.getone(T0)).offset == 42
            assert await reader.position(T0) == 43
            reader.pause(T1)
            assert reader.paused() == {T1}
            found = await reader.getmany(timeout_ms=1_000)
            assert found.keys() == {T0}
            reader.resume(T1)
            assert await reader.seek_to_end(T0)
            assert await reader.position(T0) == EACH
            assert await reader.seek_to_beginning()
            assert {tp: await reader.position(tp) for tp in (T0, T1)} == {T0: 0, T1: 0}
            assert (await reader.getone(T1)).offset == 0
            assert reader.highwater(T1) == EACH
            assert reader.last_stable_offset(T1) == EACH
            assert abs(reader.last_poll_timestamp(T1) / 1000 - time.time()) < 10
            assert set(reader.health()) == {T0, T1}
            with pytest.raises(errors.UnassignedPartitionError):
                reader.seek(TopicPartition("t", 3), 0)

    run(main())


def test_a_verb_of_another_task_is_seen_at_once(broker):
    """Records that are buffered, and paused: nothing comes from the broker when they are free."""

    async def main():
        async with consumer(broker) as reader:
            reader.assign([T0])
            assert (await reader.getone()).offset == 0
            reader.pause(T0)
            waits = anyloop.create_task(reader.getone())
            await anyloop.sleep(0.1)
            assert not waits.done()
            reader.resume(T0)
            async with ticking() as turns:
                assert (await waits).offset == 1
                assert turns[0] < 100

    run(main())


def test_two_that_wait_do_not_keep_each_other_awake(broker):
    async def main():
        async with consumer(broker) as reader:
            reader.assign([T0])
            reader.seek(T0, EACH)
            tasks = [anyloop.create_task(reader.getone()) for _ in range(2)]
            await anyloop.sleep(0.1)
            looks = []
            look = reader._look
            reader._look = lambda *given: looks.append(1) or look(*given)
            await anyloop.sleep(0.3)
            assert len(looks) < 20
            for task in tasks:
                task.cancel()
            await anyloop.wait(tasks)

    run(main())


# Asking ----------------------------------------------------------------------------------------


def test_questions(broker):
    async def main():
        async with consumer(broker, "t", group_id="asks") as reader:
            assert await reader.beginning_offsets([T0, T1]) == {T0: 0, T1: 0}
            assert await reader.end_offsets([T0]) == {T0: EACH}
            assert await reader.end_offsets([]) == {}
            found = (await reader.offsets_for_times({T0: 0}))[T0]
            assert isinstance(found, OffsetAndTimestamp)
            assert found.offset == 0
            assert await reader.topics() == {"t"}
            assert reader.partitions_for_topic("t") == set(range(PARTITIONS))
            assert reader.partitions_for_topic("nobody-has-heard-of") is None
            assert reader.subscription() == {"t"}
            assert reader.group_metadata().generation_id >= 1

    run(main())


def test_what_is_to_be_assigned_is_asked_for(broker):
    async def main():
        async with consumer(broker) as reader:
            assert reader.bootstrap_connected()
            assert reader.partitions_for_topic("t") is None  # nobody has asked for it
            found = await reader.fetch_partitions(["t", "not-there"])
            assert found == {"t": set(range(PARTITIONS))}
            assert await reader.fetch_partitions([]) == {}
            with pytest.raises(TypeError, match="list of strings"):
                await reader.fetch_partitions("t")
            reader.assign([TopicPartition("t", number) for number in found["t"]])
            assert (await reader.getone()).offset >= 0
        assert not reader.bootstrap_connected()

    run(main())


def test_commits(broker):
    async def main():
        async with consumer(broker, "t", group_id="commits") as reader:
            assert await reader.committed(T0) is None
            for given in (7, (7, "word"), OffsetAndMetadata(7, "", -1)):
                await reader.commit({T0: given})
                assert await reader.committed(T0) == 7
            assert await reader.seek_to_committed(T0, T1) == {T0: 7, T1: None}
            assert (await reader.getone(T0)).offset == 7
            await reader.commit()
            assert await reader.committed(T0) == 8

    run(main())


def test_questions_need_a_group(broker):
    async def main():
        async with consumer(broker, "t") as reader:
            for ask in (reader.commit(), reader.committed(T0), reader.seek_to_committed(T0)):
                with pytest.raises(errors.IllegalOperation):
                    await ask

    run(main())


def test_a_question_that_is_refused(broker):
    async def main():
        async with consumer(broker, "t", group_id="refused") as reader:
            broker.refuse("OffsetCommit", "GROUP_AUTHORIZATION_FAILED")
            with pytest.raises(errors.GroupAuthorizationFailedError):
                await reader.commit({T0: 1})
            broker.refuse("OffsetCommit", "COORDINATOR_LOAD_IN_PROGRESS", times=2)
            await reader.commit({T0: 1})
            assert await reader.committed(T0) == 1

    run(main())


def test_auto_commit_while_a_task_waits_and_at_the_end(broker):
    async def main():
        auto = {"group_id": "auto", "enable_auto_commit": True, "auto_commit_interval_ms": 50}
        async with consumer(broker, "t", **auto) as reader:
            while (await reader.getone(T0)).offset < 9:
                pass
            waits = anyloop.create_task(reader.getone(TopicPartition("t", 99)))
            while await reader.committed(T0) != 10:
                await anyloop.sleep(0.02)
            waits.cancel()
            await anyloop.wait([waits])
            while (await reader.getone(T0)).offset < 19:
                pass
        async with consumer(broker, group_id="auto") as reader:
            assert await reader.committed(T0) == 20

    run(main())


def test_a_body_that_fails_commits_nothing(broker):
    async def main():
        auto = {"group_id": "failing", "enable_auto_commit": True}

        async def fail():
            async with consumer(broker, "t", **auto) as reader:
                await reader.getone(T0)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        async with consumer(broker, group_id="failing") as reader:
            assert await reader.committed(T0) is None

    run(main())


# Encrypted -------------------------------------------------------------------------------------


def test_an_ssl_context_is_used(broker):
    """Against a peer that does not speak TLS: the handshake is what fails."""

    async def main():
        reader = consumer(
            broker, security_protocol="SSL", ssl_context=ssl.create_default_context(),
            bootstrap_timeout_ms=500,
        )  # fmt: skip
        with pytest.raises(errors.KafkaConnectionError):
            await reader.start()
        await reader.stop()

    run(main())


def test_the_readme_in_one_piece(broker):
    async def main():
        count = 0
        async with AsyncConsumer("t", **options(broker, "readme")) as reader:
            async for record in reader:
                count += 1
                if record.offset == EACH - 1:
                    await reader.commit()
                    break
        assert count

    run(main())
