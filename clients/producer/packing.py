"""What becomes of a record before it goes into a batch: its parts are checked and serialized, and
the user's partitioner is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kcore.clients import arguments
from kcore.clients.owned import close_all
from kcore.clients.producer.partitioners import chooser
from kcore.errors import IllegalArgumentError, KafkaError
from kcore.produce.intake import record_bytes
from kcore.producer.config import ProducerConfig
from kcore.records.builder import BatchBuilder
from kcore.settings.deserializers import with_headers
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.clients.interceptors import ProducerInterceptors

Headers = Sequence[tuple[str, bytes | None]]
# topic, key, value, headers, partition (None: by the key, or drawn), timestamp_ms
Record = tuple[str, bytes | None, bytes | None, list[tuple[str, bytes | None]], int | None, int]


_HEADERS = "headers must be a list of pairs (str, bytes or None)"


class Packing:
    """Serializers and partitioner of one producer.

    known: all partitions of a topic; available: those with a leader. Both for the partitioner.
    chooses: there is one. interceptors: those who look at records before; None: there are none.
    is_plain: none of all that, so `pack` would only check. unknown: see ProducerInterceptors.
    """

    def __init__(
        self,
        settings: ProducerConfig,
        known: Callable[[str], set[int]],
        available: Callable[[str], list[int]],
        unknown: Callable[[TopicPartition], Any],
    ) -> None:
        self._users = [settings.key_serializer, settings.value_serializer]
        self._serialize_key = _normal_form(settings.key_serializer)
        self._serialize_value = _normal_form(settings.value_serializer)
        self._legal_topics: set[str] = set()
        self._choose = None
        if settings.partitioner is not None:
            self._choose = chooser(settings.partitioner, known, available)
        self.chooses = self._choose is not None
        self.interceptors: ProducerInterceptors | None = None
        if settings.interceptor_classes:
            from kcore.clients.interceptors import (  # noqa: PLC0415 - for those who have any
                ProducerInterceptors,
            )

            given, configs = settings.interceptor_classes, settings.as_mapping()
            self.interceptors = ProducerInterceptors(given, configs, unknown)
        self.is_plain = not (
            self._serialize_key or self._serialize_value or self._choose or self.interceptors
        )

    def pack(
        self,
        topic: str,
        key: Any,
        value: Any,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int,
    ) -> Record:
        """A record as the core takes it. TypeError; ValueError; InvalidTopicError; and whatever
        serializers and partitioner raise.
        """
        if type(topic) is not str or topic not in self._legal_topics:
            topic = arguments.topic_name(topic)
            self._legal_topics.add(topic)
        timestamp_ms = arguments.record_time(timestamp_ms)
        if partition is not None:
            partition = arguments.partition_number(partition)
        given = headers if type(headers) is list else listed(headers)
        raw_key, raw_value = key, value
        if self._serialize_key is not None:
            key = self._serialize_key(topic, given, key)
        if self._serialize_value is not None:
            value = self._serialize_value(topic, given, value)
        if type(key) is not bytes and key is not None:
            key = _bytes("key", key)
        if type(value) is not bytes and value is not None:
            value = _bytes("value", value)
        if partition is None and self._choose is not None:
            partition = self._choose(topic, raw_key, key, raw_value, value)
        return topic, key, value, given, partition, timestamp_ms

    def close(self) -> None:
        """Close the serializers and interceptors that can be; once."""
        users, self._users = self._users, []
        close_all(users, self.interceptors)


def check_headers(headers: Headers | None) -> None:
    """Raise what is wrong with them, if anything is: TypeError, IllegalArgumentError (a
    ValueError).
    """
    if not headers:
        return
    try:
        record_bytes(None, None, headers)
        BatchBuilder().append(0, None, None, headers)
    except TypeError as error:
        raise TypeError(f"{_HEADERS}, not {headers!r:.200}: {error}") from None
    except ValueError as error:
        if isinstance(error, KafkaError):
            raise
        raise IllegalArgumentError(f"{_HEADERS}, not {headers!r:.200}: {error}") from None


def listed(headers: Any) -> list[Any]:
    """A list of their own. TypeError."""
    if headers is None:
        return []
    if isinstance(headers, dict):
        raise TypeError(f"{_HEADERS}, not a dict: give list(headers.items())")
    try:
        return list(headers)
    except TypeError:
        raise TypeError(f"{_HEADERS}, not {headers!r:.200}") from None


def why_held_up(
    core: Any, settings: ProducerConfig, held_up: str, topic: str, partition: int | None = None
) -> str:
    """Why a record, or rows, for this topic could not be taken within max_block_ms. held_up: what
    the core said of it; by now it may have said something else of others.
    """
    limit_ms = settings.max_block_ms
    if held_up == "memory":
        return (
            f"no room for a record within max_block_ms={limit_ms}: {core.held_bytes} of "
            f"buffer_memory={settings.buffer_memory} bytes wait to be delivered"
        )
    reason = "no broker can be reached"
    if core.connected:
        reason = "the cluster does not have it (and does not make it)"
    what = f"topic {topic}"
    if held_up == "partition":
        what = f"partition {'of a row' if partition is None else partition} of topic {topic}"
    return f"{what} is not known within max_block_ms={limit_ms}: {reason}"


def _normal_form(serializer: Any) -> Callable[[str, Any, Any], Any] | None:
    """One call for both kinds; None stays None."""
    if serializer is None:
        return None
    method = getattr(serializer, "serialize", None)
    if method is not None:
        return with_headers(method)
    return lambda _topic, _headers, data: serializer(data)


def _bytes(name: str, data: Any) -> bytes:
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    raise TypeError(
        f"{name}: bytes or None, not {type(data).__name__}: give a {name}_serializer, or encode it"
    )
