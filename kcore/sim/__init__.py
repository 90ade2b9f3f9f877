"""Simulation: client cores and broker cores in one process, a virtual clock, faults, judges.

`simulate(plan, random.Random)` is one run; `plan_of(random.Random, seed)` what a seed draws. The
same plan gives the same run, bit for bit (`Outcome.digest`).
"""

from __future__ import annotations

from kcore.sim.plan import Fault, Plan, faults_of, overruled
from kcore.sim.run import Outcome, plan_of, simulate
from kcore.sim.violations import Rule, ViolationError

__all__ = [
    "Fault",
    "Outcome",
    "Plan",
    "Rule",
    "ViolationError",
    "faults_of",
    "overruled",
    "plan_of",
    "simulate",
]
