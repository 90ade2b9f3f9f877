"""Large frames live in blocks that are used again; each has its memory as long as it is held."""

import random
import re
import struct
from functools import lru_cache
from pathlib import Path

import pytest

from kcore.wire.frames import FrameReader

MIB = 1 << 20


@lru_cache(maxsize=256)
def piece(fill):
    return bytes([fill]) * 300_000


def frame(reader, size, fill):
    """A frame of `size` bytes, all `fill`, received in pieces."""
    assert reader.feed(struct.pack(">i", size)) == []
    left = size
    while True:
        room = reader.buffer()
        count = min(len(room), 300_000, left)
        room[:count] = memoryview(piece(fill))[:count]
        del room
        found = reader.advance(count)
        left -= count
        if found:
            assert left == 0
            return found[0]


def whole(view, size, fill):
    return len(view) == size and bytes(view) == bytes([fill]) * size


@pytest.mark.parametrize("seed", range(3))
def test_frames_that_live_side_by_side_share_nothing(seed):
    rng = random.Random(seed)
    reader = FrameReader(1 << 30)
    held = []
    for number in range(60):
        size = rng.choice([1000, MIB - 1, MIB, MIB + 1, rng.randrange(MIB, 6 * MIB), 17 * MIB])
        fill = number % 251 + 1
        held.append((frame(reader, size, fill), size, fill))
        while len(held) > rng.randrange(1, 7):
            assert whole(*held.pop(rng.randrange(len(held))))
    assert all(whole(*one) for one in held)


def test_the_view_keeps_a_block_from_being_used_again():
    reader = FrameReader(1 << 30)
    first = frame(reader, 2 * MIB, 1)
    part = first[MIB : MIB + 10]
    del first
    second = frame(reader, 2 * MIB, 2)
    assert bytes(part) == bytes([1]) * 10
    assert whole(second, 2 * MIB, 2)


def resident_bytes():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024


def test_what_is_kept_of_frames_that_went_is_bounded():
    reader = FrameReader(1 << 30)
    before = resident_bytes()
    frames = [frame(reader, size * MIB, 7) for size in (1, 2, 3, 4, 5, 6, 7, 8, 15, 20, 30)]
    assert resident_bytes() - before > 90 * MIB
    frames.clear()
    assert resident_bytes() - before < 24 * MIB


@pytest.mark.parametrize(("sizes", "kept"), [((31,), 31), ((2, 31), 31), ((31, 2), 2), ((33,), 0)])
def test_a_block_larger_than_all_that_is_kept_otherwise_is_kept_alone(sizes, kept):
    reader = FrameReader(1 << 30)
    for _ in range(4):  # of what other tests left, each gives one back
        frame(reader, 40 * MIB, 7)
    before = resident_bytes()
    for size in sizes:
        frame(reader, size * MIB, 7)
    assert abs(resident_bytes() - before - kept * MIB) < MIB
