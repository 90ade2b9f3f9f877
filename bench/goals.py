"""What the figures were to be, and whether they are: one line a goal, missed ones named plainly."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from machine import Result
from rounds import Runs
from tables import Lines, a_call, growth, share, table

Goal = tuple[str, str, str, bool]  # what, wanted, found, met

# Of `poll()` and of `poll_arrow()`: how many times as fast as each of these it has to be.
TIMES = (
    ("kcore", "confluent", 2),
    ("kcore", "aiokafka", 3),
    ("kcore", "kafka-python", 12),
    ("kcore", "java", 1),
    ("kcore-arrow", "confluent", 4),
    ("kcore-arrow", "java", 1),
    ("kcore-arrow", "franz-go", 1),
)
CALLS = {
    "kcore": "`poll()`",
    "kcore-arrow": "`poll_arrow()`",
    "kcore-arrow-3": "`poll_arrow()` of three columns",
    "kcore-views": "`poll_arrow(views)`",
}


def goals(results: dict[str, Result]) -> Lines:
    """A table of all goals whose sections have results."""
    checks = {
        "decode": decode,
        "compare": compare,
        "codecs": codecs,
        "partitions": partitions,
        "single": single,
        "memory": memory,
        "startup": startup,
        "idle": idle,
        "sharing": sharing,
    }
    found = [
        goal for name, check in checks.items() if name in results for goal in check(results[name])
    ]
    rows = [(what, wanted, is_, "yes" if met else "**no**") for what, wanted, is_, met in found]
    return table(("goal", "wanted", "found", "met"), rows)


def decode(result: Result) -> Iterator[Goal]:
    cells = {(cell["form"], cell["value_bytes"]): cell for cell in result["cells"]}
    for form, wanted in (("objects", 4), ("columns", 15), ("views", 40)):
        speed = cells[form, 100]["million_records_per_s"]
        what = f"decode alone, 100 B, {form}"
        yield what, f">= {wanted} M/s", f"{speed:.1f} M/s", speed >= wanted
    speed = cells["views", 1024]["gigabytes_per_s"]
    yield "decode alone, 1 KiB, views", ">= 3 GB/s", f"{speed:.1f} GB/s", speed >= 3


def compare(result: Result) -> Iterator[Goal]:
    runs = result["cells"][0]["runs"]
    yield from ceilings(runs, "end to end")
    for name, base, times in TIMES:
        for what, word in (("wall_s", "wall"), ("cpu_s", "CPU")):
            if (part := share(runs, name, base, what)) is not None:
                goal = f"end to end, {CALLS[name]} against {base}, {word}"
                yield goal, f">= {times}x", f"{part:.1f}x", part >= times
    if (part := share(runs, "kcore-iterate", "kcore", "cpu_s")) is not None:
        yield "iteration against `poll()` of 500, CPU", ">= 60%", f"{part:.0%}", part >= 0.6


def ceilings(runs: Runs, where: str) -> Iterator[Goal]:
    """Every form against the probe that does the same."""
    for name, base in (
        ("kcore", "probe"),
        ("kcore-arrow", "probe-columns"),
        ("kcore-arrow-3", "probe-columns"),
        ("kcore-views", "probe-views"),
    ):
        for what, word in (("wall_s", "wall"), ("cpu_s", "CPU")):
            if (part := share(runs, name, base, what)) is not None:
                goal = f"{where}, {CALLS[name]} against its ceiling, {word}"
                yield goal, ">= 80%", f"{part:.0%}", part >= 0.8


def codecs(result: Result) -> Iterator[Goal]:
    rivals = {
        "kcore": ("confluent", "aiokafka", "kafka-python", "java"),
        "kcore-arrow": ("confluent", "java", "franz-go"),
    }
    for cell in result["cells"]:
        runs, codec = cell["runs"], cell["shape"]["codec"]
        yield from ceilings(runs, codec)
        for name, others in rivals.items():
            for what, word in (("wall_s", "wall"), ("cpu_s", "CPU")):
                times = {
                    other: part for other in others if (part := share(runs, name, other, what))
                }
                if times:
                    worst = min(times, key=times.__getitem__)
                    goal = f"{codec}: {CALLS[name]} behind nobody, {word}"
                    yield goal, ">= 1x", f"{times[worst]:.1f}x {worst}", times[worst] >= 1
        if (part := share(runs, "codec-kcore", "codec-library", "cpu_s")) is not None:
            over = 1 / part - 1
            goal = f"{codec}: unpacking above the library's own time, CPU"
            yield goal, "<= 15%", f"{over:+.0%}", over <= 0.15


def partitions(result: Result) -> Iterator[Goal]:
    for name, ceiling in (("kcore", "probe"), ("kcore-arrow", "probe-columns")):
        costs = zip(growth(result, name), growth(result, ceiling), ("wall", "CPU"), strict=True)
        for cost, plain, word in costs:
            goal = f"{CALLS[name]}: {result['few']} to {result['many']} partitions, {word}"
            yield goal, "< +20%", f"{cost:+.0%} (its ceiling: {plain:+.0%})", cost < 0.2


def single(result: Result) -> Iterator[Goal]:
    for apart, word in ((False, "with start-up"), (True, "apart from start-up")):
        ours, theirs = (a_call(result, name, apart=apart) for name in ("kcore", "confluent"))
        goal = f"one record a call, {word}, CPU"
        yield goal, f"<= {theirs:.2f} us (confluent-kafka)", f"{ours:.2f} us", ours <= theirs


def memory(result: Result) -> Iterator[Goal]:
    mib = 1024 * 1024
    for cell in result["cells"]:
        if cell["client"] != "kcore":
            continue
        mb = cell["growth_mb"] * mib / 1e6
        goal = f"memory: {cell['partitions']} partitions, peak growth"
        yield goal, "<= 70 MB", f"{mb:.0f} MB", mb <= 70
        bound = result["bound_mb"]
        goal = f"memory: {cell['partitions']} partitions, budget + one answer + a constant"
        found = f"{cell['growth_mb']:.0f} MiB"
        yield goal, f"<= {bound:.0f} MiB", found, cell["growth_mb"] <= bound


def startup(result: Result) -> Iterator[Goal]:
    imports = {name: statistics.median(took) for name, took in result["import_ms"].items()}
    for name in ("kcore", "kcore Consumer"):
        statement = "import kcore" if name == "kcore" else "from kcore import Consumer"
        yield f"`{statement}`", "<= 20 ms", f"{imports[name]:.1f} ms", imports[name] <= 20
    for what, word in (("first_record_ms", "wall"), ("first_record_cpu_ms", "CPU")):
        took = {name: statistics.median(found) for name, found in result[what].items()}
        ours = took.pop("kcore")
        best = min(took, key=took.__getitem__)
        goal = f"process to first record of a new group, {word}"
        yield goal, f"<= {took[best]:.0f} ms ({best})", f"{ours:.0f} ms", ours <= took[best]


def idle(result: Result) -> Iterator[Goal]:
    ours = result["clients"]["kcore"]["cpu_ms_per_s"]
    what = f"idle with {result['partitions']} partitions, CPU a second"
    yield what, "<= 1 ms", f"{ours:.2f} ms", ours <= 1


def sharing(result: Result) -> Iterator[Goal]:
    runs = result["cells"][0]["runs"]
    for base in ("confluent", "java"):
        for what, word in (("wall_s", "wall"), ("cpu_s", "CPU")):
            if (part := share(runs, "share-kcore", f"share-{base}", what)) is not None:
                yield f"a share group against {base}, {word}", ">= 1x", f"{part:.1f}x", part >= 1
