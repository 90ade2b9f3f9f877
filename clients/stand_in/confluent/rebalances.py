"""Rebalances as confluent-kafka's programs live them: they are told by callbacks that may assign
themselves, with offsets of their own; and partitions assigned by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kcore.clients.stand_in.confluent import constants
from kcore.clients.stand_in.confluent.errors import failure, words
from kcore.clients.stand_in.confluent.offsets import Stored, can_be, checked, place_of
from kcore.clients.stand_in.confluent.reader import Reader
from kcore.clients.stand_in.confluent.structures import TopicPartition
from kcore.structs import TopicPartition as Place

Callback = Callable[[Any, list[TopicPartition]], object]
_TAIL: Final = -2_000  # librdkafka's OFFSET_TAIL: so many before the end
_NAMED: Final = {
    *(constants.OFFSET_BEGINNING, constants.OFFSET_END),
    *(constants.OFFSET_STORED, constants.OFFSET_INVALID),
}


class Rebalances:
    """A listener of ours that calls the program's. consumer: what they are called with.

    kept: called when partitions go, behind the program's callback. failed: what a callback raised.
    lost: whether the assignment is lost just now.
    """

    def __init__(
        self, consumer: Any, reader: Reader, stored: Stored, kept: Callable[[set[Place]], object]
    ) -> None:
        self._consumer = consumer
        self._reader = reader
        self._stored = stored
        self._kept = kept
        self._calls: tuple[Callback | None, Callback | None, Callback | None] = (None, None, None)
        self._coming: set[Place] | None = None  # in the middle of on_assign
        self._going: set[Place] | None = None  # in the middle of on_revoke or on_lost
        self._ebbing: set[Place] = set()  # of those, what is still its own for now
        self._left_out: set[Place] = set()
        self._by_hand: list[TopicPartition] = []
        self.failed: BaseException | None = None
        self.changed: Callable[[Iterable[Place]], object] = lambda _places: None

    def use(
        self, on_assign: Callback | None, on_revoke: Callback | None, on_lost: Callback | None
    ) -> None:
        """Call these from now on."""
        self._calls = on_assign, on_revoke, on_lost

    # What our consumer tells ----------------------------------------------------------------------

    def on_partitions_assigned(self, added: set[Place]) -> None:
        """These are new."""
        self._began(added)
        self._coming = added
        try:
            self._call(self._calls[0], added)
        finally:
            self._coming = None

    def on_partitions_revoked(self, gone: set[Place]) -> None:
        """These are about to go."""
        self._ebbing = gone
        try:
            self._tell_of_end(self._calls[1], gone)
        finally:
            self._ebbing = set()
        self._kept(gone)
        self._ended(gone)

    def on_partitions_lost(self, gone: set[Place]) -> None:
        """These are gone."""
        self._tell_of_end(self._calls[2] or self._calls[1], gone)
        self._ended(gone)

    def _tell_of_end(self, callback: Callback | None, gone: set[Place]) -> None:
        self._going = gone
        try:
            self._call(callback, gone)
        finally:
            self._going = None

    def _call(self, callback: Callback | None, places: set[Place]) -> None:
        if callback is None:
            return
        try:
            callback(self._consumer, [TopicPartition(*place) for place in sorted(places)])
        except BaseException as error:
            self.failed = error
            raise

    def _began(self, places: Iterable[Place]) -> None:
        self._stored.forget(places)
        self._left_out.difference_update(places)
        self.changed(places)

    def _ended(self, places: Iterable[Place]) -> None:
        self._began(places)

    # What the program says ------------------------------------------------------------------------

    def assignment(self) -> list[TopicPartition]:
        """What is read, or will be when it is known where."""
        if self._by_hand:
            return [
                TopicPartition(
                    one.topic,
                    one.partition,
                    constants.OFFSET_STORED
                    if one.offset == constants.OFFSET_INVALID
                    else one.offset,
                )
                for one in sorted(self._by_hand)
            ]
        mine = self.places()
        return [TopicPartition(*place, constants.OFFSET_STORED) for place in sorted(mine)]

    def assign(self, partitions: Any) -> None:
        """Read these; in on_assign: begin there, and leave out what is not named."""
        wanted = _to_read(partitions)
        if self._going is not None:
            return
        if self._coming is not None:
            self._accept(wanted)
        elif self._reader.subscribed and self._are_mine(wanted):
            self._take(wanted)
        else:
            self.unassign()
            self._by_hand = wanted
            self._read_by_hand(self._by_hand)

    def unassign(self) -> None:
        """Read nothing; in a callback it is what happens anyway."""
        if self._going is not None or self._coming is not None:
            return
        if self._reader.subscribed:
            mine = self._reader.assignment()
            self._kept(mine)
            self._leave_out(mine)
            return
        gone = [place_of(one) for one in self._by_hand]
        self._kept(set(gone))
        self._by_hand = []
        self._reader.unsubscribe()
        self._ended(gone)

    def add(self, partitions: Any) -> None:
        """Read these as well. KafkaException: one of them is read already."""
        wanted = _to_read(partitions)
        if self._going is not None:
            return
        if self._coming is not None:
            self._accept(wanted)
        elif self._reader.subscribed:
            if any(place_of(one) in self.places() for one in wanted):
                raise failure("_CONFLICT", "a partition is assigned already")
            self._begin(wanted)
        else:
            held = {place_of(one) for one in self._by_hand}
            if any(place_of(one) in held for one in wanted):
                raise failure("_CONFLICT", "a partition is assigned already")
            self._by_hand = [*self._by_hand, *wanted]
            self._read_by_hand(wanted)

    def remove(self, partitions: Any) -> None:
        """Do not read these any more. KafkaException: one of them is not read."""
        gone = [place_of(one) for one in checked(partitions)]
        if self._going is not None or self._coming is not None:
            return
        if self._reader.subscribed:
            mine = {*gone}
            if not mine <= self.places():
                raise failure("_INVALID_ARG", "a partition is not assigned")
            self._kept(mine)
            self._leave_out(mine)
            return
        if not {*gone} <= {place_of(one) for one in self._by_hand}:
            raise failure("_INVALID_ARG", "a partition is not assigned")
        self._kept(set(gone))
        self._by_hand = [one for one in self._by_hand if place_of(one) not in gone]
        self._reader.assign(_readable(self._by_hand))
        self._ended(gone)

    def forget(self) -> None:
        """Nothing is subscribed any more, or something else."""
        self._by_hand = []
        back = self._left_out & self._reader.assignment()
        self._left_out.clear()
        if back:  # what the program before has left out is read as all else is
            self._reader.resume(*sorted(back))

    @property
    def by_hand(self) -> bool:
        """Whether partitions are assigned by hand."""
        return bool(self._by_hand)

    @property
    def hears_of_ends(self) -> bool:
        """Whether the program has a callback for partitions that go."""
        return self._calls[1] is not None or self._calls[2] is not None

    def is_going(self, place: Place) -> bool:
        """Whether a callback is just being told that this goes."""
        return self._going is not None and place in self._going

    def places(self) -> set[Place]:
        """What is read, or is just being told to go."""
        return (self._reader.assignment() | self._ebbing) - self._left_out

    # ----------------------------------------------------------------------------------------------

    def _are_mine(self, wanted: list[TopicPartition]) -> bool:
        return {place_of(one) for one in wanted} <= self._reader.assignment()

    def _accept(self, wanted: list[TopicPartition]) -> None:
        assert self._coming is not None
        named = {place_of(one) for one in wanted}
        self._leave_out(self._coming - named)
        self._go_to([one for one in wanted if place_of(one) in self._coming])

    def _take(self, wanted: list[TopicPartition]) -> None:
        """Of what the group has given: these, and no others."""
        self._leave_out(self._reader.assignment() - {place_of(one) for one in wanted})
        self._begin(wanted)

    def _begin(self, wanted: list[TopicPartition]) -> None:
        """With these of what the group has given, as if it had given them now."""
        mine = self._reader.assignment()
        new = [one for one in wanted if place_of(one) in mine]
        named = {place_of(one) for one in new}
        back = self._left_out & named
        self._began(named)
        self._reader.resume(*sorted(back))
        for one in new:
            self._reader.begin_anew(place_of(one))
        self._go_to(new)

    def _leave_out(self, places: set[Place]) -> None:
        if places:
            self._left_out |= places
            self._reader.pause(*sorted(places))

    def _read_by_hand(self, new: list[TopicPartition]) -> None:
        self._reader.assign(_readable(self._by_hand))
        self._began([place_of(one) for one in new])
        self._go_to([one for one in new if can_be(place_of(one))])

    def _go_to(self, wanted: list[TopicPartition]) -> None:
        for one in wanted:
            go_to(self._reader, place_of(one), one.offset)


def go_to(reader: Reader, place: Place, offset: int) -> None:
    """Begin there; OFFSET_STORED and OFFSET_INVALID: where it is committed."""
    if offset >= 0:
        reader.seek(place, offset)
    elif offset == constants.OFFSET_BEGINNING:
        reader.seek_to_beginning(place)
    elif offset == constants.OFFSET_END:
        reader.seek_to_end(place)
    elif offset <= _TAIL:
        end = reader.end_offsets([place])[place]
        first = reader.beginning_offsets([place])[place]
        reader.seek(place, max(first, end - (_TAIL - offset)))


def _to_read(partitions: Any) -> list[TopicPartition]:
    """A list of the caller's. TypeError: no partitions. KafkaException: one of them comes twice, or
    begins nowhere.
    """
    wanted = [*checked(partitions)]
    legal = all(
        one.offset >= 0 or one.offset in _NAMED or one.offset <= _TAIL
        for one in wanted
    )
    if not legal or len({place_of(one) for one in wanted}) < len(wanted):
        raise failure("_INVALID_ARG", f"Failed to set assignment: {words('_INVALID_ARG')}")
    return wanted


def _readable(partitions: Iterable[TopicPartition]) -> list[Place]:
    """Those that there can be; the others are assigned, and nothing is ever read of them."""
    return [place for one in partitions if can_be(place := place_of(one))]
