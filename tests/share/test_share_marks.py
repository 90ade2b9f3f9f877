"""Marks of acquired offsets, against a dict."""

import random

import pytest

from kcore.share.acknowledgements import batches_of
from kcore.share.marks import (
    ACCEPT,
    DONE,
    GAP,
    HELD,
    REJECT,
    RELEASE,
    RENEW,
    RENEWING,
    WAITING,
    Marks,
)


def test_neighbours_are_one_run_and_others_are_none_of_ours():
    marks = Marks([(5, 7, 1), (8, 9, 2), (20, 20, 1)])
    assert [marks.at(at) for at in (4, 5, 9, 10, 19, 20, 21)] == [
        *(DONE, WAITING, WAITING, DONE, DONE, WAITING, DONE)
    ]
    assert marks.count(WAITING) == 6


def test_what_is_acknowledged_is_taken_once_and_renewals_wait_for_their_answer():
    marks = Marks([(0, 9, 1)])
    for at, mark in ((0, ACCEPT), (1, RELEASE), (3, RENEW), (4, GAP), (9, REJECT), (5, HELD)):
        marks.put(at, mark)
    assert marks.take() == [(0, bytes([ACCEPT, RELEASE])), (3, bytes([RENEW, GAP])), (9, b"\3")]
    assert marks.take() == []
    assert [marks.at(at) for at in (0, 1, 3, 4, 9, 5)] == [DONE, DONE, RENEWING, DONE, DONE, HELD]
    assert not marks.through
    marks.drop(0, 100)
    assert marks.through


@pytest.mark.parametrize("seed", range(30))
def test_whatever_happens_a_dict_says_the_same(seed):
    rng = random.Random(seed)
    ranges, at = [], 0
    for _ in range(rng.randint(1, 5)):
        at += rng.choice([0, 1, 5])
        ranges.append((at, at + rng.randint(0, 9), 1))
        at = ranges[-1][1] + 1
    marks = Marks(ranges)
    model = {one: WAITING for first, last, _ in ranges for one in range(first, last + 1)}
    kinds = [GAP, ACCEPT, RELEASE, REJECT, RENEW, WAITING, HELD, RENEWING, DONE]
    for _ in range(60):
        first = rng.randint(0, at)
        last = first + rng.randint(0, 8)
        match rng.randint(0, 3):
            case 0:
                before, after = rng.choice(kinds), rng.choice(kinds)
                marks.change(before, after, first, last)
                for one, mark in model.items():
                    if mark == before and first <= one <= last:
                        model[one] = after
            case 1:
                one, mark = rng.choice(list(model)), rng.choice(kinds)
                marks.put(one, mark)
                model[one] = mark
            case 2:
                marks.drop(first, last)
                model |= {one: DONE for one in model if first <= one <= last}
            case 3 if rng.random() < 0.2:
                told = {
                    start + number: mark
                    for start, run in marks.take()
                    for number, mark in enumerate(run)
                }
                assert told == {one: mark for one, mark in model.items() if mark <= RENEW}
                model |= {one: RENEWING if mark == RENEW else DONE for one, mark in told.items()}
        assert {one: marks.at(one) for one in range(at + 9)} == {
            one: model.get(one, DONE) for one in range(at + 9)
        }
        for kind in kinds:
            assert marks.count(kind) == list(model.values()).count(kind)


@pytest.mark.parametrize("seed", range(30))
def test_batches_on_the_wire_say_what_the_marks_do(seed):
    rng = random.Random(seed)
    marks = b"".join(bytes([rng.randint(0, 4)]) * rng.choice([1, 2, 9, 10, 40]) for _ in range(6))
    said = []
    before = 99
    for first, last, types in batches_of(100, marks):
        assert first == before + 1
        assert len(types) in (1, last - first + 1)
        said += types * (last - first + 1) if len(types) == 1 else types
        before = last
    assert bytes(said) == marks


def test_long_stretches_of_one_kind_are_said_in_one_word():
    assert list(batches_of(0, bytes([1]) * 500)) == [(0, 499, [1])]
    assert list(batches_of(7, bytes([1, 2] + [1] * 10 + [3]))) == [
        *((7, 8, [1, 2]), (9, 18, [1]), (19, 19, [3]))
    ]
