"""Random interleavings of members, time, lost connections, a failing journal and killed nodes."""

import pytest
from group_actors import live
from longer import quickly


@pytest.mark.parametrize("seed", quickly(30, of=100))
def test_everything_by_chance_then_it_settles(seed):
    live(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1_000, 4_000, 500))
def test_many_lives(first):
    for seed in range(first, first + 500):
        live(seed, size=2 + seed % 9)
