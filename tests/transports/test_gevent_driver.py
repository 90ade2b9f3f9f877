"""What only gevent promises: other greenlets run while a step waits, with and without monkey
patching.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import gevent
import pytest
from toy_core import frame

from kcore.errors import UsageError
from kcore.transports import Step
from kcore.transports.background import run_aside
from kcore.transports.core import READABLE, WRITABLE
from kcore.transports.gevent_driver import GeventTransport


@pytest.fixture
def driver():
    return "gevent"


def test_other_greenlets_run_while_a_step_waits(rig):
    def tick():
        for _ in range(5):
            gevent.sleep(0.01)
        rig.pump.wakeup()

    ticker = gevent.spawn(tick)
    assert rig.pump.step(30_000) is Step.WOKEN
    ticker.join()


def test_steps_without_a_timeout_let_others_run(rig):
    ticks = []
    ticker = gevent.spawn(lambda: [(ticks.append(1), gevent.sleep(0)) for _ in range(10)])
    for _ in range(40):
        rig.pump.step(0)
    assert len(ticks) == 10
    ticker.join()


def test_a_busy_link_lets_others_run(rig, serve):
    stop = threading.Event()

    def flood(sock):
        while not stop.is_set():
            sock.sendall(frame(b"x" * 1000) * 100)

    rig.connect(serve(flood))
    ticks = []
    ticker = gevent.spawn(lambda: [(ticks.append(1), gevent.sleep(0)) for _ in range(10)])
    rig.until(lambda: len(ticks) == 10)
    stop.set()
    ticker.join()


def test_unread_data_does_not_keep_the_hub_awake(rig, serve):
    link = rig.connect(serve(lambda sock: sock.sendall(frame(b"wait for me"))))
    gevent.sleep(0.05)
    cpu = time.process_time()
    gevent.sleep(0.4)  # the application is busy elsewhere
    assert time.process_time() - cpu < 0.2
    rig.until(lambda: rig.core.frames)
    assert rig.core.frames == [(link, b"wait for me")]


def test_a_step_in_a_greenlet_can_be_killed_and_the_next_goes_on(rig, serve):
    link = rig.connect(serve())
    blocked = gevent.spawn(rig.pump.step, None)
    gevent.sleep(0.02)
    blocked.kill()
    with gevent.Timeout(0.02, False):
        rig.pump.step(None)
    rig.core.send(link, frame(b"on"))
    rig.until(lambda: rig.core.frames)


def test_a_wakeup_from_another_greenlet(rig):
    gevent.spawn_later(0.02, rig.pump.wakeup)
    assert rig.pump.step(5000) is Step.WOKEN


def test_a_late_greenlet_hog_delays_but_loses_nothing(rig, serve):
    """A greenlet that computes while the pump waits: the deadline is late by that, and fed once."""
    link = rig.connect(serve())
    rig.core.send(link, frame(b"x"))
    rig.core.at = rig.pump.now_ms() + 30

    def hog():
        end = time.monotonic() + 0.15
        while time.monotonic() < end:
            pass

    gevent.spawn(hog)
    rig.until(lambda: rig.core.deadlines and rig.core.frames)
    assert len(rig.core.deadlines) == 1


def test_the_hub_of_another_thread_is_refused(rig):
    rig.pump.step(0)
    said = []

    def use():
        try:
            rig.pump.step(0)
        except UsageError as error:
            said.append(str(error))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert said == ["a gevent transport belongs to the hub of the thread that first used it"]


@pytest.fixture
def transport():
    transport = GeventTransport()
    yield transport
    transport.close()


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_what_a_socket_was_ready_for_is_not_said_of_the_next_of_its_number(transport, pipe):
    """It became ready while the application was busy; then its link ended."""
    reads, writes = pipe
    transport.watch(reads, READABLE)
    assert transport.wait(0) == []
    os.write(writes, b"x")
    gevent.sleep(0.01)
    transport.unwatch(reads)
    os.read(reads, 1)
    transport.watch(reads, READABLE)
    assert transport.wait(0) == []
    os.write(writes, b"x")
    assert transport.wait(1_000) == [(reads, READABLE)]
    os.read(reads, 1)
    assert transport.wait(0) == []  # what was said is said once


def test_what_is_watched_for_something_else_is_no_longer_watched_for_that(transport, pipe):
    _, writes = pipe
    transport.watch(writes, READABLE)
    assert transport.wait(0) == []
    first = transport._watches[writes].watcher
    transport.watch(writes, WRITABLE)
    assert transport.wait(0) == [(writes, WRITABLE)]
    second = transport._watches[writes].watcher
    transport.watch(writes, WRITABLE)
    assert transport._watches[writes].watcher is second
    assert not first.active
    transport.wait(0)
    transport.unwatch(writes)
    assert not second.active  # what the loop keeps of a closed socket ends the process


PATCHED = """
from gevent import monkey; monkey.patch_all()
import os, socket, sys, threading, time
sys.path.insert(0, {support!r})
from toy_core import ToyCore, frame
from kcore.errors import ForkedError
from kcore.transports import Pump, Step, create

listener = socket.create_server(("127.0.0.1", 0))

def serve():
    sock, _ = listener.accept()
    while data := sock.recv(65536):
        sock.sendall(data)

threading.Thread(target=serve, daemon=True).start()  # a greenlet: it runs only while the step waits
transport = create({name!r})
assert transport.name == "gevent", transport.name
core = ToyCore()
pump = Pump(core, transport)
link = core.connect("localhost", listener.getsockname()[1])
core.send(link, frame(b"patched" * 100_000))
while not core.frames:
    assert not core.closed or core.closed[0][2], core.closed  # ::1 may come first
    if core.closed:
        link = core.connect("localhost", listener.getsockname()[1], 1)
        core.closed.clear()
        core.send(link, frame(b"patched" * 100_000))
    pump.step(1000)
assert core.frames == [(link, b"patched" * 100_000)]

def tick():
    for _ in range(5):
        time.sleep(0.01)
    pump.wakeup()

threading.Thread(target=tick, daemon=True).start()  # another
assert pump.step(30_000) is Step.WOKEN

said, say = os.pipe()  # and not waitpid: gevent's can miss a child that ends before its loop turns
if os.fork() == 0:
    try:
        pump.step(0)
    except ForkedError:
        os.write(say, b"refused")
    os._exit(0)
os.close(say)
assert os.read(said, 100) == b"refused"
core.send(link, frame(b"after the fork"))
while len(core.frames) < 2:
    pump.step(1000)
assert not core.closed
pump.close()
print("done")
"""


@pytest.mark.parametrize("name", ["blocking", "selectors", "gevent"])
def test_a_monkey_patched_process(name, pytestconfig):
    support = str(pytestconfig.rootpath / "tests" / "support")
    run = subprocess.run(
        [sys.executable, "-c", PATCHED.format(name=name, support=support)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.stdout, run.returncode) == ("done\n", 0), run.stderr


def test_ctrl_c_that_strikes_the_work_on_the_side_does_not_end_it():
    turns = []

    def work(stop):
        while not stop.wait(0.001):
            turns.append(1)
            if len(turns) == 1:
                raise KeyboardInterrupt  # as a signal handler would, wherever it finds itself

    stop = run_aside("gevent", "side", work)
    with pytest.raises(KeyboardInterrupt):
        gevent.sleep(5)  # the main greenlet is told
    with gevent.Timeout(5):
        while len(turns) < 3:
            gevent.sleep(0.001)
    stop.set()
