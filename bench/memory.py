"""What a slow reader costs in memory.

A consumer with a small budget (`max_buffered_bytes`, or what comes nearest to it) has far more in
front of it than it may hold, and takes 100 records every few milliseconds. Told is how far its
resident memory rises at most above what it was before the first poll, at one and at many
partitions. kcore is held to a bound: what may be buffered, one answer, and CONSTANT_MB.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from contenders import CONTENDERS, UnavailableError
from plan import Plan
from rounds import last_line
from topics import Shape, fill

MIB = 1024 * 1024
BUDGET_BYTES = 64 * MIB
ANSWER_MB = 8  # what kcore asks for at once
CONSTANT_MB = 16  # large frames kept for the next ones, and what reading makes of objects
VALUE_BYTES = 1024
PAUSE_MS = 3
TAKE = 100
SLOW = Path(__file__).resolve().parent / "readers" / "slow.py"
CLIENTS = ("kcore", "confluent-kafka", "aiokafka", "kafka-python", "franz-go")


def memory(bootstrap: str, plan: Plan) -> dict[str, Any]:
    """Every client, at one partition with a fifth of the data, and at many."""
    each = plan.partition_bytes // VALUE_BYTES
    cells = []
    for partitions, count in ((1, each * plan.partitions // 5), (plan.partitions, None)):
        shape = Shape(count or each * partitions, VALUE_BYTES, partitions)
        fill(bootstrap, shape)
        cells += [
            {"client": client, "partitions": partitions, "backlog_mb": backlog_mb(shape)} | found
            for client in CLIENTS
            if (found := read_slowly(client, bootstrap, shape, plan.seconds))
        ]
    bound = BUDGET_BYTES / MIB + ANSWER_MB + CONSTANT_MB
    return {"budget_mb": BUDGET_BYTES / MIB, "bound_mb": bound, "cells": cells}


def backlog_mb(shape: Shape) -> float:
    return shape.records * shape.value_bytes / MIB


def read_slowly(client: str, bootstrap: str, shape: Shape, seconds: float) -> dict[str, Any] | None:
    """One reader in a process of its own; None if it cannot take part."""
    options = {
        "bootstrap": bootstrap,
        "topic": shape.topic,
        "partitions": str(shape.partitions),
        "budget": str(BUDGET_BYTES),
        "take": str(TAKE),
        "pause-ms": str(PAUSE_MS),
        "seconds": str(seconds),
    }
    try:
        if client == "franz-go":
            command = [*CONTENDERS[client].command(), "--records", "0"]
        else:
            command = [sys.executable, str(SLOW), "--client", client]
    except UnavailableError as error:
        print(f"{client} is left out: {error}", file=sys.stderr)
        return None
    for name, value in options.items():
        command += [f"--{name}", value]
    return last_line(command)
