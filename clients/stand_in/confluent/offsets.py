"""What a consumer has stored, to be committed: what was handed over last of each partition, or what
the program says (enable.auto.offset.store), and what of it is committed already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kcore.clients.stand_in.confluent import constants
from kcore.clients.stand_in.confluent.errors import KafkaError, failure
from kcore.clients.stand_in.confluent.structures import TopicPartition
from kcore.settings.parsers import is_legal_name
from kcore.structs import OffsetAndMetadata
from kcore.structs import TopicPartition as Place

Offsets = dict[Place, OffsetAndMetadata]


class Stored:
    """See the module's text. last: the record handed over last of each partition. by_itself: what
    is handed over is stored. seen: all that was ever read. passed: where reading stands, None while
    records before that are still to be handed over: ends of transactions are behind it.
    """

    def __init__(self, *, by_itself: bool) -> None:
        self.by_itself = by_itself
        self.last: dict[Place, Any] = {}
        self.seen: set[Place] = set()
        self.passed: Callable[[Place], int | None] = lambda _place: None
        self._said: Offsets = {}
        self._committed: dict[Place, int] = {}
        self._on_their_way: Offsets = {}  # what brokers have not answered yet
        self._sought: dict[Place, Any] = {}  # what was handed over last, before a seek

    def forget(self, places: Iterable[Place]) -> None:
        """These are read anew, or not any more."""
        for place in places:
            self.seen.add(place)
            self.last.pop(place, None)
            self._said.pop(place, None)
            self._committed.pop(place, None)
            self._on_their_way.pop(place, None)
            self._sought.pop(place, None)

    def sought(self, place: Place) -> None:
        """The program goes on elsewhere: where reading stands counts with the next record."""
        self._sought[place] = self.last.get(place)

    def _behind(self, place: Place, record: Any) -> int:
        at: int = record.offset + 1
        if self._sought.get(place) is record:
            return at
        return max(at, self.passed(place) or 0)

    def store(self, offsets: Offsets) -> None:
        """The program says it."""
        self._said |= offsets

    def to_commit(self, places: Iterable[Place]) -> Offsets:
        """What of these is stored and not committed."""
        found: Offsets = {}
        for place in places:
            if self.by_itself:
                record = self.last.get(place)
                if record is None:
                    continue
                epoch = record.leader_epoch
                behind = self._behind(place, record)
                at = OffsetAndMetadata(behind, "", -1 if epoch is None else epoch)
            elif place in self._said:
                at = self._said[place]
            else:
                continue
            if at.offset > self._committed.get(place, -1):
                found[place] = at
        return found

    def committed(self, offsets: Offsets) -> None:
        """These are committed."""
        self._committed |= {place: at.offset for place, at in offsets.items()}

    def sent(self, offsets: Offsets) -> None:
        """These are to be committed, and brokers have not said what came of it."""
        self._on_their_way |= offsets

    def answered(self, offsets: Offsets, *, done: bool) -> None:
        """They have. Of what is read anew since, or committed otherwise, it says nothing."""
        for place, at in offsets.items():
            if self._on_their_way.get(place) is at:
                del self._on_their_way[place]
                if done:
                    self._committed[place] = at.offset

    def position(self, place: Place) -> tuple[int, int | None]:
        """(the offset behind what was handed over last, that one's epoch)."""
        record = self.last.get(place)
        if record is None:
            return constants.OFFSET_INVALID, None
        return self._behind(place, record), record.leader_epoch


def place_of(partition: Any) -> Place:
    """TypeError: no TopicPartition."""
    if not isinstance(partition, TopicPartition):
        raise TypeError(f"expected a TopicPartition, not {partition!r:.200}")
    return Place(partition.topic, partition.partition)


def can_be(place: Place) -> bool:
    """Whether there can be such a partition anywhere."""
    return place.partition >= 0 and is_legal_name(place.topic)


def checked(partitions: Any) -> list[TopicPartition]:
    """TypeError: no list of them."""
    if not isinstance(partitions, list):
        raise TypeError("requires list of TopicPartition")
    for partition in partitions:
        place_of(partition)
    return partitions


def as_there(metadata: str | None) -> str:
    """What is committed beside an offset, as brokers get it: librdkafka sends the NUL with which a
    text of C's ends, and reads past the end of one that comes without.
    """
    return "" if metadata is None else f"{metadata}\0"


def as_here(metadata: str) -> str | None:
    """And as programs do, whoever has committed it."""
    return metadata.partition("\0")[0] if metadata else None


def of_message(message: Any) -> Offsets:
    """The offset behind a message."""
    error = message.error()
    if error is not None:
        why = f"Cannot commit or store the offset of a message with an error: {error}"
        raise failure("_INVALID_ARG", why)
    offset, epoch = message.offset(), message.leader_epoch()
    at = OffsetAndMetadata(0 if offset is None else offset + 1, "", -1 if epoch is None else epoch)
    return {Place(message.topic(), message.partition()): at}


def of_partitions(partitions: Any) -> Offsets:
    """Those of them that have one."""
    return {
        place_of(one): OffsetAndMetadata(
            one.offset, as_there(one.metadata), -1 if one.leader_epoch is None else one.leader_epoch
        )
        for one in checked(partitions)
        if one.offset >= 0
    }


def partition_at(
    place: Place, at: OffsetAndMetadata | None, error: KafkaError | None = None
) -> Any:
    """A partition with a committed offset; None: there is none."""
    if at is None:
        found = TopicPartition(*place)
    else:
        epoch = at.leader_epoch
        found = TopicPartition(*place, at.offset, as_here(at.metadata), epoch)
    found.error = error
    return found
