"""Where Java is missing, no test of Spark passes as if it were there: it is left out and said, and
with KCORE_REQUIRE_ALL=1 it fails.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TESTS = Path(__file__).parents[1]
# Everything that needs Java, in every way it is asked for: by a fixture or by a mark.
FILES = (
    *sorted((TESTS / "pipeline").glob("test_spark_*.py")),
    TESTS / "pipeline_jobs" / "test_jobs_cluster.py",
    TESTS / "pipeline_jobs" / "test_jobs_killed.py",
)


def run_without_java(folder, **environment):
    """{outcome: how many}."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, FILES)]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "JAVA_HOME": str(folder), **environment},
    )
    last = done.stdout.splitlines()[-1]
    return {what: int(count) for count, what in re.findall(r"(\d+) (\w+)", last)}


def test_without_java_they_are_left_out_and_when_all_is_required_they_fail(tmp_path):
    left_out = run_without_java(tmp_path, KCORE_REQUIRE_ALL="0")
    assert left_out.keys() == {"skipped"}, left_out
    assert left_out["skipped"] > 50
    failed = run_without_java(tmp_path, KCORE_REQUIRE_ALL="1")
    assert failed.keys() <= {"failed", "errors", "error"}, failed
    assert sum(failed.values()) == left_out["skipped"], failed
