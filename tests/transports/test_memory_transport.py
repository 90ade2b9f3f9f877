"""Connections in memory: the ends of one, the selector, and the pump over them."""

import gc
import os
import selectors
import threading
import time

import pytest
from toy_core import ToyCore, frame

from kcore.actions import Send
from kcore.timers import NEVER
from kcore.transports import Pump, Step
from kcore.transports.memory import (
    WINDOW_BYTES,
    MemoryNetwork,
    MemorySelector,
    MemoryTransport,
    _Pipe,
    pair,
)
from kcore.transports.serve import Server

LIMIT_S = 10


class EchoCore:
    """A serving core that sends back what it gets."""

    def __init__(self):
        self.actions = []
        self.buffers = {}

    def handle_connected(self, link, host, now_ms):
        self.buffers[link] = bytearray(65_536)

    def receive_buffer(self, link):
        return memoryview(self.buffers[link])

    def receive_advance(self, link, n, now_ms):
        self.actions.append(Send(link, bytes(self.buffers[link][:n])))

    def handle_sent(self, link, now_ms):
        pass

    def handle_closed(self, link, why, now_ms):
        del self.buffers[link]

    def handle_deadline(self, now_ms):
        pass

    def next_action(self):
        return self.actions.pop(0) if self.actions else None

    def deadline(self):
        return NEVER

    def reads(self, link):
        return True


@pytest.fixture
def network():
    return MemoryNetwork()


@pytest.fixture
def server(network):
    core = EchoCore()
    serving = Server([(network.listen("broker", 1), core)], selector=MemorySelector())
    serving.start()
    yield serving
    serving.stop()
    assert not serving.faults


@pytest.fixture
def rig(network):
    core = ToyCore()
    pump = Pump(core, MemoryTransport(network))
    yield core, pump
    pump.close()


def until(pump, done):
    end = time.monotonic() + LIMIT_S
    while not done():
        assert time.monotonic() < end
        pump.step(200)


def test_what_one_end_writes_the_other_reads():
    one, other = pair("a", "b")
    room = bytearray(4)
    with pytest.raises(BlockingIOError):
        other.recv_into(room)
    assert one.send(b"abcdef") == 6
    assert other.recv_into(room) == 4
    assert room == b"abcd"
    assert other.recv_into(memoryview(room), 1) == 1
    assert other.recv_into(room) == 1
    assert (one.getsockname(), one.getpeername(), other.getsockname()) == ("a", "b", "b")


def test_who_is_not_read_has_to_wait():
    one, other = pair("a", "b")
    data = bytes(WINDOW_BYTES - 10)
    assert one.send(data) == len(data)
    assert one.send(b"x" * 100) == 10
    assert one.readiness() == 0
    with pytest.raises(BlockingIOError):
        one.send(b"x")
    assert other.recv_into(bytearray(5)) == 5
    assert one.readiness() == selectors.EVENT_WRITE
    assert one.send(b"x" * 100) == 5


def test_who_fills_the_window_while_it_is_read_is_told_of_room(monkeypatch):
    one, other = pair("a", "b")
    one.send(b"x")
    read_into = _Pipe.read_into

    def filled_meanwhile(pipe, room):
        if one.readiness():  # the other thread comes in between
            assert one.send(bytes(WINDOW_BYTES)) == WINDOW_BYTES - 1
            assert selector.select(0) == []
        return read_into(pipe, room)

    monkeypatch.setattr(_Pipe, "read_into", filled_meanwhile)
    with MemorySelector() as selector:
        selector.register(one, selectors.EVENT_WRITE)
        assert other.recv_into(bytearray(10)) == 10
        assert [key.fileobj for key, _ in selector.select(0)] == [one]


def test_several_are_written_in_a_row_up_to_the_first_that_does_not_go_in_whole(monkeypatch):
    one, other = pair("a", "b")
    assert one.sendmsg([b"ab", b"", b"cd"]) == 4
    write, room = _Pipe.write, bytearray(WINDOW_BYTES)

    def read_meanwhile(pipe, data):
        count = write(pipe, data)
        other.recv_into(room)  # the other thread comes in between
        return count

    monkeypatch.setattr(_Pipe, "write", read_meanwhile)
    assert one.sendmsg([b"e", bytes(WINDOW_BYTES + 1), b"tail"]) == 1 + WINDOW_BYTES
    assert not room.startswith(b"tail")


def test_who_connects_while_the_listener_goes_is_gone_with_it(network):
    listener = network.listen("broker", 1)
    client, server = pair("a", "b")
    listener.close()
    listener.offer(server)
    assert client.recv_into(bytearray(1)) == 0


def test_what_came_before_the_end_is_read_and_then_the_end():
    one, other = pair("a", "b")
    one.send(b"last")
    one.close()
    one.close()
    room = bytearray(10)
    assert other.recv_into(room) == 4
    assert other.recv_into(room) == 0
    assert other.readiness() == selectors.EVENT_READ | selectors.EVENT_WRITE
    with pytest.raises(BrokenPipeError):
        other.send(b"x")
    with pytest.raises(OSError, match="Bad file descriptor"):
        one.send(b"x")


def test_a_selector_waits_for_memory_and_for_the_kernel():
    one, other = pair("a", "b")
    read_fd, write_fd = os.pipe()
    with MemorySelector() as selector:
        selector.register(other, selectors.EVENT_READ, "memory")
        selector.register(read_fd, selectors.EVENT_READ, "kernel")
        assert selector.select(0) == []
        assert selector.select(0.001) == []
        one.send(b"x")
        assert [key.data for key, _ in selector.select(0)] == ["memory"]
        os.write(write_fd, b"x")
        assert sorted(key.data for key, _ in selector.select(1)) == ["kernel", "memory"]
        other.recv_into(bytearray(1))
        os.read(read_fd, 1)
        assert selector.select(0) == []
        selector.modify(other, selectors.EVENT_WRITE)
        assert [mask for _, mask in selector.select(0)] == [selectors.EVENT_WRITE]
        assert set(selector.get_map()) == {other.fileno(), read_fd}
        with pytest.raises(KeyError):
            selector.register(other, selectors.EVENT_READ)
        selector.unregister(other)
        one.send(b"y")
        assert selector.select(0) == []
        with pytest.raises(KeyError):
            selector.modify(other, selectors.EVENT_READ)
    os.close(read_fd)
    os.close(write_fd)


def test_a_write_of_another_thread_ends_a_wait():
    one, other = pair("a", "b")
    with MemorySelector() as selector:
        selector.register(other, selectors.EVENT_READ)
        for _ in range(200):
            writer = threading.Thread(target=one.send, args=(b"x",))
            writer.start()
            end = time.monotonic() + LIMIT_S
            while not selector.select(LIMIT_S):
                assert time.monotonic() < end
            other.recv_into(bytearray(1))
            writer.join()


def test_a_wait_behind_one_that_was_ended_is_a_wait():
    one, other = pair("a", "b")
    with MemorySelector() as selector:
        selector.register(other, selectors.EVENT_READ)
        writer = threading.Timer(0.01, one.send, (b"x",))
        writer.start()
        assert selector.select(LIMIT_S)
        writer.join()
        other.recv_into(bytearray(1))
        begun = time.monotonic()
        assert selector.select(0.05) == []
        assert time.monotonic() - begun >= 0.04


def test_a_selector_keeps_nothing_of_what_is_gone():
    with MemorySelector() as selector:
        for _ in range(10):
            one, other = pair("a", "b")
            selector.register(other, selectors.EVENT_READ)
            one.close()
            assert selector.select(0)
            selector.unregister(other)
            other.close()
        assert selector.select(0) == []
        assert not selector._hot
        assert not selector._touched
        assert not selector.get_map()


@pytest.mark.parametrize("events", [selectors.EVENT_READ, selectors.EVENT_WRITE])
def test_an_end_that_is_closed_by_another_thread_ends_a_wait(events):
    one, other = pair("a", "b")
    other.send(bytes(WINDOW_BYTES))
    with MemorySelector() as selector:
        selector.register(other, events)
        assert selector.select(0) == []
        closes = threading.Timer(0.01, one.close)
        closes.start()
        assert [(key.fileobj, mask) for key, mask in selector.select(LIMIT_S)] == [(other, events)]
        closes.join()


def test_a_pump_talks_to_a_server(rig, server):
    core, pump = rig
    link = core.connect("broker", 1)
    body = os.urandom(5 * WINDOW_BYTES)
    core.send(link, frame(b"hello"))
    core.send(link, frame(body))
    until(pump, lambda: len(core.frames) == 2)
    assert core.frames == [(link, b"hello"), (link, body)]
    core.disconnect(link)
    assert pump.step(20) is Step.IDLE
    assert core.closed == []


def test_nobody_listening_is_refused(rig, network):
    core, pump = rig
    link = core.connect("broker", 2)
    until(pump, lambda: core.closed)
    assert core.closed == [(link, "Connection refused", False)]


def test_a_listener_that_goes_and_comes_back(rig, server, network):
    core, pump = rig
    serving = next(iter(server._cores))
    core.send(core.connect("broker", 1), frame(b"here"))
    until(pump, lambda: core.frames)
    server.call(lambda _now_ms: server.refuse(serving))
    refused = core.connect("broker", 1)
    until(pump, lambda: core.closed)
    assert core.closed == [(refused, "Connection refused", False)]
    server.call(lambda _now_ms: server.listen(network.listen("broker", 1), serving))
    with pytest.raises(OSError, match="in use"):
        network.listen("broker", 1)
    again = core.connect("broker", 1)
    core.send(again, frame(b"there"))
    until(pump, lambda: len(core.frames) == 2)


def test_an_end_of_the_server_is_seen(rig, server):
    core, pump = rig
    link = core.connect("broker", 1)
    core.send(link, frame(b"x"))
    until(pump, lambda: core.frames)
    server.stop()
    until(pump, lambda: core.closed)
    assert core.closed == [(link, "closed by the peer", False)]


def open_fds():
    gc.collect()  # what others have left to the collector does not go in between
    return len(os.listdir("/proc/self/fd"))


def test_nothing_is_left_open(network):
    before = open_fds()
    serving = Server([(network.listen("broker", 1), EchoCore())], selector=MemorySelector())
    serving.start()
    core = ToyCore()
    pump = Pump(core, MemoryTransport(network))
    link = core.connect("broker", 1)
    until(pump, lambda: link in core.connected)
    pump.close()
    serving.stop()
    assert open_fds() == before
