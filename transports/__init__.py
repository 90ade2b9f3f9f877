"""Drivers: one pump, and one small file per runtime. docs/BOUNDARY.md says how to write another."""

from __future__ import annotations

import sys
from importlib import import_module

from kcore.errors import UsageError
from kcore.hints import Final
from kcore.transports.core import Address, Core, Step, Transport, monotonic_ms, monotonic_s
from kcore.transports.pump import Pump
from kcore.transports.sockets import SocketOptions

__all__ = [
    "NAMES",
    "Address",
    "Core",
    "Pump",
    "SocketOptions",
    "Step",
    "Transport",
    "create",
    "monotonic_ms",
    "monotonic_s",
]

# Modules are imported when asked for: most processes need one.
_DRIVERS: Final = {
    "blocking": ("kcore.transports.blocking", "BlockingTransport"),
    "selectors": ("kcore.transports.selector", "SelectorTransport"),
    "gevent": ("kcore.transports.gevent_driver", "GeventTransport"),
}
NAMES: Final = tuple(_DRIVERS)


def create(
    transport: str | Transport = "blocking", options: SocketOptions | None = None
) -> Transport:
    """A transport by its name, with `options` for its sockets; an instance is given back as it is.

    In a process whose sockets are monkey-patched by gevent, "blocking" and "selectors" are answered
    with the gevent
    transport: waiting in the kernel would stop every other greenlet, which is what patching is
    there to prevent. Eventlet's patches take poll(2) away and make selectors its own: there
    "blocking" is answered with "selectors".
    UsageError: an unknown name, gevent not installed, options beside an instance.
    """
    if not isinstance(transport, str):
        if options is not None:
            raise UsageError("socket options belong to a transport made by name, not an instance")
        return transport
    if transport not in _DRIVERS:
        raise UsageError(f"unknown transport {transport!r}: choose one of {', '.join(NAMES)}")
    if is_monkey_patched():
        transport = "gevent"
    elif transport == "blocking" and _has_eventlets_select():
        transport = "selectors"
    module, driver = _DRIVERS[transport]
    try:
        made: Transport = getattr(import_module(module), driver)(options)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "gevent":
            raise
        raise UsageError("gevent is not installed: pip install kcore[gevent]") from error
    return made


def is_monkey_patched() -> bool:
    """Whether gevent has replaced the sockets or the readiness calls of this process."""
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and any(map(monkey.is_module_patched, ("socket", "select")))


def has_green_threads() -> bool:
    """Whether gevent has put greenlets in the place of this process's threads."""
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and all(map(monkey.is_module_patched, ("threading", "queue")))


def _has_eventlets_select() -> bool:
    patcher = sys.modules.get("eventlet.patcher")
    return patcher is not None and patcher.is_monkey_patched("select")
