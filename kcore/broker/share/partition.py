"""One share-partition: a group's way through a partition, with several members on it.

    start_offset                                            end_offset
    |-- acquired, available again, done, in any order --|-- nobody has had these yet --|

Before the start everything is over. Records in flight are those from the start up to the end that
are not. Source of the rules: Java's SharePartition of Kafka 4.3 and 4.4.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Sequence
from operator import attrgetter, itemgetter
from typing import Final

from kcore.broker.batches import RefusedError
from kcore.broker.share.batches import InFlightBatch, Run, Span, runs_of
from kcore.broker.share.keeping import Kept
from kcore.broker.share.states import TYPES, RecordInput, RecordState
from kcore.broker.share.throttling import Portion, is_throttled
from kcore.coordinator.share.options import ShareOptions
from kcore.timers import NEVER
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

_first = attrgetter("first")
_begin, _end = itemgetter(0), itemgetter(1)  # of a span


class Acquired(NamedTuple):
    """Offsets, both of them acquired, that are delivered for the `deliveries`th time."""

    first: int
    last: int
    deliveries: int


class Acknowledgement(NamedTuple):
    """What a member says of offsets, `last` with them: one type for all, or one for each."""

    first: int
    last: int
    types: Sequence[int]


class Dead(NamedTuple):
    """Offsets, both of them given up after so many deliveries, that a dead letter queue is to have
    before they are archived; why: as it says there.
    """

    first: int
    last: int
    deliveries: int
    why: str


# Java: ShareGroupDLQManager.CLIENT_REJECT, DELIVERY_COUNT_EXCEEDED.
_REJECTED: Final = "Offset rejected by client."
_EXHAUSTED: Final = "Offset delivery count exceeded the threshold."
_WHY: Final = {RecordInput.REJECT: _REJECTED, RecordInput.EXHAUST: _EXHAUSTED}


class Demand(NamedTuple):
    """What a fetch wants of a share-partition.

    batch_size: at how many records what is acquired is cut. exact: no more than `records_max` (KIP
    1206), else whole record batches.
    """

    member: str
    records_max: int
    batch_size: int
    exact: bool


class SharePartition:
    """The state of one, as a leader of this epoch has it. `options` may be replaced. dead: what has
    been given up and is to be written down, for whoever does it to take.
    """

    def __init__(
        self, start_offset: int, kept: Kept, leader_epoch: int, options: ShareOptions
    ) -> None:
        self.options = options
        self.leader_epoch = leader_epoch
        self.state_epoch = kept.state_epoch
        self.start_offset = self.end_offset = start_offset
        self.dead: list[Dead] = []
        self._batches: list[InFlightBatch] = []
        for batch in kept.batches:
            if batch.last < start_offset:
                continue
            first = max(batch.first, start_offset)
            if first > self.end_offset:  # had been acquired, and was not kept
                self._add(Run(self.end_offset, first - 1, RecordState.AVAILABLE))
            self._add(Run(first, batch.last, RecordState(batch.state), batch.count))
            if batch.state is RecordState.ARCHIVING:
                over = batch.count >= options.delivery_count_limit
                why = _EXHAUSTED if over else _REJECTED
                self.dead.append(Dead(first, batch.last, batch.count, why))
        self._settle()

    # Questions -----------------------------------------------------------------------------------

    @property
    def next_offset(self) -> int:
        """From where on there is something to acquire, if the log has it."""
        for run in runs_of(self._batches):
            if run.state is RecordState.AVAILABLE:
                return max(run.first, self.start_offset)
        return self.end_offset

    @property
    def in_flight(self) -> int:
        """How many offsets there are from the first that is not over to the last acquired. What is
        over in between counts, too: it has to be remembered.
        """
        return self.end_offset - self.start_offset

    @property
    def can_acquire(self) -> bool:
        """Whether there is room for more, or something to be had again."""
        return (
            self.next_offset < self.end_offset
            or self.in_flight < self.options.partition_max_record_locks
        )

    @property
    def deadline(self) -> int:
        """When the next lock is over; NEVER if nothing is locked."""
        return min(
            (run.until_ms for run in runs_of(self._batches) if run.state is RecordState.ACQUIRED),
            default=NEVER,
        )

    def runs(self) -> list[Run]:
        """All that is known from the start on, in order."""
        return list(runs_of(self._batches))

    # Acquiring -----------------------------------------------------------------------------------

    def acquire(
        self, demand: Demand, found: Sequence[tuple[int, int]], now_ms: int
    ) -> list[Acquired]:
        """Give records to a member. found: first and last offset of each record batch that was read
        from `next_offset` on.
        """
        if demand.records_max <= 0 or not found or found[-1][1] < self.start_offset:
            return []
        base, last = found[0][0], found[-1][1]
        offset = self.next_offset
        room = self.options.partition_max_record_locks - self.in_flight
        left = min(demand.records_max, room)
        if left <= 0:
            if offset >= self.end_offset:
                return []
            left = min(demand.records_max, self.end_offset - offset)
            last = min(last, self.end_offset - 1)
        self._pass_over(offset, base)
        taking = _Taking(demand, left, base, last, now_ms + self.options.record_lock_duration_ms)
        for batch in self._overlapping(base, last):
            if taking.left <= 0 or not self._take_batch(batch, taking):
                break
        if taking.left > 0 and self.end_offset <= last:
            self._take_new(taking, found, max(base, self.end_offset))
        return taking.acquired

    def _take_batch(self, batch: InFlightBatch, taking: _Taking) -> bool:
        """Take what is available of a batch in flight; whether to go on with the next."""
        limit = self.options.delivery_count_limit
        throttled = is_throttled(batch, taking.first, taking.last, limit)
        if throttled and taking.acquired:
            taking.left = 0
            return False
        whole = taking.first <= batch.first and batch.last <= taking.last
        exact = taking.demand.exact
        if whole and not batch.split and not throttled and not (exact and len(batch) > taking.left):
            runs = batch.runs if batch.runs[0].state is RecordState.AVAILABLE else []
            taking.take(runs)
            return True
        portion = Portion(len(batch), limit, taking.left if exact else None)
        first = max(taking.first, self.start_offset)
        spans: list[Span] = []
        for run in batch.carve(first, taking.last):
            if run.state is not RecordState.AVAILABLE or portion.full:
                continue
            count = portion.take(run)
            if count:
                spans.append((run.first, run.first + count - 1, 0))
        taking.take(run for run, _ in batch.carve_all(spans))
        batch.join()
        if throttled and spans:
            taking.left = 0
            return False
        return True

    def _take_new(self, taking: _Taking, found: Sequence[tuple[int, int]], first: int) -> None:
        """Take what nobody has had yet, at the borders of record batches if there is a choice; if
        there is none, what is left of the last one is known from then on, and available.
        """
        last, demand = taking.last, taking.demand
        if taking.left < last - first + 1:
            exactly = first + taking.left - 1
            last = next(end for _, end in found if end >= exactly)
            if demand.exact and exactly < last:
                self._add(Run(first, last, RecordState.AVAILABLE))
                taking.take(self._batches[-1].carve(first, exactly))
                return
        cuts = [first]
        if not demand.exact and last - first + 1 > demand.batch_size:
            for base, _ in found:
                if cuts[-1] < base <= last and base - cuts[-1] >= demand.batch_size:
                    cuts.append(base)
        for start, end in zip(cuts, [*(cut - 1 for cut in cuts[1:]), last], strict=True):
            run = Run(start, end, RecordState.AVAILABLE)
            self._add(run)
            taking.take([run])

    def _pass_over(self, offset: int, base: int) -> None:
        """The log has nothing from `offset` up to `base` (any more)."""
        if base <= offset:
            return
        for batch in self._overlapping(offset, base - 1):
            for run in batch.carve(offset, base - 1):
                if run.state is RecordState.AVAILABLE:
                    run.move(RecordInput.VANISH)
            batch.join()
        if base > self.end_offset:
            self._add(Run(self.end_offset, base - 1, RecordState.ARCHIVED))
        self._settle()

    def drop_aborted(
        self, acquired: Sequence[Acquired], aborted: Iterable[tuple[int, int]]
    ) -> list[Acquired]:
        """Give up what belongs to aborted transactions; what is left of what was acquired."""
        gone = sorted(aborted)
        for first, last in gone:
            for batch in self._overlapping(first, last):
                for run in batch.carve(first, last):
                    if run.state is RecordState.ACQUIRED:
                        run.move(RecordInput.VANISH)
                batch.join()
        if gone:
            self._settle()
        return [part for one in acquired for part in _without(one, gone)]

    # Acknowledging -------------------------------------------------------------------------------

    def acknowledge(self, member: str, said: Sequence[Acknowledgement], now_ms: int) -> None:
        """All of it, or RefusedError and nothing. said: in the order of offsets."""
        for batch, own in self._owned(member, *self._spans(member, said)):
            for run, kind in batch.carve_all(own):
                self._conclude(run, TYPES[kind], now_ms, split=batch.split)
            batch.join()
        self._settle()

    def _owned(
        self, member: str, spans: Sequence[Span], at_once: Container[Span]
    ) -> list[tuple[InFlightBatch, Sequence[Span]]]:
        """What is said, by batches. at_once: what is said with one word. RefusedError if some of it
        is not the member's, or nothing that can be said of it. Batches up to there are split all
        the same, as by a Kafka.
        """
        if not spans:
            return []
        renews = self.options.renew_acknowledge_enable
        found = [
            (batch, _within(batch, spans)) for batch in self._overlapping(spans[0][0], spans[-1][1])
        ]
        for batch, own in found:
            if own and not batch.split:
                _check_batch(batch, member)
                first, last, _ = own[0]
                whole = first <= batch.first and batch.last <= last
                batch.split = not (whole and own[0] in at_once)
            _check_records(batch, own, member, renews=renews)
        return found

    def _spans(
        self, member: str, said: Sequence[Acknowledgement]
    ) -> tuple[list[Span], set[Span]]:
        """What is said, from the start on: before, it is over long since, and nobody minds; and
        what of it with one word, not one for each record. RefusedError if it speaks of what was
        never acquired, or twice of the same.
        """
        spans: list[Span] = []
        at_once: set[Span] = set()
        for one in said:
            try:
                if one.last >= self.start_offset:
                    self._check_known(one)
                if spans and one.last >= self.start_offset and one.first <= spans[-1][1]:
                    raise RefusedError(
                        ErrorCode.INVALID_RECORD_STATE,
                        "The offset cannot be acknowledged. The offset is not acquired.",
                    )
            except RefusedError:
                self._owned(member, spans, at_once)  # what is wrong before it is told
                raise
            found = _by_type(one, max(one.first, self.start_offset))
            spans += found
            if len(one.types) == 1:
                at_once.update(found)
        return spans, at_once

    def _check_known(self, one: Acknowledgement) -> None:
        if not self._batches:
            raise RefusedError(
                ErrorCode.INVALID_RECORD_STATE,
                "Batch record not found. The request batch offsets are not found in the cache.",
            )
        for name, offset in (("first", one.first), ("last", one.last)):
            if offset >= self.end_offset:
                raise RefusedError(
                    ErrorCode.INVALID_REQUEST,
                    f"Batch record not found. The {name} offset in request is past acquired"
                    " records.",
                )

    def release(self, member: str) -> bool:
        """A member is gone: what it has is to be had by others; whether it had anything."""
        return self._release(lambda run: run.member == member)

    def expire(self, now_ms: int) -> bool:
        """Locks are over; whether any was."""
        return self._release(lambda run: run.until_ms <= now_ms)

    def _release(self, chosen: Callable[[Run], bool]) -> bool:
        found = False
        for batch in self._batches:
            for run in batch.runs:
                if run.state is RecordState.ACQUIRED and chosen(run):
                    self._conclude(run, RecordInput.RELEASE, 0, split=batch.split)
                    found = True
            batch.join()
        if found:
            self._settle()
        return found

    def _conclude(self, run: Run, what: RecordInput, now_ms: int, *, split: bool) -> None:
        """split: each record of it goes its own way."""
        if what is RecordInput.RELEASE and run.count >= self.options.delivery_count_limit:
            what = RecordInput.EXHAUST
        if what in _WHY and self.options.errors_deadletterqueue_topic_name:
            step = 1 if split else len(run)
            for first in range(run.first, run.last + 1, step):
                self.dead.append(Dead(first, first + step - 1, run.count, _WHY[what]))
            what = RecordInput.CONDEMN
        run.move(what)
        if what is RecordInput.RENEW:
            run.until_ms = now_ms + self.options.record_lock_duration_ms

    def bury(self, dead: Iterable[Dead]) -> None:
        """The dead letter queue has them, or cannot have them."""
        spans = sorted((one.first, one.last, 0) for one in dead)
        if not spans:
            return
        for batch in self._overlapping(spans[0][0], spans[-1][1]):
            for run, _ in batch.carve_all(_within(batch, spans)):
                if run.state is RecordState.ARCHIVING:
                    run.move(RecordInput.BURY)
            batch.join()
        self._settle()

    # The log -------------------------------------------------------------------------------------

    def advance_start(self, log_start: int) -> bool:
        """The log begins here: nothing before is to be had any more; whether that is news."""
        if log_start <= self.start_offset:
            return False
        self.start_offset = log_start
        self.end_offset = max(self.end_offset, log_start)
        self._settle()
        return True

    # Keeping -------------------------------------------------------------------------------------

    def kept(self) -> Kept:
        """What a new leader is to know."""
        batches = []
        for run in runs_of(self._batches):
            state, count = run.state, run.count
            if state is RecordState.ACQUIRED:
                state, count = RecordState.AVAILABLE, count - 1
            if state is not RecordState.AVAILABLE or count:
                batches.append(Run(run.first, run.last, state, count))
        return Kept(self.state_epoch, self.leader_epoch, self.start_offset, batches)

    # Parts ---------------------------------------------------------------------------------------

    def _add(self, run: Run) -> None:
        self._batches.append(InFlightBatch(run))
        self.end_offset = run.last + 1

    def _overlapping(self, first: int, last: int) -> list[InFlightBatch]:
        index = max(bisect_right(self._batches, first, key=_first) - 1, 0)
        found = []
        for batch in self._batches[index:]:
            if batch.first > last:
                break
            if batch.last >= first:
                found.append(batch)
        return found

    def _settle(self) -> None:
        """Move the start over what is over."""
        while self._batches:
            batch = self._batches[0]
            rest = [run for run in batch.runs if run.last >= self.start_offset]
            while rest and rest[0].over:
                self.start_offset = rest.pop(0).last + 1
            if rest:
                rest[0].first = max(rest[0].first, self.start_offset)
                batch.runs = rest
                self.start_offset = rest[0].first
                return
            self._batches.pop(0)
        self.start_offset = max(self.start_offset, self.end_offset)
        self.end_offset = self.start_offset


class _Taking:
    """One acquisition on its way: what is wanted, and what there is of it."""

    def __init__(self, demand: Demand, left: int, first: int, last: int, until_ms: int) -> None:
        self.demand = demand
        self.left = left
        self.first = first
        self.last = last
        self.acquired: list[Acquired] = []
        self._until_ms = until_ms

    def take(self, runs: Iterable[Run]) -> None:
        """These are the member's from now on."""
        for run in runs:
            run.move(RecordInput.ACQUIRE)
            run.count += 1
            run.member, run.until_ms = self.demand.member, self._until_ms
            self.left -= len(run)
            self.acquired.append(Acquired(run.first, run.last, run.count))


def _within(batch: InFlightBatch, spans: Sequence[Span]) -> Sequence[Span]:
    """Those that are of records of the batch; the outer ones may go beyond."""
    return spans[
        bisect_left(spans, batch.first, key=_end) : bisect_right(spans, batch.last, key=_begin)
    ]


def _check_batch(batch: InFlightBatch, member: str) -> None:
    """RefusedError if a batch that is not split is not the member's."""
    (run,) = batch.runs
    if run.state is not RecordState.ACQUIRED:
        raise RefusedError(
            ErrorCode.INVALID_RECORD_STATE,
            "The batch cannot be acknowledged. The batch is not in the acquired state.",
        )
    if run.member != member:
        raise RefusedError(
            ErrorCode.INVALID_RECORD_STATE, "Member is not the owner of batch record"
        )


def _check_records(
    batch: InFlightBatch, spans: Sequence[Span], member: str, *, renews: bool
) -> None:
    """RefusedError if what is said is of records of the batch that are not the member's, or what
    the group does not allow. renews: whether it allows that.
    """
    index = 0
    for run in batch.runs:
        while index < len(spans) and spans[index][0] <= run.last:
            _, last, kind = spans[index]
            if last >= run.first:
                _check_record(run, member)
            if TYPES[kind] is RecordInput.RENEW and not renews:
                raise RefusedError(
                    ErrorCode.INVALID_RECORD_STATE,
                    "Renewing acquisition locks is not enabled for the group.",
                )
            if last > run.last:
                break
            index += 1


def _check_record(run: Run, member: str) -> None:
    if run.state is not RecordState.ACQUIRED:
        raise RefusedError(
            ErrorCode.INVALID_RECORD_STATE,
            "The offset cannot be acknowledged. The offset is not acquired.",
        )
    if run.member != member:
        raise RefusedError(ErrorCode.INVALID_RECORD_STATE, "Member is not the owner of offset")


def _by_type(one: Acknowledgement, first: int) -> list[Span]:
    """First and last offset of those in a row that are said the same of, from `first` on."""
    if len(one.types) == 1:
        return [(first, one.last, one.types[0])] if first <= one.last else []
    found: list[Span] = []
    for offset, kind in enumerate(one.types, one.first):
        if offset < first:
            continue
        if found and found[-1][2] == kind:
            found[-1] = (found[-1][0], offset, kind)
        else:
            found.append((offset, offset, kind))
    return found


def _without(one: Acquired, gone: Sequence[tuple[int, int]]) -> list[Acquired]:
    """What is left of acquired offsets."""
    left = []
    first = one.first
    for start, end in gone:
        if end < first or start > one.last:
            continue
        if start > first:
            left.append(Acquired(first, start - 1, one.deliveries))
        first = end + 1
    if first <= one.last:
        left.append(Acquired(first, one.last, one.deliveries))
    return left
