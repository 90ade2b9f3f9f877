"""docs/SIMULATION.md has every word that the command line takes, and every rule."""

from pathlib import Path

import pytest

from kcore.sim import Rule
from kcore.sim.words import FAULTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "SIMULATION.md"


@pytest.mark.parametrize(
    "line",
    [
        *(f"| `{kind.value}` | {hits} | {words} |" for kind, (hits, words) in FAULTS.items()),
        *(f"| `{rule.name}` | {rule.value} |" for rule in Rule),
    ],
)
def test_the_tables_are_complete(line):
    assert line in PAGE.read_text("utf-8").splitlines()
