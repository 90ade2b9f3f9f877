"""What every driver must do, whatever it waits with. The toy core checks the order of inputs and
actions itself.
"""

from __future__ import annotations

import gc
import os
import select
import socket
import struct
import threading
import time

import pytest
from stepped_asyncio import make_transport
from tcp_proxy import TcpProxy
from toy_core import frame

from kcore.actions import Send, SendParts
from kcore.transports import Pump, SocketOptions, Step
from kcore.transports.core import Address

RESET = struct.pack("ii", 1, 0)
LIMIT_S = 10.0
LATE_MS = 1000
TRIES = 5  # the best of them is judged: the machine may be busy


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def open_fds() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


# Connecting ---------------------------------------------------------------------------------------


def test_connect_and_echo(rig, serve):
    link = rig.connect(serve())
    rig.core.send(link, frame(b"ping"))
    rig.until(lambda: rig.core.frames)
    assert rig.core.frames == [(link, b"ping")]
    assert rig.core.closed == []


def test_what_only_makes_the_core_ask_again_does_not_end_a_step(rig, serve):
    link = rig.connect(serve())
    rig.core.quiet = {b"nothing"}
    rest = [b"nothing", b"nothing", b"something"]
    rig.core.when_frame = lambda link, _: rest and rig.core.send(link, frame(rest.pop(0)))
    rig.core.send(link, frame(b"nothing"))
    assert rig.pump.step(10_000) is Step.FED
    assert [body for _, body in rig.core.frames] == [b"nothing"] * 3 + [b"something"]
    rig.core.send(link, frame(b"nothing"))
    assert rig.pump.step(100) is Step.IDLE
    assert rig.core.frames[-1] == (link, b"nothing")


def test_what_is_sent_before_the_connection_stands_goes_out_in_order(rig, serve):
    link = rig.core.connect("127.0.0.1", serve().port)
    for number in range(20):
        rig.core.send(link, frame(b"%d" % number))
    rig.until(lambda: len(rig.core.frames) == 20)
    assert [body for _, body in rig.core.frames] == [b"%d" % n for n in range(20)]


def test_refused_is_an_input(rig):
    link = rig.core.connect("127.0.0.1", unused_port())
    rig.until(lambda: rig.core.closed)
    assert rig.core.closed == [(link, "Connection refused", False)]


def test_an_unresolvable_name_is_an_input(rig):
    link = rig.core.connect("no-such-host.invalid", 9092)
    if rig.driver == "asyncio":  # which says so later
        rig.until(lambda: rig.core.closed)
    else:
        assert rig.pump.step(0) is Step.FED
    [(closed, why, more)] = rig.core.closed
    assert (closed, more) == (link, False)
    assert why


@pytest.mark.parametrize(
    ("host", "port"), [("", 0), ("a" * 300, 9092), ("\x00", 1), ("127.0.0.1", 70000), ("::::", 1)]
)
def test_bad_addresses_are_inputs(rig, host, port):
    link = rig.core.connect(host, port)
    rig.until(lambda: rig.core.closed)
    assert rig.core.closed[0][0] == link


class Resolving:
    """A transport whose resolver is the test's."""

    def __init__(self, transport, answers):
        self._transport = transport
        self.answers = answers
        self.asked = []

    def __getattr__(self, name):
        return getattr(self._transport, name)

    def resolve(self, host, port):
        self.asked.append(host)
        return [
            Address(socket.AF_INET6 if ":" in at else socket.AF_INET, (at, port))
            for at in self.answers
        ]


def test_the_core_walks_through_the_addresses_of_a_name(rig, serve):
    server = serve()
    transport = Resolving(make_transport(rig.driver), ["127.0.0.9", "127.0.0.1"])
    core = rig.core
    with_addresses = Pump(core, transport)
    core.when_closed = lambda _: core.connect("broker", server.port, address_index=1)
    first = core.connect("broker", server.port, address_index=0)
    end = time.monotonic() + 5
    while not core.connected and time.monotonic() < end:
        with_addresses.step(100)
    with_addresses.close()
    assert core.closed == [(first, "Connection refused", True)]
    assert core.connected == [first + 1]
    assert transport.asked == ["broker"]  # one walk is over one answer


def test_the_address_index_wraps_and_the_last_one_has_no_more(rig):
    transport = Resolving(make_transport(rig.driver), ["127.0.0.9", "127.0.0.8"])
    pump = Pump(rig.core, transport)
    port = unused_port()
    for index in (0, 1, 2, 3):
        rig.core.connect("broker", port, address_index=index)
    end = time.monotonic() + 5
    while len(rig.core.closed) < 4 and time.monotonic() < end:
        pump.step(100)
    pump.close()
    assert [more for _, _, more in sorted(rig.core.closed)] == [True, False, False, False]


def test_a_name_is_asked_for_anew_when_all_its_addresses_were_tried(rig, serve):
    """Else one that swallows packets is tried for ever, though the name has moved meanwhile."""
    server = serve()
    transport = Resolving(make_transport(rig.driver), ["127.0.0.9", "127.0.0.8"])
    pump = Pump(rig.core, transport)
    for index in (0, 1):
        rig.core.connect("broker", server.port, address_index=index)
    pump.step(0)
    transport.answers = ["127.0.0.1"]
    moved = rig.core.connect("broker", server.port, address_index=2)
    end = time.monotonic() + 5
    while moved not in rig.core.connected and time.monotonic() < end:
        pump.step(100)
    pump.close()
    assert moved in rig.core.connected
    assert transport.asked == ["broker", "broker"]


def test_the_family_by_which_a_broker_was_reached_comes_first(rig, serve):
    """What nobody answers to costs a set-up timeout, once for all brokers and not for each."""
    server = serve()
    transport = Resolving(make_transport(rig.driver), ["::1", "127.0.0.1", "127.0.0.9"])
    pump = Pump(rig.core, transport)

    def reach(host, index):
        link = rig.core.connect(host, server.port, address_index=index)
        end = time.monotonic() + 5
        while link not in rig.core.connected and time.monotonic() < end:
            assert link not in [ended for ended, _, _ in rig.core.closed]
            pump.step(100)
        assert link in rig.core.connected

    first = rig.core.connect("one", server.port, address_index=0)
    pump.step(100)
    reach("one", 1)
    assert [(link, more) for link, _, more in rig.core.closed] == [(first, True)]
    reach("two", 0)  # it begins with what led to the other, in the resolver's order otherwise
    pump.close()


def test_ipv6(rig, ipv6_loopback):
    with socket.create_server((ipv6_loopback, 0), family=socket.AF_INET6) as listener:
        link = rig.core.connect(ipv6_loopback, listener.getsockname()[1])
        rig.until(lambda: rig.core.connected)
        assert rig.core.connected == [link]


def test_disconnect_gives_up_a_connection_attempt_in_silence(rig):
    with TcpProxy(("127.0.0.1", unused_port())) as proxy:
        link = rig.core.connect("127.0.0.1", proxy.port)
        rig.core.disconnect(link)
        assert rig.pump.step(50) is Step.IDLE
    assert rig.core.closed == []


def test_a_socket_connected_to_itself_counts_as_refused(rig):
    port = unused_port()
    link = rig.core.connect("127.0.0.1", port)
    options = SocketOptions()
    apply = SocketOptions.apply

    def bind_and_apply(self, sock):
        apply(self, sock)
        sock.bind(("127.0.0.1", port))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SocketOptions, "apply", bind_and_apply)
        rig.until(lambda: rig.core.closed)
    assert options.receive_buffer_bytes is None
    assert rig.core.closed == [(link, "connected to itself: nobody listens there", False)]


# Bytes --------------------------------------------------------------------------------------------


def test_a_large_frame_lands_in_place(rig, serve):
    body = os.urandom(1 << 20) * 50
    link = rig.connect(serve(lambda sock: sock.sendall(frame(body))))
    rig.until(lambda: rig.core.frames)
    assert rig.core.frames[0] == (link, body)


def test_a_part_of_a_frame_is_no_news(rig, serve):
    size, more = 1_000_000, threading.Event()

    def send_in_parts(sock):
        sock.sendall(struct.pack(">i", size) + b"x" * 600_000)
        more.wait(LIMIT_S)
        sock.sendall(b"x" * 400_000)
        sock.sendall(struct.pack(">i", 3) + b"end")
        sock.recv(1)

    link = rig.connect(serve(send_in_parts))
    end = time.monotonic() + LIMIT_S
    while rig.filled() < 600_000 and time.monotonic() < end:
        rig.pump.step(1)
    assert rig.step_all(2, 20) == [Step.IDLE] * 2  # whatever else was on its way has come
    assert rig.core.frames == []
    more.set()
    rig.until(lambda: len(rig.core.frames) == 2)
    assert [(number, len(body)) for number, body in rig.core.frames] == [(link, size), (link, 3)]


def test_what_has_come_of_a_frame_is_read_before_long(rig, serve):
    """A peer may send on only when what it has sent was read."""
    size, part = 1_000_000, 30_000
    more = threading.Semaphore(0)

    def send_when_read(sock):
        sock.sendall(struct.pack(">i", size) + b"x" * 400_000)
        for at in range(400_000, size, part):
            more.acquire(timeout=LIMIT_S)
            sock.sendall(b"x" * min(part, size - at))
        sock.recv(1)

    rig.connect(serve(send_when_read))
    end = time.monotonic() + LIMIT_S
    have = 0
    while not rig.core.frames and time.monotonic() < end:
        rig.pump.step(20)
        if not rig.core.frames and rig.filled() >= 400_000 + have:
            have += part
            more.release()
    assert [len(body) for _, body in rig.core.frames] == [size]


def test_the_core_is_not_told_of_every_piece(rig, serve):
    size, part = 1_000_000, 50_000
    more = threading.Semaphore(0)

    def send_when_read(sock):
        sock.sendall(struct.pack(">i", size))
        for _ in range(size // part):
            more.acquire(timeout=LIMIT_S)
            sock.sendall(b"x" * part)
        sock.sendall(struct.pack(">i", 3) + b"end")
        sock.recv(1)

    link = rig.connect(serve(send_when_read))
    before, end = rig.core.reads, time.monotonic() + LIMIT_S
    for number in range(size // part):
        more.release()
        while not rig.core.frames and rig.filled() < number * part and time.monotonic() < end:
            rig.pump.step(20)
    rig.until(lambda: len(rig.core.frames) == 2)
    assert rig.core.frames == [(link, b"x" * size), (link, b"end")]
    assert rig.core.reads - before <= 6  # length, a first piece, the rest; length, the rest


def test_a_peer_that_ends_within_a_frame(rig, serve):
    """What was read of it is of no use, and the core hears of the end."""
    size, gone = 100_000, threading.Event()

    def send_a_part(sock):
        sock.sendall(struct.pack(">i", size) + b"x" * 30_000)
        gone.wait(LIMIT_S)
        sock.shutdown(socket.SHUT_RDWR)

    link = rig.connect(serve(send_a_part))
    end = time.monotonic() + LIMIT_S
    while rig.filled() < 30_000 and time.monotonic() < end:
        rig.pump.step(20)
    gone.set()
    rig.until(lambda: rig.core.closed)
    assert rig.core.closed == [(link, "closed by the peer", False)]
    assert rig.core.frames == []


def test_many_small_frames(rig, serve):
    link = rig.connect(serve())
    bodies = [b"%d" % number for number in range(2000)]
    rig.core.send(link, b"".join(map(frame, bodies)))
    rig.until(lambda: len(rig.core.frames) == len(bodies))
    assert [body for _, body in rig.core.frames] == bodies


def test_bytes_one_at_a_time_through_a_delaying_proxy(rig, serve):
    with TcpProxy(("127.0.0.1", serve().port), chunk_bytes=1, delay_ms=1) as proxy:
        link = rig.core.connect(proxy.host, proxy.port)
        rig.core.send(link, frame(b"piecemeal"))
        rig.until(lambda: rig.core.frames)
        assert proxy.bytes_up == 13
    assert rig.core.frames == [(link, b"piecemeal")]


@pytest.mark.parametrize("parts", [1, 50], ids=["whole", "in parts"])
def test_partial_writes_keep_their_order(rig, serve, parts):
    got = bytearray()
    go_on, whole = threading.Event(), threading.Event()
    chunks = [bytes([n]) * 300_000 for n in range(40)]
    total = sum(map(len, chunks))

    def slow(sock):
        go_on.wait(LIMIT_S)
        while len(got) < total:
            data = sock.recv(100_000)
            if not data:
                return
            got.extend(data)
            time.sleep(0.0005)
        whole.set()
        sock.sendall(frame(b"all"))

    link = rig.connect(serve(slow))
    for chunk in chunks:
        size = len(chunk) // parts
        pieces = [memoryview(chunk)[at : at + size] for at in range(0, len(chunk), size)]
        rig.core.actions.append(SendParts(link, pieces) if parts > 1 else Send(link, chunk))
    rig.pump.step(0)
    assert rig.pump._links[link].out, "the kernel took everything: nothing was tried"
    go_on.set()
    rig.until(lambda: rig.core.frames)
    assert whole.is_set()
    assert got == b"".join(chunks)
    assert not rig.pump._links[link].out


def test_a_busy_link_starves_neither_others_nor_deadlines(rig, serve):
    stop = threading.Event()

    def flood(sock):
        data = frame(b"x" * 1000) * 1000
        while not stop.is_set():
            sock.sendall(data)

    flooded = rig.connect(serve(flood))
    quiet = rig.connect(serve())
    heard = set()
    rig.core.when_frame = lambda link, _: heard.add(link)
    rig.core.at = rig.pump.now_ms() + 50
    rig.core.send(quiet, frame(b"hear me"))
    rig.until(lambda: rig.core.deadlines and heard == {flooded, quiet})
    before = rig.core.reads
    rig.pump.step(100)
    assert 0 < rig.core.reads - before <= 16
    stop.set()


# Ends ---------------------------------------------------------------------------------------------


def test_a_peer_that_closes(rig, serve):
    link = rig.connect(serve(lambda sock: sock.shutdown(socket.SHUT_RDWR)))
    rig.until(lambda: rig.core.closed)
    assert rig.core.closed == [(link, "closed by the peer", False)]
    assert rig.pump._links == {}


def test_what_came_before_the_end_is_read(rig, serve):
    def speak(sock):
        sock.sendall(frame(b"last words"))
        sock.shutdown(socket.SHUT_WR)

    link = rig.connect(serve(speak))
    rig.until(lambda: rig.core.closed)
    assert rig.core.frames == [(link, b"last words")]


def test_a_peer_that_resets(rig, serve):
    with TcpProxy(("127.0.0.1", serve().port)) as proxy:
        link = rig.core.connect(proxy.host, proxy.port)
        rig.core.send(link, frame(b"x"))
        rig.until(lambda: rig.core.frames)
        proxy.cut(reset=True)
        rig.until(lambda: rig.core.closed)
    assert rig.core.closed == [(link, "Connection reset by peer", False)]


def test_writing_to_a_dead_link_is_an_input(rig, serve):
    with TcpProxy(("127.0.0.1", serve().port)) as proxy:
        link = rig.core.connect(proxy.host, proxy.port)
        rig.core.send(link, frame(b"x"))
        rig.until(lambda: rig.core.frames)
        proxy.cut(reset=True)
        time.sleep(0.02)
        for _ in range(5):
            rig.core.send(link, frame(b"y"))
        rig.until(lambda: rig.core.closed)
    assert [closed for closed, _, _ in rig.core.closed] == [link]  # said once


def test_a_broker_that_comes_back_is_reached_again(rig, serve):
    core = rig.core
    with TcpProxy(("127.0.0.1", serve().port)) as proxy:
        link = core.connect(proxy.host, proxy.port)
        core.send(link, frame(b"before"))
        rig.until(lambda: core.frames)
        proxy.down()
        rig.until(lambda: core.closed)
        refused = core.connect(proxy.host, proxy.port)
        rig.until(lambda: len(core.closed) == 2)
        assert core.closed[1][:2] == (refused, "Connection refused")
        proxy.up()
        link = core.connect(proxy.host, proxy.port)
        core.send(link, frame(b"after"))
        rig.until(lambda: len(core.frames) == 2)


def test_actions_for_links_that_ended_are_passed_over(rig, serve):
    link = rig.connect(serve())
    rig.core.disconnect(link)
    rig.core.send(link, b"too late")
    rig.core.send(99, b"never was")
    assert rig.pump.step(20) is Step.IDLE
    assert rig.core.closed == []


def test_an_fd_number_used_again_within_a_round_is_not_mistaken(rig, serve):
    """Both links are ready at once; the first one's input closes the second and opens a third in
    its place.
    """
    server = serve()
    links = [rig.connect(server) for _ in range(2)]
    third = []

    def swap(link):
        def act(*_):
            if not third:
                rig.core.disconnect(links[1 - links.index(link)])
                third.append(rig.core.connect("127.0.0.1", unused_port()))

        return act

    rig.core.when_frame = lambda link, _: swap(link)()
    for link in links:
        rig.core.send(link, frame(b"go"))
    rig.pump.step(0)
    time.sleep(0.05)
    rig.until(lambda: rig.core.closed)
    assert rig.core.closed == [(third[0], "Connection refused", False)]
    assert third[0] not in rig.core.connected


# Time ---------------------------------------------------------------------------------------------


def quickest_ms(wait):
    """How long `wait` takes at its quickest; it says so itself."""
    took = []
    while len(took) < TRIES and not (took and took[-1] < LATE_MS):
        took.append(wait())
    return min(took)


def test_silence_ends_in_the_deadline_on_time(rig, serve):
    rig.connect(serve())

    def wait():
        begin = rig.pump.now_ms()
        rig.core.at = begin + 80
        rig.core.deadlines.clear()
        assert rig.pump.step(None) is Step.FED
        [at] = rig.core.deadlines
        assert at - begin >= 80
        return at - begin

    assert quickest_ms(wait) < LATE_MS


def test_a_timeout_ends_the_step_and_feeds_nothing(rig):
    before = rig.core.inputs

    def wait():
        begin = time.monotonic()
        assert rig.pump.step(60) is Step.IDLE
        took_ms = 1000 * (time.monotonic() - begin)
        assert took_ms >= 55
        return took_ms

    assert quickest_ms(wait) < LATE_MS
    assert rig.pump.step(0) is Step.IDLE
    assert rig.pump.step(-5) is Step.IDLE
    assert rig.core.inputs == before


def test_a_deadline_long_past_is_fed_once_and_at_once(rig):
    rig.core.at = 0
    assert rig.pump.step(1000) is Step.FED
    assert len(rig.core.deadlines) == 1
    assert rig.pump.step(0) is Step.IDLE


def test_a_deadline_of_which_only_actions_come_does_not_end_a_step(rig, serve):
    link = rig.connect(serve())
    rig.core.quiet_deadlines = True
    rig.core.when_deadline = lambda _: rig.core.send(link, frame(b"it came"))
    rig.core.at = rig.pump.now_ms() + 20
    assert rig.pump.step(10_000) is Step.FED
    assert rig.core.frames == [(link, b"it came")]
    rig.core.when_deadline = None
    rig.core.at = rig.pump.now_ms() + 20
    assert rig.pump.step(100) is Step.IDLE
    assert len(rig.core.deadlines) == 2


def test_a_wake_up_outlasts_an_exception(rig, serve):
    def interrupt(*_):
        raise KeyboardInterrupt

    link = rig.connect(serve())
    rig.core.when_frame = interrupt
    rig.core.send(link, frame(b"answer"))
    rig.pump.drain()
    assert select.select([rig.pump._links[link].raw], [], [], LIMIT_S)[0]
    rig.pump.wakeup()
    outcomes = []
    with pytest.raises(KeyboardInterrupt):  # gevent may tell of both one after the other
        outcomes.extend(rig.pump.step(LIMIT_S * 1000) for _ in range(5))
    if Step.WOKEN not in outcomes:
        assert rig.pump.step(LIMIT_S * 1000) is Step.WOKEN


def test_data_comes_before_the_deadline(rig, serve):
    link = rig.connect(serve(lambda sock: sock.sendall(frame(b"answer"))))
    order = []
    rig.core.when_frame = lambda *_: order.append("frame")
    rig.core.when_deadline = lambda _: order.append("deadline")
    raw = rig.pump._links[link].raw
    assert select.select([raw], [], [], LIMIT_S)[0]  # the application was away; both are due now
    rig.core.at = rig.pump.now_ms() - 10
    rig.until(lambda: len(order) == 2)
    assert order == ["frame", "deadline"]


def test_an_idle_step_does_not_spin(rig, serve):
    for _ in range(3):
        rig.connect(serve())
    waits = 0
    wait = rig.pump.transport.wait

    def counting(timeout_ms):
        nonlocal waits
        waits += 1
        return wait(timeout_ms)

    rig.pump.transport.wait = counting
    cpu = time.process_time()
    assert rig.pump.step(300) is Step.IDLE
    assert waits <= 3
    assert time.process_time() - cpu < 0.2


def test_given_up_while_its_name_is_looked_up(rig):
    """Whoever asks later is not in the way of whoever asked before."""
    link = rig.core.connect("no-such-host.invalid", 9092)
    rig.pump.drain()
    rig.core.disconnect(link)
    other = rig.core.connect("no-such-host.invalid", 9092)
    rig.until(lambda: other in [closed for closed, _, _ in rig.core.closed])
    rig.step_all(3, 20)
    assert {closed for closed, _, _ in rig.core.closed} <= {link, other}
    if rig.driver == "asyncio":
        assert len(rig.core.closed) == 1
