"""A topic that is deleted and made anew under its name: what was read of the one before is no place
in the other (KIP-516).
"""

from __future__ import annotations

from fetch_world import World, batch, data, failed, listed, tp

from kcore.errors import NoOffsetForPartitionError
from kcore.events import TopicRecreated
from kcore.fetch.states import PartitionState
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0 = tp(0)
ANEW = b"another t".ljust(16, b".")


def read(*, by_id: bool = True, **more: object) -> World:
    """Records 5 to 7 have come, and two of them were handed over."""
    world = World(T0, policy="earliest", start=5, **more)
    if not by_id:
        world.network.versions[1] = {**dict.fromkeys(ApiKey, 4), ApiKey.FETCH: 12}
    world.tick()
    world.fetched(data(T0, batch(5, 3)), session_id=7)
    assert world.take(2) == {T0: [5, 6]}
    return world


def remake(world: World) -> None:
    world.cluster.ids["t"] = ANEW
    world.cluster.version += 1
    world.tick()


def state(world: World) -> PartitionState:
    found = world.positions.find(T0)
    assert found is not None
    return found.state


def test_what_was_read_of_the_one_before_is_no_position() -> None:
    world = read()
    world.fetched(failed(T0, ErrorCode.UNKNOWN_TOPIC_ID), session_id=7)
    assert world.cluster.updates
    remake(world)
    assert state(world) is PartitionState.INITIALIZING
    assert world.positions.initializing() == [T0]
    assert world.events[-1] == TopicRecreated(T0, 7)
    assert not world.positions.consumed()  # nothing that could be committed
    assert not world.fetcher.has_records  # nor handed over
    world.positions.reset_initializing([T0])
    assert state(world) is PartitionState.AWAIT_RESET


def test_without_a_policy_the_application_is_asked() -> None:
    world = read()
    world.positions.policy = world.positions.policy.NONE
    remake(world)
    world.positions.reset_initializing([T0])
    error = world.take_error(NoOffsetForPartitionError)
    assert error.partitions == {T0}
    assert "deleted and made anew while they were read: t" in str(error)


def test_an_answer_of_the_one_before_is_not_taken_for_one_of_the_new() -> None:
    """Also where both are read from the same offset."""
    world = World(T0, start=0)
    world.tick()
    remake(world)  # nothing was read of it: the position may be meant for the new one
    assert world.at(T0) == 0
    world.fetched(data(T0, batch(0, 3)), session_id=7)
    assert not world.fetcher.has_records
    [topic] = world.only().body.topics
    assert topic.topic_id == ANEW
    assert topic.partitions[0].fetch_offset == 0
    found = world.positions.find(T0)
    assert found is not None
    assert found.log_id is None  # nor is it read of either yet


def test_the_topic_that_was_read_is_known_when_it_is_gone() -> None:
    world = read()
    before = world.cluster.ids["t"]
    assert world.positions.log_ids() == {"t": before}
    world.cluster.ids["t"] = None
    world.cluster.version += 1
    world.tick()
    assert world.positions.log_ids() == {"t": before}
    remake(world)
    assert world.positions.log_ids() == {}


def test_who_has_sought_since_is_where_it_wants_to_be() -> None:
    world = read()
    world.positions.seek(T0, 1)
    remake(world)
    assert world.at(T0) == 1


def test_what_was_given_back_was_read_of_the_one_before() -> None:
    world = read()
    world.fetcher.hand_over()
    assert world.take(1) == {T0: [7]}
    world.fetcher.take_back()
    assert world.at(T0) == 7
    remake(world)
    assert state(world) is PartitionState.INITIALIZING


def test_who_goes_back_to_what_was_read_is_in_the_one_before() -> None:
    world = read()
    world.positions.go_back(T0, 5)
    assert world.at(T0) == 5
    remake(world)
    assert state(world) is PartitionState.INITIALIZING
    world.positions.go_back(T0, 6)  # who has not heard of it yet
    assert state(world) is PartitionState.INITIALIZING


def test_who_goes_back_wants_nothing_of_the_reset_before() -> None:
    world = read()
    world.positions.reset(T0, "latest")
    world.tick()
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 8)))
    world.positions.go_back(T0, 5)
    remake(world)
    assert state(world) is PartitionState.INITIALIZING


def test_what_was_given_up_meanwhile_is_in_none() -> None:
    """Its committed offset comes late."""
    world = read()
    world.positions.assign([])
    world.positions.found_in(T0, ANEW)
    assert not world.positions.was_remade(T0)


def test_who_asks_by_name_may_have_read_either() -> None:
    world = read(by_id=False)
    remake(world)
    assert world.at(T0) == 7


def test_what_was_committed_in_the_one_before_is_no_position() -> None:
    world = World(T0, start=5)
    world.positions.found_in(T0, world.cluster.ids["t"])
    world.tick()
    remake(world)
    assert state(world) is PartitionState.INITIALIZING
    assert world.positions.was_remade(T0)
    world.positions.seek(T0, 0)
    assert not world.positions.was_remade(T0)


def test_one_that_is_gone_is_not_asked_for_by_its_name() -> None:
    """Another one may have that by now, and would answer with what follows in its log."""
    world = read()
    before = world.cluster.ids.pop("t")
    world.cluster.version += 1
    world.fetched(failed(T0, ErrorCode.UNKNOWN_TOPIC_ID), session_id=7)
    world.tick(2_000)
    assert world.only().version >= 13
    remake(world)
    assert before != ANEW
    assert state(world) is PartitionState.INITIALIZING


def test_an_end_of_the_one_before_is_not_taken_for_one_of_the_new() -> None:
    world = World(T0, start=5)
    world.positions.reset(T0, "earliest")
    world.tick()
    sent = world.only(ApiKey.LIST_OFFSETS)
    world.cluster.ids["t"] = ANEW
    world.cluster.version += 1
    world.answer(sent, listed((T0, 3)))
    assert world.at(T0) is None
    world.tick(1_000)
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 0)))
    assert world.at(T0) == 0


def test_a_reset_of_which_nothing_was_read_is_made_again_in_the_new_one() -> None:
    """As it was asked for, whatever the policy is."""
    world = World(T0, policy="latest", start=5)
    world.positions.reset(T0, "earliest")
    world.tick()
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 3)))
    assert world.at(T0) == 3
    remake(world)
    assert state(world) is PartitionState.AWAIT_RESET
    [topic] = world.only(ApiKey.LIST_OFFSETS).body.topics
    assert topic.partitions[0].timestamp == -2


def test_a_reset_of_which_something_was_read_is_over() -> None:
    world = World(T0, policy="latest", start=5)
    world.positions.reset(T0, "earliest")
    world.tick()
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 3)))
    world.fetched()
    world.fetched(data(T0, batch(3)), session_id=7)
    remake(world)
    assert state(world) is PartitionState.INITIALIZING
