"""What is kept of share-partitions, so that another leader, or the next process, goes on from it.

Kafka keeps it in `__share_group_state`: a snapshot now and then, updates in between. Here every
change is a snapshot, as compaction leaves one record a key anyway. Source of the format: Kafka 4.3
(ShareSnapshotKey, ShareSnapshotValue; ShareCoordinatorRecordSerde for what stands before them).
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from kcore.broker.journals import Journal
from kcore.broker.share.batches import Run
from kcore.broker.share.states import KEPT, RecordState
from kcore.coordinator import Entry, partition_for
from kcore.coordinator.journal import SHARES_TOPIC, entry_of, read_entry
from kcore.errors import CorruptRecordError
from kcore.wire.messages import ShareSnapshotKey, ShareSnapshotValue

# Partitions of Kafka's `__share_group_state`.
STATE_PARTITIONS: Final = 50

# No offset has been chosen yet: `share.auto.offset.reset` does when somebody reads.
UNINITIALIZED: Final = -1

# A topic id in Kafka's form of base 64.
_TOPIC_ID: Final = re.compile(r"[A-Za-z0-9_-]{22}")

_Batch = ShareSnapshotValue.StateBatch

# Group, topic id (16 bytes), partition.
ShareKey = tuple[str, bytes, int]


@dataclass(slots=True)
class Kept:
    """The state of one share-partition.

    state_epoch: another one each time its offsets are altered. batches: what is not just available
    for the first time, in order.
    """

    state_epoch: int = 0
    leader_epoch: int = -1
    start_offset: int = UNINITIALIZED
    batches: list[Run] = field(default_factory=list)

    @property
    def complete_count(self) -> int:
        """How many records from the start on are over (KIP-1226)."""
        return sum(len(run) for run in self.batches if run.over)


class ShareStates:
    """The states of all share-partitions of a cluster, over its journals."""

    def __init__(self, journal: Callable[[int], Journal]) -> None:
        self._journal = journal
        self._kept: dict[ShareKey, Kept] = {}
        self._loaded: dict[int, int] = {}  # journal -> the epoch of its leader then
        self._snapshots: dict[ShareKey, int] = {}

    def get(self, key: ShareKey) -> Kept | None:
        """What is kept; None if nothing is."""
        self._load(key)
        return self._kept.get(key)

    def put(self, key: ShareKey, kept: Kept, wall_ms: int) -> None:
        """Keep it from now on."""
        number = self._load(key)
        self._kept[key] = kept
        self._snapshots[key] = epoch = self._snapshots.get(key, -1) + 1
        value = ShareSnapshotValue(
            snapshot_epoch=epoch,
            state_epoch=kept.state_epoch,
            leader_epoch=kept.leader_epoch,
            start_offset=kept.start_offset,
            delivery_complete_count=kept.complete_count,
            create_timestamp=wall_ms,
            write_timestamp=wall_ms,
            state_batches=[
                _Batch(
                    first_offset=run.first,
                    last_offset=run.last,
                    delivery_state=run.state,
                    delivery_count=run.count,
                )
                for run in kept.batches
            ],
        )
        self._journal(number).append([entry_of(_key(key), value)])

    def forget(self, group_id: str, topic_ids: Container[bytes] | None = None) -> None:
        """Nothing of a group, or of these topics in it, is kept any more."""
        self._forget(lambda key: key[0] == group_id and (topic_ids is None or key[1] in topic_ids))

    def reset(self) -> None:
        """All journals are gone, and what they said."""
        self._kept.clear()
        self._snapshots.clear()
        self._loaded.clear()

    def forget_topics(self, topic_ids: Container[bytes]) -> None:
        """Topics are gone."""
        self._forget(lambda key: key[1] in topic_ids)

    def _forget(self, chosen: Callable[[ShareKey], bool]) -> None:
        for number in range(STATE_PARTITIONS):
            self._load_partition(number)
        for key in [key for key in self._kept if chosen(key)]:
            del self._kept[key]
            self._snapshots.pop(key, None)
            self._journal(state_partition(key)).append([entry_of(_key(key), None)])

    def _load(self, key: ShareKey) -> int:
        number = state_partition(key)
        self._load_partition(number)
        return number

    def _load_partition(self, number: int) -> None:
        """Read a journal that has not been, or has another leader now, who may lack something."""
        journal = self._journal(number)
        epoch = journal.epoch
        if self._loaded.get(number) == epoch:
            return
        self._loaded[number] = epoch
        for key in [key for key in self._kept if state_partition(key) == number]:
            del self._kept[key], self._snapshots[key]
        for entry in journal.entries():
            found = _read(entry) if isinstance(entry, Entry) else None
            if found is None:
                continue
            key, value = found
            if value is None:
                self._snapshots.pop(key, None)
                self._kept.pop(key, None)
            else:
                self._snapshots[key] = value.snapshot_epoch
                self._kept[key] = _kept(value)


def _kept(value: ShareSnapshotValue) -> Kept:
    """What a record says. CorruptRecordError if no record can be in such a state."""
    try:
        runs = [
            Run(one.first_offset, one.last_offset, state, one.delivery_count)
            for one in value.state_batches
            for state in [RecordState(one.delivery_state)]
            if state in KEPT
        ]
    except ValueError as error:
        raise CorruptRecordError(f"a share-partition that cannot be read: {error}") from error
    return Kept(value.state_epoch, value.leader_epoch, value.start_offset, runs)


def coordinator_key(key: ShareKey) -> str:
    """What FindCoordinator calls a share-partition (Java: SharePartitionKey.asCoordinatorKey)."""
    group_id, topic_id, number = key
    text = b64encode(topic_id, b"-_").rstrip(b"=").decode()
    return f"{group_id}:{text}:{number}"


def is_coordinator_key(text: str) -> bool:
    """Whether it could be such a name."""
    group_id, _, rest = text.partition(":")
    topic, _, number = rest.rpartition(":")
    return bool(group_id) and _TOPIC_ID.fullmatch(topic) is not None and number.isdecimal()


@lru_cache(maxsize=10_000)
def state_partition(key: ShareKey) -> int:
    """Which journal keeps a share-partition."""
    return partition_for(coordinator_key(key), STATE_PARTITIONS)


def _key(key: ShareKey) -> ShareSnapshotKey:
    group_id, topic_id, number = key
    return ShareSnapshotKey(group_id=group_id, topic_id=topic_id, partition=number)


def _read(entry: Entry) -> tuple[ShareKey, ShareSnapshotValue | None] | None:
    """What a record says (no value: nothing is kept any more); None if it is of another kind.
    CorruptRecordError.
    """
    found = read_entry(entry, SHARES_TOPIC)
    if found is None:
        return None
    key, value = found
    if not isinstance(key, ShareSnapshotKey):
        return None
    assert value is None or isinstance(value, ShareSnapshotValue)
    return (key.group_id, bytes(key.topic_id), key.partition), value
