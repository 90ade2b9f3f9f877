"""Modules under another package's names, from a table of what they hold."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from kcore.clients.log import Log
from kcore.errors import IllegalStateError

log = Log("kcore.clients")

Table = Mapping[str, Mapping[str, Any] | str]
"""By the module's name: what it holds, by name; or the module of ours that it is."""

_MARK = "__kcore_stand_in__"


def install(package: str, table: Table, *, lends: bool = False) -> None:
    """Have imports find these modules. IllegalStateError: the package itself is loaded already.

    lends: modules that are not in the table are taken from the package itself, if it is installed:
    they find ours for what those import of it.
    """
    present = sys.modules.get(package)
    if present is not None:
        if hasattr(present, _MARK):
            return
        raise IllegalStateError(
            f"{package} is loaded already: have kcore stand in for it before anything imports it, "
            "at the top of the program"
        )
    places = _places(package) if lends else []
    made = {name: _module(name, held, places) for name, held in table.items()}
    for name, module in made.items():
        parent, _, last = name.rpartition(".")
        if parent and not hasattr(made[parent], last):
            setattr(made[parent], last, module)
    sys.modules.update(made)
    log.info("kcore stands in for %s in this process", package)


def _places(package: str) -> list[str]:
    """Where the package is, if it is installed."""
    found = find_spec(package)
    return [] if found is None else [*(found.submodule_search_locations or ())]


def _module(name: str, held: Mapping[str, Any] | str, places: list[str]) -> ModuleType:
    if isinstance(held, str):
        return import_module(held)
    module = ModuleType(name, f"kcore, standing in for {name}.")
    # A package, with nothing on disk but what is to be found of the other client.
    inside = name.split(".")[1:]
    path = [os.path.join(place, *inside) for place in places]
    module.__dict__.update(held, **{_MARK: True, "__path__": path})
    module.__spec__ = ModuleSpec(name, None, is_package=True)  # for who asks whether it is there
    module.__package__ = name  # New Relic's agent asks
    return module
