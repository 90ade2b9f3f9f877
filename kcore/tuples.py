"""Tuples with named fields, without making code at import.

`class Node(NamedTuple)` is what typing's class of that name would make of it: the same constructor,
methods, repr, speed and pickling. Typing's compiles every annotation and then a constructor, which
costs ten times what the class itself does; here a constructor is compiled once for each number of
fields, and classes have its code under the names of theirs. Type checkers are told that it is
typing's.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from functools import cache
from types import CodeType, FunctionType

from kcore.hints import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from typing import NamedTuple

__all__ = ["UNEXPECTED_NAMES", "NamedTuple"]

UNEXPECTED_NAMES: type[Exception] = TypeError if sys.version_info >= (3, 13) else ValueError
"""What `_replace` of a namedtuple raises for names it does not have."""

_new = tuple.__new__
_One: Any = namedtuple("_One", "field")  # noqa: PYI024 - for the kind of its getters, written in C
_Getter = type(_One.field)


@cache
def _getter(index: int) -> object:
    return _Getter(index, f"Alias for field number {index}")


@cache
def _constructor(size: int) -> CodeType:
    names = "".join(f"_{index}, " for index in range(size))
    made = eval(f"lambda _cls, {names}: _new(_cls, ({names}))")  # noqa: S307 - as namedtuple does
    code: CodeType = made.__code__
    return code


class _TupleType(type):
    """The type of all such classes: it finds their fields."""

    _fields: tuple[str, ...]

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _TupleType:
        if isinstance(bases[0], _TupleType) and not bases[0]._fields:
            _add_fields(name, namespace)
        return super().__new__(cls, name, bases, namespace)


def _add_fields(name: str, namespace: dict[str, Any]) -> None:
    fields = tuple(namespace.get("__annotations__", ()))
    defaults = {field: namespace.pop(field) for field in fields if field in namespace}
    if tuple(defaults) != fields[len(fields) - len(defaults) :]:
        raise TypeError(f"{name}: fields without a default follow others that have one")
    code = _constructor(len(fields)).replace(co_varnames=("_cls", *fields))
    new = FunctionType(code, globals(), "__new__", tuple(defaults.values()))
    new.__qualname__ = f"{name}.__new__"
    namespace |= zip(fields, map(_getter, range(len(fields))), strict=True)
    namespace |= {
        "__slots__": (),
        "__new__": new,
        "__match_args__": fields,
        "_fields": fields,
        "_field_defaults": defaults,
    }


class _Named(tuple[Any, ...], metaclass=_TupleType):
    """What is the same for all."""

    __slots__ = ()

    _fields = ()

    @classmethod
    def _make(cls, iterable: Any) -> Self:
        """Of as many values as there are fields."""
        made = _new(cls, iterable)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **given: Any) -> Self:
        """The same with other values in these fields."""
        made = self._make(map(given.pop, self._fields, self))
        if given:
            raise UNEXPECTED_NAMES(f"Got unexpected field names: {list(given)!r}")
        return made

    __replace__ = _replace  # copy.replace, of Python 3.13

    def _asdict(self) -> dict[str, Any]:
        """The values by the names of their fields."""
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        pairs = [f"{name}={value!r}" for name, value in self._asdict().items()]
        return f"{type(self).__name__}({', '.join(pairs)})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)


if not TYPE_CHECKING:
    NamedTuple = _Named
