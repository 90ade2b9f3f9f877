"""Tables poured into `ProducerCore` while brokers fail and memory is short."""

import random
from itertools import groupby

import pytest
from scripted_producer import (
    CUT_AFTER,
    CUT_BEFORE,
    LATE,
    NO_ANSWER,
    NOT_LEADER,
    produce_world,
)

from kcore import errors
from kcore.errors import IllegalArgumentError
from kcore.produce.events import RecordsDelivered
from kcore.produce.feeding import RowsDelivery
from kcore.produce.rows import read_rows
from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode as E

pa = pytest.importorskip("pyarrow")
COUNT = 400


def settle(client):
    client.drain()
    for event in client.of(RecordsDelivered):
        for waiter in event.batch.waiters:
            waiter.settle(event.batch)
    client.events.clear()


def pour(world, client, table):
    """Take all rows, waiting for room; what became of them."""
    delivery = RowsDelivery()
    for rows in read_rows(table):
        begin = 0
        while begin < rows.length:
            end = client.core.append_rows(
                rows, "t", begin, rows.length, delivery, world.now, wall_ms=5
            )
            settle(client)
            if end == begin:
                world.run(20)
                settle(client)
            begin = end
            assert world.now < 400_000, client.core.held_up
    delivery.complete = True
    return delivery


@pytest.mark.parametrize("seed", range(15))
def test_rows_arrive_once_in_order_where_they_belong(seed):
    rng = random.Random(seed)
    world, cluster, client = produce_world(
        nodes=3,
        topics={"t": 3},
        seed=seed,
        batch_size=rng.choice([0, 200, 1_000]),
        linger_ms=rng.choice([0, 5]),
        request_timeout_ms=500,
        delivery_timeout_ms=rng.choice([1_000, 120_000]),
        compression_type=rng.choice(["none", "gzip"]),
        buffer_memory=rng.choice([1_500, 5_000, 1 << 20]),
    )
    often, sick = rng.choice([0, 0.1, 0.3]), [True]
    faults = [CUT_BEFORE, CUT_AFTER, NO_ANSWER, LATE, NOT_LEADER, 7, 19, 87]
    cluster.max_batch = rng.choice([120, 200, 1 << 20])
    cluster.fault = lambda *_: rng.choice(faults) if sick[0] and rng.random() < often else None
    numbers = [rng.choice([None, 0, 1, 2]) for _ in range(COUNT)]
    table = pa.table(
        {
            "value": [b"%06d" % row for row in range(COUNT)],
            "key": [rng.choice([None, b"%d" % (row % 9)]) for row in range(COUNT)],
            "partition": pa.array(numbers, pa.int32()),
        }
    )
    delivery = pour(world, client, table)
    sick[0] = False
    client.core.flush(world.now)
    while not delivery.done:
        world.run(50)
        settle(client)
        assert world.now < 800_000
    assert delivery.rows == delivery.delivered + delivery.failed == COUNT
    assert (delivery.failed == 0) is (delivery.error is None)
    arrived = 0
    for number in range(3):
        log = cluster.log(number).values
        assert log == sorted(set(log))
        assert all(numbers[int(value)] in (None, number) for value in log)
        arrived += len(log)
    assert delivery.delivered <= arrived <= COUNT
    if not delivery.failed:
        assert arrived == COUNT
        for tp, told in delivery.partitions.items():
            size = len(cluster.log(tp.partition).values)
            assert (told.first_offset, told.last_offset, told.count) == (0, size - 1, size)
    assert client.core.held_bytes == 0


def test_who_found_no_room_is_called_when_there_is_enough_of_it():
    world, cluster, client = produce_world(
        nodes=1, topics={"t": 1}, batch_size=200, linger_ms=0, buffer_memory=4_000
    )
    cluster.fault = lambda *_: NO_ANSWER
    core = client.core
    (rows,) = read_rows(pa.table({"value": [b"v" * 100] * 200}))
    delivery = RowsDelivery()

    def append(begin):
        end = core.append_rows(rows, "t", begin, rows.length, delivery, world.now, wall_ms=5)
        settle(client)
        return end

    assert append(0) == 0
    assert core.takes_rows, "it waits for metadata, not for room"
    world.run(50)
    taken = append(0)
    assert 0 < taken < rows.length
    assert not core.takes_rows
    assert append(taken) == taken
    core.close(world.now, 60_000)
    assert core.takes_rows, "to be told that it is over"

    world, _, client = produce_world(
        nodes=1, topics={"t": 1}, batch_size=200, linger_ms=0, buffer_memory=4_000
    )
    core, delivery = client.core, RowsDelivery()
    append(0)
    world.run(50)
    taken = append(0)
    assert not core.takes_rows
    world.run(50)
    assert core.takes_rows
    assert append(taken) > taken


@pytest.mark.parametrize("seed", range(6))
def test_rows_without_a_key_follow_a_topic_that_has_fewer_partitions(seed):
    world, cluster, client = produce_world(
        nodes=1, topics={"t": 50}, seed=seed, linger_ms=0, metadata_max_age_ms=500
    )
    table = pa.table({"value": [b"v"] * 3})
    before = pour(world, client, table)
    world.run(100)
    settle(client)
    assert before.delivered == 3
    cluster.topics["t"] = 1  # deleted, and made anew
    world.run(2_000)
    after = pour(world, client, table)
    world.run(100)
    settle(client)
    assert after.delivered == 3
    assert {tp.partition for tp in after.partitions} == {0}


@pytest.mark.parametrize("value_bytes", [1, 30, 100, 200])
def test_headers_of_batches_are_part_of_the_memory(value_bytes):
    world, cluster, client = produce_world(
        nodes=1, topics={"t": 100}, linger_ms=10_000, buffer_memory=1_000
    )
    client.send_soon(b"x")
    client.flush()
    cluster.fault = lambda *_: NO_ANSWER
    numbers = pa.array(range(100), pa.int32())
    table = pa.table({"value": [bytes(value_bytes)] * 100, "partition": numbers})
    (rows,) = read_rows(table)
    taken = client.core.append_rows(rows, "t", 0, 100, RowsDelivery(), world.now, wall_ms=5)
    assert 2 < taken < 100
    assert client.core.held_bytes <= 1_000


def test_room_is_made_for_rows_though_a_record_has_found_some_before_the_drivers_turn():
    world, _, client = produce_world(
        topics={"t": 2}, buffer_memory=3_000, batch_size=2_500, linger_ms=10_000
    )
    client.send_soon(b"x")
    client.flush()
    client.core.patient = True
    assert client.send(bytes(2_000), partition=0)
    table = pa.table({"value": [bytes(1_500)], "partition": pa.array([1], pa.int32())})
    (rows,) = read_rows(table)

    def pour_one():
        delivery = RowsDelivery()
        return client.core.append_rows(rows, "t", 0, 1, delivery, world.now, wall_ms=5)

    assert pour_one() == 0
    assert client.send(b"small", partition=1)
    client.core.handle_deadline(world.now)
    client.drain()
    world.run(1_000)
    assert pour_one() == 1


def test_rows_wait_for_a_broker_that_tells_of_every_partition():
    world, cluster, client = produce_world(nodes=1, topics={"t": 6}, linger_ms=0)
    cluster.unlisted = {1, 4}
    (rows,) = read_rows(pa.table({"value": [b"v"] * 3}))
    for _ in range(5):
        got = client.core.append_rows(rows, "t", 0, 3, RowsDelivery(), world.now, wall_ms=5)
        assert (got, client.core.held_up) == (0, "metadata")
        world.run(50)
    cluster.unlisted = set()
    assert pour(world, client, pa.table({"value": [b"v"] * 3})).rows == 3


def test_rows_for_a_new_partition_wait_for_it_and_are_refused_if_there_is_none():
    world, cluster, client = produce_world(nodes=1, topics={"t": 1}, linger_ms=0)
    client.send_soon(b"x")
    table = pa.table({"value": [b"0", b"3"], "partition": pa.array([0, 3], pa.int32())})
    with pytest.raises(IllegalArgumentError, match="row 1: t has no partition 3: it has 1"):
        pour(world, client, table)
    cluster.topics["t"] = 4
    assert pour(world, client, table).rows == 2
    world.run(100)
    assert cluster.log(3).values == [b"3"]


def test_offsets_of_rows_are_theirs_whoever_shares_the_batch():
    world, cluster, client = produce_world(topics={"t": 1}, linger_ms=100)
    for value in (b"a", b"b", b"c"):
        client.send_soon(value)
    first = pour(world, client, pa.table({"value": [b"0", b"1"]}))
    client.send_soon(b"d")
    second = pour(world, client, pa.table({"value": [b"2"]}))
    client.flush()
    settle(client)
    assert cluster.log().values == [b"a", b"b", b"c", b"0", b"1", b"d", b"2"]
    assert len(cluster.log().batches) == 1
    got = [one.partitions[TopicPartition("t", 0)] for one in (first, second)]
    assert [(one.first_offset, one.last_offset, one.count) for one in got] == [(3, 4, 2), (6, 6, 1)]


def test_without_acks_nobody_says_where_rows_are():
    world, cluster, client = produce_world(topics={"t": 1}, acks=0)
    delivery = pour(world, client, pa.table({"value": [b"0", b"1"]}))
    client.flush()
    settle(client)
    (got,) = delivery.partitions.values()
    assert (got.first_offset, got.last_offset, got.count) == (-1, -1, 2)


def test_the_first_failure_is_the_one_that_is_told():
    world, cluster, client = produce_world(topics={"t": 2})
    codes = {0: E.TOPIC_AUTHORIZATION_FAILED, 1: E.INVALID_RECORD}
    cluster.fault = lambda node, topic, number, data: int(codes[number])
    for order in ((0, 1), (1, 0)):
        delivery = RowsDelivery()
        for number in order:
            (rows,) = read_rows(
                pa.table({"value": [b"v"], "partition": pa.array([number], pa.int32())})
            )
            while not client.core.append_rows(rows, "t", 0, 1, delivery, world.now, wall_ms=5):
                world.run(20)
            client.flush()
            settle(client)
        assert (delivery.failed, delivery.delivered) == (2, 0)
        assert type(delivery.error) is errors.for_code(codes[order[0]])


@pytest.mark.parametrize("records", [0, 1])
def test_rows_and_records_without_a_key_stay_at_one_partition_until_it_has_had_its_share(records):
    world, cluster, client = produce_world(topics={"t": 20}, linger_ms=10_000, batch_size=1_000)
    client.send_soon(b"x")
    taken = []
    for _ in range(60):
        delivery = pour(world, client, pa.table({"value": [bytes(100)]}))
        taken += [one.tp.partition for one in delivery._open]
        for _ in range(records):
            client.send_soon(bytes(100))
            taken.append(client.taken[-1][0].tp.partition)
    runs = [len([*group]) for _, group in groupby(taken)]
    assert all(8 <= length <= 20 for length in runs[1:-1])
    assert len(runs) > 3
