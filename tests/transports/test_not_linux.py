"""Systems that are not Linux, as far as one can be had here: rooms of tests in a process from which
what only Linux has was taken away (tests/support/not_linux.py).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "files",
    [
        ["tests/transports/test_contract.py", "tests/transports/test_serve.py"],
        pytest.param(
            ["tests/transports/test_interrupt.py", "tests/embedded/test_embedded_clients.py"],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["the contract", "the rest"],
)
def test_clients_and_the_embedded_broker_do_without_what_only_linux_has(files):
    plain = ["-q", "-p", "not_linux", "-p", "no:cacheprovider", "-m", "not slow and not kafka"]
    pytest_run = [sys.executable, "-m", "pytest", *plain, *files]
    env = {name: value for name, value in os.environ.items() if name != "KCORE_REQUIRE_ALL"}
    ended = subprocess.run(
        pytest_run, cwd=ROOT, env=env, capture_output=True, text=True, timeout=100
    )
    assert ended.returncode == 0, ended.stdout[-5000:]
    assert "not Linux: no eventfd" in ended.stdout
