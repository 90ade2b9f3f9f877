"""Rebalance listeners: what users write, and the bridge that calls them inside poll().

The core waits with each step of a rebalance until it is acknowledged, so a listener can commit
or save state before partitions go. Whatever the listener raises, the step is acknowledged first and
the error raised from poll() afterwards: the group must not hang because of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcore.clients.engine import Engine, Rebalance
from kcore.errors import KafkaError, WakeupError
from kcore.events import PartitionsAssigned, PartitionsRevoked
from kcore.hints import Any, Protocol
from kcore.structs import OffsetAndMetadata, TopicPartition

INSIDE = (
    "a record cannot be waited for inside a rebalance listener: partitions are read when it has "
    "returned"
)


class ConsumerRebalanceListener:
    """Subclass it, or hand in anything with these methods. All are called inside poll().

    Sets of TopicPartition; `commit()` and other calls of the consumer may be made inside, but for
    waiting for a record without end (iterating, `getone`): that is an IllegalStateError.
    """

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """These are about to go, and still this consumer's: commit, flush. May be empty."""

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        """These are new: positions can be sought before anything is fetched. May be empty."""

    def on_partitions_lost(self, lost: set[TopicPartition]) -> Any:
        """These are gone already, somebody else may have them: commits for them would fail."""
        return self.on_partitions_revoked(lost)


class Attendant(Protocol):
    """Who has records of the consumer in hand for its user. A listener of its own, beside the
    user's: told before that one what goes, and after it what comes, so that what the user's does
    counts.
    """

    def on_partitions_revoked(self, revoked: set[TopicPartition], /) -> object:
        """These are about to go."""

    def on_partitions_assigned(self, assigned: set[TopicPartition], /) -> object:
        """These are new."""

    def on_partitions_lost(self, lost: set[TopicPartition], /) -> object:
        """These are gone."""

    def unfinished(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """How far a commit may go, at most, in partitions that it has something of in hand."""


def check_listener(listener: Any, *, coroutines: bool = False) -> None:
    """TypeError: it cannot be a listener, or has methods that nobody would await."""
    from inspect import iscoroutinefunction  # noqa: PLC0415 - loads a parser of Python

    for name in ("on_partitions_revoked", "on_partitions_assigned"):
        method = getattr(listener, name, None)
        if not callable(method):
            raise TypeError(
                f"listener {type(listener).__name__} must have a method {name}(partitions)"
            )
        if not coroutines and iscoroutinefunction(method):
            raise TypeError(f"listener {type(listener).__name__}.{name} must not be a coroutine")


class Bridge:
    """Tells the listener, and the attendant, what the engine has queued, one step at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._listener: Any = None
        self._attendant: Attendant | None = None
        self._inside = False
        self._retiring = False

    check = staticmethod(check_listener)

    @property
    def inside(self) -> bool:
        """Whether the listener is being called now."""
        return self._inside

    @property
    def listener(self) -> Any:
        """The user's listener, None if there is none."""
        return self._listener

    @listener.setter
    def listener(self, listener: Any) -> None:
        self._listener = listener
        self._retiring = False
        self._note_listeners()

    @property
    def attendant(self) -> Attendant | None:
        """Who has records in hand, None if nobody has."""
        return self._attendant

    @attendant.setter
    def attendant(self, attendant: Attendant | None) -> None:
        self._attendant = attendant
        self._note_listeners()

    def _note_listeners(self) -> None:
        found = self._listener is not None or self._attendant is not None
        self._engine.has_listener = found

    def retire(self) -> None:
        """Have no listener any more; one that is being called is told of what is queued before."""
        if self._inside:
            self._retiring = True
        else:
            self.listener = None

    def serve(self) -> None:
        """Call the listener for every step queued; then raise the first error of its, if any.

        KafkaError from the listener's exception, as in Java; what is no Exception (Ctrl-C) comes
        through as it is, and so does a WakeupError, whatever else was raised.
        """
        if self._inside:  # a poll() inside a listener: the outer one goes on when it returns
            return
        engine = self._engine
        first: Exception | None = None
        self._inside = True
        try:
            while engine.rebalances:
                event = engine.rebalances[0]
                try:
                    first = _to_raise(first, self._tell(event))
                finally:
                    if engine.released:  # the listener has closed the consumer
                        engine.rebalances.clear()
                    elif engine.rebalances:
                        # Overtaken, where the listener has unsubscribed: what it is told of next
                        # goes with the acknowledgement of that.
                        if len(engine.rebalances) == 1:
                            self._acknowledge()
                        engine.rebalances.popleft()  # behind it: see Engine.telling
        finally:
            self._inside = False
            if self._retiring:
                self.listener = None
        if isinstance(first, WakeupError):
            raise first
        if first is not None:
            raise KafkaError("the rebalance listener raised an error") from first

    def _tell(self, event: Rebalance) -> Exception | None:
        """Call who is to hear of it; the first error of theirs."""
        first: Exception | None = None
        comes = isinstance(event, PartitionsAssigned)
        for attends in (False, True) if comes else (True, False):
            # Looked up now: the one before may have set or ended it.
            listener = self._attendant if attends else self._listener
            try:
                if listener is not None:
                    with self._engine.guard.lent():
                        call_listener(listener, event)
            except Exception as error:  # noqa: BLE001 - raised when all steps are done
                first = _to_raise(first, error)
        return first

    def abandon(self) -> None:
        """A listener closes the consumer: nobody is told of anything any more, nothing waits."""
        self.listener = self.attendant = None
        self._engine.rebalances.clear()
        self._acknowledge()

    def _acknowledge(self) -> None:
        engine = self._engine
        engine.core.acknowledge_rebalance(engine.pump.now_ms())
        engine.pump.drain()
        engine.collect()


def _to_raise(first: Exception | None, other: Exception | None) -> Exception | None:
    """Which of two errors of a listener's; it was the poll that somebody meant to wake."""
    if first is None or (isinstance(other, WakeupError) and not isinstance(first, WakeupError)):
        return other
    return first


def call_listener(listener: Any, event: Rebalance) -> Any:
    """Tell it of one step; what its method returns."""
    if isinstance(event, PartitionsAssigned):
        return listener.on_partitions_assigned(set(event.added))
    if isinstance(event, PartitionsRevoked):
        return listener.on_partitions_revoked(set(event.partitions))
    lost = getattr(listener, "on_partitions_lost", listener.on_partitions_revoked)
    return lost(set(event.partitions))
