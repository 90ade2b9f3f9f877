"""What `make test` has time for, and what is left to `make test-long`."""

from __future__ import annotations

from typing import Any

import pytest


def quickly(few: int, of: int, begin: int = 0) -> list[Any]:
    """Parameters: numbers from `begin` on, of which those behind the first few are slow."""
    numbers = range(begin, begin + of)
    return [*numbers[:few], *(pytest.param(one, marks=pytest.mark.slow) for one in numbers[few:])]
