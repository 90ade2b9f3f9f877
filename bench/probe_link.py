"""Fetch by hand over one plain socket: what the ceiling probes read from.

Every answer lands in one buffer that is used again. Assumes v2 batches, and that the broker leads
every partition.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import compiled

FETCH, VERSION = 1, 11
FETCH_MAX_BYTES = 52_428_800
PARTITION_MAX_BYTES = 1_048_576
# Above fetch.max.bytes: what a growing buffer costs is no part of the ceiling.
FIRST_BUFFER_BYTES = 67_108_864

walk = compiled.load("probe_walk")

Part = tuple[int, memoryview]  # partition, record bytes
Batch = tuple[memoryview, int]  # a whole batch, the first offset that is wanted


class Link:
    """The connection and the buffer that every answer is read into."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.topic = topic.encode()
        self.buffer = memoryview(bytearray(FIRST_BUFFER_BYTES))

    def answers(self, partitions: int) -> Iterator[list[Batch]]:
        """The batches of one answer after the other, for ever; valid until the next is asked for.

        The next Fetch leaves before an answer is given away, so that the broker works meanwhile.
        """
        position = dict.fromkeys(range(partitions), 0)
        self.ask(position)
        while True:
            parts = list(self.answer())
            wanted = dict(position)
            for partition, data in parts:
                position[partition] = walk.end_offset(data, position[partition])
            self.ask(position)
            yield [
                (batch, wanted[partition]) for partition, data in parts for batch in batches(data)
            ]

    def ask(self, offsets: dict[int, int]) -> None:
        """Send a Fetch for every partition; no session."""
        body = struct.pack(">hhih5s", FETCH, VERSION, 1, 5, b"probe")
        body += struct.pack(">iiiibiii", -1, 500, 1, FETCH_MAX_BYTES, 0, 0, -1, 1)
        body += struct.pack(f">h{len(self.topic)}si", len(self.topic), self.topic, len(offsets))
        for partition, offset in offsets.items():
            body += struct.pack(">iiqqi", partition, -1, offset, -1, PARTITION_MAX_BYTES)
        body += struct.pack(">ih", 0, 0)
        self.socket.sendall(struct.pack(">i", len(body)) + body)

    def answer(self) -> Iterator[Part]:
        """Receive one answer: its partitions that have records, until the next is received."""
        self._receive(4)
        (size,) = struct.unpack_from(">i", self.buffer)
        if size > len(self.buffer):
            self.buffer = memoryview(bytearray(size))
        self._receive(size)
        view = self.buffer
        (error,) = struct.unpack_from(">h", view, 8)
        if error:
            raise RuntimeError(f"Fetch: error {error}")
        (topics,) = struct.unpack_from(">i", view, 14)
        at = 18
        for _ in range(topics):
            (name_size,) = struct.unpack_from(">h", view, at)
            (partitions,) = struct.unpack_from(">i", view, at + 2 + name_size)
            at += 6 + name_size
            for _ in range(partitions):
                partition, error, aborted = struct.unpack_from(">ih24xi", view, at)
                if error:
                    raise RuntimeError(f"partition {partition}: error {error}")
                at += 34 + 16 * max(aborted, 0) + 4
                (size,) = struct.unpack_from(">i", view, at)
                at += 4
                if size > 0:
                    yield partition, view[at : at + size]
                    at += size

    def _receive(self, size: int) -> None:
        left = self.buffer[:size]
        while left:
            got = self.socket.recv_into(left)
            if not got:
                raise RuntimeError("the broker closed the connection")
            left = left[got:]


def batches(data: memoryview) -> Iterator[memoryview]:
    """The whole batches of one partition."""
    at = 0
    while size := walk.batch_size(data, at):
        yield data[at : at + size]
        at += size
