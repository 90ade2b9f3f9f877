"""What each compression library takes to unpack a batch, and what `kcore.records.codecs` adds.

    python bench/bench_codecs.py [--mib 32]

Rows: codec and library; columns: MB of records a second out of batches of 16 KiB, 128 KiB and
1 MiB, of small JSON values. `kcore` is what a consumer gets, with the bounds checked and the result
as bytes. A library that is not installed is left out.
"""

from __future__ import annotations

import argparse
import importlib
import random
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from topics import event

from kcore.limits import MAX_BATCH_BYTES
from kcore.records import codecs, encode_batch

BATCH_BYTES = (16 << 10, 128 << 10, 1 << 20)
HEADER_BYTES = 61
RECORD_BYTES = 105
TIME = 1_700_000_000_000

Unpack = Callable[[bytes], Any]
Case = tuple[str, str, Callable[[bytes], bytes], Unpack]


def find(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def snappy_blocks(unpack: Unpack, data: bytes) -> bytes:
    """A xerial stream by a library that unpacks raw blocks."""
    parts, at = [], 16
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        parts.append(bytes(unpack(data[at + 4 : at + 4 + size])))
        at += 4 + size
    return b"".join(parts)


def cases() -> Iterator[Case]:
    """Codec, library, what packs, what unpacks."""
    for codec, others in ((1, gzip_cases), (2, snappy_cases), (3, lz4_cases), (4, zstd_cases)):
        name, pack, unpack = codecs.NAMES[codec], codecs.COMPRESS[codec], codecs.DECOMPRESS[codec]
        yield name, "kcore", partial(pack, level=None), partial(ours, unpack)
        for library, theirs in others():
            yield name, library, partial(pack, level=None), theirs


def ours(unpack: codecs.Decompress, data: bytes) -> bytes:
    return unpack(memoryview(data), MAX_BATCH_BYTES)


def gzip_cases() -> Iterator[tuple[str, Unpack]]:
    for name in ("zlib", "isal.isal_zlib", "zlib_ng.zlib_ng"):
        if library := find(name):
            yield name.split(".")[0], partial(library.decompress, wbits=31)
    if library := find("cramjam"):
        yield "cramjam", library.gzip.decompress


def snappy_cases() -> Iterator[tuple[str, Unpack]]:
    if library := find("cramjam"):
        yield "cramjam", partial(snappy_blocks, library.snappy.decompress_raw)
    if library := find("snappy"):
        yield "python-snappy", partial(snappy_blocks, library.uncompress)


def lz4_cases() -> Iterator[tuple[str, Unpack]]:
    if library := find("lz4.frame"):
        yield "lz4", library.decompress
    if library := find("cramjam"):
        yield "cramjam", library.lz4.decompress


def zstd_cases() -> Iterator[tuple[str, Unpack]]:
    if library := find("zstandard"):
        decoder = library.ZstdDecompressor()
        yield "zstandard", lambda data: decoder.decompressobj().decompress(data)
    if library := find("cramjam"):
        yield "cramjam", library.zstd.decompress
    if library := find("backports.zstd"):
        yield "backports.zstd", library.decompress


def batches(size: int, total: int) -> list[bytes]:
    """Bodies of batches of about `size` bytes, `total` bytes in all; gzip packs them 4:1."""
    rng = random.Random(1)
    made = []
    for first in range(0, total // RECORD_BYTES, size // RECORD_BYTES):
        batch = [
            (TIME + 7 * number, b"user-%d" % rng.randrange(5000), event(rng, number))
            for number in range(first, first + size // RECORD_BYTES)
        ]
        made.append(encode_batch(batch)[HEADER_BYTES:])
    return made


def rate(case: Case, plain: list[bytes], rounds: int = 5) -> float:
    """MB/s of the best round."""
    _, _, pack, unpack = case
    packed = [pack(body) for body in plain]
    for body, data in zip(plain, packed, strict=True):
        if zlib.crc32(unpack(data)) != zlib.crc32(body):
            raise AssertionError(f"{case[1]} reads {case[0]} wrongly")
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for data in packed:
            unpack(data)
        best = min(best, time.perf_counter() - begin)
    return sum(len(body) for body in plain) / best / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=8, help="bytes of records in each case")
    total = parser.parse_args().mib << 20
    plain = [batches(size, total) for size in BATCH_BYTES]
    print(f"{'MB/s':24}" + "".join(f"{size >> 10:>7} KiB" for size in BATCH_BYTES))
    for case in cases():
        name = f"{case[0]} {case[1]}"
        print(f"{name:24}" + "".join(f"{rate(case, bodies):>11.0f}" for bodies in plain))


if __name__ == "__main__":
    main()
