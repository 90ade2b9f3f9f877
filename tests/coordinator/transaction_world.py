"""A transaction coordinator on a virtual clock, its journal, and logs that take its markers."""

from __future__ import annotations

from collections import deque
from itertools import count

from kcore.coordinator import Caller
from kcore.coordinator.transactions import TransactionConfig, TransactionCoordinator
from kcore.structs import TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode

WALL_MS = 1_700_000_000_000
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Topics:
    """Topic t has two partitions."""

    def name_of(self, _topic_id):
        return None

    def id_of(self, _name):
        return None

    def has_partition(self, name, partition):
        return name == "t" and 0 <= partition < 2


class Ids:
    """Producer ids from 1000 on; `last` was given last."""

    def __init__(self):
        self.last = 999

    def new_producer_id(self):
        self.last += 1
        return self.last


class World:
    """`held`: appends wait for `append`; `marks`: whether markers are written at once."""

    def __init__(self, version=2, *, held=False, marks=True, **config):
        self.now_ms = 1_000
        self.config = TransactionConfig(
            transaction_version=version, transaction_state_log_num_partitions=2, **config
        )
        self.ids = Ids()
        self.held = held
        self.marks = marks
        self.journals = {0: [], 1: []}
        self.epochs = count(1)
        self.waiting = deque()
        self.markers = []  # given out, not written
        self.written = []  # (producer id, epoch, committed, partition)
        self.answers = {}
        self._tokens = count(1)
        self.coordinator = None
        self.load()

    # The coordinator's life ----------------------------------------------------------------------

    def load(self):
        """A coordinator that begins with what the journals say."""
        self.coordinator = TransactionCoordinator(
            self.config, self.ids, Topics(), wall_offset_ms=WALL_MS
        )
        self.waiting.clear()
        self.markers.clear()
        for partition, items in self.journals.items():
            self.coordinator.handle_elected(partition, next(self.epochs))
            self.coordinator.handle_entries(partition, list(items), self.now_ms)
            self.coordinator.handle_loaded(partition, self.now_ms)
        self.drain()

    def drain(self):
        busy = True
        while busy:
            busy = False
            while (append := self.coordinator.next_append()) is not None:
                busy = True
                self.waiting.append(append)
            while (markers := self.coordinator.next_markers()) is not None:
                busy = True
                self.markers.append(markers)
            while (reply := self.coordinator.next_reply()) is not None:
                assert reply.token not in self.answers
                self.answers[reply.token] = reply.message
            if not self.held and self.waiting:
                busy = True
                self._append(ErrorCode.NONE)
            if self.marks and self.markers:
                busy = True
                self._mark()

    def _append(self, error):
        append = self.waiting.popleft()
        if not error:
            self.journals[append.partition] += append.entries
        self.coordinator.handle_appended(append.partition, append.number, self.now_ms, error)

    def append(self, error=ErrorCode.NONE):
        """The oldest append is through, or failed."""
        self._append(error)
        self.drain()

    def _mark(self):
        markers = self.markers.pop(0)
        for tp in markers.partitions:
            self.written.append(
                (markers.producer_id, markers.producer_epoch, markers.committed, tp)
            )
        self.coordinator.handle_marked(markers, markers.partitions, self.now_ms)

    def mark(self):
        """The oldest markers are written."""
        self._mark()
        self.drain()

    def run(self, ms):
        end = self.now_ms + ms
        while self.coordinator.deadline() <= end:
            self.now_ms = max(self.now_ms, self.coordinator.deadline())
            self.coordinator.handle_deadline(self.now_ms)
            self.drain()
        self.now_ms = end

    # Requests ------------------------------------------------------------------------------------

    def send(self, message, version=None):
        if version is None:
            version = API_TABLE[ApiKey(message.API_KEY)].max_version
        token = next(self._tokens)
        self.coordinator.handle_request(Caller(token), version, message, self.now_ms)
        self.drain()
        return token

    def ask(self, message, version=None):
        return self.answers.get(self.send(message, version))

    def init(self, name="x", timeout_ms=60_000, producer=(-1, -1), version=5):
        """Code, producer id and epoch."""
        answer = self.ask(init(name, timeout_ms, producer), version)
        return answer.error_code, answer.producer_id, answer.producer_epoch

    def add(self, producer, *partitions, name="x", version=None, verify=False):
        """The code of the partitions, which is one for all. version: of clients that go by the
        level of the feature.
        """
        version = version or (5 if verify or self.config.transaction_version else 3)
        answer = self.ask(add(producer, partitions, name, version, verify=verify), version)
        return add_codes(answer, version)

    def add_offsets(self, producer, name="x", group="g", version=4):
        return self.ask(add_offsets(producer, name, group), version).error_code

    def end(self, producer, committed=True, name="x", version=5):
        """Code, producer id and epoch."""
        answer = self.ask(end(producer, committed, name), version)
        return answer.error_code, answer.producer_id, answer.producer_epoch

    def state(self, name="x"):
        (found,) = self.ask(
            m.DescribeTransactionsRequest(transactional_ids=[name])
        ).transaction_states
        return found.error_code or found.transaction_state

    def listed(self, version=2, **filters):
        return self.ask(m.ListTransactionsRequest(**filters), version)


def init(name="x", timeout_ms=60_000, producer=(-1, -1)):
    return m.InitProducerIdRequest(
        transactional_id=name,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer[0],
        producer_epoch=producer[1],
    )


def add(producer, partitions, name="x", version=5, *, verify=False):
    topics = [
        m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=tp[0], partitions=[tp[1]])
        for tp in partitions
    ]
    if version < 4:
        return m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=topics,
        )
    one = m.AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
        transactional_id=name,
        producer_id=producer[0],
        producer_epoch=producer[1],
        verify_only=verify,
        topics=topics,
    )
    return m.AddPartitionsToTxnRequest(transactions=[one])


def add_codes(answer, version):
    if version < 4:
        topics = answer.results_by_topic_v3_and_below
    else:
        (only,) = answer.results_by_transaction
        topics = only.topic_results
    codes = [one.partition_error_code for topic in topics for one in topic.results_by_partition]
    return codes[0] if len(set(codes)) == 1 else codes


def add_offsets(producer, name="x", group="g"):
    return m.AddOffsetsToTxnRequest(
        transactional_id=name, producer_id=producer[0], producer_epoch=producer[1], group_id=group
    )


def end(producer, committed=True, name="x"):
    return m.EndTxnRequest(
        transactional_id=name,
        producer_id=producer[0],
        producer_epoch=producer[1],
        committed=committed,
    )
