"""`ShareConsumerCore`: the sans-IO consumer of a share group (KIP-932). It composes links,
metadata, membership and the exchange with brokers, and holds no rule of its own.

World in: `handle_connected handle_data handle_closed handle_deadline`, `receive_buffer` and
`receive_advance`. Application in: the verbs. Out: `next_action`, `next_event`, `deadline`. See
docs/BOUNDARY.md for the contract.
"""

from __future__ import annotations

from collections.abc import Iterable

from kcore.cluster.client import ClientCore
from kcore.errors import IllegalStateError, KafkaError
from kcore.events import ErrorRaised, PartitionsAssigned, RecordsAcknowledged
from kcore.records import ConsumerRecord
from kcore.share.acknowledgements import Commit, Sheet
from kcore.share.config import ShareConsumerConfig
from kcore.share.context import ShareContext
from kcore.share.exchange import Exchange
from kcore.share.health import describe
from kcore.share.measures import ShareMeasures
from kcore.share.membership import Assigned, ShareMembership
from kcore.share.stock import Stock
from kcore.structs import AcknowledgeType, Rng, TopicPartition
from kcore.timers import NEVER, Timers

UNACKNOWLEDGED = (
    "{} records of the last poll have not been acknowledged: with"
    " share_acknowledgement_mode='explicit' each has to be before the next poll"
)
IMPLICIT = (
    "records are accepted by the next poll or commit: only with"
    " share_acknowledgement_mode='explicit' are they acknowledged one by one"
)


class ShareConsumerCore(ClientCore):
    """See the module's text. `now_ms` is a monotonic clock of the caller's; it never runs back.

    wall_ms: Unix time, when it is `now_ms`; metrics that are pushed have no times without it.
    """

    def __init__(
        self, config: ShareConsumerConfig, rng: Rng, now_ms: int, *, wall_ms: int | None = None
    ) -> None:
        super().__init__(config.links(), config.refresh(), config.bootstrap_servers, rng)
        self.pushes = config.enable_metrics_push
        self.wall_offset_ms = None if wall_ms is None else wall_ms - now_ms
        self.config = config
        self._teller = self._measures = measures = ShareMeasures(self, config, now_ms)
        self._links.measures = measures.links
        emit = self._emit = measures.noting(self._outbox.emit)
        ctx = ShareContext(config.group(), self._links, self._view, rng, emit, Timers())
        self._stock = Stock(self._view.topic_id, measures.consumed)
        self._member = ShareMembership(ctx, self._take_assigned)
        measures.member_id = self._member.member_id
        self._exchange = Exchange(
            ctx,
            self._member.member_id,
            self._stock,
            self._told,
            lambda e: emit(ErrorRaised(e)),
            measures.sent,
        )
        self._resting = True  # no poll is under way
        self._topics: frozenset[str] = frozenset()
        self._assigned: Assigned = frozenset()
        self._partitions: frozenset[TopicPartition] = frozenset()
        self._named: set[bytes] = set()  # the topics of these that have a name
        self._commits: list[Commit] = []
        self._seen_version = -1
        self._settle(now_ms)

    # -- time --------------------------------------------------------------------------------------

    def deadline(self) -> int:
        """When `handle_deadline` is due; NEVER if it is not."""
        self._due = first = self._first_due()  # for `_settle`; what is struck may change it
        return first

    def _first_due(self) -> int:
        if self._closed:
            return NEVER
        first = min(super().deadline(), self._member.deadline(), self._exchange.deadline())
        return min([first, *(commit.deadline_ms for commit in self._commits)])

    def _recover(self, now_ms: int) -> None:
        super()._recover(now_ms)
        self._seen_version = -1
        self._member.recover(now_ms)
        self._exchange.recover()

    # -- subscribing -------------------------------------------------------------------------------

    def subscribe(self, topics: Iterable[str], now_ms: int) -> None:
        """Be a member of the group that reads these topics; none at all is `unsubscribe`."""
        wanted = frozenset(topics)
        if not wanted:
            self.unsubscribe(now_ms)
            return
        self._topics = wanted
        self._refresher.set_topics(set(wanted))
        self._release_outside(now_ms)
        self._member.subscribe(tuple(sorted(wanted)), now_ms)
        self._settle(now_ms)

    def unsubscribe(self, now_ms: int) -> None:
        """Leave the group. What was not handed over is released; what was can be acknowledged."""
        self._topics = frozenset()
        self._exchange.wanted = False
        self._refresher.set_topics(set())
        self._release_outside(now_ms)
        self._member.leave("the consumer unsubscribed", now_ms)
        self._settle(now_ms)

    def _release_outside(self, now_ms: int) -> None:
        self._stock.release_outside(self._topics.__contains__)
        self._tell(now_ms + self.config.default_api_timeout_ms)

    # -- reading -----------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> None:
        """The application is alive, and wants records; what it had before is accepted, if that is
        implicit. IllegalStateError: if not, and it has not acknowledged all of it.
        """
        self.finish_poll()
        if self._resting:
            self._resting = False
            self._measures.polled(now_ms)
        self._stock.hand_over()
        self._member.handle_poll(now_ms)
        self._tell(now_ms + self.config.default_api_timeout_ms)
        self._stock.expire(now_ms)
        self._exchange.wanted = bool(self._topics) and not self._stock.waiting
        self._settle(now_ms)

    def finish_poll(self) -> None:
        """The part of `poll` that is about the records of the one before."""
        if not self.config.explicit:
            self._stock.accept_held()
        elif left := self._stock.unacknowledged():
            raise IllegalStateError(UNACKNOWLEDGED.format(left))

    def rest(self) -> None:
        """The application has something else to do: ask for no more records before the next poll.
        A question that is on its way may still bring some.
        """
        self._exchange.wanted = False
        self._resting = True

    @property
    def has_records(self) -> bool:
        """Whether `take_records` may give or raise something now."""
        return self._stock.waiting

    @property
    def taken(self) -> int:
        """Counts records handed over."""
        return self._stock.taken

    def take_records(
        self, max_records: int | None, now_ms: int
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Hand over up to `max_records`. None: `max_poll_records`, and with batch_optimized what
        belongs to the same answer: brokers have handed out whole batches.

        Raises what is wrong with records: CorruptRecordError (the batch is rejected),
        UnsupportedCodecError (it is released), DeserializationError (the record is released).
        """
        self._stock.expire(now_ms)
        if max_records is None:
            whole = not self.config.record_limit
            found = self._stock.take(self.config.max_poll_records, whole=whole)
        else:
            found = self._stock.take(max_records)
        if found:
            self.rest()
        return found

    def hand_over(self) -> None:
        """A call of the application's begins in which records are taken, as with each `poll`: see
        `take_back`.
        """
        self._stock.hand_over()

    def take_back(self, now_ms: int) -> None:
        """What was taken since `hand_over` did not arrive, because something interrupted the call
        (Ctrl-C): it is handed over again.
        """
        self._stock.take_back()
        self._settle(now_ms)

    def give_back(self, records: Iterable[ConsumerRecord]) -> None:
        """The application did not come to these: they are handed over again, before all others."""
        self._stock.give_back(records)

    @property
    def buffered_bytes(self) -> int:
        """Memory held by fetched answers that are not wholly handed over."""
        return self._stock.buffered_bytes

    # -- acknowledging -----------------------------------------------------------------------------

    def acknowledge(self, tp: TopicPartition, offset: int, kind: AcknowledgeType) -> None:
        """What has become of a record of the last poll, also of one that could not be read; said
        again before it is told, the last word counts. IllegalStateError: there is none (any more),
        or acknowledging is implicit.
        """
        if not self.config.explicit:
            raise IllegalStateError(IMPLICIT)
        self._stock.acknowledge(tp, offset, kind)

    def accept(self, but: Iterable[ConsumerRecord] = ()) -> None:
        """All that was handed over counts as handled, but these; `close` tells brokers so."""
        self._stock.accept_held(but)

    def commit(
        self, now_ms: int, timeout_ms: int, unfinished: Iterable[ConsumerRecord] = ()
    ) -> int:
        """Have brokers told of all that is acknowledged, for up to `timeout_ms`; if that is
        implicit, of all records handed over but these. Result: {partition: None, or why a broker
        did not take it in}.
        """
        if not self.config.explicit:
            self._stock.accept_held(unfinished)
        operation = self._outbox.begin()
        self._tell(now_ms + timeout_ms)
        sheets = self._exchange.outstanding()
        self._commits.append(Commit(operation, sheets, now_ms + timeout_ms))
        self._end_commits()
        self._settle(now_ms)
        return operation

    @property
    def acquisition_lock_timeout_ms(self) -> int | None:
        """How long records are locked for who was given them, as brokers last said."""
        return self._exchange.lock_timeout_ms

    def _tell(self, deadline_ms: int) -> None:
        self._exchange.tell(self._stock.collect(deadline_ms))

    def _told(self, sheet: Sheet, error: KafkaError | None) -> None:
        ranges = sheet.ranges()
        if ranges:
            if error is not None:
                self._measures.failed(sheet.records)
            tp, topic_id, _ = sheet.place
            self._outbox.emit(RecordsAcknowledged(tp, ranges, error, topic_id))
        for commit in self._commits:
            commit.told(sheet, error)
        self._end_commits()

    def _end_commits(self) -> None:
        for commit in [one for one in self._commits if one.over]:
            self._commits.remove(commit)
            self._outbox.finish(commit.operation, commit.results, None)

    # -- the end -----------------------------------------------------------------------------------

    def close(self, now_ms: int, timeout_ms: int) -> None:
        """Tell brokers what is acknowledged, release everything else, leave the group, close all
        links; ends in a Closed event. Who was struck in the middle of it may call again.
        """
        if self._closed:
            return
        until = now_ms + timeout_ms
        if self._reporter is not None:
            self._reporter.note(now_ms)  # as long as it is a member
        self._tell(until)
        self._exchange.close()
        self._member.leave("the consumer was closed", now_ms)
        self._closing_until = until  # behind it: see ClientCore.handle_interrupted
        self._settle(now_ms)

    # -- state -------------------------------------------------------------------------------------

    def assignment(self) -> set[TopicPartition]:
        """The partitions read now; other members may read the same."""
        return set(self._partitions)

    def subscription(self) -> set[str]:
        """The topics subscribed."""
        return set(self._topics)

    @property
    def member_id(self) -> str:
        """Who this is in its group."""
        return self._member.member_id

    def health(self) -> dict[TopicPartition, str]:
        """Why records of each assigned partition come or do not, in a few words."""
        return describe(self._exchange, self._partitions, self._view)

    # -- between inputs ----------------------------------------------------------------------------

    def _turn(self, now_ms: int) -> None:
        self._due = -1
        self._measures.turn(now_ms)
        if self._view.version != self._seen_version:
            self._name_assigned()
        self._refresher.handle_tick(now_ms)
        self._lookup.handle_tick(now_ms)
        self._member.handle_tick(now_ms)
        self._exchange.handle_tick(now_ms)
        for commit in self._commits:
            if commit.expired(now_ms, away=self._links.late):
                commit.give_up()
        self._end_commits()
        if self._closing_until is not None and (
            now_ms >= self._closing_until or (self._exchange.closed and not self._member.leaving)
        ):
            self._end(now_ms)

    def _take_assigned(self, assigned: Assigned) -> None:
        self._assigned = assigned
        self._name_assigned()

    def _name_assigned(self) -> None:
        """Assignments name topics by their ids."""
        self._seen_version = self._view.version
        named: set[TopicPartition] = set()
        unknown: set[bytes] = set()
        for topic_id, number in self._assigned:
            name = self._view.topic_name(topic_id)
            if name is None:
                unknown.add(topic_id)
            elif name in self._topics:
                named.add(TopicPartition(name, number))
        if unknown:
            self._view.request_names(frozenset(unknown))
            if not unknown.isdisjoint(self._named):
                self._member.hurry()
        self._named = {topic_id for topic_id, _ in self._assigned} - unknown
        before, self._partitions = self._partitions, frozenset(named)
        if before != self._partitions:
            self._exchange.assign(self._partitions)
            added = tuple(sorted(self._partitions - before))
            self._emit(
                PartitionsAssigned(added, tuple(sorted(self._partitions)), self._member.epoch)
            )
