"""The verbs that every share consumer has, whoever drives it: none of them waits for anything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kcore.clients import arguments
from kcore.clients.looking import Looking, steady
from kcore.clients.measured import MeasuredEngine
from kcore.clients.share.engine import AcknowledgementCallback, ShareEngine
from kcore.clients.share.loop import ShareLoop
from kcore.share.config import ShareConsumerConfig
from kcore.structs import AcknowledgeType, TopicPartition

if TYPE_CHECKING:
    from kcore.records import ConsumerRecord


class ShareVerbs(Looking, MeasuredEngine):
    """The part of a share consumer that says what is read, and what has become of it. The
    attributes are its own.
    """

    _settings: ShareConsumerConfig
    _engine: ShareEngine
    _loop: ShareLoop

    def _begin_membership(self) -> None:
        """Somebody subscribed."""

    def _leave_loop(self) -> None:
        """What a loop has not come to is handed back."""
        self._loop.leave(self._engine.core.give_back)

    def _end_loop(self) -> None:
        """The consumer closes: where that is implicit, what a loop has gone past is accepted."""
        unfinished = self._loop.unfinished
        if unfinished and not self._settings.explicit:
            self._engine.core.accept(but=unfinished)
        self._loop.clear()

    # Wishes ----------------------------------------------------------------------------------

    def subscribe(self, topics: Iterable[str]) -> None:
        """Read these topics, beside the group's other members. Replaces the subscription before; no
        topics at all is `unsubscribe`.

        TypeError. InvalidTopicError.
        """
        names = arguments.topic_names(topics)
        with self._engine.guard:
            if not names:
                self._unsubscribe()
                return
            self._leave_loop()
            self._engine.core.subscribe(names, self._engine.pump.now_ms())
            self._engine.pump.drain()
            self._begin_membership()

    def unsubscribe(self) -> None:
        """Read nothing any more, and leave the group. What the last poll returned can still be
        acknowledged, and committed.
        """
        with self._engine.guard:
            self._unsubscribe()

    def _unsubscribe(self) -> None:
        self._leave_loop()
        self._engine.core.unsubscribe(self._engine.pump.now_ms())
        self._engine.pump.drain()
        self._engine.collect()

    def subscription(self) -> set[str]:
        """The topics subscribed to."""
        topics: set[str] = steady(self._engine.core.subscription)
        return topics

    def assignment(self) -> set[TopicPartition]:
        """The partitions read now; others of the group may read the same."""
        return steady(self._engine.core.assignment)

    # What has become of records ----------------------------------------------------------------

    def acknowledge(
        self,
        record: ConsumerRecord,
        type: AcknowledgeType | int = AcknowledgeType.ACCEPT,  # noqa: A002
    ) -> None:
        """Say what has become of a record of the last poll: with
        share_acknowledgement_mode="explicit" each has to be before the next one.

        Brokers are told by the next `poll` or `commit`; until then the last word counts. With RENEW
        the lock begins anew, and the next poll returns the record again. IllegalStateError: it
        cannot be acknowledged (any more), or that is implicit.
        """
        try:
            place = record.topic, record.partition, record.offset
        except AttributeError:
            raise TypeError(f"record must be one that poll() gave, not {record!r:.200}") from None
        self.acknowledge_offset(*place, type)

    def acknowledge_offset(
        self,
        topic: str,
        partition: int,
        offset: int,
        type: AcknowledgeType | int = AcknowledgeType.ACCEPT,  # noqa: A002
    ) -> None:
        """`acknowledge` by the place of a record; also of one that could not be read (the error
        says which), which is released or rejected else.
        """
        tp = arguments.partition_of((topic, partition))
        at = arguments.offset_of(offset)
        kind = arguments.acknowledge_type(type)
        with self._engine.guard:
            self._engine.core.acknowledge(tp, at, kind)

    def set_acknowledgement_commit_callback(self, callback: AcknowledgementCallback | None) -> None:
        """Have `callback({partition: {offsets}}, error or None)` called, in a later call of the
        consumer, for what brokers have taken in of acknowledgements, or have not. None: no more.
        """
        if callback is not None and not callable(callback):
            raise TypeError(f"callback: a function of offsets and an error, not {callback!r}")
        with self._engine.guard:
            self._engine.acknowledged = callback

    def acquisition_lock_timeout_ms(self) -> int | None:
        """How long a record is locked for who was given it, as brokers last said; None before the
        first records. It begins when a broker gives the record, which is before the poll that
        returns it.
        """
        found: int | None = self._engine.core.acquisition_lock_timeout_ms
        return found

    # Looking ---------------------------------------------------------------------------------

    @property
    def member_id(self) -> str:
        """Who this is in its group."""
        return str(self._engine.core.member_id)
