"""The codec and the frame reader in many threads at once, on builds with and without a GIL."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from threads import THREADS, together
from wire_samples import CASES, filled

from kcore.errors import FrameError, UsageError
from kcore.wire.codec import decode, encode
from kcore.wire.frames import FrameReader
from kcore.wire.messages import MetadataResponse

LARGE = (1 << 20) + 12345  # bytes; frames of this size are kept for the next ones


pytestmark = pytest.mark.usefixtures("switch_often")


def test_every_message_both_ways() -> None:
    cases = random.Random(5).sample(CASES, min(len(CASES), 120))
    made = [(cls, version, filled(cls, version, random.Random(6))) for cls, version in cases]
    data = [encode(message, version) for _, version, message in made]

    def work(number: int) -> None:
        for (cls, version, message), wanted in zip(made, data, strict=True):
            assert encode(message, version) == wanted
            assert encode(decode(cls, version, wanted), version) == wanted

    together(work)


def test_first_use_in_many_threads() -> None:
    """Field tables are compiled when they are first needed: by several threads at once."""
    code = """
import sys, threading
sys.setswitchinterval(1e-6)
from kcore.wire import messages
from kcore.wire.codec import decode, encode
classes = [getattr(messages, name) for name in messages.__all__ if name.endswith("Response")]
barrier = threading.Barrier(6)
wrong = []
def work():
    barrier.wait()
    for cls in classes:
        for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
            data = encode(cls(), version)
            if encode(decode(cls, version, data), version) != data:
                wrong.append((cls, version))
threads = [threading.Thread(target=work) for _ in range(6)]
[one.start() for one in threads]
[one.join() for one in threads]
sys.exit(len(wrong))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_message_that_another_thread_changes() -> None:
    """What is written is some state that the fields had; nothing worse."""
    message = MetadataResponse(
        brokers=[MetadataResponse.MetadataResponseBroker(node_id=1, host="h" * 20, port=9)] * 5
    )

    def work(number: int) -> None:
        broker = MetadataResponse.MetadataResponseBroker(node_id=2, host="h" * 20, port=9)
        for turn in range(300):
            if number & 1:
                message.brokers = [broker] * (turn % 4)
                message.cluster_id = None if turn & 1 else "c" * 40
            else:
                seen = decode(MetadataResponse, 12, encode(message, 12))
                assert len(seen.brokers) <= 5
                assert seen.cluster_id in {None, "c" * 40}

    message.cluster_id = None
    together(work)


def test_frame_readers_of_their_own() -> None:
    """Large frames come from memory that all readers share."""

    def work(number: int) -> None:
        body = bytes([number]) * LARGE
        data = LARGE.to_bytes(4, "big") + body + b"\0\0\0\1" + bytes([number])
        for _ in range(6):
            reader = FrameReader(1 << 24)
            large, small = reader.feed(data)
            assert (large == body, bytes(small)) == (True, bytes([number]))

    together(work)


def test_a_shared_frame_reader() -> None:
    """What several threads feed has no order, but every call is whole: frames are not torn."""
    reader = FrameReader(1 << 20)

    def work(number: int) -> list[bytes]:
        got: list[bytes] = []
        for turn in range(200):
            body = bytes([number]) * (turn % 90)
            got += map(bytes, reader.feed(len(body).to_bytes(4, "big") + body))
            assert reader.pending_bytes >= 0
        return got

    frames = [frame for found in together(work) for frame in found]
    assert len(frames) == THREADS * 200
    assert all(len(set(frame)) <= 1 for frame in frames)
    assert reader.pending_bytes == 0


def test_a_frame_reader_that_is_lent_to_several() -> None:
    """Lending and advancing are two calls: between threads they only have to end well."""
    reader = FrameReader(1 << 16)

    def work(number: int) -> None:
        for _ in range(300):
            try:
                room = reader.buffer()
                room[: min(9, len(room))] = b"\0\0\0\5hello"[: min(9, len(room))]
                reader.advance(min(9, len(room)))
            except (FrameError, UsageError):
                return

    together(work)
