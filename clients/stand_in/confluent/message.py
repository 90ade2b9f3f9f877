"""`Message`: what confluent-kafka's consumers and delivery reports give.

Nearly every message is a record that was read, looked at by methods: it holds the record, and
nothing is made of that before somebody asks. One that somebody has made or changed holds its own.
"""

from __future__ import annotations

from types import GenericAlias
from typing import Any, Final

from kcore.clients.stand_in.confluent import constants

_NOTHING: Final[dict[str, Any]] = {
    "topic": None,
    "partition": constants.PARTITION_UNASSIGNED,
    "offset": constants.OFFSET_INVALID,
    "key": None,
    "value": None,
    "headers": None,
    "error": None,
    "timestamp": (constants.TIMESTAMP_NOT_AVAILABLE, 0),
    "latency": -1.0,
    "leader_epoch": -1,
    "delivery_count": -1,
}
_COUNT_MIN, _COUNT_MAX = -(1 << 15), (1 << 15) - 1
_COMPARED: Final = (
    "topic", "value", "key", "headers", "error", "partition", "offset", "leader_epoch", "timestamp",
)  # fmt: skip


class Message:
    """A record, an error, or an event. What is not known is None, but for the timestamp, which is
    (TIMESTAMP_NOT_AVAILABLE, 0) then.
    """

    __slots__ = ("_own", "_record")

    def __init__(
        self,
        topic: str | None = None,
        partition: int = constants.PARTITION_UNASSIGNED,
        offset: int = constants.OFFSET_INVALID,
        key: Any = None,
        value: Any = None,
        headers: Any = None,
        error: Any = None,
        timestamp: tuple[int, int] | None = None,
        latency: float = -1.0,
        leader_epoch: int = -1,
        delivery_count: int = -1,
    ) -> None:
        if timestamp is not None and not (isinstance(timestamp, tuple) and len(timestamp) == 2):
            raise TypeError("timestamp must be a tuple of (int, int)")
        if not _COUNT_MIN <= delivery_count <= _COUNT_MAX:
            raise OverflowError("delivery_count is a number of 16 bits")
        self._record: Any = None
        self._own: dict[str, Any] | None = {
            "topic": topic,
            "partition": constants.PARTITION_UNASSIGNED if partition < 0 else partition,
            "offset": constants.OFFSET_INVALID if offset < 0 else offset,
            "key": key,
            "value": value,
            "headers": headers,
            "error": error,
            "timestamp": _NOTHING["timestamp"] if timestamp is None else timestamp,
            "latency": -1.0 if latency < 0 else latency,
            "leader_epoch": max(leader_epoch, -1),
            "delivery_count": delivery_count if delivery_count > 0 else -1,
        }

    def __new__(cls, *_arguments: Any, **_keywords: Any) -> Message:  # noqa: PYI034 - as theirs
        """One without `__init__` has nothing."""
        made = object.__new__(cls)
        made._record, made._own = None, {**_NOTHING}
        return made

    __class_getitem__: Any = classmethod(GenericAlias)

    def topic(self) -> Any:
        """The topic."""
        return self._record.topic if self._own is None else self._own["topic"]

    def partition(self) -> int | None:
        """The partition's number."""
        if self._own is None:
            return self._record.partition  # type: ignore[no-any-return]
        found: int | None = _known(self._own["partition"])
        return found

    def offset(self) -> int | None:
        """The offset."""
        found: int | None
        found = self._record.offset if self._own is None else _known(self._own["offset"])
        return found

    def key(self) -> Any:
        """The key: bytes, or what a deserializer has made of them."""
        return self._record.key if self._own is None else self._own["key"]

    def value(self) -> Any:
        """The value, likewise."""
        return self._record.value if self._own is None else self._own["value"]

    deserialized_key = key
    deserialized_value = value

    def headers(self) -> Any:
        """A list of (str, bytes or None); None: there are none."""
        return (self._record.headers or None) if self._own is None else self._own["headers"]

    def error(self) -> Any:
        """The KafkaError that this message is in truth, or that its delivery has met with."""
        return None if self._own is None else self._own["error"]

    def timestamp(self) -> tuple[int, int]:
        """(kind, ms since 1970)."""
        if self._own is not None:
            return self._own["timestamp"]  # type: ignore[no-any-return]
        kind = self._record.timestamp_type
        if kind is None:
            return constants.TIMESTAMP_NOT_AVAILABLE, -1
        return kind + 1, self._record.timestamp

    def latency(self) -> float | None:
        """How long its delivery took, s."""
        found: float | None = None if self._own is None else _known(self._own["latency"])
        return found

    def leader_epoch(self) -> int | None:
        """The epoch of the leader it was read from."""
        own = self._own
        found: int | None
        found = _known(self._record.leader_epoch if own is None else own["leader_epoch"])
        return found

    def delivery_count(self) -> int | None:
        """How often a share group has delivered it."""
        if self._own is None:
            return self._record.delivery_count  # type: ignore[no-any-return]
        found: int | None = _known(self._own["delivery_count"])
        return found

    def _owned(self) -> dict[str, Any]:
        if self._own is None:
            self._own = self._fields()
        return self._own

    def _fields(self) -> dict[str, Any]:
        if self._own is not None:
            return self._own
        record, count = self._record, self._record.delivery_count
        return {
            **_NOTHING,
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "key": record.key,
            "value": record.value,
            "headers": self.headers(),
            "timestamp": self.timestamp(),
            "leader_epoch": record.leader_epoch,
            "delivery_count": -1 if count is None else count,
        }

    def set_topic(self, topic: Any) -> None:
        """Another topic."""
        self._owned()["topic"] = topic

    def set_key(self, key: Any) -> None:
        """Another key."""
        self._owned()["key"] = key

    def set_value(self, value: Any) -> None:
        """Another value."""
        self._owned()["value"] = value

    def set_headers(self, headers: Any) -> None:
        """Other headers."""
        self._owned()["headers"] = headers

    def set_error(self, error: Any) -> None:
        """Another error."""
        self._owned()["error"] = error

    def __len__(self) -> int:
        value = self.value()
        return 0 if value is None else len(value)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Message):
            return False
        mine, theirs = self._fields(), other._fields()
        return all(mine[name] == theirs[name] for name in _COMPARED)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Message, tuple(self._fields()[name] for name in _NOTHING)

    def __repr__(self) -> str:
        where = f"{self.topic()}-{self.partition()} at {self.offset()}"
        return f"<Message of {where}: {self.error() or self.value()!r:.200}>"


def _known(value: Any) -> Any:
    return None if value is None or value < 0 else value


_new: Final = object.__new__


def of_fields(own: dict[str, Any]) -> Message:
    """A message with these fields, all of them."""
    made = _new(Message)
    made._record, made._own = None, own  # noqa: SLF001 - the quick way to make one
    return made


def of_record(record: Any) -> Message:
    """The message that a record is."""
    made = _new(Message)
    made._record, made._own = record, None  # noqa: SLF001 - the quick way to make one
    return made
