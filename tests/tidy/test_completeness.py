"""With KCORE_REQUIRE_ALL=1 whatever leaves a test out, in any form, fails the run."""

import os
import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SUPPORT = Path(__file__).resolve().parents[1] / "support"
CONFTEST = """
import sys

sys.path.insert(0, {support!r})
pytest_plugins = ["real_kafka", "completeness", "side_by_side", "brief_reports"]


def pytest_configure():
    import real_kafka

    real_kafka.missing = lambda: {missing!r}
"""

# Each of these tests is left out, in a way of its own; the names are those of the tests.
FORMS = """
import unittest

import pytest


def test_by_a_call():
    pytest.skip("why")


@pytest.mark.skip(reason="why")
def test_by_a_mark():
    pass


@pytest.mark.skipif(True, reason="why")
def test_by_a_condition():
    pass


@pytest.mark.skipif("1 == 1", reason="why")
def test_by_a_condition_in_words():
    pass


def test_by_an_import():
    pytest.importorskip("no_such_module_anywhere")


def test_by_an_exception():
    raise unittest.SkipTest("why")


@pytest.fixture
def absent():
    pytest.skip("why")


def test_by_a_fixture(absent):
    pass


@pytest.fixture
def gone_at_the_end():
    yield
    pytest.skip("why")


def test_by_a_fixture_at_its_end(gone_at_the_end):
    pass


def test_by_a_failure_that_is_told_of():
    pytest.xfail("why")


@pytest.mark.xfail(reason="why")
def test_by_a_failure_that_is_expected():
    assert False


@pytest.mark.xfail(reason="why")
def test_by_a_failure_that_is_expected_and_does_not_come():
    pass


@pytest.mark.xfail(run=False, reason="why")
def test_by_not_running():
    pass


@pytest.mark.parametrize("of_many", [pytest.param(1, marks=pytest.mark.skip(reason="why"))])
def test_by_a_parameter(of_many):
    pass


@pytest.mark.parametrize("of_none", [])
def test_by_no_parameters(of_none):
    pass


def test_by_a_part(subtests):
    with subtests.test("a part"):
        pytest.skip("why")


@pytest.mark.skip(reason="why")
class TestClass:
    def test_by_its_class(self):
        pass


class TestCase(unittest.TestCase):
    @unittest.skip("why")
    def test_by_unittest(self):
        pass

    @unittest.expectedFailure
    def test_by_unittest_s_expectation(self):
        self.fail()


def test_by_a_kafka_that_is_not_there(kafka):
    pass


def test_by_tools_that_are_not_there(installation):
    pass


@pytest.mark.kafka
def test_by_a_mark_for_kafka():
    pass
"""
# Whole modules.
MODULES = {
    "test_module_call": 'import pytest\npytest.skip("why", allow_module_level=True)\n',
    "test_module_import": 'import pytest\npytest.importorskip("no_such_module_anywhere")\n',
    "test_module_mark": """
import pytest
pytestmark = pytest.mark.skip(reason="why")


def test_by_its_module():
    pass
""",
    "test_module_exception": 'import unittest\nraise unittest.SkipTest("why")\n',
}
GOOD = "def test_good():\n    pass\n"
# One of each kind; some are said to meet others.
KINDS = {
    "tests/wire/test_calculates": """
import os
import pytest


@pytest.mark.parametrize("number", range(3))
def test_calculates(number):
    print("calculates", os.getpid(), os.getpriority(os.PRIO_PROCESS, 0), "end")
""",
    "tests/clients/test_is_patient": """
import os


def test_is_patient():
    print("patient", os.getpid(), os.getpriority(os.PRIO_PROCESS, 0), "end")
""",
    "tests/embedded/test_differential": """
import os
import pytest


@pytest.fixture
def spark():
    pass


@pytest.mark.kafka
@pytest.mark.parametrize("number", range(3))
def test_waits(number):
    print("waits", os.getpid(), os.getpriority(os.PRIO_PROCESS, 0), "end")


def test_spark(spark):
    pass
""",
}
ALONE = ()
SIDE_BY_SIDE = ("-p", "xdist.plugin", "-n", "3", "--dist", "loadgroup")
OPTIONS = [ALONE, pytest.param(SIDE_BY_SIDE, marks=pytest.mark.slow)]
LATER = pytest.param(ALONE, marks=pytest.mark.slow)


@pytest.fixture
def run(pytester, monkeypatch):
    def run(required, *options, missing="no Java in this test", **modules):
        pytester.makeconftest(CONFTEST.format(support=str(SUPPORT), missing=missing))
        pytester.makeini("[pytest]\nmarkers =\n    kafka: a real Kafka\n    spark: a Spark\n")
        monkeypatch.setenv("KCORE_REQUIRE_ALL", required)
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they have no part in this
        for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
            monkeypatch.delenv(name, raising=False)
        for name, text in modules.items():
            path = pytester.path / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return pytester.runpytest_subprocess(
            "-p", "no:cacheprovider", "-rA", "--continue-on-collection-errors", *options
        )

    return run


def named(text):
    return set(re.findall(r"def (test_by_\w+)", text))


@pytest.mark.parametrize("options", [LATER, SIDE_BY_SIDE], ids=["alone", "side by side"])
def test_every_form_of_leaving_out_is_a_failure(run, options):
    texts = {"test_forms": FORMS, **MODULES}
    names = named("".join(texts.values()))
    assert len(names) > 20
    done = run("1", *options, **texts)
    said = done.stdout.str()
    failed = set(re.findall(r"^(?:FAILED|ERROR|SUBFAILED).*?(test_by_\w+)", said, re.MULTILINE))
    assert failed == names
    modules = set(re.findall(r"^ERROR (test_module_\w+)\.py - left out", said, re.MULTILINE))
    assert modules == {name for name, text in MODULES.items() if not named(text)}
    outcomes = done.parseoutcomes()
    assert not {"skipped", "xfailed", "xpassed"} & outcomes.keys(), outcomes
    assert done.ret == pytest.ExitCode.TESTS_FAILED


def test_elsewhere_what_cannot_run_is_left_out_and_said(run):
    done = run("0", test_forms=FORMS, test_good=GOOD, **MODULES)
    outcomes = done.parseoutcomes()
    assert done.ret == pytest.ExitCode.OK
    assert outcomes["skipped"] > 10
    assert "left out: every test against a real Kafka (no Java in this test)" in done.stdout.str()


@pytest.mark.parametrize("options", OPTIONS, ids=["alone", "side by side"])
def test_a_run_that_met_no_kafka_fails_where_all_is_required(run, options):
    done = run("1", *options, test_good=GOOD)
    assert done.parseoutcomes() == {"passed": 1}
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    assert "a run with KCORE_REQUIRE_ALL=1 must have some" in done.stdout.str()


def met(done):
    assert done.ret == pytest.ExitCode.OK
    assert done.parseoutcomes() == {"passed": 8}
    assert "1 tests passed in Spark" in done.stdout.str()
    assert "3 tests passed against a real Kafka" in done.stdout.str()


@pytest.mark.slow
def test_those_that_met_a_kafka_or_a_spark_are_counted(run):
    met(run("1", missing=None, **KINDS))


def test_side_by_side_each_kind_makes_way_for_those_that_wait_for_others(run):
    done = run("1", *SIDE_BY_SIDE, missing=None, **KINDS)
    met(done)
    said = re.findall(r"^(\w+) (\d+) (\d+) end$", done.stdout.str(), re.MULTILINE)
    assert len(said) == 7
    own = str(os.getpriority(os.PRIO_PROCESS, 0))
    processes = {kind: process for kind, process, _ in said}
    assert len(set(processes.values())) == 3
    assert {(kind, priority) for kind, _, priority in said} == {
        ("calculates", "19"), ("patient", str(max(5, int(own)))), ("waits", own)
    }  # fmt: skip


MANY = """
import time
import pytest


@pytest.mark.parametrize("number", range(400))
def test_many(number):
    time.sleep(0.02)
"""


@pytest.mark.slow
def test_the_first_failure_ends_the_other_processes_too(run):
    files = {"tests/wire/test_fails": "def test_fails():\n    assert False\n"}
    done = run("0", *SIDE_BY_SIDE, "-x", missing=None, **files, **{"tests/clients/test_many": MANY})
    outcomes = done.parseoutcomes()
    assert outcomes["failed"] == 1
    assert outcomes.get("passed", 0) < 200  # 32 are begun at a time; all would be 400


@pytest.mark.slow
def test_a_file_that_is_named_is_run_once(run):
    done = run("0", *SIDE_BY_SIDE, "tests/wire/test_good.py", **{"tests/wire/test_good": GOOD})
    assert done.parseoutcomes() == {"passed": 1}


COUNTS = """
from collections import Counter

counts = Counter()


def pytest_runtest_logreport(report):
    counts[report.when, report.outcome] += 1


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"counted {sorted(counts.items())}")
"""
PARTS = """
import pytest


@pytest.fixture(params=["neither", "before", "after"])
def fails(request):
    assert request.param != "before"
    yield
    assert request.param != "after"


def test_parts(fails):
    pass
"""
BRIEF = [(("call", "passed"), 2), (("setup", "failed"), 1), (("teardown", "failed"), 1)]
WHOLE = sorted([*BRIEF, (("setup", "passed"), 2), (("teardown", "passed"), 2)])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "counted"),
    [([], BRIEF), (["--junit-xml=x.xml"], WHOLE), (["--durations=3"], WHOLE)],
    ids=["brief", "whole", "timed"],
)
def test_a_setup_that_goes_well_is_told_only_to_who_asks(run, options, counted):
    modules = {"tests/wire/test_parts": PARTS, "counts": COUNTS}
    done = run("0", *SIDE_BY_SIDE, "-p", "counts", *options, missing=None, **modules)
    assert done.parseoutcomes() == {"passed": 2, "errors": 2}
    assert f"counted {counted}" in done.stdout.str()
