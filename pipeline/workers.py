"""What a worker process of Spark's does that its tasks take less time.

PySpark's daemon runs the garbage collector after each task, before its worker takes the next one
(`pyspark/daemon.py`): with pyarrow loaded that is most of what a small task costs there. What
a task finds loaded stays for as long as the worker does, so it need not be looked at again.
And the memory of one Arrow batch is kept for the next.

Between the JVM and a worker is a TCP connection on which both sides write little pieces. The second
of two is held back until the first is acknowledged, and who reads waits up to 40 ms with that, in
case there is an answer to send along (RFC 896, RFC 1122 4.2.3.2): half of what a small task took.
"""

from __future__ import annotations

import gc
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kcore.transports.sockets import unpace

# glibc gives a block that was mapped for itself back to the system when it is freed, and so what is
# free on top of its heap, from twice the size on: each Arrow batch would then come in pages that
# have to be faulted in and zeroed again. How large such blocks are it learns from the largest one
# freed so far, up to 32 MiB (mallopt(3): its thresholds are dynamic); one that nobody writes to
# costs nothing.
_KEPT_BYTES = (32 << 20) - (1 << 16)

_settled_modules = 0


class SentToWorkers:
    """Of what is pickled with a task: the first of ours to run there, before its input is read."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        hasten()


def hasten() -> None:
    """Have nothing wait on the connection to the JVM, which is on this machine."""
    connection = _connection()
    if connection is None:
        return
    with suppress(OSError, AttributeError):  # no TCP, or not Linux's
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
    unpace(connection)


def _connection() -> socket.socket | None:
    """Of this process to the JVM; PySpark's daemon has it in a variable, and nowhere else."""
    frame = sys._getframe() if _is_reused() else None  # noqa: SLF001 - no other way to it
    while frame is not None:
        if frame.f_code.co_name == "worker" and frame.f_globals.get("__name__") == "__main__":
            found = frame.f_locals.get("sock")
            return found if isinstance(found, socket.socket) else None
        frame = frame.f_back
    return None


def settle() -> None:
    """Leave what is loaded now out of later collections; nothing in other processes.

    Again if anything was loaded since: the first task finds little more than PySpark.
    """
    global _settled_modules  # noqa: PLW0603 - a process has one collector
    if _settled_modules == len(sys.modules) or not _is_reused():
        return
    if not _settled_modules:
        with suppress(MemoryError):  # spark.executor.pyspark.memory leaves no room for it
            bytes(_KEPT_BYTES)
    _settled_modules = len(sys.modules)
    gc.collect()  # or what is garbage now would be kept, too
    gc.freeze()


def _is_reused() -> bool:
    """Whether this is a child of PySpark's daemon, which takes task after task."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name == "pyspark.daemon"
