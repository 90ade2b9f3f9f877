"""A process that eventlet has patched: what is asked for by name works there, and lets green
threads have their turn. It has no poll(2) any more.
"""

import subprocess
import sys

import pytest

PATCHED = """
import warnings
warnings.simplefilter("ignore")  # that it is deprecated
{early}
import eventlet; eventlet.monkey_patch()
import socket, sys, threading, time
sys.path.insert(0, {support!r})
from toy_core import ToyCore, frame
from kcore.transports import Pump, Step, create

listener = socket.create_server(("127.0.0.1", 0))

def serve():
    sock, _ = listener.accept()
    while data := sock.recv(65536):
        sock.sendall(data)

threading.Thread(target=serve, daemon=True).start()  # a green one: it runs only while a step waits
transport = create({name!r})
assert transport.name == "selectors", transport.name
core = ToyCore()
pump = Pump(core, transport)
link = core.connect("localhost", listener.getsockname()[1])
core.send(link, frame(b"patched" * 100_000))
end = time.monotonic() + 20
while not core.frames and time.monotonic() < end:
    pump.step(1000)
assert core.frames == [(link, b"patched" * 100_000)]
threading.Timer(0.05, pump.wakeup).start()
assert pump.step(20_000) is Step.WOKEN
pump.close()
"""


@pytest.mark.parametrize(
    ("name", "early"),
    [
        ("blocking", ""),
        pytest.param("selectors", "", marks=pytest.mark.slow),
        pytest.param("blocking", "import kcore.transports.blocking", marks=pytest.mark.slow),
    ],
)
def test_in_a_patched_process(pytestconfig, name, early):
    support = str(pytestconfig.rootpath / "tests" / "support")
    script = PATCHED.format(name=name, early=early, support=support)
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
