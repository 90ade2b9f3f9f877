"""The coordinator's journal: the records Kafka itself keeps in `__consumer_offsets`.

Entries are the only thing that outlives a coordinator, and replaying them the only way that what
they say comes to be: committed offsets, those pending in transactions, the assignments of a
generation, that a group is gone. The same `replay` runs when an entry of our own has been appended
and when a log is loaded. What no entry says (who has joined again, ids handed out, timers) is gone
with the coordinator, as in Kafka: members notice, and join again.

Layout (Kafka: CoordinatorRecordSerde): a key is an int16 record type (0 and 1: a committed offset,
2: a classic group, 3 to 8 and 16: parts of a consumer group, 10 to 15: of a share group, 17 and 19
to 23: of a streams group), then the key message; a value is an int16 version, then the value
message; no value deletes. A record of a transaction carries its producer; a control record ends the
transaction.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from kcore.errors import CorruptRecordError, ProtocolError, UnsupportedVersionError
from kcore.tuples import NamedTuple
from kcore.wire import codec
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

NO_PRODUCER: Final = -1

# The topics that coordinators keep their journals in: of groups, of transactions, and of what share
# groups have read (Java: common.internals.Topic).
OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
SHARES_TOPIC: Final = "__share_group_state"
INTERNAL_TOPICS: Final = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARES_TOPIC})

# The versions Kafka 4.3 writes: 4 has topic ids, 1 is the one that has an expiry time.
OFFSET_VERSION: Final = 4
OFFSET_EXPIRING_VERSION: Final = 1
GROUP_VERSION: Final = 3

_INT16: Final = struct.Struct(">h")

_Kinds = dict[int, tuple[type[Message], type[Message] | None]]

# Record type -> its key and its value. Type 4 (topics, as Kafka 4.0 kept them) is only deleted.
_GROUPS: Final[_Kinds] = {
    0: (OffsetCommitKey, OffsetCommitValue),
    1: (OffsetCommitKey, OffsetCommitValue),
    2: (GroupMetadataKey, GroupMetadataValue),
    3: (m.ConsumerGroupMetadataKey, m.ConsumerGroupMetadataValue),
    4: (m.ConsumerGroupPartitionMetadataKey, None),
    5: (m.ConsumerGroupMemberMetadataKey, m.ConsumerGroupMemberMetadataValue),
    6: (m.ConsumerGroupTargetAssignmentMetadataKey, m.ConsumerGroupTargetAssignmentMetadataValue),
    7: (m.ConsumerGroupTargetAssignmentMemberKey, m.ConsumerGroupTargetAssignmentMemberValue),
    8: (m.ConsumerGroupCurrentMemberAssignmentKey, m.ConsumerGroupCurrentMemberAssignmentValue),
    10: (m.ShareGroupMemberMetadataKey, m.ShareGroupMemberMetadataValue),
    11: (m.ShareGroupMetadataKey, m.ShareGroupMetadataValue),
    12: (m.ShareGroupTargetAssignmentMetadataKey, m.ShareGroupTargetAssignmentMetadataValue),
    13: (m.ShareGroupTargetAssignmentMemberKey, m.ShareGroupTargetAssignmentMemberValue),
    14: (m.ShareGroupCurrentMemberAssignmentKey, m.ShareGroupCurrentMemberAssignmentValue),
    15: (m.ShareGroupStatePartitionMetadataKey, m.ShareGroupStatePartitionMetadataValue),
    16: (m.ConsumerGroupRegularExpressionKey, m.ConsumerGroupRegularExpressionValue),
    17: (m.StreamsGroupMetadataKey, m.StreamsGroupMetadataValue),
    19: (m.StreamsGroupMemberMetadataKey, m.StreamsGroupMemberMetadataValue),
    20: (m.StreamsGroupTargetAssignmentMetadataKey, m.StreamsGroupTargetAssignmentMetadataValue),
    21: (m.StreamsGroupTargetAssignmentMemberKey, m.StreamsGroupTargetAssignmentMemberValue),
    22: (m.StreamsGroupCurrentMemberAssignmentKey, m.StreamsGroupCurrentMemberAssignmentValue),
    23: (m.StreamsGroupTopologyKey, m.StreamsGroupTopologyValue),
}
_KINDS: Final[dict[str, _Kinds]] = {
    OFFSETS_TOPIC: _GROUPS,
    TRANSACTIONS_TOPIC: {0: (m.TransactionLogKey, m.TransactionLogValue)},
    SHARES_TOPIC: {
        0: (m.ShareSnapshotKey, m.ShareSnapshotValue),
        1: (m.ShareUpdateKey, m.ShareUpdateValue),
    },
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A record: key, value (None: a tombstone), and the producer if it is part of a transaction."""

    key: bytes
    value: bytes | None
    producer_id: int = NO_PRODUCER
    producer_epoch: int = -1


@dataclass(frozen=True, slots=True)
class Marker:
    """A control record: the producer's transaction ended. coordinator_epoch: of who says so."""

    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int = 0


Item = Entry | Marker


class Epochs(NamedTuple):
    """Of a producer: the latest in which it wrote, or was fenced, and that of the coordinator which
    ended its last transaction. -1: there is none.
    """

    producer: int = -1
    coordinator: int = -1


_EPOCH_MAX: Final = 0x7FFF
_TV2: Final = 2


def marker_error(marker: Epochs, known: Epochs, version: int, *, opened: bool) -> ErrorCode:
    """Whether a marker comes from a coordinator, or is about a producer, that has been replaced.

    version: `transaction.version` of the marker; from 2 on its epoch is above that of the
    transaction (KIP-1228). opened: whether there is a transaction to end.
    """
    late = marker.producer < known.producer
    if version >= _TV2 and marker.producer == known.producer:
        late = opened and marker.producer != _EPOCH_MAX  # else it has been written before
    if late:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if marker.coordinator < known.coordinator:
        return ErrorCode.TRANSACTION_COORDINATOR_FENCED
    return ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class Append:
    """What the owner is to append to the journal of a partition, all or nothing.

    It says how that went with `handle_appended(partition, number)`, for each partition in the order
    in which they were given out; numbers are never used twice.
    """

    partition: int
    number: int
    entries: tuple[Item, ...]


def offset_entry(
    group_id: str,
    topic: str,
    partition: int,
    value: OffsetCommitValue | None,
    producer_id: int = NO_PRODUCER,
    producer_epoch: int = -1,
) -> Entry:
    """A committed offset, or (None) its tombstone."""
    key = OffsetCommitKey(group=group_id, topic=topic, partition=partition)
    version = OFFSET_VERSION
    if value is not None and value.expire_timestamp >= 0:
        version = OFFSET_EXPIRING_VERSION
    return Entry(_key(key), _value(value, version), producer_id, producer_epoch)


def group_entry(group_id: str, value: GroupMetadataValue | None) -> Entry:
    """A group as it is now, or (None) its tombstone."""
    return Entry(_key(GroupMetadataKey(group=group_id)), _value(value, GROUP_VERSION))


def entry_of(key: Message, value: Message | None, version: int = 0) -> Entry:
    """Any other record, outside of transactions; None: a tombstone."""
    return Entry(_key(key), _value(value, version))


def read_entry(entry: Entry, topic: str = OFFSETS_TOPIC) -> tuple[Message, Message | None] | None:
    """What an entry says: its key, and its value (None: a tombstone); None for a record type that
    is not known (newer, or of another kind of group). CorruptRecordError if it cannot be read.

    topic: whose it is, one of INTERNAL_TOPICS.
    """
    try:
        (kind,) = _INT16.unpack_from(entry.key)
        key_type, value_type = _KINDS[topic].get(kind, (None, None))
        if key_type is None:
            return None
        key = codec.decode(key_type, 0, memoryview(entry.key)[_INT16.size :])
        if entry.value is None:
            return key, None
        if value_type is None:
            return None
        (version,) = _INT16.unpack_from(entry.value)
        return key, codec.decode(value_type, version, memoryview(entry.value)[_INT16.size :])
    except (struct.error, ProtocolError, UnsupportedVersionError) as error:
        raise CorruptRecordError(
            f"a journal entry that cannot be read: {error};"
            f" key {entry.key[:80].hex()}, value {(entry.value or b'')[:80].hex()}"
        ) from error


def _key(message: Message) -> bytes:
    return _INT16.pack(message.API_KEY) + codec.encode(message, 0)


def _value(message: Message | None, version: int) -> bytes | None:
    return None if message is None else _INT16.pack(version) + codec.encode(message, version)
