"""The quick way of a record into an open batch, and what it leaves to others."""

import threading
import time
import typing

import pytest

from kcore.locks import WorkLock
from kcore.produce.accumulator import BATCH_OVERHEAD, RECORD_OVERHEAD, Accumulator
from kcore.produce.config import ProduceConfig
from kcore.produce.intake import (
    Door,
    Draw,
    Intake,
    Receiver,
    Route,
    Sending,
    Ticket,
    record_bytes,
)
from kcore.produce.murmur import partition_of
from kcore.records import RecordReader
from kcore.structs import TopicPartition

FULL = 2_000


class Setting:
    """Three partitions, each with a batch that holds one record already."""

    def __init__(self, full_bytes=FULL, memory=1 << 20, by_key=True, open_batches=True):
        self.accumulator = Accumulator(ProduceConfig(batch_size=full_bytes, buffer_memory=memory))
        self.sticky = Draw(full_bytes)
        self.sticky.partition = 1
        self.intake = Intake(self.accumulator.budget, 10_000)
        self.route = self.intake.routes["t"] = Route([0, 1, 2], self.sticky, by_key=by_key)
        self.batches = []
        for number in range(3):
            lane = self.route.lanes[number] = self.accumulator.lane(TopicPartition("t", number))
            if open_batches:
                taken = self.accumulator.append(lane, 100, 0, None, b"first", (), 0)
                self.batches.append(taken[0])
        self.courier = Receiver()
        self.door = Door(self.intake, WorkLock(threading.RLock(), ()), Ticket, self.courier)

    def send(self, topic="t", key=None, value=b"v", headers=None, partition=None, timestamp_ms=5):
        return self.door.send(topic, key, value, headers, partition, timestamp_ms)


def records_of(batch):
    batch.seal()
    batch.identify(-1, -1, -1)
    return RecordReader("t", 0, bytes(batch.data), 0).take(1000)


def test_a_record_joins_the_open_batch_and_gets_a_ticket():
    setting = Setting()
    before = setting.accumulator.held_bytes
    ticket = setting.send(key=b"k", value=None, headers=[("h", b"1"), ("i", None)], partition=2)
    batch = setting.batches[2]
    assert (ticket.batch, ticket.number, ticket.courier) == (batch, 1, setting.courier)
    assert (ticket.timestamp_ms, ticket.calls) == (5, None)
    assert (ticket.key_size, ticket.value_size, ticket.header_size) == (1, -1, 3)
    assert batch.record_count == 2
    assert setting.accumulator.held_bytes - before > 0
    assert setting.accumulator.held_bytes == sum(one.raw_bytes for one in setting.batches)
    last = records_of(batch)[-1]
    assert (last.key, last.value, last.timestamp) == (b"k", None, 5)
    assert [*last.headers] == [("h", b"1"), ("i", None)]


def test_keys_decide_unless_they_are_ignored():
    for key in (b"", b"a", b"key", bytes(100)):
        assert Setting().send(key=key).batch.tp.partition == partition_of(key, 3)
        assert Setting(by_key=False).send(key=key).batch.tp.partition == 1
        assert Setting().send(key=key, partition=2).batch.tp.partition == 2


def test_what_a_sticky_partition_has_got_is_counted_until_twice_its_size():
    setting = Setting(full_bytes=100_000)
    setting.sticky.batch_size = 300
    taken = 0
    while setting.send(value=bytes(68)) is not None:
        taken += 1
    assert taken == 5  # of 100 bytes each: the sixth reaches the double, and another is drawn
    assert setting.sticky.taken_bytes == 500
    assert setting.send(key=b"k") is not None
    assert setting.sticky.taken_bytes == 500


ODD = [
    {"topic": "other"},
    {"topic": None},
    {"topic": []},
    {"topic": b"t"},
    {"key": "text"},
    {"key": bytearray(b"k")},
    {"value": 5},
    {"value": memoryview(b"v")},
    {"headers": ()},
    {"headers": iter([])},
    {"partition": 3},
    {"partition": -1},
    {"partition": True},
    {"partition": "0"},
    {"timestamp_ms": -1},
    {"timestamp_ms": 1 << 63},
    {"timestamp_ms": 1.0},
    {"value": bytes(FULL)},
    {"value": bytes(20_000)},
]


def named(odd):
    """The same in every process: without addresses."""
    return repr(odd).partition(" at 0x")[0][:40]


@pytest.mark.parametrize("odd", ODD, ids=named)
def test_what_is_out_of_the_ordinary_changes_nothing(odd):
    setting = Setting()
    before = [batch.raw_bytes for batch in setting.batches], setting.accumulator.held_bytes
    assert setting.send(**odd) is None
    after = [batch.raw_bytes for batch in setting.batches], setting.accumulator.held_bytes
    assert after == before
    assert setting.sticky.taken_bytes == 0


@pytest.mark.parametrize("headers", [[(5, b"x")], [("a", 5)], [("a",)], [None], [("\ud800", b"")]])
def test_headers_that_cannot_be_leave_nothing(headers):
    setting = Setting()
    held = setting.accumulator.held_bytes
    with pytest.raises((TypeError, ValueError)):
        setting.send(headers=headers)
    assert setting.accumulator.held_bytes == held
    assert setting.batches[1].record_count == 1
    assert setting.send().number == 1


def test_without_an_open_batch_nothing_is_taken():
    assert Setting(open_batches=False).send() is None
    setting = Setting()
    setting.accumulator.seal(setting.batches[1])
    assert setting.send() is None
    setting = Setting()
    setting.batches[1].finish()
    assert setting.send() is None
    setting = Setting()
    setting.intake.routes.clear()
    assert setting.send() is None


def test_a_batch_is_filled_up_but_for_the_record_that_makes_it_full():
    setting = Setting()
    while setting.send(value=bytes(50), partition=0) is not None:
        pass
    batch = setting.batches[0]
    assert FULL - 2 * (50 + RECORD_OVERHEAD) < batch.raw_bytes < FULL - RECORD_OVERHEAD
    assert not setting.accumulator.due  # it waits for who may close it


def test_memory_is_kept_to():
    memory = 3 * (BATCH_OVERHEAD + 100) + 500
    setting = Setting(full_bytes=100_000, memory=memory)
    while setting.send(value=bytes(30)) is not None:
        assert setting.accumulator.held_bytes <= memory
    assert setting.accumulator.room_bytes < 30 + RECORD_OVERHEAD


def test_the_lock_is_held_and_given_back():
    setting = Setting()
    seen = []

    class Lock:
        def acquire(self, blocking, timeout):
            seen.append((blocking, timeout))

        def release(self):
            seen.append(setting.batches[1].record_count)

    setting.door = Door(setting.intake, WorkLock(Lock(), ()), Ticket, None)
    setting.send()
    setting.send(value=bytes(FULL))
    with pytest.raises(TypeError):
        setting.send(headers=[None])
    assert seen == [(True, -1), 2] * 3


def test_nothing_is_taken_once_nobody_hears_what_becomes_of_it():
    setting = Setting()
    setting.courier.stopped = True
    assert setting.send() is None
    assert setting.batches[1].record_count == 1


def test_a_record_without_a_time_is_of_now():
    before = time.time_ns() // 1_000_000
    ticket = Setting().send(timestamp_ms=None)
    assert before <= ticket.timestamp_ms <= time.time_ns() // 1_000_000


class Desk(Sending):
    """Keeps what does not simply go in."""

    def __init__(self, door):
        self._open_door = door
        self.left = []

    def _send_with_care(self, *record):
        self.left.append(record)
        return "later"

    def _append(self, record):
        self.left.append(record)
        return "another batch", 3


def test_send_leaves_what_the_door_does_not_take_as_it_is():
    setting = Setting()
    desk = Desk(setting.door)
    assert desk.send("t", b"v").batch is setting.batches[1]
    assert desk.send("t", b"v", partition=2, timestamp_ms=7).timestamp_ms == 7
    assert desk.left == []
    left = [
        ("t", "text", b"k", None, None, None),
        ("u", b"v", None, None, None, 5),
        ("t", b"v", None, [None], 1, None),  # a TypeError in the door
        ("t", b"v", None, [("h", 5)], 1, -1),
    ]
    for record in left:
        assert desk.send(*record) == "later"
    assert desk.left == left
    # Whole as they are, and without an open batch that has room.
    large = desk.send("t", bytes(FULL), key=b"k", headers=[("h", b"1")], timestamp_ms=8)
    assert (large.batch, large.number, large.timestamp_ms, large.header_size) == (
        "another batch",
        3,
        8,
        2,
    )
    assert desk.left.pop() == ("t", b"k", bytes(FULL), [("h", b"1")], None, 8)
    assert desk.send("t", None, partition=9, timestamp_ms=8).number == 3
    assert desk.left.pop() == ("t", None, None, [], 9, 8)
    shut = Desk(None)
    assert shut.send(topic="t", key=b"k") == "later"
    assert shut.left == [("t", None, b"k", None, None, None)]
    with pytest.raises(TypeError):
        desk.send()


@pytest.mark.parametrize("headers", [None, [("h", b"1")]])
def test_what_a_signal_handler_raises_while_the_lock_is_waited_for_is_raised(headers):
    class Lock:
        def acquire(self, blocking, timeout):
            raise ValueError("the time is over")

        def release(self):
            raise AssertionError("it was not taken")

    setting = Setting()
    desk = Desk(Door(setting.intake, WorkLock(Lock(), ()), Ticket, None))
    with pytest.raises(ValueError, match="time is over"):
        desk.send("t", b"v", headers=headers)
    assert desk.left == []


def test_annotations_of_send_can_be_evaluated():
    assert {*typing.get_type_hints(Sending.send)} >= {"topic", "value", "headers", "return"}


def test_a_kind_of_ticket_is_made():
    class Kind(Ticket):
        __slots__ = ()

    setting = Setting()
    setting.door = Door(setting.intake, WorkLock(threading.RLock(), ()), Kind, None)
    assert type(setting.send()) is Kind
    with pytest.raises(TypeError, match="no kind of Ticket"):
        Door(setting.intake, WorkLock(threading.RLock(), ()), object, None)


@pytest.mark.parametrize(
    ("key", "value", "headers", "size"),
    [
        (None, None, (), 0),
        (b"k", b"vv", (), 3),
        (None, b"v", [("h", None)], 1 + 10 + 4),
        (None, b"v", [("hh", b"123"), ("i", b"")], 1 + 10 + 8 + 3 + 10 + 4),
    ],
)
def test_the_most_that_a_record_takes(key, value, headers, size):
    assert record_bytes(key, value, headers) == RECORD_OVERHEAD + size
