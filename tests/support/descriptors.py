"""How many files and sockets this process has open."""

import gc
import os
import time


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def wait_for_descriptors(before):
    """The broker, of this process too, closes its ends a moment later."""
    end = time.monotonic() + 5
    while descriptors() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert descriptors() <= before
