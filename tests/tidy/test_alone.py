"""A file of tests can be run by itself, whatever it does not load that others do."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ONE = "tests/tidy/test_archive.py"


def test_a_file_that_loads_nothing_itself():
    # anyio's plugin loads trio, hypothesis's at the end hypothesis, which looks for trio's things.
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", ONE]
    ours = ("PYTEST", "KCORE_")  # of this run: KCORE_REQUIRE_ALL=1 wants a real Kafka in each
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
