"""What the couriers of producers have in common: what the core has said is sorted, whose records
are over, which operations, what the cluster has against us; and how it stands with the producer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

from kcore.clients.opening import nobody_answered
from kcore.clients.reporting import Reporter
from kcore.errors import ForkedError, KafkaError, KafkaTimeoutError, ProducerClosed
from kcore.events import Closed, ErrorRaised, Event, OperationCompleted
from kcore.produce.events import RecordsDelivered
from kcore.produce.intake import Receiver

_FORKED = (
    "the producer was made before a fork: its connections belong to the parent process; "
    "make another one in the child"
)

# A turn that ends by what is not foreseen, as often in a row, was not struck: it fails by itself.
STRIKES_MAX = 10


class Dispatch(Receiver):
    """See the module's text. stopped: `check` raises. lost: records that were given up because the
    courier failed.
    """

    now_ms: Callable[[], int]

    def __init__(self, core: Any, name: str) -> None:
        self.core = core
        self.stopped = False
        self.lost = 0
        self.errors_seen = 0
        self.calls: deque[Callable[[], object]] = deque()  # to be made without the lock
        self._errors: deque[tuple[int, KafkaError]] = deque(maxlen=100)
        self._results: dict[int, OperationCompleted] = {}
        self._unwanted: set[int] = set()
        self._reporter = Reporter(name, "producer")
        self._failed = ""  # why the courier has ended, if nobody asked it to
        self._closed = False
        self._forked = False

    def _end(self) -> None:
        """The core has said its last."""
        raise NotImplementedError

    def nudge(self) -> None:
        """If something was begun, see to it that it goes on."""
        raise NotImplementedError

    # What the core has said ------------------------------------------------------------------

    def sort(self) -> bool:
        """Sort it, and put the calls that are to be made then behind `calls`. False: it has said
        nothing.

        An event is taken out when what follows from it is done: it may come twice where that was
        struck, which does no harm, but none is left out.
        """
        events = self.core.unread
        if not events:
            return False
        while events:
            event = events[0]
            if type(event) is RecordsDelivered:
                self._tell(event.batch)
                del events[0]
            elif type(event) is OperationCompleted:
                if event.operation in self._unwanted:
                    self._unwanted.discard(event.operation)
                else:
                    self._results[event.operation] = event
                del events[0]
            else:
                self._note(event)
                del events[0]
                # Behind that: who reads the log may send, and so come here.
                self._reporter.report(event, self.now_ms())
        return True

    def _tell(self, batch: Any) -> None:
        for waiter in batch.waiters:
            self.calls += waiter.settle(batch)
        if batch.origin.done:
            batch.waiters.clear()  # each holds the batch, too

    def _note(self, event: Event) -> None:
        if type(event) is ErrorRaised:
            self.errors_seen += 1
            self._errors.append((self.errors_seen, event.error))
        elif type(event) is Closed:
            self._end()

    def give_up(self, error: KafkaError) -> None:
        """Whatever is not over has failed; the calls that are to be made are behind `calls`."""
        for batch in self.core.give_up(error):
            self.lost += batch.record_count
            for waiter in batch.waiters:
                self.calls += waiter.settle(batch)

    def raise_errors(self, seen: int) -> None:
        """Raise what the cluster has said against us since `errors_seen` was so much."""
        for number, error in self._errors:
            if number > seen:
                raise copy(error)  # this one is kept, and would keep whoever called

    def result(self, operation: int) -> OperationCompleted | None:
        """The end of an operation, if it is there; given once."""
        return self._results.pop(operation, None)

    def forget(self, operation: int) -> None:
        """Nobody waits for this operation any more."""
        if self._results.pop(operation, None) is None:
            self._unwanted.add(operation)

    def check_answered(
        self,
        ended: OperationCompleted | None,
        servers: Iterable[tuple[str, int]],
        timeout_ms: float,
    ) -> None:
        """How the first question went. NoBrokersAvailable, or what was answered."""
        error = None if ended is None else ended.error
        if ended is None or isinstance(error, KafkaTimeoutError):
            raise nobody_answered(servers, self._reporter.attempts, timeout_ms) from error
        if error is not None:
            raise error

    # How it stands ---------------------------------------------------------------------------

    @property
    def over(self) -> bool:
        """Whether everything is closed."""
        return self._closed

    def check(self) -> None:
        """ProducerClosed, ForkedError, or what ended the courier."""
        self.check_process()
        if self._failed:
            raise KafkaError(self._failed)  # a new one: a traceback keeps its callers alive
        if self._closed:
            raise ProducerClosed("the producer is closed")

    def check_process(self) -> None:
        """ForkedError: this is the child of a fork, where nobody hears what becomes of records."""
        if self._forked:
            raise ForkedError(_FORKED)

    def check_nothing_lost(self) -> None:
        """KafkaError, once: the courier failed, and records with it."""
        lost, self.lost = self.lost, 0
        if lost and self._failed:
            raise KafkaError(f"{lost} records were not delivered: {self._failed}")

    def forked(self) -> None:
        """In the child of a fork: nobody drives the core here."""
        self._forked = not self._closed  # what is over may be looked at here, too
        self.core.intake.routes.clear()  # so that records come by `append`, which looks first
        self._closed = self.stopped = True
