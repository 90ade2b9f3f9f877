"""The fixtures that come with kcore: pytest finds them by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kcore.embedded.broker import EmbeddedBroker


@pytest.fixture
def kcore_broker_options() -> dict[str, Any]:
    """Arguments of EmbeddedBroker for the two below: none, unless tests have a fixture of this name
    (in a conftest.py, a file, a class) or are parametrized by it.
    """
    return {}


@pytest.fixture
def kcore_broker(kcore_broker_options: dict[str, Any]) -> Iterator[EmbeddedBroker]:
    """A fresh broker of one node, on a port of its own."""
    from kcore.embedded.broker import EmbeddedBroker  # noqa: PLC0415 - only for who uses it

    with EmbeddedBroker(**kcore_broker_options) as broker:
        yield broker


@pytest.fixture
def kcore_cluster(kcore_broker_options: dict[str, Any]) -> Iterator[EmbeddedBroker]:
    """A fresh cluster of three nodes."""
    from kcore.embedded.broker import EmbeddedBroker  # noqa: PLC0415 - only for who uses it

    with EmbeddedBroker(**{"nodes": 3, **kcore_broker_options}) as cluster:
        yield cluster
