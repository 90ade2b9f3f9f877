"""Rules of section 9 one by one: planning, hostile answers, errors, collecting."""

from __future__ import annotations

import tracemalloc

import pytest
from fetch_world import World, asked, batch, data, failed, forgotten, listed, tp

from kcore.errors import (
    CorruptRecordError,
    DeserializationError,
    KafkaError,
    TopicAuthorizationFailedError,
    Unexpected,
    UnsupportedVersionError,
)
from kcore.events import OffsetReset, RecordsFetched
from kcore.structs import Leader, Node, OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import FetchResponse

T0, T1, T2 = tp(0), tp(1), tp(2)
OTHER = tp(0, "other")
EPOCHS = ApiKey.OFFSET_FOR_LEADER_EPOCH
SESSION = 55


# -- what is asked (F1, F2) ------------------------------------------------------------------------


def test_f1_paused_suspended_and_held_partitions_are_not_fetched() -> None:
    world = World(T0, T1, T2)
    world.positions.pause([T0])
    world.positions.suspend([T1])
    world.positions.hold([T2])
    world.tick()
    assert world.network.sent == []
    world.positions.release([T2])
    world.tick()
    assert asked(world.only()) == {T2: 0}


def test_f1_suspended_partitions_are_not_handed_over_until_the_assignment_changes() -> None:
    world = World(T0, T1)
    world.tick()
    world.fetched(data(T0, batch(0, 2)), data(T1, batch(0, 2)))
    world.positions.suspend([T0])
    assert world.take() == {T1: [0, 1]}
    world.positions.assign([T0])
    assert world.take() == {T0: [0, 1]}


def test_f2_without_a_leader_metadata_is_asked_for_again_and_again() -> None:
    world = World(T0)
    del world.cluster.leaders[T0]
    world.positions.seek(T0, 3)
    world.tick()
    assert (world.network.sent, world.cluster.updates) == ([], 1)
    assert "no leader known" in world.fetcher.health(T0)
    assert world.until_due() == 100
    assert world.cluster.updates == 2
    world.cluster.lead(T0, 2)
    world.tick()
    assert asked(world.only(node=2)) == {T0: 3}


def test_f2_a_node_in_backoff_is_left_alone() -> None:
    world = World(T0)
    world.network.unreachable[1] = world.now_ms + 700
    world.tick()
    assert world.network.sent == []
    assert world.until_due() == 700
    world.only()


def test_f2_an_unknown_node_is_looked_up() -> None:
    world = World(T0)
    world.network.unknown.add(1)
    world.tick()
    assert (world.network.sent, world.cluster.updates) == ([], 1)
    world.network.unknown.clear()
    assert world.until_due() == 100
    world.only()


def test_f2_who_has_begun_to_close_asks_for_no_more() -> None:
    world = World(T0, T1, leader=lambda where: where.partition + 1)
    world.network.unreachable[2] = world.now_ms + 700
    world.tick()
    world.fetcher.end()
    world.fetched(data(T0, batch(0)), session_id=SESSION)
    world.tick(1_000)
    assert world.network.sent == []


def test_f2_a_leader_that_moves_takes_the_partition_along() -> None:
    world = World(T0, T1)
    world.tick()
    world.cluster.lead(T1, 2)
    world.tick()
    assert asked(world.only(node=2)) == {T1: 0}
    world.fetched(data(T0, batch(0)), node=1, session_id=SESSION, pad=False)
    # The answer lacks T1, which was asked: not what was asked for, so nothing of it is used.
    assert world.take() == {}


def test_f2_nodes_that_are_no_more_are_forgotten() -> None:
    """Brokers that come and go under ever new numbers."""
    world = World(T0)
    for number in range(10, 30):
        world.cluster.nodes = {number: Node(number, "host", 9092)}
        world.cluster.lead(T0, number)
        world.tick()
        for sent in world.pending(ApiKey.FETCH):
            if sent.node != number:
                world.fail(sent)
    world.cluster.version += 1
    world.tick()
    assert len(world.fetcher._planner.nodes) <= 2


def test_f2_an_unreachable_replica_hands_back_to_the_leader() -> None:
    world = World(T0, leader=lambda _tp: 2)
    world.tick()
    world.network.unreachable[1] = world.now_ms + 60_000
    turns = 0
    for _ in range(20):  # the leader insists on the replica: no progress, and no spinning
        for sent in world.pending(ApiKey.FETCH):
            world.fetched(data(T0, preferred_read_replica=1), node=sent.node)
            turns += 1
        world.until_due()
    assert turns <= 20
    assert world.now_ms > 1_000_000 + 5_000


# -- hostile answers (S3, S4, S7) ------------------------------------------------------------------

HOSTILE = {
    "a partition never asked": [data(T0, batch(0)), data(T2, batch(0))],
    "a topic never asked": [data(T0, batch(0)), data(OTHER, batch(0))],
    "a partition twice": [data(T0, batch(0)), data(T0, batch(0))],
    "a partition missing": [],
    "a negative high watermark": [data(T0, batch(0), high_watermark=-2)],
    "a negative stable offset": [data(T0, batch(0), last_stable_offset=-2)],
    "a negative partition": [data(tp(-1), batch(0))],
}


@pytest.mark.parametrize("parts", HOSTILE.values(), ids=HOSTILE)
def test_s7_a_hostile_answer_costs_that_answer(parts: list[object]) -> None:
    world = World(T0)
    world.tick()
    for _ in range(8):  # answered at once, over and over
        world.fetched(*parts, pad=False, session_id=9)  # type: ignore[arg-type]
        assert world.network.sent == []
        assert world.until_due() >= 80
    assert (world.take(), world.at(T0)) == ({}, 0)
    world.fetched(data(T0, batch(0)), session_id=9)
    assert world.take() == {T0: [0]}


def test_garbage_makes_a_node_wait_and_the_others_flow() -> None:
    world = World(T0, T1, leader=lambda where: where.partition + 1)
    world.tick()
    garbage = 0
    for offset in range(50):
        for sent in world.pending(ApiKey.FETCH, 1):
            world.fail(sent, Unexpected("garbage"))
            garbage += 1
        world.fetched(data(T1, batch(offset)), node=2, after_ms=10)
        assert world.take() == {T1: [offset]}
    assert garbage <= 4


def test_an_answer_that_holds_nothing_new_does_not_spin() -> None:
    world = World(T0, start=5)
    world.tick()
    for _ in range(5):
        world.fetched(data(T0, batch(0, 3)), session_id=SESSION)
        assert world.take() == {}
        assert world.network.sent == []
        assert world.until_due() >= 80


def test_a_broker_that_does_not_wait_does_not_make_us_spin() -> None:
    world = World(T0)
    world.tick()
    began, answers = world.now_ms, 0
    while world.now_ms - began < 3_000:
        while world.pending(ApiKey.FETCH):
            world.fetched()
            answers += 1
        world.until_due()
    assert answers <= 15
    # And once it behaves, it is asked as before.
    world.fetched(data(T0, batch(0)))
    assert asked(world.only()) == {T0: 1}


def test_a_sound_idle_partition_is_asked_again_at_once() -> None:
    world = World(T0)
    world.tick()
    for _ in range(10):
        world.fetched(session_id=SESSION, after_ms=500)
        world.only()


def test_f2_an_unsupported_fetch_is_raised_and_does_not_spin() -> None:
    world = World(T0)
    world.tick()
    for _ in range(3):
        world.fail(world.only(), UnsupportedVersionError("too old"))
        world.take_error(UnsupportedVersionError)
        assert world.until_due() >= 80


# -- errors of partitions (9.4) --------------------------------------------------------------------

ELSEWHERE = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
]


@pytest.mark.parametrize("code", ELSEWHERE)
def test_9_4_leader_errors_refresh_metadata_and_wait(code: ErrorCode) -> None:
    world = World(T0, T1)
    world.tick()
    world.fetched(failed(T0, code), data(T1, batch(0)), session_id=SESSION)
    assert world.cluster.updates == 1
    assert (asked(world.only()), forgotten(world.only())) == ({T1: 1}, [T0])
    assert code.name in world.fetcher.health(T0)
    assert world.take() == {T1: [0]}
    # A new leader ends the wait.
    world.cluster.lead(T0, 2, 1)
    world.tick()
    assert asked(world.only(node=2)) == {T0: 0}


@pytest.mark.parametrize("code", [ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_9_4_passing_errors_are_retried(code: ErrorCode) -> None:
    world = World(T0)
    world.tick()
    world.fetched(failed(T0, code))
    assert (world.take(), world.cluster.updates, world.network.sent) == ({}, 0, [])
    assert world.until_due() >= 80
    assert asked(world.only()) == {T0: 0}


@pytest.mark.parametrize(
    "code", [ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CORRUPT_MESSAGE, 12_345]
)
def test_9_4_other_errors_are_raised_once_an_answer(code: int) -> None:
    world = World(T0, T1)
    world.tick()
    world.fetched(failed(T0, code), data(T1, batch(0)))
    error = world.take_error(KafkaError)
    assert error.errno == code
    assert world.take() == {T1: [0]}
    assert world.take() == {}
    world.until_due()
    world.fetched(data(T1), after_ms=500, pad=False)
    assert T0 in asked(world.only())


def test_9_4_authorization_names_the_topic() -> None:
    world = World(T0)
    world.tick()
    world.fetched(failed(T0, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert world.take_error(TopicAuthorizationFailedError).topics == {"t"}


def test_9_4_out_of_range_resets_by_the_policy() -> None:
    world = World(T0, policy="earliest", start=50)
    world.tick()
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 70)))
    assert world.events == [OffsetReset(T0, 70, "earliest", before=50)]
    assert asked(world.only()) == {T0: 70}


def test_where_it_stood_is_told_of_what_the_policy_does_alone() -> None:
    world = World(T0, policy="earliest", start=50)
    world.tick()
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
    late = world.only(ApiKey.LIST_OFFSETS)
    world.positions.reset(T0, "latest")  # the application has another wish meanwhile
    world.tick()
    wish = world.pending(ApiKey.LIST_OFFSETS)[-1]
    world.answer(late, listed((T0, 70)))
    world.answer(wish, listed((T0, 90)))
    assert world.events == [OffsetReset(T0, 90, "latest")]


def test_9_4_out_of_range_ahead_of_the_application_waits_for_it() -> None:
    world = World(T0, policy="latest")
    world.tick()
    world.fetched(data(T0, batch(0, 3)))
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
    assert world.at(T0) == 0
    assert world.take(2) == {T0: [0, 1]}
    assert world.take() == {T0: [2]}
    assert world.take() == {}
    assert world.at(T0) is None
    assert world.pending(ApiKey.LIST_OFFSETS)


def test_9_4_out_of_range_says_what_there_is() -> None:
    world = World(T0, policy="none")
    world.tick()
    world.fetched(data(T0, batch(0, 1), log_start_offset=0, high_watermark=90))
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
    world.take()
    error = world.take_error(KafkaError)
    assert (error.offset, error.log_start, error.high_watermark) == (1, 0, 90)
    assert "offset 1 is out of range: the log is known to hold 0 to 90; seek to" in str(error)


def test_out_of_range_of_a_log_of_which_one_end_is_known() -> None:
    world = World(T0, policy="none", start=95)
    world.tick()
    world.fetched(data(T0, high_watermark=90), after_ms=500)
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
    error = world.take_error(KafkaError)
    assert (error.log_start, error.high_watermark) == (None, 90)
    assert "offset 95 is out of range: the log is known to hold ? to 90; seek to" in str(error)


def test_out_of_range_of_a_log_of_which_nothing_is_known_yet() -> None:
    world = World(T0, policy="none")
    world.tick()
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
    error = world.take_error(KafkaError)
    assert "t-0: offset 0 is out of range; seek to" in str(error)
    assert "auto_offset_reset or out_of_range_reset" in str(error)


def test_f6_a_leader_hint_is_followed_at_once() -> None:
    world = World(T0)
    world.cluster.lead(T0, 1, 3)
    world.tick()
    hint = FetchResponse.LeaderIdAndEpoch(leader_id=7, leader_epoch=4)
    end = FetchResponse.NodeEndpoint(node_id=7, host="seven", port=9097)
    world.fetched(
        failed(T0, ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=hint),
        node_endpoints=[FetchResponse.NodeEndpoint(node_id=6, host="six", port=9096), end],
    )
    assert world.cluster.nodes[7].host == "seven"
    assert asked(world.only(node=7)) == {T0: 0}


def test_f6_node_0_and_epoch_0_are_a_leader() -> None:
    world = World(T0)
    world.tick()
    hint = FetchResponse.LeaderIdAndEpoch(leader_id=0, leader_epoch=0)
    world.fetched(
        failed(T0, ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=hint),
        node_endpoints=[FetchResponse.NodeEndpoint(node_id=0, host="zero", port=9090)],
    )
    assert asked(world.only(node=0)) == {T0: 0}


def test_f6_a_hint_that_is_not_newer_is_not_followed() -> None:
    world = World(T0)
    world.cluster.lead(T0, 1, 3)
    world.tick()
    hint = FetchResponse.LeaderIdAndEpoch(leader_id=2, leader_epoch=3)
    world.fetched(failed(T0, ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=hint))
    assert world.network.sent == []
    assert world.cluster.leaders[T0] == Leader(1, 3)


def test_a_diverging_epoch_in_an_answer_is_a_truncation() -> None:
    world = World(T0, policy="earliest", start=20)
    world.tick()
    cut = FetchResponse.EpochEndOffset(epoch=2, end_offset=15)
    world.fetched(data(T0, diverging_epoch=cut))
    assert world.positions.position(T0) == (15, 2, Leader(1, -1))
    assert asked(world.only()) == {T0: 15}
    assert world.events == [OffsetReset(T0, 15, "truncated", before=20)]


@pytest.mark.parametrize(("epoch", "end"), [(-1, 3), (-1, 0), (2, -1), (0, -1)])
def test_a_log_that_does_not_know_the_epoch_is_out_of_range(epoch: int, end: int) -> None:
    world = World(T0, policy="latest", start=20)
    world.tick()
    cut = FetchResponse.EpochEndOffset(epoch=epoch, end_offset=end)
    world.fetched(data(T0, diverging_epoch=cut))
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 7)))
    assert world.events == [OffsetReset(T0, 7, "latest", before=20)]


# -- collecting (F7-F11) ---------------------------------------------------------------------------


def test_f7_the_count_is_kept_over_partitions() -> None:
    world = World(T0, T1)
    world.tick()
    world.fetched(data(T1, batch(0, 3)), data(T0, batch(0, 3)))
    assert world.take(5) == {T1: [0, 1, 2], T0: [0, 1]}
    assert world.take(5) == {T0: [2]}
    assert world.take(0) == {}


def test_f7_a_paused_partition_does_not_block_the_others() -> None:
    world = World(T0, T1)
    world.tick()
    world.fetched(data(T0, batch(0, 3)), data(T1, batch(0, 3)), session_id=SESSION)
    world.positions.pause([T0])
    for first in range(3, 30, 3):
        assert len(world.take(3)[T1]) == 3
        world.fetched(data(T1, batch(first, 3)), session_id=SESSION)
    world.positions.resume([T0])
    taken = world.take(100)
    assert taken[T0] == [0, 1, 2]


def test_pause_and_resume_fetch_nothing_again() -> None:
    """PAINS 5: toggling costs no bytes and leaves nothing behind."""
    world = World(T0)
    world.tick()
    world.fetched(data(T0, batch(0, 3)), session_id=SESSION)
    held = world.fetcher.buffered_bytes

    def toggle(times: int) -> None:
        for _ in range(times):
            world.positions.pause([T0])
            world.positions.resume([T0])
            world.tick()

    toggle(2_500)  # Python keeps two thousand tuples for the next ones
    tracemalloc.start()
    toggle(2_000)
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert grown < 10_000
    assert world.fetcher.buffered_bytes == held
    assert asked(world.only()) == {T0: 3}
    assert world.take() == {T0: [0, 1, 2]}


def test_f8_marks_are_taken_when_the_broker_knows_them() -> None:
    world = World(T0)
    assert world.positions.highwater(T0) is None
    world.tick()
    assert world.positions.told_at(T0) is None
    world.fetched(data(T0, high_watermark=30, last_stable_offset=20, log_start_offset=10))
    assert world.positions.told_at(T0) == world.now_ms
    world.fetched(data(T0, high_watermark=-1), after_ms=500)
    assert world.positions.highwater(T0) == 30
    assert world.positions.last_stable_offset(T0) == 20
    assert world.positions.log_start(T0) == 10


def test_f8_the_marks_of_an_empty_log_are_known_and_0() -> None:
    world = World(T0)
    world.tick()
    world.fetched(data(T0, high_watermark=0, last_stable_offset=0, log_start_offset=0))
    positions = world.positions
    assert (positions.highwater(T0), positions.log_start(T0)) == (0, 0)
    assert positions.last_stable_offset(T0) == 0


def test_f9_the_position_carries_the_epoch_of_the_last_batch() -> None:
    world = World(T0)
    world.cluster.lead(T0, 1, 6)
    world.tick()
    world.fetched(data(T0, batch(0, 2, epoch=5), batch(2, 2, epoch=6)))
    world.take(2)
    assert world.positions.position(T0) == (2, 5, Leader(1, 6))
    world.take(2)
    assert world.positions.consumed() == {T0: OffsetAndMetadata(4, "", 6)}


def test_f11_who_has_more_waits_for_the_others_behind_each_answer() -> None:
    world = World(T0, T1)
    world.tick()
    world.fetched(data(T0, batch(0, 2)), data(T1, batch(0, 2)))
    world.fetched(data(T0, batch(2, 2)))
    assert [world.take(2) for _ in range(3)] == [{T0: [0, 1]}, {T1: [0, 1]}, {T0: [2, 3]}]


def test_f10_corrupt_data_is_raised_at_every_call_and_others_flow() -> None:
    world = World(T0, T1)
    world.tick()
    bad = bytearray(batch(2, 2))
    bad[-1] ^= 1
    world.fetched(data(T0, batch(0, 2), bytes(bad)), data(T1, batch(0, 2)))
    assert world.take() == {T0: [0, 1]}
    seen: list[int] = []
    raised = 0
    world.take_error(CorruptRecordError)
    world.fetched(data(T0, batch(4, 2)), data(T1))  # was on its way already
    for first in range(2, 12, 2):
        # Behind what cannot be read nothing is fetched.
        assert asked(world.only()) == {T1: first}
        world.fetched(data(T1, batch(first, 2)))
        for _ in range(3):
            try:
                seen += world.take().get(T1, [])
            except CorruptRecordError as error:
                raised += error.partition == T0
    assert seen == list(range(12))
    assert raised >= 3
    assert world.at(T0) == 2
    world.positions.seek(T0, 4)
    world.take()
    world.fetched(data(T1, batch(12, 1)))
    assert asked(world.only())[T0] == 4


def test_f10_a_failing_deserializer_is_retried_in_place() -> None:
    poison = {b"1 .........."}

    def value(topic: str, headers: object, raw: bytes) -> bytes:
        if raw in poison:
            raise ValueError("no")
        return raw

    world = World(T0, value_deserializer=value)
    world.tick()
    world.fetched(data(T0, batch(0, 3)))
    assert world.take() == {T0: [0]}
    world.take_error(DeserializationError)
    world.take_error(DeserializationError)
    assert world.at(T0) == 1
    world.fetched(data(T0, batch(3)))  # fetched ahead meanwhile, and still in order
    poison.clear()
    assert world.take() == {T0: [1, 2, 3]}


def test_f11_partitions_that_had_data_are_served_last() -> None:
    world = World(T0, T1, T2)
    world.network.versions[1] = {ApiKey.FETCH: 6}  # without sessions, the order is in every request
    world.tick()
    assert list(asked(world.only())) == [T0, T1, T2]
    world.fetched(data(T0, batch(0)))
    assert list(asked(world.only())) == [T1, T2, T0]


def test_records_fetched_says_what_came() -> None:
    world = World(T0, T1)
    world.tick()
    records = batch(0, 2)
    world.fetched(data(T0, records))
    assert world.events == [RecordsFetched(1, (T0,), len(records))]


def test_x2_what_is_outside_the_subscription_is_dropped() -> None:
    world = World(T0, OTHER)
    world.tick()
    world.fetched(data(T0, batch(0)), data(OTHER, batch(0)))
    world.fetcher.drop_outside(lambda topic: topic == "t")
    assert world.take() == {T0: [0]}
    assert world.at(OTHER) == 0
