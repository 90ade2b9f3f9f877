"""Folders of brokers of before: what they kept is taken over.

Before the coordinators' journals were topics there were files of them:

    <folder>/coordinators/__consumer_offsets-7/*.log

These have the batches of Kafka's own internal topics, so they become the logs of these topics here
as they are. After that names whose hash is below 0 were in other partitions of these topics than a
Kafka has them in: they move there.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from kcore.broker import Cluster
from kcore.broker.batches import read_header
from kcore.broker.partitions import Partition
from kcore.broker.share.keeping import coordinator_key
from kcore.broker.topics import Topic
from kcore.coordinator import Entry, Item, Marker, partition_for
from kcore.coordinator.journal import (
    INTERNAL_TOPICS,
    NO_PRODUCER,
    OFFSETS_TOPIC,
    SHARES_TOPIC,
    TRANSACTIONS_TOPIC,
    read_entry,
)
from kcore.coordinator.transactions.journal import read_transaction, transaction_entry
from kcore.embedded.disk import Disk
from kcore.embedded.log_files import LogFiles
from kcore.structs import TopicPartition

_BATCH_ITEMS: Final = 1_000


def adopt_journals(folder: Path, cluster: Cluster, disk: Disk, now_ms: int) -> None:
    """Make the topics of the journals that are there, and remove them here.

    As long as they are there nothing else was kept in these topics: one that is there, too, is what
    was made of it when this was struck.
    """
    if not folder.is_dir():
        return
    for name in sorted(INTERNAL_TOPICS):
        journals = list(folder.glob(f"{name}-*"))
        begun = cluster.topics.get(name)
        if begun is not None:
            cluster.delete(begun, now_ms)
        topic = cluster.internal.ensure(name) if journals else None
        for partition in topic.partitions if topic is not None else ():
            batches, _ = LogFiles(folder / f"{name}-{partition.number}", disk).recover()
            _fill(partition, batches, now_ms)
    disk.sync()
    shutil.rmtree(folder)


def _fill(partition: Partition, batches: list[bytes], now_ms: int) -> None:
    """Have every replica begin with these."""
    if not batches:
        return
    wall_ms = partition.home.wall_ms(now_ms)
    for log in partition.logs.values():
        for data in batches:
            log.follow(data, read_header(data), wall_ms)
        log.high_watermark = log.end_offset
    # Whoever leads now does so after all that have written there.
    partition.leader_epoch = max(read_header(data).leader_epoch for data in batches)
    partition.lead(partition.leader, now_ms)


def rehome(cluster: Cluster, now_ms: int) -> None:
    """Move names to the partitions that keep them now. What was struck in the middle may be made
    anew: each name's records are in their new place, in their order, before the old ones go.
    """
    cluster.now_ms = now_ms
    undecided: dict[int, set[int]] = {}  # producer -> partitions that have offsets of its
    for name in (OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARES_TOPIC):
        topic = cluster.topics.get(name)
        if topic is not None:
            _rehome(cluster, topic, undecided)


def _rehome(cluster: Cluster, topic: Topic, undecided: dict[int, set[int]]) -> None:
    count = len(topic.partitions)
    stay: list[list[Item]] = [[] for _ in range(count)]
    come: list[list[Item]] = [[] for _ in range(count)]
    left = set()
    for number in range(count):
        found = cluster.internal.journal(topic.name, number).entries()
        items = found
        if topic.name == TRANSACTIONS_TOPIC:
            items = [_told(one, undecided) for one in found]
        if items != found:
            left.add(number)
        for item, homes in _placed(topic, number, items, undecided):
            if homes != {number}:
                left.add(number)
            for home in homes:
                (stay if home == number else come)[home].append(item)
    ends = [
        (log, log.end_offset) for number in left for log in topic.partitions[number].logs.values()
    ]
    for number in range(count):
        items = (stay[number] if number in left else []) + come[number]
        for at in range(0, len(items), _BATCH_ITEMS):
            cluster.internal.journal(topic.name, number).append(items[at : at + _BATCH_ITEMS])
    for log, end_offset in ends:
        log.advance_start(end_offset)


def _placed(
    topic: Topic, number: int, items: Iterable[Item], undecided: dict[int, set[int]]
) -> Iterator[tuple[Item, set[int]]]:
    """What a partition has, and where that belongs: a marker to all that it decides about."""
    begun: dict[int, set[int]] = {}  # producer -> where what it has not decided goes
    for item in items:
        if isinstance(item, Marker):
            yield item, begun.pop(item.producer_id, {number})
            continue
        homes = {_home(topic.name, item, number, len(topic.partitions))}
        if item.producer_id != NO_PRODUCER:
            begun.setdefault(item.producer_id, set()).update(homes)
        yield item, homes
    for producer_id, homes in begun.items():
        undecided.setdefault(producer_id, set()).update(homes)


def _home(topic: str, entry: Entry, number: int, count: int) -> int:
    """Which of so many partitions keeps what an entry is about; where it is, if that is unknown."""
    found = read_entry(Entry(entry.key, None), topic)
    if found is None:
        return number
    key: Any = found[0]
    if topic == TRANSACTIONS_TOPIC:
        name = key.transactional_id
    elif topic == SHARES_TOPIC:
        name = coordinator_key((key.group_id, bytes(key.topic_id), key.partition))
    else:
        name = key.group if hasattr(key, "group") else key.group_id
    return partition_for(name, count)


def _told(entry: Item, undecided: Mapping[int, set[int]]) -> Item:
    """A transaction that has offsets of groups which have moved is to end where these are now."""
    if isinstance(entry, Marker) or entry.value is None:
        return entry
    found = read_transaction(entry)
    transaction = None if found is None else found[1]
    if transaction is None:
        return entry
    homes = undecided.get(transaction.producer_id, ())
    here = frozenset(TopicPartition(OFFSETS_TOPIC, number) for number in homes)
    if not transaction.partitions or here <= transaction.partitions:
        return entry
    version = int.from_bytes(entry.value[:2], "big")
    return transaction_entry(
        replace(transaction, partitions=transaction.partitions | here), version
    )
