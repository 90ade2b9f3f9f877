"""The fuzz targets, driven briefly: by a seeded random always, by atheris where there is one.

`make fuzz` runs them for longer, with the machine code of the extensions telling what is new.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_targets import TARGETS, Fuzzed

ROUNDS = 500  # inputs a target
ATHERIS_SECONDS = 2
FUZZ = Path(__file__).resolve().parents[2] / "tools" / "fuzz.py"
INTERESTING = (0, 1, 0x7F, 0x80, 0xFF)

every = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


def mutated(data: bytes, rng: random.Random, others: tuple[bytes, ...]) -> bytes:
    """The input with a few things done to it that fuzzers do."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(7)
        if kind == 0 and out:
            out[at % len(out)] ^= 1 << rng.randrange(8)
        elif kind == 1 and out:
            out[at % len(out)] = rng.choice(INTERESTING)
        elif kind == 2:
            del out[at : at + rng.randrange(9)]
        elif kind == 3:
            out[at:at] = rng.randbytes(rng.randrange(9))
        elif kind == 4:
            out[at:at] = out[at : at + rng.randrange(40)]
        elif kind == 5:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            out[at : at + 8] = other[begin : begin + rng.randrange(40)]
        else:
            size = rng.choice((2, 4, 8))
            number = rng.choice((-1, -2, 0, 2**31 - 1, 2**15, rng.getrandbits(31)))
            out[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "big")
    return bytes(out)


@every
def test_seeds(target: Fuzzed) -> None:
    for seed in (*target.seeds, b"", b"\0", b"\xff" * 40):
        target.run(seed)


@every
def test_at_random(target: Fuzzed) -> None:
    rng = random.Random(target.name)
    for _ in range(ROUNDS):
        data = mutated(rng.choice(target.seeds), rng, target.seeds)
        try:
            target.run(data)
        except Exception as error:
            raise AssertionError(f"{target.name} fails on {data.hex()}") from error


@every
def test_cut_anywhere(target: Fuzzed) -> None:
    seed = max(target.seeds, key=len)
    step = max(len(seed) // 150, 1)
    for size in range(0, len(seed), step):
        target.run(seed[:size])


def test_by_atheris(tmp_path: Path) -> None:
    """All targets for a moment, chosen by the first byte."""
    pytest.importorskip("atheris", reason="atheris has no wheel for this Python")
    found = subprocess.run(
        [sys.executable, FUZZ, "any", "--seconds", str(ATHERIS_SECONDS), "--corpus", tmp_path],
        check=False,
        capture_output=True,
        text=True,
        timeout=90,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-4000:]
    assert "stat::number_of_executed_units" in found.stderr


def test_a_target_that_fails_is_told(tmp_path: Path) -> None:
    """So that a run without findings says something."""
    pytest.importorskip("atheris", reason="atheris has no wheel for this Python")
    code = (
        "import sys, runpy, fuzz_targets as them\n"
        "them.TARGETS['bad'] = them.Fuzzed('bad', lambda data: 1 / (len(data) < 3), (b'a',))\n"
        f"sys.argv = ['fuzz.py', 'bad', '--here', '--corpus', {str(tmp_path)!r}]\n"
        f"runpy.run_path({str(FUZZ)!r}, run_name='__main__')\n"
    )
    path = [str(Path(__file__).parent), *filter(None, sys.path)]
    found = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
    )
    assert found.returncode
    assert "ZeroDivisionError" in found.stdout + found.stderr
    assert list(tmp_path.glob("bad-crash-*"))
