"""A seed is a run, bit for bit: in this process, in another, whatever sets hash to."""

import os
import random
import subprocess
import sys

from sim_runs import run

from kcore.sim import plan_of

SEEDS = range(1, 5)
SCRIPT = """
import random
from kcore.sim import plan_of, simulate
for seed in range({first}, {last}):
    print(seed, simulate(plan_of(random.Random, seed), random.Random).digest)
"""


def of(seed):
    return run(plan_of(random.Random, seed)).digest


def digests(hash_seed):
    script = SCRIPT.format(first=SEEDS.start, last=SEEDS.stop)
    environment = os.environ | {"PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_a_seed_replays_bit_for_bit_in_any_process():
    here = [f"{seed} {of(seed)}" for seed in SEEDS]
    assert here == [f"{seed} {of(seed)}" for seed in SEEDS]
    assert len(set(here)) == len(here)
    assert digests(1) == here
    assert digests(2) == here
