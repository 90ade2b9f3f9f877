"""What `spark.py` has found, as SVG plots."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import plots
import spark_tables
from machine import Result
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tables import median

NAMES = {"kafka": "JVM connector", "kcore": "kcore", "ceiling": "Python, no cost"}
COLOURS = {"kafka": plots.OTHERS, "kcore": plots.OURS, "ceiling": plots.CEILING}


def _bars(axes: Axes, runs: dict[str, Any], title: str) -> None:
    """Million rows a second."""
    values = [1 / median(rounds, "wall_s") for rounds in runs.values()]
    places = range(len(values))
    drawn = axes.barh(places, values, color=[COLOURS[kind] for kind in runs], height=0.7)
    axes.bar_label(drawn, [f"{value:.2f}" for value in values], padding=3, fontsize=8)
    plots.name_rows(axes, [NAMES[kind] for kind in runs])
    axes.margins(x=0.2)
    axes.set_title(title)


def speeds(result: Result) -> Figure:
    """Reading and writing, 100 B above 1 KiB."""
    streams = {  # the larger ones
        cell["shape"]["value_bytes"]: cell for cell in result["stream"] if cell["action"] == "noop"
    }
    sizes = [*streams]
    figure, every = plt.subplots(len(sizes), 4, figsize=(11, 1.6 + 1.2 * len(sizes)), squeeze=False)
    for row, size in zip(every, sizes, strict=True):
        by_action = {
            cell["action"]: cell["runs"]
            for cell in result["batch"]
            if cell["shape"]["value_bytes"] == size
        }
        streamed = streams[size]
        written = [
            cell
            for cell in result["write"]
            if cell["value_bytes"] == size and cell["case"] == "alike"
        ][-1]
        drawn = (
            (f"batch, {size:,} B", by_action["noop"]),
            ("sum of a column", by_action["sum"]),
            (f"stream, {streamed['limit']:,}\na micro-batch", streamed["runs"]),
            (f"write, {written['rows']:,} rows", written["runs"]),
        )
        for number, (axes, (title, runs)) in enumerate(zip(row, drawn, strict=True)):
            _bars(axes, runs, title)
            if number:
                axes.set_yticklabels([])
    figure.supxlabel("million rows a second (wall clock)", fontsize=9)
    figure.suptitle(f"Spark, local[2], four partitions\n{plots.subtitle(result)}", fontsize=9)
    return figure


def memory(result: Result) -> Figure:
    """Over micro-batches."""
    drawn = (
        ("driver_python_mb", "the driver's Python"),
        ("source_mb", "the source's process"),
        ("jvm_heap_mb", "JVM heap after collection"),
        ("workers_mb", "all Python below the JVM"),
    )
    figure, every = plt.subplots(1, len(drawn), figsize=(11, 2.6))
    for axes, (name, title) in zip(every, drawn, strict=True):
        for kind, found in result["memory"]["runs"].items():
            samples = found["samples"]
            axes.plot(
                [one["batch"] for one in samples],
                [one[name] for one in samples],
                color=COLOURS[kind],
                label=NAMES[kind],
            )
        axes.set_ylim(bottom=0)
        axes.set(title=title, xlabel="micro-batches")
    every[0].set_ylabel("MiB")
    every[0].legend(fontsize=8)
    figure.suptitle(f"Memory of a streaming query\n{plots.subtitle(result)}", fontsize=9)
    return figure


def latency(result: Result) -> Figure:
    """How many of all records were in the driver after so long."""
    figure, axes = plt.subplots(figsize=(6.5, 2.8))
    for kind in result["latency"]["runs"]:
        found = sorted(spark_tables.latencies(result, kind))
        part = [100 * (number + 1) / len(found) for number in range(len(found))]
        label = f"{NAMES[kind]}, median {statistics.median(found):.0f} ms"
        axes.step(found, part, where="post", color=COLOURS[kind], label=label)
    axes.set(xlabel="ms from `send` to the row in foreachBatch", ylabel="% of the records")
    axes.set_xlim(left=0)
    axes.legend(fontsize=8, loc="lower right")
    axes.set_title(
        f"Micro-batches of one record\n{plots.subtitle(result)}", fontsize=9, fontweight="normal"
    )
    return figure


PLOTS: dict[str, tuple[tuple[str, ...], Callable[[Result], Figure]]] = {
    "spark": (("batch", "stream", "write"), speeds),
    "spark_memory": (("memory",), memory),
    "spark_latency": (("latency",), latency),
}
