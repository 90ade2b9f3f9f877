"""Which partitions are assigned and where each one is (rules P1-P4): the only writer of states.

A position is what the application has consumed. Fetching runs ahead of it: whoever buffers records
watches the positions, because a seek, a reset or a lost partition makes what is buffered worthless.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from kcore.errors import IllegalArgumentError, IllegalStateError
from kcore.fetch.config import ResetStrategy
from kcore.fetch.partition import ASIDE, HELD, PAUSED, SUSPENDED, Partition, Position
from kcore.fetch.states import TRANSITIONS, WITH_POSITION, PartitionState, PositionInput
from kcore.hints import Protocol
from kcore.structs import Leader, OffsetAndMetadata, TopicPartition

# What ends by an answer.
_ANSWERED = frozenset({PartitionState.AWAIT_RESET, PartitionState.AWAIT_VALIDATION})


class Watcher(Protocol):
    """Who must know at once."""

    def moved(self, partition: Partition) -> None:
        """The position was set or taken away: nothing fetched before is worth anything."""

    def changed(self, partition: Partition) -> None:
        """Whether it may be fetched and handed over may have changed; the position has not."""


class _Nobody:
    """The watcher before there is one."""

    def moved(self, partition: Partition) -> None:
        """Nothing is buffered yet."""

    def changed(self, partition: Partition) -> None:
        """Nothing is fetched yet."""


class Positions:
    """See the module's text.

    `policy`: what becomes of a partition with no committed offset. `out_of_range`: of one whose
    offset its log does not hold (any more), or that was truncated below it; None: the same.
    `wall_offset_ms`: what makes Unix time of `now_ms`; None: not known. IllegalArgumentError: one
    of the two depends on the time of day, and that is not known.
    """

    def __init__(
        self,
        policy: ResetStrategy | str = ResetStrategy.LATEST,
        out_of_range: ResetStrategy | str | None = None,
        *,
        wall_offset_ms: int | None = None,
    ) -> None:
        self._wall_offset_ms = wall_offset_ms
        self.policy = self._strategy(policy)
        self.out_of_range = self._strategy(policy if out_of_range is None else out_of_range)
        self.watcher: Watcher = _Nobody()
        self._all: dict[TopicPartition, Partition] = {}
        # Looked at after every input, so kept instead of searched.
        self._by_state: dict[PartitionState, dict[Partition, None]] = {
            state: {} for state in PartitionState
        }
        self.undecided: dict[Partition, None] = {}
        self._wanted: Container[TopicPartition] | None = None  # all, or these alone

    # -- assignment --------------------------------------------------------------------------------

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Replace the assignment. What stays keeps everything, but is no longer suspended (P4)."""
        wanted = dict.fromkeys(TopicPartition(*tp) for tp in partitions)
        for tp in [tp for tp in self._all if tp not in wanted]:
            self._give_up(self._all.pop(tp))
        for tp in wanted:
            partition = self._all.get(tp)
            if partition is None:
                partition = self._all[tp] = Partition(tp)
                self._by_state[partition.state][partition] = None
                if self._wanted is not None and tp not in self._wanted:
                    partition.flags |= ASIDE
                self.watcher.changed(partition)
            else:
                self._unflag(partition, SUSPENDED)

    def _give_up(self, partition: Partition) -> None:
        partition.assigned = False
        self._by_state[partition.state].pop(partition, None)
        self.undecided.pop(partition, None)
        self.watcher.moved(partition)

    def recover(self) -> None:
        """Put every book in order by what the partitions themselves say: a call was broken off in
        the middle. Who waits for an answer waits for none.
        """
        for ones in self._by_state.values():
            ones.clear()
        self.undecided.clear()
        for partition in self._all.values():
            self._by_state[partition.state][partition] = None
            if partition.undecided:
                self.undecided[partition] = None
            if partition.state in _ANSWERED:
                partition.retry_at = 0
            aside = self._wanted is not None and partition.tp not in self._wanted
            partition.flags = partition.flags & ~ASIDE | (ASIDE if aside else 0)

    def assigned(self) -> list[TopicPartition]:
        """All of them, in the order they were assigned."""
        return list(self._all)

    def is_assigned(self, tp: TopicPartition) -> bool:
        """Whether `tp` is one of them."""
        return tp in self._all

    def initializing(self) -> list[TopicPartition]:
        """The ones whose committed offset nobody has looked up yet."""
        waiting = self._by_state[PartitionState.INITIALIZING]
        return [partition.tp for partition in waiting if not partition.undecided]

    # -- positions ---------------------------------------------------------------------------------

    def apply_committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata | None]) -> None:
        """Take committed offsets as positions; a partition that has moved on meanwhile is left."""
        for tp, committed in offsets.items():
            partition = self._all.get(tp)
            if committed is None or partition is None:
                continue
            if partition.state is PartitionState.INITIALIZING:
                self._seek(partition, committed.offset, committed.leader_epoch)

    def reset_initializing(self, partitions: Iterable[TopicPartition]) -> None:
        """Let the policy decide about these, which have no committed offset.

        Under the policy "none" they keep waiting, and `undecided` names them: taking records then
        raises NoOffsetForPartitionError until the application seeks (F29).
        """
        for tp in partitions:
            partition = self._all.get(tp)
            if partition is None or partition.state is not PartitionState.INITIALIZING:
                continue
            if self.policy is ResetStrategy.NONE:
                partition.undecided = True
                self.undecided[partition] = None
            else:
                self.reset_partition(partition, self.policy)

    def seek(self, tp: TopicPartition, offset: int, leader_epoch: int = -1) -> None:
        """Set the position (P3). With an epoch it is checked against the leader's log first.

        Raises IllegalStateError if `tp` is not assigned, IllegalArgumentError if `offset` < 0.
        """
        if offset < 0:
            raise IllegalArgumentError(f"cannot seek to {offset}: offsets start at 0")
        self._seek(self._need(tp), offset, leader_epoch)

    def go_back(self, tp: TopicPartition, offset: int, leader_epoch: int = -1) -> None:
        """Set the position to where records were handed over: a place in the topic that was read,
        while one that is sought is one in whatever has its name. If that was made anew since, it is
        none, and nothing happens. Raises IllegalStateError if `tp` is not assigned.

        What is before a position that is trusted needs no validation: it can be committed at once.
        """
        partition = self._need(tp)
        log_id = partition.log_id
        if not partition.anew:
            trusted = partition.state is PartitionState.FETCHING and offset <= partition.offset
            self._seek(partition, offset, leader_epoch, partition.leader if trusted else None)
            partition.log_id = log_id

    def _seek(
        self, partition: Partition, offset: int, leader_epoch: int, leader: Leader | None = None
    ) -> None:
        partition.strategy = ResetStrategy.NONE
        self._place(partition, PositionInput.SOUGHT, offset, leader_epoch, leader)

    def reset(self, tp: TopicPartition, strategy: ResetStrategy | str) -> None:
        """Go to the first or last offset, which is looked up lazily (P3)."""
        strategy = self._strategy(strategy)
        if strategy is ResetStrategy.NONE:
            raise IllegalArgumentError('reset "none" is a policy, not a place to go to')
        self.reset_partition(self._need(tp), strategy)

    def _strategy(self, said: ResetStrategy | str) -> ResetStrategy:
        strategy = ResetStrategy.of(said)
        if strategy.duration_ms is not None and self._wall_offset_ms is None:
            raise IllegalArgumentError(f"{strategy.value!r} needs the time of day: give wall_ms")
        return strategy

    def reset_timestamp(self, strategy: ResetStrategy, now_ms: int) -> int:
        """What ListOffsets is asked for, now."""
        return strategy.timestamp(now_ms + (self._wall_offset_ms or 0))

    def position(self, tp: TopicPartition) -> Position | None:
        """Where the application is; None while that is not known."""
        partition = self._need(tp)
        if partition.state not in WITH_POSITION:
            return None
        return Position(partition.offset, partition.offset_epoch, partition.leader)

    def offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Where the assigned ones of these are; -1 where that is not known."""
        found = {}
        for tp in partitions:
            partition = self._all.get(tp)
            if partition is not None:
                found[tp] = partition.offset
        return found

    def consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """What may be committed: the positions of FETCHING partitions (C1)."""
        found = {}
        for partition in self._by_state[PartitionState.FETCHING]:
            known, offset, epoch = partition.consumed, partition.offset, partition.offset_epoch
            if known is None or known[0] != offset or known[2] != epoch:
                known = partition.consumed = OffsetAndMetadata(offset, "", epoch)
            found[partition.tp] = known
        return found

    def log_ids(self) -> dict[str, bytes]:
        """Ids of the topics that positions are in, as far as they are known."""
        return {
            partition.tp.topic: partition.log_id
            for partition in self._all.values()
            if partition.log_id is not None
        }

    # -- moves, for the rest of this room ----------------------------------------------------------

    def reset_partition(self, partition: Partition, strategy: ResetStrategy) -> None:
        """Forget the position and wait for the one that ListOffsets finds."""
        partition.strategy = strategy
        self._place(partition, PositionInput.RESET_ASKED, -1, -1)

    def out_of_reach(self, partition: Partition, strategy: ResetStrategy) -> None:
        """The log does not hold the position (any more): the same, and it is told with it."""
        before = partition.offset
        self.reset_partition(partition, strategy)
        partition.before = before

    def reset_answered(self, partition: Partition, offset: int) -> bool:
        """ListOffsets found the offset; False if nobody waits for it any more (P6)."""
        return self._place(partition, PositionInput.RESET_ANSWERED, offset, -1)

    def doubt(self, partition: Partition) -> None:
        """The leader has changed; the position must be validated before it is used again (P9)."""
        if self._move(partition, PositionInput.DOUBTED):
            partition.attempts = partition.retry_at = 0
            partition.next_offset = partition.offset
            self.watcher.moved(partition)

    def validated(self, partition: Partition) -> None:
        """The position is good, or cannot be told to be bad (P11)."""
        if self._move(partition, PositionInput.VALIDATED):
            partition.attempts = partition.retry_at = 0
            self.watcher.changed(partition)

    def truncated(self, partition: Partition, offset: int, epoch: int) -> None:
        """The log parts from ours at `offset`: go back there, as the policy allows it (P11)."""
        if self._move(partition, PositionInput.VALIDATED):
            self._place(partition, PositionInput.SOUGHT, offset, epoch, partition.leader)

    def remade(self, partition: Partition) -> None:
        """Its topic was deleted, and made anew under its name: what was read of it says nothing of
        that. It is begun with as when it is newly assigned; or, if that was all, with the reset
        that nothing was read since.
        """
        if partition.strategy is not ResetStrategy.NONE:
            self.reset_partition(partition, partition.strategy)
        elif self._place(partition, PositionInput.VOIDED, -1, -1):
            partition.anew = True

    def begin_anew(self, tp: TopicPartition) -> None:
        """Forget where it stands: it begins as when it is newly assigned. IllegalStateError."""
        partition = self._need(tp)
        if self._place(partition, PositionInput.TAKEN_BACK, -1, -1):
            partition.strategy = ResetStrategy.NONE

    def was_remade(self, tp: TopicPartition) -> bool:
        """Whether it waits for a position because its topic was made anew."""
        partition = self._all.get(tp)
        return partition is not None and partition.anew

    def found_in(self, tp: TopicPartition, topic_id: bytes | None) -> None:
        """The position was committed, or is an end, in this topic, as far as anybody knows."""
        partition = self._all.get(tp)
        if partition is not None and partition.state in WITH_POSITION:
            partition.log_id = topic_id

    def _place(
        self,
        partition: Partition,
        what: PositionInput,
        offset: int,
        epoch: int,
        leader: Leader | None = None,
    ) -> bool:
        """Take an input that sets or clears the position itself.

        Without `leader` whoever leads is compared with nobody at the next look: a position with an
        epoch is then validated once, one without is taken as it is (P9).
        """
        if not self._move(partition, what):
            return False
        partition.offset = partition.next_offset = offset
        partition.offset_epoch = epoch
        partition.leader = leader
        partition.log_id = None
        partition.before = None
        partition.anew = False
        partition.attempts = partition.retry_at = 0
        partition.error = ""
        partition.undecided = False
        self.undecided.pop(partition, None)
        self.watcher.moved(partition)
        return True

    def _move(self, partition: Partition, what: PositionInput) -> bool:
        """The one place that writes a state; False if the table has no such move (P1)."""
        to = TRANSITIONS[partition.state].get(what)
        if to is None or not partition.assigned:
            return False
        del self._by_state[partition.state][partition]
        self._by_state[to][partition] = None
        partition.state = to
        return True

    # -- flags -------------------------------------------------------------------------------------

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch and hand over nothing of these; what is buffered stays (F7)."""
        for tp in partitions:
            self._flag(self._need(tp), PAUSED)

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Undo `pause`."""
        for tp in partitions:
            self._unflag(self._need(tp), PAUSED)

    def paused(self) -> set[TopicPartition]:
        """The paused ones."""
        return {tp for tp, partition in self._all.items() if partition.flags & PAUSED}

    def suspend(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch and hand over nothing of these until the assignment changes."""
        self._flag_assigned(partitions, SUSPENDED)

    def hold(self, partitions: Iterable[TopicPartition]) -> None:
        """Fetch nothing of these until `release`: the application has not heard of them yet."""
        self._flag_assigned(partitions, HELD)

    def release(self, partitions: Iterable[TopicPartition]) -> None:
        """Undo `hold`."""
        for tp in partitions:
            partition = self._all.get(tp)
            if partition is not None:
                self._unflag(partition, HELD)

    def want(self, partitions: Container[TopicPartition] | None) -> None:
        """Fetch and hand over nothing but these, until the next such word; None: all.

        Who comes back stands where it stood before it was left aside.
        """
        self._wanted = partitions
        for partition in sorted(self._all.values(), key=_turn):
            if partitions is None or partition.tp in partitions:
                self._unflag(partition, ASIDE)
            else:
                self._flag(partition, ASIDE)

    def _flag_assigned(self, partitions: Iterable[TopicPartition], flag: int) -> None:
        for tp in partitions:
            partition = self._all.get(tp)
            if partition is not None:
                self._flag(partition, flag)

    def _flag(self, partition: Partition, flag: int) -> None:
        if not partition.flags & flag:
            partition.flags |= flag
            self.watcher.changed(partition)

    def _unflag(self, partition: Partition, flag: int) -> None:
        if partition.flags & flag:
            partition.flags &= ~flag
            self.watcher.changed(partition)

    # -- what brokers told -------------------------------------------------------------------------

    def highwater(self, tp: TopicPartition) -> int | None:
        """The high watermark as last told; None before."""
        return _told(self._need(tp).high_watermark)

    def last_stable_offset(self, tp: TopicPartition) -> int | None:
        """The end of what read_committed may read, as last told; None before."""
        return _told(self._need(tp).last_stable_offset)

    def log_start(self, tp: TopicPartition) -> int | None:
        """The first offset of the log, as last told; None before."""
        return _told(self._need(tp).log_start)

    def told_at(self, tp: TopicPartition) -> int | None:
        """When a fetch answer last named the partition; None before."""
        return _told(self._need(tp).told_at)

    # -- looking -----------------------------------------------------------------------------------

    def in_state(self, state: PartitionState) -> Mapping[Partition, None]:
        """The partitions in a state; changes while positions do."""
        return self._by_state[state]

    def find(self, tp: TopicPartition) -> Partition | None:
        """The assigned partition, if it is one."""
        return self._all.get(tp)

    def __iter__(self) -> Iterator[Partition]:
        """Every assigned partition."""
        return iter(self._all.values())

    def _need(self, tp: TopicPartition) -> Partition:
        partition = self._all.get(tp)
        if partition is None:
            raise IllegalStateError(f"{tp[0]}-{tp[1]} is not assigned to this consumer")
        return partition


def _turn(partition: Partition) -> int:
    return partition.turn


def _told(offset: int) -> int | None:
    return None if offset < 0 else offset
