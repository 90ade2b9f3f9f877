"""What sizes, partitions and records a call do to speed: the sections of kcore beside the probe."""

from __future__ import annotations

import sys
from typing import Any

from machine import load
from plan import Plan
from rounds import Case, measure, side_by_side
from topics import Shape

VALUE_BYTES = (10, 100, 1024, 10_240)
PARTITIONS = (1, 4, 100)
MAX_POLL_RECORDS = (1, 500, 10_000)


def matrix(bootstrap: str, plan: Plan) -> dict[str, Any]:
    """Sizes x partitions x records a poll. One record at a time is a fifth of the records."""
    cells = []
    for size in VALUE_BYTES:
        for partitions in PARTITIONS:
            shape = Shape(min(plan.records, plan.cell_bytes // size), size, partitions)
            cases: dict[str, Case] = {"probe": Case("probe", shape)}
            for most in MAX_POLL_RECORDS:
                some = shape.records // 5 if most == 1 else None
                cases[f"kcore {most}"] = Case("kcore", shape, most, some)
            runs = measure(bootstrap, cases, plan.few_rounds, warm=False)
            print(f"{shape.topic}: {load()}", file=sys.stderr)
            cells.append({"shape": shape._asdict(), "runs": runs})
    return {"cells": cells, "max_poll_records": MAX_POLL_RECORDS}


def partitions(bootstrap: str, plan: Plan) -> dict[str, Any]:
    """The same records in 4 partitions and in many, turn by turn; to the ceilings, too, because a
    broker needs longer for an answer of many partitions, whoever asks.
    """
    few, many = 4, plan.partitions
    cases = {
        f"{name} {count}": Case(name, Shape(plan.many_records, 100, count))
        for name in ("probe", "kcore", "probe-columns", "kcore-arrow", "confluent")
        for count in (few, many)
    }
    return {"few": few, "many": many, "runs": measure(bootstrap, cases, plan.growth_rounds)}


def single(bootstrap: str, plan: Plan) -> dict[str, Any]:
    """One record a call, from a short and a long topic that are read to their ends.

    What the long one takes more is what calls cost apart from start-up, whatever a client fetches
    ahead in the background.
    """
    short, long = plan.records // 20, plan.records // 4
    cases = {
        f"{name} {count}": Case(name, Shape(count, 100, 4), 1, count)
        for count in (short, long)
        for name in ("kcore", "confluent")
    }
    return {"short": short, "long": long, "runs": measure(bootstrap, cases, plan.rounds)}


def codecs(bootstrap: str, plan: Plan, names: list[str], kinds: tuple[str, ...]) -> dict[str, Any]:
    """Everyone reads every codec, and the codec's library unpacks the same bytes alone."""
    cells = []
    for codec in kinds:
        shape = Shape(plan.codec_records, 100, 4, codec)
        runs = measure(bootstrap, side_by_side(names, shape), plan.rounds, warm=False)
        print(f"{shape.topic}: {load()}", file=sys.stderr)
        cells.append({"shape": shape._asdict(), "max_poll_records": 500, "runs": runs})
    return {"cells": cells}
