"""Locks that a signal handler cannot leave behind closed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time

import gevent
import pytest
from alarms import alarm

from kcore.locks import GreenletLock, ThreadLock, Turnstile
from kcore.transports.background import make_lock


class RefusedError(Exception):
    pass


class Gate(Turnstile):
    """Says how it was refused."""

    def __init__(self, lock):
        super().__init__(lock, OSError, BlockingIOError)

    def refuse(self):
        raise RefusedError("barred")

    def refuse_busy(self):
        raise RefusedError("busy")

    def refuse_midway(self):
        raise RefusedError("midway")

    def refuse_late(self):
        raise RefusedError("late")


@pytest.fixture(params=["threads", "gevent"])
def lock(request):
    return make_lock(request.param)


@pytest.fixture
def gate(lock):
    return Gate(lock)


def refusal(gate):
    with pytest.raises(RefusedError) as raised, gate:
        pass
    return str(raised.value)


def in_a_thread(call):
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


def test_one_call_behind_another_and_none_inside_another(gate):
    for _ in range(2):
        with gate:
            assert gate.inside == 1
            assert refusal(gate) == "midway"
            assert gate.inside == 1
        assert gate.inside == 0


def test_what_is_lent_lets_calls_in_and_those_lend_again(gate):
    with gate:
        with gate.lent():
            with gate:
                assert gate.inside == 2
                assert refusal(gate) == "midway"
                with gate.lent(), gate:
                    assert gate.inside == 3
                assert refusal(gate) == "midway"
            with gate:  # it is lent as before
                assert gate.inside == 2
        assert refusal(gate) == "midway"


@pytest.mark.parametrize(
    ("error", "struck"), [(KeyboardInterrupt, True), (OSError, False), (BlockingIOError, True)]
)
def test_what_ends_a_call_strikes_but_for_its_own_and_what_the_users_code_raises(
    gate, error, struck
):
    with pytest.raises(error), gate, gate.lent(), gate, gate.lent():
        raise error
    assert not gate.struck
    with pytest.raises(error), gate:
        raise error
    assert gate.struck is struck
    gate.struck = False
    with pytest.raises(error), gate, gate.lent(), gate.even_barred(1):
        raise error  # inside the inner call
    assert gate.struck is struck
    with gate:
        assert refusal(gate) == "midway"  # nothing is lent any more


def test_nobody_inside_has_nothing_to_lend(gate):
    with gate.lent(), gate:
        assert refusal(gate) == "midway"
    with gate:
        assert refusal(gate) == "midway"


def test_barred_is_closed_but_for_who_may_come_nevertheless(gate):
    gate.barred = True
    assert refusal(gate) == "barred"
    with gate.even_barred(1):
        assert gate.inside == 1
    with gate.visit() as let_in:
        assert not let_in
    assert gate.inside == 0


def test_a_visitor_comes_only_while_nobody_is_inside(gate):
    with gate, gate.lent(), gate.visit() as let_in:
        assert not let_in
    with gate.visit() as let_in:
        assert let_in
        assert refusal(gate) == "midway"  # a handler that strikes the visitor, or code it calls
        with gate.lent():
            assert refusal(gate) == "midway"
        with gate.visit() as inside:
            assert not inside
        assert refusal(gate) == "midway"
    with gate:
        assert gate.inside == 1
    with pytest.raises(KeyboardInterrupt), gate.visit():
        raise KeyboardInterrupt
    with gate.visit() as let_in:
        assert let_in
        gate.hold(threading.RLock())  # forked meanwhile
        with gate:
            assert gate.inside == 1
    for _ in range(2):
        with gate, gate.lent(), gate:
            gate.hold(threading.RLock())
        assert gate.inside == 0


def test_another_thread_is_refused_and_waits_for_a_visitor():
    gate = Gate(threading.RLock())
    with gate:
        assert in_a_thread(lambda: refusal(gate)) == "busy"
        assert in_a_thread(lambda: gate.visit().__enter__()) is False
    come, go = threading.Event(), threading.Event()

    def visit():
        with gate.visit() as let_in:
            assert let_in
            come.set()
            go.wait(10)

    thread = threading.Thread(target=visit)
    thread.start()
    come.wait(10)
    with pytest.raises(RefusedError, match="late"), gate.even_barred(0.05):
        pass
    timer = threading.Timer(0.05, go.set)
    timer.start()
    with gate:  # waits
        assert go.is_set()
    thread.join()


def test_threads_exclude_each_other_and_wait():
    lock = ThreadLock()
    with lock:
        with lock:  # it is re-entrant
            assert in_a_thread(lambda: lock.acquire(False)) is False
        began = time.monotonic()
        assert in_a_thread(lambda: lock.acquire(True, 0.05)) is False
        assert time.monotonic() - began >= 0.05
        assert in_a_thread(lambda: lock.acquire(True, 0)) is False
        assert "another thread" in str(in_a_thread(lambda: refused(lock)))
    with pytest.raises(RuntimeError, match="another thread"):
        lock.release()
    assert in_a_thread(lambda: free(lock))


def refused(lock):
    """What releasing it raises."""
    try:
        lock.release()
    except RuntimeError as error:
        return error
    return None


def test_no_two_threads_are_inside_at_once():
    lock = ThreadLock()
    inside, seen = 0, 0

    def work():
        nonlocal inside, seen
        for _ in range(3_000):
            with lock:
                inside += 1
                assert inside == 1
                if not seen % 97:
                    time.sleep(0)  # lets the others try
                seen += 1
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == 12_000


def test_a_signal_is_handled_while_its_thread_waits():
    lock = ThreadLock()
    go, rung = threading.Event(), []

    def hold():
        with lock:
            held.set()
            go.wait(10)

    def ring(*_):
        rung.append(1)
        if len(rung) == 3:
            raise StruckError

    held = threading.Event()
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    with alarm(ring):
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        with pytest.raises(StruckError):
            lock.acquire()
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert len(rung) == 3  # those that raised nothing have not ended the wait
    assert lock.acquire(False) is False
    go.set()
    thread.join()
    assert lock.acquire(True, 10)


def test_a_handler_that_forks_while_its_thread_waits_leaves_the_child_an_error():
    # In a process of its own: the children of one with a broker's threads are no test's business.
    code = """
import os, signal, threading, time
from kcore.errors import ForkedError
from kcore.locks import ThreadLock, WorkLock

lock, held, go, children = WorkLock(ThreadLock(), ()), threading.Event(), threading.Event(), []

def hold():
    with lock.held():
        held.set()
        go.wait(20)

def fork(*_):
    children.append(os.fork())
    if not children[0]:
        signal.alarm(10)
        lock.hold(ThreadLock())  # as clients do
        junk = [b"x" * size for size in range(300)]

threading.Thread(target=hold, daemon=True).start()
held.wait()
signal.signal(signal.SIGUSR1, fork)

def ring():
    os.kill(os.getpid(), signal.SIGUSR1)
    time.sleep(0.5)
    go.set()

threading.Timer(0.1, ring).start()
try:
    with lock:
        assert children[0]
except ForkedError:
    assert not children[0]
    with lock:
        os._exit(7)
_, status = os.waitpid(children[0], 0)
assert os.waitstatus_to_exitcode(status) == 7, status
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_greenlets_exclude_each_other_and_wait():
    lock = make_lock("gevent")
    seen = []

    def other():
        seen.append(lock.acquire(False))
        seen.append(lock.acquire(True, 0.005))
        with lock:
            seen.append("in")
        with pytest.raises(RuntimeError, match="another greenlet"):
            lock.release()

    with lock:
        with lock:  # it is re-entrant
            greenlet = gevent.spawn(other)
            while len(seen) < 2:
                gevent.sleep(0.001)
            assert seen == [False, False]
        gevent.sleep(0.01)
        assert seen == [False, False]
    greenlet.join()
    greenlet.get()
    assert seen == [False, False, "in"]


class StruckError(Exception):
    pass


@pytest.mark.xfail(
    sys.version_info[:2] == (3, 14),
    reason="CPython 3.14 runs signal handlers behind `__enter__`, before the body: gh-148874",
    strict=False,
)
def test_whoever_is_struck_leaves_nobody_inside(gate, lock):
    """An alarm that raises, at random moments of a loop that does nothing but come and go."""
    rng = random.Random(1)
    armed = False

    def strike(*_):
        nonlocal armed
        if armed:
            armed = False
            raise StruckError

    struck = 0
    with alarm(strike):
        for _ in range(600):
            # Again and again: the first may come before this is armed.
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(0.0001, 0.0015), 0.0015)
            try:
                armed = True
                while True:
                    with gate, gate.lent(), gate:
                        pass
                    with lock:
                        pass
            except StruckError:
                struck += 1
            assert gate.inside == 0
            with gate.visit() as let_in:
                assert let_in
            assert in_a_thread(lambda: free(lock))
    assert struck == 600


def free(lock):
    """Whether a thread, or a greenlet, that never held it gets it."""
    if not lock.acquire(False):
        return False
    lock.release()
    return True


def test_a_greenlets_lock_needs_no_gevent():
    assert GreenletLock(lambda: 1, lambda _: None).acquire(False)
