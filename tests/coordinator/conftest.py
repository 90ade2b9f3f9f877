"""Every state between two inputs is checked, in every test of this room."""

import pytest
from coordinator_world import World


@pytest.fixture(autouse=True)
def _invariants(monkeypatch):
    drain = World.drain

    def checked(world):
        drain(world)
        world.check()

    monkeypatch.setattr(World, "drain", checked)
