"""Rules of section 8 one by one: resets, validation; turns and health."""

from __future__ import annotations

import pytest
from fetch_world import World, asked, batch, data, failed, listed, tp, validated

from kcore.errors import (
    KafkaError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)
from kcore.structs import OffsetAndMetadata
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0, T1, T2 = tp(0), tp(1), tp(2)
OTHER = tp(0, "other")
EPOCHS = ApiKey.OFFSET_FOR_LEADER_EPOCH
SESSION = 55


# -- resets (P5-P7) -------------------------------------------------------------------


def test_p5_resets_go_to_each_leader_in_one_request() -> None:
    world = World(T0, T1, T2, start=None, leader=lambda where: 1 + where.partition % 2)
    world.cluster.lead(T0, 1, 3)
    for where in (T0, T1, T2):
        world.positions.reset(where, "latest")
    world.tick()
    first, second = world.pending(ApiKey.LIST_OFFSETS)
    assert (first.node, second.node) == (1, 2)
    assert first.body.replica_id == -1  # no replica, but a consumer
    rows = first.body.topics[0].partitions
    assert [(one.partition_index, one.timestamp, one.current_leader_epoch) for one in rows] == [
        (0, -1, 3),
        (2, -1, -1),
    ]


def test_p7_a_reset_waits_for_a_leader_and_goes_out_when_it_is_known() -> None:
    world = World(T0, start=None)
    leader = world.cluster.leaders.pop(T0)
    world.positions.reset(T0, "earliest")
    world.tick()
    assert (world.network.sent, world.cluster.updates) == ([], 1)
    assert "no leader known" in world.fetcher.health(T0)
    world.cluster.leaders[T0] = leader
    world.cluster.version += 1
    world.tick()
    world.only(ApiKey.LIST_OFFSETS)


def test_p7_who_has_no_leader_for_long_costs_no_more_with_every_look() -> None:
    """Metadata that brings nothing new comes again and again, for days if need be."""
    world = World(T0, start=None)
    del world.cluster.leaders[T0]
    world.positions.reset(T0, "earliest")
    for _ in range(100):
        world.until_due()
    assert len(world.fetcher._resets.inquiry._leaderless) == 1


@pytest.mark.parametrize("how", ["disconnect", "left out", "negative offset", "unknown code"])
def test_p7_resets_are_retried(how: str) -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "earliest")
    world.tick()
    sent = world.only(ApiKey.LIST_OFFSETS)
    if how == "disconnect":
        world.fail(sent)
    elif how == "left out":
        world.answer(sent, listed((T1, 4)))
    elif how == "negative offset":
        world.answer(sent, listed((T0, -1)))
    else:
        world.answer(sent, listed((T0, 4), error_code=12_345))
    assert (world.at(T0), world.network.sent) == (None, [])
    assert world.cluster.updates
    assert world.take() == {}  # nobody need hear of it
    assert 80 <= world.until_due() <= 120
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 4), (T0, 9)))
    assert world.at(T0) == 4  # the first answer for a partition counts


@pytest.mark.parametrize(
    ("how", "said", "wait_ms", "updates"),
    [
        ("backoff", "node 1 cannot be reached", range(700, 701), 0),
        ("unknown", "node 1 is not known", range(80, 121), 1),
    ],
)
def test_p7_a_reset_waits_for_a_node_that_can_be_asked(
    how: str, said: str, wait_ms: range, updates: int
) -> None:
    world = World(T0, start=None)
    if how == "backoff":
        world.network.unreachable[1] = world.now_ms + 700
    else:
        world.network.unknown.add(1)
    world.positions.reset(T0, "earliest")
    world.tick()
    assert (world.network.sent, world.cluster.updates) == ([], updates)
    assert said in world.fetcher.health(T0)
    world.network.unknown.clear()
    assert world.until_due() in wait_ms
    world.only(ApiKey.LIST_OFFSETS)


def test_p7_a_broker_that_cannot_be_asked_is_told_of() -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "earliest")
    world.tick()
    world.fail(world.only(ApiKey.LIST_OFFSETS), UnsupportedVersionError("no"))
    world.take_error(UnsupportedVersionError)
    assert 80 <= world.until_due() <= 120  # another may come
    world.only(ApiKey.LIST_OFFSETS)


def test_p7_a_log_of_an_old_format_is_no_reason_to_ask_soon() -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "earliest")
    world.tick()
    old = listed((T0, -1), error_code=ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
    world.answer(world.only(ApiKey.LIST_OFFSETS), old)
    assert world.take() == {}
    assert (world.cluster.updates, world.until_due()) == (0, 30_000)
    world.only(ApiKey.LIST_OFFSETS)


def test_p7_each_wait_is_twice_the_one_before_up_to_a_bound() -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "earliest")
    world.tick()
    for wait_ms in (100, 200, 400, 800, 1_000, 1_000):
        world.fail(world.only(ApiKey.LIST_OFFSETS))
        assert 0.8 * wait_ms <= world.until_due() <= 1.2 * wait_ms


def test_p7_who_can_be_asked_sooner_does_not_wait_for_the_others() -> None:
    world = World(T0, T1, start=None, leader=lambda where: 1 + where.partition)
    world.network.unknown.add(2)
    for where in (T0, T1):
        world.positions.reset(where, "earliest")
    world.tick()
    assert world.only(ApiKey.LIST_OFFSETS).node == 1  # and is not answered
    world.network.unknown.clear()
    assert 80 <= world.until_due() <= 120
    world.only(ApiKey.LIST_OFFSETS, node=2)


def test_p7_a_reset_in_flight_is_not_sent_twice() -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "earliest")
    world.tick()
    world.positions.pause([T0])
    world.positions.resume([T0])
    world.tick(10)
    world.only(ApiKey.LIST_OFFSETS)


def test_p7_a_reset_in_flight_that_had_no_leader_once_is_not_sent_twice() -> None:
    world = World(T0, start=None)
    leader = world.cluster.leaders.pop(T0)
    world.positions.reset(T0, "earliest")
    world.tick()
    world.cluster.leaders[T0] = leader
    for _ in range(3):  # it is known, and then others change
        world.cluster.version += 1
        world.tick(10)
    world.only(ApiKey.LIST_OFFSETS)


# -- validation (P9-P12) ---------------------------------------------------------------------------


def consumed(epoch: int = 1, policy: str = "earliest") -> World:
    """Three records read under an epoch; more are buffered."""
    world = World(T0, policy=policy)
    world.cluster.lead(T0, 1, epoch)
    world.tick()
    world.fetched(data(T0, batch(0, 5, epoch=epoch)), session_id=SESSION)
    world.take(3)
    return world


@pytest.mark.parametrize("epoch", [0, 1])
def test_p9_a_new_leader_puts_the_position_in_doubt(epoch: int) -> None:
    world = consumed(epoch)
    world.cluster.lead(T0, 2, 2)
    world.tick()
    sent = world.only(EPOCHS)
    assert sent.node == 2
    # What was buffered may be gone from the new leader's log: not handed over.
    assert world.take() == {}
    world.answer(sent, validated((T0, 1, 100)))
    assert asked(world.only(ApiKey.FETCH, 2)) == {T0: 3}


@pytest.mark.parametrize("epoch", [0, 1])
def test_p3_a_seek_with_an_epoch_is_validated_under_the_same_leader_too(epoch: int) -> None:
    world = consumed(epoch)
    world.positions.seek(T0, 1, epoch)
    world.tick()
    assert world.take() == {}
    world.answer(world.only(EPOCHS), validated((T0, 1, 100)))
    world.fetched(after_ms=500)
    assert asked(world.only()) == {T0: 1}


def test_p9_the_same_leader_changes_nothing() -> None:
    world = consumed()
    world.cluster.version += 1
    world.tick()
    assert world.pending(EPOCHS) == []
    assert world.take() == {T0: [3, 4]}


@pytest.mark.parametrize("metadata", ["before", "meanwhile"])
def test_p9_a_leader_of_an_epoch_before_the_committed_one_is_not_asked(metadata: str) -> None:
    world = World(T0, start=None)
    world.cluster.lead(T0, 1, 1)
    if metadata == "before":
        world.tick()
    world.positions.apply_committed({T0: OffsetAndMetadata(5, "", 2)})
    world.tick()
    assert (world.network.sent, world.cluster.updates > 0) == ([], True)
    world.cluster.lead(T0, 2, 2)
    world.tick()
    assert world.only(EPOCHS).node == 2


def test_p9_no_leader_at_all_changes_nothing() -> None:
    world = consumed()
    world.cluster.leaders.clear()
    world.cluster.version += 1
    world.tick()
    assert world.pending(EPOCHS) == []
    assert world.take() == {T0: [3, 4]}
    world.fetched(after_ms=500, session_id=SESSION)
    assert world.only(node=1)


def test_p9_a_leader_of_no_known_epoch_is_just_asked() -> None:
    """Brokers before 2.3 tell no epochs."""
    world = consumed()
    world.cluster.epochs.clear()
    world.cluster.lead(T0, 2)
    world.cluster.see_epoch = lambda *_: False  # type: ignore[method-assign]
    world.tick()
    assert world.pending(EPOCHS) == []
    assert world.take() == {T0: [3, 4]}
    assert asked(world.only(node=2)) == {T0: 5}


def test_p9_without_epochs_the_new_leader_is_just_asked() -> None:
    world = World(T0)
    world.tick()
    world.fetched(data(T0, batch(0, 5)), session_id=SESSION)
    world.cluster.lead(T0, 2)
    world.tick()
    assert world.pending(EPOCHS) == []
    assert asked(world.only(node=2)) == {T0: 5}
    assert world.take() == {T0: [0, 1, 2, 3, 4]}


@pytest.mark.parametrize("how", ["version 2", "unsupported"])
def test_p10_brokers_that_cannot_tell_are_believed(how: str) -> None:
    world = consumed()
    world.network.versions[1] = {EPOCHS: 2, ApiKey.FETCH: 17}
    world.cluster.lead(T0, 1, 2)
    world.tick()
    if how == "version 2":
        world.answer(world.only(EPOCHS), validated((T0, -1, -1), error_code=29))
    else:
        world.fail(world.only(EPOCHS), UnsupportedVersionError("no"))
    world.fetched(session_id=SESSION, pad=False, after_ms=500)
    assert asked(world.only()) == {T0: 3}
    assert not world.fetcher.has_records


def test_p11_a_seek_overtakes_validation() -> None:
    world = consumed()
    world.cluster.lead(T0, 2, 2)
    world.tick()
    sent = world.only(EPOCHS)
    world.positions.seek(T0, 40)
    world.answer(sent, validated((T0, 1, 1)))
    assert world.at(T0) == 40
    assert asked(world.only(node=2)) == {T0: 40}


def test_p10_a_broker_of_the_first_version_for_consumers_is_asked() -> None:
    world = consumed()
    world.network.versions[2] = {EPOCHS: 3, ApiKey.FETCH: 17}
    world.cluster.lead(T0, 2, 2)
    world.tick()
    world.answer(world.only(EPOCHS), validated((T0, 1, 2)))
    assert world.at(T0) == 2


def test_p10_the_partitions_of_a_topic_are_asked_for_together() -> None:
    world = World(T0, T1)
    for where in (T0, T1):
        world.cluster.lead(where, 1, 2)
        world.positions.seek(where, 5, 1)
    world.tick()
    rows = [
        (one.partition, one.current_leader_epoch, one.leader_epoch)
        for topic in world.only(EPOCHS).body.topics
        for one in topic.partitions
    ]
    assert rows == [(0, 2, 1), (1, 2, 1)]


@pytest.mark.parametrize("how", ["disconnect", "left out", ErrorCode.FENCED_LEADER_EPOCH, 12_345])
def test_p12_validation_is_retried(how: str | int) -> None:
    world = consumed()
    world.cluster.lead(T0, 2, 2)
    world.tick()
    updates = world.cluster.updates
    if how == "disconnect":
        world.fail(world.only(EPOCHS))
    elif how == "left out":
        world.answer(world.only(EPOCHS), validated((T1, 1, 100)))
    else:
        world.answer(world.only(EPOCHS), validated((T0, -1, -1), error_code=int(how)))
    assert world.cluster.updates > updates
    assert world.at(T0) == 3
    assert world.take() == {}  # nobody need hear of it
    assert 80 <= world.until_due() <= 120
    world.only(EPOCHS)


def test_p12_validation_waits_for_a_leader_and_goes_out_when_it_is_known() -> None:
    world = consumed()
    world.cluster.lead(T0, 2, 2)
    world.tick()
    leader = world.cluster.leaders.pop(T0)
    world.fail(world.only(EPOCHS))
    world.until_due()
    assert not world.pending(EPOCHS)
    world.cluster.leaders[T0] = leader
    world.cluster.version += 1
    world.tick()
    assert world.only(EPOCHS).node == 2


def test_p12_authorization_is_raised_once() -> None:
    world = consumed()
    world.cluster.lead(T0, 2, 2)
    world.tick()
    world.answer(world.only(EPOCHS), validated((T0, -1, -1), error_code=29))
    world.take_error(TopicAuthorizationFailedError)
    assert world.take() == {}


# -- turns, health ---------------------------------------------------------------------------------


def test_idle_turns_do_nothing() -> None:
    """Called after every input: while nothing changed, partitions are not even looked at."""
    world = World(*(tp(number) for number in range(500)))
    world.tick()

    class Loud(dict):  # type: ignore[type-arg]
        def __iter__(self) -> object:  # type: ignore[override]
            raise AssertionError("partitions were looked through")

        values = items = keys = __iter__  # type: ignore[assignment]

    plain, world.positions._all = world.positions._all, Loud(world.positions._all)
    for _ in range(10):
        world.tick(1)
    assert world.fetcher.deadline() == NEVER
    world.positions._all = plain


def test_raise_later_says_each_thing_once() -> None:
    world = World(T0)
    world.fetcher.raise_later(KafkaError("one"))
    world.fetcher.raise_later(KafkaError("one"))
    world.fetcher.raise_later(KafkaError("two"))
    assert world.fetcher.has_records
    assert [str(world.take_error(KafkaError)) for _ in range(2)] == ["one", "two"]
    assert world.take() == {}


def test_an_error_is_of_no_matter_once_all_that_it_was_about_are_elsewhere() -> None:
    """Of what was raised nothing is kept."""
    world = World(T0, T1)
    fetcher, positions = world.fetcher, world.positions
    for number in range(3):
        fetcher.raise_later(KafkaError(f"raised {number}"), [T0])
        assert str(world.take_error(KafkaError)) == f"raised {number}"
    fetcher.raise_later(KafkaError("both"), [T0, T1])
    assert [*fetcher._about] == ["both"]
    positions.seek(T0, 5)
    assert fetcher.has_records
    positions.seek(T1, 5)
    assert not fetcher.has_records
    assert not fetcher._about


def test_health_says_why() -> None:
    world = World(T0, start=None)
    health = lambda: world.fetcher.health(T0)  # noqa: E731
    assert health() == "position unknown: waiting for committed offset"
    world.positions.reset(T0, "latest")
    assert "looking up the latest offset" in health()
    world.positions.seek(T0, 0)
    world.tick()
    assert health() == "fetching"
    world.positions.pause([T0])
    assert health() == "paused"
    world.positions.suspend([T0])
    assert "rebalance" in health()
    world.positions.assign([T0])
    world.positions.resume([T0])
    world.positions.hold([T0])
    assert "take note" in health()
    world.positions.release([T0])
    world.fail(world.only())
    assert "failed to answer" in health()
    world.positions.assign([])
    assert health() == "not assigned"


def test_health_says_that_an_error_stands_in_the_way() -> None:
    world = World(T0, policy="none", start=7)
    world.tick()
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
    assert world.fetcher.health(T0) == "stuck at offset 7: an error waits to be raised"


def test_health_forgets_what_was_got_over() -> None:
    world = World(T0)
    world.tick()
    world.fetched(failed(T0, ErrorCode.UNKNOWN_SERVER_ERROR))
    assert "UNKNOWN_SERVER_ERROR" in world.fetcher.health(T0)
    world.until_due()
    world.fetched(data(T0, batch(0)), after_ms=500)
    world.positions.pause([T0])
    world.tick()
    world.positions.resume([T0])
    assert world.fetcher.health(T0) == "not fetched for now: not planned yet"
    world.tick()
    world.fetched(failed(T0, ErrorCode.UNKNOWN_SERVER_ERROR))
    world.positions.seek(T0, 0)
    assert world.fetcher.health(T0) == "not fetched for now: not planned yet"
