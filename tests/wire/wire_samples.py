"""Messages made up from the field tables: at random from a seed, or as hypothesis strategies."""

from __future__ import annotations

import random
from functools import cache

from hypothesis import strategies as st

from kcore.wire import messages
from kcore.wire.message import ZERO_UUID, Field, Message, Struct

CLASSES: list[type[Message]] = [
    found
    for name in messages.__all__
    if name not in {"ZERO_UUID", "Message", "Struct"}
    for found in [getattr(messages, name)]
]
CASES = [
    (cls, version) for cls in CLASSES for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1)
]
INT_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
FLOATS = (0.0, -1.0, 0.5, 1e300, 1e-300)
TEXTS = ("", "a", "topic-1", "Grüße", "日本", "x" * 130, "\x00")


def case_id(case: object) -> str:
    """`JoinGroupRequest`, `5`: for pytest's ids."""
    return case.__name__ if isinstance(case, type) else str(case)


def in_version(cls: type[Struct], version: int) -> list[Field]:
    """The rows of the fields that the version has."""
    return [row for row in cls.FIELDS if row[2] <= version <= row[3]]


def can_be_null(row: Field, version: int) -> bool:
    """Whether the field can be null in the version."""
    return row[4] <= version <= row[5]


def structs_of(cls: type[Message]) -> list[type[Struct]]:
    """The message class and the struct classes inside it."""
    return [cls, *(value for value in vars(cls).values() if isinstance(value, type))]


def filled(cls: type[Message], version: int, rng: random.Random) -> Message:
    """A message with a random value in every field of the version."""
    return _struct(cls, cls, version, rng)  # type: ignore[return-value]


def _struct(root: type[Message], cls: type[Struct], version: int, rng: random.Random) -> Struct:
    values = {row[0]: _value(root, row, version, rng) for row in in_version(cls, version)}
    return cls(**values)


def _value(root: type[Message], row: Field, version: int, rng: random.Random) -> object:
    if can_be_null(row, version) and rng.random() < 0.2:
        return None
    item = row[1].removeprefix("[]")
    if item != row[1]:
        return [_item(root, item, version, rng) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    return _item(root, item, version, rng)


def _item(root: type[Message], kind: str, version: int, rng: random.Random) -> object:
    if kind in INT_BITS:
        bound = 1 << (INT_BITS[kind] - 1)
        return rng.choice((0, -1, 1, bound - 1, -bound, rng.randrange(-bound, bound)))
    if kind == "uint16":
        return rng.choice((0, 1, 0x7FFF, 0x8000, 0xFFFF, rng.randrange(0x10000)))
    if kind == "float64":
        return rng.choice((*FLOATS, rng.random()))
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "string":
        return rng.choice(TEXTS)
    if kind in {"bytes", "records"}:
        return rng.randbytes(rng.choice((0, 1, 7, 130)))
    if kind == "uuid":
        return rng.choice((ZERO_UUID, rng.randbytes(16)))
    return _struct(root, getattr(root, kind), version, rng)


@cache
def strategy(cls: type[Message], version: int) -> st.SearchStrategy[Message]:
    """Any message of the class that the version can carry."""
    return _struct_strategy(cls, cls, version)  # type: ignore[return-value]


def _struct_strategy(
    root: type[Message], cls: type[Struct], version: int
) -> st.SearchStrategy[Struct]:
    values = {}
    for row in in_version(cls, version):
        item = row[1].removeprefix("[]")
        made = _item_strategy(root, item, version)
        if item != row[1]:
            made = st.lists(made, max_size=3)
        values[row[0]] = st.none() | made if can_be_null(row, version) else made
    return st.builds(cls, **values)


def _item_strategy(root: type[Message], kind: str, version: int) -> st.SearchStrategy[object]:
    if kind in INT_BITS:
        bound = 1 << (INT_BITS[kind] - 1)
        return st.integers(-bound, bound - 1)
    if kind == "uint16":
        return st.integers(0, 0xFFFF)
    if kind == "float64":
        return st.floats(allow_nan=False)
    if kind == "bool":
        return st.booleans()
    if kind == "string":
        return st.text(st.characters(codec="utf-8"), max_size=40)
    if kind in {"bytes", "records"}:
        return st.binary(max_size=200)
    if kind == "uuid":
        return st.binary(min_size=16, max_size=16)
    return _struct_strategy(root, getattr(root, kind), version)
