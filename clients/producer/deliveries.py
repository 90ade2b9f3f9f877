"""What `send` returns: kafka-python's future of a record, and what it ends in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from kcore.clients.futures import Call, Outcomes
from kcore.clients.log import Log
from kcore.errors import KafkaError, KafkaTimeoutError
from kcore.produce.intake import Ticket
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore.produce.batch import Batch, Outcome


log = Log("kcore.producer")


class RecordMetadata(NamedTuple):
    """Where a record is; kafka-python's fields.

    offset: -1 if the broker did not say (acks=0). timestamp: ms. checksum: always None, as v2
    records have none. Sizes are of the serialized parts in bytes, -1 for None and for no headers.
    """

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    checksum: None
    serialized_key_size: int
    serialized_value_size: int
    serialized_header_size: int


def unknown(tp: TopicPartition) -> RecordMetadata:
    """Of a record that was not delivered; for interceptors, which are given something always."""
    return RecordMetadata(*tp, tp, -1, -1, None, -1, -1, -1)


class RecordFuture(Ticket, Outcomes):
    """One record on its way.

    Callbacks run in the producer's own thread (or greenlet), in the order the records were
    delivered; when the record is delivered already, at once. In the child of a fork `get` and
    callbacks are refused (ForkedError); the rest says how it stood.
    """

    __slots__ = ()

    # How it stands -------------------------------------------------------------------------------

    @property
    def _outcome(self) -> Outcome | None:
        outcome: Outcome | None = self.batch.outcome(self.number)
        return outcome

    @property
    def is_done(self) -> bool:
        """Whether it was delivered, or has failed."""
        return self._outcome is not None

    @property
    def value(self) -> RecordMetadata | None:
        """Where the record is; None while it is not delivered."""
        outcome = self._outcome
        return None if outcome is None or outcome.error is not None else self._metadata(outcome)

    @property
    def exception(self) -> KafkaError | None:
        """Why it has failed; None if it has not."""
        outcome = self._outcome
        return None if outcome is None else outcome.error

    def _metadata(self, outcome: Outcome) -> RecordMetadata:
        tp = self.batch.tp
        return RecordMetadata(
            tp.topic,
            tp.partition,
            tp,
            outcome.offset,
            self.timestamp_ms if outcome.timestamp_ms < 0 else outcome.timestamp_ms,
            None,
            self.key_size,
            self.value_size,
            self.header_size,
        )

    # Waiting -------------------------------------------------------------------------------------

    def get(self, timeout: float | None = None) -> RecordMetadata:
        """Wait, at most `timeout` seconds, for its end; the error is raised if it has failed.

        KafkaTimeoutError: it is not over in time, and goes on. ForkedError.
        """
        self.courier.check_process()
        if self.batch.lingers:
            self.courier.hurry((self.batch,))
        if not self.courier.wait(lambda: self.is_done, timeout, self._attend):
            raise KafkaTimeoutError(f"the record was not delivered within {timeout} s")
        outcome = self._outcome
        assert outcome is not None
        if outcome.error is not None:
            raise outcome.error.with_traceback(None)  # or it grows: its batch has one
        return self._metadata(outcome)

    def _attend(self, bell: Any) -> Callable[[], object]:
        def ring(_: object) -> None:
            bell.set()

        def leave() -> None:
            if self.calls is not None:
                self.calls = [entry for entry in self.calls if entry[1] is not ring]

        self._listen(True, ring)
        self._listen(False, ring)
        return leave

    def _add(self, wanted: bool, call: Call) -> None:
        self.courier.check_process()
        with self.courier.lock:
            over = self.is_done
            if not over:
                self._listen(wanted, call)
        if over:
            try:
                self._run(wanted, call)
            except Exception:  # as it would be in the producer's thread
                log.exception("a callback of a delivered record failed")

    def _listen(self, wanted: bool, call: Call) -> None:
        if self.calls is None:
            self.calls = []
            self.batch.waiters.append(self)
        self.calls.append((wanted, call))

    def settle(self, _batch: Batch) -> list[Callable[[], object]]:
        """The calls that are to be made, if it is over: each is given once."""
        if self.calls is None or not self.is_done:
            return []
        calls: list[Callable[[], object]]
        calls = [partial(self._run, wanted, call) for wanted, call in self.calls]
        self.calls = None  # last: who is struck before has given none
        return calls

    def _run(self, wanted: bool, call: Call) -> None:
        outcome = self._outcome
        assert outcome is not None
        if (outcome.error is None) is wanted:
            call(self._metadata(outcome) if outcome.error is None else outcome.error)
