"""A slow reader of far more than may be buffered; prints how far its resident memory rose."""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path

from clients import OPEN

MIB = 1024 * 1024
STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def memory_mb(what: str) -> float:
    """A line of the process's status, in MiB."""
    match = re.search(rf"{what}:\s+(\d+) kB", STATUS.read_text())
    return int(match[1]) / 1024 if match else 0.0


parser = argparse.ArgumentParser()
parser.add_argument("--client", choices=list(OPEN), required=True)
parser.add_argument("--bootstrap", required=True)
parser.add_argument("--topic", required=True)
parser.add_argument("--partitions", type=int, required=True)
parser.add_argument("--budget", type=int, required=True, help="bytes that may be buffered")
parser.add_argument("--take", type=int, required=True, help="records at a time")
parser.add_argument("--pause-ms", type=float, required=True, help="between two takes")
parser.add_argument("--seconds", type=float, required=True)
args = parser.parse_args()

# What modules and a first connection take is not what is asked about.
take, pause, close = OPEN[args.client](
    args.bootstrap, args.topic, None, args.partitions, args.budget
)
base = memory_mb("VmRSS")
CLEAR.write_text("5")  # the peak begins anew
records = 0
until = time.monotonic() + args.seconds
while time.monotonic() < until:
    records += take(args.take, 1.0)
    pause(args.pause_ms / 1000)
print(json.dumps({"base_mb": base, "growth_mb": memory_mb("VmHWM") - base, "records": records}))
close()
