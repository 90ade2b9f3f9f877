"""All that is acquired: what waits to be handed over, what the application has, and what it says of
that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from itertools import pairwise

from kcore.errors import IllegalStateError, Unexpected
from kcore.fetch.config import TAKE_BYTES
from kcore.limits import MAX_INT32
from kcore.records import ConsumerRecord
from kcore.records.acquired import Range
from kcore.share.acknowledgements import Sheet
from kcore.share.marks import (
    ACCEPT,
    GAP,
    HELD,
    RENEW,
    WAITING,
    Stretch,
)
from kcore.share.parcel import Parcel, Place
from kcore.structs import AcknowledgeType, TopicPartition

# Offsets of one answer of one partition. Brokers lock 2000 of a partition at most (10,000 if told
# so), and a batch; of a batch with gaps all offsets count.
ACQUIRED_MAX = 1 << 24


def checked(ranges: Iterable[Range]) -> list[Range]:
    """What a broker says is acquired. Unexpected: it cannot be meant."""
    found = list(ranges)
    for first, last, count in found:
        if not 0 <= first <= last or count < 0:
            raise Unexpected(f"ShareFetch answered that offsets {first} to {last} are acquired")
    for (_, last, _), (first, _, _) in pairwise(found):
        if first <= last:
            raise Unexpected(f"ShareFetch answered acquired offsets that go back to {first}")
    if sum(last - first + 1 for first, last, _ in found) > ACQUIRED_MAX:
        raise Unexpected("ShareFetch answered more acquired offsets than there can be")
    return found


class Stock:
    """taken: counts the records handed over. topic_id(topic): the one it has now, as far as anybody
    knows. on_consumed(records, bytes): of a parcel all is handed over that will be.
    """

    def __init__(
        self,
        topic_id: Callable[[str], bytes | None],
        on_consumed: Callable[[int, int], None] | None = None,
    ) -> None:
        self._topic_id = topic_id
        self._on_consumed = on_consumed
        self._parcels: dict[TopicPartition, list[Parcel]] = {}
        self._waiting: deque[Parcel] = deque()
        self._last: list[tuple[Parcel, list[ConsumerRecord]]] = []  # of the handing over under way
        self._error: Exception | None = None  # what the next call of `take` raises
        self.taken = 0

    # In --------------------------------------------------------------------------------------

    def add(self, parcel: Parcel, ranges: Collection[Range]) -> None:
        """An answer brought this; whoever had these offsets before has lost them."""
        others = self._parcels.setdefault(parcel.place.tp, [])
        for other in others:
            if other.place.topic_id == parcel.place.topic_id:
                other.supersede(ranges)
        others.append(parcel)
        self._waiting.append(parcel)

    @property
    def waiting(self) -> bool:
        """Whether there may be records to hand over, or something to raise."""
        return bool(self._waiting) or self._error is not None

    @property
    def buffered_bytes(self) -> int:
        """Memory of answers that are not wholly handed over."""
        return sum(parcel.size for parcel in self._waiting)

    # Out -------------------------------------------------------------------------------------

    def expire(self, now_ms: int) -> None:
        """Let go of what was not handed over while its lock lasted: others have it by now; and of
        what a topic held that was made anew under its name, which is nobody's any more.
        """
        for parcel in list(self._waiting):
            if self._topic_id(parcel.place.tp.topic) in (None, parcel.place.topic_id):
                parcel.expire(now_ms)
            else:
                parcel.lose()
            if not parcel.waiting:
                self._waiting.remove(parcel)
                self._count(parcel)

    def hand_over(self) -> None:
        """A call begins in which records are taken: see `take_back`."""
        self._last.clear()

    def take(
        self, max_records: int, *, whole: bool = False
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Hand over up to so many records, or TAKE_BYTES, a parcel after the other. whole: what an
        answer brought of a partition is not cut for the number alone.

        Raises what is wrong with records; with others in hand that waits for the next call.
        """
        error, self._error = self._error, None
        if error is not None:
            raise error
        out: dict[TopicPartition, list[ConsumerRecord]] = {}
        left, bytes_left = max_records, TAKE_BYTES
        while self._waiting and left > 0 and bytes_left > 0:
            parcel = self._waiting[0]
            try:
                records, size = parcel.take(MAX_INT32 if whole else left, bytes_left)
            except Exception as error:
                self._settle(parcel)
                if not out:
                    raise
                self._error = error
                break
            if records:
                self._last.append((parcel, records))
                self.taken += len(records)
                left -= len(records)
                bytes_left -= size
                out.setdefault(parcel.place.tp, []).extend(records)
            elif parcel.waiting:
                continue
            self._settle(parcel)
        return out

    def _settle(self, parcel: Parcel) -> None:
        if not parcel.waiting and self._waiting and self._waiting[0] is parcel:
            self._waiting.popleft()
            self._count(parcel)

    def _count(self, parcel: Parcel) -> None:
        if parcel.handed_over and parcel.fetched and self._on_consumed is not None:
            self._on_consumed(parcel.handed_over, parcel.fetched)
            parcel.fetched = 0  # it may come again, but not count

    def take_back(self) -> None:
        """What was taken since `hand_over` did not arrive: it is handed over again."""
        for parcel, records in reversed(self._last):
            self._return(parcel, records)
        self._last.clear()

    def give_back(self, records: Iterable[ConsumerRecord]) -> None:
        """These of the application's are handed over again, before all others."""
        by_parcel: dict[int, tuple[Parcel, list[ConsumerRecord]]] = {}
        for record in records:
            parcel = self._holder(TopicPartition(record.topic, record.partition), record.offset)
            if parcel is not None:
                by_parcel.setdefault(id(parcel), (parcel, []))[1].append(record)
        for parcel, back in reversed(by_parcel.values()):
            self._return(parcel, back)

    def _return(self, parcel: Parcel, records: list[ConsumerRecord]) -> None:
        parcel.give_back(records)
        if parcel.waiting and parcel not in self._waiting:
            self._waiting.appendleft(parcel)

    # What the application says -----------------------------------------------------------------

    def accept_held(self, but: Iterable[ConsumerRecord] = ()) -> None:
        """All that the application has counts as handled, `but` these."""
        apart = [
            (parcel, record.offset)
            for record in but
            if (
                parcel := self._holder(
                    TopicPartition(record.topic, record.partition), record.offset
                )
            )
        ]
        for parcel, offset in apart:
            parcel.marks.put(offset, WAITING)
        for parcels in self._parcels.values():
            for parcel in parcels:
                parcel.marks.change(HELD, ACCEPT)
        for parcel, offset in apart:
            parcel.marks.put(offset, HELD)

    def unacknowledged(self) -> int:
        """How many records the application has said nothing of."""
        return sum(
            parcel.marks.count(HELD) for parcels in self._parcels.values() for parcel in parcels
        )

    def acknowledge(self, tp: TopicPartition, offset: int, kind: AcknowledgeType) -> None:
        """IllegalStateError: there is no such record in the application's hands (any more)."""
        for parcel in reversed(self._parcels.get(tp, ())):
            mark = parcel.marks.at(offset)
            if mark == HELD or ACCEPT <= mark <= RENEW:
                parcel.marks.put(offset, int(kind))
                return
            if mark == GAP:
                raise IllegalStateError(
                    f"there is no record at offset {offset} of {tp.topic}-{tp.partition}"
                )
        raise IllegalStateError(
            f"the record at offset {offset} of {tp.topic}-{tp.partition} cannot be acknowledged: it"
            " is not one that the last poll returned, or what became of it was told already"
        )

    def _holder(self, tp: TopicPartition, offset: int) -> Parcel | None:
        for parcel in self._parcels.get(tp, ()):
            if parcel.marks.at(offset) == HELD:
                return parcel
        return None

    # What brokers are told ---------------------------------------------------------------------

    def collect(self, deadline_ms: int) -> list[Sheet]:
        """Everything acknowledged that no broker was told yet; parcels that are through go."""
        parts: dict[Place, list[tuple[Parcel, list[Stretch]]]] = {}
        for tp, parcels in list(self._parcels.items()):
            for parcel in parcels:
                stretches = parcel.marks.take()
                if stretches:
                    parts.setdefault(parcel.place, []).append((parcel, stretches))
            parcels[:] = [one for one in parcels if not one.through]
            if not parcels:
                del self._parcels[tp]
        return [Sheet(place, found, deadline_ms) for place, found in parts.items()]

    def renewed(self) -> None:
        """Locks were renewed, or not: what was is handed over once more."""
        for parcels in self._parcels.values():
            for parcel in parcels:
                if parcel.again and parcel not in self._waiting:
                    self._waiting.appendleft(parcel)

    # Ends ------------------------------------------------------------------------------------

    def release_outside(self, covered: Callable[[str], bool]) -> None:
        """Hand over no more of other topics: others are to have it."""
        for parcel in [one for one in self._waiting if not covered(one.place.tp.topic)]:
            parcel.release()
            self._waiting.remove(parcel)
            self._count(parcel)

    def lose(self, node_id: int) -> None:
        """The session with a node is gone, and with it all locks: what waits is not ours any more.
        What the application has is left to it.
        """
        for parcel in [one for one in self._waiting if one.place.node_id == node_id]:
            parcel.lose()
            self._waiting.remove(parcel)
            self._count(parcel)

    def holds_of(self, node_id: int) -> bool:
        """Whether anything acquired from this node may still be acknowledged."""
        return any(
            parcel.place.node_id == node_id
            for parcels in self._parcels.values()
            for parcel in parcels
        )
