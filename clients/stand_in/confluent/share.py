"""`ShareConsumer` under confluent-kafka's name, with its ways, over our share consumer."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Final, Self

from kcore import errors as ours
from kcore.clients.share.share_consumer import ShareConsumer as OurShareConsumer
from kcore.clients.stand_in.confluent.errors import (
    IllegalStateException,
    KafkaException,
    raised,
)
from kcore.clients.stand_in.confluent.gate import Gate
from kcore.clients.stand_in.confluent.happenings import BACKGROUND, Happenings
from kcore.clients.stand_in.confluent.messages import Message, of_record
from kcore.clients.stand_in.confluent.options import Configuration, of_share_consumer
from kcore.clients.stand_in.confluent.reader import authenticate_as
from kcore.clients.stand_in.confluent.structures import AcknowledgeType, Messages, TopicPartition
from kcore.transports import monotonic_s

_CLOSED: Final = "Share consumer closed"
_SLICE_MS: Final = 1_000


class ShareReader(OurShareConsumer):
    """Ours, which waits for nothing when it is made."""

    def _find_release(self, timeout_ms: float) -> None:
        """Nobody waits for that."""

    def use(self, happenings: Happenings) -> None:
        """Have these hear of what happens."""
        self._engine.reporter = happenings
        happenings.watch(self._engine.core._links.measures)  # noqa: SLF001 - who measures anyway

    def poll_on(self, wait_ms: float) -> Any:
        """`poll`, whatever error_cb is told of."""
        try:
            return self.poll(wait_ms)
        except BACKGROUND:
            return {}

    def now_ms(self) -> int:
        """The clock."""
        return self._engine.pump.now_ms()

    def nudge(self) -> None:
        """End the wait of a poll. From any thread."""
        if self._engine.guard.usable:
            self._engine.nudge()

    def authenticate_as(self, username: str, password: str) -> None:
        """On connections that are made from now on."""
        authenticate_as(self._engine.core, username, password)


class ShareConsumer:
    """Reads topics as a member of a share group; options in librdkafka's words. KafkaException:
    what is wrong with them. ValueError: no group.id.

    IllegalStateException, of all calls: it is closed, or not now. ValueError: what cannot be.
    """

    _reader: ShareReader | None = None

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        conf = self._config = Configuration(arguments, keywords)
        if "on_commit" in conf.calls:
            raise ValueError(
                "on_commit is not supported by a ShareConsumer: use "
                "set_acknowledgement_commit_callback()"
            )
        if not conf.get("group.id"):
            raise ValueError("Failed to create consumer: group.id must be set")
        self._happenings = Happenings(conf.get("group.id"), conf)
        try:
            reader = ShareReader(**of_share_consumer(conf))
        except ours.KafkaError as error:
            raise raised(error) from error
        reader.use(self._happenings)
        self._gate = Gate(reader.nudge)
        self._reader = reader

    def _need(self) -> ShareReader:
        if self._reader is None:
            raise IllegalStateException(_CLOSED)
        return self._reader

    def _call(self, verb: Any, *arguments: Any) -> Any:
        self._need()
        with self._gate:
            self._need()
            try:
                return verb(*arguments)
            except (ours.IllegalArgumentError, ours.InvalidTopicError) as error:
                raise ValueError(str(error)) from error
            except ours.IllegalStateError as error:
                raise IllegalStateException(str(error)) from error
            except ours.KafkaError as error:
                raise raised(error) from error

    def subscribe(self, topics: list[str]) -> None:
        """Read these topics; none: `unsubscribe`. TypeError, ValueError."""
        reader = self._need()
        if not isinstance(topics, list) or not all(isinstance(one, str) for one in topics):
            raise TypeError("expected list of topic unicode strings")
        if not all(topics) or len({*topics}) != len(topics):
            raise ValueError("topics must have names, and be named once each")
        self._call(reader.subscribe, topics)

    def unsubscribe(self) -> None:
        """Read nothing any more, and leave the group."""
        self._call(self._need().unsubscribe)

    def subscription(self) -> list[str]:
        """The topics."""
        return sorted(self._call(self._need().subscription))

    def poll(self, timeout: float = -1) -> Messages:
        """Messages as soon as there are any, within `timeout` seconds (below 0: for ever)."""
        reader = self._need()
        until = None if timeout < 0 else monotonic_s() + timeout
        while True:
            self._happenings.serve(reader.now_ms())
            left = _SLICE_MS if until is None else (until - monotonic_s()) * 1000
            found = self._call(reader.poll_on, max(0, min(_SLICE_MS, left)))
            if found:
                return Messages([of_record(one) for records in found.values() for one in records])
            if until is not None and monotonic_s() >= until:
                self._happenings.serve(reader.now_ms())
                return Messages()
            self._gate.give_way()

    def acknowledge(
        self, message: Message, ack_type: AcknowledgeType = AcknowledgeType.ACCEPT
    ) -> None:
        """Say what has become of a message of the last poll."""
        reader = self._need()
        if not isinstance(message, Message):
            raise TypeError(f"expected a Message, not {type(message).__name__}")
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if topic is None or partition is None or offset is None:
            raise ValueError("the message has no place: topic, partition and offset")
        self._call(reader.acknowledge_offset, topic, partition, offset, _kind(ack_type))

    def acknowledge_offset(
        self,
        topic: str,
        partition: int,
        offset: int,
        ack_type: AcknowledgeType = AcknowledgeType.ACCEPT,
    ) -> None:
        """The same by the message's place."""
        reader = self._need()
        if not isinstance(topic, str) or not isinstance(partition, int):
            raise TypeError("topic must be a string, and partition a number")
        if not isinstance(offset, int):
            raise TypeError(f"offset must be a number, not {offset!r:.200}")
        self._call(reader.acknowledge_offset, topic, partition, offset, _kind(ack_type))

    def commit_sync(self, timeout: float = 60) -> dict[TopicPartition, KafkaException | None]:
        """Tell brokers what was acknowledged: what they have said, by partition."""
        reader = self._need()
        limit = None if timeout < 0 else int(timeout * 1000)
        found = self._call(reader.commit, limit)
        self._happenings.serve(reader.now_ms())
        return {
            TopicPartition(*place): None if error is None else raised(error)
            for place, error in found.items()
        }

    def commit_async(self) -> None:
        """The same, without waiting for what they say."""
        reader = self._need()
        self._call(reader.commit_async)
        self._happenings.serve(reader.now_ms())

    def set_acknowledgement_commit_callback(self, callback: Any) -> None:
        """Have `callback({partition: {offsets}}, exception or None)` called by `poll` and the like.
        None: no more.
        """
        reader = self._need()
        if callback is not None and not callable(callback):
            raise TypeError("expected a callable, or None")

        def told(offsets: Any, error: Any) -> None:
            found = {TopicPartition(*place): {*at} for place, at in offsets.items()}
            callback(found, None if error is None else raised(error))

        verb = reader.set_acknowledgement_commit_callback
        self._call(verb, None if callback is None else told)

    def set_sasl_credentials(self, username: str, password: str) -> None:
        """Authenticate as these from the next connection on."""
        self._call(self._need().authenticate_as, username, password)

    def close(self) -> None:
        """Tell brokers what was acknowledged, leave the group, disconnect."""
        if self._reader is None:
            return
        with self._gate:
            reader, self._reader = self._reader, None
            if reader is not None:
                try:
                    reader.close()
                finally:
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


def _kind(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise TypeError(f"ack_type must be an AcknowledgeType, not {given!r:.200}")
    try:
        return int(AcknowledgeType(given))
    except ValueError:
        raise ValueError(f"ack_type must be an AcknowledgeType, not {given!r:.200}") from None
