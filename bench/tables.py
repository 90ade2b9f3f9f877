"""Figures of many runs as tables."""

from __future__ import annotations

import statistics
from typing import Any

from rich.console import Console
from rich.table import Table

Figures = dict[str, Any]  # what readers/common.py prints
Runs = dict[str, list[Figures]]  # by contender, by round

CEILING = "probe"


def per_record(figures: Figures, what: str) -> float:
    """Microseconds a record of "wall_s" or "cpu_s"."""
    return float(figures[what] * 1e6 / figures["records"])


def median(rounds: list[Figures], what: str) -> float:
    """The median of all rounds, in microseconds a record."""
    return statistics.median(per_record(figures, what) for figures in rounds)


def ratios(runs: Runs, name: str, what: str) -> list[float]:
    """The ceiling's time over the contender's, round by round; 1 is as fast. Empty: no ceiling."""
    return [
        per_record(ceiling, what) / max(per_record(figures, what), 1e-9)
        for ceiling, figures in zip(runs.get(CEILING, ()), runs[name], strict=False)
    ]


def percent(found: list[float]) -> str:
    """The median, and how far the rounds lie apart."""
    if not found:
        return "-"
    middle = f"{statistics.median(found):.0%}"
    return middle if len(found) < 3 else f"{middle} ({min(found):.0%}-{max(found):.0%})"


def show_cell(runs: Runs, title: str, facts: dict[str, str]) -> None:
    """One table: a row a contender."""
    table = Table(title=f"{title}; key, value and offset of each touched")
    table.add_column("reader")
    for column in ("M records/s", "of probe", "CPU us/record", "of probe (CPU)", "peak RSS MB"):
        table.add_column(column, justify="right")
    for name, rounds in runs.items():
        wall, cpu = median(rounds, "wall_s"), median(rounds, "cpu_s")
        table.add_row(
            str(rounds[0]["name"]),
            f"{1 / wall:.2f}",
            percent(ratios(runs, name, "wall_s")),
            f"{cpu:.3f}",
            percent(ratios(runs, name, "cpu_s")),
            str(max(figures["peak_rss_mb"] for figures in rounds)),
        )
    _print(table, facts)


def show_matrix(cells: list[dict[str, Any]], facts: dict[str, str]) -> None:
    """A row a cell; for each contender its speed and what of the ceiling that is, wall and CPU."""
    names = list(dict.fromkeys(name for cell in cells for name in cell["runs"]))
    table = Table(title="M records/s (and % of the probe by wall / by CPU)")
    for column in ("value B", "partitions", "max_poll_records", *names):
        table.add_column(column, justify="right")
    for cell in cells:
        runs: Runs = cell["runs"]
        shape = cell["shape"]
        where = (shape["value_bytes"], shape["partitions"], cell["max_poll_records"])
        table.add_row(*map(str, where), *(_brief(runs, name) for name in names))
    _print(table, facts)


def _brief(runs: Runs, name: str) -> str:
    if name not in runs:
        return "-"
    speed = f"{1 / median(runs[name], 'wall_s'):.2f}"
    if name == CEILING or CEILING not in runs:
        return speed
    wall, cpu = (statistics.median(ratios(runs, name, what)) for what in ("wall_s", "cpu_s"))
    return f"{speed} ({wall:.0%} / {cpu:.0%})"


def _print(table: Table, facts: dict[str, str]) -> None:
    console = Console(width=120)
    console.print(table)
    for key, value in facts.items():
        console.print(f"{key}: {value}", highlight=False)
