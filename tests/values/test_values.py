"""Values beside what dataclasses would make of the same classes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import ClassVar

import pytest

from kcore.values import Value, field


class Point(Value):
    kind: ClassVar[str] = "flat"

    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list)
    secret: str | None = field(default=None, repr=False)

    @property
    def both(self) -> tuple[int, int]:
        return self.x, self.y


@dataclasses.dataclass(frozen=True, slots=True)
class Twin:
    x: int
    y: int = 2
    tags: list[str] = dataclasses.field(default_factory=list)
    secret: str | None = dataclasses.field(default=None, repr=False)


class Solid(Point):
    kind: ClassVar[str] = "solid"

    z: int = 3
    y: int = 5


class Counter(Value, frozen=False):
    count: int = 0


class Alone(Value, frozen=False, eq=False):
    names: set[str]


class Checked(Value):
    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError(self.size)


class Named(Point):
    __slots__ = ("_upper",)

    _upper: str


def test_a_value_is_made_as_a_dataclass_is():
    assert (Point(1).x, Point(1).y, Point(1).tags, Point(1).secret) == (1, 2, [], None)
    assert Point(1, 4, ["a"], secret="s").both == (1, 4)
    assert Point(y=3, x=1).both == (1, 3)
    assert Point(1).tags is not Point(1).tags
    assert Point.kind == "flat"
    assert Point.__match_args__ == Twin.__match_args__ == ("x", "y", "tags", "secret")


@pytest.mark.parametrize(
    ("args", "given"),
    [((), {}), ((1, 2, [], None, 5), {}), ((1,), {"x": 1}), ((1,), {"other": 1}), ((), {"y": 1})],
)
def test_wrong_arguments_are_refused_as_by_a_dataclass(args, given):
    for kind in (Point, Twin):
        with pytest.raises(TypeError):
            kind(*args, **given)


def test_what_is_missing_or_unknown_is_named():
    with pytest.raises(TypeError, match="needs x"):
        Point()
    with pytest.raises(TypeError, match="other"):
        Point(1, other=2)


def test_it_is_frozen():
    point = Point(1)
    for change in (
        lambda: setattr(point, "x", 2),
        lambda: delattr(point, "x"),
        lambda: setattr(point, "other", 2),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert point.x == 1


def test_equality_and_hash_go_by_class_and_fields():
    assert Point(1) == Point(1, 2)
    assert Point(1) != Point(2)
    assert Point(1) != Twin(1)
    assert Point(1, 2) != Solid(1, 2)
    assert len({Checked(1), Checked(1), Checked(2)}) == 2
    with pytest.raises(TypeError):
        hash(Point(1))  # it holds a list


def test_it_shows_what_may_be_shown():
    assert repr(Point(1, secret="s")) == "Point(x=1, y=2, tags=[])"


def test_subclasses_add_fields_behind_and_may_change_defaults():
    assert Solid.__match_args__ == ("x", "y", "tags", "secret", "z")
    assert (Solid(1).y, Solid(1).z, Point(1).y) == (5, 3, 2)
    assert Solid(1).both == (1, 5)
    assert Named.__match_args__ == Point.__match_args__


def test_there_is_no_dict():
    assert not hasattr(Solid(1), "__dict__")


def test_what_is_wrong_is_said_by_post_init():
    with pytest.raises(ValueError, match="-1"):
        Checked(-1)


def test_mutable_ones_have_no_hash():
    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)
    assert counter != Counter(2)
    with pytest.raises(TypeError):
        hash(counter)
    del counter.count
    assert not hasattr(counter, "count")


def test_without_eq_each_is_itself():
    one, other = Alone({"a"}), Alone({"a"})
    assert one != other
    assert len({one, other, one}) == 2


def test_copies_and_pickles():
    for value in (Point(1, 5, ["t"], "s"), Solid(1, z=9), Counter(3)):
        for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
            assert again == value
            assert type(again) is type(value)


def test_dataclasses_takes_them():
    assert dataclasses.is_dataclass(Point)
    assert [entry.name for entry in dataclasses.fields(Solid)] == list(Solid.__match_args__)
    assert dataclasses.fields(Point)[1].default == 2
    assert dataclasses.fields(Point)[2].default_factory is list
    assert not dataclasses.fields(Point)[3].repr
    assert dataclasses.replace(Point(1, 4), x=7) == Point(7, 4)
    assert dataclasses.asdict(Counter(3)) == {"count": 3}
    with pytest.raises(TypeError):
        dataclasses.replace(Point(1), other=2)


def test_they_match_patterns():
    match Point(1, 4):
        case Point(x, y):
            assert (x, y) == (1, 4)
