"""Rules of section 8 one by one: resets, look-ups, validation; turns and health."""

from __future__ import annotations

import pytest
from fetch_world import World, asked, batch, data, failed, listed, tp, validated

from kcore.errors import (
    DisconnectedError,
    KafkaError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
    UnsupportedVersionError,
)
from kcore.fetch.config import IsolationLevel
from kcore.structs import OffsetAndTimestamp
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0, T1, T2 = tp(0), tp(1), tp(2)
OTHER = tp(0, "other")
EPOCHS = ApiKey.OFFSET_FOR_LEADER_EPOCH
SESSION = 55


# -- resets and look-ups (P5-P8) -------------------------------------------------------------------


def test_p5_resets_go_to_each_leader_in_one_request() -> None:
    world = World(T0, T1, T2, start=None, leader=lambda where: 1 + where.partition % 2)
    world.cluster.lead(T0, 1, 3)
    for where in (T0, T1, T2):
        world.positions.reset(where, "latest")
    world.tick()
    first, second = world.pending(ApiKey.LIST_OFFSETS)
    assert (first.node, second.node) == (1, 2)
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


def test_p7_a_reset_in_flight_is_not_sent_twice() -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "earliest")
    world.tick()
    world.positions.pause([T0])
    world.positions.resume([T0])
    world.tick(10)
    world.only(ApiKey.LIST_OFFSETS)


class Outcome:
    """Takes the end of one look-up."""

    def __init__(self) -> None:
        self.ended: list[tuple[object, KafkaError | None]] = []

    def __call__(self, result: object, error: KafkaError | None) -> None:
        self.ended.append((result, error))


def look_up(world: World, timestamps: dict[object, int], timeout_ms: int = 5_000) -> Outcome:
    outcome = Outcome()
    world.fetcher.list_offsets(
        timestamps,  # type: ignore[arg-type]
        world.now_ms,
        outcome,
        deadline_ms=world.now_ms + timeout_ms,
    )
    assert outcome.ended == []  # never inside the call
    world.tick()
    return outcome


def test_p8_a_look_up_over_two_leaders() -> None:
    world = World(T0, T1, start=None, leader=lambda where: where.partition + 1)
    outcome = look_up(world, {T0: 1_000, T1: 1_000})
    first, second = world.pending(ApiKey.LIST_OFFSETS)
    world.answer(first, listed((T0, 5), timestamp=1_001, leader_epoch=2))
    assert outcome.ended == []
    world.answer(second, listed((T1, -1)))
    assert outcome.ended == [({T0: OffsetAndTimestamp(5, 1_001, 2), T1: None}, None)]
    assert world.fetcher.deadline() == NEVER


def test_p8_a_node_is_believed_about_what_it_was_asked() -> None:
    world = World(T0, T1, start=None, leader=lambda where: where.partition + 1)
    outcome = look_up(world, {T0: -1, T1: -1})
    first, second = world.pending(ApiKey.LIST_OFFSETS)
    world.answer(first, listed((T0, 5), (T0, 9), (T1, 6)))  # one twice, and another's
    assert outcome.ended == []
    world.answer(second, listed((T1, 7)))
    result, error = outcome.ended[0]
    assert error is None
    assert {where: found.offset for where, found in result.items()} == {T0: 5, T1: 7}


def test_p8_retried_until_the_deadline() -> None:
    world = World(T0, start=None)
    outcome = look_up(world, {T0: -1}, timeout_ms=1_000)
    began = world.now_ms
    rounds = 0
    while not outcome.ended:
        for sent in world.pending(ApiKey.LIST_OFFSETS):
            world.answer(sent, listed((T0, -1), error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER))
            rounds += 1
        world.until_due()
    assert world.now_ms - began == 1_000
    assert 2 <= rounds <= 6
    result, error = outcome.ended[0]
    assert result is None
    assert isinstance(error, KafkaTimeoutError)
    assert "for t-0: node 1 at host1:9092 answered NOT_LEADER_OR_FOLLOWER for t-0" in str(error)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("silent", "node 1 at host1:9092 has not answered"),
        ("fails", "could not connect to host1:9092: refused"),
        ("unreachable", "node 1 at host1:9092 is not reached"),
        ("no leader", "no leader of t-0 is known"),
        ("no topic", "topic t is not known"),
        ("no partition", "topic t has no partition 0: it has 1"),
    ],
)
def test_p8_what_came_in_the_way_is_said(
    how: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(T0, start=None)
    known = {"no topic": None, "no partition": [1]}.get(how, [0])
    monkeypatch.setattr(world.cluster, "partitions", lambda _topic: known)
    if how.startswith("no "):
        world.cluster.leaders.clear()
    elif how == "unreachable":
        world.network.unreachable[1] = world.now_ms + 60_000
    outcome = look_up(world, {T0: -1}, timeout_ms=1_000)
    while not outcome.ended:
        for sent in world.pending(ApiKey.LIST_OFFSETS) if how == "fails" else ():
            world.network.unreachable[1] = world.now_ms + 60_000
            world.fail(sent, DisconnectedError(said))
        world.until_due()
    error = outcome.ended[0][1]
    assert isinstance(error, KafkaTimeoutError)
    assert f"no offset was found in time for t-0: {said}" in str(error)


def test_p8_without_time_it_is_empty_at_once() -> None:
    outcome = look_up(World(T0, start=None), {T0: -1}, timeout_ms=0)
    assert outcome.ended == [({}, None)]


def test_p8_a_silent_broker_does_not_hold_it_past_the_deadline() -> None:
    world = World(T0, start=None)
    outcome = look_up(world, {T0: -1}, timeout_ms=700)
    assert world.only(ApiKey.LIST_OFFSETS).timeout_ms == 700
    world.tick(700)
    assert isinstance(outcome.ended[0][1], KafkaTimeoutError)
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5)))  # too late
    assert len(outcome.ended) == 1


def test_p8_new_metadata_does_not_make_a_look_up_under_way_spin() -> None:
    world = World(T0, start=None)
    began = world.now_ms
    look_up(world, {T0: -1}, timeout_ms=700)
    world.cluster.lead(T0, 2)
    world.tick()
    assert world.fetcher.deadline() == began + 700


def test_p8_authorization_ends_it() -> None:
    world = World(T0, start=None)
    outcome = look_up(world, {T0: -1})
    denied = listed((T0, -1), error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    world.answer(world.only(ApiKey.LIST_OFFSETS), denied)
    assert isinstance(outcome.ended[0][1], TopicAuthorizationFailedError)


def test_p8_an_old_broker_knows_no_newest_timestamp() -> None:
    world = World(T0, start=None)
    world.network.versions[1] = {ApiKey.LIST_OFFSETS: 6}
    outcome = look_up(world, {T0: -3})
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5)))
    assert isinstance(outcome.ended[0][1], UnsupportedVersionError)
    outcome = look_up(world, {T0: 1_000})  # but all others
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5), timestamp=1_001))
    assert outcome.ended == [({T0: OffsetAndTimestamp(5, 1_001, -1)}, None)]


def test_p8_records_of_an_old_format_have_no_times() -> None:
    world = World(T0, T1, start=None)
    outcome = look_up(world, {T0: 1_000})
    old = listed((T0, -1), error_code=ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
    world.answer(world.only(ApiKey.LIST_OFFSETS), old)
    assert outcome.ended == [({T0: None}, None)]


def test_p8_partitions_that_are_not_assigned_can_be_looked_up_too() -> None:
    world = World(T0, start=None)
    world.cluster.lead(OTHER, 1, 3)
    world.tick()
    outcome = look_up(world, {OTHER: -1}, timeout_ms=60_000)
    sent = world.only(ApiKey.LIST_OFFSETS)
    assert sent.timeout_ms == 30_000  # of one request; the look-up has time for another
    assert world.cluster.updates == 0
    world.answer(sent, listed((OTHER, 5), leader_epoch=4))
    assert outcome.ended == [({OTHER: OffsetAndTimestamp(5, -1, 4)}, None)]
    assert world.cluster.epochs[OTHER] == 4


def test_p8_a_topic_that_is_refused_ends_the_look_ups_of_it_and_no_others() -> None:
    world = World(T0, OTHER, start=None)
    refused, other = look_up(world, {T0: -1, OTHER: -1}), look_up(world, {OTHER: -1})
    error = TopicAuthorizationFailedError("no")
    world.fetcher.refuse_lookups({"t"}, error)
    assert (refused.ended, other.ended) == ([(None, error)], [])
    world.fetcher.refuse_partition(OTHER, error)
    assert other.ended == [(None, error)]


def test_p8_an_unknown_leader_is_waited_for() -> None:
    world = World(T0, start=None)
    leader = world.cluster.leaders.pop(T0)
    outcome = look_up(world, {T0: -2})
    assert (world.network.sent, world.cluster.updates) == ([], 1)
    world.cluster.leaders[T0] = leader
    world.cluster.version += 1
    world.tick()
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5)))
    assert outcome.ended == [({T0: OffsetAndTimestamp(5, -1, -1)}, None)]


def test_p8_close_ends_look_ups() -> None:
    world = World(T0, start=None)
    outcome = look_up(world, {T0: -1})
    world.fetcher.close(world.now_ms)
    assert outcome.ended[0][0] is None
    assert outcome.ended[0][1] is not None


@pytest.mark.parametrize(
    ("level", "high", "stable"),
    [(IsolationLevel.READ_UNCOMMITTED, 9, None), (IsolationLevel.READ_COMMITTED, None, 9)],
)
def test_i5_look_ups_tell_how_far_there_is_to_go(
    level: IsolationLevel, high: int | None, stable: int | None
) -> None:
    world = World(T0, isolation_level=level)
    look_up(world, {T0: -1})
    assert world.only(ApiKey.LIST_OFFSETS).body.isolation_level == level.value
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 9)))
    assert world.positions.highwater(T0) == high
    assert world.positions.last_stable_offset(T0) == stable
    look_up(world, {T0: -2})
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 4)))
    assert world.positions.log_start(T0) == 4


# -- validation (P9-P12) ---------------------------------------------------------------------------


def consumed(epoch: int = 1, policy: str = "earliest") -> World:
    """Three records read under an epoch; more are buffered."""
    world = World(T0, policy=policy)
    world.cluster.lead(T0, 1, epoch)
    world.tick()
    world.fetched(data(T0, batch(0, 5, epoch=epoch)), session_id=SESSION)
    world.take(3)
    return world


def test_p9_a_new_leader_puts_the_position_in_doubt() -> None:
    world = consumed()
    world.cluster.lead(T0, 2, 2)
    world.tick()
    sent = world.only(EPOCHS)
    assert sent.node == 2
    # What was buffered may be gone from the new leader's log: not handed over.
    assert world.take() == {}
    world.answer(sent, validated((T0, 1, 100)))
    assert asked(world.only(ApiKey.FETCH, 2)) == {T0: 3}


def test_p3_a_seek_with_an_epoch_is_validated_under_the_same_leader_too() -> None:
    world = consumed()
    world.positions.seek(T0, 1, 1)
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


@pytest.mark.parametrize("code", [ErrorCode.FENCED_LEADER_EPOCH, 12_345])
def test_p12_validation_is_retried(code: int) -> None:
    world = consumed()
    world.cluster.lead(T0, 2, 2)
    world.tick()
    updates = world.cluster.updates
    world.answer(world.only(EPOCHS), validated((T0, -1, -1), error_code=code))
    assert world.cluster.updates > updates
    assert world.at(T0) == 3
    assert 80 <= world.until_due() <= 120
    world.only(EPOCHS)


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
