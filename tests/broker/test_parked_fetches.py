"""Fetches that wait, alone: each is answered once, whatever its answer leads to; none is kept."""

import pytest

from kcore.broker.fetches import Fetches, Waiting
from kcore.timers import NEVER

PLACE = ("t", 0)


class Parked:
    """Fetches of one node, and who was answered."""

    def __init__(self):
        self.fetches = Fetches()
        self.answered = []

    def park(self, client, until_ms=100, then=None, places=(PLACE,), ready=True):
        def answer():
            self.answered.append(client)
            if then is not None:
                then()

        waiting = Waiting(client, list(places), lambda: ready, answer)
        self.fetches.park(waiting, until_ms)

    def is_empty(self):
        kept = self.fetches
        return not len(kept) and not kept._by_place and kept.deadline() == NEVER


@pytest.fixture
def parked():
    return Parked()


@pytest.mark.parametrize("nested", ["recheck", "recheck_all", "expire", "forget"])
@pytest.mark.parametrize("outer", ["recheck", "recheck_all", "expire"])
def test_who_is_answered_within_anothers_answer_is_answered_once(parked, outer, nested):
    given = {"recheck": [[PLACE]], "recheck_all": [], "expire": [100], "forget": ["second"]}
    parked.park("first", then=lambda: getattr(parked.fetches, nested)(*given[nested]))
    parked.park("second")
    getattr(parked.fetches, outer)(*given[outer])
    assert parked.answered == (["first"] if nested == "forget" else ["first", "second"])
    assert parked.is_empty()


def test_whoever_is_answered_may_wait_again(parked):
    parked.park("first", then=lambda: parked.park("first", 200))
    parked.fetches.expire(99)
    assert parked.answered == []
    parked.fetches.expire(100)
    assert parked.answered == ["first"]
    assert (len(parked.fetches), parked.fetches.deadline()) == (1, 200)
    parked.fetches.recheck([PLACE, ("t", 1)])
    assert parked.answered == ["first"] * 2
    assert parked.is_empty()


def test_what_is_over_is_not_kept(parked):
    """Neither requests nor places of those that were answered long before their time."""
    for number in range(1_000):
        parked.park("client", 1_000_000 + number, places=[PLACE, ("t", number + 1)])
        parked.fetches.recheck([PLACE])
        assert len(parked.fetches._heap) < 100
        assert not parked.fetches._by_place
    assert parked.is_empty()


def test_who_is_not_ready_waits_for_the_end_of_the_time(parked):
    parked.park("later", 200, ready=False)
    parked.park("sooner", 100, ready=False)
    parked.fetches.recheck_all()
    assert parked.answered == []
    assert parked.fetches.deadline() == 100
    parked.fetches.expire(250)
    assert parked.answered == ["sooner", "later"]
    assert parked.is_empty()
