"""Several processes of tests at once: `pytest -n 6 --dist loadgroup`, as `make test` has it.

Most tests that talk to somebody wait most of their time (for a heartbeat, for a broker to start),
the cores idle. One process has those with a real Kafka; another one those that wait for others (a
Spark, a tool, a clock that is short); beside them, making way for them, two have those with brokers
in their own process, of clients and of the broker; and two those that only calculate, at the lowest
priority, so that they get what the others leave, and no test with a clock is slowed down. Each
collects what is its own.
"""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from by_kind import ByKind
    from xdist.workermanage import WorkerController

# Rooms whose tests have no sockets, no threads that they wait for and no clock but a stepped one.
CALCULATING = {
    "admin",
    "assignors",
    "broker",
    "cluster",
    "connection",
    "consumer_config",
    "errors",
    "fetch",
    "fuzz",
    "produce",
    "producer",
    "records",
    "telemetry",
    "tidy",
    "values",
    "wire",
}
# And those in which clients and brokers play whole stories on such a clock.
SIMULATING = {"consumer", "coordinator", "group", "share", "sim"}
# Rooms whose brokers are in the test's own process, or in one that it starts, and whose clocks are
# generous enough to wait for a core.
PATIENT = ("clients", "embedded")
# Files that are another kind than their room.
EXCEPTIONS = {
    "embedded/test_embedded_java": "waiting",  # JVMs, and those with brokers have enough to do
    "clients/test_confluent": "embedded",  # those of clients take the longest
    "clients/test_async_struck": "waiting",  # it counts on being told of records soon
    "transports/test_handshakes": "calculating",
    "transports/test_tunnels": "embedded",
}
# Who would start one more Kafka where others have none.
WITH_KAFKA = (
    "interop/",
    "_differential",
    "embedded/test_embedded_consumer_journal",
    "embedded/test_streams_admin",
    "examples/test_examples",
    "cli/test_journal_format",
)
# How far each makes way.
PRIORITIES = {
    "kafka": 0,
    "waiting": 0,
    "clients": 5,
    "embedded": 5,
    "calculating": 19,
    "simulating": 19,
}
# How often the garbage collector looks: a tenth of the time of those that calculate goes into it,
# and they have nothing that has to be closed.
USUALLY = gc.get_threshold()
RARELY = (50_000, 20, 20)
FREE = pytest.StashKey[list[list[str]]]()
SESSION = pytest.StashKey[pytest.Session]()


def kind_of(path: str) -> str:
    """What the tests of a file (`tests/ROOM/...`) do most of their time."""
    within = path.replace(os.sep, "/").partition("tests/")[2]
    room = within.partition("/")[0]
    if any(name in within for name in WITH_KAFKA):
        return "kafka"
    for name, kind in EXCEPTIONS.items():
        if within.startswith(name):
            return kind
    if room in CALCULATING:
        return "calculating"
    if room in SIMULATING:
        return "simulating"
    return room if room in PATIENT else "waiting"


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[SESSION] = session


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config) -> ByKind | None:
    if config.getvalue("dist") != "loadgroup":
        return None
    from by_kind import ByKind  # noqa: PLC0415 - xdist is only there with -n

    return ByKind(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """A process is told what is its own; one that follows another gets what that one had."""
    processes = len(node.nodemanager.specs)
    kinds = list(PRIORITIES)
    free = node.config.stash.setdefault(FREE, [kinds[one::processes] for one in range(processes)])
    node.workerinput["kinds"] = free.pop(0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: WorkerController, error: object) -> None:
    if error is not None:
        node.config.stash[FREE].append(node.workerinput["kinds"])


def _own_kinds(config: pytest.Config) -> list[str] | None:
    """None: all."""
    if not getattr(config.option, "loadgroup", False):  # in a process that xdist started
        return None
    return config.workerinput["kinds"]  # type: ignore[attr-defined, no-any-return]


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    kinds = _own_kinds(config)
    if kinds is None or collection_path.suffix != ".py":
        return None
    within = os.path.relpath(collection_path, config.rootpath)
    return kind_of(within) not in kinds or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files that are named on the command line are collected by all."""
    kinds = _own_kinds(config)
    if kinds is not None:
        items[:] = [item for item in items if kind_of(item.nodeid) in kinds]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A process makes way for the others, once it is known what its tests do."""
    priority = PRIORITIES[kind_of(item.nodeid)]
    gc.set_threshold(*(RARELY if priority == PRIORITIES["calculating"] else USUALLY))
    if _own_kinds(item.config) and os.environ["PYTEST_XDIST_WORKER_COUNT"] != "1":
        now = os.getpriority(os.PRIO_PROCESS, 0)
        if priority > now:
            os.setpriority(os.PRIO_PROCESS, 0, priority)
