"""The backoff formula (section 1 of CLIENT_CONSUMER.md)."""

from __future__ import annotations

import random

import pytest

from kcore.connection.backoff import exponential


class Fixed:
    """An Rng that always draws the same."""

    def __init__(self, value: float) -> None:
        self.value = value

    def random(self) -> float:
        return self.value


MIDDLE = Fixed(0.5)  # U = 1.0


def test_doubles_until_the_cap() -> None:
    assert [exponential(n, 100, 1000, MIDDLE) for n in range(6)] == [100, 200, 400, 800, 1000, 1000]


def test_jitter_is_twenty_percent() -> None:
    assert exponential(1, 100, 1000, Fixed(0.0)) == 160
    assert exponential(1, 100, 1000, Fixed(0.999999)) == 240


def test_never_above_the_cap_even_with_jitter() -> None:
    rng = random.Random(7)
    assert all(exponential(n, 50, 1000, rng) <= 1000 for n in range(50) for _ in range(20))


def test_below_the_cap_by_jitter_only() -> None:
    assert exponential(40, 100, 1000, Fixed(0.0)) == 800


@pytest.mark.parametrize("base_ms", [1000, 5000])
def test_base_not_below_the_cap_gives_the_cap(base_ms: int) -> None:
    assert exponential(0, base_ms, 1000, Fixed(0.0)) == 1000


def test_long_outages_and_zero_are_no_trouble() -> None:
    assert exponential(10**9, 100, 1000, MIDDLE) == 1000
    assert exponential(3, 0, 1000, MIDDLE) == 0
