"""`Consumer` under confluent-kafka's name, with its ways, over our consumer.

Every call may come from any thread, as there. What happens in the background there happens in the
program's calls here: automatic commits are sent by `poll` and `consume`, callbacks called by them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from time import monotonic
from types import TracebackType
from typing import Any, Final, Self

from kcore.clients.stand_in.confluent import constants
from kcore.clients.stand_in.confluent.admin_cluster import OwnDesk
from kcore.clients.stand_in.confluent.committing import Committing
from kcore.clients.stand_in.confluent.ends import Ends
from kcore.clients.stand_in.confluent.errors import (
    CODES,
    KafkaError,
    failure,
    named,
    raised,
    told,
    words,
)
from kcore.clients.stand_in.confluent.gate import Gate
from kcore.clients.stand_in.confluent.hand import Hand
from kcore.clients.stand_in.confluent.happenings import BACKGROUND, Happenings
from kcore.clients.stand_in.confluent.messages import Message, of_record
from kcore.clients.stand_in.confluent.offsets import Stored, checked, place_of
from kcore.clients.stand_in.confluent.options import Configuration, of_consumer, wrong
from kcore.clients.stand_in.confluent.reader import Reader
from kcore.clients.stand_in.confluent.rebalances import Callback, Rebalances, go_to
from kcore.clients.stand_in.confluent.statistics import of_consumer as statistics_of
from kcore.clients.stand_in.confluent.structures import TopicPartition
from kcore.errors import KafkaError as OurError
from kcore.errors import OffsetOutOfRangeError
from kcore.events import Event, GroupLeft, TopicsMissing
from kcore.structs import ConsumerGroupMetadata
from kcore.structs import TopicPartition as Place

_CLOSED: Final = "Consumer closed"
_SLICE_MS: Final = 1_000  # of a wait without end
_LOOK_MS: Final = 10  # for the ends of partitions, where they are told
_CONSUMED_MAX: Final = 1_000_000
_POLL_EXCEEDED: Final = "poll"


class Consumer(Committing, OwnDesk):
    """Reads topics; options in librdkafka's words. KafkaException: what is wrong with them.

    ValueError: no group.id. TypeError: no configuration.
    """

    _reader: Reader | None = None
    _hand = Hand({})  # of one that was never made
    _config: Configuration

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        conf = self._config = Configuration(arguments, keywords)
        if "group.id" not in conf.given:
            raise ValueError("Failed to create consumer: group.id must be set")
        if not conf.get("group.id"):
            raise wrong("Failed to create consumer: group.id must not be empty")
        happenings = self._happenings = Happenings(conf.get("group.id"), conf)
        happenings.serve_for(self)
        reader = Reader(happenings, of_consumer(conf))
        self._gate = Gate(reader.nudge)
        self._ready: deque[Message] = deque()  # errors and events
        self._auto_ms = conf.get("auto.commit.interval.ms", 5_000)
        self._commits_itself: bool = conf.get("enable.auto.commit", True)
        self._commit_at = reader.now_ms() + self._auto_ms
        self._patience_ms = conf.get("session.timeout.ms", 45_000)
        self._on_commit = conf.calls.get("on_commit")
        self._tells_ends: bool = conf.get("enable.partition.eof", False)
        self._ends = Ends(reader, conf.get("fetch.wait.max.ms", 500))
        self._leaving = False  # unsubscribed, which the next poll tells the program
        self._missing: set[str] = set()
        self._stored = Stored(by_itself=conf.get("enable.auto.offset.store", True))
        self._hand = Hand(self._stored.last)
        self._unread: dict[Place, int] = {}  # what was in hand when it was closed
        self._rebalances = Rebalances(self, reader, self._stored, self._keep)
        self._rebalances.changed = self._ends.forget
        self._stored.passed = self._passed
        self._reader = reader

    def _passed(self, place: Place) -> int | None:
        """See Stored."""
        reader = self._reader
        if reader is None or place in self._unread or self._hand.holds(place):
            return None
        if not reader.here(place):
            return None
        return reader.core.position(place)  # type: ignore[no-any-return]

    def _begin_anew(self) -> set[Place]:
        anew = self._need().made_anew()
        if anew:
            self._hand.drop(anew)
            self._stored.forget(anew)
            self._ends.forget(anew)
        return anew

    def _need(self) -> Reader:
        reader = self._reader
        if reader is None:
            raise RuntimeError(_CLOSED)
        return reader

    # What is read ------------------------------------------------------------------------------

    def subscribe(
        self,
        topics: list[str],
        on_assign: Callback | None = None,
        on_revoke: Callback | None = None,
        on_lost: Callback | None = None,
    ) -> None:
        """Read these topics as a member of the group; a name that begins with ^ is a regular
        expression. Replaces the subscription before.

        on_assign, on_revoke, on_lost: called with the consumer and a list of partitions, in `poll`
        and `consume`. TypeError. KafkaException.
        """
        self._need()
        if not isinstance(topics, list):
            raise TypeError("expected list of topic unicode strings")
        topics = [str(one) for one in topics]
        for name, call in (("assign", on_assign), ("revoke", on_revoke), ("lost", on_lost)):
            if call is not None and not callable(call):
                raise TypeError(f"on_{name} expects a callable")
        if not topics or not all(topics):
            raise failure("_INVALID_ARG", f"Failed to set subscription: {words('_INVALID_ARG')}")
        with self._gate:
            reader = self._need()
            if self._rebalances.by_hand:
                self._rebalances.unassign()
            patterns = [one for one in topics if one.startswith("^")]
            self._missing.clear()
            self._leaving = False
            self._drop_hand()
            try:
                if reader.subscribed and (reader.by_pattern or patterns):
                    reader.unsubscribe()
                self._rebalances.forget()
                self._rebalances.use(on_assign, on_revoke, on_lost)
                if patterns:
                    reader.subscribe(pattern=_pattern_of(topics), listener=self._rebalances)
                else:
                    reader.subscribe(topics, listener=self._rebalances)
            except OurError as error:
                raise raised(error) from error

    def unsubscribe(self) -> None:
        """Read nothing any more, and leave the group: with callbacks for that in the next `poll`
        or `consume`, which calls them.
        """
        self._need()
        with self._gate:
            reader = self._need()
            if self._rebalances.by_hand:
                return
            self._drop_hand()
            self._leaving = reader.subscribed
            if not self._rebalances.hears_of_ends:
                self._leave(reader)

    def _leave(self, reader: Reader) -> None:
        """What `unsubscribe` has begun. What a callback raises is raised."""
        if not self._leaving:
            return
        self._leaving = False
        try:
            reader.unsubscribe()
        except OurError as error:
            failed, self._rebalances.failed = self._rebalances.failed, None
            raise (failed or raised(error)) from None
        finally:
            self._rebalances.forget()

    def assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions, from their offsets; without one, from where it is committed."""
        self._change(self._rebalances_of().assign, partitions)

    def unassign(self) -> None:
        """Read nothing of what was assigned."""
        self._change(lambda _: self._rebalances.unassign(), None)

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions as well."""
        self._change(self._rebalances_of().add, partitions)

    def incremental_unassign(self, partitions: list[TopicPartition]) -> None:
        """Read these partitions no longer."""
        self._change(self._rebalances_of().remove, partitions)

    def _rebalances_of(self) -> Rebalances:
        self._need()
        return self._rebalances

    def _change(self, verb: Any, partitions: Any) -> None:
        self._need()
        with self._gate:
            self._leave(self._need())
            self._drop_hand()
            try:
                verb(partitions)
            except OurError as error:
                raise raised(error) from error

    def assignment(self) -> list[TopicPartition]:
        """What is read now."""
        self._need()
        with self._gate:
            self._need()
            return self._rebalances.assignment()

    def pause(self, partitions: list[TopicPartition]) -> None:
        """Read nothing of these until `resume`; those that are not read are passed over."""
        self._hold(partitions, "pause")

    def resume(self, partitions: list[TopicPartition]) -> None:
        """Go on reading these."""
        self._hold(partitions, "resume")

    def _hold(self, partitions: Any, verb: str) -> None:
        self._need()
        wanted = [place_of(one) for one in checked(partitions)]
        with self._gate:
            reader = self._need()
            mine = self._rebalances.places()
            places = [place for place in wanted if place in mine]
            if places:
                self._drop_hand()
                getattr(reader, verb)(*places)

    def seek(self, partition: TopicPartition) -> None:
        """Go on at the partition's offset. KafkaException: it is not read (yet)."""
        self._need()
        place, offset = place_of(partition), partition.offset
        with self._gate:
            reader = self._need()
            why = f"Failed to seek to offset {offset}: "
            if self._rebalances.is_going(place):
                return  # where it stands is for whoever has it next
            if place not in self._rebalances.places():
                known = place in self._stored.seen or reader.knows(place)
                name = "_STATE" if known else "_UNKNOWN_PARTITION"
                raise failure(name, why + words(name))
            if not reader.here(place):
                raise failure("_STATE", why + words("_STATE"))
            self._drop_hand()
            self._ends.forget([place])
            self._stored.sought(place)
            go_to(reader, place, offset)

    # Reading -----------------------------------------------------------------------------------

    def poll(self, timeout: float = -1) -> Message | None:
        """A message, an error or an event; None: none has come within `timeout` seconds (below 0:
        for ever). RuntimeError: the consumer is closed.
        """
        hand = self._hand
        place, records = hand.current
        for record in records:
            if monotonic() > hand.until:  # nobody has looked at anything else for a while
                self._drop_hand(record)
                break
            hand.last[place] = record
            return of_record(record)
        self._need()
        until = self._until(timeout)
        while True:
            with self._gate:
                reader = self._need()
                wait = self._turn(reader, until)
                if self._ready:
                    return self._ready.popleft()
                if not hand.turn():
                    found = self._read(reader, wait, hand.size)
                    if found:
                        hand.fill(found)
                        hand.turn()
                place, records = hand.current
                for record in records:
                    hand.last[place] = record
                    return of_record(record)
                if until is not None and reader.now_ms() >= until and not self._is_ready(reader):
                    return None
            self._gate.give_way()

    def _drop_hand(self, first: Any = None) -> None:
        """What was taken ahead is read anew; with the gate open for us or not."""
        left = self._hand.leave(first)
        if not left:
            return
        with self._gate:
            reader = self._need()
            mine = reader.assignment() - self._begin_anew()
            for place, offset in left.items():
                if place in mine:
                    reader.go_back(place, offset)

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """As many messages, errors and events; fewer if no more have come within `timeout` seconds.
        ValueError.
        """
        self._need()
        if not 0 <= num_messages <= _CONSUMED_MAX:
            raise ValueError("num_messages must be between 0 and 1000000 (1M)")
        until = self._until(timeout)
        messages: list[Message] = []
        last = self._stored.last
        before: dict[Place, tuple[Any, int]] = {}  # what was handed over last, and what came then
        try:
            while len(messages) < num_messages:
                with self._gate:
                    reader = self._need()
                    wait = self._turn(reader, until)
                    while self._ready and len(messages) < num_messages:
                        messages.append(self._ready.popleft())
                    left = num_messages - len(messages)
                    for place, records in self._hand.take(left):
                        before.setdefault(place, (last.get(place), records[0].offset))
                        last[place] = records[-1]
                        messages += map(of_record, records)
                        left -= len(records)
                    found = self._read(reader, wait, left) if left else None
                    if found:
                        for place, records in found.items():
                            before.setdefault(place, (last.get(place), records[0].offset))
                            last[place] = records[-1]
                            messages += map(of_record, records)
                    elif (
                        until is not None
                        and reader.now_ms() >= until
                        and not self._is_ready(reader)
                    ):
                        break
                self._gate.give_way()
        except BaseException:
            self._take_back(messages, before)
            raise
        return messages

    def handed_over(self) -> dict[Place, Any]:
        """The record handed over last of each partition, for `take_back`; not for programs."""
        return dict(self._stored.last)

    def take_back(self, messages: list[Message], last: dict[Place, Any]) -> None:
        """These were for somebody who has gone. last: what had been handed over before them; not
        for programs.
        """
        before: dict[Place, tuple[Any, int]] = {}
        for one in messages:
            place = Place(one.topic(), one.partition())  # type: ignore[arg-type]
            if one.error() is None:
                before.setdefault(place, (last.get(place), one.offset()))  # type: ignore[arg-type]
        self._take_back(messages, before)

    def _take_back(self, messages: list[Message], before: dict[Place, tuple[Any, int]]) -> None:
        """Nobody has seen these: they come again, and are not committed."""
        for one in reversed(messages):
            error = one.error()
            if error is not None and error.code() != CODES["_PARTITION_EOF"]:
                self._ready.appendleft(one)
        with self._gate:  # a thread of one's own may be here (aio.py)
            reader = self._reader
            if reader is None:
                return
            self._ends.forget(self._rebalances.places())  # they are told behind what is read again
            last = self._stored.last
            for place in [*before]:
                record, _ = before[place]
                if last.pop(place, None) is None:
                    del before[place]  # it has gone meanwhile
                elif record is not None:
                    last[place] = record
            self._drop_hand()
            for place in before.keys() & (reader.assignment() - self._begin_anew()):
                reader.go_back(place, before[place][1])

    def _until(self, timeout: float) -> float | None:
        return None if timeout < 0 else self._need().now_ms() + timeout * 1000

    def _turn(self, reader: Reader, until: float | None) -> float:
        """What a call does beside reading; how long it may wait then, ms."""
        now = reader.now_ms()
        happenings = self._happenings
        due = happenings.due_in(now)
        if happenings.calls or not due:
            happenings.serve(now)
            reader = self._need()  # a callback may have closed it
        if self._leaving:
            self._leave(reader)
            reader = self._need()  # likewise
        self._begin_anew()
        if self._commits_itself and now >= self._commit_at:
            self._commit_at = now + self._auto_ms
            self._commit_soon(self._stored.to_commit(self._rebalances.places()))
        if self._tells_ends and self._look_for_ends(reader):
            return 0
        wait: float = min(_SLICE_MS, due)
        if self._tells_ends:
            wait = min(wait, _LOOK_MS)
        return wait if until is None else max(0, min(wait, until - now))

    def _is_ready(self, reader: Reader) -> bool:
        """Whether something has come that is no record, at the end of a wait."""
        self._happenings.serve(reader.now_ms())
        return bool(self._ready)

    def _read(self, reader: Reader, wait_ms: float, limit: int) -> dict[Place, list[Any]] | None:
        """Records by partition. Errors are messages; what a callback raised is raised."""
        try:
            found = reader.poll(wait_ms, limit)
            self._begin_anew()  # where it was heard of, what has come is of the new topic
            return found
        except OurError as error:
            failed, self._rebalances.failed = self._rebalances.failed, None
            if failed is not None:
                raise failed from None
            self._note(error)
            return None

    def _note(self, error: OurError) -> None:
        if isinstance(error, BACKGROUND):
            return  # told by error_cb
        heard = told(error)
        if isinstance(error, OffsetOutOfRangeError):  # raised only where nothing is to be done
            heard = named("_AUTO_OFFSET_RESET", f"{words('_AUTO_OFFSET_RESET')}: {error}")
        where = getattr(error, "partition", None)
        places = [where] if where is not None else [*(getattr(error, "partitions", None) or [None])]
        for place in places:
            topic, partition = place or (None, constants.PARTITION_UNASSIGNED)
            self._ready.append(_of_error(heard, topic, partition))

    def statistics(self) -> str:
        """What stats_cb is given."""
        return statistics_of(self._need(), self._config)

    def see(self, event: Event) -> None:
        """What our consumer says beside records; not for programs."""
        if isinstance(event, TopicsMissing):
            for topic in sorted(self._read_of(event.topics) - self._missing):
                why = f"Subscribed topic not available: {topic}: {words('UNKNOWN_TOPIC_OR_PART')}"
                self._ready.append(_of_error(named("UNKNOWN_TOPIC_OR_PART", why), topic))
            self._missing = set(event.topics)
        elif isinstance(event, GroupLeft) and _POLL_EXCEEDED in event.reason:
            why = f"Application maximum poll interval exceeded: {event.reason}"
            self._ready.append(_of_error(named("_MAX_POLL_EXCEEDED", why)))
        if self._ready and self._reader is not None:
            self._reader.nudge()  # a poll that waits has something to give

    def _read_of(self, topics: Iterable[str]) -> set[str]:
        """Those of these that are read, or wanted: others were only asked about."""
        reader = self._reader
        if reader is None:
            return set()
        wanted = set(reader.core.subscription())
        wanted.update(place.topic for place in self._rebalances.places())
        return wanted.intersection(topics)

    def _look_for_ends(self, reader: Reader) -> bool:
        """Have _PARTITION_EOF told, once at each end that is come to."""
        if reader.core.has_records or not self._hand.is_empty:
            return False
        found = self._ends.look(self._rebalances.places())
        for place, at in found.items():
            why = f"Fetch reached end of partition at offset {at} (HighwaterMark {at})"
            self._ready.append(_of_error(named("_PARTITION_EOF", why), *place, at))
        return bool(found)

    # Who it is ---------------------------------------------------------------------------------

    def memberid(self) -> str | None:
        """The id it has in its group; None: it is no member."""
        return self.consumer_group_metadata().member_id or None

    def consumer_group_metadata(self) -> ConsumerGroupMetadata:
        """Who it is, for a producer's `send_offsets_to_transaction`."""
        self._need()
        with self._gate:
            return self._need().group_metadata()

    def _check_open(self) -> None:
        self._need()

    def _authenticate(self, username: str, password: str) -> None:
        with self._gate:
            self._need().authenticate_as(username, password)

    # Life --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Commit what is stored (enable.auto.commit), leave the group, disconnect."""
        reader = self._reader
        if reader is None:
            return
        with self._gate:
            if self._reader is None:
                return
            self._unread = self._hand.leave()
            try:
                if self._rebalances.by_hand:
                    self._keep(self._rebalances.places())
                reader.close(autocommit=False)
            except OurError as error:
                failed, self._rebalances.failed = self._rebalances.failed, None
                if failed is not None:
                    raise failed from None
                raise raised(error) from error
            finally:
                self._reader = None
                self._close_desk()
                self._config.close()
                self._happenings.serve_last()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _of_error(
    error: KafkaError,
    topic: str | None = None,
    partition: int = constants.PARTITION_UNASSIGNED,
    offset: int = constants.OFFSET_INVALID,
) -> Message:
    """The message that an error is: its words are the value."""
    return Message(topic, partition, offset, value=error.str().encode(), error=error)


def _pattern_of(topics: list[str]) -> str:
    """One expression for them all: names as they are, and those that begin with ^."""
    from re import escape  # noqa: PLC0415 - few have patterns

    return "|".join(
        f"(?:{one})" if one.startswith("^") else f"(?:^{escape(one)}$)" for one in topics
    )
