"""A test that nothing ends is ended, said to have failed, and the others are run."""

import re
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SUPPORT = Path(__file__).resolve().parents[1] / "support"
CONFTEST = f"""
import sys

sys.path.insert(0, {str(SUPPORT)!r})
pytest_plugins = ["side_by_side", "watchdog"]


def pytest_configure():
    import watchdog

    watchdog.GRACE_S = 1.0
"""
# What a clock that raises in the main thread, once, does not end.
HANGS = {
    "catches": """
    while True:
        try:
            time.sleep(10)
        except BaseException:
            pass
""",
    "alarmless": """
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(1000)
""",
    "looks_for_no_signal": """
    mutex = ctypes.create_string_buffer(256)
    for _ in range(2):
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)
""",
    "ends_never": """
    try:
        time.sleep(1000)
    finally:
        time.sleep(1000)
""",
    "teardown": """
    request.addfinalizer(lambda: time.sleep(1000))
    time.sleep(1000)
""",
}
MODULE = """
import ctypes, signal, time
import pytest

def test_before():
    pass

@pytest.mark.timeout(0.5)
def test_hangs(request):
{hangs}
{after}
"""
AFTER = """
@pytest.mark.parametrize("number", range(3))
def test_after(number):
    pass
"""


QUICK = {"looks_for_no_signal"}
# The one before is watched for 1.5 s.
UNWATCHED = """
import time
import pytest

@pytest.mark.timeout(0.5)
def test_before():
    pass

@pytest.mark.timeout(0)
def test_without_a_clock():
    time.sleep(2)
"""


@pytest.fixture
def inner(pytester, monkeypatch):
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\ntimeout = 60\n")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):
        monkeypatch.delenv(name, raising=False)
    return pytester


def test_who_has_no_clock_is_not_ended_by_another_ones(inner):
    inner.makepyfile(UNWATCHED)
    done = inner.runpytest_subprocess("-p", "no:cacheprovider", "-p", "pytest_timeout", timeout=60)
    done.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("way", "after"),
    [
        pytest.param(way, AFTER, id=way, marks=() if way in QUICK else pytest.mark.slow)
        for way in HANGS
    ]
    + [pytest.param("alarmless", "", id="nothing follows", marks=pytest.mark.slow)],
)
def test_a_test_that_hangs(inner, way, after):
    for room in ("wire", "clients", "embedded"):
        path = inner.path / "tests" / room / f"test_{room}.py"
        path.parent.mkdir(parents=True)
        one = HANGS[way] if room == "clients" else "    pass"
        path.write_text(MODULE.format(hangs=one, after=after))
    options = ["-p", "pytest_timeout", "-p", "xdist.plugin", "-n", "3", "--dist", "loadgroup"]
    done = inner.runpytest_subprocess("-p", "no:cacheprovider", "-rA", *options, timeout=60)
    said = done.stdout.str()
    failed = set(re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE))
    assert failed == {"tests/clients/test_clients.py::test_hangs"}
    outcomes = done.parseoutcomes()
    assert outcomes["failed"] == (2 if way == "teardown" else 1)  # struck in the test itself
    assert outcomes["passed"] == (14 if after else 5)
    assert re.search(r"test_clients\.py\", line \d+ in (test_hangs|<lambda>)", done.stderr.str())
    assert done.ret == pytest.ExitCode.TESTS_FAILED
