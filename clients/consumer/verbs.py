"""The verbs that every consumer has, whoever drives it: none of them waits for anything.

What a kind of consumer does otherwise is in a few methods that it replaces.
"""

from __future__ import annotations

from collections.abc import Iterable

from kcore.clients import arguments
from kcore.clients.consumer.groupless import AllPartitions
from kcore.clients.engine import Engine
from kcore.clients.log import Log
from kcore.clients.looking import Looking, steady
from kcore.errors import (
    IllegalArgumentError,
    IllegalStateError,
    KafkaTimeoutError,
    NoGroupIdError,
    UnassignedPartitionError,
)
from kcore.hints import TYPE_CHECKING, Any, Protocol, TypeVar
from kcore.structs import (
    ConsumerGroupMetadata,
    OffsetAndMetadata,
    SubscriptionPattern,
    TopicPartition,
)

if TYPE_CHECKING:
    from kcore.consumer.config import ConsumerConfig

T = TypeVar("T")

# What the brokers are told who are told nothing else; Java's words.
ENFORCED = "rebalance enforced by user"

log = Log("kcore.consumer")


class ListenerBridge(Protocol):
    """Who tells the user's listener (see `rebalance.py`)."""

    listener: Any

    def check(self, listener: Any, /) -> None:
        """TypeError: it cannot be one."""

    def serve(self) -> None:
        """Tell it, now or soon, of every step queued."""

    def retire(self) -> None:
        """Have no listener, once it knows all that is queued."""


class Verbs(Looking):
    """The part of a consumer that says what is read, and where from. The attributes are its own."""

    _settings: ConsumerConfig
    _engine: Engine
    _bridge: ListenerBridge
    _wish: str | None  # what was asked for: "topics", "pattern" or "partitions"
    _groupless: AllPartitions | None

    # What kinds of consumers do otherwise ------------------------------------------------------

    def _begin_membership(self) -> None:
        """Somebody subscribed, as a member of a group."""

    def _drop_batch(self) -> None:
        """Hand back what was taken ahead of the application: it starts there anew."""

    def _hold_batch(self) -> None:
        """Yield nothing of it until it is cut."""

    def _cut_batch(self, partitions: Iterable[TopicPartition], *, go_back: bool) -> None:
        """The same for some partitions; go_back: their positions, too."""

    # Wishes ----------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: Iterable[str] = (),
        pattern: Any = None,
        listener: Any = None,
    ) -> None:
        """Read these topics, or all whose name the regular expression matches from its start. A
        SubscriptionPattern is matched by the brokers (`group_protocol="consumer"`), with whole
        names.

        Replaces the subscription before. Without a group_id all their partitions are read. No
        topics at all is `unsubscribe`. The assignment changes in the next poll.

        listener: a ConsumerRebalanceListener, or anything with its methods.
        IllegalStateError after `assign`. IllegalArgumentError (a ValueError): both or neither of
        topics and pattern; or a SubscriptionPattern where no broker is asked. TypeError.
        InvalidTopicError.
        """
        text = None if pattern is None else arguments.pattern_text(pattern)
        names = arguments.topic_names(topics)
        if (text is None and topics == ()) or (text is not None and names):
            raise IllegalArgumentError("give either topics or a pattern")
        remote = isinstance(pattern, SubscriptionPattern)
        settings = self._settings
        if remote and (settings.group_id is None or not settings.shared_by_brokers):
            raise IllegalArgumentError(
                "a SubscriptionPattern needs a group_id and group_protocol='consumer'; a regular"
                " expression as a string is matched here"
            )
        if listener is not None:
            self._bridge.check(listener)
        wish = "topics" if text is None else "pattern"
        with self._engine.guard:
            if text is None and not names:
                self._unsubscribe()
                return
            self._need_free_for(wish)
            self._drop_batch()
            self._bridge.listener = listener
            now = self._engine.pump.now_ms()
            if self._settings.group_id is None:
                self._groupless = AllPartitions(self._engine, self._settings, names, text)
                self._groupless.keep_only_covered(now)
            elif text is None:
                self._engine.core.subscribe(names, now)
            elif remote:
                self._engine.core.subscribe_remote_pattern(text, now)
            else:
                self._engine.core.subscribe_pattern(text, now)
            self._wish = wish
            self._engine.pump.drain()
            if self._settings.group_id is not None:
                self._begin_membership()

    def assign(self, partitions: Iterable[Any]) -> None:
        """Read these partitions, whoever else does; an empty list is `unsubscribe`.

        Partitions that stay keep their position. IllegalStateError after `subscribe`.
        """
        wanted = arguments.assignable(partitions)
        with self._engine.guard:
            if not wanted:
                self._unsubscribe()
                return
            self._need_free_for("partitions")
            self._drop_batch()
            self._engine.core.assign(wanted, self._engine.pump.now_ms())
            self._wish = "partitions"
            self._engine.pump.drain()

    def unsubscribe(self) -> None:
        """Read nothing any more, and leave the group."""
        with self._engine.guard:
            self._unsubscribe()

    def _unsubscribe(self) -> None:
        self._drop_batch()
        self._groupless = None
        self._wish = None  # first: struck behind it, a poll says that nothing is subscribed
        self._engine.core.unsubscribe(self._engine.pump.now_ms())
        self._engine.pump.drain()
        self._engine.collect()
        self._bridge.serve()
        self._bridge.retire()

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Have the group rebalance (KIP-568): the next poll joins it again. Returns at once. A
        rebalance that is due or going on is that one; without a subscription nothing happens.

        reason: for the brokers' log (KIP-800), its first 255 characters. By
        `group_protocol="consumer"` no member can ask for one: a warning in the log, as in Java.
        NoGroupIdError. TypeError.
        """
        if reason is not None and not isinstance(reason, str):
            raise TypeError(f"reason: a string or None, not {reason!r:.200}")
        self._need_group("enforce_rebalance")
        engine = self._engine
        with engine.guard:
            if self._settings.shared_by_brokers:
                log.warning(
                    "enforce_rebalance() does nothing with group_protocol='consumer': the "
                    "coordinator assigns, and a member cannot ask for a rebalance"
                )
                return
            engine.core.request_rejoin(reason or ENFORCED, engine.pump.now_ms())
            engine.polled_at = -1  # so that a poll in the same millisecond goes all the way
            engine.pump.drain()

    def _need_free_for(self, wish: str) -> None:
        if self._wish not in (None, wish):
            raise IllegalStateError(
                f"{self._wish} are in use: subscribing to topics, to a pattern and assigning "
                "partitions exclude each other until unsubscribe()"
            )

    def subscription(self) -> set[str] | None:
        """The topics subscribed to, or matched by the pattern now (of a SubscriptionPattern: those
        of which something is assigned); None without a subscription.
        """
        if self._wish not in ("topics", "pattern"):
            return None
        if self._groupless is not None:
            return set(self._groupless.topics)
        topics: set[str] = steady(self._engine.core.subscription)
        return topics

    def assignment(self) -> set[TopicPartition]:
        """The partitions read now."""
        return steady(self._engine.core.assignment)

    # Living ----------------------------------------------------------------------------------

    def _live(self, now_ms: int) -> bool:
        """What a poll does before it takes records: the group hears of it, listeners and callbacks
        are told. False if one of them has closed the consumer, or unsubscribed.
        """
        engine = self._engine
        engine.core.poll(now_ms)
        engine.collect()
        if engine.rebalances or engine.calls:
            self._bridge.serve()
            engine.run_callbacks()
            if engine.guard.closed or self._wish is None:
                return False
        if self._groupless is not None:
            self._groupless.tick(now_ms)
        return True

    def _ends_of(
        self, wanted: dict[TopicPartition, int] | None
    ) -> dict[TopicPartition, int] | None:
        """What a read is to end at; None: at what is to be asked, of all that is assigned."""
        if wanted is not None:
            self._need_assigned(wanted)
            return wanted
        if not self.assignment():
            raise UnassignedPartitionError(
                f"no partitions are assigned, there are no ends to ask: {self._how_assigned()}"
            )
        return None

    def _regains(self) -> bool:
        """Whether a partition that goes may come back by itself: a group shares it."""
        return self._wish in ("topics", "pattern") and self._groupless is None

    # Positions -------------------------------------------------------------------------------

    def seek(self, partition: Any, offset: int | OffsetAndMetadata) -> None:
        """Go on at `offset`; what was fetched before is dropped. An OffsetAndMetadata, as
        `committed` gives it, brings the epoch by which a log that was cut off is noticed (KIP-320).
        """
        tp = arguments.partition_of(partition)
        at = arguments.place_of(offset)
        with self._engine.guard:
            self._need_assigned([tp])
            self._hold_batch()
            self._engine.core.seek(tp, at.offset, self._engine.pump.now_ms(), at.leader_epoch)
            self._cut_batch([tp], go_back=False)
            self._engine.pump.drain()

    def _seek_to(self, partitions: tuple[Any, ...], verb: str) -> None:
        wanted = arguments.chosen(partitions)
        with self._engine.guard:
            wanted = wanted or sorted(self.assignment())
            if not wanted:
                raise UnassignedPartitionError(
                    f"no partitions are assigned: {self._how_assigned()}"
                )
            self._need_assigned(wanted)
            self._hold_batch()
            getattr(self._engine.core, verb)(wanted, self._engine.pump.now_ms())
            self._cut_batch(wanted, go_back=False)
            self._engine.pump.drain()

    def _is_placed(self, tp: TopicPartition) -> bool:
        """Whether a wait for its position is over."""
        core = self._engine.core
        return tp not in core.assignment() or core.position(tp) is not None

    def _found_position(self, tp: TopicPartition, limit: float, *, needed: bool) -> int | None:
        """Its position after a wait; UnassignedPartitionError, KafkaTimeoutError if `needed`."""
        self._need_assigned([tp])
        core = self._engine.core
        found: int | None = core.position(tp)
        if found is None and needed:
            raise KafkaTimeoutError(
                f"the position of {tp.topic}-{tp.partition} is still unknown after "
                f"{limit:.0f} ms: {core.health().get(tp, '')}",
                timeout_ms=limit,
            )
        return found

    def pause(self, *partitions: Any) -> None:
        """Return nothing of these until `resume`; what is buffered stays. No rebalance follows."""
        wanted = arguments.chosen(partitions)
        with self._engine.guard:
            self._need_assigned(wanted)
            self._cut_batch(wanted, go_back=True)
            self._engine.core.pause(wanted)
            self._engine.pump.drain()

    def resume(self, *partitions: Any) -> None:
        """Undo `pause`."""
        wanted = arguments.chosen(partitions)
        with self._engine.guard:
            self._need_assigned(wanted)
            self._engine.core.resume(wanted, self._engine.pump.now_ms())
            self._engine.pump.drain()

    def paused(self) -> set[TopicPartition]:
        """The partitions paused."""
        return steady(self._engine.core.paused)

    def highwater(self, partition: Any) -> int | None:
        """The offset behind the last record readable, as last told; None before the first fetch."""
        tp = arguments.partition_of(partition)
        self._need_assigned([tp])
        found: int | None = self._engine.core.highwater(tp)
        return found

    def last_stable_offset(self, partition: Any) -> int | None:
        """The end of what read_committed may read, as last told; None before the first fetch."""
        tp = arguments.partition_of(partition)
        self._need_assigned([tp])
        found: int | None = self._engine.core.last_stable_offset(tp)
        return found

    def current_lag(self, partition: Any) -> int | None:
        """How many offsets there are between the position and the end that is readable (with
        read_committed: of what is not in an open transaction), as last told; None before the first
        fetch. Nobody is asked (KIP-695).
        """
        tp = arguments.partition_of(partition)
        with self._engine.guard:
            self._need_assigned([tp])
            core = self._engine.core
            end: int | None = core.highwater(tp)
            if self._settings.isolation_level == "read_committed":
                end = core.last_stable_offset(tp)
            at = self._place(tp)
        return None if at is None or end is None else max(end - at, 0)

    def _place(self, tp: TopicPartition) -> int | None:
        """Where the application stands in a partition, if that is known."""
        found: int | None = self._engine.core.position(tp)
        return found

    def _need_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        assigned = self.assignment()
        for tp in partitions:
            if tp not in assigned:
                raise UnassignedPartitionError(
                    f"{tp.topic}-{tp.partition} is not assigned to this consumer: "
                    f"{self._how_assigned()}",
                    partition=tp,
                )

    def _how_assigned(self) -> str:
        """What to do about a partition that is not assigned."""
        if self._wish is None:
            return "assign() it first, or subscribe() to its topic"
        if self._wish == "partitions":
            return "assign() it, too"
        if not self.assignment():
            return (
                "what is subscribed to is assigned while it polls, and a rebalance listener is "
                "told of it: do this there, or after that"
            )
        return "it is not subscribed to, or another member of the group may have it"

    # Looking ---------------------------------------------------------------------------------

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Who this consumer is in its group now, or was, if that has gone on without it: offsets
        that it sends to a transaction are refused then. Unjoined without a group.
        """
        if self._settings.group_id is None:
            return ConsumerGroupMetadata()
        found: ConsumerGroupMetadata = self._engine.core.group_metadata()
        return found

    def _need_group(self, verb: str) -> None:
        if self._settings.group_id is None:
            raise NoGroupIdError(f"{verb} needs a group_id: offsets are kept for a group")
