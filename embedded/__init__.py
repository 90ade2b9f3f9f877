"""A broker in this process, on real ports: for tests, and for trying things out.

Loaded at first use (PEP 562): pytest imports this package in every run, for its fixtures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcore.embedded.broker import EmbeddedBroker

__all__ = ["EmbeddedBroker"]


def __getattr__(name: str) -> Any:
    if name != "EmbeddedBroker":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kcore.embedded.broker import EmbeddedBroker  # noqa: PLC0415

    return EmbeddedBroker
