"""Runs for tests: a plan, a simulation, and what went wrong in words."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kcore.sim import Fault, Outcome, Plan, Rule, ViolationError, plan_of, simulate
from kcore.sim.chance import Chance
from kcore.sim.plan import CONSUMER_SINCE, NodeTime, draw_first, exact, faults_of, shared

# Where most bugs have their chance.
BUSY = (Fault.ZOMBIE, Fault.NODE_CRASH, Fault.COORDINATOR_MOVE, Fault.CRASH, Fault.JOIN, Fault.CUT)

# What members do in health: no connection breaks, no node is gone.
HEALTHY = (Fault.JOIN, Fault.LEAVE, Fault.REJOIN, Fault.RESUBSCRIBE)


def run(plan: Plan) -> Outcome:
    return simulate(plan, random.Random)


def plain(seed: int) -> Plan:
    """The plan of a seed without what came later, so that those that found something stay it."""
    return draw_first(Chance(random.Random, seed), seed)


def drawn(seed: int) -> Outcome:
    return run(plain(seed))


def well(outcome: Outcome) -> Outcome:
    """It went well; otherwise everything there is to know."""
    if outcome.violation is not None:
        lines = [f"seed {outcome.plan.seed}", *outcome.plan.lines(), *outcome.tail[-60:]]
        raise AssertionError("\n".join([*lines, str(outcome.violation)]))
    return outcome


def drawn_of(seed: int, consumer_share: float) -> Outcome:
    """As drawn, but for who speaks the consumer protocol."""
    plan = plain(seed)
    release = max(plan.release, CONSUMER_SINCE)
    return run(replace(plan, release=release, consumer_share=consumer_share))


def all_but_later(plan: Plan, last: Fault) -> Plan:
    """With all faults there were when `last` was the newest: as `--faults all` drew them then."""
    faults = faults_of(["all"], plan, random.Random, plan.seed)
    kinds = list(Fault)
    known = kinds[: kinds.index(last) + 1]
    return replace(plan, faults={kind: ms for kind, ms in faults.items() if kind in known})


def drawn_share(seed: int) -> Outcome:
    """As drawn, with share groups."""
    return run(shared(plain(seed), random.Random))


def sharing(seed: int, *kinds: Fault, **more: Any) -> Outcome:
    """Four members of a share group read two partitions; kinds: what goes wrong."""
    plan = Plan(
        seed=seed,
        share=True,
        members=4,
        brokers=2,
        partitions=2,
        duration_ms=10_000,
        faults=dict.fromkeys(kinds, 2_000),
        lock_ms=2_000,
        append_every_ms=150,
        fetch_max_wait_ms=500,
    )
    return run(replace(plan, **more))


def drawn_exact(seed: int) -> Outcome:
    """As drawn, with producers."""
    return run(exact(plan_of(random.Random, seed), random.Random))


def exactly(seed: int, *kinds: Fault, **more: Any) -> Outcome:
    """Two writers, two movers and a reader; kinds: what goes wrong."""
    plan = Plan(
        seed=seed,
        exact=True,
        members=5,
        brokers=2,
        partitions=2,
        duration_ms=8_000,
        faults=dict.fromkeys(kinds, 1_500),
        append_until_ms=0,
        auto_commit_share=0.0,
        transactional_share=1.0,
        fetch_max_wait_ms=500,
        transaction_timeout_ms=4_000,
    )
    return run(replace(plan, **more))


def busy(seed: int, **more: Any) -> Outcome:
    """A run in which a lot goes wrong."""
    return run(
        Plan(
            seed=seed,
            members=4,
            brokers=2,
            partitions=5,
            duration_ms=20_000,
            faults=dict.fromkeys(BUSY, 2_500),
            max_poll_interval_ms=20_000,
            node_times=(NodeTime(0, -20_000, 0), NodeTime(86_400_000, 20_000, 60_000)),
            **more,
        )
    )


def healthy(seed: int, *kinds: Fault, **more: Any) -> Outcome:
    """A run in which nobody is in trouble; kinds: what happens, every second or two."""
    plan = Plan(
        seed=seed,
        members=4,
        topics=2,
        partitions=4,
        duration_ms=15_000,
        faults=dict.fromkeys(kinds, 1_500),
        max_poll_interval_ms=5_000,
        auto_commit_share=1.0,
        append_every_ms=200,
    )
    return run(replace(plan, **more))


def broken(rule: Rule, what: Callable[..., object], *arguments: Any, **more: Any) -> None:
    """That breaks this rule."""
    with pytest.raises(ViolationError) as found:
        what(*arguments, **more)
    assert found.value.rule is rule


def call_without(
    patch: pytest.MonkeyPatch, owner: type, name: str, inner_owner: type, inner_name: str
) -> None:
    """Plant: during a call of one method another one does nothing."""
    original = getattr(owner, name)

    def call(self: Any, *arguments: Any) -> None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(inner_owner, inner_name, lambda *_: None)
            original(self, *arguments)

    patch.setattr(owner, name, call)
