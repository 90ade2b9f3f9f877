"""Lag, committed offsets of many partitions and seeks with an epoch, on a real Kafka."""

import asyncio

import pytest

from kcore import AsyncConsumer, Consumer, OffsetAndMetadata, Producer, TopicPartition

pytestmark = pytest.mark.slow
PARTITIONS, EACH = 3, 100


@pytest.fixture
def filled(kafka, names):
    kafka.create_topic(names.topic, PARTITIONS)
    with Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for number in range(EACH * PARTITIONS):
            producer.send(names.topic, b"v", partition=number % PARTITIONS)
    return [TopicPartition(names.topic, number) for number in range(PARTITIONS)]


def options(kafka, names, **more):
    return {
        "bootstrap_servers": kafka.bootstrap,
        "group_id": names.group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        **more,
    }


def lags_of_the_tool(kafka, group):
    """Partition -> lag as Kafka's own kafka-consumer-groups shows it."""
    lines = kafka.tool("kafka-consumer-groups", "--describe", "--group", group).splitlines()
    header = next(line for line in lines if line.startswith("GROUP")).split()
    at, lag = header.index("PARTITION"), header.index("LAG")
    rows = [line.split() for line in lines if line.startswith(group)]
    return {int(row[at]): int(row[lag]) for row in rows}


def test_lag_is_what_the_tool_says(kafka, names, filled):
    with Consumer(**options(kafka, names)) as reader:
        reader.assign(filled)
        while not all(reader.current_lag(tp) is not None for tp in filled):
            reader.poll(timeout_ms=100, max_records=7)
        reader.commit()
        mine = {tp.partition: reader.current_lag(tp) for tp in filled}
        held = reader.committed(set(filled), metadata=True)
        assert {tp: at.offset for tp, at in held.items()} == reader.committed(filled)
        assert {tp: at.offset for tp, at in held.items()} == {
            tp: reader.position(tp) for tp in filled
        }
    assert mine == lags_of_the_tool(kafka, names.group)
    assert sum(mine.values()) > 0


def test_lag_ends_before_an_open_transaction(kafka, names, filled):
    tp = filled[0]
    with Producer(bootstrap_servers=kafka.bootstrap, transactional_id=names.group) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        for _ in range(5):
            producer.send(names.topic, b"open", partition=0)
        producer.flush()
        for level, beyond in (("read_committed", 0), ("read_uncommitted", 5)):
            with Consumer(**options(kafka, names, isolation_level=level)) as reader:
                reader.assign([tp])
                while not reader.poll(timeout_ms=100, max_records=1):
                    pass
                assert reader.current_lag(tp) == EACH - 1 + beyond
                assert reader.end_offsets([tp])[tp] == EACH + beyond
        producer.abort_transaction()


def test_a_seek_to_what_was_committed_goes_on_there(kafka, names, filled):
    async def main():
        async with AsyncConsumer(**options(kafka, names)) as reader:
            reader.assign(filled)
            while (await reader.position(filled[0])) < 30:
                await reader.getmany(timeout_ms=200, max_records=10)
            await reader.commit()
            held = await reader.committed(filled, metadata=True)
            assert held[filled[0]].leader_epoch == 0  # so that the broker is asked
            while (await reader.position(filled[0])) < EACH:
                await reader.getmany(timeout_ms=200)
            reader.seek(filled[0], held[filled[0]])
            record = await reader.getone(filled[0])
            assert record.offset == held[filled[0]].offset
            reader.seek(filled[1], OffsetAndMetadata(5))
            assert (await reader.getone(filled[1])).offset == 5

    asyncio.run(main())


KEPT_MS = 25_000  # longer than what is asked may take


@pytest.mark.parametrize("grouped", [True, False])
def test_what_is_asked_while_a_broker_keeps_a_fetch_is_answered(kafka, names, filled, grouped):
    more = {"group_id": names.group if grouped else None, "auto_offset_reset": "earliest"}
    with Consumer(**options(kafka, names, **more, fetch_max_wait_ms=KEPT_MS)) as reader:
        reader.assign(filled)
        read = 0
        while read < EACH * PARTITIONS:
            read += sum(map(len, reader.poll(timeout_ms=10_000).values()))
        for number in range(5):
            reader.poll(timeout_ms=50)  # its fetch is kept by then
            assert set(reader.end_offsets(filled, timeout_ms=10_000).values()) == {EACH}
            assert names.topic in reader.topics()
            reader.seek(filled[0], EACH - 10 - number)
            (records,) = reader.poll(timeout_ms=10_000).values()
            assert [one.offset for one in records] == [*range(EACH - 10 - number, EACH)]
        with Producer(bootstrap_servers=kafka.bootstrap) as producer:  # and what it waits for comes
            producer.send(names.topic, b"v", partition=1).get(10)
        (records,) = reader.poll(timeout_ms=10_000).values()
        assert [one.offset for one in records] == [EACH]
