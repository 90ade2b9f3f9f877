"""`kcore sim`: members and brokers of one process under faults from a seed, always judged."""

from __future__ import annotations

import random
import time
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from kcore.cli.endings import DONE, REFUSED, RefusalError, output
from kcore.cli.sim_page import page_of
from kcore.sim import Fault, Outcome, Plan, faults_of, overruled, plan_of, simulate
from kcore.sim.plan import (
    CONSUMER_SINCE,
    NOT_OF_EXACT,
    NOT_OF_SHARES,
    UPGRADE,
    exact,
    shared,
    upgrading,
)

TAIL_LINES: Final = 40

# What members speak: the share of those that speak the consumer protocol (KIP-848).
SHARE: Final = "share"  # all are members of share groups (KIP-932)
EXACT: Final = "exactly-once"  # producers, and who reads and moves what they write; groups as drawn
PROTOCOLS: Final = {"classic": 0.0, "consumer": 1.0, "both": 0.5, SHARE: 0.0, EXACT: None}
_GO_WITHOUT: Final = {SHARE: NOT_OF_SHARES, EXACT: NOT_OF_EXACT}  # faults that say nothing there
_SAY_EVERY: Final = 500  # runs


@dataclass(frozen=True, slots=True)
class SimOptions:
    """What the command line says. None: as the seed draws it. duration: seconds."""

    seed: int
    runs: int = 1
    members: int | None = None
    brokers: int | None = None
    topics: int | None = None
    partitions: int | None = None
    groups: int | None = None
    duration: float | None = None
    protocol: str | None = None
    faults: tuple[str, ...] | None = None
    trace: int = TAIL_LINES
    html: str | None = None  # the file to draw into

    def conflict(self) -> str | None:
        """What cannot be judged: of the words on the command line, which two are never together."""
        if self.protocol == EXACT and self.groups not in {None, 1}:
            return f"--protocol {EXACT} is of one group: what it moves is counted"
        without = {kind.value for kind in _GO_WITHOUT.get(self.protocol or "", ())}
        unfit = ",".join(word for word in self.faults or () if word in without)
        return f"--protocol {self.protocol} is without --faults {unfit}" if unfit else None

    def plan(self, seed: int) -> Plan:
        """The plan of one seed. ValueError for a fault there is not."""
        drawn = plan_of(random.Random, seed)
        if self.protocol == SHARE:
            drawn = shared(drawn, random.Random)
        elif self.protocol == EXACT:
            drawn = exact(drawn, random.Random)
        given: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("members", "brokers", "topics", "partitions", "groups")
        }
        if self.duration is not None:
            given["duration_ms"] = round(self.duration * 1_000)
        if self.protocol is not None:
            given["consumer_share"] = consumer_share = PROTOCOLS[self.protocol]
            if consumer_share:
                given["release"] = max(drawn.release, CONSUMER_SINCE)
        if self.faults is not None:
            given["faults"] = faults_of(self.faults, drawn, random.Random, seed)
        plan = overruled(drawn, **given)
        often_ms = plan.faults.get(Fault.UPGRADE)
        if often_ms is None or plan.assignors == UPGRADE[:1]:
            return plan
        return upgrading(plan, often_ms)

    def command(self, seed: int) -> str:
        """What gives the run of one seed again."""
        words = ["kcore sim", f"--seed {seed}"]
        for name in ("members", "brokers", "topics", "partitions", "groups", "duration"):
            value = getattr(self, name)
            if value is not None:
                words.append(f"--{name} {value:g}")
        if self.protocol is not None:
            words.append(f"--protocol {self.protocol}")
        if self.faults is not None:
            words.append(f"--faults {','.join(self.faults)}")
        return " ".join(words)


def sim(options: SimOptions) -> int:
    """One run, told in full, or many, of which only those that found something are told.
    RefusalError: there is no folder for the page, or nowhere to tell it.
    """
    output()
    if options.html is not None and not Path(options.html).absolute().parent.is_dir():
        folder = Path(options.html).parent
        raise RefusalError(f"the page cannot be written: there is no folder {folder}")
    return _one(options) if options.runs == 1 else _many(options)


def _one(options: SimOptions) -> int:
    plan = options.plan(options.seed)
    print(f"seed {options.seed}")
    for line in plan.lines():
        print(f"  {line}")
    began = time.process_time()
    outcome = simulate(plan, random.Random)
    spent_ms = (time.process_time() - began) * 1_000
    if outcome.violation is not None:
        _tell(outcome, options.trace)
    counts = ", ".join(f"{count:,} {what}" for what, count in outcome.counts.items())
    print(counts)
    if outcome.settled_ms is not None:
        print(f"settled {outcome.settled_ms:,} ms after the last fault")
    print(
        f"{outcome.steps:,} turns, {outcome.ended_ms:,} ms of the world in {spent_ms:,.0f} ms;"
        f" trace hash {outcome.digest}"
    )
    _draw(options, outcome)
    return DONE if outcome.violation is None else REFUSED


def _draw(options: SimOptions, outcome: Outcome) -> None:
    """The run as a page, if there is to be one."""
    if options.html is not None:
        path = Path(options.html)
        page = page_of(outcome, options.command(outcome.plan.seed))
        try:
            path.write_text(page, "utf-8")
        except OSError as error:
            raise RefusalError(f"the page cannot be written: {error}") from error
        print(f"seed {outcome.plan.seed} is drawn in {path}")


def _tell(outcome: Outcome, count: int) -> None:
    """What was found, and how it came to that."""
    assert outcome.violation is not None
    for line in outcome.tail[-count:]:
        print(line)
    print(f"\nseed {outcome.plan.seed}, turn {outcome.steps}, {outcome.ended_ms} ms:")
    print(f"{outcome.violation}\n")


def _many(options: SimOptions) -> int:
    found: Counter[str] = Counter()
    all_of_them = blake2b(digest_size=8)
    began = time.process_time()
    slowest_ms = 0.0
    settled_ms = 0
    for done in range(options.runs):
        run_began = time.process_time()
        outcome = simulate(options.plan(options.seed + done), random.Random)
        slowest_ms = max(slowest_ms, (time.process_time() - run_began) * 1_000)
        settled_ms = max(settled_ms, outcome.settled_ms or 0)
        all_of_them.update(outcome.digest.encode())
        if outcome.violation is not None:
            if not found:
                _draw(options, outcome)
            found[outcome.violation.rule.name] += 1
            first = str(outcome.violation).strip().splitlines()
            print(f"seed {outcome.plan.seed}: {first[0]} {first[-1] if first[1:] else ''}".rstrip())
        if (done + 1) % _SAY_EVERY == 0:
            print(f"{done + 1:,} of {options.runs:,} runs, {sum(found.values())} found", flush=True)
    spent_ms = (time.process_time() - began) * 1_000
    last = options.seed + options.runs - 1
    print(
        f"seeds {options.seed} to {last}: {sum(found.values())} of {options.runs:,} runs found"
        f" something{_by_rule(found)}; {spent_ms / options.runs:.0f} ms of CPU each, the slowest"
        f" {slowest_ms:,.0f} ms; settled within {settled_ms:,} ms;"
        f" hash of all {all_of_them.hexdigest()}"
    )
    if options.html is not None and not found:
        print(f"nothing was found: {options.html} is not written")
    return REFUSED if found else DONE


def _by_rule(found: Counter[str]) -> str:
    return f" ({', '.join(f'{rule} {count}' for rule, count in found.items())})" if found else ""
