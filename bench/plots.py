"""Results as SVG plots; the same results give the same bytes."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")

from machine import Result
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tables import NAMES, median, share

OURS, OTHERS, CEILING = "#1f6feb", "#8b949e", "#d0d7de"
SHADES = ("#a5cdff", "#1f6feb", "#0a3069")
STYLE = {
    "svg.hashsalt": "kcore",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


def label(name: str) -> str:
    return NAMES.get(name, name).replace("`", "")


def colour(name: str) -> str:
    if name.startswith(("probe", "codec")):
        return CEILING
    return OURS if name.startswith("kcore") else OTHERS


def bars(
    axes: Axes, names: list[str], values: list[float], form: str = "{:.2f}", *, readers: bool = True
) -> None:
    """Lying bars in the order given, the first on top, each with its figure.

    readers: the names are those of contenders; else of clients, as they are.
    """
    places = range(len(names))
    drawn = axes.barh(places, values, color=[colour(name) for name in names], height=0.7)
    axes.bar_label(drawn, [form.format(value) for value in values], padding=3, fontsize=8)
    name_rows(axes, [label(name) for name in names] if readers else names)
    axes.margins(x=0.14)


def name_rows(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)


def dots(axes: Axes, names: list[str], values: list[float], form: str = "{:.2f}") -> None:
    """The same for a log scale, where lengths would mean nothing."""
    for row, (name, value) in enumerate(zip(names, values, strict=True)):
        axes.plot(value, row, "o", color=colour(name), markersize=6)
        text = form.format(value)
        axes.annotate(text, (value, row), (6, 0), textcoords="offset points", va="center", size=8)
    name_rows(axes, [label(name) for name in names])
    axes.grid(axis="x", color="#eaeef2", linewidth=0.8)
    axes.margins(x=0.14)


def subtitle(result: Result) -> str:
    about = result["about"]
    return f"{about['machine']}, Python {about['python']}, commit {about['commit']}"


def compare(result: Result) -> Figure:
    """Speed and CPU of everyone, the fastest on top."""
    cell = result["cells"][0]
    runs, shape = cell["runs"], cell["shape"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True)
    speed = {name: 1 / median(rounds, "wall_s") for name, rounds in runs.items()}
    names = sorted(speed, key=speed.__getitem__, reverse=True)
    bars(left, names, [speed[name] for name in names])
    right.set_xscale("log")
    right.xaxis.set_major_formatter("{x:g}")
    dots(right, names, [median(runs[name], "cpu_s") for name in names], "{:.3g}")
    left.set(title="Speed", xlabel="million records a second (wall clock)")
    right.set(title="CPU", xlabel="microseconds of CPU a record (log scale)")
    figure.suptitle(
        f"End to end from Kafka: {shape['records'] / 1e6:g} M records of {shape['value_bytes']} B,"
        f" {shape['partitions']} partitions; key, value, offset touched\n{subtitle(result)}",
        fontsize=9,
    )
    return figure


def codecs(result: Result) -> Figure:
    """CPU a record by codec, beside what the library alone takes."""
    cells = result["cells"]
    figure, every = plt.subplots(1, len(cells), figsize=(10, 3.2), sharey=True, sharex=True)
    wanted = ("codec-library", "probe-columns", "kcore-arrow", "probe", "kcore", "franz-go", "java",
              "confluent")  # fmt: skip
    for axes, cell in zip(every, cells, strict=True):
        names = [name for name in wanted if any(cell["runs"].get(name, ()) for cell in cells)]
        bars(axes, names, [median(cell["runs"][name], "cpu_s") for name in names])
        axes.set(title=cell["shape"]["codec"])
        axes.margins(x=0.3)
    figure.supxlabel("microseconds of CPU a record", fontsize=9)
    figure.suptitle(
        f"Compressed topics, {cells[0]['shape']['value_bytes']} B values\n{subtitle(result)}",
        fontsize=9,
    )
    return figure


def matrix(result: Result) -> Figure:
    """What part of the ceiling `poll()` reaches, by CPU."""
    cells = result["cells"]
    sizes = list(dict.fromkeys(cell["shape"]["value_bytes"] for cell in cells))
    most = result["max_poll_records"]
    figure, every = plt.subplots(1, len(sizes), figsize=(10, 3), sharey=True)
    for axes, size in zip(every, sizes, strict=True):
        here = [cell for cell in cells if cell["shape"]["value_bytes"] == size]
        for number, (count, shade) in enumerate(zip(most, SHADES, strict=True)):
            parts = [100 * (share(cell["runs"], f"kcore {count}", "probe", "cpu_s") or 0)
                     for cell in here]  # fmt: skip
            places = [place + (number - 1) * 0.27 for place in range(len(here))]
            axes.bar(places, parts, 0.25, color=shade, label=f"up to {count:,} a poll")
        axes.axhline(80, color="#57606a", linewidth=0.8, linestyle="--")
        axes.set_xticks(range(len(here)), [str(cell["shape"]["partitions"]) for cell in here])
        axes.set(title=f"{size:,} B values", xlabel="partitions")
    every[0].set_ylabel("% of the ceiling, by CPU")
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
    figure.suptitle(f"poll() against a bare socket and decoder\n{subtitle(result)}", fontsize=9)
    return figure


def memory(result: Result) -> Figure:
    """How far memory rises in front of a slow reader."""
    cells = result["cells"]
    counts = list(dict.fromkeys(cell["partitions"] for cell in cells))
    figure, every = plt.subplots(1, len(counts), figsize=(9, 2.6), sharey=True, sharex=True)
    for axes, count in zip(every, counts, strict=True):
        here = [cell for cell in cells if cell["partitions"] == count]
        growths = [cell["growth_mb"] for cell in here]
        bars(axes, [cell["client"] for cell in here], growths, "{:.0f}", readers=False)
        axes.axvline(result["budget_mb"], color="#57606a", linewidth=0.8, linestyle="--")
        axes.set(
            title=f"partitions: {count}, MiB ahead: {here[0]['backlog_mb']:,.0f}",
            xlabel="peak growth of resident memory, MiB",
        )
    figure.suptitle(
        f"A slow reader with {result['budget_mb']:.0f} MiB to buffer (dashed)\n{subtitle(result)}",
        fontsize=9,
    )
    return figure


def startup(result: Result) -> Figure:
    """From the process's start to the first record."""
    firsts = result["first_record_ms"]
    took = {name: statistics.median(found) for name, found in firsts.items()}
    names = sorted(took, key=took.__getitem__)
    figure, axes = plt.subplots(figsize=(6.5, 1.9))
    bars(axes, names, [took[name] for name in names], "{:.0f}", readers=False)
    axes.set(xlabel="milliseconds, median")
    axes.set_title(
        f"From process start to the first record of a new group\n{subtitle(result)}",
        fontsize=9,
        fontweight="normal",
    )
    return figure


def idle(result: Result) -> Figure:
    """What members of a group with nothing to do cost."""
    clients = result["clients"]
    names = sorted(clients, key=lambda name: clients[name]["cpu_ms_per_s"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 2), sharey=True)
    bars(left, names, [clients[name]["cpu_ms_per_s"] for name in names], readers=False)
    bars(right, names, [clients[name]["wakeups_per_s"] for name in names], "{:.0f}", readers=False)
    left.set(xlabel="milliseconds of CPU a second")
    right.set(xlabel="wakeups a second, all threads")
    figure.suptitle(
        f"Idle, with {result['partitions']} partitions assigned\n{subtitle(result)}", fontsize=9
    )
    return figure


PLOTS: dict[str, Callable[[Result], Figure]] = {
    "compare": compare,
    "codecs": codecs,
    "matrix": matrix,
    "memory": memory,
    "startup": startup,
    "idle": idle,
}


def draw(result: Result, path: Path, make: Callable[[Result], Figure] | None = None) -> None:
    """One section's plot as SVG; `make` instead of the one of its name."""
    with mpl.rc_context(STYLE):
        figure = (make or PLOTS[result["section"]])(result)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
