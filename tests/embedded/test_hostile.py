"""Clients that mean harm, on real sockets: they never take the broker down, and others go on."""

import fcntl
import os
import random
import resource
import socket
import struct
import subprocess
import sys
import termios
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from raw_client import Link

from kcore.broker import BrokerConfig, Cluster, Node
from kcore.broker.crowd import CrowdLimits
from kcore.embedded import EmbeddedBroker
from kcore.records import encode_batch
from kcore.structs import Node as Address
from kcore.transports.serve import Server
from kcore.wire import frames
from kcore.wire import messages as m

METADATA = frames.encode_request(m.MetadataRequest(topics=[]), 9, 1, "c")
RANDOM = random.Random(5)


@pytest.fixture
def broker():
    with EmbeddedBroker(config=BrokerConfig(crowd=CrowdLimits(queued_max_bytes=50_000_000))) as one:
        one.create_topic("t")
        yield one
        assert not one.faults


@pytest.fixture
def other(broker):
    """Somebody who means well: served before, and after everything."""
    link = Link(broker.addresses[0])
    assert served(link)
    yield link
    assert served(link)
    link.close()


def served(link):
    return link.ask(m.MetadataRequest(topics=[]), 9).brokers


def connect(broker):
    host, port = broker.addresses[0].split(":")
    return socket.create_connection((host, int(port)), 10)


def ended(sock):
    """Whether the broker closed the connection."""
    sock.settimeout(10)
    with suppress(ConnectionResetError):
        while sock.recv(1 << 16):
            pass
    sock.close()
    return True


def memory_mb():
    fields = Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize() / 1e6


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        struct.pack(">i", -1),
        struct.pack(">i", 0x7FFFFFFF),
        struct.pack(">i", 104_857_601),
        struct.pack(">i", 0),
        struct.pack(">ihhi", 8, 9_999, 0, 1),
        struct.pack(">ihhih", 10, 3, 0, 1, 5),
        struct.pack(">ihhihi", 14, 3, 1, 1, -1, 0x7FFFFFFF),
        struct.pack(">ihhihi", 14, 3, 1, 1, -1, -2),
        struct.pack(">ihhihih", 16, 3, 1, 1, -1, 1, 2) + b"\xff\xfe",
        struct.pack(">ihhih", 12, 3, 1, 1, 2) + b"\xc3\x28",
    ],
    ids=[
        *("http", "tls", "negative", "endless", "too long", "empty", "api", "client id"),
        *("many items", "negative count", "short", "not utf-8"),
    ],
)
def test_what_is_no_request_ends_its_connection(broker, other, data):
    sock = connect(broker)
    sock.sendall(data)
    sock.shutdown(socket.SHUT_WR)
    assert ended(sock)


def test_random_bytes(broker, other):
    for _ in range(100):
        sock = connect(broker)
        with suppress(OSError):
            sock.sendall(RANDOM.randbytes(RANDOM.randrange(1, 5_000)))
        sock.close()
    assert served(other)


def test_connections_that_are_reset_in_the_middle(broker, other):
    for end in range(1, len(METADATA), 3):
        sock = connect(broker)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.sendall(METADATA * 20 + METADATA[:end])
        sock.close()
        assert served(other)


def test_frames_that_trickle_cost_what_came_and_end_when_time_passes(broker, other):
    before = memory_mb()
    socks = [connect(broker) for _ in range(20)]
    for sock in socks:
        sock.sendall(struct.pack(">i", 100_000_000) + b"x")
    for _ in range(5):
        for sock in socks:
            sock.sendall(b"x")
        assert served(other)
    assert memory_mb() - before < 100
    broker.let_time_pass(599_000)
    assert served(other)
    broker.let_time_pass(2_000)
    assert all(ended(sock) for sock in socks)


def test_half_frames_of_many_are_bounded(broker, other):
    """30 clients begin a frame and stop after 5 MB: those with most of the 50 MB go."""
    before = memory_mb()
    socks = [connect(broker) for _ in range(30)]
    chunk = bytes(1_000_000)
    for sock in socks:
        with suppress(OSError):
            sock.sendall(struct.pack(">i", 90_000_000))
            for _ in range(5):
                sock.sendall(chunk)
        assert served(other)
    assert memory_mb() - before < 250
    for sock in socks:
        sock.close()


def test_who_never_reads_its_fetches(broker, other):
    data = encode_batch([(0, None, b"x" * 1_000_000)])
    part = m.ProduceRequest.PartitionProduceData(index=0, records=data)
    entry = m.ProduceRequest.TopicProduceData(name="t", partition_data=[part])
    for _ in range(20):
        produced = other.ask(m.ProduceRequest(acks=1, timeout_ms=1_000, topic_data=[entry]), 9)
        assert not produced.responses[0].partition_responses[0].error_code
    before = memory_mb()
    Fetch = m.FetchRequest
    asked = Fetch.FetchPartition(partition=0, partition_max_bytes=20_000_000)
    request = frames.encode_request(
        Fetch(topics=[Fetch.FetchTopic(topic="t", partitions=[asked])], max_bytes=20_000_000), 11,
        1, "lazy",
    )  # fmt: skip
    socks = [connect(broker) for _ in range(50)]
    for sock in socks:
        sock.sendall(request * 10)
    assert served(other)
    assert memory_mb() - before < 200  # not 50 times 20 MB
    for sock in socks:
        sock.close()


def test_a_thousand_connections(broker, other):
    with ExitStack() as opened:
        socks = [opened.enter_context(connect(broker)) for _ in range(1_000)]
        for sock in socks[::7]:
            sock.sendall(METADATA)
        assert served(other)
        assert all(sock.recv(4) for sock in socks[::7])


@pytest.mark.parametrize(
    "codec",
    [
        "zstd",
        pytest.param("gzip", marks=pytest.mark.slow),
        pytest.param("lz4", marks=pytest.mark.slow),
    ],
)
def test_a_bomb_in_a_batch(broker, other, codec):
    before = memory_mb()
    value = bytes(100_000_000)
    data = encode_batch([(0, None, value)], codec=codec)
    del value
    part = m.ProduceRequest.PartitionProduceData(index=0, records=data)
    entry = m.ProduceRequest.TopicProduceData(name="t", partition_data=[part])
    answer = other.ask(m.ProduceRequest(acks=1, timeout_ms=1_000, topic_data=[entry]), 9)
    assert answer.responses[0].partition_responses[0].error_code
    assert memory_mb() - before < 250


def offsets_of(count):
    """Of so many groups."""
    Fetch = m.OffsetFetchRequest
    groups = [Fetch.OffsetFetchRequestGroup(group_id=f"g{n}", topics=None) for n in range(count)]
    return Fetch(groups=groups), 8


def topics_made(count):
    """More partitions than one request may ask for, so that none is."""
    Create = m.CreateTopicsRequest
    topics = [
        Create.CreatableTopic(name=f"t{n}", num_partitions=1_000, replication_factor=1)
        for n in range(count)
    ]
    return Create(topics=topics, timeout_ms=1_000), 7


@contextmanager
def counted(broker):
    """How many steps of Python the thread of the broker makes meanwhile, in a list."""
    steps = [0]

    def count(frame, event, _):
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps[0] += event == "opcode"
        return count

    broker._server.call(lambda _: sys.settrace(count))
    try:
        yield steps
    finally:
        broker._server.call(lambda _: sys.settrace(None))


@pytest.mark.parametrize("make", [offsets_of, topics_made])
def test_ten_times_as_much_to_do_takes_ten_times_as_long(broker, other, make):
    """And not a hundred times: nobody else is served meanwhile."""

    def took(request):
        with counted(broker) as steps:
            other.ask(*request)
        return steps[0]

    few, many = took(make(100)), took(make(1_000))
    assert few > 1_000
    assert many < 12 * few


def test_many_who_come_when_there_is_no_room():
    crowd = CrowdLimits(max_connections=5)
    with EmbeddedBroker(config=BrokerConfig(crowd=crowd)) as broker:
        links = [Link(broker.addresses[0]) for _ in range(5)]
        assert all(served(link) for link in links)
        assert all(ended(connect(broker)) for _ in range(20))
        links.pop().close()
        again = None
        end = time.monotonic() + 10
        while again is None and time.monotonic() < end:
            link = Link(broker.addresses[0])
            try:
                served(link)
                again = link
            except OSError:  # there was no room yet
                link.close()
        for link in [*links, again]:
            assert served(link)
            link.close()


def test_thousands_of_requests_at_once_hold_up_nobody():
    """Turn by turn: a flood is served a request a turn, so the other's is next."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    cluster = Cluster(BrokerConfig(), [Address(1, *address)], random.Random(1))
    server = Server([(listener, Node(cluster, 1, 0))], lambda: 0)
    flood, good = (socket.create_connection(address, 10) for _ in range(2))
    flood.sendall(METADATA * 2_000)
    server._turn()  # both are accepted
    server._turn()  # the flood is read, and its first request served
    good.sendall(METADATA)
    until_taken(good)
    for _ in range(3):
        server._turn()
    assert good.recv(1 << 16)
    answered = flood.recv(1 << 20)
    (size,) = struct.unpack_from(">i", answered)
    assert len(answered) <= 8 * (size + 4)
    for sock in (flood, good):
        sock.close()
    server._release()


def until_taken(sock):
    """Until the other end's kernel has all that was sent."""
    end = time.monotonic() + 10
    while int.from_bytes(fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)), sys.byteorder):
        assert time.monotonic() < end


NO_DESCRIPTORS = """
import resource, sys
from kcore.embedded import EmbeddedBroker
with EmbeddedBroker() as broker:
    resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))
    print(broker.bootstrap, flush=True)
    sys.stdin.readline()
    print(len(broker.faults), flush=True)
"""


@pytest.mark.slow
def test_without_descriptors_it_does_not_spin_and_goes_on_when_there_are_some():
    with subprocess.Popen(
        [sys.executable, "-c", NO_DESCRIPTORS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as child:  # fmt: skip
        address = child.stdout.readline().strip()
        first = Link(address)
        assert served(first)
        host, port = address.split(":")
        socks = [socket.create_connection((host, int(port)), 10) for _ in range(100)]
        time.sleep(0.3)
        before = cpu_s(child.pid)
        time.sleep(1)
        assert cpu_s(child.pid) - before < 0.5
        assert served(first)
        for sock in socks:
            sock.close()
        last = Link(address)
        assert served(last)
        first.close()
        last.close()
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "0\n"


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
