"""Three nodes, one of them gone: leaders and the coordinator move, reading goes on."""

import time

import pytest
from confluent_kafka.admin import AdminClient

import kcore

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PARTITIONS = 6
PROTOCOLS = pytest.mark.parametrize(
    "options", [{}, {"group_protocol": "consumer"}], ids=["classic", "consumer"]
)


def coordinator_of(cluster, group):
    """The index of the node that coordinates the group."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    described = admin.describe_consumer_groups([group])[group].result(20)
    return cluster.index_of(described.coordinator.id)


def reached_beyond(group, marks):
    """Whether every partition was read beyond these offsets."""
    reached = group.sessions.reached()
    return all(reached.get(number, 0) > mark for number, mark in marks.items())


@PROTOCOLS
@pytest.mark.parametrize("how", ["restart", "kill", "pause"])
def test_the_coordinators_broker_goes_while_reading(
    kafka3, names, group_on, writer, quick, how, options
):
    quick(kafka3)
    kafka3.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka3)
    numbers = [group.add(**options) for _ in range(3)]
    with writer(kafka3, names.topic) as writing:
        group.wait_shared(numbers, PARTITIONS)
        group.wait(lambda: reached_beyond(group, dict.fromkeys(range(PARTITIONS), 0)))
        gone = coordinator_of(kafka3, names.group)
        if how == "restart":
            kafka3.restart(gone)
        elif how == "kill":
            kafka3.kill(gone)
        else:
            kafka3.nodes[gone].pause()
        marks = kafka3.end_offsets(names.topic)
        # Every partition is read on, of the two nodes that are left or of all three again.
        group.wait(lambda: reached_beyond(group, marks), timeout_s=90.0)
        if how == "kill":
            kafka3.restart(gone)
        elif how == "pause":
            kafka3.nodes[gone].resume()
        time.sleep(2.0)
        writing.stop()
    ends = kafka3.end_offsets(names.topic)
    group.wait_read(lambda: ends, timeout_s=90.0)
    group.stop()
    group.sessions.check(ends)
    assert kafka3.group_offsets(names.group, names.topic) == ends


@PROTOCOLS
def test_each_node_is_restarted_in_turn(kafka3, names, group_on, writer, quick, options):
    quick(kafka3)
    kafka3.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka3)
    numbers = [group.add(**options) for _ in range(2)]
    with writer(kafka3, names.topic) as writing:
        group.wait_shared(numbers, PARTITIONS)
        for index in range(3):
            kafka3.restart(index)
            marks = kafka3.end_offsets(names.topic)
            group.wait(lambda marks=marks: reached_beyond(group, marks), timeout_s=90.0)
        writing.stop()
    ends = kafka3.end_offsets(names.topic)
    group.wait_read(lambda: ends, timeout_s=90.0)
    group.stop()
    group.sessions.check(ends)


def leading(admin, topic, node_id):
    """Partitions that a node leads."""
    (described,) = admin.describe_topics([topic])
    return [p["partition_index"] for p in described["partitions"] if p["leader_id"] == node_id]


@PROTOCOLS
def test_a_leader_that_stands_still_is_waited_for_until_the_cluster_puts_it_out(
    kafka3, names, options
):
    """Its connections stay, so that nothing says so but the others. (Clients that ask nobody wait
    for as long as a request may take: a minute here.)
    """
    asked = {"bootstrap_servers": kafka3.bootstrap, "request_timeout_ms": 60_000}
    kafka3.create_topic(names.topic, PARTITIONS)
    gone = kafka3.nodes[1]
    with (
        kcore.Admin(**asked) as admin,
        kcore.Producer(delivery_timeout_ms=120_000, **asked) as producer,
        kcore.Consumer(
            names.topic, group_id=names.group, auto_offset_reset="earliest", **asked, **options
        ) as consumer,
    ):
        partitions = leading(admin, names.topic, gone.node_id)
        assert partitions
        for partition in range(PARTITIONS):  # they have a connection to every leader
            producer.send(names.topic, b"before", partition=partition).get(30)
        read = []
        deadline_s = time.monotonic() + 60
        while len(read) < PARTITIONS and time.monotonic() < deadline_s:
            for records in consumer.poll(timeout_ms=200).values():
                read += records
        assert len(read) == PARTITIONS
        gone.pause()
        paused_s = time.monotonic()
        sent = [producer.send(names.topic, b"after", partition=one) for one in partitions]
        deadline_s = paused_s + 50
        while len(read) < PARTITIONS + len(partitions) and time.monotonic() < deadline_s:
            for records in consumer.poll(timeout_ms=200).values():
                read += records
        written = [future.get(timeout=1).partition for future in sent]
        assert sorted(written) == partitions
        found = [(one.partition, one.value) for one in read[PARTITIONS:]]
        assert sorted(found) == [(one, b"after") for one in partitions]
        consumer.commit()
        print(f"on after {time.monotonic() - paused_s:.1f} s")
