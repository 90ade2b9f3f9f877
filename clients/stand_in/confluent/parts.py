"""A message's parts as programs give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def to_bytes(name: str, value: Any) -> bytes:
    """Bytes, or text. TypeError."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return bytes(value)
    raise TypeError(f"{name} must be bytes or a string, not {type(value).__name__}")


def header_pairs(headers: Any) -> list[tuple[str, bytes | None]]:
    """Of a list of pairs, or of a dict. Names are what `str` makes of them; names and text end
    where a NUL is. TypeError.
    """
    if isinstance(headers, Mapping):
        headers = [*headers.items()]
    elif not isinstance(headers, list):
        raise TypeError("expected headers to be a dict or list of (key, value) tuples")
    found: list[tuple[str, bytes | None]] = []
    for pair in headers:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("headers must be a list of (key, value) tuples, or a dict")
        name, value = pair
        if isinstance(value, str):
            value = value.partition("\0")[0]
        data = None if value is None else to_bytes("a header's value", value)
        found.append((str(name).partition("\0")[0], data))
    return found
