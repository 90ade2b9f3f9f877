"""Two processes of tests at once: `pytest -n 2 --dist loadgroup`, as `make test` has it.

Most tests that talk to somebody wait most of their time (for a heartbeat, for a broker to start),
one core idle. Meanwhile a second process runs those that only calculate, at the lowest priority, so
that it gets what the others leave, and no test with a clock is slowed down by it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

# Rooms whose tests have no sockets, no threads that they wait for and no clock but a stepped one.
CALCULATING = {
    "assignors",
    "broker",
    "cluster",
    "connection",
    "consumer",
    "consumer_config",
    "coordinator",
    "errors",
    "fetch",
    "fuzz",
    "group",
    "produce",
    "producer",
    "records",
    "sim",
    "tidy",
    "values",
    "wire",
}
# The exception: it would start a second Kafka.
MEETS_KAFKA = "test_coordinator_differential.py"
LOWEST = 19


def calculates(path: str) -> bool:
    """Whether the tests of a file (`tests/ROOM/...`) only calculate."""
    room, _, rest = path.replace(os.sep, "/").partition("tests/")[2].partition("/")
    return room in CALCULATING and not rest.startswith(MEETS_KAFKA)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """Each kind has a process of its own."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling  # noqa: PLC0415 - only there with -n

    class ByKind(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "calculating" if calculates(nodeid.partition("::")[0]) else "waiting"

    return ByKind(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """The process that calculates makes way, once it is known which one that is."""
    shared = getattr(item.config.option, "loadgroup", False)  # in a process that xdist started
    if shared and os.environ["PYTEST_XDIST_WORKER_COUNT"] != "1" and calculates(item.nodeid):
        os.setpriority(os.PRIO_PROCESS, 0, LOWEST)
