"""What every driver must do beside moving bytes: waking, many links, ends, forks, interruptions."""

from __future__ import annotations

import errno
import gc
import os
import select
import signal
import socket
import struct
import threading
import time

import gevent
import pytest
from alarms import alarm
from stepped_asyncio import make_transport
from toy_core import frame

from kcore.errors import ForkedError, IllegalStateError
from kcore.transports import Pump, SocketOptions, Step

RESET = struct.pack("ii", 1, 0)


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def open_fds() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


# Waking -------------------------------------------------------------------------------------------


WAKEUP_S = 0.05  # the promise; the best of a few tries, because the machine may be busy
TRIES = 5


def test_wakeup_from_a_thread(rig, serve):
    rig.connect(serve())
    took = []
    for _ in range(TRIES):
        woken_at = []

        def wake(woken_at=woken_at):
            woken_at.append(time.monotonic())
            rig.pump.wakeup()

        timer = threading.Timer(0.02, wake)
        timer.start()
        assert rig.pump.step(5000) is Step.WOKEN
        took.append(time.monotonic() - woken_at[0])
        timer.join()
    assert min(took) < WAKEUP_S
    assert rig.pump.step(0) is Step.IDLE


def test_wakeup_from_a_signal_handler(rig, serve):
    rig.connect(serve())
    took = []
    woken_at = []

    def handle(*_):
        woken_at.append(time.monotonic())
        rig.pump.wakeup()

    with alarm(handle):
        for _ in range(TRIES):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            assert rig.pump.step(5000) is Step.WOKEN
            took.append(time.monotonic() - woken_at[-1])
    assert min(took) < WAKEUP_S


def test_a_wakeup_before_the_step_is_kept_and_many_count_as_one(rig):
    for _ in range(1000):
        rig.pump.wakeup()
    assert rig.pump.step(5000) is Step.WOKEN
    assert rig.pump.step(0) is Step.IDLE


def test_wakeups_from_many_threads_are_never_lost(rig):
    """Each thread waits for the step its own wake-up ended before it sends the next."""
    rounds = 200
    turn = threading.Semaphore(0)

    def wake():
        for _ in range(rounds):
            rig.pump.wakeup()
            assert turn.acquire(timeout=10)

    threads = [threading.Thread(target=wake) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if rig.pump.step(20) is Step.WOKEN:
            for _ in threads:
                turn.release()
    for thread in threads:
        thread.join()


def test_a_wakeup_beside_data_feeds_the_data_too(rig, serve):
    link = rig.connect(serve(lambda sock: sock.sendall(frame(b"both"))))
    time.sleep(0.05)
    rig.pump.wakeup()
    steps = rig.step_all(3, 50)
    assert steps.count(Step.WOKEN) == 1
    rig.until(lambda: rig.core.frames == [(link, b"both")])


# Many, and the end --------------------------------------------------------------------------------


def test_two_hundred_links_at_once(rig, serve):
    server = serve()
    links = [rig.core.connect("127.0.0.1", server.port) for _ in range(200)]
    for link in links:
        rig.core.send(link, frame(b"%d" % link))
    rig.until(lambda: len(rig.core.frames) == 200)
    assert sorted(rig.core.frames) == [(link, b"%d" % link) for link in links]
    assert rig.core.closed == []


def test_close_frees_every_fd(driver, rig, serve):
    server = serve()
    rig.connect(server)  # whatever a driver makes once and keeps is there now
    before = open_fds()
    pump = Pump(rig.core, make_transport(driver))
    links = [rig.core.connect("127.0.0.1", server.port) for _ in range(10)]
    end = time.monotonic() + 5
    while not set(links) <= set(rig.core.connected) and time.monotonic() < end:
        pump.step(100)
    rig.core.connect("127.0.0.1", server.port)
    pump.step(0)
    assert len(pump._links) >= 10
    pump.close()
    pump.close()
    server.close()
    rig.until(lambda: rig.core.closed)  # the fixture's own link
    assert open_fds() < before


def test_a_pump_dropped_without_close_frees_its_fds(driver, rig, serve):
    server = serve(lambda sock: sock.recv(1))
    rig.pump.step(0)
    before = open_fds()
    pump = Pump(rig.core, make_transport(driver))
    rig.core.connect("127.0.0.1", server.port)
    end = time.monotonic() + 5
    while not rig.core.connected and time.monotonic() < end:
        pump.step(100)
    del pump
    assert open_fds() <= before + 1  # the server's side


@pytest.mark.parametrize("ending", [False, True])
def test_a_pump_that_the_interpreter_ends_with_has_nothing_to_say(driver, rig, monkeypatch, ending):
    """Modules go before what they have made: `suppress` of contextlib was None by then."""
    said = []
    monkeypatch.setattr("sys.unraisablehook", lambda one: said.append(one.exc_value))
    monkeypatch.setattr(Pump.__del__, "__defaults__", (lambda: ending,))
    transport = make_transport(driver)
    unwatch = transport.unwatch
    transport.unwatch = None
    pump = Pump(rig.core, transport)
    fd = pump._waker.fd
    del pump
    assert [type(one) for one in said] == ([] if ending else [TypeError])
    unwatch(fd)
    transport.close()
    said.clear()


def test_after_close_use_is_an_error(rig):
    rig.pump.close()
    for use in (lambda: rig.pump.step(0), rig.pump.drain):
        with pytest.raises(IllegalStateError, match="closed"):
            use()
    rig.pump.wakeup()  # free of effect, for signal handlers that come late


def in_child(check) -> int:
    """The exit code of a forked child that ran `check`."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if check() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_forked_child_is_refused_and_the_parent_goes_on(rig, serve):
    link = rig.connect(serve())
    inherited = [held.fd for held in rig.pump._links.values()]

    def child() -> bool:
        for use in (lambda: rig.pump.step(0), rig.pump.drain, rig.pump.wakeup):
            try:
                use()
            except ForkedError:
                continue
            return False
        rig.pump.close()
        gc.collect()
        return not any(os.path.exists(f"/proc/self/fd/{fd}") for fd in inherited)

    assert in_child(child) == 0
    rig.core.send(link, frame(b"still here"))
    rig.until(lambda: rig.core.frames)
    assert rig.core.closed == []
    assert rig.pump.step(0) is Step.IDLE


def test_a_forked_child_can_have_a_pump_of_its_own(rig, driver, serve):
    server = serve()
    rig.connect(server)

    def child() -> bool:
        if driver == "gevent":
            gevent.reinit()
        pump = Pump(rig.core, make_transport(driver))
        link = rig.core.connect("127.0.0.1", server.port)
        end = time.monotonic() + 5
        while link not in rig.core.connected and time.monotonic() < end:
            pump.step(100)
        pump.close()
        return link in rig.core.connected

    assert in_child(child) == 0
    rig.core.inputs = 0
    assert rig.pump.step(20) is Step.IDLE


# Faults of others ---------------------------------------------------------------------------------


class InterruptError(BaseException):
    """As a signal handler would raise it."""


def test_an_exception_out_of_an_input_ends_that_link_and_nothing_else(rig, serve):
    server = serve()
    link, other = rig.connect(server), rig.connect(server)

    def interrupt(*_):
        rig.core.when_frame = None
        raise InterruptError

    rig.core.when_frame = interrupt
    rig.core.send(link, frame(b"x"))
    with pytest.raises(InterruptError):
        rig.until(lambda: False)
    rig.core.actions.clear()
    rig.until(lambda: rig.core.closed)
    assert rig.core.closed == [(link, "interrupted", False)]
    rig.core.send(other, frame(b"y"))
    rig.until(lambda: (other, b"y") in rig.core.frames)


def test_an_exception_while_sending_ends_that_link(rig, serve):
    link = rig.connect(serve())
    held = rig.pump._links[link]
    sock = held.sock

    class Struck:
        def __getattr__(self, name):
            return getattr(sock, name)

        def send(self, *_):
            raise InterruptError

    held.sock = Struck()
    rig.core.send(link, frame(b"x"))
    with pytest.raises(InterruptError):
        rig.pump.step(0)
    rig.until(lambda: rig.core.closed)
    assert rig.core.closed == [(link, "interrupted", False)]


def test_a_wake_up_outlasts_an_exception_of_a_deadline(rig):
    def interrupt(*_):
        raise KeyboardInterrupt

    rig.core.when_deadline = interrupt
    rig.core.at = rig.pump.now_ms() - 10
    rig.pump.wakeup()
    with pytest.raises(KeyboardInterrupt):
        rig.pump.step(0)
    begun = time.monotonic()
    assert rig.pump.step(10_000) is Step.WOKEN
    assert time.monotonic() - begun < 5


def test_who_is_told_at_once_is_not_waited_with(make_rig):
    """A connection that cannot even begin."""
    rig = make_rig(SocketOptions(socket_options=[(socket.SOL_SOCKET, 9_999, 1)]))
    rig.core.connect("127.0.0.1", 1)
    begun = time.monotonic()
    assert rig.pump.step(10_000) is Step.FED
    assert time.monotonic() - begun < 5
    assert rig.core.closed


def test_what_went_wrong_while_actions_were_obeyed_is_the_next_steps(rig, monkeypatch):
    def fail(_address):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(rig.pump.transport, "connect", fail)
    link = rig.core.connect("127.0.0.1", 1)
    assert not rig.pump.restless
    rig.pump.drain()
    assert rig.pump.restless
    assert rig.core.closed == []
    assert rig.pump.step(10_000) is Step.FED
    assert rig.core.closed == [(link, "Too many open files", False)]
    assert not rig.pump.restless


def test_a_link_that_ends_ends_the_step_that_waits_and_is_told_in_it(rig, serve):
    server = serve(lambda sock: (time.sleep(0.05), sock.shutdown(socket.SHUT_RDWR)))
    link = rig.connect(server)
    begun = time.monotonic()
    assert rig.pump.step(10_000) is Step.FED
    assert time.monotonic() - begun < 5
    assert [closed for closed, _, _ in rig.core.closed] == [link]


def test_a_step_behind_a_deadline_of_which_nothing_comes_does_not_spin(rig):
    waits = []
    wait = rig.pump.transport.wait
    rig.pump.transport.wait = lambda timeout_ms: waits.append(timeout_ms) or wait(timeout_ms)
    rig.core.quiet_deadlines = True
    rig.core.at = rig.pump.now_ms() + 20
    assert rig.pump.step(300) is Step.IDLE
    assert len(rig.core.deadlines) == 1
    assert len(waits) <= 5


def test_a_deadline_that_data_has_put_off_is_not_told(rig, serve):
    rig.connect(serve(lambda sock: sock.sendall(frame(b"answer"))))
    (link,) = rig.pump._links.values()
    rig.core.when_frame = lambda *_: setattr(rig.core, "at", rig.pump.now_ms() + 50)
    assert select.select([link.raw], [], [], 10)[0]
    due = rig.core.at = rig.pump.now_ms() - 10
    rig.until(lambda: rig.core.at != due)
    assert rig.core.frames
    assert rig.core.deadlines == []
    rig.until(lambda: rig.core.deadlines)


def test_what_a_connection_leads_to_is_done_before_the_next_input(rig, serve):
    server = serve()
    rig.core.when_connected = lambda link: rig.core.send(link, frame(b"%d" % link))
    links = [rig.core.connect("127.0.0.1", server.port) for _ in range(10)]
    rig.pump.drain()
    time.sleep(0.05)  # all of them stand
    rig.until(lambda: len(rig.core.frames) == 10)
    assert sorted(rig.core.frames) == [(link, b"%d" % link) for link in links]


def test_an_exception_while_connecting_ends_that_link(rig, serve, monkeypatch):
    def interrupt(_address):
        raise InterruptError

    server = serve()
    with monkeypatch.context() as struck:
        struck.setattr(rig.pump.transport, "connect", interrupt)
        link = rig.core.connect("127.0.0.1", server.port)
        with pytest.raises(InterruptError):
            rig.pump.step(0)
    assert rig.core.closed == []
    rig.until(lambda: rig.core.closed)
    assert rig.core.closed == [(link, "interrupted", False)]
    rig.connect(server)


@pytest.mark.parametrize("full", [False, True])
def test_a_write_that_fails_in_another_way_ends_the_link(rig, serve, full):
    """It says nothing of the peer, which may have no more to say. full: there is no room at first,
    so that it is the socket that says when to write on.
    """
    link = rig.connect(serve(lambda sock: sock.recv(1)))
    held = rig.pump._links[link]
    sock = held.sock

    class Unreachable:
        def __getattr__(self, name):
            return getattr(sock, name)

        def send(self, *_):
            nonlocal full
            if full:
                full = False
                raise BlockingIOError
            raise OSError(errno.EHOSTUNREACH, "No route to host")

    held.sock = Unreachable()
    rig.core.send(link, frame(b"x"))
    rig.until(lambda: rig.core.closed)
    assert rig.core.closed == [(link, "No route to host", False)]
    assert rig.pump._links == {}
    begun = time.monotonic()
    assert rig.pump.step(30) is Step.IDLE  # nothing that is closed is watched
    assert time.monotonic() - begun > 0.02


def test_the_core_is_told_when_an_attempt_begins(rig, serve):
    """Once: asked for long before, or its name looked up first."""
    link = rig.core.connect("localhost", serve().port)
    before = rig.pump.now_ms()
    time.sleep(0.01)
    rig.until(lambda: link in rig.core.connected)
    ((begun, at),) = rig.core.begun
    assert begun == link
    assert at >= before + 10


def test_an_answer_that_has_arrived_outlives_a_write_that_fails(rig, serve):
    arrived = threading.Event()

    def answer_and_reset(sock):
        sock.recv(1)
        sock.sendall(frame(b"answer"))
        assert arrived.wait(10)  # a reset may overtake what is on its way
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()

    link = rig.connect(serve(answer_and_reset))
    rig.core.send(link, b"?")
    rig.pump.drain()
    rig.wait_for(link, select.POLLIN)
    arrived.set()
    rig.wait_for(link, select.POLLHUP)
    for _ in range(3):
        rig.core.send(link, frame(b"more"))
    rig.until(lambda: rig.core.closed)
    assert rig.core.frames == [(link, b"answer")]
    assert rig.core.closed == [(link, "Connection reset by peer", False)]
    assert rig.pump._links == {}


def test_a_link_the_core_no_longer_knows_is_closed_in_silence(rig, serve):
    link = rig.connect(serve(lambda sock: sock.sendall(b"x" * 10)))
    del rig.core._streams[link]
    rig.until(lambda: not rig.pump._links)
    assert rig.core.closed == []


def test_socket_options_reach_the_socket(make_rig, serve):
    rig = make_rig(
        SocketOptions(
            send_buffer_bytes=30_000,
            receive_buffer_bytes=-1,
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 77)],
        )
    )
    sock = rig.pump._links[rig.connect(serve())].sock
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 60_000  # Linux doubles it
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 77
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_idle_links_are_probed_before_what_is_between_forgets_them(make_rig, serve):
    """Load balancers drop connections on which nothing happens for some minutes, without a word:
    Azure's after 4, AWS's after nearly 6. Linux probes after two hours.
    """
    rig = make_rig(SocketOptions())
    sock = rig.pump._links[rig.connect(serve())].sock
    found = [
        sock.getsockopt(socket.IPPROTO_TCP, option)
        for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    ]
    assert found == [60, 15, 4]


def test_who_has_no_probes_connects_without(monkeypatch, make_rig, serve):
    """Not every system that knows an option's name has it; macOS has another name for the first."""
    monkeypatch.setattr(socket, "TCP_KEEPIDLE", 9_999)
    monkeypatch.setattr(socket, "TCP_KEEPALIVE", socket.TCP_KEEPINTVL, raising=False)
    monkeypatch.delattr(socket, "TCP_KEEPINTVL")
    rig = make_rig(SocketOptions())
    sock = rig.pump._links[rig.connect(serve())].sock
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPALIVE) == 60
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == 4


def test_an_option_the_system_refuses_is_an_input(make_rig, serve):
    rig = make_rig(SocketOptions(socket_options=[(socket.SOL_SOCKET, 9999, 1)]))
    rig.core.connect("127.0.0.1", serve().port)
    rig.until(lambda: rig.core.closed)
