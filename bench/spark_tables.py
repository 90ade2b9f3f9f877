"""What `spark.py` has found, as Markdown: a table a part, and the list of goals."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

from machine import Result
from rounds import Figures, Runs
from tables import Lines, median, share, shares, table, where

NAMES = {"kafka": "Spark's own (JVM)", "kcore": "kcore", "ceiling": "a Python source without cost"}
SINKS = {**NAMES, "ceiling": "a Python sink without cost"}
ACTIONS = {"noop": "all rows, to `noop`", "sum": "`sum(length(value))`",
           "texts": "values as strings, to `noop`"}  # fmt: skip
WRITES = {"alike": "alike", "defaults": "each its defaults"}
PACES = {"wall_s": "from start to end", "steady_s": "after the first one"}
AT = (100, 500, 1_000)  # micro-batches that memory is told of

GROWING = {
    "driver_python_mb": "driver's Python",
    "source_mb": "the source's process",
    "jvm_heap_mb": "JVM heap",
    "workers_mb": "all Python below the JVM",
}

Goal = tuple[str, str, str, bool]  # what, wanted, found, met


def times(found: list[float]) -> str:
    """How many times as fast, and how far the rounds lie apart."""
    if not found:
        return "-"
    middle = f"{statistics.median(found):.1f}x"
    return middle if len(found) < 3 else f"{middle} ({min(found):.1f}-{max(found):.1f})"


def _speeds(
    what: str, runs: Runs, names: dict[str, str], by: str = "wall_s"
) -> Iterator[tuple[str, ...]]:
    for kind, rounds in runs.items():
        yield (
            what,
            names[kind],
            _rate(rounds, by),
            times(shares(runs, kind, "kafka", by)),
            f"{median(rounds, 'cpu_s'):.2f}",
            f"{median(rounds, 'jvm_cpu_s'):.2f} + {median(rounds, 'python_cpu_s'):.2f}",
            times(shares(runs, kind, "kafka", "cpu_s")),
        )


def _rate(rounds: list[Figures], by: str) -> str:
    """Million rows a second, of the median round."""
    found = 1 / median(rounds, by)
    return f"{found:.2f}" if found >= 0.1 else f"{found:.4f}"


HEAD = ("", "by", "M rows/s", "times the JVM's", "CPU us a row", "JVM + Python", "times, by CPU")


def _size(cell: dict[str, Any]) -> str:
    return "1 KiB" if cell["shape"]["value_bytes"] == 1024 else f"{cell['shape']['value_bytes']} B"


def batch(result: Result) -> Lines:
    rows = [
        row
        for cell in result["batch"]
        for row in _speeds(f"{_size(cell)}, {ACTIONS[cell['action']]}", cell["runs"], NAMES)
    ]
    return table(HEAD, rows)


def stream(result: Result) -> Lines:
    rows = []
    for cell in result["stream"]:
        for by, word in PACES.items():
            only = ", values as strings" if cell["action"] == "texts" else ""
            what = f"{_size(cell)}, {cell['limit']:,} a micro-batch{only}: {word}"
            # Of CPU it is only known what the whole has taken.
            known, empty = (7, 0) if by == "wall_s" else (4, 3)
            rows += [
                (*row[:known], *[""] * empty) for row in _speeds(what, cell["runs"], NAMES, by)
            ]
    return table(HEAD, rows)


def write(result: Result) -> Lines:
    rows = [
        row
        for cell in result["write"]
        for row in _speeds(
            f"{'1 KiB' if cell['value_bytes'] == 1024 else '100 B'}, {cell['rows']:,} rows, "
            f"{WRITES[cell['case']]}",
            cell["runs"],
            SINKS,
        )
    ]
    return table(HEAD, rows)


def _step(result: Result, name: str, what: str) -> float:
    return statistics.median(one["steps"][name][what] for one in result["plan"]["alone"])


def plan(result: Result) -> Lines:
    found = result["plan"]
    rows = [
        (name, f"{_step(result, name, 'wall_s'):.2f}", f"{_step(result, name, 'cpu_s'):.2f}")
        for name in found["alone"][0]["steps"]
    ]
    for kind, rounds in found["runs"].items():
        wall = statistics.median(one["wall_s"] for one in rounds)
        cpu = statistics.median(one["cpu_s"] for one in rounds)
        rows.append((f"through Spark, {NAMES[kind]}", f"{wall:.2f}", f"{cpu:.2f}"))
    return table((f"{found['partitions']:,} partitions", "s, by the clock", "s of CPU"), rows)


def _at(samples: list[dict[str, float]], number: int) -> dict[str, float]:
    """The first look at that micro-batch or after it."""
    return next((one for one in samples if one["batch"] >= number), samples[-1])


def memory(result: Result) -> Lines:
    rows = []
    for kind, found in result["memory"]["runs"].items():
        for number in AT:
            one = _at(found["samples"], number)
            rows.append(
                (
                    NAMES[kind],
                    f"{one['batch']:.0f}",
                    f"{one['driver_python_mb']:.0f}",
                    f"{one['source_mb']:.0f}",
                    f"{one['jvm_heap_mb']:.0f}",
                    f"{one['workers_mb']:.0f} ({one['workers']:.0f})",
                    f"{one['jvm_rss_mb']:.0f}",
                )
            )
    head = ("MiB", "micro-batch", "driver's Python", "its source's process", "JVM heap after GC",
            "all Python below the JVM (processes)", "JVM resident")  # fmt: skip
    return table(head, rows)


def quantile(found: list[float], part: float) -> float:
    return sorted(found)[min(len(found) - 1, int(len(found) * part))]


def latencies(result: Result, kind: str) -> list[float]:
    """In ms, of all queries."""
    return [1e3 * one for run in result["latency"]["runs"][kind] for one in run["latency_s"]]


def latency(result: Result) -> Lines:
    rows = []
    for kind, runs in result["latency"]["runs"].items():
        all_of = latencies(result, kind)
        phases = [
            statistics.median(one for run in runs for one in run["phases_ms"][name])
            for name in runs[0]["phases_ms"]
        ]
        idle = statistics.median(run["idle_core"] for run in runs)
        rows.append(
            (
                NAMES[kind],
                f"{statistics.median(all_of):.0f}",
                f"{quantile(all_of, 0.95):.0f}",
                *(f"{one:.0f}" for one in phases),
                f"{idle:.2f}",
            )
        )
    first = next(iter(result["latency"]["runs"].values()))[0]["phases_ms"]
    head = ("ms", "record to row", "95 of 100", *(f"`{name}`" for name in first), "cores, idle")
    return table(head, rows)


# Goals -------------------------------------------------------------------------------------------


def goals(result: Result) -> Iterator[Goal]:
    """Those of the parts that were measured."""
    for part, base in (("batch", 3), ("stream", 3), ("write", 2)):
        for cell in result.get(part, ()):
            for by, word in PACES.items() if part == "stream" else [("wall_s", "")]:
                yield _times(part, cell, base, by, word)
    if "plan" in result:
        took = _step(result, "batch: partitions", "wall_s") + _step(
            result, "batch: pickles", "wall_s"
        )
        count = result["plan"]["partitions"]
        yield f"planning {count:,} partitions", "< 1 s", f"{took:.2f} s", took < 1
    if "memory" in result:
        yield from _flat(result)
    if "latency" in result:
        ours, theirs = (statistics.median(latencies(result, kind)) for kind in ("kcore", "kafka"))
        found = f"{ours:.0f} ms, {ours - theirs:+.0f}"
        yield "a micro-batch's latency", f"<= {theirs:.0f} + 200 ms", found, ours <= theirs + 200


def _times(part: str, cell: dict[str, Any], base: float, by: str, word: str) -> Goal:
    runs = cell["runs"]
    part_of = share(runs, "kcore", "kafka", by) or 0
    most = share(runs, "ceiling", "kafka", by)
    size = cell.get("value_bytes") or cell["shape"]["value_bytes"]
    pace = f"{cell['limit']:,} a micro-batch" if "limit" in cell else ""
    if part == "write":
        pace = f"{cell['rows']:,} rows"
    action = None if part == "stream" and cell["action"] == "noop" else cell.get("action")
    action = "values as strings" if action == "texts" else action
    more = filter(None, (action, cell.get("case"), pace, word))
    what = ", ".join((part, f"{size:,} B", *more))
    reach = "" if most is None else f" (without cost: {most:.1f}x)"
    return what, f">= {base}x the JVM's", f"{part_of:.1f}x{reach}", part_of >= base


def _flat(result: Result) -> Iterator[Goal]:
    """Flat: no more than a tenth and 5 MiB above what it was at the first of the places told."""
    samples = result["memory"]["runs"]["kcore"]["samples"]
    begin, end = _at(samples, AT[0]), samples[-1]
    for name, word in GROWING.items():
        grown = end[name] - begin[name]
        what = f"memory from micro-batch {begin['batch']:.0f} to {end['batch']:.0f}, {word}"
        bound = begin[name] / 10 + 5
        yield what, f"flat (<= +{bound:.0f} MiB)", f"{grown:+.1f} MiB", grown <= bound


def goal_table(result: Result) -> Lines:
    rows = [(*one[:3], "yes" if one[3] else "**no**") for one in goals(result)]
    return table(("goal", "wanted", "found", "met"), rows)


def summary(result: Result) -> Lines:
    """What a run ends with."""
    return [*goal_table(result), "", where(result)]


PARTS: dict[str, Callable[[Result], Lines]] = {
    "spark_batch": batch,
    "spark_stream": stream,
    "spark_write": write,
    "spark_plan": plan,
    "spark_memory": memory,
    "spark_latency": latency,
    "spark_goals": goal_table,
}
