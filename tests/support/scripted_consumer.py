"""A Consumer over a core and a pump that follow a script: no socket, a clock that jumps."""

from collections import deque
from types import SimpleNamespace

from kcore.clients.consumer.consumer import Consumer
from kcore.clients.engine import Engine
from kcore.clients.guard import Guard
from kcore.clients.reporting import Reporter
from kcore.errors import KafkaError
from kcore.events import Closed, OperationCompleted
from kcore.records import RecordReader, encode_batch
from kcore.records.columns import Columns
from kcore.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from kcore.timers import NEVER
from kcore.transports import Step

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def record(tp, offset, epoch=3):
    return SimpleNamespace(
        topic=tp.topic, partition=tp.partition, offset=offset, leader_epoch=epoch, value=b"v"
    )


def records(tp, *offsets):
    return {tp: [record(tp, offset) for offset in offsets]}


class Inside:
    """What a core's `inside` is to a consumer: there is always more to be done than one record."""

    def __init__(self):
        self.taken = 0

    def take(self):
        return None


class ScriptedCore:
    """Logs every verb. `batches`: what take_records gives or raises. `answers`: verb -> outcome."""

    def __init__(self):
        self.log = []
        self.inside = Inside()
        self.events = self.unread = deque()
        self.unsent = [None]  # actions that a driver has not fetched yet
        self.pending = deque()  # events that the next step of the pump brings
        self.steps = deque()  # of a rebalance: each follows the acknowledgement of the one before
        self.batches = deque()
        self.answers = {}  # verb -> result, or error to end it in, or None: never answered
        self.assigned = set()
        self.paused_set = set()
        self.positions = {}
        self.consumed = {}
        self.connected = True
        self.release = (4, 4)
        self.operations = 0
        self.idle_ms = 0
        self.topics = {}
        self.cluster = SimpleNamespace(partitions=self.topics.get)
        self.on_poll = None

    # events and records
    def next_event(self):
        return self.events.popleft() if self.events else None

    def deadline(self):
        return NEVER

    @property
    def has_records(self):
        return bool(self.batches)

    def poll(self, now_ms):
        self.log.append(("poll", now_ms))
        if self.on_poll is not None:
            self.on_poll()

    def take_records(self, limit, now_ms):
        self.log.append(("take_records", limit))
        batch = self.batches.popleft() if self.batches else {}
        if isinstance(batch, BaseException):
            raise batch
        for tp, taken in batch.items():
            self.inside.taken += 1
            self.consumed[tp] = OffsetAndMetadata(taken[-1].offset + 1, "", 3)
            self.positions[tp] = taken[-1].offset + 1
        return batch

    def take_columns(
        self, max_rows, max_bytes, now_ms, *, views=False, with_headers=False, only=None, **kept
    ):
        self.log.append(("take_columns", max_rows, max_bytes, views, with_headers))
        self.kept = {name.removeprefix("with_"): wanted for name, wanted in kept.items()}
        batch = self.batches.popleft()
        if isinstance(batch, BaseException):
            raise batch
        columns = Columns(views=views, with_headers=with_headers, **kept)
        for tp, taken in batch.items():
            self.inside.taken += 1
            rows = [(1_000 + one.offset, None, one.value) for one in taken]
            data = encode_batch(rows, base_offset=taken[0].offset)
            RecordReader(tp.topic, tp.partition, data, 0).take_columns(columns)
            self.consumed[tp] = OffsetAndMetadata(taken[-1].offset + 1, "", 3)
        return columns

    def handle_interrupted(self, now_ms):
        self.log.append(("handle_interrupted", now_ms))

    def hand_over(self):
        """What is taken from here on has not arrived."""

    def take_back(self, now_ms):
        self.log.append(("take_back", now_ms))

    # operations
    def _operate(self, verb, *args):
        self.operations += 1
        self.log.append((verb, *args))
        answer = self.answers.get(verb, {})
        if answer is not None:
            error = answer if isinstance(answer, KafkaError) else None
            result = None if error else answer
            self.pending.append(OperationCompleted(self.operations, result, error))
        return self.operations

    def commit(self, offsets, now_ms, timeout_ms=None):
        return self._operate("commit", offsets, timeout_ms)

    def committed(self, tps, now_ms, timeout_ms):
        return self._operate("committed", tuple(tps), timeout_ms)

    def list_offsets(self, timestamps, now_ms, timeout_ms):
        return self._operate("list_offsets", dict(timestamps), timeout_ms)

    def fetch_metadata(self, topics, now_ms, timeout_ms, *, may_create=False):
        return self._operate("fetch_metadata", None if topics is None else tuple(topics))

    def close(self, now_ms, timeout_ms, *, autocommit=True, operation="default"):
        other = () if operation == "default" else (operation,)
        self.log.append(("close", timeout_ms, autocommit, *other))
        if self.answers.get("close", True):
            self.pending.append(Closed())

    # wishes
    def subscribe(self, topics, now_ms):
        self.log.append(("subscribe", set(topics)))

    def subscribe_pattern(self, pattern, now_ms):
        self.log.append(("subscribe_pattern", pattern))

    def subscribe_remote_pattern(self, pattern, now_ms):
        self.log.append(("subscribe_remote_pattern", pattern))

    def unsubscribe(self, now_ms):
        self.log.append(("unsubscribe",))
        self.assigned = set()

    def assign(self, partitions, now_ms):
        self.log.append(("assign", list(partitions)))
        self.assigned = set(partitions)

    def seek(self, tp, offset, now_ms, leader_epoch=-1):
        self.log.append(("seek", tp, offset, leader_epoch))

    def go_back(self, tp, offset, now_ms, leader_epoch=-1):
        self.log.append(("go_back", tp, offset, leader_epoch))

    def seek_to_beginning(self, tps, now_ms):
        self.log.append(("seek_to_beginning", list(tps)))

    def seek_to_end(self, tps, now_ms):
        self.log.append(("seek_to_end", list(tps)))

    def want(self, tps, now_ms):
        """Not in the log: every consumer says it as it is made, and with its first poll."""

    def pause(self, tps):
        self.log.append(("pause", list(tps)))
        self.paused_set |= set(tps)

    def resume(self, tps, now_ms):
        self.log.append(("resume", list(tps)))
        self.paused_set -= set(tps)

    def request_rejoin(self, reason, now_ms):
        self.log.append(("request_rejoin", reason))

    def acknowledge_rebalance(self, now_ms):
        self.log.append(("acknowledge_rebalance",))
        if self.steps:
            self.events.append(self.steps.popleft())

    def begin_rebalance(self, *steps):
        self.events.append(steps[0])
        self.steps.extend(steps[1:])

    # state
    def assignment(self):
        return set(self.assigned)

    def subscription(self):
        return {"t"}

    def paused(self):
        return set(self.paused_set)

    def position(self, tp):
        return self.positions.get(tp)

    def highwater(self, tp):
        return 99

    def consumed_offsets(self):
        return dict(self.consumed)

    def group_metadata(self):
        return ConsumerGroupMetadata("g", 5, "m")

    def health(self):
        return dict.fromkeys(self.assigned, "waiting for the broker")

    def broker_api_version(self):
        return self.release

    def verbs(self, *names):
        return [entry for entry in self.log if entry[0] in names]


class ScriptedPump:
    """Each step brings what is pending; with nothing pending, its timeout passes on the clock."""

    def __init__(self, core):
        self.core = core
        self.now = 1_000
        self.steps = []
        self.drains = 0
        self.closed = False
        self.on_step = None
        self.transport = SimpleNamespace(name="blocking")

    def now_ms(self):
        return self.now

    def step(self, timeout_ms=None):
        self.steps.append(timeout_ms)
        if self.on_step is not None:
            self.on_step(timeout_ms)
        if self.core.pending:
            self.core.events.extend(self.core.pending)
            self.core.pending.clear()
            return Step.FED
        self.now += timeout_ms
        return Step.IDLE

    def drain(self):
        self.drains += 1

    def wakeup(self):
        pass

    def close(self):
        self.closed = True


class ScriptedConsumer(Consumer):
    """`core` and `pump` are the script's."""

    def _connect(self, settings):
        self.core = ScriptedCore()
        self.pump = ScriptedPump(self.core)
        return Engine(self.core, self.pump, Guard.for_transport("blocking"), Reporter("test"))


def make(*topics, **options):
    options.setdefault("api_version", (4, 0))
    return ScriptedConsumer(*topics, **options)


def assigned(*partitions, **options):
    """A consumer with these partitions assigned by hand and an empty log."""
    consumer = make(**options)
    consumer.assign(partitions or [T0])
    consumer.core.log.clear()
    return consumer
