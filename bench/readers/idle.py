"""A member of a group with nothing to read; prints what being there costs."""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path

from clients import MIB, OPEN

POLL_S = 1.0


def wakeups() -> int:
    """How often any thread of this process has gone to sleep of its own."""
    found = 0
    for status in Path("/proc/self/task").glob("*/status"):
        match = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status.read_text(), re.MULTILINE)
        found += int(match[1]) if match else 0
    return found


parser = argparse.ArgumentParser()
parser.add_argument("--client", choices=list(OPEN), required=True)
parser.add_argument("--bootstrap", required=True)
parser.add_argument("--topic", required=True)
parser.add_argument("--group", required=True)
parser.add_argument("--settle", type=float, required=True, help="seconds before the watch starts")
parser.add_argument("--seconds", type=float, required=True)
args = parser.parse_args()

take, pause, close = OPEN[args.client](args.bootstrap, args.topic, args.group, 0, 64 * MIB)


def idle(seconds: float) -> int:
    """How many records there were."""
    until = time.monotonic() + seconds
    records = 0
    while (left := until - time.monotonic()) > 0:
        records += take(500, min(left, POLL_S))
    return records


found = idle(args.settle)
sleeps, cpu, wall = wakeups(), time.process_time(), time.monotonic()
more = idle(args.seconds)
cpu, wall = time.process_time() - cpu, time.monotonic() - wall
sleeps = wakeups() - sleeps
print(
    json.dumps(
        {
            "settled_records": found,
            "records": more,
            "cpu_ms_per_s": cpu * 1000 / wall,
            "wakeups_per_s": sleeps / wall,
        }
    )
)
close()
