"""Core, pump and what the core has said: shared by the user's calls and the keeper.

Events are sorted as they come: answers to operations wait for the call that asked, errors for the
next poll, rebalances for the listener, and the rest goes to the log. Whoever steps the pump
collects, so nothing is lost while the keeper drives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from math import ceil
from weakref import WeakMethod

from kcore.clients.futures import OperationFuture
from kcore.clients.guard import Guard
from kcore.clients.log import Log
from kcore.clients.remade import Remade
from kcore.clients.reporting import Reporter
from kcore.errors import KafkaError, KafkaTimeoutError, WakeupError
from kcore.events import (
    Closed,
    ErrorRaised,
    Event,
    HeartbeatAnswered,
    OffsetsCommitted,
    OperationCompleted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RecordsFetched,
    TopicRecreated,
)
from kcore.hints import TYPE_CHECKING, Any, Protocol
from kcore.limits import AWAY_MS, MOMENT_MS
from kcore.transports import Step

if TYPE_CHECKING:
    from kcore.clients.interceptors import ConsumerInterceptors
    from kcore.consumer.config import ConsumerConfig

# The core ends its operations itself; this much later its silence is taken for a failure.
GRACE_MS = 2_000
# A wait of the pump is cut here, so that what depends on wall time in a call is looked at.
STEP_MAX_MS = 1_000
# Errors that nobody fetched by polling; more would all say the same.
_ERRORS_MAX = 100

log = Log("kcore.consumer")


Rebalance = PartitionsAssigned | PartitionsRevoked | PartitionsLost
CommitCallback = Callable[[Any, Any], object]


def call(method: WeakMethod[Callable[[], Any]]) -> Any:
    """Call it; None if its object is gone."""
    found = method()
    return None if found is None else found()


class Driver(Protocol):
    """What is used of `kcore.transports.Pump`."""

    def step(self, timeout_ms: int | None = None) -> Step:
        """Drain, wait, feed, drain."""

    def drain(self) -> None:
        """Carry out the core's actions without waiting or reading."""

    def now_ms(self) -> int:
        """The clock."""

    def wakeup(self) -> None:
        """End a wait, from anywhere."""

    def close(self) -> None:
        """Close all sockets."""


class Engine:
    """See the module's text.

    core: a ConsumerCore. stepped_at: when the sockets were last looked at (pump ms).
    due_at: when the core wanted to be called next, by then.
    polled_at: when a poll last got as far as taking records, if no event has come since.
    rebalances: what the listener has not been told yet. assignments: how often the group has given
    partitions (or none). calls: callbacks that wait for the user's
    thread. closing: the Closed event once it came. released: all is closed, save for
    what is the user's. woken: `wakeup` was called, and nobody told.
    nudged: the same of `nudge`. interceptors: those that look at records and commits; None: there
    are none. telling: whether the listener knows of a step that is not
    acknowledged, or is to be told of one. remade: topics that were made anew meanwhile.
    """

    def __init__(self, core: Any, pump: Driver, guard: Guard, reporter: Reporter) -> None:
        self.core = core
        self.pump = pump
        self.guard = guard
        mend = WeakMethod(self._begin_anew)  # weak: an engine that is dropped is gone at once
        guard.mends(lambda: call(mend))
        self.reporter = reporter
        self.has_listener = False
        self.rebalances: deque[Rebalance] = deque()
        self.telling: Callable[[], bool] | None = None  # None: as long as `rebalances` has any
        self.assignments = 0
        self.closing: Closed | None = None
        self.released = False
        self.auto_committed: CommitCallback | None = None
        self.interceptors: ConsumerInterceptors | None = None
        self.stepped_at = pump.now_ms()
        self.due_at = 0
        self.polled_at = -1
        self.observer: Callable[[Event], object] | None = None
        self._errors: deque[KafkaError] = deque(maxlen=_ERRORS_MAX)
        self._expected: set[int] = set()
        self._results: dict[int, OperationCompleted] = {}
        self._futures: dict[int, tuple[OperationFuture, CommitCallback | None, Any]] = {}
        self.calls: deque[Callable[[], object]] = deque()
        self.woken = False
        self.nudged = False
        self.remade = Remade()

    def prepare_commits(self, settings: ConsumerConfig) -> None:
        """Have whoever is to hear of commits called: interceptors, and for automatic ones
        default_offset_commit_callback. KafkaConfigurationError.
        """
        self.auto_committed = settings.default_offset_commit_callback
        if settings.interceptor_classes:
            from kcore.clients.interceptors import (  # noqa: PLC0415 - for those who have any
                ConsumerInterceptors,
            )

            given, configs = settings.interceptor_classes, settings.as_mapping()
            self.interceptors = ConsumerInterceptors(given, configs)
            self.auto_committed = self.interceptors.told_first(self.auto_committed)

    def told(self, callback: CommitCallback | None) -> CommitCallback | None:
        """A callback of a commit, behind the interceptors, if there are any."""
        interceptors = self.interceptors
        return callback if interceptors is None else interceptors.told_first(callback)

    # Driving ---------------------------------------------------------------------------------

    def step(self, timeout_ms: float) -> Step:
        """One step of the pump, at most `timeout_ms` long, and what came of it."""
        self.recover()
        outcome = self.pump.step(ceil(min(max(timeout_ms, 0), STEP_MAX_MS)))
        self.stepped_at = self.pump.now_ms()
        self.collect()
        self.due_at = self.core.deadline()
        return outcome

    def recover(self) -> None:
        """Have the core begin anew what a call was struck in the middle of. Before anything is
        asked: it ends the links, and with them what they were asked.
        """
        if self.guard.struck:
            self.guard.mend()

    def _begin_anew(self) -> None:
        now = self.pump.now_ms()
        self.core.handle_interrupted(now)
        self.collect()
        for operation in self._results.keys() - self._expected:
            del self._results[operation]  # whose call was struck on its way out
        telling = bool(self.rebalances) if self.telling is None else self.telling()
        acknowledge = getattr(self.core, "acknowledge_rebalance", None)  # not all are of a group
        if acknowledge is not None and not telling:
            # A step of a rebalance may have been on its way from the core to the listener, or its
            # acknowledgement back.
            acknowledge(now)

    def collect(self) -> None:
        """Sort every event the core has."""
        if not self.core.unread:
            return
        next_event = self.core.next_event
        event: Event | None = next_event()
        if event is not None:
            self.polled_at = -1
        while event is not None:
            kind = type(event)
            if self.observer is not None:
                self.observer(event)
            if kind is not RecordsFetched and kind is not HeartbeatAnswered:
                self._sort(event)
            event = next_event()

    def _sort(self, event: Event) -> None:
        match event:
            case OperationCompleted():
                self._complete(event)
            case PartitionsAssigned() | PartitionsRevoked() | PartitionsLost():
                self.assignments += isinstance(event, PartitionsAssigned)
                if self.has_listener:
                    self.rebalances.append(event)
                else:  # nobody to be told: also while the keeper drives
                    self.core.acknowledge_rebalance(self.pump.now_ms())
                    self.pump.drain()
            case ErrorRaised() if not self._repeats(event.error):
                self._errors.append(event.error)
            case OffsetsCommitted() if event.operation is None and self.auto_committed is not None:
                self.calls.append(partial(self.auto_committed, event.offsets, event.error))
            case TopicRecreated():
                self.remade.hear(event.partition)
            case Closed():
                self.closing = event
        self.reporter.report(event, self.pump.now_ms())

    def _repeats(self, error: KafkaError) -> bool:
        """Whether the same waits already: a link refused again and again says so each time."""
        return bool(self._errors) and repr(self._errors[-1]) == repr(error)

    def _complete(self, event: OperationCompleted) -> None:
        if event.operation in self._expected:
            self._results[event.operation] = event
            return
        entry = self._futures.pop(event.operation, None)
        if entry is None:
            return  # the call that asked was interrupted
        future, callback, offsets = entry
        if callback is not None:
            self.calls.append(partial(callback, offsets, event.error))
        self.calls.extend(future.finish(event.result, event.error))

    # Waiting ---------------------------------------------------------------------------------

    def run(self, begin: Callable[[int], int], timeout_ms: float) -> Any:
        """Begin an operation and wait for its end: its result, or its error raised."""
        self.check_woken()
        self.recover()
        now = self.pump.now_ms()
        operation = begin(now)
        try:
            self._expected.add(operation)
            if not self.wait(lambda: operation in self._results, timeout_ms + GRACE_MS):
                raise KafkaTimeoutError(f"no answer in {timeout_ms:.0f} ms", timeout_ms=timeout_ms)
            completed = self._results[operation]
        finally:
            self._expected.discard(operation)
            self._results.pop(operation, None)
        if completed.error is not None:
            raise completed.error
        return completed.result

    def wait(
        self, done: Callable[[], bool], timeout_ms: float, *, interruptible: bool = True
    ) -> bool:
        """Step until `done()`; False if the time ends first. WakeupError if woken."""
        until = self.pump.now_ms() + timeout_ms
        overslept = False
        self.pump.drain()
        self.collect()
        while not done():
            if interruptible:
                self.check_woken()
            left = until - self.pump.now_ms()
            if left <= -AWAY_MS and not overslept:  # what has arrived by now has come in time
                overslept, left = True, GRACE_MS
                until = self.pump.now_ms() + GRACE_MS
            if left <= 0:
                return False
            self.step(left)
        return True

    def left(self, until: float) -> float:
        """How much is left, a moment for who was away when the time ended."""
        left = until - self.pump.now_ms()
        return MOMENT_MS if left <= -AWAY_MS else max(left, 0)

    def later(
        self, operation: int, callback: CommitCallback | None = None, offsets: Any = None
    ) -> OperationFuture:
        """A future for an operation; `callback(offsets, error or None)` runs in a later call."""
        future = OperationFuture()
        self._futures[operation] = (future, callback, offsets)
        self.pump.drain()
        self.collect()
        return future

    # What waits for the user's thread ----------------------------------------------------------

    def run_callbacks(self) -> None:
        """Callbacks of commits that have ended since, in their order."""
        while self.calls:
            call = self.calls.popleft()
            with self.guard.lent():
                call()

    def wakeup(self) -> None:
        """Make the blocking call of now, or the next one, raise WakeupError."""
        self.woken = True  # before the wait is broken: whoever it returns to must see it
        self.pump.wakeup()

    def nudge(self) -> None:
        """Have the poll of now, or the next one, return with what there is, and `wait` look whether
        it is over. From any thread or signal handler.
        """
        self.nudged = True
        self.pump.wakeup()

    def check_woken(self) -> None:
        """Raise WakeupError if `wakeup` was called since the last time."""
        if self.woken:
            self.woken = False
            if self.guard.barred:
                raise WakeupError("close() was called, in another thread")
            raise WakeupError("wakeup() was called; the client can be used as before")

    def raise_pending(self) -> None:
        """Raise what waits for the next poll: a wake-up, or an error from the background."""
        if self.woken:
            self.check_woken()
        if self._errors:
            raise self._errors.popleft()

    def keep(self, error: KafkaError) -> None:
        """Have the next poll raise this."""
        self.polled_at = -1
        self._errors.append(error)

    def keep_failure(self, error: Exception, where: str) -> None:
        """`keep` of what is being handled: it was raised in a turn that no user has called."""
        if isinstance(error, KafkaError):
            self.keep(error)
            return
        log.exception("%s failed", where)
        wrapped = KafkaError(f"{where} failed: {error!r}")
        wrapped.__cause__ = error
        self.keep(wrapped)
