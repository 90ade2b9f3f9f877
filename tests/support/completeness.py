"""Nothing is left out quietly.

Without Java or Maven the tests marked `kafka` are skipped, and the run says so. With
KCORE_REQUIRE_ALL=1, as in continuous integration, a skipped test is a failed one, and so is one
that is expected to fail; a run in which no test met a real Kafka fails too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import real_kafka

import kcore

REQUIRE_ALL = os.environ.get("KCORE_REQUIRE_ALL") == "1"
NEED_KAFKA = {"installation", "kafka", "kafka3"}  # fixtures; who asks for one is marked `kafka`
MET_KAFKA = pytest.StashKey["MetKafka"]()


class MetKafka:
    """Counts what passed against a real Kafka, in this process or in those that it started."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.count += report.when == "call" and report.passed and "kafka" in report.keywords


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # who shares the tests out is told of all
        config.stash[MET_KAFKA] = MetKafka()
        config.pluginmanager.register(config.stash[MET_KAFKA])


def pytest_report_header() -> list[str]:
    said = [f"kcore: {os.path.dirname(kcore.__file__)}"]
    why = real_kafka.missing()
    if why:
        said.append(f"left out: every test against a real Kafka ({why})")
    return said


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if NEED_KAFKA & set(getattr(item, "fixturenames", ())):
            item.add_marker("kafka")
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
    met = session.config.stash.get(MET_KAFKA, None)
    if REQUIRE_ALL and session.exitstatus == pytest.ExitCode.OK and met and not met.count:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    count = terminalreporter.config.stash[MET_KAFKA].count
    if count or REQUIRE_ALL:
        terminalreporter.write_line(f"{count} tests passed against a real Kafka")
    if REQUIRE_ALL and not count:
        terminalreporter.write_line("a run with KCORE_REQUIRE_ALL=1 must have some", red=True)
