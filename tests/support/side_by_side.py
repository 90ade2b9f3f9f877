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
# The exceptions: they would start a second Kafka.
MEETS_KAFKA = (
    "test_coordinator_differential.py",
    "test_share_differential.py",
    "test_streams_differential",
)
# Of other rooms: those whose brokers are in the test's own process, and whose clocks are generous
# enough to wait for a core. The first process would take a minute longer with them.
PATIENT = (
    "clients/test_admin_",
    "clients/test_assertions",
    "clients/test_async_consumer_struck",
    "clients/test_async_transactions",
    "clients/test_canonical_names",
    "clients/test_producer_chaos",
    "clients/test_producer_struck",
    "clients/test_share",
    "clients/test_struck",
    "clients/test_through_proxies",
    "clients/test_transactions",
    "clients/test_wrong_arguments",
    "embedded/test_embedded_clients",
    "embedded/test_embedded_directory",
    "embedded/test_embedded_docs",
    "embedded/test_embedded_followers",
    "embedded/test_embedded_groups",
    "embedded/test_embedded_java",
    "embedded/test_embedded_mishaps",
    "embedded/test_embedded_quotas",
    "embedded/test_embedded_share_groups",
    "embedded/test_embedded_tokens",
    "embedded/test_embedded_transactions",
    "embedded/test_gone_at_any_moment",
    "transports/test_handshakes",
    "transports/test_tunnels",
)
LOWEST = 19


def calculates(path: str) -> bool:
    """Whether the tests of a file (`tests/ROOM/...`) only calculate, or bear to be treated so."""
    within = path.replace(os.sep, "/").partition("tests/")[2]
    room, _, rest = within.partition("/")
    if room in CALCULATING:
        return not rest.startswith(MEETS_KAFKA)
    return within.startswith(PATIENT)


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
