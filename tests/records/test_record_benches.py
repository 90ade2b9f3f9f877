"""The benches of this room, tiny, so that none rots."""

from __future__ import annotations

import importlib
import socket
import struct
import sys
import threading
from pathlib import Path

import pytest

from kcore.records import RecordReader
from kcore.records.batches import describe_batches

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("size", [10, 100, 1024])
def test_cases(bench: None, size: int, codec: str) -> None:
    cases = importlib.import_module("bench_records")
    batches = cases.rows(size, 700)
    assert {len(value) for batch in batches for _, _, value in batch} == {size}
    log = cases.encode(batches, codec)
    assert cases.decode(log) == 700
    assert cases.touch(log) == cases.expected(batches)


def test_codec_bench(
    bench: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = importlib.import_module("bench_codecs")
    plain = cases.batches(4096, 8192)
    assert len(plain) == 2
    for case in cases.cases():
        assert cases.rate(case, plain, rounds=1) > 0


def answer(log: bytes, partitions: int) -> bytes:
    """A Fetch v11 answer with the same records in every partition."""
    body = struct.pack(">iihii", 1, 0, 0, 0, 1) + struct.pack(">h1si", 1, b"t", partitions)
    for partition in range(partitions):
        body += struct.pack(">ihqqqiii", partition, 0, 9, 9, 0, -1, -1, len(log)) + log
    return struct.pack(">i", len(body)) + body


@pytest.mark.slow  # compiles: 25 s of CPU, and a minute and more beside other tests
@pytest.mark.timeout(600)
def test_probe(
    bench: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = importlib.import_module("bench_records")
    batches = cases.rows(100, 300)
    log = cases.encode(batches, "none")

    def serve() -> None:
        link, _ = listener.accept()
        with link:
            link.recv(65536)
            link.sendall(answer(log + log[:50], 2))
            link.recv(65536)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve)
        server.start()
        where = f"127.0.0.1:{listener.getsockname()[1]}"
        arguments = ["--bootstrap", where, "--topic", "t", "--partitions", "2", "--records", "600"]
        monkeypatch.setattr(sys, "argv", ["probe.py", *arguments])
        probe = importlib.import_module("probe")
        try:
            assert '"records": 600' in capsys.readouterr().out
            reader = RecordReader("t", 0, log, 0)
            ours = [(one.key, one.value, one.offset) for one in reader.take(1000)]
            theirs = []
            for head in describe_batches(log):
                batch = memoryview(log)[head.at : head.at + head.size_bytes]
                found = probe.decode(batch, batch, probe.body_of(batch), 0)
                theirs += [(one.key, one.value, one.offset) for one in found]
            assert theirs == ours
        finally:
            probe.link.socket.close()
            server.join(10)
