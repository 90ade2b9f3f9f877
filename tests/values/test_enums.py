"""Sets of names beside what the standard library would make of the same classes."""

from __future__ import annotations

import copy
import enum
import json
import pickle
from typing import Any

import pytest

from kcore.enums import Enum, IntEnum


class Step(Enum):
    """Where it is."""

    FIRST = "first"
    SECOND = ("second", 2)
    LAST = "last"
    END = "last"

    _ignored = 1

    @property
    def loud(self) -> str:
        return self.name.upper() + "!"

    @classmethod
    def start(cls) -> Step:
        return cls.FIRST


class Code(IntEnum):
    NONE = 0
    SOME = 7
    BELOW = -1

    @property
    def stem(self) -> str:
        return self.name.title()


class StandardStep(enum.Enum):
    FIRST = "first"
    SECOND = ("second", 2)
    LAST = "last"
    END = "last"  # noqa: PIE796 - another name of it


class StandardCode(enum.IntEnum):
    NONE = 0
    SOME = 7
    BELOW = -1


STEPS: Any = [Step, StandardStep]
CODES: Any = [Code, StandardCode]


@pytest.mark.parametrize("kind", STEPS)
def test_members_are_found_by_name_and_by_value(kind):
    assert [member.name for member in kind] == ["FIRST", "SECOND", "LAST"]
    assert [member.value for member in kind] == ["first", ("second", 2), "last"]
    assert kind.END is kind.LAST is kind["END"] is kind["LAST"] is kind("last")
    assert (len(kind), list(kind.__members__)) == (3, ["FIRST", "SECOND", "LAST", "END"])
    assert kind.__members__["END"] is kind.LAST
    assert kind.FIRST in kind
    assert isinstance(kind.FIRST, kind)
    with pytest.raises(ValueError, match=f"'none' is not a valid {kind.__qualname__}"):
        kind("none")
    with pytest.raises(KeyError, match="NONE"):
        kind["NONE"]


@pytest.mark.parametrize("kind", STEPS)
def test_a_member_equals_itself_alone(kind):
    assert kind.FIRST == kind.FIRST
    assert kind.FIRST != kind.LAST
    assert kind.FIRST != "first"
    assert {kind.FIRST: 1, kind.LAST: 2}[kind("first")] == 1
    assert kind.FIRST
    match kind("first"):
        case kind.FIRST:
            pass
        case _:
            pytest.fail("no match")


@pytest.mark.parametrize("kind", CODES)
def test_numbers_are_numbers(kind):
    assert (kind.SOME, kind.NONE, int(kind.BELOW)) == (7, 0, -1)
    assert {7: "some"}[kind.SOME] == {kind.SOME: "some"}[7] == "some"
    assert (not kind.NONE, kind.SOME + 1, kind.BELOW < kind.NONE) == (True, 8, True)
    assert (str(kind.SOME), f"{kind.SOME}", f"{kind.SOME:03}") == ("7", "7", "007")
    assert json.dumps([kind.SOME]) == "[7]"
    assert kind(7) is kind.SOME
    assert sorted(kind) == [kind.BELOW, kind.NONE, kind.SOME]
    with pytest.raises(ValueError, match=f"9 is not a valid {kind.__qualname__}"):
        kind(9)


def test_they_show_themselves_as_the_standard_ones_do():
    for kind in (*STEPS, *CODES):
        shown = repr(kind).replace("Standard", "")
        assert shown == f"<enum {kind.__name__.removeprefix('Standard')!r}>"
    for one, standard in zip([*Step, *Code], [*StandardStep, *StandardCode], strict=True):
        assert repr(one) == repr(standard).replace("Standard", "")
        assert f"{one}" == str(one) == str(standard).replace("Standard", "")


def test_methods_are_no_members():
    assert Step.FIRST.loud == "FIRST!"
    assert Step.start() is Step.FIRST
    assert Step._ignored == 1
    assert Code.SOME.stem == "Some"
    assert Step.__doc__ == "Where it is."


@pytest.mark.parametrize("member", [*Step, *Code])
def test_a_member_is_there_once(member):
    copies = [copy.copy(member), copy.deepcopy(member)]
    copies += [pickle.loads(pickle.dumps(member, number)) for number in range(6)]
    assert all(one is member for one in copies)
