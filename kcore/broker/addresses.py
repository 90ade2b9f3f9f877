"""Addresses as connections have them."""

from __future__ import annotations

from typing import Final

_LOCALHOST: Final = "127.0.0.1"


def address_of(name: str) -> str | None:
    """What connections from there have; None: it is none. Names are not looked up: there is no
    network here.
    """
    if name == "localhost":
        return _LOCALHOST
    from ipaddress import ip_address  # noqa: PLC0415 - few brokers are told any

    try:
        return str(ip_address(name))
    except ValueError:
        return None
