"""The blobs inside group messages: a member's subscription, what the leader assigns to it, and what
the sticky assignor has members say of themselves.

Layout (Java: ConsumerProtocol): int16 version, then the message in the classic, non-flexible
encoding. We write v3. A later version only appends, so it is read as v3 and what follows is passed
over. The bytes come from other members through the broker, which does not look into them: nothing
in them is trusted.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby

from kcore.assignors.base import MemberSubscription
from kcore.errors import ProtocolError, Truncated, Unexpected
from kcore.hints import Final
from kcore.structs import TopicPartition
from kcore.wire import codec
from kcore.wire.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription

VERSION: Final = 3
_PREFIX_BYTES: Final = 2
_GENERATION_BYTES: Final = 4
_KAFKA_PYTHON_V1: Final = b"\0\1"
_NO_USERDATA: Final = b"\xff\xff\xff\xff"  # an assignment ends with it


def encode_subscription(subscription: MemberSubscription) -> bytes:
    """A member's subscription as the leader will read it; topics and owned partitions are
    sorted.
    """
    cls = ConsumerProtocolSubscription
    message = cls(
        topics=sorted(subscription.topics),
        user_data=subscription.userdata,
        owned_partitions=[
            cls.TopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in _by_topic(subscription.owned)
        ],
        generation_id=subscription.generation,
        rack_id=subscription.rack or None,
    )
    return VERSION.to_bytes(_PREFIX_BYTES, "big") + codec.encode(message, VERSION)


def decode_subscription(data: bytes, instance_id: str | None = None) -> MemberSubscription:
    """Read a member's subscription; ProtocolError (Truncated, Unexpected) if it cannot be read.

    `instance_id` is the member's group.instance.id, which travels beside the blob.
    """
    version, body = _open(data, "subscription")
    message = _read_subscription(version, body)
    owned = [
        TopicPartition(entry.topic, number)
        for entry in message.owned_partitions
        for number in entry.partitions
    ]
    return MemberSubscription(
        topics=tuple(dict.fromkeys(message.topics)),
        owned=tuple(dict.fromkeys(owned)),
        generation=message.generation_id,
        rack=message.rack_id or None,
        userdata=message.user_data,
        instance_id=instance_id,
    )


def _read_subscription(version: int, body: bytes) -> ConsumerProtocolSubscription:
    """Some clients (segmentio's kafka-go) say a later version than they write; who cannot read them
    keeps the whole group waiting. Java's consumer cannot; sarama and franz-go take them as well.
    """
    try:
        return codec.decode(ConsumerProtocolSubscription, version, body, allow_trailing=True)
    except Truncated:
        for written in range(version - 1, -1, -1):
            with suppress(ProtocolError):
                return codec.decode(ConsumerProtocolSubscription, written, body)
        raise


def encode_assignment(partitions: Iterable[TopicPartition], userdata: bytes | None = None) -> bytes:
    """What one member is assigned."""
    cls = ConsumerProtocolAssignment
    message = cls(
        assigned_partitions=[
            cls.TopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in _by_topic(partitions)
        ],
        user_data=userdata,
    )
    return VERSION.to_bytes(_PREFIX_BYTES, "big") + codec.encode(message, VERSION)


def decode_assignment(data: bytes) -> tuple[list[TopicPartition], bytes | None]:
    """Partitions (sorted) and userdata; ProtocolError if it cannot be read or cannot be meant.

    A negative partition number or a partition named twice is refused: a leader that writes either
    may as well have given the same partition to two members.
    """
    version, body = _open(data, "assignment")
    message = codec.decode(ConsumerProtocolAssignment, version, body, allow_trailing=True)
    partitions: set[TopicPartition] = set()
    for entry in message.assigned_partitions:
        for number in entry.partitions:
            tp = TopicPartition(entry.topic, number)
            if number < 0 or not entry.topic:
                raise Unexpected(f"the leader assigned {entry.topic!r}-{number}")
            if tp in partitions:
                raise Unexpected(f"the leader assigned {entry.topic}-{number} twice")
            partitions.add(tp)
    return sorted(partitions), message.user_data


def encode_sticky(partitions: Iterable[TopicPartition], generation: int) -> bytes:
    """Userdata v1 of the sticky assignor: what a member was assigned last, and in which generation.

    Layout (Java: StickyAssignor): the partitions by topic, as an assignment has them, int32.
    """
    assignment = encode_assignment(partitions)[_PREFIX_BYTES : -len(_NO_USERDATA)]
    return assignment + generation.to_bytes(_GENERATION_BYTES, "big", signed=True)


def decode_sticky(data: bytes) -> tuple[list[TopicPartition], int]:
    """Read it, or v0, which has no generation (-1 here); ProtocolError if it is neither.

    kafka-python puts a version before it, where Java has the upper half of a number of topics.
    """
    if data.startswith(_KAFKA_PYTHON_V1):
        data = data[_PREFIX_BYTES:]
    try:
        found = _partitions_alone(data[:-_GENERATION_BYTES])
        return found, int.from_bytes(data[-_GENERATION_BYTES:], "big", signed=True)
    except ProtocolError:
        return _partitions_alone(data), -1


def _partitions_alone(data: bytes) -> list[TopicPartition]:
    message = codec.decode(ConsumerProtocolAssignment, 0, data + _NO_USERDATA)
    return [
        TopicPartition(entry.topic, number)
        for entry in message.assigned_partitions
        for number in entry.partitions
    ]


def _open(data: bytes, what: str) -> tuple[int, bytes]:
    if len(data) < _PREFIX_BYTES:
        raise Truncated(f"a {what} of {len(data)} bytes has no version")
    version = int.from_bytes(data[:_PREFIX_BYTES], "big", signed=True)
    if version < 0:
        raise Unexpected(f"a {what} of version {version}")
    return min(version, VERSION), data[_PREFIX_BYTES:]


def _by_topic(partitions: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    return [
        (topic, [tp.partition for tp in group])
        for topic, group in groupby(sorted(partitions), key=lambda tp: tp.topic)
    ]
