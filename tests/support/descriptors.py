"""How many files and sockets this process has open."""

import gc
import os
import time
from contextlib import suppress


def _open():
    """What each is. Pipes are left out: librdkafka's threads have them, and make them when they
    like; ours, and those of loops, are woken by sockets and events.
    """
    gc.collect()
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the list itself, or closed by another thread
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return [what for what in found if not what.startswith("pipe:")]


def descriptors():
    return len(_open())


def wait_for_descriptors(before):
    """The broker, of this process too, closes its ends a moment later."""
    end = time.monotonic() + 5
    while descriptors() > before and time.monotonic() < end:
        time.sleep(0.01)
    left = _open()
    assert len(left) <= before, sorted(left)
