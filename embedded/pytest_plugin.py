"""The fixtures that come with kcore: pytest finds them by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kcore.embedded.broker import EmbeddedBroker


@pytest.fixture
def kcore_broker() -> Iterator[EmbeddedBroker]:
    """A fresh broker of one node, on a port of its own."""
    from kcore.embedded.broker import EmbeddedBroker  # noqa: PLC0415 - only for who uses it

    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def kcore_cluster() -> Iterator[EmbeddedBroker]:
    """A fresh cluster of three nodes."""
    from kcore.embedded.broker import EmbeddedBroker  # noqa: PLC0415 - only for who uses it

    with EmbeddedBroker(nodes=3) as cluster:
        yield cluster
