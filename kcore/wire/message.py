"""What generated messages have in common: slots, comparison, repr, and the codec's field table.

The classes are generated in full instead of made by `dataclasses`, whose decorator costs 0.3 ms a
class at import (30 ms for what a consumer needs). They read, compare and print like slotted
dataclasses with keyword-only fields, and `dataclasses.fields`, `asdict` and `replace` take them:
what those ask for is made when they first ask.
"""

from __future__ import annotations

from kcore.hints import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import dataclasses

ZERO_UUID = bytes(16)

# Fields that are not to be seen, wherever a message is printed.
_SECRET = frozenset({"auth_bytes", "hmac", "salted_password"})

# "A new list" or "a new struct" in signatures, because None is a value of nullable fields.
UNSET: Any = type("Unset", (), {"__repr__": lambda _: "..."})()

# One field: attribute, type, first and last version, first and last nullable version (-1, -1: never
# null), default (`...`: a new list or struct), tag (-1: none), ignorable, plain. The last version
# is END where the schema leaves it open.
Field = tuple[str, str, int, int, int, int, object, int, bool, bool]
Fields = tuple[Field, ...]
END = 32767


class Pieces(tuple[bytes | memoryview, ...]):
    """Record batches in a row: what `records` of a message to be sent may be in place of bytes, so
    that they need not be joined (`frames.encode_request_parts` and `encode_response_parts` do not
    copy them either).
    """

    __slots__ = ()


class _DataclassFields:
    """`__dataclass_fields__` of a message class, made from its FIELDS when first asked for."""

    def __init__(self) -> None:
        self._made: dict[type[Struct], dict[str, dataclasses.Field[object]]] = {}

    def __get__(
        self, instance: Struct | None, owner: type[Struct]
    ) -> dict[str, dataclasses.Field[object]]:
        if owner not in self._made:
            import dataclasses  # noqa: PLC0415 - slow to load, and hardly ever asked for

            rows = [(row[0], object, dataclasses.field(kw_only=True)) for row in owner.FIELDS]
            twin = dataclasses.make_dataclass(owner.__name__, rows)
            self._made[owner] = {entry.name: entry for entry in dataclasses.fields(twin)}
        return self._made[owner]


class _DataclassParams:
    """What pprint asks for: the repr is our own."""

    repr = False


class Struct:
    """A part of a message."""

    __slots__ = ()

    __dataclass_fields__ = _DataclassFields()
    __dataclass_params__ = _DataclassParams

    FIELDS: ClassVar[Fields] = ()

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, row[0]) == getattr(other, row[0]) for row in self.FIELDS)

    def __repr__(self) -> str:
        shown = [row[0] for row in self.FIELDS if row[0] not in _SECRET]
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"


class Message(Struct):
    """A request, response, header or blob.

    API_KEY: its API key; -1 for headers and blobs.
    VERSIONS: lowest and highest version it can be written in and read from.
    FLEXIBLE_FROM: the first version with compact types and tagged fields; None if there is none.
    """

    __slots__ = ()

    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[tuple[int, int]]
    FLEXIBLE_FROM: ClassVar[int | None]
