"""What is wrong with an argument of a word that tests say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kcore.errors import UsageError


def check(name: str, value: object, kinds: type | tuple[type, ...], right: str) -> None:
    """UsageError: it is of none of these types."""
    if not isinstance(value, kinds) or (kinds is int and isinstance(value, bool)):
        kind = type(value).__name__
        raise UsageError(f"{name}={value!r} ({kind}) is not {right}")


def checked_racks(racks: Sequence[str | None] | None, nodes: int) -> list[str | None]:
    """The rack of each node. UsageError if that is not one for each."""
    if racks is None:
        return [None] * nodes
    if isinstance(racks, str) or not isinstance(racks, Sequence) or len(racks) != nodes:
        raise UsageError(f"racks={racks!r} is not one for each of {nodes} nodes")
    for rack in racks:
        if rack is not None and (not isinstance(rack, str) or not rack):
            raise UsageError(f"racks={racks!r}: {rack!r} is no name of a rack")
    return list(racks)


def near(name: str, known: Iterable[str]) -> str:
    """What may have been meant, as the end of a sentence; empty if nothing is like it."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for who mistypes

    found = get_close_matches(name, known, 1)
    return f"; {found[0]} is" if found else ""
