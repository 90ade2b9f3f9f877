"""What the tests of whole ways share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kcore.embedded import EmbeddedBroker


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(in_memory=True) as running:
        yield running
        assert running.faults == []
