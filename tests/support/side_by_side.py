"""Three processes of tests at once: `pytest -n 3 --dist loadgroup`, as `make test` has it.

Most tests that talk to somebody wait most of their time (for a heartbeat, for a broker to start),
the cores idle. One process has those with a real Kafka or a Spark; beside it, making way for it, a
second one those with brokers in their own process; and a third one those that only calculate, at
the lowest priority, so that it gets what the others leave, and no test with a clock is slowed down.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadScopeScheduling

# Rooms whose tests have no sockets, no threads that they wait for and no clock but a stepped one.
CALCULATING = {
    "admin",
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
    "share",
    "sim",
    "telemetry",
    "tidy",
    "values",
    "wire",
}
# Rooms whose brokers are in the test's own process, or in one that it starts, and whose clocks are
# generous enough to wait for a core.
PATIENT = {"clients", "embedded"}
PATIENT_OF_OTHERS = ("transports/test_handshakes", "transports/test_tunnels")
# The exceptions.
WAITING = (
    "_differential",  # would start a second Kafka
    "embedded/test_embedded_consumer_journal",  # so would this
    "embedded/test_embedded_java",  # JVMs, and the patient have enough to do
    "clients/test_async_struck",  # it counts on being told of records soon
)
PRIORITIES = {"calculating": 19, "patient": 5, "waiting": 0}  # how far they make way


def kind_of(path: str) -> str:
    """What the tests of a file (`tests/ROOM/...`) do most of their time."""
    within = path.replace(os.sep, "/").partition("tests/")[2]
    room = within.partition("/")[0]
    if any(name in within for name in WAITING):
        return "waiting"
    if room in CALCULATING:
        return "calculating"
    return "patient" if room in PATIENT or within.startswith(PATIENT_OF_OTHERS) else "waiting"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """Each kind has a process of its own, if there are three."""
    if config.getvalue("dist") != "loadgroup":
        return None
    from by_kind import ByKind  # noqa: PLC0415 - xdist is only there with -n

    return ByKind(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A process makes way for the others, once it is known what its tests do."""
    shared = getattr(item.config.option, "loadgroup", False)  # in a process that xdist started
    if shared and os.environ["PYTEST_XDIST_WORKER_COUNT"] != "1":
        now = os.getpriority(os.PRIO_PROCESS, 0)
        wanted = PRIORITIES[kind_of(item.nodeid)]
        if wanted > now:
            os.setpriority(os.PRIO_PROCESS, 0, wanted)
