"""Ctrl-C at every place of an admin client's call where Python looks for signals: the next call is
served, and nothing is left behind.

Where these places are: tests/support/strikes.py.
"""

from __future__ import annotations

import random

import pytest
from leftovers import STRUCK
from strikes import Strike

import kcore
from kcore import errors
from kcore.embedded import EmbeddedBroker
from kcore.structs import OffsetAndMetadata, TopicPartition

pytestmark = STRUCK

T0 = TopicPartition("t", 0)
LIMIT_MS = 5_000


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 1)
        yield running


@pytest.fixture
def admin(broker):
    options = {"reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 1, "retry_backoff_ms": 1}
    with kcore.Admin(bootstrap_servers=broker.bootstrap, **options) as admin:
        yield admin


CALLS = {
    "one question": lambda admin: admin.list_topics(timeout_ms=LIMIT_MS),
    "several": lambda admin: admin.reset_group_offsets("g", {T0: 0}, timeout_ms=LIMIT_MS),
    "to all": lambda admin: admin.list_groups(timeout_ms=LIMIT_MS),
}


def places(call):
    """How many there are in a call."""
    counted = Strike(1_000_000)
    with counted:
        call()
    return 1_000_000 - counted.left


@pytest.mark.parametrize(
    "name", ["one question", pytest.param("several", marks=pytest.mark.slow), "to all"]
)
def test_a_call_that_is_struck_leaves_nothing_behind(name, admin):
    admin.alter_group_offsets("g", {T0: OffsetAndMetadata(0, "", -1)}, raise_errors=True)
    call = CALLS[name]
    expected = call(admin)
    count = places(lambda: call(admin))
    assert count > 300
    chosen = sorted(random.Random(1).sample(range(1, count), 150))
    ended = 0
    for at in chosen:
        try:
            with Strike(at):
                call(admin)
        except KeyboardInterrupt:
            ended += 1
        assert call(admin) == expected, at
        assert admin._guard.inside == 0, at
        assert not admin._engine.core._operations, at
        assert not admin._engine._expected, at
        assert not admin._engine._results, at
    assert ended > 50


def test_an_end_that_is_struck_can_be_repeated(broker):
    options = {"bootstrap_servers": broker.bootstrap, "api_version": (4, 0)}

    def made():
        admin = kcore.Admin(**options)
        assert "t" in admin.list_topics()
        return admin

    admin = made()
    for at in range(1, places(admin.close) + 1):
        admin = made()
        try:
            with Strike(at):
                admin.close()
        except KeyboardInterrupt:
            pass
        admin.close()
        assert not admin.bootstrap_connected(), at
        with pytest.raises(errors.IllegalStateError, match="closed"):
            admin.list_topics()


def test_an_answer_whose_call_was_struck_on_its_way_out_goes(admin):
    engine = admin._engine
    engine._results[7] = object()  # as between the two last lines of `Engine.run`
    engine.guard.struck = True
    admin.list_topics()
    assert not engine._results
