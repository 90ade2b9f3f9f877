"""Decoding alone, on one core, from bytes as they are fetched: 16 KiB batches, no codec.

objects: `take(500)`, made and dropped. touched: key, value and offset of each are read in a Python
loop, too. columns: keys and values copied into Arrow's layout. views: left where they are. CPU time
of the best of several passes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import bench_columns
import bench_records
from plan import Plan

VALUE_BYTES = (10, 100, 1024, 10_240)
PASSES = 15

FORMS: dict[str, Callable[[bytes], int]] = {
    "objects": bench_records.decode,
    "touched": bench_records.touch,
    "columns": lambda log: bench_columns.decode(log, views=False),
    "views": lambda log: bench_columns.decode(log, views=True),
}


def decode(_bootstrap: str, plan: Plan) -> dict[str, Any]:
    cells = []
    for size in VALUE_BYTES:
        log, count = bench_columns.log_of(size, "none")
        for form, job in FORMS.items():
            best = min(cpu_s(job, log) for _ in range(PASSES * plan.rounds))
            cells.append(
                {
                    "form": form,
                    "value_bytes": size,
                    "million_records_per_s": round(count / best / 1e6, 2),
                    "gigabytes_per_s": round(count * size / best / 1e9, 2),
                }
            )
    return {"cells": cells}


def cpu_s(job: Callable[[bytes], int], log: bytes) -> float:
    began = time.process_time()
    job(log)
    return max(time.process_time() - began, 1e-9)
