"""What is said to somebody who asks why nothing comes of a partition."""

from fetch_world import World, batch, data, tp

T0 = tp(0)


def test_who_has_no_position() -> None:
    world = World(T0, policy="none", start=None)
    assert world.fetcher.health(T0) == "position unknown: waiting for committed offset"
    world.positions.reset_initializing([T0])
    said = "position unknown: nothing is committed and there is no reset policy"
    assert world.fetcher.health(T0) == said


def test_who_has_one_that_may_not_be_good() -> None:
    world = World(T0)
    world.cluster.lead(T0, 1, 2)
    world.positions.seek(T0, 5, 1)
    world.tick()
    assert world.fetcher.health(T0) == "validating position"


def test_who_is_fetched_or_was() -> None:
    world = World(T0, fetch_ahead_bytes=10)
    world.tick()
    assert world.fetcher.health(T0) == "fetching"
    world.fetched(data(T0, batch(0, 5)))
    assert world.fetcher.health(T0) == "records buffered"
    world.positions.want(frozenset())
    assert world.fetcher.health(T0) == "left aside: nobody reads it now"
    world.positions.want(None)
    world.take()
    assert world.fetcher.health(T0) == "fetching"
    world.fail(world.only())
    assert world.fetcher.health(T0) == "node 1 failed to answer, asked again soon"
