"""Every world is closed at the end of its test: readers give their buffers back in order."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fetch_world import World


@pytest.fixture(autouse=True)
def _close_worlds() -> Iterator[None]:
    yield
    while World.made:
        world = World.made.pop()
        world.fetcher.close(world.now_ms)
