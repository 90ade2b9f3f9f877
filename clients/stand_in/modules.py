"""Modules under another package's names, from a table of what they hold."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from kcore.clients.log import Log
from kcore.errors import IllegalStateError

log = Log("kcore.clients")

Table = Mapping[str, Mapping[str, Any] | str]
"""By the module's name: what it holds, by name; or the module of ours that it is."""

_MARK = "__kcore_stand_in__"


def install(package: str, table: Table) -> None:
    """Have imports find these modules. IllegalStateError: the package itself is loaded already."""
    present = sys.modules.get(package)
    if present is not None:
        if hasattr(present, _MARK):
            return
        raise IllegalStateError(
            f"{package} is loaded already: have kcore stand in for it before anything imports it, "
            "at the top of the program"
        )
    made = {name: _module(name, held) for name, held in table.items()}
    for name, module in made.items():
        parent, _, last = name.rpartition(".")
        if parent and not hasattr(made[parent], last):
            setattr(made[parent], last, module)
    sys.modules.update(made)
    log.info("kcore stands in for %s in this process", package)


def _module(name: str, held: Mapping[str, Any] | str) -> ModuleType:
    if isinstance(held, str):
        return import_module(held)
    module = ModuleType(name, f"kcore, standing in for {name}.")
    module.__dict__.update(held, **{_MARK: True, "__path__": []})  # a package, with nothing on disk
    return module
