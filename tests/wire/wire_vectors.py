"""Vectors: bodies of messages as Kafka's Java classes write them, beside the value in Kafka's JSON.

`vectors/*.json` holds one for each version of each message, made up at random from a seed: their
values by `wire_samples`, their bytes by `tests/java/WriteVectors.java` with kafka-clients 4.4.0.
`PYTHONPATH=tests/support python tests/wire/wire_vectors.py` makes them anew.
"""

from __future__ import annotations

import base64
import json
import random
import subprocess
from pathlib import Path

import java_programs
from wire_samples import CLASSES, filled, in_version

from kcore.cli.demo.java import find_installation
from kcore.wire.message import Message, Struct

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "vectors"
SEED = 4


def kafka_name(attribute: str) -> str:
    """Kafka's JSON name of a field, for the names that the messages have."""
    first, *rest = attribute.split("_")
    return first + "".join(word.capitalize() for word in rest)


def to_json(value: Struct, version: int) -> dict[str, object]:
    """A message as Kafka's JsonConverter takes it."""
    return {
        kafka_name(row[0]): _to_json(row[1], getattr(value, row[0]), version)
        for row in in_version(type(value), version)
    }


def _to_json(kind: str, value: object, version: int) -> object:
    if isinstance(value, list):
        return [_to_json(kind.removeprefix("[]"), item, version) for item in value]
    if isinstance(value, bytes):
        if kind == "uuid":
            return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
        return base64.b64encode(value).decode()
    return to_json(value, version) if isinstance(value, Struct) else value


def from_json(cls: type[Message], data: dict[str, object]) -> Message:
    """The message of such a JSON value."""
    return _struct(cls, cls, data)  # type: ignore[return-value]


def _struct(root: type[Message], cls: type[Struct], data: dict[str, object]) -> Struct:
    rows = {kafka_name(row[0]): row for row in cls.FIELDS}
    return cls(
        **{rows[name][0]: _value(root, rows[name][1], value) for name, value in data.items()}
    )


def _value(root: type[Message], kind: str, value: object) -> object:
    if value is None:
        return None
    if kind.startswith("[]"):
        return [_value(root, kind[2:], item) for item in value]
    if kind == "uuid":
        return base64.urlsafe_b64decode(value + "==")
    if kind in {"bytes", "records"}:
        return base64.b64decode(value)
    return _struct(root, getattr(root, kind), value) if isinstance(value, dict) else value


def make(seed: int, count: int) -> dict[str, list[dict[str, object]]]:
    """`count` vectors a version by name of message, with the bytes that Java's classes make."""
    rng = random.Random(seed)
    made: dict[str, list[dict[str, object]]] = {}
    lines = []
    for cls in CLASSES:
        made[cls.__name__] = []
        for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
            for _ in range(count):
                value = to_json(filled(cls, version, rng), version)
                made[cls.__name__].append({"version": version, "value": value})
                lines.append(f"{cls.__name__} {version} {json.dumps(value)}\n")
    java = find_installation()
    done = subprocess.run(
        java_programs.command(java, "WriteVectors"),
        input="".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    bodies = iter(done.stdout.split("\n"))
    for vectors in made.values():
        for vector in vectors:
            vector["body"] = next(bodies)
    return made


def read(name: str) -> list[dict[str, object]]:
    """The committed vectors of a message."""
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def write() -> None:
    """Replace the committed vectors."""
    for name, vectors in make(SEED, 1).items():
        lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in vectors)
        (FOLDER / f"{name}.json").write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    write()
