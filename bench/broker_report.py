"""All figures of the embedded broker, as docs/BROKER_PERFORMANCE.md and its plot.

python bench/broker_report.py [--mb 1000] [--rounds 3] [--seconds 9]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import broker_members
import broker_startup
import broker_throughput
from machine import RESULTS, about
from plots import OURS, STYLE, plt

DOCS = Path(__file__).resolve().parent.parent / "docs"
COUNTS = [10, 30, 100, 300, 1_000, 3_000, 10_000]  # a file descriptor each, in both processes


def plot(members: list[dict], path: Path) -> None:
    """CPU, memory and time of a rebalance over the number of members."""
    drawn = (
        ("idle: % of a core", lambda one: 100 * one["idle_core"]),
        ("resident memory, MB", lambda one: one["memory_mb"]),
        ("rebalance: CPU s of the broker", lambda one: one["rebalance_cpu_s"]),
    )
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(1, 3, figsize=(9, 2.6))
        counts = [one["members"] for one in members]
        for axes, (title, value) in zip(panels, drawn, strict=True):
            axes.plot(counts, [value(one) for one in members], "o-", color=OURS, markersize=4)
            axes.set_title(title)
            axes.set_xscale("log")
            axes.set_xlabel("members of one group")
            axes.set_ylim(bottom=0)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def text(found: dict) -> str:
    speed = "\n".join(
        f"| {one['case']} | {one['mb_cpu_s']:,.0f} | {one['mb_s']:,.0f} |"
        for one in found["throughput"]
    )
    members = "\n".join(
        f"| {one['members']:,} | {100 * one['idle_core']:.1f} % | {one['memory_mb']:.0f} MB |"
        f" {one['join_cpu_s']:.2f} s | {one['rebalance_cpu_s']:.2f} s |"
        f" {one['rebalance_s']:.2f} s |"
        for one in found["members"]
    )
    startup = "\n".join(
        f"| {one['case']} | {one['ms']:,.0f} ms | {one['cpu_ms']:,.0f} ms |"
        for one in found["startup"]
    )
    return TEXT.format(speed=speed, members=members, startup=startup, **found["about"])


TEXT = """\
# How fast the embedded broker is

Made by `{command}` at `{commit}`, on {machine}
({load}), Python {python}.

The broker is a process of its own, its client another: one socket that decodes nothing
(`bench/broker_throughput.py`). **MB per CPU second** is what one core serves when nothing else
wants it; by the clock, client, broker and everybody else share the cores. Medians.

## Bytes

| case | MB per CPU second of the broker | MB/s by the clock |
|---|---|---|
{speed}

A Fetch costs some 35 us and a system call, whatever it brings: batches go from the log to the
kernel by `sendmsg`, without a copy. A Produce costs some 50 us, a CRC, a walk over the records and
one copy into the log.

## Members of a group

Each has a connection and sends a heartbeat every 3 s; all are in one group. Joined: from nothing to
everybody's plan, the two round trips of KIP-394 included. Rebalanced: all join again, and get their
plan.

| members | idle: of a core | memory | joined, CPU | rebalanced, CPU | rebalanced, by the clock |
|---|---|---|---|---|---|
{members}

![CPU, memory and rebalances over the number of members](plots/broker_members.svg)

## Until it serves

| what | by the clock | CPU |
|---|---|---|
{startup}

The first answer to ApiVersions counts. A Kafka is formatted beforehand, and runs with the quickest
of Java's options.
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=9.0)
    parser.add_argument("--draw", action="store_true", help="from the results kept, nothing is run")
    asked = parser.parse_args()
    kept = RESULTS / "broker.json"
    if not asked.draw:
        results = {
            "startup": broker_startup.measure(5),
            "throughput": broker_throughput.measure(asked.mb, asked.rounds),
            "members": broker_members.measure(COUNTS, asked.seconds),
            "about": about(),
        }
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(results, indent=1) + "\n")
    results = json.loads(kept.read_text())
    plot(results["members"], DOCS / "plots" / "broker_members.svg")
    (DOCS / "BROKER_PERFORMANCE.md").write_text(text(results))
