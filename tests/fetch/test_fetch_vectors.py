"""The scenario vectors F01-F29 (VECTORS.md, section F) by their numbers.

F16-F19 are in test_fetch_session.py. Where Java does not fetch what is buffered (rule F1), this
client fetches ahead of it: F01 to F04 say what that comes to.
"""

from __future__ import annotations

import pytest
from fetch_world import (
    World,
    asked,
    batch,
    data,
    empty_control,
    failed,
    listed,
    marker,
    tp,
    validated,
)

from kcore.errors import (
    CorruptRecordError,
    LogTruncationError,
    NoOffsetForPartitionError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
)
from kcore.events import OffsetReset
from kcore.fetch.config import IsolationLevel
from kcore.structs import Leader, OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0, T1, T2, T3 = tp(0), tp(1), tp(2), tp(3)
COMMITTED = {"isolation_level": IsolationLevel.READ_COMMITTED}


def test_f01_records_of_one_answer_over_several_calls() -> None:
    """Instead of "no new fetch while buffered": the next one asks for what follows the buffered
    records at once, so nothing comes twice and nothing is left out."""
    world = World(T0, start=1)
    world.tick()
    world.fetched(data(T0, batch(1, 3)))
    assert asked(world.only()) == {T0: 4}
    assert (world.take(2), world.at(T0)) == ({T0: [1, 2]}, 3)
    assert asked(world.only()) == {T0: 4}
    assert (world.take(2), world.at(T0)) == ({T0: [3]}, 4)
    world.fetched(data(T0, batch(4, 2)))
    assert world.take(2) == {T0: [4, 5]}


def test_f02_what_is_left_of_an_unassigned_partition_is_dropped() -> None:
    world = World(T0, T1, start=1)
    world.tick()
    world.fetched(data(T0, batch(1, 3)))
    assert world.take(2) == {T0: [1, 2]}
    world.positions.assign([T1])
    world.tick()
    assert not world.fetcher.has_records
    world.fetched(data(T1, batch(1, 1)))
    assert world.take() == {T1: [1]}
    assert asked(world.only()) == {T1: 2}


def test_f03_an_answer_for_a_paused_partition_is_kept() -> None:
    world = World(T0, start=1)
    world.tick()
    world.positions.pause([T0])
    world.fetched(data(T0, batch(1, 3)))
    assert (world.take(), world.fetcher.has_records) == ({}, False)
    assert world.network.sent == []  # nothing is fetched for it, or again
    world.positions.resume([T0])
    world.tick()
    assert asked(world.only()) == {T0: 4}
    assert world.take() == {T0: [1, 2, 3]}


def test_f04_pause_between_two_calls() -> None:
    world = World(T0, start=1)
    world.tick()
    world.fetched(data(T0, batch(1, 3)))
    assert world.take(2) == {T0: [1, 2]}
    world.positions.pause([T0])
    assert world.take() == {}
    world.positions.resume([T0])
    assert world.take() == {T0: [3]}
    assert asked(world.only()) == {T0: 4}


@pytest.mark.parametrize("code", [0, ErrorCode.OFFSET_OUT_OF_RANGE])
def test_f05_an_answer_for_another_offset_is_ignored(code: int) -> None:
    world = World(T0, policy="earliest")
    world.tick()
    world.positions.seek(T0, 1)
    world.fetched(failed(T0, code) if code else data(T0, batch(0, 3)))
    assert (world.take(), world.at(T0)) == ({}, 1)
    assert asked(world.only()) == {T0: 1}
    assert world.events == []


def test_f06_out_of_range_comes_after_the_records_before_it() -> None:
    world = World(T0, T1, policy="none", start=1)
    world.tick()
    world.fetched(data(T1, batch(1, 3)), failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE))
    assert world.take() == {T1: [1, 2, 3]}
    error = world.take_error(OffsetOutOfRangeError)
    assert (error.partition, error.offset, dict(error.offsets)) == (T0, 1, {T0: 1})
    assert (world.at(T0), world.at(T1)) == (1, 4)


def test_f07_a_seek_before_the_error_is_reached_undoes_it() -> None:
    world = World(T0, T1, policy="none", start=1)
    world.tick()
    world.fetched(data(T0, batch(1, 3)), failed(T1, ErrorCode.OFFSET_OUT_OF_RANGE))
    assert world.take(2) == {T0: [1, 2]}
    world.positions.seek(T1, 10)
    assert world.take() == {T0: [3]}
    assert world.take() == {}


def test_f08_errors_are_raised_once_and_broken_data_at_every_call() -> None:
    world = World(T0, T1, T2, T3, policy="none", start=1)
    world.tick()
    world.fetched(
        data(T1, batch(1, 3)),
        failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE),
        data(T2, batch(1, 2)),
        data(T3, batch(1, 9)[:40]),
    )
    assert world.take() == {T1: [1, 2, 3]}
    world.take_error(OffsetOutOfRangeError)
    assert world.take() == {T2: [1, 2]}
    for _ in range(3):
        error = world.take_error(CorruptRecordError)
        assert error.partition == T3
    world.positions.seek(T3, 5)
    assert world.take() == {}


def test_f09_out_of_range_on_a_replica_is_for_the_leader_to_say() -> None:
    world = World(T0, policy="earliest", leader=lambda _tp: 2, start=5)
    world.tick()
    world.fetched(data(T0, preferred_read_replica=1), node=2)
    world.fetched(failed(T0, ErrorCode.OFFSET_OUT_OF_RANGE), node=1)
    world.until_due()
    assert asked(world.only(node=2)) == {T0: 5}
    assert world.at(T0) == 5


def test_f10_the_preferred_replica_serves_for_a_while() -> None:
    world = World(T0, leader=lambda _tp: 2, metadata_max_age_ms=10_000)
    world.tick()
    world.fetched(data(T0, preferred_read_replica=1))
    world.fetched(data(T0, batch(0)), node=1, after_ms=9_000)
    # Naming the same replica again does not make it last longer.
    world.fetched(data(T0, batch(1), preferred_read_replica=1), node=1, after_ms=999)
    world.only(node=1)
    world.tick(1)
    assert asked(world.only(node=2)) == {T0: 2}
    # Both nodes answer for the same place: the first one counts.
    world.fetched(data(T0, batch(2)), node=1)
    world.fetched(data(T0, batch(2)), node=2)
    assert world.take() == {T0: [0, 1, 2]}
    assert world.network.sent == [world.only(node=2)]
    assert asked(world.only(node=2)) == {T0: 3}


def test_f10_the_leader_may_name_the_same_replica_again_once_its_time_is_over() -> None:
    world = World(T0, leader=lambda _tp: 2, metadata_max_age_ms=10_000)
    world.tick()
    for offset in (0, 1):
        world.fetched(data(T0, preferred_read_replica=1), node=2)
        world.fetched(data(T0, batch(offset)), node=1, after_ms=9_999)
        assert asked(world.only(node=1)) == {T0: offset + 1}
        world.fetched(node=1, after_ms=1)
    assert world.take() == {T0: [0, 1]}


@pytest.mark.parametrize("how", ["disconnect", "leader error"])
def test_f10_the_preferred_replica_fails(how: str) -> None:
    world = World(T0, leader=lambda _tp: 2)
    world.tick()
    world.fetched(data(T0, preferred_read_replica=1))
    if how == "disconnect":
        world.fail(world.only(node=1))
    else:
        world.fetched(failed(T0, ErrorCode.NOT_LEADER_OR_FOLLOWER), node=1)
    assert world.cluster.updates
    world.until_due()
    world.only(node=2)


def test_f11_the_end_of_a_batch_may_be_compacted_away() -> None:
    world = World(T0)
    world.tick()
    world.fetched(data(T0, batch(0, 3, last=3)))
    assert (world.take(), world.at(T0)) == ({T0: [0, 1, 2]}, 4)
    assert asked(world.only()) == {T0: 4}


def test_f12_aborted_transactions_of_two_producers() -> None:
    def txn(first: int, producer: int, count: int = 1) -> bytes:
        return batch(first, count, producer=producer, transactional=True)

    log = [
        txn(0, 1, 2),
        txn(2, 2),
        marker(3, 1, commit=True),
        txn(4, 2),
        marker(5, 2, commit=False),
        txn(6, 1),
        txn(7, 2),
        txn(8, 1),
        marker(9, 1, commit=False),
        marker(10, 2, commit=True),
    ]
    world = World(T0, **COMMITTED)
    world.tick()
    world.fetched(data(T0, *log, aborted=[(1, 6), (2, 2)]))  # not every broker sorts them
    assert (world.take(), world.at(T0)) == ({T0: [0, 1, 7]}, 11)


def test_i3_no_list_of_aborted_transactions_is_an_empty_one() -> None:
    world = World(T0, **COMMITTED)
    world.tick()
    where, found = data(T0, batch(0, 2, producer=7, transactional=True))
    found.aborted_transactions = None
    world.fetched((where, found))
    assert world.take() == {T0: [0, 1]}


@pytest.mark.parametrize(("options", "seen"), [(COMMITTED, [4, 5]), ({}, [0, 1, 4, 5])])
def test_f13_two_abort_markers(options: dict[str, IsolationLevel], seen: list[int]) -> None:
    log = [
        batch(0, 2, producer=1, transactional=True),
        marker(2, 1, commit=False),
        marker(3, 1, commit=False),
        batch(4, 2, producer=1, transactional=True),
        marker(6, 1, commit=True),
    ]
    world = World(T0, **options)
    world.tick()
    world.fetched(data(T0, *log, aborted=[(1, 0)]))
    assert (world.take(), world.at(T0)) == ({T0: seen}, 7)


def test_f14_an_empty_control_batch() -> None:
    world = World(T0, **COMMITTED)
    world.tick()
    committed = batch(1, 2, producer=1, transactional=True)
    world.fetched(data(T0, empty_control(0, 1), committed, marker(3, 1, commit=True)))
    assert (world.take(), world.at(T0)) == ({T0: [1, 2]}, 4)


def test_f15_only_aborted_data_moves_the_position() -> None:
    world = World(T0, **COMMITTED)
    world.tick()
    log = [batch(0, 3, producer=1, transactional=True), marker(3, 1, commit=False)]
    world.fetched(data(T0, *log, aborted=[(1, 0)]))
    assert world.fetcher.has_records
    assert (world.take(), world.at(T0)) == ({}, 4)
    assert asked(world.only()) == {T0: 4}


def test_f20_one_fetch_in_flight_per_node() -> None:
    world = World(T0, T1, leader=lambda where: where.partition + 1)
    world.tick()
    assert asked(world.only(node=1)) == {T0: 0}
    assert asked(world.only(node=2)) == {T1: 0}
    world.fetched(data(T1, batch(0)), node=2)
    world.only(node=1)
    assert asked(world.only(node=2)) == {T1: 1}


def in_doubt(
    offset: int, epoch: int, policy: str = "latest", out_of_range: str | None = None
) -> World:
    """A position with an epoch, under a leader of a newer one."""
    world = World(T0, start=None, policy=policy, out_of_range=out_of_range)
    world.cluster.lead(T0, 1, 2)
    world.positions.apply_committed({T0: OffsetAndMetadata(offset, "", epoch)})
    world.tick()
    return world


def test_f21_a_position_is_validated_before_it_is_fetched() -> None:
    world = in_doubt(0, 1)
    assert world.pending(ApiKey.FETCH) == []
    sent = world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    one = sent.body.topics[0].partitions[0]
    assert (one.partition, one.leader_epoch, one.current_leader_epoch) == (0, 1, 2)
    assert sent.body.replica_id == -1
    world.answer(sent, validated((T0, 1, 10)))
    assert asked(world.only()) == {T0: 0}
    world.fetched(data(T0, batch(0, 3, epoch=1)))
    assert world.take() == {T0: [0, 1, 2]}
    assert world.positions.position(T0) == (3, 1, Leader(1, 2))


def test_who_goes_back_from_a_position_that_was_validated_has_one_that_can_be_committed() -> None:
    world = in_doubt(0, 1)
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, 1, 10)))
    world.fetched(data(T0, batch(0, 3, epoch=1)))
    assert world.take() == {T0: [0, 1, 2]}
    world.positions.go_back(T0, 2, 1)
    world.tick()
    assert world.pending(ApiKey.OFFSET_FOR_LEADER_EPOCH) == []
    assert world.positions.consumed() == {T0: OffsetAndMetadata(2, "", 1)}
    world.cluster.lead(T0, 1, 3)  # which is another question
    world.positions.go_back(T0, 1, 1)
    world.tick()
    world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    world.positions.go_back(T0, 0, 1)  # nor is that answered before it is
    world.tick()
    assert world.positions.consumed() == {}


def test_who_goes_back_to_where_nobody_was_has_it_validated() -> None:
    world = in_doubt(0, 1)
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, 1, 10)))
    world.positions.go_back(T0, 1, 1)
    world.tick()
    assert world.positions.consumed() == {}


def test_a_position_that_is_validated_is_no_error_without_a_policy_either() -> None:
    world = in_doubt(5, 1, "none")
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, 1, 5)))
    assert asked(world.only()) == {T0: 5}
    assert world.take() == {}


def test_f22_the_log_was_cut_off() -> None:
    world = in_doubt(5, 1, "none")
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, 1, 1)))
    error = world.take_error(LogTruncationError)
    assert error.divergent_offsets == {T0: OffsetAndMetadata(1, "", 1)}
    assert world.at(T0) == 5
    assert world.pending(ApiKey.FETCH) == []
    assert "validating" in world.fetcher.health(T0)
    assert 80 <= world.until_due() <= 120  # a leader may come that has it all
    world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH)

    world = in_doubt(5, 1, "earliest")
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, 1, 1)))
    assert world.positions.position(T0) == (1, 1, Leader(1, 2))
    assert asked(world.only()) == {T0: 1}


def test_a_log_that_was_cut_off_at_its_beginning_is_read_from_there() -> None:
    """The leader does tell where: no policy is asked, which would pass over all of it."""
    world = in_doubt(5, 1, "latest")
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, 0, 0)))
    assert world.positions.position(T0) == (0, 0, Leader(1, 2))
    assert asked(world.only()) == {T0: 0}


def test_a_seek_after_the_log_was_cut_off_is_an_answer_to_the_error() -> None:
    world = in_doubt(5, 1, "none")
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, 1, 1)))
    world.positions.seek(T0, 1)
    assert world.take() == {}  # and nothing is raised any more


def test_a_log_that_was_cut_off_is_a_position_out_of_range() -> None:
    world = in_doubt(5, 1, "earliest", "none")
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, 1, 1)))
    world.take_error(LogTruncationError)
    assert world.at(T0) == 5

    world = in_doubt(5, 1, "none", "earliest")
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, 1, 1)))
    assert world.at(T0) == 1


@pytest.mark.parametrize(("epoch", "end"), [(-1, 3), (-1, 9), (1, -1), (-1, -1)])
def test_f23_the_leader_cannot_tell(epoch: int, end: int) -> None:
    world = in_doubt(5, 1, "none")
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, epoch, end)))
    assert world.take_error(LogTruncationError).divergent_offsets == {T0: None}

    world = in_doubt(5, 1, "earliest")
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, epoch, end)))
    assert world.at(T0) is None
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 2)))
    assert world.at(T0) == 2


def test_a_late_validation_of_what_was_given_up_is_no_error() -> None:
    world = in_doubt(5, 1, "none")
    world.positions.assign([])
    world.answer(world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH), validated((T0, 1, 1)))
    assert world.take() == {}


def test_f24_a_late_validation_is_ignored() -> None:
    world = in_doubt(5, 1, "earliest")
    late = world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    world.cluster.lead(T0, 2, 3)
    world.tick()
    world.answer(late, validated((T0, 1, 1)))
    assert world.positions.position(T0) == (5, 1, Leader(2, 3))
    again = world.only(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    assert (again.node, again.body.topics[0].partitions[0].current_leader_epoch) == (2, 3)
    world.answer(again, validated((T0, 1, 5)))
    assert asked(world.only(node=2)) == {T0: 5}


def test_f25_a_reset_overtaken_by_a_seek() -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "latest")
    world.tick()
    sent = world.only(ApiKey.LIST_OFFSETS)
    world.positions.seek(T0, 237)
    world.answer(sent, listed((T0, 5)))
    assert (world.at(T0), world.events) == (237, [])


def test_f25_a_reset_overtaken_by_another() -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "latest")
    world.tick()
    late = world.only(ApiKey.LIST_OFFSETS)
    world.positions.reset(T0, "earliest")
    world.answer(late, listed((T0, 5)))
    assert world.at(T0) is None
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 2)))
    assert world.at(T0) == 2
    assert world.events == [OffsetReset(T0, 2, "earliest")]


def test_f25_a_reset_of_a_partition_given_up() -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "latest")
    world.tick()
    world.positions.assign([])
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5)))
    assert (world.positions.assigned(), world.events, world.network.sent) == ([], [], [])


def test_f26_a_reset_that_is_not_authorized() -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "latest")
    world.tick()
    denied = listed((T0, -1), error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    world.answer(world.only(ApiKey.LIST_OFFSETS), denied)
    assert world.take_error(TopicAuthorizationFailedError).topics == {"t"}
    assert world.take() == {}
    assert world.network.sent == []
    assert 80 <= world.until_due() <= 120
    world.only(ApiKey.LIST_OFFSETS)


def test_f27_a_reset_that_meets_a_newer_leader() -> None:
    world = World(T0, start=None)
    world.positions.reset(T0, "latest")
    world.tick()
    fenced = listed((T0, -1), error_code=ErrorCode.FENCED_LEADER_EPOCH)
    world.answer(world.only(ApiKey.LIST_OFFSETS), fenced)
    assert world.at(T0) is None
    assert world.cluster.updates == 1
    assert not world.fetcher.has_records


def test_f28_the_epoch_of_a_reset_is_noted() -> None:
    world = World(T0, start=None)
    world.cluster.lead(T0, 1, 1)
    world.positions.reset(T0, "latest")
    world.tick()
    world.answer(world.only(ApiKey.LIST_OFFSETS), listed((T0, 5), leader_epoch=2))
    position = world.positions.position(T0)
    assert position is not None
    assert position[:2] == (5, -1)
    assert world.cluster.updates >= 1
    assert world.cluster.epochs[T0] == 2


def test_f29_nothing_committed_and_no_policy() -> None:
    world = World(T0, T1, T2, policy="none", start=None)
    world.positions.apply_committed({T2: OffsetAndMetadata(0)})
    world.positions.reset_initializing([T0, T1])
    world.tick()
    assert world.fetcher.has_records
    assert world.take_error(NoOffsetForPartitionError).partitions == {T0, T1}
    world.fetched(data(T2, batch(0, 4)))
    # Every other call: the application is reminded, and what flows keeps flowing.
    assert world.take(1) == {T2: [0]}
    world.take_error(NoOffsetForPartitionError)
    assert world.take() == {T2: [1, 2, 3]}
    world.take_error(NoOffsetForPartitionError)
    world.take_error(NoOffsetForPartitionError)
    world.positions.seek(T0, 0)
    world.positions.seek(T1, 0)
    assert world.take() == {}
