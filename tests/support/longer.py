"""What `make test` has time for, and what is left to `make test-long`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

# What hypothesis tries by itself, and how much of that and of what tests name `make test` tries:
# it is something else each time.
EXAMPLES = 100
QUICK_SHARE = 3

_share = 1


def pytest_configure(config: pytest.Config) -> None:
    """Nothing here is a matter of time: 200 ms for an example, the default, are over on a busy
    machine.
    """
    global _share  # noqa: PLW0603 - modules of tests ask while they are imported
    _share = QUICK_SHARE if "not slow" in config.option.markexpr else 1
    settings.register_profile("ours", deadline=None, max_examples=examples(EXAMPLES))
    settings.load_profile("ours")


def examples(many: int) -> int:
    """For `settings(max_examples=)`."""
    return -(-many // _share)


def each_other(values: Iterable[Any], begin: int = 0) -> list[Any]:
    """Parameters: every second one from `begin` (0 or 1) on is quick, those between are slow."""
    return [
        one if number % 2 == begin else pytest.param(one, marks=pytest.mark.slow)
        for number, one in enumerate(values)
    ]


def quickly(few: int, of: int, begin: int = 0) -> list[Any]:
    """Parameters: numbers from `begin` on, of which those behind the first few are slow."""
    numbers = range(begin, begin + of)
    return [*numbers[:few], *(pytest.param(one, marks=pytest.mark.slow) for one in numbers[few:])]
