"""The serving pump alone: parts, partial writes, a core that deadlines come from."""

import errno
import os
import random
import selectors
import signal
import socket
import threading
import time
from contextlib import suppress

import pytest
from descriptors import descriptors, wait_for_descriptors

from kcore.actions import Disconnect, Send, SendParts
from kcore.timers import NEVER
from kcore.transports.memory import MemoryNetwork, MemorySelector
from kcore.transports.serve import ACCEPT_RETRY_MS, Server


class Core:
    """Answers each read with `answers` one by one, and notes what it is told."""

    def __init__(self, answers):
        self.answers = list(answers)
        self.actions = []
        self.told = []
        self.at = NEVER
        self._room = bytearray(100)

    def handle_connected(self, link, _host, _now_ms):
        self.told.append("connected")

    def receive_buffer(self, _link):
        return memoryview(self._room)

    def receive_advance(self, link, _n, now_ms):
        answer = self.answers.pop(0)
        if answer is not None:
            self.actions.append(answer(link))

    def handle_sent(self, _link, now_ms):
        self.told.append("sent")
        self.at = now_ms + 20  # only a pump that asks again will know

    def handle_closed(self, _link, _why, _now_ms):
        self.told.append("closed")

    def handle_deadline(self, _now_ms):
        self.told.append("deadline")
        self.at = NEVER

    def next_action(self):
        return self.actions.pop(0) if self.actions else None

    def deadline(self):
        return self.at

    def reads(self, _link):
        return True


class Waiting(Core):
    """Answers when the test says so."""

    def __init__(self):
        super().__init__([])
        self.links = []

    def handle_connected(self, link, _host, _now_ms):
        self.links.append(link)


@pytest.fixture
def network():
    return MemoryNetwork()


@pytest.fixture
def serve():
    servers = []

    def start(core):
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        servers.append(Server([(listener, core)]))
        servers[-1].start()
        return socket.create_connection(listener.getsockname(), 10)

    yield start
    for server in servers:
        server.stop()
        assert not server.faults


def read(sock, size, piece=3_000):
    data = b""
    while len(data) < size:
        more = sock.recv(piece)
        assert more
        data += more
    return data


def until(enough):
    end = time.monotonic() + 10
    while not enough():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_parts_arrive_whole_and_in_their_order_however_little_is_taken_at_once(serve):
    rng = random.Random(2)
    parts = [rng.randbytes(rng.choice((0, 1, 7, 900, 20_000))) for _ in range(1_000)]
    whole = b"".join(parts)
    views = [part if n % 2 else memoryview(part) for n, part in enumerate(parts)]
    core = Core([lambda link: SendParts(link, views), lambda link: Send(link, b"end")])
    with serve(core) as client:
        client.sendall(b"?")
        assert read(client, len(whole), 50_000) == whole
        until(lambda: core.told.count("sent") == 1)
        client.sendall(b"?")
        assert read(client, 3) == b"end"


def test_a_deadline_that_comes_with_what_was_sent_is_kept(serve):
    core = Core([lambda link: Send(link, b"x")])
    with serve(core) as client:
        client.sendall(b"?")
        assert read(client, 1) == b"x"
        until(lambda: core.told[-1] == "deadline")
        assert core.told == ["connected", "sent", "deadline"]


def test_a_link_that_the_core_ends_is_closed(serve):
    core = Core([Disconnect])
    with serve(core) as client:
        client.sendall(b"?")
        assert client.recv(1) == b""
    assert core.told == ["connected"]


def test_who_goes_in_the_middle_of_an_answer_is_forgotten(serve):
    core = Core([lambda link: SendParts(link, [b"x" * 100_000] * 1_000)])
    with serve(core) as client:
        client.sendall(b"?")
        read(client, 1_000)
    until(lambda: core.told[-1] == "closed")


def test_any_number_of_clients_may_be_gone_when_they_are_answered(network):
    core = Waiting()
    server = Server([(network.listen("broker", 1), core)], selector=MemorySelector())
    server.start()
    clients = [network.connect("broker", 1) for _ in range(600)]
    until(lambda: server.call(lambda _: len(core.links)) == 600)

    def answer(_now_ms):
        for client in clients:
            client.close()
        core.actions += [Send(link, b"late") for link in core.links]

    server.call(answer)
    until(lambda: core.told.count("closed") == 600)
    assert server.call(lambda now_ms: now_ms)
    server.stop()


@pytest.mark.parametrize("where", ["handle_sent", "receive_advance", "receive_buffer"])
def test_an_error_of_a_core_costs_the_link_it_came_with(network, where):
    core = Core([lambda link: Send(link, b"x")] * 3)
    server = Server([(network.listen("broker", 1), core)], selector=MemorySelector())

    def fail(*_of_whatever):
        setattr(core, where, healthy)
        raise RuntimeError("a bug")

    healthy = getattr(core, where)
    server.start()
    one = network.connect("broker", 1)
    until(lambda: core.told == ["connected"])
    server.call(lambda _: setattr(core, where, fail))
    one.send(b"?")
    until(lambda: server.faults)
    until(lambda: one.readiness() & selectors.EVENT_READ)
    until(lambda: "closed" in core.told)
    other = network.connect("broker", 1)
    other.send(b"?")
    until(lambda: other.readiness() & selectors.EVENT_READ)
    assert [str(fault) for fault in server.faults] == ["a bug"]
    server.stop()


def test_no_more_clients_than_there_may_be():
    listener = socket.create_server(("127.0.0.1", 0))
    core, address = Core([]), listener.getsockname()
    server = Server([(listener, core)], max_connections=2)
    server.start()
    try:
        with socket.create_connection(address, 10), socket.create_connection(address, 10) as two:
            until(lambda: core.told == ["connected"] * 2)
            with socket.create_connection(address, 10) as three:
                assert three.recv(1) == b""
            for client in server._clients.values():  # nor do small answers wait for others
                assert client.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            two.close()
            until(lambda: "closed" in core.told)
            with socket.create_connection(address, 10):
                until(lambda: core.told.count("connected") == 3)
    finally:
        server.stop()
    assert not server.faults


class Exhausted:
    """A server without a descriptor for one more, on a clock of its own."""

    def __init__(self, network, monkeypatch):
        self.core, self.now_ms, self.full, self.tried = Core([]), 0, False, 0
        self.network = network
        listener = network.listen("h", 1)
        accept = listener.accept

        def exhausted():
            self.tried += 1
            if self.full:
                raise OSError(errno.EMFILE, "Too many open files")
            return accept()

        monkeypatch.setattr(listener, "accept", exhausted)
        self.server = Server(
            [(listener, self.core)], lambda: self.now_ms, selector=MemorySelector()
        )
        self.first = self.come()
        self.full = True
        self.second = self.come()
        self.tried = 0

    def come(self):
        sock = self.network.connect("h", 1)
        self.server._turn()
        return sock


@pytest.fixture
def exhausted(network, monkeypatch):
    made = Exhausted(network, monkeypatch)
    yield made
    made.server._release()


def test_who_finds_no_descriptor_is_tried_again_after_a_while_and_not_before(exhausted):
    server = exhausted.server
    assert server._wait_s() == ACCEPT_RETRY_MS / 1000
    for full, told in ((True, 1), (False, 2)):
        exhausted.full = full
        exhausted.now_ms += ACCEPT_RETRY_MS - 1
        assert 0 < server._wait_s() <= 0.001
        server._turn()
        tried = exhausted.tried
        exhausted.now_ms += 1
        server._turn()
        server._turn()
        assert exhausted.tried > tried
        assert exhausted.core.told == ["connected"] * told
    assert server._wait_s() > ACCEPT_RETRY_MS


def test_a_connection_that_ends_makes_room_at_once(exhausted):
    exhausted.full = False
    exhausted.first.close()
    for _ in range(2):  # the end is read; the listener is
        exhausted.server._turn()
    assert exhausted.core.told == ["connected", "closed", "connected"]


def test_a_core_is_refused_while_its_listener_waits_for_room(exhausted):
    exhausted.server.refuse(exhausted.core)
    assert exhausted.server._resting == []  # nothing that is closed is watched again
    with pytest.raises(ConnectionRefusedError):
        exhausted.network.connect("h", 1)
    exhausted.now_ms += ACCEPT_RETRY_MS
    exhausted.server._turn()
    assert exhausted.second.recv_into(bytearray(1)) == 0


# Calls, the end and forks -------------------------------------------------------------------------


class Asked:
    """A thread that calls into the server, and what came of it."""

    def __init__(self, server):
        self.came = []
        self._server = server
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            self.came.append(self._server.call(lambda _now_ms: "done"))
        except RuntimeError as error:
            self.came.append(str(error))

    def end(self):
        self.thread.join(10)
        return self.came


def test_who_calls_while_the_server_stops_gets_an_answer(network):
    core, go, inside = Core([]), threading.Event(), threading.Event()
    server = Server([(network.listen("broker", 1), core)], selector=MemorySelector())
    server.start()

    def wait():  # behind the calls of a turn
        inside.set()
        go.wait(10)
        return NEVER

    server.call(lambda _now_ms: setattr(core, "deadline", wait))
    assert inside.wait(10)
    asked = Asked(server)
    until(lambda: server._calls)
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    until(lambda: server._stopped)
    go.set()
    stopping.join(10)
    assert asked.end() == ["done"]
    assert "stopped" in Asked(server).end()[0]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_a_thread_that_has_ended(network):
    def clock():
        if broken:
            raise RuntimeError("a bug")
        return 0

    broken = []
    server = Server([(network.listen("broker", 1), Core([]))], clock, selector=MemorySelector())
    server.start()
    assert server.call(lambda now_ms: now_ms) == 0
    broken.append(True)
    server.wake()
    server._thread.join(10)
    assert "stopped" in Asked(server).end()[0]
    server.stop()


def test_one_that_was_never_started_leaves_nothing_open():
    listener = socket.create_server(("127.0.0.1", 0))
    before = descriptors()
    server = Server([(listener, Core([]))])
    asked = Asked(server)
    until(lambda: server._calls)
    server.stop()
    assert listener.fileno() == -1
    wait_for_descriptors(before[1:])
    assert asked.end() == ["done"]
    server.stop()
    server.start()  # too late: it ends at once
    server._thread.join(10)
    assert "stopped" in Asked(server).end()[0]


def test_a_child_is_told_that_nobody_serves_there(network):
    """Whatever another thread of its parent was in the middle of."""
    core = Core([])
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    server = Server([(listener, core)])
    server.start()
    with socket.create_connection(address, 10) as client:
        until(lambda: core.told == ["connected"])
        with server._lock:
            child = os.fork()
            if not child:
                code = 1
                with suppress(BaseException):
                    signal.alarm(10)
                    with pytest.raises(RuntimeError, match="parent process"):
                        server.call(lambda now_ms: now_ms)
                    server.stop()
                    code = 0 if listener.fileno() < 0 else 2
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        core.answers.append(lambda link: Send(link, b"x"))
        client.sendall(b"?")
        assert client.recv(1) == b"x"  # the child has ended nothing
    server.stop()
    with pytest.raises(ConnectionRefusedError):  # by the time `stop` is over
        socket.create_connection(address, 10)
