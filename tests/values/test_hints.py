"""`kcore.hints` against `typing`, whose place it takes where a consumer is loaded."""

from __future__ import annotations

import typing
from collections.abc import Callable

import pytest

from kcore import hints
from kcore.clients.consumer.consumer import Consumer


@pytest.mark.parametrize("name", sorted(hints.__all__))
def test_it_has_what_typing_has_under_the_same_name(name: str) -> None:
    assert hasattr(typing, name)
    assert hasattr(hints, name)


def test_bases_are_plain_classes() -> None:
    K = hints.TypeVar("K", bound=int)

    class Box(hints.Generic[K]):
        __slots__ = ("held",)

    class Lid(hints.Protocol[K]):
        def lift(self) -> K:
            """Whatever."""

    class Tin(Box[str]):
        pass

    assert Box[int]() is not None
    assert not hasattr(Box(), "__dict__")
    assert Tin.__mro__[1:3] == (Box, hints.Generic)
    assert Lid.__mro__ == (Lid, hints.Protocol, hints.Generic, object)


def test_names_can_be_parts_of_types_and_are_shown() -> None:
    T = hints.TypeVar("T")
    assert repr(Callable[[T], hints.Any]) == "collections.abc.Callable[[T], Any]"
    assert repr(dict[str, hints.Any]) == "dict[str, Any]"
    assert (None | hints.Any) is (hints.Any | None) is hints.Any
    assert repr(hints.Final[int]) == "Final"
    assert hints.cast(int, "x") == "x"
    assert hints.overload(len) is len
    assert hints.dataclass_transform(frozen_default=True)(Consumer) is Consumer
