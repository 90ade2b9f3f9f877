"""The log in an outage: a line when it begins, one when it ends, a summary between."""

import logging
import subprocess
import sys

import pytest

from kcore import errors
from kcore.clients.reporting import SUMMARY_MS, Reporter
from kcore.events import (
    ClusterReachable,
    ClusterUnreachable,
    GroupJoined,
    GroupLeft,
    LinkClosed,
    LinkOpened,
    OffsetReset,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    RebalanceStarted,
    TopicRecreated,
    TopicsMissing,
)
from kcore.structs import TopicPartition

REFUSED = errors.KafkaConnectionError("connection refused")


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, logger="kcore.consumer")
    return lambda: [record.getMessage() for record in caplog.records]


def test_an_outage_of_two_minutes_makes_few_lines(lines):
    reporter = Reporter("g")
    reporter.report(ClusterUnreachable(REFUSED), 0)
    for now in range(0, 120_000, 250):
        reporter.report(LinkClosed(1, "a", 9092, REFUSED), now)
    reporter.report(ClusterReachable(120_000, 480), 120_000)
    said = lines()
    assert len(said) == 2 + 120_000 // SUMMARY_MS - 1
    assert "no broker can be reached" in said[0]
    assert "121 attempts" in said[1]
    assert "answers again after 120.0 s" in said[-1]


def test_links_that_end_by_themselves_are_no_news(lines):
    reporter = Reporter("g")
    reporter.report(LinkClosed(1, "a", 9092, REFUSED), 0)
    assert lines() == []
    assert reporter.attempts == {"a:9092": "connection refused"}


def test_reasons_are_kept_for_few_addresses_only():
    reporter = Reporter("g")
    for number in range(1000):
        reporter.report(LinkClosed(number, f"h{number}", 1, REFUSED), 0)
    assert len(reporter.attempts) <= 10


def test_where_reading_begins_is_said_and_a_jump_is_warned_of(caplog):
    caplog.set_level(logging.INFO, logger="kcore.consumer")
    reporter, at = Reporter("g"), TopicPartition("t", 0)
    reporter.report(OffsetReset(at, 7, "latest"), 0)
    reporter.report(OffsetReset(at, 500, "earliest", before=100), 0)
    reporter.report(OffsetReset(at, 80, "truncated", before=100), 0)
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("INFO", "g: t-0 starts at 7 (latest)"),
        ("WARNING", "g: t-0 goes on at 500 (earliest): its log does not hold 100 (any more)"),
        ("WARNING", "g: t-0 goes on at 80: its log was cut off there, and 100 had been reached"),
    ]


def test_topics_are_said_in_words(lines):
    reporter = Reporter("g")
    reporter.report(TopicsMissing(frozenset({"u", "t"})), 0)
    reporter.report(TopicsMissing(frozenset()), SUMMARY_MS)
    reporter.report(TopicRecreated(TopicPartition("t", 3), 70), 2 * SUMMARY_MS)
    missing, anew = lines()
    assert missing == "g: the cluster does not have t, u (now)"
    assert "t-3 was read up to 70 when its topic was deleted and made anew" in anew


def test_failing_auto_commits_do_not_flood(lines):
    reporter = Reporter("g")
    for now in range(0, 60_000, 100):
        reporter.report(OffsetsCommitted(None, {}, errors.CommitFailedError("x")), now)
    assert len(lines()) == 2


def test_joins_are_told(lines):
    reporter = Reporter("g")
    reporter.report(GroupJoined(3, "m-1", "m-1", "range", True, 4), 0)
    many = tuple(TopicPartition("t", n) for n in range(500))
    reporter.report(PartitionsAssigned(many, many, 3), 0)
    joined, assigned = lines()
    assert "generation 3" in joined
    assert "leader of 4" in joined
    assert "and 490 more" in assigned


FIRST_WORDS = """
import sys
from kcore.clients.log import Log
log = Log("kcore.consumer")
log.debug("one %d", 1)
log.info("two")
assert "logging" not in sys.modules
log.warning("three %d", 3)
log.info("four")
import logging
logging.basicConfig(level="DEBUG", format="%(funcName)s %(name)s %(levelname)s %(message)s")
def speak():
    log.debug("five %d", 5)
speak()
"""


def test_the_first_word_that_counts_loads_logging():
    done = subprocess.run(
        [sys.executable, "-c", FIRST_WORDS], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.splitlines() == ["three 3", "speak kcore.consumer DEBUG five 5"]


def test_a_broker_that_cannot_be_reached_while_others_can_is_named(lines):
    reporter = Reporter("me")
    lost = LinkClosed(3, "inside.example", 9092, REFUSED, opened=False)
    for now in range(4):
        reporter.report(lost, now)
    assert lines() == []
    for now in range(10, 100):
        reporter.report(lost, now)
    (line,) = lines()
    assert "node 3 cannot be reached at inside.example:9092" in line
    assert "advertised.listeners" in line
    reporter.report(LinkOpened(3, "inside.example", 9092), 50_000)
    reporter.report(lost, 50_001)
    assert len(lines()) == 1
    for now in range(50_002, 50_010):
        reporter.report(lost, now)
    assert len(lines()) == 2


def test_links_that_were_open_or_are_of_the_bootstrap_are_no_news(lines):
    reporter = Reporter("me")
    for now in range(20):
        reporter.report(LinkClosed(3, "a", 9092, REFUSED), now)
        reporter.report(LinkClosed(-1, "a", 9092, REFUSED, opened=False), now)
    assert lines() == []


def test_what_is_lost_is_said_with_the_reason(caplog):
    caplog.set_level(logging.WARNING)
    reporter, at = Reporter("g"), TopicPartition("t", 0)
    reporter.report(RebalanceStarted("subscribed"), 0)
    reporter.report(PartitionsAssigned((at,), (at,), 1), 0)
    reporter.report(GroupLeft("1008 ms passed without a poll"), 0)
    reporter.report(RebalanceStarted("1008 ms passed without a poll"), 0)
    reporter.report(PartitionsLost((at,)), 0)
    reporter.report(PartitionsAssigned((at,), (at,), 2), 0)
    reporter.report(PartitionsLost((at,)), 0)  # an error that is raised says why
    assert [record.getMessage() for record in caplog.records] == [
        "g: lost t-0: 1008 ms passed without a poll",
        "g: lost t-0",
    ]


def test_each_kind_of_client_has_a_logger_of_its_own(caplog):
    for kind in ("consumer", "producer", "admin"):
        Reporter("me", kind).report(ClusterUnreachable(REFUSED), 0)
    assert [record.name for record in caplog.records] == [
        "kcore.consumer",
        "kcore.producer",
        "kcore.admin",
    ]
