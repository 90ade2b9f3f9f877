"""The ceiling: what a plain socket and a bare decoder can do with the same topic.

One connection to one broker, Fetch v11 written by hand, no group, no metadata, no buffering, no
checks but the CRC. The next request goes out before the records of an answer are decoded. Every
record's key, value and offset are touched in a Python loop. Assumes uncompressed v2 batches, and
that the broker leads every partition.

    python bench/probe.py --bootstrap 127.0.0.1:9092 --topic t --records 1000000
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import compiled
from readers.common import arguments, report

FETCH, VERSION = 1, 11
FETCH_MAX_BYTES = 52_428_800
PARTITION_MAX_BYTES = 1_048_576
# Above fetch.max.bytes: what a growing buffer costs is no part of the ceiling.
FIRST_BUFFER_BYTES = 67_108_864

decoder = compiled.load("probe_decoder")

Part = tuple[int, memoryview]  # partition, record bytes


class Link:
    """The connection and the buffer that every answer is read into."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        host, _, port = bootstrap.rpartition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.topic = topic.encode()
        self.buffer = memoryview(bytearray(FIRST_BUFFER_BYTES))

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


args = arguments()
link = Link(args.bootstrap, args.topic)


def read() -> tuple[int, int, int]:
    count = size = offsets = 0
    position = dict.fromkeys(range(args.partitions), 0)
    link.ask(position)
    while count < args.records:
        parts = list(link.answer())
        begin = dict(position)
        for partition, data in parts:
            position[partition] = decoder.end_offset(data, position[partition])
        link.ask(position)
        for partition, data in parts:
            at = 0
            while batch_size := decoder.batch_size(data, at):
                batch = data[at : at + batch_size]
                at += batch_size
                records = decoder.decode(batch, batch, begin[partition])
                for record in records:
                    key = record.key
                    size += len(record.value) + (len(key) if key is not None else 0)
                    offsets += record.offset
                count += len(records)
    return count, size, offsets


report("ceiling probe", read)
