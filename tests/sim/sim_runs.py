"""Runs for tests: a plan, a simulation, and what went wrong in words."""

from __future__ import annotations

import random

from kcore.sim import Outcome, Plan, plan_of, simulate


def run(plan: Plan) -> Outcome:
    return simulate(plan, random.Random)


def drawn(seed: int) -> Outcome:
    return run(plan_of(random.Random, seed))


def well(outcome: Outcome) -> Outcome:
    """It went well; otherwise everything there is to know."""
    if outcome.violation is not None:
        lines = [f"seed {outcome.plan.seed}", *outcome.plan.lines(), *outcome.tail[-60:]]
        raise AssertionError("\n".join([*lines, str(outcome.violation)]))
    return outcome
