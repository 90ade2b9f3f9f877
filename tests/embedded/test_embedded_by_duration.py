"""Who begins by duration reads the records of that time, in a whole consumer (KIP-1106)."""

import io
import time

import pytest
from async_consumers import run

import kcore
from kcore import AsyncConsumer, TopicPartition
from kcore.cli.consume import ConsumeOptions, consume
from kcore.cli.formats import formatter

HOUR = "by_duration:PT1H"
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
AGES = {T0: (180, 90, 30, 10), T1: (180, 90), T2: ()}  # of the records, in minutes


@pytest.fixture
def broker(kcore_broker):
    kcore_broker.create_topic("t", len(AGES))
    write(kcore_broker, {part: [b"%d" % age for age in ages] for part, ages in AGES.items()}, AGES)
    return kcore_broker


def write(broker, values, ages):
    now_ms = time.time_ns() // 1_000_000
    with kcore.Producer(bootstrap_servers=broker.bootstrap) as producer:
        for part, found in values.items():
            for value, age in zip(found, ages[part], strict=True):
                at_ms = now_ms - age * 60_000
                producer.send("t", value, partition=part.partition, timestamp_ms=at_ms)


def options(broker, **more):
    given = {"bootstrap_servers": broker.bootstrap, "fetch_max_wait_ms": 50}
    return given | {"auto_offset_reset": HOUR} | more


def read(reader, count):
    values = []
    deadline = time.monotonic() + 10
    while len(values) < count and time.monotonic() < deadline:
        for records in reader.poll(timeout_ms=100).values():
            values += [record.value for record in records]
    return values


def test_it_begins_with_the_first_record_of_that_time_or_at_the_end(broker):
    with kcore.Consumer(**options(broker)) as reader:
        reader.assign([T0, T1, T2])
        assert [reader.position(part) for part in (T0, T1, T2)] == [2, 2, 0]
        assert read(reader, 2) == [b"30", b"10"]
        write(broker, {T1: [b"new"], T2: [b"first"]}, {T1: (0,), T2: (0,)})
        assert sorted(read(reader, 2)) == [b"first", b"new"]


def test_so_does_a_consumer_of_a_loop(broker):
    async def main():
        async with AsyncConsumer(**options(broker)) as reader:
            reader.assign([T0, T1, T2])
            places = [await reader.position(part) for part in (T0, T1, T2)]
            return places, [(await reader.getone()).value for _ in range(2)]

    assert run(main()) == ([2, 2, 0], [b"30", b"10"])


def test_a_group_goes_on_where_it_was(broker):
    grouped = options(broker, group_id="g", enable_auto_commit=False)
    with kcore.Consumer(**grouped) as reader:
        reader.assign([T0])
        reader.commit({T0: kcore.OffsetAndMetadata(1)})
    with kcore.Consumer("t", **grouped) as reader:
        assert read(reader, 3) == [b"90", b"30", b"10"]


def test_where_records_are_gone_it_goes_on_with_those_of_that_time(broker):
    with kcore.Consumer(
        **options(broker, auto_offset_reset="none", out_of_range_reset=HOUR)
    ) as reader:
        reader.assign([T0, T1])
        reader.seek(T0, 99)
        reader.seek(T1, 99)
        assert read(reader, 2) == [b"30", b"10"]
        assert [reader.position(part) for part in (T0, T1)] == [4, 2]


@pytest.mark.parametrize("group", [None, "g"])
def test_kcore_consume_takes_it(broker, group):
    out = io.BytesIO()
    asked = ConsumeOptions(("t",), broker.bootstrap, group, start=HOUR, stop_at_end=True)
    assert consume(asked, formatter("value"), out) == 0
    assert out.getvalue() == b"30\n10\n"
