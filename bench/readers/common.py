"""What every contender of the end-to-end comparison has in common: arguments, the stopwatch, one
line of JSON at the end.

Each reader assigns itself all partitions of one topic from the beginning, reads `--records`
records, and touches key, value and offset of each in a loop. The watch runs from just before the
consumer is asked for its first record until it has handed over the last; CPU is that of the whole
process, all threads, in the same span.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Found = tuple[int, int, int]  # records, bytes of keys and values, sum of offsets


def arguments(**choices: tuple[str, ...]) -> argparse.Namespace:
    """The options that all have; `choices` are options of one reader, the first is its default."""
    parser = argparse.ArgumentParser()
    for name, values in choices.items():
        parser.add_argument(f"--{name}", choices=values, default=values[0])
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--max-poll-records", type=int, default=500)
    return parser.parse_args()


def both(one: Found, other: Found) -> Found:
    """What two parts of a topic have together."""
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def touch(batches: Iterable[Iterable[Any]]) -> tuple[int, int]:
    """Look at key, value and offset of each: bytes of keys and values, sum of offsets.

    One function for all of them: where a poll gives one record, a call more would be a third of it.
    """
    size = offsets = 0
    for records in batches:
        for record in records:
            key = record.key
            size += len(record.value) + (len(key) if key is not None else 0)
            offsets += record.offset
    return size, offsets


def earliest_group(bootstrap: str) -> str:
    """The name of a share group that nobody has used, which begins at the first record."""
    from confluent_kafka.admin import (
        AdminClient,
        AlterConfigOpType,
        ConfigEntry,
        ConfigResource,
        ResourceType,
    )

    name = f"bench-{uuid.uuid4().hex}"
    earliest = ConfigEntry(
        "share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.GROUP, name, incremental_configs=[earliest])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result()
    return name


def polled(consumer: Any, wanted: int, first: Mapping[Any, Sequence[Any]] | None = None) -> Found:
    """Poll a consumer with kafka-python's face until there were so many records; touch them.

    first: what a poll has given already.
    """
    count = 0

    def batches() -> Iterator[Sequence[Any]]:
        nonlocal count
        for records in (first or {}).values():
            count += len(records)
            yield records
        while count < wanted:
            for records in consumer.poll(timeout_ms=1000).values():
                count += len(records)
                yield records

    size, offsets = touch(batches())
    return count, size, offsets


def report(name: str, read: Callable[[], Found], **more: int) -> None:
    """Time `read` and print the result, and what `more` there is to say."""
    wall, cpu, system = time.perf_counter(), time.process_time(), _system_s()
    records, size, offsets = read()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    system = _system_s() - system
    print(
        json.dumps(
            {
                "name": name,
                "records": records,
                "bytes": size,
                "offsets": offsets,
                "wall_s": round(wall, 4),
                "cpu_s": round(cpu, 4),
                "system_s": round(system, 4),
                "peak_rss_mb": peak_rss_kb() // 1024,
            }
            | more
        )
    )


def _system_s() -> float:
    """The kernel's part of the CPU time."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_stime


def peak_rss_kb() -> int:
    """Of this program alone; getrusage's would begin with what its parent had."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) if found else 0
