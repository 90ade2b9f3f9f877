"""Chance is quick, and secrets are the system's."""

import os

import pytest

from kcore.clients import randomness
from kcore.clients.randomness import ClientRng


@pytest.fixture
def asked(monkeypatch):
    """How many bytes the system was asked for, one number a call."""
    sizes = []

    def urandom(size, real=os.urandom):
        sizes.append(size)
        return real(size)

    monkeypatch.setattr(randomness, "urandom", urandom)
    return sizes


def test_chance_that_is_drawn_often_asks_the_system_nothing(asked):
    rng = ClientRng()
    drawn = [rng.random() for _ in range(1_000)]
    assert asked == [7] * 32
    assert all(0 <= one < 1 for one in drawn)
    assert len({*drawn}) == 1_000


def test_two_clients_draw_differently():
    assert ClientRng().random() != ClientRng().random()


def test_bits_are_the_systems(asked):
    assert ClientRng().getrandbits(192) >> 192 == 0
    assert asked == [24]
    assert {ClientRng().getrandbits(3) for _ in range(1_000)} == set(range(8))
    assert ClientRng().getrandbits(0) == 0
