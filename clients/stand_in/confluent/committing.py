"""The part of a Consumer that is about offsets: what is stored, committed, asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from kcore.clients.stand_in.confluent import constants
from kcore.clients.stand_in.confluent.errors import (
    CODES,
    KafkaError,
    failure,
    named,
    raised,
    told,
    words,
    words_of,
)
from kcore.clients.stand_in.confluent.gate import Gate
from kcore.clients.stand_in.confluent.happenings import Happenings
from kcore.clients.stand_in.confluent.messages import Message
from kcore.clients.stand_in.confluent.offsets import (
    Offsets,
    Stored,
    can_be,
    checked,
    of_message,
    of_partitions,
    partition_at,
    place_of,
)
from kcore.clients.stand_in.confluent.reader import Reader
from kcore.clients.stand_in.confluent.rebalances import Rebalances
from kcore.clients.stand_in.confluent.structures import TopicPartition
from kcore.errors import KafkaError as OurError
from kcore.errors import KafkaTimeoutError
from kcore.structs import TopicPartition as Place

_COMMITTED: Final = "committed offsets"
_TIME_MIN: Final = -3  # of a record; below 0: the end, the beginning, the latest time


class Committing:
    """See the module's text. The attributes are the consumer's."""

    _reader: Reader | None
    _gate: Gate
    _happenings: Happenings
    _rebalances: Rebalances
    _stored: Stored
    _commits_itself: bool
    _patience_ms: int  # with brokers that are not there, when partitions go
    _on_commit: Any

    def _need(self) -> Reader:
        """Our consumer. RuntimeError: closed."""
        raise NotImplementedError

    def _begin_anew(self) -> set[Place]:
        """Of topics that were made anew nothing is stored any more; which partitions these are."""
        raise NotImplementedError

    def commit(
        self,
        message: Message | None = None,
        offsets: list[TopicPartition] | None = None,
        asynchronous: bool = True,
    ) -> list[TopicPartition] | None:
        """Commit the offset behind a message, or these, or what is stored. Returns at once
        (on_commit is called with what became of it); else the partitions, when it is done.

        ValueError: message and offsets. KafkaException: not now; nothing is stored (_NO_OFFSET).
        """
        self._need()
        wanted = _of_either(message, offsets)
        with self._gate:
            reader = self._need()
            whole = wanted is None
            self._begin_anew()
            if wanted is None:
                wanted = self._stored.to_commit(self._rebalances.places())
            if asynchronous:
                self._commit_soon(wanted, offsets)
                return None
            if not wanted:
                raise failure("_NO_OFFSET", f"Commit failed: {words('_NO_OFFSET')}")
            self._commit_now(reader, wanted)
            places: Iterable[Place] = wanted
            if whole:
                places = sorted(self._rebalances.places())
            return [partition_at(place, wanted.get(place)) for place in places]

    def _commit_now(self, reader: Reader, wanted: Offsets) -> None:
        try:
            reader.commit_here(wanted)
        except OurError as error:
            raise raised(error, retriable=False) from error
        self._stored.committed(wanted)

    def _commit_soon(self, wanted: Offsets, given: list[TopicPartition] | None = None) -> None:
        if not wanted:
            if given is not None and self._on_commit is not None:
                call = partial(self._on_commit, named("_NO_OFFSET"), given)
                self._happenings.calls.append(call)
            return
        self._stored.sent(wanted)
        try:
            self._need().commit_async(wanted, partial(self._committed, wanted))
        except OurError as error:
            self._stored.answered(wanted, done=False)
            raise raised(error) from error

    def _committed(self, wanted: Offsets, _offsets: Any, why: OurError | None) -> None:
        error = None if why is None else told(why)
        self._stored.answered(wanted, done=error is None)
        if self._on_commit is None:
            return
        found = [partition_at(place, at, error) for place, at in wanted.items()]
        self._happenings.calls.append(partial(self._on_commit, error, found))

    def _keep(self, places: set[Place]) -> None:
        """Partitions go: what is stored of them is committed."""
        reader = self._reader
        if reader is None or not self._commits_itself:
            return
        self._begin_anew()
        wanted = self._stored.to_commit(places)
        if not wanted:
            return
        error: KafkaError | None = None
        try:
            reader.commit(wanted, self._patience_ms)
        except OurError as failed:
            error = told(failed)
        self._stored.committed(wanted)
        if self._on_commit is not None:
            found = [partition_at(place, at, error) for place, at in wanted.items()]
            self._happenings.calls.append(partial(self._on_commit, error, found))

    def store_offsets(
        self, message: Message | None = None, offsets: list[TopicPartition] | None = None
    ) -> None:
        """Have the next commit take the offset behind a message, or these.

        ValueError: neither or both. KafkaException: not read (_UNKNOWN_PARTITION, _STATE), or
        stored by itself (enable.auto.offset.store).
        """
        self._need()
        wanted = _of_either(message, offsets)
        if wanted is None:
            raise ValueError("expected either message or offsets")
        if self._stored.by_itself:
            raise failure("_INVALID_ARG", f"StoreOffsets failed: {words('_INVALID_ARG')}")
        with self._gate:
            self._need()
            strange = wanted.keys() - self._rebalances.places()
            if strange:
                name = "_STATE" if strange <= self._stored.seen else "_UNKNOWN_PARTITION"
                raise failure(name, f"StoreOffsets failed: {words(name)}")
            self._stored.store(wanted)

    def committed(
        self, partitions: list[TopicPartition], timeout: float = -1
    ) -> list[TopicPartition]:
        """The committed offsets of the group; OFFSET_INVALID where there is none."""
        self._need()
        wanted = [place_of(one) for one in checked(partitions)]
        if not wanted:
            return []
        with self._gate:
            reader = self._need()
            asked = set(filter(can_be, wanted))
            found = self._asked(
                _COMMITTED,
                lambda limit: reader.committed(asked, metadata=True, timeout_ms=limit),
                timeout,
            )
            return [partition_at(place, found.get(place)) for place in wanted]

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """The offsets behind what was handed over last; OFFSET_INVALID where nothing was."""
        self._need()
        with self._gate:
            self._need()
            found = []
            for one in checked(partitions):
                offset, epoch = self._stored.position(place_of(one))
                found.append(TopicPartition(one.topic, one.partition, offset, None, epoch))
            return found

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float = -1, cached: bool = False
    ) -> tuple[int, int]:
        """(first offset, offset behind the last record), asked for; cached: as last told, or
        OFFSET_INVALID. KafkaException, soon: there is no such partition (_UNKNOWN_PARTITION).
        """
        self._need()
        place = place_of(partition)
        with self._gate:
            reader = self._need()
            if cached:
                return reader.edges(place)
            what = "watermark offsets"
            if not self._asked(what, lambda limit: reader.exists(place, limit), timeout):
                why = f"Failed to get {what}: {words('_UNKNOWN_PARTITION')}"
                raise failure("_UNKNOWN_PARTITION", why)
            ends: tuple[int, int] = self._asked(
                what,
                lambda limit: (
                    reader.beginning_offsets([place], limit)[place],
                    reader.end_offsets([place], limit)[place],
                ),
                timeout,
            )
            return ends

    def offsets_for_times(
        self, partitions: list[TopicPartition], timeout: float = -1
    ) -> list[TopicPartition]:
        """The first offsets at or after the times (ms) that the partitions have as offsets;
        OFFSET_END where there is none. Partitions that are not there have their error.
        KafkaException: none is there.
        """
        self._need()
        times = {place_of(one): one.offset for one in checked(partitions)}
        with self._gate:
            reader = self._need()
            name = None if times else "_INVALID_ARG"
            if times and min(times.values()) < _TIME_MIN:
                name = "UNSUPPORTED_VERSION"
            errors: dict[Place, str] = {}
            if name is None:
                errors = self._asked("offsets", partial(reader.strangers, times), timeout)
                name = "_UNKNOWN_PARTITION" if len(errors) == len(times) else None
            if name is not None:
                raise failure(name, f"Failed to get offsets: {words(name)}")
            here = {place: at for place, at in times.items() if place not in errors}
            found = self._asked("offsets", partial(reader.offsets_at, here), timeout)
            return [_partition_of(one, errors, found) for one in partitions]

    def _asked(self, what: str, ask: Any, timeout: float) -> Any:
        limit = None if timeout < 0 else int(timeout * 1000)
        try:
            return ask(limit)
        except OurError as error:
            raised_now = raised(error)
            code = raised_now.args[0].code()
            # Theirs waits for the coordinator, of what is committed.
            if isinstance(error, KafkaTimeoutError) and what != _COMMITTED:
                code = code if self._need().bootstrap_connected() else CODES["_ALL_BROKERS_DOWN"]
            why = f"Failed to get {what}: {words_of(code)}: {error}"
            raise type(raised_now)(KafkaError(code, why)) from error


def _partition_of(
    one: TopicPartition, errors: Mapping[Place, str], found: Mapping[Place, Any]
) -> TopicPartition:
    place = place_of(one)
    at = found.get(place)
    if place in errors:
        strange = TopicPartition(*place, one.offset)
        strange.error = named(errors[place])
        return strange
    if at is None:
        return TopicPartition(*place, constants.OFFSET_END)
    return TopicPartition(*place, at.offset, None, at.leader_epoch)


def _of_either(message: Message | None, offsets: list[TopicPartition] | None) -> Offsets | None:
    """What one of them says; None: neither is given. ValueError: both are. TypeError."""
    if message is not None and offsets is not None:
        raise ValueError("message and offsets are mutually exclusive")
    if message is not None:
        if not isinstance(message, Message):
            raise TypeError(f"expected a Message, not {message!r:.200}")
        return of_message(message)
    return None if offsets is None else of_partitions(offsets)
