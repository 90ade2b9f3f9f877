"""A system that is not Linux, as far as kcore can tell: `pytest -p not_linux tests/transports`.

What macOS has not is taken away before kcore is imported. What it does otherwise under the same
names (kqueue, the errors of its sockets) cannot be had here.
"""

import importlib
import os
import select
import selectors
import socket
import sys

import gevent.select
import gevent.socket  # noqa: F401
import trio  # noqa: F401 - all look at what there is when they are imported

_LINUXES = {
    os: ("eventfd", "eventfd_read", "eventfd_write", "memfd_create", "fdatasync", "pipe2"),
    select: ("epoll",),
    socket: ("TCP_CONGESTION", "TCP_QUICKACK", "TCP_KEEPIDLE", "TCP_USER_TIMEOUT"),
}

for _module, _names in _LINUXES.items():
    for _name in _names:
        if hasattr(_module, _name):
            delattr(_module, _name)
selectors.DefaultSelector = selectors.PollSelector  # type: ignore[misc]

_platform, sys.platform = sys.platform, "darwin"
try:
    importlib.import_module("kcore.transports.blocking")
finally:
    sys.platform = _platform


def pytest_terminal_summary(terminalreporter):
    """Say that it was so."""
    blocking = sys.modules["kcore.transports.blocking"]
    assert blocking.BlockingTransport.io_flags == 0
    if not hasattr(os, "eventfd"):
        terminalreporter.write_line("not Linux: no eventfd")
