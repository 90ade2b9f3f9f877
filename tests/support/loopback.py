"""What the loopback of this machine can do."""

from __future__ import annotations

import socket

import pytest


@pytest.fixture(scope="session")
def ipv6_loopback() -> str:
    """The address, if there is one: containers often have none, though Python knows IPv6."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as why:
        pytest.skip(f"this machine has no IPv6 loopback: {why}")
    return "::1"
