"""Random interleavings of members, time, lost connections, a failing journal and killed nodes."""

import pytest
from group_actors import Chaos, offsets_of


@pytest.mark.parametrize("seed", range(60))
def test_everything_by_chance_then_it_settles(seed):
    chaos = Chaos(seed)
    for _ in range(250):
        chaos.step()
    chaos.heal()
    chaos.judge_journal()
    found = {("g", *tp): offset for tp, (offset, _) in chaos.world.fetch().items()}
    assert found == offsets_of(chaos.world.journal)
