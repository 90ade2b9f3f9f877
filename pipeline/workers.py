"""What a worker process of Spark's does once, whichever task comes first.

PySpark's daemon runs the garbage collector after each task, before its worker takes the next one
(`pyspark/daemon.py`): with pyarrow loaded that is most of what a small task costs there. What the
first task finds loaded stays for as long as the worker does, so it need not be looked at again.
And the memory of one Arrow batch is kept for the next.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

# glibc gives a block that was mapped for itself back to the system when it is freed, and so what is
# free on top of its heap, from twice the size on: each Arrow batch would then come in pages that
# have to be faulted in and zeroed again. How large such blocks are it learns from the largest one
# freed so far, up to 32 MiB (mallopt(3): its thresholds are dynamic); one that nobody writes to
# costs nothing.
_KEPT_BYTES = (32 << 20) - (1 << 16)

_settled_pid = 0


def settle() -> None:
    """Leave what is loaded now out of later collections; nothing in other processes."""
    global _settled_pid  # noqa: PLW0603 - a process has one collector
    if _settled_pid == os.getpid() or not _is_reused():
        return
    _settled_pid = os.getpid()
    with suppress(MemoryError):  # spark.executor.pyspark.memory leaves no room for it
        bytes(_KEPT_BYTES)
    gc.collect()  # or what is garbage now would be kept, too
    gc.freeze()


def _is_reused() -> bool:
    """Whether this is a child of PySpark's daemon, which takes task after task."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name == "pyspark.daemon"
