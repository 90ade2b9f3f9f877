"""Who is struck by Ctrl-C while it goes leaves nothing behind in its group either, once it is
driven on or told to go again, however long sessions are.

Where a call can be struck: tests/support/strikes.py.
"""

import pytest
from leftovers import STRUCK
from longer import each_other
from strikes import Strike
from test_gone_at_any_moment import HOW, World, close, unsubscribe

pytestmark = STRUCK

# So many places are behind the first lines of a verb, before which nothing has begun.
BEGUN = 4


def moved_on(world):
    """The driver goes on; the application calls nothing more."""


WAYS = [(unsubscribe, unsubscribe), (unsubscribe, close), (unsubscribe, moved_on)]
WAYS += [(close, close), (close, moved_on)]
WAYS = [pytest.param(*each, id=" ".join(verb.__name__ for verb in each)) for each in WAYS]


def world_of_two(how):
    world = World(how)
    for _ in world.moments():
        pass
    return world


def struck_at(world, go, at):
    """Whether it was: the verb has so many places."""
    try:
        with Strike(at):
            go(world)
    except KeyboardInterrupt:
        world.comes.handle_interrupted(world.loop.now_ms)
        return True
    return False


def leave_at(how, go, again, at):
    world = world_of_two(how)
    struck = struck_at(world, go, at)
    if struck:
        again(world)
    try:
        world.judge()
    except AssertionError as error:
        raise AssertionError(f"place {at}: {error}") from error
    return struck


@pytest.mark.parametrize(("go", "again"), WAYS)
@pytest.mark.parametrize("how", each_other(HOW))
def test_nothing_is_left_of_who_is_struck(how, go, again):
    struck = [leave_at(how, go, again, at) for at in range(BEGUN, 330, 47)]
    assert sum(struck) >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("go", "again"), WAYS)
@pytest.mark.parametrize("how", HOW)
def test_every_place(how, go, again):
    at = BEGUN
    while leave_at(how, go, again, at):
        at += 1
    assert at > 60
