"""What every contender of the end-to-end comparison has in common: arguments, the stopwatch, one
line of JSON at the end.

Each reader assigns itself all partitions of one topic from the beginning, reads `--records`
records, and touches key, value and offset of each in a Python loop. The watch runs from just before
the consumer is asked for its first record; CPU is that of the whole process, all threads.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--max-poll-records", type=int, default=500)
    return parser.parse_args()


def report(name: str, read: Callable[[], tuple[int, int, int]]) -> None:
    """Time `read`, which gives (records, bytes, a checksum of offsets), and print the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    records, size, offsets = read()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        json.dumps(
            {
                "name": name,
                "records": records,
                "bytes": size,
                "offsets": offsets,
                "wall_s": round(wall, 4),
                "cpu_s": round(cpu, 4),
                "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )
    )
