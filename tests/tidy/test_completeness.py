"""With KCORE_REQUIRE_ALL=1 whatever leaves a test out, in any form, fails the run."""

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SUPPORT = Path(__file__).resolve().parents[1] / "support"
CONFTEST = """
import sys

sys.path.insert(0, {support!r})
pytest_plugins = ["real_kafka", "completeness"]


def pytest_configure():
    import real_kafka

    real_kafka.missing = lambda: "no Java in this test"
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


@pytest.fixture
def run(pytester, monkeypatch):
    pytester.makeconftest(CONFTEST.format(support=str(SUPPORT)))
    pytester.makeini("[pytest]\nmarkers = kafka: a real Kafka\n")

    def run(required, **modules):
        monkeypatch.setenv("KCORE_REQUIRE_ALL", required)
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they have no part in this
        pytester.makepyfile(**modules)
        return pytester.runpytest_subprocess(
            "-p", "no:cacheprovider", "-rA", "--continue-on-collection-errors"
        )

    return run


def named(text):
    return set(re.findall(r"def (test_by_\w+)", text))


def test_every_form_of_leaving_out_is_a_failure(run):
    texts = {"test_forms": FORMS, **MODULES}
    names = named("".join(texts.values()))
    assert len(names) > 20
    done = run("1", **texts)
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


def test_a_run_that_met_no_kafka_fails_where_all_is_required(run):
    done = run("1", test_good=GOOD)
    assert done.parseoutcomes() == {"passed": 1}
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    assert "a run with KCORE_REQUIRE_ALL=1 must have some" in done.stdout.str()
