"""An embedded broker in a process of its own, and what it costs: CPU seconds and memory.

with BrokerProcess() as broker:
    before = broker.cpu_s()
"""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.message import Message

TICKS = os.sysconf("SC_CLK_TCK")
_SERVE = """
import sys, time
from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker
config = BrokerConfig(
    coordinator=CoordinatorConfig(group_initial_rebalance_delay_ms=int(sys.argv[1])),
)
with EmbeddedBroker(config=config) as broker:
    print(broker.bootstrap, flush=True)
    sys.stdin.read()
"""


class BrokerProcess:
    """One node, in memory. delay_ms: group.initial.rebalance.delay.ms."""

    def __init__(self, delay_ms: int = 0, wrapper: tuple[str, ...] = ()) -> None:
        self._command = [*wrapper, sys.executable, "-c", _SERVE, str(delay_ms)]

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.bootstrap = self._process.stdout.readline().strip()
        return self

    def __exit__(self, *_error: object) -> None:
        with self._process:  # its input ends, and it with that
            pass

    def cpu_s(self) -> float:
        """CPU seconds it has used, in the kernel and outside."""
        return cpu_s(self._process.pid)

    def memory_mb(self) -> float:
        """What is resident, MB."""
        text = Path(f"/proc/{self._process.pid}/status").read_text()
        (line,) = [line for line in text.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) / 1024

    def connect(self) -> socket.socket:
        host, port = self.bootstrap.rsplit(":", 1)
        sock = socket.create_connection((host, int(port)), 60)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def create_topic(self, name: str, partitions: int = 1, **settings: str) -> None:
        create = m.CreateTopicsRequest
        topic = create.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        topic.configs = [
            create.CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in settings.items()
        ]
        with self.connect() as sock:
            answer = ask(sock, create(topics=[topic], timeout_ms=10_000), 4)
        assert not answer.topics[0].error_code, answer


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def exactly(sock: socket.socket, room: memoryview) -> None:
    while room:
        size = sock.recv_into(room)
        if not size:
            raise ConnectionResetError
        room = room[size:]


def ask(sock: socket.socket, message: Message, version: int):
    """One request, and its answer."""
    sock.sendall(frames.encode_request(message, version, 1, "bench"))
    head = bytearray(4)
    exactly(sock, memoryview(head))
    frame = bytearray(struct.unpack(">i", head)[0])
    exactly(sock, memoryview(frame))
    return frames.decode_response(API_TABLE[ApiKey(message.API_KEY)].response, version, frame)


def wall() -> float:
    return time.perf_counter()
