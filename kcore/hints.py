"""What annotations are written with, without loading `typing`, which was an eighth of a consumer's
import.

Annotations are not evaluated (PEP 563), so at run time most of these names stand for nothing;
`Protocol` and `Generic` are bases that do nothing. Type checkers are told that all are typing's.
Modules that a consumer loads take them from here.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import (
        Any,
        ClassVar,
        Final,
        Generic,
        Literal,
        NoReturn,
        Protocol,
        Self,
        TypeVar,
        cast,
        dataclass_transform,
        overload,
    )
else:

    class _Hint:
        """A name that only type checkers know more of; also as a part of another type."""

        def __init__(self, name, **_):
            self._name = name

        def __getitem__(self, _):
            return self

        def __or__(self, _):
            return self

        __ror__ = __or__

        def __repr__(self):
            return self._name

    class Generic:
        """A base whose subclasses can be written with the types they are about."""

        __slots__ = ()

        def __class_getitem__(cls, _):
            return cls

    class Protocol(Generic):
        """A base of classes that say what others are like."""

        __slots__ = ()

    Any = _Hint("Any")
    ClassVar = _Hint("ClassVar")
    Final = _Hint("Final")
    Literal = _Hint("Literal")
    NoReturn = _Hint("NoReturn")
    Self = _Hint("Self")
    TypeVar = _Hint

    def cast(_, value):
        """The value, as it is."""
        return value

    def dataclass_transform(**_):
        """For type checkers alone."""
        return lambda made: made

    def overload(function):
        """For type checkers alone: the last definition of a name is the one there is."""
        return function


__all__ = [
    "TYPE_CHECKING",
    "Any",
    "ClassVar",
    "Final",
    "Generic",
    "Literal",
    "NoReturn",
    "Protocol",
    "Self",
    "TypeVar",
    "cast",
    "dataclass_transform",
    "overload",
]
