"""Sets of names that are one thing each, without what `enum` does for flags, mixtures and whims.

`class Step(Enum)` is, for what is used of it here, what the standard library's would make of it:
members that are there once, found by name and by value, in order, with the same text and pickling.
That takes ten times as long to make (a consumer has 28 of them, with 400 members), and hashes a
member by a call of Python whenever a table is asked about it; here a member is hashed as any object
is, or as its number. Type checkers are told that it is the standard one. What users hold is the
standard one.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from kcore.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from enum import Enum, IntEnum

__all__ = ["Enum", "IntEnum"]


class _EnumType(type):
    """The type of all such classes: it makes their members."""

    __members__: MappingProxyType[str, Any]
    _by_value: dict[Any, Any]

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _EnumType:
        values = {
            key: value
            for key, value in namespace.items()
            if not key.startswith("_") and not hasattr(value, "__get__")
        }
        made = super().__new__(
            cls, name, bases, {key: one for key, one in namespace.items() if key not in values}
        )
        members: dict[str, Any] = {}
        made._by_value = {}
        for key, value in values.items():
            if value not in made._by_value:
                made._by_value[value] = made._make(key, value)  # type: ignore[attr-defined]
            members[key] = made._by_value[value]  # another name of the same, maybe
            setattr(made, key, members[key])
        made.__members__ = MappingProxyType(members)
        return made

    def __call__(cls, value: Any) -> Any:
        """The member of this value. ValueError: there is none."""
        found = cls._by_value.get(value)
        if found is None:
            raise ValueError(f"{value!r} is not a valid {cls.__qualname__}")
        return found

    def __getitem__(cls, name: str) -> Any:
        return cls.__members__[name]

    def __contains__(cls, value: object) -> bool:
        return isinstance(value, cls) or value in cls._by_value

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls._by_value.values())

    def __len__(cls) -> int:
        return len(cls._by_value)

    def __repr__(cls) -> str:
        return f"<enum {cls.__name__!r}>"


class _Enum(metaclass=_EnumType):
    name: str
    value: Any

    @classmethod
    def _make(cls, name: str, value: Any) -> _Enum:
        member = object.__new__(cls)
        member.name, member.value = name, value
        return member

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {self.value!r}>"

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.value,)


class _IntEnum(int, _Enum):
    @classmethod
    def _make(cls, name: str, value: Any) -> _IntEnum:
        member = int.__new__(cls, value)
        member.name, member.value = name, value
        return member

    __repr__ = _Enum.__repr__
    __str__ = int.__repr__
    __reduce__ = _Enum.__reduce__


if not TYPE_CHECKING:
    Enum = _Enum
    IntEnum = _IntEnum
