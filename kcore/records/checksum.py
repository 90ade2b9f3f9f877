"""CRC-32C, by the library's C function alone.

The package around it asks importlib.metadata for its own version as it is imported, which takes
30 ms: as long as all of a consumer's modules together.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import PathFinder

__all__ = ["crc32c"]

Checksum = Callable[..., int]


def _load() -> Checksum:
    package = PathFinder.find_spec("crc32c")
    if package is not None and package.submodule_search_locations is not None:
        name = "crc32c._crc32c"
        spec = PathFinder.find_spec(name, package.submodule_search_locations)
        if spec is not None and spec.loader is not None:
            module = spec.loader.create_module(spec)
            if module is not None:
                spec.loader.exec_module(module)
                found: Checksum = module.crc32c
                return found
    from crc32c import crc32c as whole  # noqa: PLC0415 - laid out in another way

    return whole


crc32c = _load()
