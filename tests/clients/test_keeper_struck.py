"""A signal handler that raises while the keeper runs: under gevent that is any greenlet's lot."""

from __future__ import annotations

from contextlib import suppress

import gevent
import pytest
from leftovers import STRUCK
from strikes import Strike

from kcore import Consumer, errors
from kcore.clients.consumer import keeper
from kcore.embedded import EmbeddedBroker

pytestmark = STRUCK


class StruckError(Exception):
    """Of a signal handler of the user's."""


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 1)
        running.produce("t", [(None, b"%d" % number) for number in range(5)])
        yield running


def member(broker, group):
    options = {"heartbeat_interval_ms": 30, "session_timeout_ms": 6_000}
    options |= {"reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 1}
    options |= {"auto_offset_reset": "earliest", "transport": "gevent"}
    consumer = Consumer("t", bootstrap_servers=broker.bootstrap, group_id=group, **options)
    assert len(next(iter(consumer.poll(timeout_ms=5_000).values()))) >= 5
    return consumer


def wait_for(done):
    with gevent.Timeout(10):
        while not done():
            with suppress(KeyboardInterrupt):  # the hub tells the main greenlet
                gevent.sleep(0.005)


@pytest.mark.parametrize("error", [StruckError, KeyboardInterrupt, SystemExit])
def test_the_keeper_goes_on(broker, monkeypatch, error):
    turns = []
    turn = keeper.turn

    def struck(*given):
        turns.append(given)
        if len(turns) == 1:
            raise error
        return turn(*given)

    with member(broker, f"goes on {error.__name__}") as consumer:
        monkeypatch.setattr(keeper, "turn", struck)
        with suppress(error):
            wait_for(lambda: len(turns) > 5)
        wait_for(lambda: len(turns) > 5)
        assert consumer.poll(timeout_ms=10) == {}


@pytest.mark.parametrize("error", [StruckError, KeyboardInterrupt])
def test_the_core_is_known_to_be_struck(broker, monkeypatch, error):
    def struck_step(_):
        raise error

    with member(broker, f"known {error.__name__}") as consumer:
        engine = consumer._engine
        monkeypatch.setattr(engine, "step", struck_step)
        with suppress(KeyboardInterrupt):
            keeper.turn(engine, -1)
        monkeypatch.undo()
        assert engine.guard.struck
        with suppress(errors.KafkaError):
            consumer.poll()
        consumer.poll()
        assert not engine.guard.struck


@pytest.mark.parametrize("error", [StruckError, KeyboardInterrupt])
def test_what_it_was_struck_in_the_middle_of_is_begun_anew(broker, monkeypatch, error):
    heartbeats = []
    with member(broker, f"anew {error.__name__}") as consumer:
        engine = consumer._engine
        engine.observer = lambda event: heartbeats.append(type(event).__name__)
        step, places, struck = engine.pump.step, list(range(1, 120, 3)), []

        def struck_step(*given):
            if not places:
                return step(*given)
            here = gevent.getcurrent()
            with Strike(places.pop(), error, lambda: gevent.getcurrent() is here) as strike:
                try:
                    return step(*given)
                finally:
                    struck.append(strike.left <= 0)

        monkeypatch.setattr(engine.pump, "step", struck_step)
        wait_for(lambda: not places)
        monkeypatch.undo()
        assert sum(struck) > 10
        heartbeats.clear()
        wait_for(lambda: "HeartbeatAnswered" in heartbeats)
        broker.produce("t", [(None, b"more")])
        found = []
        while not found:
            with suppress(errors.KafkaError):  # what the keeper was struck by
                found = [*consumer.poll(timeout_ms=5_000).values()]
        assert found[0][-1].value == b"more"


@pytest.mark.parametrize("verb", ["poll", "commit", "close"])
def test_a_handler_that_strikes_the_keeper_is_refused_a_call(broker, monkeypatch, verb):
    """In the middle of the core, as where it strikes a call: what is done there would break it."""
    refused = []

    with member(broker, f"refused {verb}") as consumer:
        step = consumer._engine.step

        def handled_step(timeout_ms):
            try:
                getattr(consumer, verb)()
            except errors.ConcurrentUseError as error:
                refused.append(str(error))
            return step(timeout_ms)

        monkeypatch.setattr(consumer._engine, "step", handled_step)
        wait_for(lambda: refused)
        monkeypatch.undo()
        assert "in the middle of another call" in refused[0]
        assert consumer.poll(timeout_ms=10) == {}
