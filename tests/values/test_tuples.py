"""Tuples with names beside what typing would make of the same classes."""

from __future__ import annotations

import copy
import inspect
import pickle
import typing
from typing import Any

import pytest

from kcore.tuples import UNEXPECTED_NAMES, NamedTuple


class Place(NamedTuple):
    """Where it is."""

    topic: str
    partition: int = 7
    tags: tuple[str, ...] = ()

    @property
    def both(self) -> tuple[str, int]:
        return self.topic, self.partition

    def moved(self, by: int) -> Place:
        return self._replace(partition=self.partition + by)


class TypingPlace(typing.NamedTuple):
    topic: str
    partition: int = 7
    tags: tuple[str, ...] = ()


class Other(NamedTuple):
    first: int
    second: int
    third: int


class Close(Place):
    """No fields of its own."""


KINDS: Any = [Place, TypingPlace]


@pytest.mark.parametrize("kind", KINDS)
def test_a_tuple_is_made_by_place_and_by_name(kind):
    made = kind("t", tags=("a",))
    assert made == ("t", 7, ("a",))
    assert (made.topic, made.partition, made.tags) == ("t", 7, ("a",))
    assert (hash(made), kind._make(made), kind(*made)) == (hash(("t", 7, ("a",))), made, made)
    assert (kind._fields, kind._field_defaults) == (
        ("topic", "partition", "tags"),
        {"partition": 7, "tags": ()},
    )
    assert kind.__match_args__ == kind._fields
    assert made._asdict() == {"topic": "t", "partition": 7, "tags": ("a",)}
    assert made._replace(topic="u") == kind("u", 7, ("a",))
    match made:
        case kind(topic, partition=number):
            assert (topic, number) == ("t", 7)
        case _:
            pytest.fail("no match")


@pytest.mark.parametrize(
    ("args", "given"),
    [((), {}), (("t", 1, (), 4), {}), (("t",), {"topic": "t"}), (("t",), {"other": 1})],
)
def test_wrong_arguments_are_refused_in_the_same_words(args, given):
    said = []
    for kind in KINDS:
        with pytest.raises(TypeError) as caught:
            kind(*args, **given)
        said.append(str(caught.value).removeprefix(kind.__name__).removeprefix("."))
    assert said[0] == said[1]
    assert said[0].startswith("__new__()")


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_names_and_numbers_are_refused(kind):
    with pytest.raises(UNEXPECTED_NAMES, match=r"Got unexpected field names: \['other'\]"):
        kind("t")._replace(other=1)
    with pytest.raises(TypeError, match="Expected 3 arguments, got 2"):
        kind._make(("t", 1))


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_its_fields_and_nothing_else(kind):
    made = kind("t")
    for name in ("topic", "new"):
        with pytest.raises(AttributeError):
            setattr(made, name, "u")
    assert not hasattr(made, "__dict__")


def test_it_shows_itself_as_typings_does():
    assert repr(Place("t", 1)) == "Place(topic='t', partition=1, tags=())"
    assert repr(Close("t")) == "Close(topic='t', partition=7, tags=())"
    assert repr(TypingPlace("t", 1)) == "Typing" + repr(Place("t", 1))
    assert str(inspect.signature(Place)) == "(topic, partition=7, tags=())"
    assert Place.__doc__ == "Where it is."
    assert Place.partition.__doc__ == "Alias for field number 1"


def test_classes_have_code_of_their_own():
    assert Other(third=3, second=2, first=1) == (1, 2, 3)
    with pytest.raises(TypeError):
        Other(1, 2)
    assert Place("t") == ("t", 7, ())


def test_methods_and_subclasses_work():
    assert Place("t").both == ("t", 7)
    assert Place("t").moved(by=2) == Place("t", 9)
    assert type(Close("t").moved(1)) is Close
    assert Close._fields == Place._fields
    assert vars(Close("t")) == {}  # as of any class without slots


@pytest.mark.parametrize("made", [Place("t", 1), Close("t", tags=("b",))])
def test_it_is_copied_and_pickled_in_every_protocol(made):
    copies = [copy.copy(made), copy.deepcopy(made)]
    copies += [pickle.loads(pickle.dumps(made, number)) for number in range(6)]
    assert copies == [made] * 8
    assert {type(one) for one in copies} == {type(made)}


def test_defaults_come_last():
    with pytest.raises(TypeError, match="Wrong: fields without a default"):

        class Wrong(NamedTuple):  # type: ignore[misc]  # the checker says the same
            first: int = 1
            second: int  # type: ignore[misc]
