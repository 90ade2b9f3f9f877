"""Results as Markdown tables: one function a section, from what its JSON has to lines of text."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from typing import Any

from machine import Result
from rounds import Figures, Runs

# Whose ceiling is whose; objects' for all that is not named.
CEILINGS = {
    "kcore-arrow": ("probe-columns",),
    "kcore-arrow-3": ("probe-columns",),
    "kcore-views": ("probe-views", "probe-columns"),  # views have a probe without a codec only
}
NAMES = {
    "probe": "ceiling: objects",
    "probe-columns": "ceiling: columns",
    "probe-views": "ceiling: views",
    "kcore": "kcore `poll()`",
    "kcore-iterate": "kcore iteration",
    "kcore-async": "kcore asyncio, `getmany()`",
    "kcore-async-for": "kcore asyncio, `async for`",
    "kcore-arrow": "kcore `poll_arrow()`",
    "kcore-arrow-3": "kcore `poll_arrow()`, three columns",
    "kcore-views": "kcore `poll_arrow(views)`",
    "confluent": "confluent-kafka (tuned)",
    "aiokafka": "aiokafka",
    "kafka-python": "kafka-python",
    "java": "Java consumer (2nd pass)",
    "franz-go": "franz-go",
    "codec-library": "the codec's library alone",
    "codec-kcore": "the same as kcore calls it",
    "share-kcore": "kcore `ShareConsumer.poll()`",
    "share-confluent": "confluent-kafka's `ShareConsumer`",
    "share-java": "Java share consumer (2nd pass)",
}
Lines = list[str]


def per_record(figures: Figures, what: str) -> float:
    """Microseconds a record of "wall_s" or "cpu_s"."""
    return float(figures[what] * 1e6 / figures["records"])


def median(rounds: list[Figures], what: str) -> float:
    """The median of all rounds, in microseconds a record."""
    return statistics.median(per_record(figures, what) for figures in rounds)


def shares(runs: Runs, name: str, base: str, what: str) -> list[float]:
    """The time of `base` over that of `name`, by round; 1 is as fast. Empty: one is absent.

    A round of which one figure is not known is left out: processes that end within a run can take
    the CPU time of the ones before with them, and what is left is nothing or less.
    """
    rounds = zip(runs.get(base, ()), runs.get(name, ()), strict=False)
    pairs = [(per_record(other, what), per_record(figures, what)) for other, figures in rounds]
    return [other / figures for other, figures in pairs if other > 0 and figures > 0]


def share(runs: Runs, name: str, base: str, what: str) -> float | None:
    """The median of that."""
    found = shares(runs, name, base, what)
    return statistics.median(found) if found else None


def ceiling_of(runs: Runs, name: str) -> str:
    """The probe that does the same as a contender."""
    known = [probe for probe in CEILINGS.get(name, ()) if probe in runs]
    return known[0] if known else "probe"


def percent(found: list[float]) -> str:
    """The median, and how far the rounds lie apart."""
    if not found:
        return "-"
    middle = f"{statistics.median(found):.0%}"
    return middle if len(found) < 3 else f"{middle} ({min(found):.0%}-{max(found):.0%})"


def speed(rounds: list[Figures]) -> str:
    """Million records a second, of the median round."""
    found = 1 / median(rounds, "wall_s")
    return f"{found:.2f}" if found >= 1 else f"{found:.3f}"


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> Lines:
    """Markdown; the first column is to the left, all others to the right."""
    columns = list(head)
    rule = ["---", *["---:"] * (len(columns) - 1)]
    return ["| " + " | ".join(map(str, row)) + " |" for row in (columns, rule, *rows)]


def where(result: Result) -> str:
    """One sentence: with what the figures were made."""
    about = result["about"]
    return (
        f"`{about['command']}`, commit {about['commit']}, {about['machine']}, Python"
        f" {about['python']}, {about['load']}, {about['date']} UTC."
    )


def compare(result: Result) -> Lines:
    lines: Lines = []
    for cell in result["cells"]:
        runs: Runs = cell["runs"]
        head = ("reader", "M records/s", "of its ceiling: wall (rounds)", "CPU us a record")
        rows = []
        for name, rounds in runs.items():
            base = "" if name.startswith("probe") else ceiling_of(runs, name)
            rows.append(
                (
                    NAMES[name],
                    speed(rounds),
                    percent(shares(runs, name, base, "wall_s")),
                    f"{median(rounds, 'cpu_s'):.3f}",
                    percent(shares(runs, name, base, "cpu_s")),
                    max(figures["peak_rss_mb"] for figures in rounds),
                )
            )
        lines += [f"{title(cell)}:", ""]
        lines += table((*head, "of its ceiling: CPU (rounds)", "peak RSS MB"), rows)
    return lines


def sharing(result: Result) -> Lines:
    """Members of share groups, each alone in one."""
    (cell,) = result["cells"]
    runs: Runs = cell["runs"]
    head = ("member", "M records/s", "kcore's, times its: wall", "CPU us a record")
    rows = [
        (
            NAMES[name],
            speed(rounds),
            f"{share(runs, 'share-kcore', name, 'wall_s') or 1:.1f}x",
            f"{median(rounds, 'cpu_s'):.3f}",
            f"{share(runs, 'share-kcore', name, 'cpu_s') or 1:.1f}x",
        )
        for name, rounds in runs.items()
    ]
    return [f"{title(cell)}:", "", *table((*head, "kcore's, times its: CPU"), rows)]


def title(cell: dict[str, Any]) -> str:
    shape = cell["shape"]
    return (
        f"{shape['records']:,} records of {shape['value_bytes']} B, {shape['partitions']}"
        f" partitions, codec {shape['codec']}, up to {cell['max_poll_records']} a poll"
    )


def codecs(result: Result) -> Lines:
    """CPU and speed of all readers by codec."""
    cells = {cell["shape"]["codec"]: cell["runs"] for cell in result["cells"]}
    names = list(dict.fromkeys(name for runs in cells.values() for name in runs))

    def cpu_and_speed(runs: Runs, name: str) -> str:
        if not runs.get(name):
            return "-"
        return f"{median(runs[name], 'cpu_s'):.3f} / {speed(runs[name])}"

    head = ("CPU us a record / M records/s", *cells)
    rows = [
        (NAMES[name], *(cpu_and_speed(runs, name) for runs in cells.values())) for name in names
    ]
    pairs = (("kcore", "probe"), ("kcore-arrow", "probe-columns"), ("codec-kcore", "codec-library"))
    more = [
        (
            f"{NAMES[name]}: of *{NAMES[base]}*, by CPU",
            *(percent(shares(runs, name, base, "cpu_s")) for runs in cells.values()),
        )
        for name, base in pairs
    ]
    part = [
        percent(shares(runs, "probe-columns", "codec-library", "cpu_s")) for runs in cells.values()
    ]
    return table(head, [*rows, *more, ("the library's part of *ceiling: columns*", *part)])


def matrix(result: Result) -> Lines:
    head = ["value bytes", "partitions", "ceiling"]
    head += [f"{most:,} a poll" for most in result["max_poll_records"]]
    rows = []
    for cell in result["cells"]:
        runs, shape = cell["runs"], cell["shape"]
        row = [f"{shape['value_bytes']:,}", str(shape["partitions"])]
        row.append(f"{speed(runs['probe'])} / {median(runs['probe'], 'cpu_s'):.3f}")
        for most in result["max_poll_records"]:
            name = f"kcore {most}"
            wall, cpu = (share(runs, name, "probe", what) for what in ("wall_s", "cpu_s"))
            figures = f"{speed(runs[name])} / {median(runs[name], 'cpu_s'):.3f}"
            row.append(f"{figures} ({wall:.0%}, {cpu:.0%})")
        rows.append(row)
    return table(head, rows)


def partitions(result: Result) -> Lines:
    few, many, runs = result["few"], result["many"], result["runs"]
    rows = []
    for name in ("probe", "kcore", "probe-columns", "kcore-arrow", "confluent"):
        small, large = f"{name} {few}", f"{name} {many}"
        rows.append(
            (
                NAMES[name],
                *(speed(runs[key]) for key in (small, large)),
                *(f"{median(runs[key], 'cpu_s'):.3f}" for key in (small, large)),
                *(f"{cost:+.0%}" for cost in growth(result, name)),
            )
        )
    head = ("reader", f"M records/s, {few}", str(many), f"CPU us a record, {few}", str(many))
    return table((*head, "more wall", "more CPU"), rows)


def growth(result: Result, name: str) -> tuple[float, float]:
    """How much more many partitions cost than few, by wall and by CPU; medians of the rounds."""
    few, many = f"{name} {result['few']}", f"{name} {result['many']}"
    found = [share(result["runs"], few, many, what) for what in ("wall_s", "cpu_s")]
    return (found[0] or 0.0) - 1, (found[1] or 0.0) - 1


def single(result: Result) -> Lines:
    rows = [
        (
            what,
            f"{a_call(result, name, apart=False):.2f}",
            f"{a_call(result, name, apart=True):.2f}",
        )
        for name, what in (
            ("kcore", "kcore `poll(max_records=1)`"),
            ("confluent", "confluent-kafka `consume(1)`"),
        )
    ]
    short, long = result["short"], result["long"]
    head = ("reader", f"CPU us a call, all of {short:,}", f"from there to {long:,}")
    return table(head, rows)


def a_call(result: Result, name: str, *, apart: bool) -> float:
    """CPU microseconds a call; apart from start-up, or over the short topic with it."""
    short, long = result["short"], result["long"]
    small, large = (result["runs"][f"{name} {count}"] for count in (short, long))
    if not apart:
        return statistics.median(figures["cpu_s"] for figures in small) / short * 1e6
    more = (one["cpu_s"] - other["cpu_s"] for one, other in zip(large, small, strict=True))
    return statistics.median(more) / (long - short) * 1e6


def memory(result: Result) -> Lines:
    head = (
        "client",
        "partitions",
        "MiB ahead",
        "resident before",
        "peak above it (MiB)",
        "records",
    )
    rows = [
        (
            cell["client"],
            cell["partitions"],
            f"{cell['backlog_mb']:,.0f}",
            f"{cell['base_mb']:.1f}",
            f"{cell['growth_mb']:.1f}",
            f"{cell['records']:,}",
        )
        for cell in result["cells"]
    ]
    return table(head, rows)


def startup(result: Result) -> Lines:
    imports, firsts = result["import_ms"], result["first_record_ms"]
    rows = []
    for name, took in imports.items():
        row = [name, f"{statistics.median(took):.1f}", "-", "-", "-"]
        if name in firsts:
            row[2] = f"{statistics.median(firsts[name]):.0f}"
            row[3] = f"{min(firsts[name]):.0f}-{max(firsts[name]):.0f}"
            row[4] = f"{statistics.median(result['first_record_cpu_ms'][name]):.0f}"
        rows.append(row)
    head = ("client", "import, ms", "process to first record, ms", "(range)", "its CPU, ms")
    return table(head, rows)


def idle(result: Result) -> Lines:
    rows = [
        (client, f"{found['cpu_ms_per_s']:.2f}", f"{found['wakeups_per_s']:.1f}")
        for client, found in result["clients"].items()
    ]
    return table(("client", "CPU ms a second", "wakeups a second"), rows)


def decode(result: Result) -> Lines:
    cells = {(cell["form"], cell["value_bytes"]): cell for cell in result["cells"]}
    sizes = list(dict.fromkeys(size for _, size in cells))
    rows = []
    for form in dict.fromkeys(form for form, _ in cells):
        found = (cells[form, size] for size in sizes)
        rows.append(
            (
                form,
                *(
                    f"{cell['million_records_per_s']:.2f} / {cell['gigabytes_per_s']:.2f}"
                    for cell in found
                ),
            )
        )
    return table(("M records/s / GB/s of values", *(f"{size:,} B" for size in sizes)), rows)


TABLES: dict[str, Callable[[Result], Lines]] = {
    "decode": decode,
    "compare": compare,
    "codecs": codecs,
    "matrix": matrix,
    "partitions": partitions,
    "single": single,
    "memory": memory,
    "startup": startup,
    "idle": idle,
    "sharing": sharing,
}
