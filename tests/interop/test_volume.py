"""A million records through a group: none lost, none read twice that was committed."""

import time

import pytest

import kcore

MILLION = 1_000_000
PARTITIONS = 4


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_million_records(kafka, names, group_on, records):
    kafka.create_topic(names.topic, PARTITIONS)
    kafka.produce(names.topic, records(MILLION))
    ends = kafka.end_offsets(names.topic)
    assert sum(ends.values()) == MILLION
    group = group_on(kafka)
    for transport in ("blocking", "selectors", "gevent"):
        group.add(transport=transport, max_records=5_000)
    group.wait_read(lambda: ends, timeout_s=90.0)
    group.stop()
    group.sessions.check(ends)
    assert kafka.group_offsets(names.group, names.topic) == ends


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_million_records_while_members_come_and_go(kafka, names, group_on, records):
    kafka.create_topic(names.topic, PARTITIONS)
    kafka.produce(names.topic, records(MILLION))
    ends = kafka.end_offsets(names.topic)
    group = group_on(kafka)
    # Slow handlers, so that the reading lasts longer than the rebalances.
    slow = {"handler_s": 0.05, "session_timeout_ms": 3_000, "heartbeat_interval_ms": 300}
    first, second = group.add(**slow), group.add(**slow)
    group.wait_shared([first, second], PARTITIONS)
    third = group.add(**slow)
    group.wait_shared([first, second, third], PARTITIONS)
    group.kill(first)
    group.wait_shared([second, third], PARTITIONS)
    fourth = group.add(**slow)
    group.wait_shared([second, third, fourth], PARTITIONS)
    group.leave(second)
    group.wait_shared([third, fourth], PARTITIONS)
    group.wait_read(lambda: ends, timeout_s=200.0)
    group.stop()
    group.sessions.check(ends)
    assert kafka.group_offsets(names.group, names.topic) == ends


def test_far_behind_on_many_partitions_that_take_turns(kafka, names, records):
    """The session forgets and adds partitions in each request; all that a real broker has comes."""
    partitions, each = 100, 500
    kafka.create_topic(names.topic, partitions)
    kafka.produce(names.topic, records(partitions * each))
    ends = kafka.end_offsets(names.topic)
    found: dict[int, list[int]] = {partition: [] for partition in range(partitions)}
    in_turns = 0
    with kcore.Consumer(
        names.topic,
        bootstrap_servers=kafka.bootstrap,
        auto_offset_reset="earliest",
        fetch_max_bytes=20_000,
        max_partition_fetch_bytes=3_000,
        max_poll_records=1_000,
    ) as consumer:
        end = time.monotonic() + 60
        while sum(map(len, found.values())) < sum(ends.values()) and time.monotonic() < end:
            for tp, taken in consumer.poll(timeout_ms=500).items():
                found[tp.partition] += [record.offset for record in taken]
            in_turns += any("its turn comes" in why for why in consumer.health().values())
    assert found == {partition: list(range(ends[partition])) for partition in range(partitions)}
    assert in_turns > 20
