"""Nothing is left out quietly.

Without Java or Maven the tests marked `kafka` are skipped, and the run says so. With
KCORE_REQUIRE_ALL=1, as in continuous integration, a skipped test is a failed one, and so is one
that is expected to fail; a run in which no test met a real Kafka fails too.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest
import real_kafka

import kcore

REQUIRE_ALL = os.environ.get("KCORE_REQUIRE_ALL") == "1"
NEED_KAFKA = {"installation", "kafka", "kafka3"}  # fixtures; who asks for one is marked `kafka`
NEED_SPARK = {"spark"}  # who asks for it is marked so
PEERS = {"kafka": "against a real Kafka", "spark": "in Spark"}  # by their marks
MET = pytest.StashKey["Met"]()


class Met:
    """Counts what passed beside whom, in this process or in those that it started."""

    def __init__(self) -> None:
        self.counts = Counter(dict.fromkeys(PEERS, 0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.counts.update(mark for mark in PEERS if mark in report.keywords)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # who shares the tests out is told of all
        config.stash[MET] = Met()
        config.pluginmanager.register(config.stash[MET])


def pytest_report_header() -> list[str]:
    said = [f"kcore: {os.path.dirname(kcore.__file__)}"]
    why = real_kafka.missing()
    if why:
        said.append(f"left out: every test against a real Kafka ({why})")
    return said


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        asked_for = set(getattr(item, "fixturenames", ()))
        if NEED_KAFKA & asked_for:
            item.add_marker("kafka")
        if NEED_SPARK & asked_for:
            item.add_marker("spark")
    why = real_kafka.missing() if any(item.get_closest_marker("kafka") for item in items) else None
    for item in items:
        if why and item.get_closest_marker("kafka"):
            item.add_marker(pytest.mark.skip(reason=f"no real Kafka: {why}"))


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    expected = getattr(report, "wasxfail", None)  # says why; set also if it passed all the same
    if REQUIRE_ALL and (report.skipped or expected is not None):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        if expected is not None:
            reason = f"expected to fail, {expected}"
            del report.wasxfail  # type: ignore[union-attr]
        report.outcome = "failed"
        report.longrepr = f"left out although KCORE_REQUIRE_ALL=1: {reason}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    outcome = yield
    _refuse_skip(outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    outcome = yield
    _refuse_skip(outcome.get_result())


def pytest_sessionfinish(session: pytest.Session) -> None:
    met = session.config.stash.get(MET, None)
    if REQUIRE_ALL and session.exitstatus == pytest.ExitCode.OK and met and not met.counts["kafka"]:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts = terminalreporter.config.stash[MET].counts
    for mark, where in PEERS.items():
        if counts[mark] or (REQUIRE_ALL and mark == "kafka"):
            terminalreporter.write_line(f"{counts[mark]} tests passed {where}")
    if REQUIRE_ALL and not counts["kafka"]:
        terminalreporter.write_line("a run with KCORE_REQUIRE_ALL=1 must have some", red=True)
