"""Calls that are made in threads of their own: what is told of them, and how many there are."""

import threading

import pytest

from kcore.actions import FetchToken
from kcore.clients import aside
from kcore.clients.aside import Aside
from kcore.transports.inputs import Token

LIMIT_S = 10


@pytest.fixture
def two():
    return Aside(2, "the library", "look at its log")


class Told(list):
    """What is told, and a bell that is rung behind it."""

    def __init__(self):
        self.woken = threading.Event()
        self.known = []

    def wake(self):
        self.known.append(len(self))
        self.woken.set()


def give(link):
    return lambda: Token(link, "t", {}, "")


def test_what_comes_of_a_call_is_told_before_anybody_is_woken(two):
    told = Told()
    two.ask(FetchToken(1), give(1), told.append, told.wake)
    assert told.woken.wait(LIMIT_S)
    assert told == [Token(1, "t", {}, "")]
    assert told.known == [1]
    assert two.under_way == 0


def test_more_than_there_may_be_are_refused_until_one_comes_back(two):
    told, go_on = Told(), threading.Event()

    def wait():
        go_on.wait(LIMIT_S)
        return Token(1, "t", {}, "")

    for link in (1, 2, 3):
        two.ask(FetchToken(link), wait, told.append, told.wake)
    assert [one.link for one in told] == [3]
    assert told[0].why == "2 calls of the library have not come back: look at its log"
    assert not told.woken.is_set()  # it was told where it was asked
    go_on.set()
    until = threading.Event()
    while two.under_way:
        until.wait(0.001)
    two.ask(FetchToken(4), give(4), told.append, told.wake)
    while len(told) < 4:
        until.wait(0.001)
    assert told[-1] == Token(4, "t", {}, "")


def test_without_a_thread_there_is_no_answer_and_nothing_is_under_way(two, monkeypatch):
    def fail(_run):
        raise RuntimeError("can't start new thread")

    told = Told()
    with monkeypatch.context() as patched:
        patched.setattr(aside, "run_in_thread", fail)
        for link in range(3):
            two.ask(FetchToken(link), give(link), told.append, told.wake)
    assert {one.token for one in told} == {None}
    words = "there is no thread to ask the library in: can't start new thread"
    assert {one.why for one in told} == {words}
    assert two.under_way == 0
    two.ask(FetchToken(9), give(9), told.append, told.wake)
    assert told.woken.wait(LIMIT_S)
    assert told[-1].token == "t"


def test_behind_the_end_nobody_is_told_or_woken(two):
    told, go_on = Told(), threading.Event()

    def wait():
        go_on.wait(LIMIT_S)
        return Token(1, "t", {}, "")

    two.ask(FetchToken(1), wait, told.append, told.wake)
    two.close()
    go_on.set()
    while two.under_way:
        go_on.wait(0)
    with two._lock:  # whoever was to be told has been by now
        assert told == []
    assert not told.woken.is_set()
