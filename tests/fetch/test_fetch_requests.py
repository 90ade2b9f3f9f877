"""What fetch requests say (F3), and what of it sessions leave out (S1-S6, KIP-227)."""

from __future__ import annotations

from fetch_world import World, asked, batch, data, forgotten, topic_id, tp

from kcore.fetch.config import IsolationLevel
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0, T1, T2 = tp(0), tp(1), tp(2)
OTHER = tp(0, "other")
SESSION = 55


def test_f3_the_request() -> None:
    world = World(
        T0,
        fetch_min_bytes=7,
        fetch_max_wait_ms=250,
        max_partition_fetch_bytes=999,
        client_rack="r1",
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout_ms=2_000,
    )
    world.cluster.lead(T0, 1, 4)
    world.tick()
    sent = world.only()
    body = sent.body
    # Where a log ends is told at once: nobody knows yet whether a broker would keep the request.
    assert (body.min_bytes, body.max_wait_ms, body.rack_id) == (0, 250, "r1")
    assert (body.isolation_level, body.session_id, body.session_epoch) == (1, 0, 0)
    one = body.topics[0].partitions[0]
    assert (one.current_leader_epoch, one.partition_max_bytes, one.log_start_offset) == (4, 999, -1)
    assert one.last_fetched_epoch == -1
    assert sent.timeout_ms == 5_250  # the wait at the broker and then some
    world.fetched()
    assert (world.only().body.min_bytes, world.only().body.max_wait_ms) == (7, 250)


def test_f3_topic_ids_only_if_all_have_one() -> None:
    world = World(T0)
    world.tick()
    assert world.only().version == 17
    world.fetched(session_id=SESSION, after_ms=500)
    world.cluster.lead(OTHER, 1)
    world.positions.assign([T0, OTHER])
    world.positions.seek(OTHER, 0)
    world.fetched(session_id=SESSION, after_ms=500)
    sent = world.only()
    assert sent.version == 12
    # Names and ids never share a session.
    assert (sent.body.session_id, sent.body.session_epoch) == (SESSION, 0)
    assert asked(sent) == {T0: 0, OTHER: 0}
    world.cluster.ids["other"] = b"o" * 16
    world.cluster.version += 1
    world.fetched(data(T0), data(OTHER), session_id=SESSION, after_ms=500)
    assert world.only().version == 17


def test_f3_a_topic_without_an_id_that_is_given_up_is_no_reason_to_ask_by_name() -> None:
    world = World(T0, OTHER)
    del world.cluster.ids["other"]
    world.tick()
    assert world.only().version == 12
    world.positions.assign([T0])
    world.fetched(after_ms=500)
    assert world.only().version == 17


def test_f3_neighbours_of_one_topic_are_asked_for_under_its_name_once() -> None:
    world = World(T0, T1, OTHER, T2)
    world.tick()
    asked_for = [
        (topic.topic_id, [one.partition for one in topic.partitions])
        for topic in world.only().body.topics
    ]
    t, other = topic_id("t"), topic_id("other")
    assert asked_for == [(t, [0, 1]), (other, [0]), (t, [2])]


def test_f3_brokers_of_every_version() -> None:
    for version in range(4, 18):
        world = World(T0, T1)
        world.network.versions[1] = {ApiKey.FETCH: version}
        world.tick()
        world.fetched(data(T0, batch(0, 2)), session_id=SESSION if version >= 7 else 0)
        full = version < 7
        assert asked(world.only()) == ({T1: 0, T0: 2} if full else {T0: 2}), version
        assert world.take() == {T0: [0, 1]}


# -- sessions --------------------------------------------------------------------------------------


def test_s1_only_what_changed_is_sent() -> None:
    world = World(T0, T1, T2)
    world.tick()
    world.fetched(data(T0, batch(0)), data(T1), data(T2), session_id=SESSION)
    assert (asked(world.only()), forgotten(world.only())) == ({T0: 1}, [])
    world.positions.pause([T2])
    world.fetched(session_id=SESSION, after_ms=500)
    sent = world.only()
    assert (asked(sent), forgotten(sent)) == ({}, [T2])
    assert (sent.body.session_id, sent.body.session_epoch) == (SESSION, 2)


def test_s1_buffered_partitions_stay_in_the_session() -> None:
    world = World(T0, T1)
    world.tick()
    world.fetched(data(T0, batch(0, 5)), data(T1), session_id=SESSION)
    sent = world.only()
    assert (asked(sent), forgotten(sent)) == ({T0: 5}, [])


def test_s1_without_sessions_every_request_is_full() -> None:
    world = World(T0, T1, enable_incremental_fetch_sessions=False)
    world.tick()
    for offset in range(3):
        body = world.only().body
        assert (body.session_id, body.session_epoch) == (0, -1)
        assert asked(world.only()) == {T0: offset, T1: 0}
        world.fetched(data(T0, batch(offset)))


def test_s2_a_lost_session_is_opened_anew_at_once_but_not_for_ever() -> None:
    world = World(T0)
    world.tick()
    rounds, began = 0, world.now_ms
    while world.now_ms - began < 2_000:
        while world.pending(ApiKey.FETCH):
            world.fetched(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
            rounds += 1
        world.until_due()
    assert 3 <= rounds <= 12


def test_s5_disconnect_renews_the_session() -> None:
    world = World(T0)
    world.tick()
    world.fetched(data(T0), session_id=SESSION)
    world.fail(world.only())
    assert world.network.sent == []
    world.until_due()
    sent = world.only()
    assert (sent.body.session_id, sent.body.session_epoch) == (SESSION, 0)
    assert asked(sent) == {T0: 0}


def test_s6_close_ends_sessions_and_is_quiet_afterwards() -> None:
    world = World(T0, T1, leader=lambda where: where.partition + 1)
    world.tick()
    world.fetched(data(T0, batch(0)), node=1, session_id=SESSION)
    late = world.only(node=1)
    world.fetcher.close(world.now_ms)
    world.fetcher.close(world.now_ms)
    closing = [sent for sent in world.pending(ApiKey.FETCH) if sent.body.session_epoch == -1]
    assert [(sent.node, sent.body.session_id) for sent in closing] == [(1, SESSION)]
    world.network.sent.remove(closing[0])
    closing[0].done(None, world.now_ms)  # type: ignore[arg-type]  # ignored, whatever it is
    assert late in world.network.sent
    world.fetched(data(T0, batch(1)), node=1, session_id=SESSION)
    assert (world.fetcher.buffered_bytes, world.fetcher.has_records) == (0, False)
    assert [sent.node for sent in world.network.sent] == [2]  # which was under way before


def test_s6_sessions_are_ended_over_links_that_are_there_only() -> None:
    world = World(T0, T1, leader=lambda where: where.partition + 1)
    world.tick()
    for node in (1, 2):
        world.fetched(data(T0 if node == 1 else T1), node=node, session_id=SESSION, after_ms=500)
    before = list(world.network.sent)
    world.network.unreachable[2] = world.now_ms + 60_000
    world.fetcher.close(world.now_ms)
    assert [sent.node for sent in world.network.sent if sent not in before] == [1]
