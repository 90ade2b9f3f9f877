"""Ctrl-C in a process of its own: KeyboardInterrupt comes out of a blocked step, and the pump
survives it.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from kcore.transports import NAMES

SCRIPT = """
import os, sys
{patch}
sys.path.insert(0, {support!r})
from toy_core import ToyCore
from kcore.transports import Pump, Step, create

pump = Pump(ToyCore(), create({name!r}))
pump.step(0)
try:
    print("ready", flush=True)
    pump.step({timeout})
except KeyboardInterrupt:
    assert pump.step(10) is Step.IDLE
    pump.wakeup()
    assert pump.step(10_000) is Step.WOKEN
    pump.close()
    print("interrupted", flush=True)
    sys.exit(0)
sys.exit("the step ended without KeyboardInterrupt")
"""
PATCH = "from gevent import monkey; monkey.patch_all()"


@pytest.mark.parametrize("patch", ["", PATCH], ids=["plain", "patched"])
@pytest.mark.parametrize("timeout", [30_000, None])
@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_ends_a_blocked_step_at_once(name, timeout, patch, pytestconfig):
    support = str(pytestconfig.rootpath / "tests" / "support")
    script = SCRIPT.format(name=name, timeout=timeout, patch=patch, support=support)
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.1)  # into the wait
            sent = time.monotonic()
            process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == "interrupted\n"
            assert time.monotonic() - sent < 5  # not the 30 s of the step
            assert process.wait(10) == 0
        finally:
            process.kill()
