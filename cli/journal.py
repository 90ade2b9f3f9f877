"""The format `journal` of `kcore consume`: what coordinators wrote into their topics, as JSON.

A line a record: where it stands, what kind it is (Kafka's name of it), and its key and value with
the fields of Kafka's own messages. Ids of topics are in Kafka's base 64, other bytes in the usual.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

from kcore.cli.endings import RefusalError

if TYPE_CHECKING:
    from kcore import ConsumerRecord
    from kcore.wire.message import Struct


def line(record: ConsumerRecord) -> bytes:
    """RefusalError: a topic of another kind. CorruptRecordError."""
    # They load the compiled codec: not for --help.
    from kcore.coordinator import Entry  # noqa: PLC0415
    from kcore.coordinator.journal import INTERNAL_TOPICS, read_entry  # noqa: PLC0415

    if record.topic not in INTERNAL_TOPICS:
        known = ", ".join(sorted(INTERNAL_TOPICS))
        raise RefusalError(f"-f journal is for {known}, and not for {record.topic}")
    key, value = bytes(record.key or b""), record.value
    found = read_entry(Entry(key, None if value is None else bytes(value)), record.topic)
    said: dict[str, object] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
    }
    if found is None:  # of a newer Kafka
        said |= {"kind": None, "key": _text(key)}
        said["value"] = None if value is None else _text(bytes(value))
    else:
        said["kind"] = type(found[0]).__name__.removesuffix("Key")
        said["key"] = _fields(found[0])
        said["value"] = None if found[1] is None else _fields(found[1])
    return json.dumps(said, ensure_ascii=False).encode() + b"\n"


def _fields(one: Struct) -> dict[str, object]:
    """FIELDS has the type of each: `uuid`, `bytes`, a list of one of these or of structs, ..."""
    return {name: _plain(getattr(one, name), kind) for name, kind, *_ in one.FIELDS}


def _plain(value: object, kind: str) -> object:
    if isinstance(value, list):
        return [_plain(each, kind.removeprefix("[]")) for each in value]
    if isinstance(value, (bytes, memoryview)):
        if kind == "uuid":
            return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
        return _text(bytes(value))
    return _fields(value) if hasattr(value, "FIELDS") else value  # type: ignore[arg-type]


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()
