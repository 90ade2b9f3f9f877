"""Folders of brokers before the coordinators' journals were topics: what they kept is taken over.

    <folder>/coordinators/__consumer_offsets-7/*.log

The files have the batches of Kafka's own internal topics, so they become the logs of these topics
here as they are.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kcore.broker import Cluster
from kcore.broker.batches import read_header
from kcore.broker.partitions import Partition
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.embedded.disk import Disk
from kcore.embedded.log_files import LogFiles


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
