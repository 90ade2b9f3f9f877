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
    there to prevent.
    UsageError: an unknown name, gevent not installed, options beside an instance.
    """
    if not isinstance(transport, str):
        if options is not None:
            raise UsageError("socket options belong to a transport made by name, not an instance")
        return transport
    if transport not in _DRIVERS:
        raise UsageError(f"unknown transport {transport!r}: choose one of {', '.join(NAMES)}")
    module, driver = _DRIVERS["gevent" if is_monkey_patched() else transport]
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
