"""Rebalances that a member asks for, and members that go without leaving, on a real Kafka: what the
others have then, and that nobody loses a record.
"""

import asyncio
import subprocess
import threading
import time

import java_programs
import pytest

from kcore import Admin, AsyncConsumer, Consumer
from kcore.events import GroupJoined

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
PARTITIONS, RECORDS = 6, 6_000
SESSION_MS = 6_000  # the least that brokers allow


@pytest.fixture(autouse=True)
def _quick(kafka, quick):
    quick(kafka)


def options(kafka, names, **more):
    classic = more.get("group_protocol", "classic") == "classic"
    session = {"session_timeout_ms": SESSION_MS, "heartbeat_interval_ms": 300} if classic else {}
    return {
        "bootstrap_servers": kafka.bootstrap,
        "group_id": names.group,
        "auto_offset_reset": "earliest",
        **session,
        **more,
    }


class Member(threading.Thread):
    """Reads until it is told to close, in a thread of its own; keeps what it saw."""

    def __init__(self, kafka, names, **more):
        super().__init__(daemon=True)
        self.seen, self.generations, self.assigned = [], [], set()
        self.error, self.ends, self.ending, self.asks = None, threading.Event(), {}, None
        self.make = lambda: Consumer(names.topic, **options(kafka, names, **more))
        self.start()

    def run(self):
        try:
            consumer = self.make()
            consumer.observe(self.note)
            while not self.ends.is_set():
                for tp, records in consumer.poll(timeout_ms=50, max_records=50).items():
                    self.seen += [(tp.partition, record.offset) for record in records]
                self.assigned = {tp.partition for tp in consumer.assignment()}
                if self.asks is not None:
                    consumer.enforce_rebalance(self.asks)
                    self.asks = None
            consumer.close(**self.ending)
        except Exception as error:  # noqa: BLE001 - `finish` raises it
            self.error = error

    def note(self, event):
        if isinstance(event, GroupJoined):
            self.generations.append(event.generation)

    def finish(self, **ending):
        self.ending = ending
        self.ends.set()
        self.join(20)
        assert not self.is_alive()
        assert self.error is None, self.error


def until(done, timeout_s=30):
    end = time.monotonic() + timeout_s
    while not done():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.02)


def members_of(kafka, names):
    """Instance ids (or None) of those whom the coordinator still counts."""
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        row = admin.describe_groups([names.group])[names.group]
        return [member["group_instance_id"] for member in row["members"]]


def shared(*members):
    held = [member.assigned for member in members]
    return all(held) and sum(map(len, held)) == PARTITIONS == len(set().union(*held))


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_the_group_rebalances_once_and_every_record_is_read_once(
    kafka, names, records, writer, strategy
):
    kafka.create_topic(names.topic, PARTITIONS)
    more = {"partition_assignment_strategy": strategy}
    with writer(kafka, names.topic) as writing:
        first = Member(kafka, names, **more)
        second = Member(kafka, names, **more)
        until(lambda: shared(first, second))
        until(lambda: first.generations[-1] == second.generations[-1])
        before = first.generations[-1]
        for number, asks in enumerate([first, second, first], start=1):
            asks.asks = f"the test wants one: {number}"
            now = before + number
            until(lambda now=now: first.generations[-1] == second.generations[-1] == now)
        time.sleep(1.0)  # whatever else would come of it
        assert first.generations[-1] == second.generations[-1] == before + 3
        assert shared(first, second)
        writing.stop()
    ends = kafka.end_offsets(names.topic)
    assert sum(ends.values()) > 0
    until(lambda: len(first.seen) + len(second.seen) >= sum(ends.values()))
    first.finish()
    second.finish()
    expected = {(number, at) for number, end in ends.items() for at in range(end)}
    assert set(first.seen) | set(second.seen) == expected
    assert len(first.seen) + len(second.seen) == len(expected)


def test_brokers_write_down_why(kafka, names):
    kafka.create_topic(names.topic, PARTITIONS)
    member = Member(kafka, names)
    until(lambda: len(member.assigned) == PARTITIONS)
    member.asks = "the disks of rack seven are full"
    until(lambda: len(member.generations) == 2)
    member.finish()
    assert "the disks of rack seven are full" in kafka.nodes[0].log.read_text(errors="replace")


def test_the_coordinator_that_assigns_is_not_asked(kafka, names, caplog):
    kafka.create_topic(names.topic, PARTITIONS)
    member = Member(kafka, names, group_protocol="consumer")
    until(lambda: len(member.assigned) == PARTITIONS)
    joined = len(member.generations)
    member.asks = "because"
    until(lambda: member.asks is None)
    time.sleep(1.0)
    assert len(member.generations) == joined
    assert len(member.assigned) == PARTITIONS
    assert "cannot ask for a rebalance" in caplog.text
    member.finish()


# Who goes ----------------------------------------------------------------------------------------

each_kind = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@each_kind
@pytest.mark.parametrize(
    ("instance", "operation", "remains"),
    [
        (None, "default", False),
        (None, "leave_group", False),
        (None, "remain_in_group", True),
        ("i1", "default", True),
        ("i1", "leave_group", False),
        ("i1", "remain_in_group", True),
    ],
)
def test_who_closes_is_counted_or_not(kafka, names, protocol, instance, operation, remains):
    kafka.create_topic(names.topic, PARTITIONS)
    more = {"group_protocol": protocol}
    stays = Member(kafka, names, **more)
    goes = Member(kafka, names, group_instance_id=instance, **more)
    until(lambda: shared(stays, goes))
    held = stays.assigned
    goes.finish(group_membership_operation=operation)
    if remains:
        assert sorted(map(str, members_of(kafka, names))) == sorted(map(str, [None, instance]))
        assert stays.assigned == held
        # Nobody keeps it for ever.
        until(lambda: len(stays.assigned) == PARTITIONS, timeout_s=20)
    else:
        assert members_of(kafka, names) == [None]
        until(lambda: len(stays.assigned) == PARTITIONS, timeout_s=4)
    stays.finish()
    assert members_of(kafka, names) == []


@each_kind
def test_a_static_member_that_remains_comes_back_to_what_it_had(kafka, names, protocol, records):
    kafka.create_topic(names.topic, PARTITIONS)
    kafka.produce(names.topic, records(RECORDS))
    more = {"group_protocol": protocol}
    stays = Member(kafka, names, **more)
    goes = Member(kafka, names, group_instance_id="i1", **more)
    until(lambda: shared(stays, goes))
    held, generations = goes.assigned, list(stays.generations)
    goes.finish(group_membership_operation="remain_in_group")
    back = Member(kafka, names, group_instance_id="i1", **more)
    until(lambda: back.assigned == held)
    ends = kafka.end_offsets(names.topic)
    until(lambda: sum(map(len, (stays.seen, goes.seen, back.seen))) >= sum(ends.values()))
    if protocol == "classic":
        assert stays.generations == generations  # it heard nothing of it
    back.finish(group_membership_operation="leave_group")
    stays.finish()
    seen = stays.seen + goes.seen + back.seen
    assert sorted(seen) == sorted({(n, at) for n, end in ends.items() for at in range(end)})


@each_kind
@pytest.mark.parametrize("operation", ["leave_group", "remain_in_group"])
def test_a_static_member_goes_as_javas_does(kafka, names, protocol, operation, installation):
    """The same two closes by Kafka's own client leave the same behind."""
    kafka.create_topic(names.topic, PARTITIONS)
    counted = {}
    for who in ("java", "ours"):
        group = f"{names.group}-{who}"
        if who == "java":
            arguments = [kafka.bootstrap, names.topic, group, protocol, operation]
            subprocess.run(
                java_programs.command(installation, "CloseMember", *arguments),
                check=True,
                capture_output=True,
                timeout=60,
            )
        else:
            consumer = Consumer(
                names.topic,
                **options(
                    kafka, names, group_id=group, group_protocol=protocol, group_instance_id="i1"
                ),
            )
            until(lambda reader=consumer: bool(reader.poll(timeout_ms=50) or reader.assignment()))
            consumer.close(group_membership_operation=operation)
        with Admin(bootstrap_servers=kafka.bootstrap) as admin:
            rows = admin.describe_groups([group])[group]["members"]
            counted[who] = [member["group_instance_id"] for member in rows]
    assert counted["ours"] == counted["java"]


@each_kind
def test_an_async_consumer_remains_or_leaves(kafka, names, protocol):
    kafka.create_topic(names.topic, PARTITIONS)
    more = options(kafka, names, group_protocol=protocol, group_instance_id="i1")

    async def member(operation):
        reader = AsyncConsumer(names.topic, **more)
        await reader.start()
        await reader.stop(operation)

    asyncio.run(member("remain_in_group"))
    assert members_of(kafka, names) == ["i1"]
    asyncio.run(member("leave_group"))
    assert members_of(kafka, names) == []
