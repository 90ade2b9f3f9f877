"""Members that go while they are on their way into a group of a real Kafka, or have lost their
links to it: whoever stays has all partitions at once, though sessions are long.
"""

import os
import socket
import stat
import sys
import threading
import time
from contextlib import suppress

import pytest

from kcore import Consumer
from kcore.structs import MemberState

PARTITIONS = 4
SOON_S = 15.0  # sessions are 45 s and more
MOMENTS, MOMENT_S = 20, 0.0003  # from a JoinGroup that waits for its link to one that is parked
CLASSIC = {"session_timeout_ms": 60_000, "heartbeat_interval_ms": 200}
PROTOCOLS = {
    "range": CLASSIC,
    "cooperative": CLASSIC | {"partition_assignment_strategy": ["cooperative-sticky"]},
    "consumer": {"group_protocol": "consumer"},
}
# Its members wait for a heartbeat each time, 5 s.
CONSUMER = pytest.param("consumer", marks=pytest.mark.slow)


class Resident:
    """A member that polls in a thread of its own."""

    def __init__(self, make):
        self._consumer = make()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.held = frozenset()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self._stopped.set()
        self._thread.join()

    def _run(self):
        with self._consumer as consumer:
            while not self._stopped.is_set():
                consumer.poll(50)
                self.held = frozenset(consumer.assignment())


def wait_shared(*residents):
    """Until each has its share, and nothing is anybody else's."""
    end = time.monotonic() + SOON_S
    while True:
        shares = [len(resident.held) for resident in residents]
        together = frozenset().union(*(resident.held for resident in residents))
        if len(together) == sum(shares) == PARTITIONS and all(shares):
            return
        assert time.monotonic() < end, shares
        time.sleep(0.05)


def go_while_joining(consumer, later, unsubscribes):
    """Poll until a join is on its way, and so many times more, without waiting; then go."""
    with consumer:
        while consumer.group_metadata().state != MemberState.REBALANCING:
            consumer.poll(0)
        for _ in range(later):
            consumer.poll(0)
            time.sleep(MOMENT_S)
        if unsubscribes:
            consumer.unsubscribe()


@pytest.mark.parametrize("unsubscribes", [False, True])
@pytest.mark.parametrize("how", ["range", "cooperative", CONSUMER])
def test_nothing_is_left_of_who_goes_while_joining(kafka, names, how, unsubscribes):
    kafka.create_topic(names.topic, PARTITIONS)

    def make():
        return Consumer(
            names.topic, bootstrap_servers=kafka.bootstrap, group_id=names.group, **PROTOCOLS[how]
        )

    with Resident(make) as first:
        wait_shared(first)
        for later in range(MOMENTS):
            go_while_joining(make(), later, unsubscribes)
        with Resident(make) as second:
            wait_shared(first, second)
        wait_shared(first)


def connections():
    """This process's TCP sockets by their inodes: descriptors are used again."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # closed meanwhile
            what = os.fstat(int(name))
            if stat.S_ISSOCK(what.st_mode):
                with socket.socket(fileno=os.dup(int(name))) as one:
                    if one.family in (socket.AF_INET, socket.AF_INET6):
                        found[what.st_ino] = int(name)
    return found


def cut(descriptors):
    for number in descriptors:
        with socket.socket(fileno=os.dup(number)) as one:
            one.shutdown(socket.SHUT_RDWR)


@pytest.mark.skipif(sys.platform != "linux", reason="descriptors are looked up in /proc")
@pytest.mark.parametrize("how", ["range", CONSUMER])
def test_who_goes_when_its_links_are_lost_leaves(kafka, names, how):
    kafka.create_topic(names.topic, PARTITIONS)

    def make(**more):
        options = {"bootstrap_servers": kafka.bootstrap, "group_id": names.group}
        return Consumer(names.topic, **options, **PROTOCOLS[how], **more)

    with Resident(make) as first:
        wait_shared(first)
        before = connections()
        with make(enable_auto_commit=False) as second:  # a last commit would look, too
            end = time.monotonic() + SOON_S
            while not second.assignment():
                assert time.monotonic() < end
                second.poll(50)
            lost = {inode: at for inode, at in connections().items() if inode not in before}
            assert lost
            cut(lost.values())
            # It finds out: of most at the first look, but an answer may be read before an end.
            while lost.keys() & connections().keys():
                assert time.monotonic() < end
                second.poll(0)
        wait_shared(first)
