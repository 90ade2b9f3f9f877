"""What a core that authenticates asks its driver for: answered within the call, by a thread, or by
nobody.
"""

import threading

import pytest
from toy_core import ToyCore

from kcore import transports
from kcore.actions import CallGssapi, FetchToken, GssapiCall
from kcore.transports import Pump, Step
from kcore.transports.inputs import Called, Token

CALL = CallGssapi(2, "host", GssapiCall.STEP, b"")


class AskingCore(ToyCore):
    def __init__(self, *actions):
        super().__init__()
        self.actions.extend(actions)
        self.tokens, self.results = [], []

    def handle_token(self, link, token, now_ms, *, extensions=None, why=""):
        self._begin(now_ms)
        self.tokens.append((link, token, extensions, why))

    def handle_gssapi(self, link, result, now_ms, *, context=None, complete=False, why=""):
        self._begin(now_ms)
        self.results.append((link, result, context, complete, why))


class Source:
    """Answers tokens at once, calls from a thread when it is let go."""

    def __init__(self):
        self.go = threading.Event()
        self.asked = []
        self.closed = False
        self.threads = []

    def ask(self, action, take, wake):
        self.asked.append(action)
        if isinstance(action, FetchToken):
            take(Token(action.link, "abc", {"a": "b"}, ""))
            return

        def work():
            self.go.wait(20)
            take(Called(action.link, b"token", self, complete=True))
            wake()

        self.threads.append(threading.Thread(target=work))
        self.threads[-1].start()

    def close(self):
        self.closed = True


@pytest.fixture
def source():
    source = Source()
    yield source
    source.go.set()
    for thread in source.threads:
        thread.join()


@pytest.fixture(params=transports.NAMES)
def pump(request, source):
    made = []

    def make(core, sasl=source):
        made.append(Pump(core, transports.create(request.param), sasl=sasl))
        return made[-1]

    yield make
    for pump in made:
        pump.close()


def test_an_answer_within_the_call_is_the_next_input(pump, source):
    core = AskingCore(FetchToken(1))
    assert pump(core).step(0) is Step.FED
    assert core.tokens == [(1, "abc", {"a": "b"}, "")]


def test_an_answer_of_a_thread_ends_the_wait(pump, source):
    core = AskingCore(CALL)
    driver = pump(core)
    assert driver.step(0) is Step.IDLE
    assert core.results == []
    source.go.set()
    assert driver.step(20_000) is Step.WOKEN
    assert core.results == [(2, b"token", source, True, "")]
    assert driver.step(0) is Step.IDLE


def test_others_are_served_while_a_thread_is_at_it(pump, source):
    core = AskingCore(CALL, FetchToken(1))
    pump(core).step(0)
    assert core.tokens
    assert core.results == []


def test_who_is_given_no_source_says_so(pump):
    core = AskingCore(FetchToken(1), CALL)
    assert pump(core, None).step(0) is Step.FED
    ((link, token, _, why),) = core.tokens
    assert (link, token, why) == (1, None, "this pump was given no source of it")
    assert core.results == [(2, None, None, False, why)]


def test_a_source_is_closed_with_its_pump_and_late_answers_reach_nobody(pump, source):
    core = AskingCore(CALL)
    driver = pump(core)
    driver.step(0)
    driver.close()
    assert source.closed
    source.go.set()
    for thread in source.threads:
        thread.join()
    assert core.results == []
