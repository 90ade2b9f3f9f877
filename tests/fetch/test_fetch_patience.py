"""How long a node or a partition is left alone: longer with each failure in a row, and a success is
the end of the row. Answers that are no failures cost nobody any patience.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fetch_world import World, asked, batch, data, failed, listed, tp, validated

from kcore.errors import TopicAuthorizationFailedError
from kcore.fetch.retries import Retries
from kcore.structs import Leader, Node, TopicPartition
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import FetchResponse

T0, T1 = tp(0), tp(1)
SESSION = 55
FIRST_MS = range(80, 121)  # retry_backoff_ms, give or take a fifth
LAST_MS = range(640, 1_001)  # after four in a row, below retry_backoff_max_ms


def waits(world: World, fail: Callable[[], None], count: int) -> list[int]:
    """How long nothing was asked, after each of so many failures."""
    found = []
    for _ in range(count):
        fail()
        assert world.pending(ApiKey.FETCH) == []
        found.append(world.until_due())
        world.only()
    return found


# -- nodes -----------------------------------------------------------------------------------------


def test_a_node_that_fails_is_left_alone_ever_longer_until_it_answers() -> None:
    world = World(T0)
    world.tick()

    def fail() -> None:
        world.fail(world.only())

    first, *_, last = waits(world, fail, 4)
    assert (first in FIRST_MS, last in LAST_MS) == (True, True), (first, last)
    world.fetched(after_ms=500)
    assert waits(world, fail, 1)[0] in FIRST_MS


def test_after_empty_answers_that_come_too_soon_a_node_is_asked_ever_more_slowly() -> None:
    world = World(T0)
    world.tick()
    for _ in range(3):  # so many may be an accident
        world.fetched()
    first, *_, last = waits(world, world.fetched, 4)
    assert (first in FIRST_MS, last in LAST_MS) == (True, True), (first, last)


@pytest.mark.parametrize("how", ["it waits", "records"])
def test_a_node_that_behaves_again_may_answer_too_soon_again(how: str) -> None:
    world = World(T0)
    world.tick()
    for _ in range(3):
        world.fetched()
    if how == "it waits":
        world.fetched(after_ms=500)
    else:
        world.fetched(data(T0, batch(0)))
    for _ in range(3):
        world.fetched()
        world.only()


def test_an_answer_that_is_throttled_is_no_failure_and_opens_no_session() -> None:
    """A broker that throttles answers with nothing at all, at once, and says how long."""
    world = World(T0)
    world.tick()
    world.fetched(pad=False, throttle_time_ms=300)
    sent = world.only()
    assert (asked(sent), sent.body.session_id, sent.body.session_epoch) == ({T0: 0}, 0, 0)
    for _ in range(2):
        world.fetched(pad=False, throttle_time_ms=300)
    # One that says so for ever, and does not make anybody wait, does not make us spin.
    first, *_, last = waits(world, lambda: world.fetched(pad=False, throttle_time_ms=300), 4)
    assert (first in FIRST_MS, last in LAST_MS) == (True, True), (first, last)


@pytest.mark.parametrize(
    ("code", "updates"),
    [
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0),  # brokers forget sessions, and that is all
        (ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, 1),
        (ErrorCode.UNKNOWN_TOPIC_ID, 1),
    ],
)
def test_a_session_that_was_refused_for_its_topics_has_metadata_looked_up(
    code: ErrorCode, updates: int
) -> None:
    world = World(T0)
    world.tick()
    world.fetched(session_id=SESSION, after_ms=500)
    world.fetched(error_code=code)
    assert world.cluster.updates == updates
    assert asked(world.only()) == {T0: 0}


# -- partitions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("then", ["nothing new", "records", "a seek", "a new leader"])
def test_a_partition_that_fails_is_left_alone_ever_longer_until_it_is_served(then: str) -> None:
    world = World(T0)
    world.tick()

    def fail() -> None:
        world.fetched(failed(T0, ErrorCode.UNKNOWN_SERVER_ERROR))

    first, *_, last = waits(world, fail, 4)
    assert (first in FIRST_MS, last in LAST_MS) == (True, True), (first, last)
    if then == "a seek":
        fail()
        world.positions.seek(T0, 0)
        world.tick()  # asked at once
    elif then == "a new leader":
        fail()
        world.cluster.lead(T0, 2)
        world.tick()
    else:
        world.fetched(data(T0, *([batch(0)] if then == "records" else [])), after_ms=500)
    assert waits(world, fail, 1)[0] in FIRST_MS


def test_offsets_to_go_to_are_looked_up_ever_more_slowly() -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "earliest")
    world.tick()
    found = []
    for _ in range(4):
        world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, -1)))
        found.append(world.until_due())
    assert (found[0] in FIRST_MS, found[-1] in LAST_MS) == (True, True), found


CUT = FetchResponse.EpochEndOffset(epoch=2, end_offset=3)
SAYS = {
    "an error": lambda where: failed(where, ErrorCode.UNKNOWN_SERVER_ERROR),
    "another leader": lambda where: failed(where, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    "a replica": lambda where: data(where, preferred_read_replica=2),
    "a log cut off": lambda where: data(where, diverging_epoch=CUT),
}


@pytest.mark.parametrize("says", SAYS.values(), ids=SAYS)
def test_an_answer_that_says_anything_of_a_partition_is_not_one_that_comes_too_soon(
    says: Callable[[TopicPartition], Any],
) -> None:
    partitions = [tp(number) for number in range(8)]
    world = World(*partitions, policy="earliest", start=5)
    world.tick()
    for where in partitions[:6]:
        world.fetched(says(where), node=1)
        assert partitions[-1] in asked(world.only(node=1))


# -- replicas --------------------------------------------------------------------------------------


def test_any_node_may_be_the_replica_to_read_from_also_the_one_with_number_0() -> None:
    world = World(T0)
    world.cluster.nodes[0] = Node(0, "host0", 9092)
    world.tick()
    world.fetched(data(T0, preferred_read_replica=0))
    assert asked(world.only(node=0)) == {T0: 0}


def test_a_replica_that_metadata_does_not_know_is_not_waited_for() -> None:
    world = World(T0)
    world.tick()
    world.fetched(data(T0, preferred_read_replica=9))
    assert world.cluster.updates == 1
    assert asked(world.only(node=1)) == {T0: 0}


def test_who_is_sent_from_replica_to_replica_waits_before_it_goes() -> None:
    world = World(T0)
    world.tick()
    world.fetched(data(T0, preferred_read_replica=2))
    world.fetched(data(T0, preferred_read_replica=3), node=2)
    assert world.pending(ApiKey.FETCH) == []
    assert "sent from replica to replica" in world.fetcher.health(T0)
    world.until_due()
    world.fetched(data(T0, batch(0)), node=3)
    # Records came of it, so that was no circle.
    world.fetched(data(T0, preferred_read_replica=2), node=3)
    world.only(node=2)


def test_a_leader_that_insists_on_a_replica_that_has_not_come_so_far_is_asked_slowly() -> None:
    world = World(T0, policy="earliest", start=5)
    world.tick()
    turns, began = 0, world.now_ms
    while world.now_ms - began < 3_000:
        sent = world.only()
        if sent.node == 1:
            world.fetched(data(T0, preferred_read_replica=2))
        else:
            world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
        turns += 1
        assert turns <= 15
        while not world.pending(ApiKey.FETCH):
            world.until_due()
    assert world.at(T0) == 5


def test_a_new_leader_is_asked_itself() -> None:
    """Not the replica that the former one named."""
    world = World(T0)
    world.tick()
    world.fetched(data(T0, preferred_read_replica=2))
    world.cluster.lead(T0, 3)
    world.tick()
    assert asked(world.only(node=3)) == {T0: 0}


# -- two nodes asked for the same ------------------------------------------------------------------


def test_what_the_former_leader_says_while_the_position_is_in_doubt_is_not_used() -> None:
    """The new leader may not have it: the log may have been cut off."""
    world = World(T0)
    world.cluster.lead(T0, 1, 1)
    world.tick()
    world.fetched(data(T0, batch(0, 5, epoch=1)), session_id=SESSION)
    world.take()
    world.cluster.lead(T0, 2, 2)
    world.tick()
    world.fetched(data(T0, batch(5, epoch=1)), node=1, session_id=SESSION)
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, 1, 5)))
    assert (world.take(), world.at(T0)) == ({}, 5)
    world.fetched(data(T0, batch(5, epoch=2)), node=2)
    assert world.take() == {T0: [5]}
    assert world.positions.position(T0) == (6, 2, Leader(2, 2))


def test_an_error_that_two_nodes_bring_is_raised_once() -> None:
    world = World(T0)
    world.tick()
    world.cluster.lead(T0, 2)
    world.tick()
    for node in (1, 2):
        world.fetched(failed(T0, ErrorCode.TOPIC_AUTHORIZATION_FAILED), node=node)
    world.take_error(TopicAuthorizationFailedError)
    assert world.take() == {}
    world.until_due()
    assert asked(world.only(node=2)) == {T0: 0}


# -- times -----------------------------------------------------------------------------------------


def test_each_is_looked_at_when_its_time_has_come_and_not_before() -> None:
    retries: Retries[str] = Retries()
    for key, at_ms in (("c", 300), ("a", 100), ("b", 200), ("d", 400)):
        retries.set(key, at_ms)
    assert (retries.due, retries.pop_due(99)) == (100, [])
    assert (retries.pop_due(100), retries.due) == (["a"], 200)
    retries.set("c", 600)
    assert (retries.pop_due(350), retries.due) == (["b"], 400)
    retries.cancel("d")
    assert retries.pop_due(599) == []
    retries.cancel("none")
    assert (retries.due, retries.pop_due(600), retries.due) == (600, ["c"], NEVER)
    retries.set("e", 700)
    retries.cancel("e")
    assert retries.due == NEVER
