"""Fetching, put together: positions are found and kept true, records are fetched and handed over.

The owner calls `handle_tick` after every input; a turn in which nothing changed costs a few
comparisons, however many partitions are assigned. Records are handed over by `take_records`
and `take_columns`, a partition at a time, and only that moves positions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Mapping
from operator import attrgetter

from kcore.connection.calls import Answer, ClusterView, Network, Reach
from kcore.errors import (
    ConsumerStoppedError,
    CorruptRecordError,
    KafkaError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    UnsupportedCodecError,
)
from kcore.events import ControlRecordsPassed, Event
from kcore.fetch.answers import Answers
from kcore.fetch.config import TAKE_BYTES, FetchConfig, ResetStrategy
from kcore.fetch.offsets import LookupDone, Lookups, Resets
from kcore.fetch.partition import Partition
from kcore.fetch.planner import NodePlan, Planner
from kcore.fetch.positions import Positions
from kcore.fetch.requests import build_close
from kcore.fetch.session import NO_SESSION
from kcore.fetch.shelf import Entry
from kcore.fetch.single import OneByOne
from kcore.fetch.validation import Validation
from kcore.hints import TYPE_CHECKING, Final, cast
from kcore.records import ConsumerRecord, RecordReader
from kcore.structs import Rng, TopicPartition
from kcore.wire.apis import ApiKey

if TYPE_CHECKING:
    from kcore.records.columns import Columns

# Asking may change what is to be asked (a replica that cannot be reached hands its partitions
# back to the leader); each round does that at most once for a node.
_ROUNDS_MAX: Final = 4

_offset_of = attrgetter("offset")


class Fetcher:
    """See the module's text. It watches `positions`, which the owner works on, too."""

    def __init__(
        self,
        config: FetchConfig,
        network: Network,
        cluster: ClusterView,
        positions: Positions,
        rng: Rng,
        emit: Callable[[Event], None],
    ) -> None:
        self._network = network
        self._cluster = cluster
        self._positions = positions
        self._emit = emit
        self._seen_version = -1
        self._closed = False
        self._planner = Planner(config, network, cluster, positions, rng, self._take_answer, emit)
        self._shelf = self._planner.shelf
        beside, raise_for = self._planner.beside, self._raise_for
        self._validation = Validation(
            config, network, cluster, positions, rng, emit, raise_for, beside
        )
        self._resets = Resets(config, network, cluster, positions, rng, emit, raise_for, beside)
        # Of the handing over under way; None: nobody would take it back.
        self._moves: list[tuple[Partition, int, int]] | None = None
        self._lookups = Lookups(config, network, cluster, positions, rng, beside)
        self._answers = Answers(
            config, cluster, positions, self._planner, self._validation, emit, self.raise_later
        )
        # What the next calls of `take_records` raise; one for each partition or text.
        self._errors: dict[Partition | str, KafkaError] = {}
        self._about: dict[str, set[TopicPartition]] = {}  # whom an error is of matter to
        self._said_undecided = False
        self._plain = config.key_deserializer is None and config.value_deserializer is None
        self.single = OneByOne(self._errors, positions.undecided)
        self._shelf.turned = self.single.forget
        self.take_inside = self.single.take
        positions.watcher = self

    def measure(self, consumed: Callable[[Entry], None]) -> None:
        """Tell it of each part of an answer of which nothing more will be handed over."""
        self._shelf.consumed = consumed

    # -- the positions' watcher --------------------------------------------------------------------

    def moved(self, partition: Partition) -> None:
        """The position was set or taken away: nothing fetched before is worth anything."""
        self._errors.pop(partition, None)
        for text, about in [*self._about.items()]:
            about.discard(partition.tp)
            if not about:
                del self._about[text]
                self._errors.pop(text, None)
        self._shelf.drop(partition)
        self._planner.touch(partition)
        self._resets.inquiry.wake()
        self._validation.inquiry.wake()

    def changed(self, partition: Partition) -> None:
        """Whether it may be fetched and handed over may have changed."""
        self.single.forget()
        self._shelf.sort(partition)
        self._planner.touch(partition)

    # -- turns -------------------------------------------------------------------------------------

    def handle_tick(self, now_ms: int) -> None:
        """Send what may be sent now: look-ups, resets, validations, fetches."""
        if self._closed:
            return
        planner, resets, validation = self._planner, self._resets.inquiry, self._validation.inquiry
        self.follow_metadata()
        for _ in range(_ROUNDS_MAX):
            planner.settle(now_ms)
            resets.handle_tick(now_ms)
            validation.handle_tick(now_ms)
            planner.send(now_ms)
            if not planner.touched:
                break
        self._lookups.handle_tick(now_ms)

    def follow_metadata(self) -> None:
        """Who leads what may have changed, or a topic is another one: whoever commits positions
        has this called before.
        """
        if self._closed or self._cluster.version == self._seen_version:
            return
        self._seen_version = self._cluster.version
        self._planner.review()
        self._resets.inquiry.leaders_changed()
        self._validation.inquiry.leaders_changed()
        self._lookups.leaders_changed()

    def deadline(self) -> int:
        """When `handle_tick` has something to do by itself; NEVER if it has not."""
        return min(
            self._planner.deadline(),
            self._resets.inquiry.due,
            self._validation.inquiry.due,
            self._lookups.due,
        )

    def recover(self, now_ms: int) -> None:
        """Begin anew with where the application is: a call was broken off in the middle (Ctrl-C),
        and nobody knows how far it came. Where a partition stands, what state it is in and what the
        application said of it is each written in one go; all else is concluded from that.
        """
        self._positions.recover()
        self._planner.recover(now_ms)
        for place in [*self._errors]:
            if not isinstance(place, str) and not place.assigned:
                del self._errors[place]
        self.single.forget()
        self._resets.inquiry.wake()
        self._validation.inquiry.wake()
        self._lookups.recover()

    def _take_answer(self, plan: NodePlan, answer: Answer, now_ms: int) -> None:
        if not self._closed:
            self._answers.take(plan, answer, now_ms)

    # -- handing over ------------------------------------------------------------------------------

    @property
    def has_records(self) -> bool:
        """Whether `take_records` would give or raise something now."""
        return bool(self._shelf.ring or self._errors or self._positions.undecided)

    @property
    def restless(self) -> bool:
        """Whether `handle_tick` has something to do that no clock and no answer brought."""
        planner = self._planner
        return bool(planner.touched) or bool(planner.ready)

    @property
    def buffered_bytes(self) -> int:
        """Memory held by answers that are not wholly handed over."""
        return self._shelf.held_bytes

    def take_records(
        self, max_records: int, now_ms: int, only: Container[TopicPartition] | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Hand over up to `max_records`, or TAKE_BYTES, and move the positions past them (F7-F11).

        Raises what is wrong with a partition once all records before it were handed over: a
        KafkaError, or whatever a deserializer raised. With records in hand the error waits for the
        next call, and after it other partitions have their turn first. An empty answer is no sign
        that nothing moved: aborted and control records are passed over.
        only: nothing of other partitions, nor what is wrong with them.
        """
        if self._errors or self._positions.undecided:
            self._raise_pending(only)
        out: dict[TopicPartition, list[ConsumerRecord]] = {}
        left = max_records
        bytes_left = TAKE_BYTES
        while left > 0 and bytes_left > 0:
            partition = self._next_turn(now_ms, only, alone=not out)
            if partition is None:
                break
            reader = partition.reader
            self._mark(partition)
            try:
                records = reader.take(left, bytes_left)
            except Exception as error:
                self.single.taken -= 1
                if out:
                    break  # the reader raises it again
                del reader  # the error may stay, and keeps the frames that it has gone through
                self._cannot_read(partition, error)
                raise
            self._follow(partition)
            if not records:
                self.single.taken -= 1
            else:
                left -= len(records)
                bytes_left -= reader.taken_bytes
                if partition.tp in out:
                    out[partition.tp] += records
                else:
                    out[partition.tp] = records
        return out

    def take_next(self) -> dict[TopicPartition, list[ConsumerRecord]] | None:
        """`take_records` of one record, where nothing else is to be done; None: ask that."""
        if self.single.partition is not None:
            self._mark(self.single.partition)
            found = self.take_inside()
            self.single.taken -= 1  # which has counted it
            if found is not None:
                return found
        ring = self._shelf.ring
        if not ring or self._errors or self._positions.undecided:
            return None
        partition = next(iter(ring))
        reader = partition.entries[0].reader
        if reader is None:
            return None
        self._mark(partition)
        try:
            records = reader.take(1)
        except Exception as error:
            self.single.taken -= 1
            del reader
            self._cannot_read(partition, error)
            raise
        onward = self._plain and not reader.exhausted
        self._follow(partition)
        if onward:
            self.single.follow(partition, reader)
        if not records:
            self.single.taken -= 1
            return None
        return {partition.tp: records}

    def take_columns(
        self, columns: Columns, now_ms: int, only: Container[TopicPartition] | None = None
    ) -> None:
        """Hand over until `columns` are full or nothing waits; `take_records` in all else."""
        if self._errors or self._positions.undecided:
            self._raise_pending(only)
        while not columns.full:
            partition = self._next_turn(now_ms, only, alone=not columns.rows)
            if partition is None:
                break
            self._mark(partition)
            try:
                if not partition.reader.take_columns(columns):
                    self.single.taken -= 1
            except Exception as error:
                self.single.taken -= 1
                if columns.rows:
                    break  # the reader raises it again
                self._cannot_read(partition, error)
                raise
            self._follow(partition)

    def take_until(
        self, max_records: int, now_ms: int, behind: dict[TopicPartition, int]
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """`take_records` of these partitions, and of each what is below the offset named.

        Positions come to there whether or not there is a record, and no record is taken beyond:
        what follows stays buffered. A partition that has come there is taken out of `behind`.
        """
        if self._errors or self._positions.undecided:
            self._raise_pending(behind)
        out: dict[TopicPartition, list[ConsumerRecord]] = {}
        left = max_records
        bytes_left = TAKE_BYTES
        while left > 0 and bytes_left > 0:
            partition = self._next_turn_below(now_ms, behind, alone=not out)
            if partition is None:
                break
            reader, end = partition.reader, behind[partition.tp]
            self._mark(partition)
            try:
                # As many as there can be below the end: without gaps none of them is beyond it.
                records = reader.take(min(left, end - partition.offset), bytes_left)
            except Exception as error:
                self.single.taken -= 1
                if out:
                    break  # the reader raises it again
                if _first_offset(error) >= end:
                    self._stop_at(partition, end, partition.offset_epoch)
                    continue
                del reader
                self._cannot_read(partition, error)
                raise
            bytes_left -= reader.taken_bytes
            if records and records[-1].offset >= end:
                del records[bisect_left(records, end, key=_offset_of) :]
                epoch = records[-1].leader_epoch if records else partition.offset_epoch
                self._stop_at(partition, end, -1 if epoch is None else epoch)
            else:
                onward = self._plain and not reader.exhausted and reader.end_offset <= end
                self._follow(partition)
                self.single.forget()
                if onward and max_records == 1:  # the next one is wanted, too, whatever it is
                    self.single.follow(partition, reader)
            if not records:
                self.single.taken -= 1
                continue
            left -= len(records)
            out.setdefault(partition.tp, []).extend(records)
        return out

    def _next_turn_below(
        self, now_ms: int, behind: dict[TopicPartition, int], *, alone: bool
    ) -> Partition | None:
        """`_next_turn` of partitions that are not through; others are taken out of `behind`."""
        while True:
            head = self._shelf.head(behind)
            if head is not None:
                self._come_to(head, behind[head.tp])
            if head is None or head.offset < behind[head.tp]:
                partition = self._next_turn(now_ms, behind, alone=alone)
                if partition is None or partition.offset < behind[partition.tp]:
                    return partition
                head = partition
            del behind[head.tp]

    def _come_to(self, partition: Partition, end: int) -> None:
        """The position comes to `end` if that is before what is known not to be readable."""
        entry = partition.entries[0]
        if entry.standing and _first_offset(cast(KafkaError, entry.error)) >= end:
            partition.offset = max(partition.offset, end)

    def _stop_at(self, partition: Partition, offset: int, epoch: int) -> None:
        """The position comes to `offset`, though what was read goes further, or cannot be read."""
        reader = partition.reader
        if reader.control_records:
            passed = tuple(one for one in reader.control_records if one.offset < offset)
            if passed:
                self._emit(ControlRecordsPassed(partition.tp, passed))
        partition.offset, partition.offset_epoch = offset, epoch
        self._shelf.begin_at(partition, offset)
        if not partition.entries:
            self._planner.touch(partition)

    def _next_turn(
        self, now_ms: int, only: Container[TopicPartition] | None, *, alone: bool
    ) -> Partition | None:
        """Whose records come next; an error that comes first waits unless `alone`."""
        while (partition := self._shelf.head(only)) is not None:
            entry = partition.entries[0]
            if entry.reader is not None:
                return partition
            if not alone:
                return None
            self._take_error(partition, entry, now_ms)
        return None

    def _mark(self, partition: Partition) -> None:
        """Records are about to be taken of it: noted first, because anything may strike behind it
        (Ctrl-C). Who finds that nothing was taken takes it off the count.
        """
        if self._moves is not None:
            self._moves.append((partition, partition.offset, partition.offset_epoch))
        self.single.taken += 1

    def _follow(self, partition: Partition) -> None:
        """Records of the first entry were taken: the position moves past them."""
        entry = partition.entries[0]
        reader = entry.reader
        assert reader is not None  # or nothing could have been taken
        self._move_past(partition, reader)
        if partition.refused:
            self._shelf.accept(partition)
            self._planner.touch(partition)
        if reader.exhausted:
            self._finish(partition)
        else:
            self._shelf.took(entry, reader.size_bytes)

    def _move_past(self, partition: Partition, reader: RecordReader) -> None:
        """The position is the reader's; what it collected on the way is told, once."""
        partition.offset = reader.next_offset
        partition.offset_epoch = reader.next_epoch
        if reader.control_records:
            self._emit(ControlRecordsPassed(partition.tp, tuple(reader.control_records)))
            reader.control_records.clear()

    def hand_over(self) -> None:
        """A handing over begins: what was handed over before has arrived."""
        self._moves = []

    def take_back(self) -> None:
        """What was taken since has not arrived: positions go back to where it began."""
        for partition, offset, epoch in reversed(self._moves or ()):
            if partition.assigned:
                self._positions.go_back(partition.tp, offset, epoch)
        self._moves = None

    def take_back_one(self) -> None:
        """What `take_inside` gave last has not arrived."""
        single = self.single
        if single.given is not None and single.given.assigned:
            self._positions.go_back(single.given.tp, single.at, single.at_epoch)

    def _finish(self, partition: Partition) -> None:
        self._shelf.finish(partition)
        entries = partition.entries
        follows = entries[0].offset if entries else partition.next_offset
        if follows != partition.offset:
            # What is held or under way does not begin where this ended: never skip, never repeat.
            self._shelf.drop(partition)
            self._planner.touch(partition)

    def _take_error(self, partition: Partition, entry: Entry, now_ms: int) -> None:
        """An error has reached the front: the reset policy deals with it, or it is raised."""
        error = cast(KafkaError, entry.error)  # an entry has a reader or an error
        if entry.standing:
            self._shelf.pass_turn(partition)
            raise error.with_traceback(None)  # or it would keep the frames of every time
        resets = self._positions.out_of_range is not ResetStrategy.NONE
        if resets and isinstance(error, OffsetOutOfRangeError):
            self._planner.leave(partition, now_ms)
            return
        self._shelf.finish(partition)
        self._planner.back_off(partition, now_ms, type(error).__name__)
        raise error

    def _cannot_read(self, partition: Partition, error: Exception) -> None:
        """Others first; and of bytes that never can be read, nothing but the error is kept, behind
        which nothing more is fetched: what is held and never handed over would be in their way.

        Nothing was handed over, but markers and aborted batches may have been passed over.
        """
        self._move_past(partition, partition.reader)
        if self._moves:
            self._moves.clear()
        if isinstance(error, (CorruptRecordError, UnsupportedCodecError)):
            self._shelf.replace(partition, error)
        else:
            self._shelf.refuse(partition)
        self._planner.touch(partition)
        self._shelf.pass_turn(partition)

    # -- errors that have no place in a log --------------------------------------------------------

    def raise_later(self, error: KafkaError, about: Iterable[TopicPartition] = ()) -> None:
        """Let the next `take_records` raise it; the same text twice is raised once. about: once all
        of these are somewhere else, or are gone, it is of no matter any more.
        """
        text = str(error)
        self._about = {other: self._about[other] for other in self._about.keys() & self._errors}
        self._errors[text] = error
        self._about.pop(text, None)
        if waiting := set(about):
            self._about[text] = waiting

    def _raise_for(self, error: KafkaError, partition: Partition) -> None:
        self._errors[partition] = error

    def _raise_pending(self, only: Container[TopicPartition] | None) -> None:
        for place in self._errors:
            if only is None or isinstance(place, str) or place.tp in only:
                raise self._errors.pop(place)
        # It stays until the application seeks: raised by every other call, so that the others flow.
        partitions = frozenset(
            partition.tp
            for partition in self._positions.undecided
            if only is None or partition.tp in only
        )
        if not partitions:
            return
        self._said_undecided = not self._said_undecided
        if self._said_undecided or not self._shelf:
            self._said_undecided = True
            names = ", ".join(f"{tp.topic}-{tp.partition}" for tp in sorted(partitions))
            text = f"nothing is committed for {names}, and there is no reset policy; seek to begin"
            anew = sorted({tp.topic for tp in partitions if self._positions.was_remade(tp)})
            if anew:
                text += f" (deleted and made anew while they were read: {', '.join(anew)})"
            raise NoOffsetForPartitionError(text, partitions=partitions)

    # -- verbs -------------------------------------------------------------------------------------

    def list_offsets(
        self,
        timestamps: Mapping[TopicPartition, int],
        now_ms: int,
        done: LookupDone,
        *,
        deadline_ms: int,
    ) -> None:
        """Look offsets up: -1 the end, -2 the beginning, -3 the newest, else the first at a time.

        `done(result, error)` runs once, at the next turn or later; a partition with no such record
        has the result None. KafkaTimeoutError at `deadline_ms`, with what was found in `done` and
        an error for each of the others in `failed`; a deadline that is no later than `now_ms` ends
        in an empty result at once (P8).
        """
        self._lookups.begin({} if deadline_ms <= now_ms else timestamps, done, deadline_ms)

    def refuse_lookups(self, topics: set[str], error: KafkaError) -> None:
        """Metadata of these was refused: look-ups of them end with this error."""
        self._lookups.refuse(topics, error)

    def refuse_partition(self, tp: TopicPartition, error: KafkaError) -> None:
        """There is no such partition: look-ups of it end with this error."""
        self._lookups.refuse_partition(tp, error)

    def drop_outside(self, covers: Callable[[str], bool]) -> None:
        """Throw away what is buffered of topics that `covers` does not know (X2)."""
        for partition in self._positions:
            if partition.entries and not covers(partition.tp.topic):
                self._shelf.drop(partition)
                self._planner.touch(partition)

    def end(self) -> None:
        """Ask for no more records: a close has begun, and what it has to say (commits, who leaves)
        is not to wait behind fetches that brokers keep. Look-ups go on: a listener may make some.
        """
        self._planner.end()

    def close(self, now_ms: int) -> None:
        """Give all memory back, end sessions where that can be said (S6)."""
        if self._closed:
            return
        self._closed = True
        for partition in self._positions:
            self._shelf.drop(partition)
        self._lookups.close(ConsumerStoppedError("the consumer was closed"))
        for plan in self._planner.nodes.values():
            session = plan.session
            ready = self._network.reach(plan.node_id, now_ms) is Reach.READY
            if session.id != NO_SESSION and ready:
                body = build_close(session)
                self._network.send(
                    plan.node_id,
                    ApiKey.FETCH,
                    lambda _version, body=body: body,  # type: ignore[misc]
                    lambda _answer, _now_ms: None,
                    now_ms,
                )

    def health(self, tp: TopicPartition) -> str:
        """Why a partition is or is not being fetched, in a few words."""
        from kcore.fetch.health import describe  # noqa: PLC0415 - few ask

        return describe(self._positions, self._planner, tp)


def _first_offset(error: Exception) -> int:
    """The first record that cannot be read because of it; -1 if that is not said."""
    found = getattr(error, "first_offset", None)
    if found is None:
        found = getattr(error, "offset", None)
    return found if isinstance(found, int) else -1
