"""What a request that a broker keeps does not ask for is asked by the node's second connection."""

from __future__ import annotations

import pytest
from fetch_world import (
    World,
    asked,
    batch,
    data,
    failed,
    forgotten,
    listed,
    look_up,
    validated,
)

from kcore.connection.calls import Reach, keys_of, node_id_of
from kcore.fetch.health import describe
from kcore.structs import Leader, TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
SECOND = keys_of(1)[2]
END = 1000  # of each log, where the answers of these tests say nothing else


def at_the_end(*partitions: TopicPartition, **options) -> World:
    """A world in which node 1 keeps a fetch: there is nothing new."""
    world = World(*partitions, start=END, **options)
    world.tick()
    world.fetched(session_id=7)
    kept = world.only()
    assert (kept.node, kept.body.min_bytes, kept.body.session_epoch) == (1, 1, 1)
    return world


def test_a_position_that_is_set_while_a_request_is_kept_is_asked_for_at_once():
    world = at_the_end(T0, T1)
    world.positions.seek(T0, 10)
    world.tick()
    sent = world.only(node=SECOND)
    assert asked(sent) == {T0: 10}
    assert (sent.body.min_bytes, sent.body.session_id, sent.body.session_epoch) == (0, 0, -1)
    assert describe(world.positions, world.fetcher._planner, T0) == "fetching"
    world.fetched(data(T0, batch(10, 5)), node=SECOND)
    assert world.take() == {T0: [10, 11, 12, 13, 14]}
    assert asked(world.only(node=SECOND)) == {T0: 15}  # it goes on there
    assert world.events[-1].node_id == 1


def test_at_the_end_it_is_back_where_the_others_are():
    world = at_the_end(T0, T1)
    world.positions.seek(T0, 990)
    world.tick()
    world.fetched(data(T0, batch(990, 5)), node=SECOND)
    world.fetched(data(T0, batch(995, 5)), node=SECOND)
    assert world.pending(ApiKey.FETCH, SECOND) == []
    assert world.take() == {T0: list(range(990, 1000))}
    # The request that is kept asks for the end of it: there is nothing more to say.
    world.fetched(node=1, session_id=7, after_ms=500)
    sent = world.only(node=1)
    assert (asked(sent), forgotten(sent)) == ({}, [])
    world.fetched(data(T0, batch(1000), high_watermark=1001), node=1, session_id=7)
    assert world.take() == {T0: [1000]}


@pytest.mark.parametrize("first", [1, SECOND])
def test_when_the_first_answers_it_is_back_there_and_comes_once(first):
    world = at_the_end(T0, T1)
    world.positions.seek(T0, 10)
    world.tick()
    world.fetched(node=1, session_id=7, after_ms=500)
    sent = world.only(node=1)
    assert (asked(sent), forgotten(sent), sent.body.min_bytes) == ({T0: 10}, [], 1)
    for node in (first, 1 + SECOND - first):  # who of the two is quicker
        world.fetched(data(T0, batch(10, 5)), node=node, session_id=7 if node == 1 else 0)
    assert world.take() == {T0: [10, 11, 12, 13, 14]}
    assert asked(world.only(node=1)) == {T0: 15}
    assert world.pending(ApiKey.FETCH, SECOND) == []


def test_an_old_answer_brings_nothing():
    """The request that is kept asks for the place that was left."""
    world = at_the_end(T0)
    world.positions.seek(T0, 10)
    world.tick()
    world.fetched(data(T0, batch(1000), high_watermark=1001), node=1, session_id=7)
    assert world.take() == {}
    assert asked(world.only(node=1)) == {T0: 10}
    world.fetched(data(T0, batch(10, 2), high_watermark=1001), node=SECOND)
    assert world.take() == {T0: [10, 11]}
    assert world.pending(ApiKey.FETCH, SECOND) == []


def test_a_partition_that_comes_while_a_request_is_kept_is_asked_for_at_once():
    world = at_the_end(T0)
    world.cluster.lead(T1, 1)
    world.positions.assign([T0, T1])
    world.positions.seek(T1, 0)
    world.tick()
    assert asked(world.only(node=SECOND)) == {T1: 0}
    world.fetched(data(T1, high_watermark=0), node=SECOND)  # there is nothing in it
    assert world.pending(ApiKey.FETCH, SECOND) == []
    world.fetched(node=1, session_id=7, after_ms=500)
    assert asked(world.only(node=1)) == {T1: 0}


@pytest.mark.parametrize("how", ["fetched", "looked up"])
def test_a_partition_that_is_assigned_anew_while_a_request_for_it_is_kept(how):
    """Another one by now, of which nobody has told where it ends."""
    world = at_the_end(T0, T1, policy="earliest")
    world.positions.assign([T1])
    world.tick()
    world.positions.assign([T0, T1])
    if how == "looked up":
        world.positions.reset(T0, world.positions.policy)
        world.tick()
        assert world.only(ApiKey.LIST_OFFSETS).node == SECOND
    else:
        world.positions.seek(T0, 10)
        world.tick()
        assert asked(world.only(node=SECOND)) == {T0: 10}


def test_where_a_log_ends_is_told_at_once_and_but_once():
    world = World(T0, T1, start=END)
    world.tick()
    assert world.only().body.min_bytes == 0
    unknown = data(T1, high_watermark=-1)  # as far as it goes
    world.fetched(unknown, session_id=7)
    for _ in range(3):
        sent = world.only()
        assert (asked(sent), sent.body.min_bytes) == ({}, 1)
        world.fetched(session_id=7, after_ms=500)
    world.cluster.lead(T2, 1)
    world.fetched(session_id=7, after_ms=500)
    world.positions.assign([T0, T1, T2])
    world.positions.seek(T2, END)
    world.fetched(session_id=7, after_ms=500)
    sent = world.only()
    assert (asked(sent), sent.body.min_bytes) == ({T2: END}, 0)
    world.fetched(data(T2), session_id=7)
    assert world.only().body.min_bytes == 1


def test_back_where_the_kept_request_asks_nothing_more_is_asked():
    world = at_the_end(T0)
    world.positions.pause([T0])
    world.tick()
    world.positions.resume([T0])
    world.tick()
    world.positions.seek(T0, END)
    world.tick()
    assert world.only().node == 1


@pytest.mark.parametrize("why", ["behind", "not known", "connecting", "narrow", "ended"])
def test_where_an_answer_is_about_to_come_it_is_waited_for(why):
    world = World(T0, T1, start=END)
    world.tick()
    if why != "not known":
        # Of the second there is more than that.
        world.fetched(data(T1, high_watermark=1000 + (why == "behind")), session_id=7)
    plan = world.fetcher._planner.nodes[1]
    reach = world.network.reach
    if why == "connecting":
        world.network.reach = lambda node, now: Reach.CONNECTING if node == 1 else reach(node, now)
    plan.window.narrow = why == "narrow"
    if why == "ended":
        world.fetcher.end()
    world.positions.seek(T0, 10)
    world.tick()
    assert world.only().node == 1


def test_as_long_as_it_cannot_be_connected_to_the_first_is_waited_for():
    world = at_the_end(T0)
    world.network.unreachable[SECOND] = world.now_ms + 100
    world.positions.seek(T0, 10)
    world.tick()
    assert world.only().node == 1
    world.fetched(node=1, session_id=7, after_ms=200)
    assert asked(world.only(node=1)) == {T0: 10}


def test_where_it_fails_the_first_is_waited_for_and_keeps_its_preferred_replicas():
    world = at_the_end(T0)
    world.positions.seek(T0, 10)
    world.tick()
    world.positions.find(T0).preferred = 1
    world.positions.find(T0).preferred_until = world.now_ms + 60_000
    world.fail(world.only(node=SECOND))
    assert world.only().node == 1
    assert world.positions.find(T0).preferred == 1
    world.fetched(node=1, session_id=7, after_ms=500)
    assert (world.only().node, asked(world.only())) == (1, {T0: 10})


def test_where_it_has_failed_it_is_left_alone_for_a_while():
    world = at_the_end(T0)
    for offset in (10, 20):
        world.positions.seek(T0, offset)
        world.tick()
        if offset == 10:
            world.fail(world.only(node=SECOND))
    world.fetched(node=1, session_id=7, after_ms=500)
    assert (world.only().node, asked(world.only())) == (1, {T0: 20})
    world.fetched(data(T0, batch(20, 980)), node=1, session_id=7)
    world.positions.seek(T0, 30)
    world.tick(10_000)
    assert asked(world.only(node=SECOND)) == {T0: 30}


def test_where_the_node_is_not_known_any_more_when_it_is_to_be_asked():
    world = at_the_end(T0)
    world.network.unknown.add(SECOND)
    world.positions.seek(T0, 10)
    world.tick()
    assert not world.fetcher.restless
    assert world.only().node == 1
    world.fetched(node=1, session_id=7, after_ms=500)
    assert asked(world.only(node=1)) == {T0: 10}


def test_whether_a_request_is_kept_is_found_anew_each_time():
    world = World(T0, T1, start=END)
    world.tick()
    world.fetched(data(T1, high_watermark=1001), session_id=7)
    world.positions.seek(T0, 10)
    world.tick()
    assert world.only().node == 1
    world.fetched(data(T1, high_watermark=1000), node=1, session_id=7)
    world.fetched(data(T0, batch(10, 990)), node=1, session_id=7)
    world.positions.seek(T0, 20)
    world.tick()
    assert asked(world.only(node=SECOND)) == {T0: 20}


def test_a_partition_that_was_given_up_does_not_end_the_wait():
    world = at_the_end(T0, T1)
    world.positions.assign([T0])
    world.positions.seek(T0, 10)
    world.tick()
    assert asked(world.only(node=SECOND)) == {T0: 10}


def test_a_broker_that_says_there_is_more_and_sends_none_is_not_asked_without_a_pause():
    world = at_the_end(T0)
    world.positions.seek(T0, 10)
    world.tick()
    count = 0
    while world.pending(ApiKey.FETCH, SECOND):
        world.fetched(data(T0), node=SECOND)
        count += 1
        assert count < 10
    assert world.only().node == 1


def test_an_error_there_is_dealt_with_as_anywhere():
    world = at_the_end(T0)
    world.positions.seek(T0, 10)
    world.tick()
    world.fetched(failed(T0, ErrorCode.NOT_LEADER_OR_FOLLOWER), node=SECOND)
    assert world.cluster.updates
    world.cluster.lead(T0, 2, 5)
    world.tick(10_000)
    assert asked(world.only(node=2)) == {T0: 10}


def test_all_that_moved_go_together():
    world = at_the_end(T0, T1, T2)
    for number, where in enumerate((T0, T1)):
        world.positions.seek(where, number)
    world.tick()
    assert asked(world.only(node=SECOND)) == {T0: 0, T1: 1}


def test_offsets_are_looked_up_beside_a_request_that_is_kept():
    world = at_the_end(T0)
    outcome = look_up(world, {T0: -1})
    sent = world.only(ApiKey.LIST_OFFSETS)
    assert sent.node == SECOND
    world.answer(sent, listed((T0, 1000)))
    assert outcome.ended[0][0][T0].offset == 1000
    world.network.unreachable[SECOND] = world.now_ms + 100
    look_up(world, {T0: -1})
    assert world.only(ApiKey.LIST_OFFSETS).node == 1


def test_where_nothing_is_kept_they_are_looked_up_by_the_first():
    world = at_the_end(T0)
    world.positions.pause([T0])
    world.fetched(node=1, session_id=7, after_ms=500)
    assert world.pending(ApiKey.FETCH) == []
    look_up(world, {T0: -1})
    assert world.only(ApiKey.LIST_OFFSETS).node == 1


def test_an_error_names_the_node_and_not_its_connection():
    world = at_the_end(T0)
    outcome = look_up(world, {T0: -1}, timeout_ms=50)
    code = int(ErrorCode.UNKNOWN_SERVER_ERROR)
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, -1), error_code=code))
    world.tick(100)
    assert "node 1 at host1:9092 answered UNKNOWN_SERVER_ERROR" in str(outcome.ended[0][1])


def test_so_are_positions_that_are_reset_or_validated():
    world = at_the_end(T0, T1, policy="earliest")
    world.positions.reset(T0, world.positions.policy)
    world.tick()
    sent = world.only(ApiKey.LIST_OFFSETS)
    assert sent.node == SECOND
    world.answer(sent, listed((T0, 0)))
    assert asked(world.only(ApiKey.FETCH, SECOND)) == {T0: 0}
    world.positions.find(T1).offset_epoch = 3
    world.cluster.leaders[T1] = Leader(1, 4)
    world.cluster.epochs[T1] = 4
    world.cluster.version += 1
    world.tick()
    sent = world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    assert sent.node == SECOND
    world.answer(sent, validated((T1, 3, END)))


def test_who_begins_anew_asks_the_first():
    world = at_the_end(T0)
    world.positions.seek(T0, 10)
    world.tick()
    lost = [*world.network.sent]
    world.network.sent.clear()
    world.fetcher.recover(world.now_ms)
    world.tick(1_000)
    assert world.only().node == 1
    assert asked(world.only()) == {T0: 10}
    assert {one.node for one in lost} == {1, SECOND}


def test_keys_of_a_node_tell_its_number():
    for number in (0, 1, 2**30, 2**31 - 1):
        keys = keys_of(number)
        assert len({*keys}) == 3
        assert {node_id_of(key) for key in keys} == {number}
    assert not {key for n in (0, 2**31 - 1) for key in keys_of(n)[:2]} & {
        keys_of(n)[2] for n in (0, 2**31 - 1)
    }
