"""A broker in this process, on ports or in memory: for tests, and for trying things out.

Loaded at first use (PEP 562): pytest imports this package in every run, for its fixtures.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kcore.embedded.broker import EmbeddedBroker
    from kcore.embedded.loop import CoreLoop

__all__ = ["CoreLoop", "EmbeddedBroker"]

_HOMES: Final = {"CoreLoop": "loop", "EmbeddedBroker": "broker"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
