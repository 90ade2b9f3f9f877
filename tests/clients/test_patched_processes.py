"""Blocking clients where gevent or eventlet has put greenlets in the place of threads: every kind,
over TLS, used by several at once, and nobody keeps the others from their turn.
"""

import subprocess
import sys

import pytest

from kcore.embedded import EmbeddedBroker


@pytest.mark.parametrize("when", ["early", pytest.param("late", marks=pytest.mark.slow)])
@pytest.mark.parametrize("patches", ["gevent", "eventlet"])
def test_every_client(pytestconfig, patches, when):
    program = pytestconfig.rootpath / "tests" / "support" / "patched_program.py"
    with EmbeddedBroker(security_protocol="SSL") as broker:
        command = [sys.executable, program, patches, when, broker.bootstrap, broker.ssl_cafile]
        run = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        assert run.returncode == 0, run.stderr
        assert run.stdout == "all of it, turns\n"
        # What was written, the marker of what was aborted and its record, and the last one.
        assert sum(broker.end_offsets("patched")) == 4 * 300 + 3
