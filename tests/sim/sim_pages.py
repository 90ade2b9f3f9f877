"""Runs made up for pages: an outcome of events that a test wrote down."""

from __future__ import annotations

import json
import re

from kcore.cli.sim_page import page_of
from kcore.sim import Outcome, Plan
from kcore.sim.trace import TraceEvent, What
from kcore.structs import TopicPartition

COUNTS = ("members", "generations", "requests", "connects", "records", "delivered", "commits")


def event(at_ms, what, who, **detail):
    return TraceEvent(at_ms, what, who, detail)


def started(at_ms, name, process=1, group="g"):
    return event(at_ms, What.MEMBER_STARTED, name, process=process, group=group, instance=None)


def assigned(at_ms, name, process, generation, *numbers):
    partitions = [TopicPartition("t1", number) for number in numbers]
    return event(
        at_ms, What.ASSIGNED, name, process=process, generation=generation, partitions=partitions
    )


def gone(at_ms, what, name, process, *numbers):
    partitions = [TopicPartition("t1", number) for number in numbers]
    return event(at_ms, what, name, process=process, partitions=partitions)


def outcome(*events, end_ms=10_000, violation=None, tail=(), **plan):
    return Outcome(
        plan=Plan(**{"seed": 1, "duration_ms": 6_000, **plan}),
        digest="00ff",
        steps=12,
        ended_ms=end_ms,
        settled_ms=None,
        counts=dict.fromkeys((*COUNTS, "faults"), 0),
        violation=violation,
        tail=list(tail),
        events=list(events),
    )


def page(run):
    return page_of(run, f"kcore sim --seed {run.plan.seed}")


def data_in(text):
    """What the script of a page is given."""
    return json.loads(
        re.search(r'<script type="application/json" id="run">(.*?)</script>', text)[1]
    )
