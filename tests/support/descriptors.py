"""How many files and sockets this process has open."""

import gc
import os
import threading
import time
from collections import Counter
from contextlib import suppress


def descriptors():
    """What each is. Pipes are left out: librdkafka's threads have them, and make them when they
    like; ours, and those of loops, are woken by sockets and events.
    """
    gc.collect()
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the list itself, or closed by another thread
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return [what for what in found if not what.startswith("pipe:")]


def wait_for_descriptors(before):
    """The broker, of this process too, closes its ends a moment later."""
    end = time.monotonic() + 5
    while len(descriptors()) > len(before) and time.monotonic() < end:
        time.sleep(0.01)
    left = descriptors()
    assert len(left) <= len(before), _difference(before, left)


def _difference(before, left):
    """What is new, what is gone, and who is there that may have it."""
    now, then = Counter(left), Counter(before)
    new = [*(now - then).elements()]
    inodes = {what[8:-1] for what in new if what.startswith("socket:")}
    return {
        "new": [*new, *_connections(inodes)],
        "gone": [*(then - now).elements()],
        "threads": [*(thread.name for thread in threading.enumerate()), *_foreign_threads()],
    }


def _connections(inodes):
    """Addresses and states of sockets, in the system's own words."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError), open(f"/proc/self/net/{table}") as rows:
            for row in rows:
                columns = row.split()
                if len(columns) > 9 and columns[9] in inodes:
                    yield " ".join([table, *columns[1:4]])


def _foreign_threads():
    """Names of all threads, those of libraries as well."""
    for number in os.listdir("/proc/self/task"):
        with suppress(OSError), open(f"/proc/self/task/{number}/comm") as name:
            yield name.read().strip()
