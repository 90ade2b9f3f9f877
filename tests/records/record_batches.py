"""Batches for the tests: Kafka's own from `vectors/java.json`, and ways of breaking one.

`tests/java/BatchVectors.java` wrote the vectors with kafka-clients 4.3.1, together with what
Kafka's own reader makes of them. They are written anew by
`PYTHONPATH=tests/support python tests/records/record_batches.py`.
"""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import crc32c
import java_programs

from kcore.cli.demo.java import find_installation
from kcore.records import ConsumerRecord, RecordReader

HERE = Path(__file__).resolve().parent
VECTORS = HERE / "vectors" / "java.json"

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
HASHED_ABOVE = 320  # longer fields are in the vectors as size and hash (BatchVectors.LONG_VALUE)

Row = list[Any]  # offset, timestamp, key, value, headers, as in the vectors


@dataclass(frozen=True)
class Vector:
    """Batches: their bytes, the first one's header as Kafka reads it, all records.

    v0 and v1 messages are batches to Kafka's reader, too; compressed ones hold many records.
    """

    name: str
    data: bytes
    head: dict[str, Any]
    rows: list[Row]
    batches: int
    end: int  # the offset behind it

    @property
    def delivered(self) -> list[Row]:
        """The rows that a consumer is given."""
        return [] if self.head["control"] else self.rows


def run_java(*args: str, stdin: str = "") -> str:
    """What the Java program prints."""
    java = find_installation()
    command = java_programs.command(java, "BatchVectors", *args)
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


@cache
def vectors() -> dict[str, Vector]:
    found = {}
    for name, made in json.loads(VECTORS.read_text("utf-8")).items():
        batches = made["batches"]
        rows = [row for batch in batches for row in batch["records"]]
        end = batches[-1]["last_offset"] + 1
        data = bytes.fromhex(made["hex"])
        found[name] = Vector(name, data, batches[0], rows, len(batches), end)
    return found


def of_format(*magics: int) -> list[Vector]:
    return [vector for vector in vectors().values() if vector.head["magic"] in magics]


def _hex(field: bytes | None) -> str | None:
    if field is None:
        return None
    if len(field) > HASHED_ABOVE:
        return f"{len(field)} bytes, sha256 {hashlib.sha256(field).hexdigest()}"
    return field.hex()


def row(record: ConsumerRecord) -> Row:
    """A record as the vectors have it."""
    headers = [[name.encode().hex(), _hex(item)] for name, item in record.headers]
    return [record.offset, record.timestamp, _hex(record.key), _hex(record.value), headers]


def rows(records: list[ConsumerRecord]) -> list[Row]:
    return [row(record) for record in records]


def take_all(reader: RecordReader, at_a_time: int = 1_000_000) -> list[ConsumerRecord]:
    """Everything, in calls of `at_a_time`; each call but the last gives that many."""
    records: list[ConsumerRecord] = []
    while not reader.exhausted:
        taken = reader.take(at_a_time)
        assert len(taken) <= at_a_time
        records += taken
    return records


def read(data: bytes, offset: int = 0, **options: Any) -> list[ConsumerRecord]:
    return take_all(RecordReader("t", 3, data, offset, **options))


def sealed(batch: bytes) -> bytes:
    """The batch with its length and its checksum made right."""
    fresh = bytearray(batch)
    struct.pack_into(">i", fresh, 8, len(fresh) - 12)
    struct.pack_into(">I", fresh, 17, crc32c.crc32c(bytes(fresh[21:])))
    return bytes(fresh)


def patched(batch: bytes, at: int, form: str, value: int) -> bytes:
    """The batch with one header field changed, and the checksum made right again."""
    fresh = bytearray(batch)
    struct.pack_into(f">{form}", fresh, at, value)
    struct.pack_into(">I", fresh, 17, crc32c.crc32c(bytes(fresh[21:])))
    return bytes(fresh)


def varint(value: int) -> bytes:
    """A zigzag varint."""
    raw = (value << 1) ^ (value >> 63)
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def raw_record(
    delta: int = 0,
    key: bytes = b"\x01",  # a length of -1: null
    value: bytes = b"\x01",
    headers: bytes = b"\x00",
    *,
    time: bytes = b"\x00",
    length: int | None = None,
) -> bytes:
    """A record of parts that may be wrong; `key` and `value` come with their lengths."""
    body = b"\x00" + time + varint(delta) + key + value + headers
    return varint(len(body) if length is None else length) + body


def raw_batch(
    body: bytes,
    count: int,
    *,
    base_offset: int = 0,
    last_delta: int | None = None,
    attributes: int = 0,
    producer_id: int = -1,
) -> bytes:
    """A batch with a right length and a right checksum around any body."""
    delta = count - 1 if last_delta is None else last_delta
    head = struct.pack(
        ">qiibIhiqqqhii",
        *(base_offset, 0, 5, 2, 0, attributes, delta, 0, 0, producer_id, 0, 0, count),
    )
    return sealed(head + body)


if __name__ == "__main__":
    VECTORS.write_text(run_java(), "utf-8")
