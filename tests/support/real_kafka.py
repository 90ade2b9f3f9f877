"""Fixtures for tests against a real Apache Kafka: one node, three nodes, names of one's own.

Session-wide, because a start takes seconds: a test makes its own topic and group with `names` and
leaves the cluster as it found it (nodes that it stopped are started again).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from kcore.cli.demo.java import KafkaInstallation, KafkaUnavailableError, find_installation
from kcore.cli.demo.kafka_cluster import KafkaCluster

CLUSTERS = pytest.StashKey[list[KafkaCluster]]()
LOG_SECTION = "Kafka's logs"
_numbers = itertools.count(1)


def missing() -> str | None:
    """Why no real Kafka can be started here; None if one can."""
    try:
        find_installation()
    except KafkaUnavailableError as why:
        return str(why)
    return None


@dataclass(frozen=True)
class Names:
    """A topic and a group that nobody else in this session uses."""

    topic: str
    group: str


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Names:
    number = next(_numbers)
    base = "".join(ch if ch.isalnum() else "-" for ch in request.node.name)[:80]
    return Names(f"{base}-{number}", f"group-{base}-{number}")


# Records of tests have what timestamps they like: the defaults, a look half a minute after a start
# and one every five minutes, took those away that were as old as that in the middle of a test.
_A_DAY_MS = 24 * 3_600_000
# Controllers that have nothing to do write that twice a second, to all nodes: a third of what four
# nodes take that nobody asks anything.
SETTINGS = {
    "log.retention.check.interval.ms": str(_A_DAY_MS),
    "log.initial.task.delay.ms": str(_A_DAY_MS),
    "metadata.max.idle.interval.ms": "0",
}


def _started(config: pytest.Config, nodes: int) -> Iterator[KafkaCluster]:
    with KafkaCluster(nodes, settings=SETTINGS) as cluster:
        config.stash.setdefault(CLUSTERS, []).append(cluster)
        yield cluster
        config.stash[CLUSTERS].remove(cluster)


@pytest.fixture(scope="session")
def installation() -> KafkaInstallation:
    """A Java and Kafka's jars, for tests that run its tools and classes."""
    return find_installation()


@pytest.fixture(scope="session")
def kafka(pytestconfig: pytest.Config) -> Iterator[KafkaCluster]:
    """A real Kafka of one node."""
    yield from _started(pytestconfig, 1)


@pytest.fixture(scope="session")
def _kafka3(pytestconfig: pytest.Config) -> Iterator[KafkaCluster]:
    yield from _started(pytestconfig, 3)


@pytest.fixture
def kafka3(_kafka3: KafkaCluster) -> Iterator[KafkaCluster]:
    """A real Kafka of three nodes; whatever a test does to them, all serve again afterwards."""
    yield _kafka3
    for node in _kafka3.nodes:
        node.resume()
    _kafka3.start()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that need three nodes come last: idle ones take a twentieth of a core till then."""
    late = {item.path for item in items if "_kafka3" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: item.path in late)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Add the brokers' last log lines to the report of a failed test that used one."""
    outcome = yield
    report = outcome.get_result()
    used = {"kafka", "kafka3"} & set(getattr(item, "fixturenames", ()))
    if report.failed and used:
        for cluster in item.config.stash.get(CLUSTERS, []):
            if not cluster.closed:
                report.sections.append((LOG_SECTION, cluster.log_tails()))
