"""`ConsumerCore`: the sans-IO consumer. It composes links, metadata, group and fetch, and holds no
rule of its own.

World in: `handle_connected handle_data handle_closed handle_deadline`, `receive_buffer` and
`receive_advance`. Application in: the verbs. Out: `next_action`, `next_event`, `deadline`. After
every input the rooms are asked, in a fixed order, whether they have something to do; what they send
without being able to (no link) comes back as answers in the same input. See docs/BOUNDARY.md for
the contract and ARCHITECTURE.md for the rooms.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from kcore import limits
from kcore.cluster.client import ClientCore
from kcore.consumer.beginnings import Beginnings
from kcore.consumer.config import ConsumerConfig
from kcore.consumer.host import Host
from kcore.consumer.measures import ConsumerMeasures
from kcore.consumer.subscription import Mode, Subscription
from kcore.errors import (
    IllegalArgumentError,
    IllegalStateError,
    InvalidGroupIdError,
    KafkaError,
)
from kcore.fetch.fetcher import Fetcher
from kcore.fetch.positions import Positions
from kcore.group.member import GroupMember
from kcore.records import ConsumerRecord
from kcore.records.columns import Columns
from kcore.structs import (
    ConsumerGroupMetadata,
    GroupMembershipOperation,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    Rng,
    TopicPartition,
)
from kcore.timers import NEVER

# Of requests for metadata that were made after a partition was asked for (the producer's own, too).
UNLISTED_ANSWERS = 3


class ConsumerCore(ClientCore):
    """See the module's text. `now_ms` is a monotonic clock of the caller's; it never runs back.

    wall_ms: Unix time, when it is `now_ms`. Needed by a reset by_duration (IllegalArgumentError
    without); metrics that are pushed have no times without it.
    take_inside: `take_records(1)` where that leaves nothing else to do, not even to ask for more;
    None where it does, and nothing has changed. For who takes record by record.
    inside: the same for bursts of records (see `kcore.fetch.single`).
    """

    def __init__(
        self, config: ConsumerConfig, rng: Rng, now_ms: int, *, wall_ms: int | None = None
    ) -> None:
        offset_ms = None if wall_ms is None else wall_ms - now_ms
        super().__init__(config.links(), config.refresh(), config.bootstrap_servers, rng)
        self.pushes, self.wall_offset_ms = config.enable_metrics_push, offset_ms
        self.config = config
        emit = self._outbox.emit
        self._subscription = Subscription(exclude_internal_topics=config.exclude_internal_topics)
        self._positions = Positions(
            config.auto_offset_reset, config.out_of_range_reset, wall_offset_ms=offset_ms
        )
        self._measures = ConsumerMeasures(self, config, self._positions, now_ms)
        self._teller = self._measures
        self._links.measures = self._measures.links
        self._fetcher = Fetcher(config.fetch(), self._links, self._view, self._positions, rng, emit)
        self._fetcher.measure(self._measures.consumed)
        self._refresher.refused = self._fetcher.refuse_lookups
        self.take_inside = self._fetcher.take_inside
        self.inside = self._fetcher.single
        self._host = Host(config, self._subscription, self._positions, self._view, self._refresher)
        self._group: GroupMember | None = None
        if config.group_id is not None:
            noted = self._measures.noting(emit)
            self._group = self._measures.group = GroupMember(
                config.group(), self._links, self._view, self._host, rng, noted
            )
        self._seen_version = -1
        self._polled_at = -1  # when the group was last polled, if nothing has happened since
        self._due = -1  # what `deadline` says; -1: to be found out
        self._due_elsewhere = -1  # what it would say without the group
        self._beginnings = Beginnings(config, self._view, self._positions, self._fetcher, rng)
        self._commits_at_close = False
        self._operation = GroupMembershipOperation.DEFAULT  # of a close
        # Look-ups of offsets: of what, and the answer of metadata that decides what there is not.
        self._looked_up: dict[int, tuple[set[TopicPartition], int]] = {}
        self._settle(now_ms)

    # -- time --------------------------------------------------------------------------------------

    def deadline(self) -> int:
        """When `handle_deadline` is due; NEVER if it is not."""
        if self._due < 0:
            self._due = self._first_due()
        return self._due

    def _first_due(self) -> int:
        """What `deadline` says, until the rooms are asked again. Whatever makes anything due sooner
        has them asked; standing questions and polls only put things off, and are too many.
        """
        if self._closed:
            return NEVER
        self._due_elsewhere = first = self._first_elsewhere()
        return first if self._group is None else min(first, self._group.deadline())

    def _first_elsewhere(self) -> int:
        """What is due first, but for the group."""
        first = min(super().deadline(), self._fetcher.deadline())
        if self._closing_until is None:
            first = min(first, self._beginnings.deadline())
        return first

    def _recover(self, now_ms: int) -> None:
        super()._recover(now_ms)
        self._seen_version = -1
        self._beginnings.recover()
        self._host.update_interest()
        self._fetcher.recover(now_ms)
        if self._group is not None:
            self._group.recover(now_ms)
        if self._subscription.mode is Mode.NONE:
            self._give_up_all(now_ms)
        if self._closing_until is not None and self._group is not None:
            self._close_group(self._group, self._closing_until, now_ms)

    def handle_deadline(self, now_ms: int) -> bool | None:
        """Time has passed. False: there may be actions, and nothing else has changed."""
        if 0 <= self._due <= now_ms and self._due_elsewhere <= now_ms:  # may have been put off
            self._due_elsewhere = self._first_elsewhere()
        group, elsewhere = self._group, self._due_elsewhere
        if self._owing or not 0 <= self._due <= now_ms < elsewhere:
            return super().handle_deadline(now_ms)
        self._let_go()
        # Nothing is due but in the group: the others are not asked.
        if group is None or group.calm(now_ms):
            self._due = elsewhere if group is None else min(elsewhere, group.calm_deadline())
            return False
        sends = self._links.sends
        if not group.repeat(now_ms):
            return super().handle_deadline(now_ms)
        self._note_calm(group, sends, now_ms)
        return False if group.calm(now_ms) else None

    def _note_calm(self, group: GroupMember, sends: int, now_ms: int) -> None:
        """Nothing has changed but the group's timers, and what it has sent since `sends`."""
        if self._links.completed:
            self._settle(now_ms)  # it could not send
        elif self._due >= 0:
            if self._links.sends != sends:
                # Anew: answers put off when a link is oddly silent; kept, it would wake in vain.
                self._due_elsewhere = self._first_elsewhere()
            self._due = min(self._due_elsewhere, group.calm_deadline())

    # -- subscribing -------------------------------------------------------------------------------

    def subscribe(self, topics: Iterable[str], now_ms: int) -> None:
        """Be a group member reading these topics; none at all is `unsubscribe`."""
        wanted = frozenset(topics)
        if not wanted:
            self.unsubscribe(now_ms)
            return
        self._need_group("subscribe")
        self._subscription.subscribe(wanted)
        self._subscription_changed(now_ms)

    def subscribe_pattern(self, pattern: str, now_ms: int) -> None:
        """Be a group member reading what this pattern matches; IllegalArgumentError: it is none."""
        self._need_group("subscribe")
        self._subscription.subscribe_pattern(pattern)
        self._subscription.match(self._view)
        self._subscription_changed(now_ms)

    def subscribe_remote_pattern(self, pattern: str, now_ms: int) -> None:
        """Be a group member reading every topic that matches in the brokers' eyes (RE2, KIP-848):
        for group_protocol="consumer", else IllegalStateError.
        """
        self._need_group("subscribe")
        if not self.config.shared_by_brokers:
            raise IllegalStateError(
                "patterns that brokers match need group_protocol='consumer'; a regular expression"
                " as a string is matched here"
            )
        self._subscription.subscribe_remote_pattern(pattern)
        self._subscription_changed(now_ms)

    def assign(self, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        """Read these partitions, without a group deciding; none at all is `unsubscribe`."""
        wanted = [TopicPartition(*tp) for tp in partitions]
        if not wanted:
            self.unsubscribe(now_ms)
            return
        self._subscription.assign()
        if self._group is not None:
            # What is due of auto commit is sent before positions go (C3).
            self._group.handle_poll(now_ms)
            self._group.handle_tick(now_ms)
            self._group.let_go()
        self._positions.assign(wanted)
        self._host.update_interest()
        self._settle(now_ms)

    def unsubscribe(self, now_ms: int) -> None:
        """Give up everything: leave the group, drop what is buffered."""
        self._subscription.clear()  # first: struck behind it, `handle_interrupted` does the rest
        self._give_up_all(now_ms)
        self._settle(now_ms)

    def _give_up_all(self, now_ms: int) -> None:
        if self._group is None or not self._group.leave(now_ms, "the consumer unsubscribed"):
            self._positions.assign([])
        self._host.set_group_topics(None)

    def _subscription_changed(self, now_ms: int) -> None:
        self._fetcher.drop_outside(self._subscription.covers)
        self._host.update_interest()
        assert self._group is not None
        self._group.subscription_changed(now_ms)
        self._settle(now_ms)

    def _need_group(self, verb: str) -> GroupMember:
        if self._group is None:
            raise InvalidGroupIdError(f"{verb} needs a group_id; without one, use assign()")
        return self._group

    # -- reading -----------------------------------------------------------------------------------

    def poll(self, now_ms: int) -> None:
        """The application is alive, and done with everything it was handed before."""
        # Another poll at the same time, with nothing between, finds the group as the one before
        # left it: whoever takes records one by one polls hundreds of times a millisecond.
        group = self._group
        if group is not None and now_ms != self._polled_at:
            sends = self._links.sends
            if group.handle_poll(now_ms) or self._fetcher.restless:
                self._settle(now_ms)
            elif self._links.sends != sends:
                self._note_calm(group, sends, now_ms)
            self._polled_at = now_ms
        elif self._fetcher.restless:
            self._settle(now_ms)

    @property
    def has_records(self) -> bool:
        """Whether `take_records` would give or raise something now."""
        return self._fetcher.has_records

    def take_records(
        self,
        max_records: int | None,
        now_ms: int,
        only: Container[TopicPartition] | None = None,
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Hand over up to `max_records` (None: `max_poll_records`), of these partitions if any are
        named; positions move past them.

        Raises what is wrong with a partition (corrupt data, an offset out of range, no offset to
        start from), once all records before it were handed over.
        """
        count = self.config.max_poll_records if max_records is None else max_records
        fetcher = self._fetcher
        try:
            one = fetcher.take_next() if count == 1 and only is None else None
            return fetcher.take_records(count, now_ms, only) if one is None else one
        finally:
            if fetcher.restless:
                self._settle(now_ms)  # the next fetch goes out before the records are looked at

    def take_until(
        self, max_records: int, now_ms: int, behind: dict[TopicPartition, int]
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """`take_records` of these partitions, and of each what is below the offset named, which is
        to be beyond its position; positions come to there and no further, what follows stays
        buffered. A partition found there is taken out of `behind`.
        """
        try:
            return self._fetcher.take_until(max_records, now_ms, behind)
        finally:
            if self._fetcher.restless:
                self._settle(now_ms)

    def hand_over(self) -> None:
        """A call of the application's begins in which records are taken: see `take_back`."""
        self._fetcher.hand_over()

    def take_back(self, now_ms: int) -> None:
        """What was taken since `hand_over` did not arrive, because something interrupted the call
        (Ctrl-C): positions go back to where it began, so that it is handed over again.
        """
        self._fetcher.take_back()
        self._settle(now_ms)

    def take_back_one(self, now_ms: int) -> None:
        """`take_back` of what `take_inside` gave last, which needs no `hand_over`."""
        self._fetcher.take_back_one()
        self._settle(now_ms)

    def take_columns(
        self,
        max_rows: int | None,
        max_bytes: int | None,
        now_ms: int,
        *,
        views: bool = False,
        with_headers: bool = False,
        with_keys: bool = True,
        with_values: bool = True,
        only: Container[TopicPartition] | None = None,
    ) -> Columns:
        """`take_records` as columns: up to `max_rows` records with up to `max_bytes` on the wire.

        None: COLUMN_ROWS and COLUMN_BYTES of kcore.limits. A first record that is larger comes
        nevertheless. views: keys and values stay in the fetched bytes, which stay alive with the
        columns. with_headers, with_keys, with_values: whether those are kept. Deserializers are not
        asked. kcore.records.arrow shows columns as Arrow.
        """
        columns = Columns(
            limits.COLUMN_ROWS if max_rows is None else max_rows,
            limits.COLUMN_BYTES if max_bytes is None else max_bytes,
            views=views,
            with_headers=with_headers,
            with_keys=with_keys,
            with_values=with_values,
        )
        try:
            self._fetcher.take_columns(columns, now_ms, only)
        finally:
            if self._fetcher.restless:
                self._settle(now_ms)
        return columns

    @property
    def buffered_bytes(self) -> int:
        """Memory held by fetched answers that are not wholly handed over."""
        return self._fetcher.buffered_bytes

    def seek(self, tp: TopicPartition, offset: int, now_ms: int, leader_epoch: int = -1) -> None:
        """Go on reading at `offset`; what was buffered is dropped."""
        self._need_assigned([tp])
        self._positions.seek(tp, offset, leader_epoch)
        self._settle(now_ms)

    def go_back(self, tp: TopicPartition, offset: int, now_ms: int, leader_epoch: int = -1) -> None:
        """`seek` to a record that was handed over, which is to be handed over again. Where its
        topic is made anew under its name before that, reading begins anew there, as it would have
        without: what was sought counts in the new one.
        """
        self._need_assigned([tp])
        self._positions.go_back(tp, offset, leader_epoch)
        self._settle(now_ms)

    def begin_anew(self, tp: TopicPartition, now_ms: int) -> None:
        """Go on as if it were newly assigned: where it is committed, or by the reset policy."""
        self._need_assigned([tp])
        self._positions.begin_anew(tp)
        self._settle(now_ms)

    def seek_to_beginning(self, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        """Go on at the first offset there is (all assigned partitions if none is named); looked up
        lazily.
        """
        self._reset(partitions, "earliest", now_ms)

    def seek_to_end(self, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        """Go on at the end."""
        self._reset(partitions, "latest", now_ms)

    def _reset(self, partitions: Iterable[TopicPartition], strategy: str, now_ms: int) -> None:
        wanted = list(partitions) or self._positions.assigned()
        self._need_assigned(wanted)
        for tp in wanted:
            self._positions.reset(tp, strategy)
        self._settle(now_ms)

    def want(self, partitions: Container[TopicPartition] | None, now_ms: int) -> None:
        """Whoever takes records waits for these alone: what is buffered of others stays, and they
        are not fetched, so that they are not in the way. None: for all, as from the beginning.
        """
        self._positions.want(partitions)
        self._settle(now_ms)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand over nothing of these until `resume`; what is buffered stays."""
        wanted = list(partitions)
        self._need_assigned(wanted)
        self._positions.pause(wanted)

    def resume(self, partitions: Iterable[TopicPartition], now_ms: int) -> None:
        """Undo `pause`."""
        wanted = list(partitions)
        self._need_assigned(wanted)
        self._positions.resume(wanted)
        self._settle(now_ms)

    def _need_assigned(self, partitions: Iterable[TopicPartition]) -> None:
        for tp in partitions:
            if not self._positions.is_assigned(tp):
                raise IllegalStateError(f"{tp.topic}-{tp.partition} is not assigned to this one")

    # -- operations --------------------------------------------------------------------------------

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None,
        now_ms: int,
        timeout_ms: int | None = None,
    ) -> int:
        """Commit these, or everything consumed; one try, or retried for `timeout_ms`. Result: what
        was committed.
        """
        group = self._need_group("commit")
        wanted = self._positions.consumed() if offsets is None else dict(offsets)
        operation = self._outbox.begin()
        group.commit(
            wanted,
            now_ms,
            lambda result, error: self._outbox.finish(operation, result, error),
            deadline_ms=None if timeout_ms is None else now_ms + timeout_ms,
        )
        self._settle(now_ms)
        return operation

    def committed(self, partitions: Iterable[TopicPartition], now_ms: int, timeout_ms: int) -> int:
        """Look up committed offsets. Result: {partition: OffsetAndMetadata or None}."""
        group = self._need_group("committed")
        operation = self._outbox.begin()
        group.fetch_committed(
            list(partitions),
            now_ms,
            lambda result, error: self._outbox.finish(operation, result, error),
            deadline_ms=now_ms + timeout_ms,
        )
        self._settle(now_ms)
        return operation

    def list_offsets(
        self, timestamps: Mapping[TopicPartition, int], now_ms: int, timeout_ms: int
    ) -> int:
        """Look up offsets by time (-1 end, -2 beginning, -3 newest). Result: {partition:
        OffsetAndTimestamp or None}. IllegalArgumentError: the topic has no such partition, nor when
        brokers are asked anew.
        """
        operation = self._outbox.begin()
        topics = {tp.topic for tp in timestamps}
        self._refresher.add_transient(topics)

        def done(
            result: dict[TopicPartition, OffsetAndTimestamp | None] | None, error: KafkaError | None
        ) -> None:
            self._refresher.drop_transient(topics)
            self._looked_up.pop(operation, None)
            self._outbox.finish(operation, result, error)

        wanted = {TopicPartition(*tp) for tp in timestamps}
        self._looked_up[operation] = wanted, self._refresher.requests + UNLISTED_ANSWERS
        self._fetcher.list_offsets(dict(timestamps), now_ms, done, deadline_ms=now_ms + timeout_ms)
        self._settle(now_ms)
        return operation

    def acknowledge_rebalance(self, now_ms: int) -> None:
        """The application has handled PartitionsRevoked, PartitionsLost or PartitionsAssigned."""
        if self._group is not None:
            self._positions.release(self._positions.assigned())
            self._group.acknowledge_rebalance(now_ms)
            self._settle(now_ms)

    def request_rejoin(self, reason: str, now_ms: int) -> None:
        """Make the group rebalance at the next poll (KIP-568)."""
        self._need_group("request_rejoin").request_rejoin(reason, now_ms)
        self._settle(now_ms)

    def close(
        self,
        now_ms: int,
        timeout_ms: int,
        *,
        autocommit: bool = True,
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        """Commit (if auto commit is on), leave the group or not (KIP-1092), close fetch sessions
        and links; ends in a Closed event. Called again, it can only hurry.
        """
        if self._closing_until is None:
            self._commits_at_close, self._operation = autocommit, operation
            self._closing_until = now_ms + timeout_ms
            self._fetcher.end()
            if self._reporter is not None:
                self._reporter.note(now_ms)  # as long as it is a member
        elif not self._closed:
            self._closing_until = min(self._closing_until, now_ms + timeout_ms)
        if self._group is not None:
            self._close_group(self._group, self._closing_until, now_ms)
        self._settle(now_ms)

    def _close_group(self, group: GroupMember, until_ms: int, now_ms: int) -> None:
        commits, operation = self._commits_at_close, self._operation
        group.close(now_ms, until_ms, autocommit=commits, operation=operation)

    # -- state -------------------------------------------------------------------------------------

    def assignment(self) -> set[TopicPartition]:
        """The partitions read now."""
        return set(self._positions.assigned())

    def subscription(self) -> set[str]:
        """The topics subscribed, or matched by the pattern now; of a pattern that brokers match,
        those of which something is assigned.
        """
        if self._subscription.remote_pattern is not None:
            return {tp.topic for tp in self._positions.assigned()}
        return set(self._subscription.topics)

    def paused(self) -> set[TopicPartition]:
        """The partitions paused."""
        return self._positions.paused()

    def position(self, tp: TopicPartition) -> int | None:
        """The offset of the next record to be handed over; None while it is not known."""
        self._need_assigned([tp])
        position = self._positions.position(tp)
        return None if position is None else position.offset

    def positions(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """`position` of many: of those that are assigned, -1 while it is not known."""
        return self._positions.offsets(partitions)

    def consumed_offsets(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What a commit of everything handed over would commit now."""
        return self._positions.consumed()

    def highwater(self, tp: TopicPartition) -> int | None:
        """The high watermark as last told; None before the first fetch."""
        return self._positions.highwater(tp)

    def last_stable_offset(self, tp: TopicPartition) -> int | None:
        """The end of what read_committed may read, as last told; None before the first fetch."""
        return self._positions.last_stable_offset(tp)

    def _refuse_unlisted(self) -> None:
        """End look-ups of partitions that brokers, asked a few times, do not have. Java waits for
        them all the time there is. A topic that does not exist may be made: it is waited for.
        """
        for wanted, answer in [*self._looked_up.values()]:
            if self._refresher.answered < answer:
                continue
            for tp in sorted(wanted):
                numbers = self._view.partitions(tp.topic)
                if numbers and tp.partition > numbers[-1]:
                    why = f"{tp.topic} has no partition {tp.partition}: it has {len(numbers)}"
                    self._fetcher.refuse_partition(tp, IllegalArgumentError(f"{why}, from 0"))

    def told_at(self, tp: TopicPartition) -> int | None:
        """When the two were last told (ms, as given to the inputs); None before the first fetch."""
        return self._positions.told_at(tp)

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Generation and member id, for transactions and for looking at."""
        return self._need_group("group_metadata").metadata()

    def health(self) -> dict[TopicPartition, str]:
        """Why each assigned partition is or is not being fetched, in a few words."""
        return {tp: self._fetcher.health(tp) for tp in self._positions.assigned()}

    # -- between inputs ----------------------------------------------------------------------------

    def _turn(self, now_ms: int) -> None:
        self._polled_at = self._due = -1
        self._measures.turn(now_ms)
        self._follow_metadata(now_ms)
        self._refresher.handle_tick(now_ms)
        self._lookup.handle_tick(now_ms)
        if self._group is not None:
            self._group.handle_tick(now_ms)
        if self._closing_until is None:
            self._beginnings.handle_tick(self._group, now_ms)
        if self._looked_up:
            self._refuse_unlisted()
        self._fetcher.handle_tick(now_ms)
        if self._closing_until is not None:
            self._go_on_closing(now_ms)

    def _follow_metadata(self, now_ms: int) -> None:
        if self._view.version == self._seen_version:
            return
        self._seen_version = self._view.version
        self._fetcher.follow_metadata()
        if self._subscription.match(self._view) and self._group is not None:
            self._group.subscription_changed(now_ms)

    def _go_on_closing(self, now_ms: int) -> None:
        assert self._closing_until is not None
        if self._group is not None and not self._group.closed and now_ms < self._closing_until:
            return
        self._fetcher.close(now_ms)
        self._end(now_ms)
