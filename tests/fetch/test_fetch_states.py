"""Positions and their states (CLIENT_CONSUMER.md section 8): every cell, and who wins when."""

from __future__ import annotations

import pytest

from kcore.errors import IllegalArgumentError, IllegalStateError
from kcore.fetch.config import ResetStrategy
from kcore.fetch.partition import Partition, Position
from kcore.fetch.positions import Positions
from kcore.fetch.states import TRANSITIONS, WITH_POSITION, PartitionState, PositionInput
from kcore.structs import Leader, OffsetAndMetadata, TopicPartition

A = TopicPartition("t", 0)
B = TopicPartition("t", 1)
S, In = PartitionState, PositionInput

# Written out by hand, so that a cell changed by accident is noticed. None: ignored (P1).
CELLS = {
    (S.INITIALIZING, In.SOUGHT): S.FETCHING,
    (S.INITIALIZING, In.RESET_ASKED): S.AWAIT_RESET,
    (S.INITIALIZING, In.RESET_ANSWERED): None,
    (S.INITIALIZING, In.DOUBTED): None,
    (S.INITIALIZING, In.VALIDATED): None,
    (S.FETCHING, In.SOUGHT): S.FETCHING,
    (S.FETCHING, In.RESET_ASKED): S.AWAIT_RESET,
    (S.FETCHING, In.RESET_ANSWERED): None,
    (S.FETCHING, In.DOUBTED): S.AWAIT_VALIDATION,
    (S.FETCHING, In.VALIDATED): None,
    (S.AWAIT_RESET, In.SOUGHT): S.FETCHING,
    (S.AWAIT_RESET, In.RESET_ASKED): S.AWAIT_RESET,
    (S.AWAIT_RESET, In.RESET_ANSWERED): S.FETCHING,
    (S.AWAIT_RESET, In.DOUBTED): None,
    (S.AWAIT_RESET, In.VALIDATED): None,
    (S.AWAIT_VALIDATION, In.SOUGHT): S.FETCHING,
    (S.AWAIT_VALIDATION, In.RESET_ASKED): S.AWAIT_RESET,
    (S.AWAIT_VALIDATION, In.RESET_ANSWERED): None,
    (S.AWAIT_VALIDATION, In.DOUBTED): S.AWAIT_VALIDATION,
    (S.AWAIT_VALIDATION, In.VALIDATED): S.FETCHING,
    (S.INITIALIZING, In.VOIDED): None,
    (S.FETCHING, In.VOIDED): S.INITIALIZING,
    (S.AWAIT_RESET, In.VOIDED): None,
    (S.AWAIT_VALIDATION, In.VOIDED): S.INITIALIZING,
    (S.INITIALIZING, In.TAKEN_BACK): None,
    (S.FETCHING, In.TAKEN_BACK): S.INITIALIZING,
    (S.AWAIT_RESET, In.TAKEN_BACK): S.INITIALIZING,
    (S.AWAIT_VALIDATION, In.TAKEN_BACK): S.INITIALIZING,
}

# Section 8 of the spec: what each state may go to; and back to the first, as if newly assigned.
REACHABLE = {
    S.INITIALIZING: {S.FETCHING, S.AWAIT_RESET},
    S.FETCHING: {S.FETCHING, S.AWAIT_RESET, S.AWAIT_VALIDATION, S.INITIALIZING},
    S.AWAIT_RESET: {S.FETCHING, S.AWAIT_RESET, S.INITIALIZING},
    S.AWAIT_VALIDATION: {S.FETCHING, S.AWAIT_RESET, S.AWAIT_VALIDATION, S.INITIALIZING},
}


class Watching:
    """Notes what the positions tell."""

    def __init__(self) -> None:
        self.told: list[tuple[str, TopicPartition]] = []

    def moved(self, partition: Partition) -> None:
        self.told.append(("moved", partition.tp))

    def changed(self, partition: Partition) -> None:
        self.told.append(("changed", partition.tp))


def apply(positions: Positions, partition: Partition, what: PositionInput) -> None:
    tp = partition.tp
    if what is In.SOUGHT:
        positions.seek(tp, 7)
    elif what is In.RESET_ASKED:
        positions.reset(tp, "earliest")
    elif what is In.RESET_ANSWERED:
        positions.reset_answered(partition, 3)
    elif what is In.DOUBTED:
        positions.doubt(partition)
    elif what is In.VOIDED:
        positions.remade(partition)
    elif what is In.TAKEN_BACK:
        positions.begin_anew(tp)
    else:
        positions.validated(partition)


def in_state(positions: Positions, tp: TopicPartition, state: PartitionState) -> Partition:
    positions.assign([*positions.assigned(), tp])
    partition = positions.find(tp)
    assert partition is not None
    for what in {
        S.INITIALIZING: [],
        S.FETCHING: [In.SOUGHT],
        S.AWAIT_RESET: [In.RESET_ASKED],
        S.AWAIT_VALIDATION: [In.SOUGHT, In.DOUBTED],
    }[state]:
        apply(positions, partition, what)
    assert partition.state is state
    return partition


@pytest.mark.parametrize("state", PartitionState)
@pytest.mark.parametrize("what", PositionInput)
def test_every_cell(state: PartitionState, what: PositionInput) -> None:
    positions = Positions()
    partition = in_state(positions, A, state)
    before = (partition.offset, partition.offset_epoch)

    apply(positions, partition, what)

    expected = CELLS[state, what]
    assert partition.state is (expected or state)
    if expected is None:
        assert (partition.offset, partition.offset_epoch) == before
    assert (partition.offset >= 0) == (partition.state in WITH_POSITION)
    assert [p.tp for s in S for p in positions.in_state(s)] == [A]


def test_table_is_the_specs() -> None:
    assert {state: set(row.values()) for state, row in TRANSITIONS.items()} == REACHABLE


@pytest.mark.parametrize("what", PositionInput)
def test_p1_a_partition_given_up_ignores_everything(what: PositionInput) -> None:
    positions = Positions()
    partition = in_state(positions, A, S.AWAIT_RESET)
    positions.assign([])
    if what is In.RESET_ANSWERED:
        assert not positions.reset_answered(partition, 3)
    elif what in {In.SOUGHT, In.RESET_ASKED, In.TAKEN_BACK}:
        with pytest.raises(IllegalStateError):
            apply(positions, partition, what)
    else:
        apply(positions, partition, what)
    assert partition.state is S.AWAIT_RESET
    assert not any(positions.in_state(state) for state in S)


def test_what_begins_anew_is_reset_by_no_earlier_wish() -> None:
    positions = Positions("latest")
    partition = in_state(positions, A, S.AWAIT_RESET)  # to the beginning
    positions.begin_anew(A)
    assert positions.initializing() == [A]
    assert not positions.reset_answered(partition, 3)
    positions.reset_initializing([A])
    assert partition.strategy is ResetStrategy.LATEST
    positions.begin_anew(A)
    positions.apply_committed({A: OffsetAndMetadata(4)})
    positions.remade(partition)
    assert positions.initializing() == [A]


def test_p4_what_stays_keeps_its_state_what_goes_loses_it() -> None:
    positions = Positions()
    positions.assign([A, B])
    positions.seek(A, 5)
    positions.seek(B, 6)
    positions.pause([A, B])
    positions.assign([A])
    positions.assign([B, A])
    assert positions.position(A) == Position(5, -1, None)
    assert positions.position(B) is None
    assert positions.paused() == {A}
    assert positions.assigned() == [A, B]  # in the order they were assigned


def test_p4_assignment_ends_suspension_but_not_pause() -> None:
    positions = Positions()
    positions.assign([A])
    positions.seek(A, 0)
    positions.pause([A])
    positions.suspend([A])
    partition = positions.find(A)
    assert partition is not None
    positions.resume([A])
    assert not partition.deliverable
    positions.assign([A])
    assert partition.deliverable


def test_hold_and_release() -> None:
    positions = Positions()
    positions.assign([A])
    positions.seek(A, 0)
    positions.hold([A, B])  # B is not ours: harmless, a rebalance may have overtaken the caller
    partition = positions.find(A)
    assert partition is not None
    assert not partition.deliverable
    positions.release([A, B])
    assert partition.deliverable


def test_c1_consumed_are_fetching_positions_only() -> None:
    positions = Positions()
    for number, state in enumerate(PartitionState):
        in_state(positions, TopicPartition("t", number), state)
    assert positions.consumed() == {TopicPartition("t", 1): OffsetAndMetadata(7, "", -1)}


def test_c1_the_epoch_is_that_of_the_position_as_it_is_now() -> None:
    positions = Positions()
    positions.assign([A])
    for epoch in (1, 2, -1):
        positions.seek(A, 5, epoch)
        assert positions.consumed() == {A: OffsetAndMetadata(5, "", epoch)}


def test_where_partitions_are() -> None:
    """In one go, as clients ask for it; what is not assigned is left out."""
    positions = Positions()
    positions.assign([A, B])
    positions.seek(B, 9)
    assert positions.offsets([A, B, TopicPartition("gone", 0)]) == {A: -1, B: 9}


def test_p2_committed_offsets_fill_only_what_waits() -> None:
    positions = Positions()
    positions.assign([A, B])
    positions.seek(B, 9)
    unknown = TopicPartition("gone", 0)
    positions.apply_committed(
        {A: OffsetAndMetadata(4, "", 2), B: OffsetAndMetadata(1), unknown: OffsetAndMetadata(1)}
    )
    assert positions.position(A) == Position(4, 2, None)
    assert positions.position(B) == Position(9, -1, None)


def test_p2_nothing_committed_goes_by_the_policy() -> None:
    positions = Positions("earliest")
    positions.assign([A])
    positions.apply_committed({A: None})
    assert positions.initializing() == [A]
    positions.reset_initializing([A, B])
    partition = positions.find(A)
    assert partition is not None
    assert (partition.state, partition.strategy) == (S.AWAIT_RESET, ResetStrategy.EARLIEST)


@pytest.mark.parametrize("policy", ["earliest", "none"])
def test_p2_who_has_sought_meanwhile_is_not_reset(policy: str) -> None:
    positions = Positions(policy)
    positions.assign([A])
    positions.seek(A, 9)
    positions.reset_initializing([A])
    assert positions.position(A) == Position(9, -1, None)
    assert not positions.undecided


def test_p2_without_policy_it_stays_undecided_until_a_seek() -> None:
    positions = Positions("none")
    positions.assign([A, B])
    positions.reset_initializing([A, B])
    assert positions.initializing() == []  # nobody need look them up again
    assert [partition.tp for partition in positions.undecided] == [A, B]
    positions.seek(A, 0)
    assert [partition.tp for partition in positions.undecided] == [B]
    positions.assign([A])
    assert not positions.undecided


def test_p3_seek_tells_the_watcher_and_pause_does_not_move() -> None:
    positions = Positions()
    positions.assign([A])
    watching = positions.watcher = Watching()
    positions.seek(A, 1)
    positions.pause([A])
    positions.pause([A])
    positions.resume([A])
    positions.reset(A, "latest")
    positions.assign([])
    assert watching.told == [
        ("moved", A),
        ("changed", A),
        ("changed", A),
        ("moved", A),
        ("moved", A),
    ]


def test_p11_truncated_goes_back_and_keeps_the_leader() -> None:
    positions = Positions()
    partition = in_state(positions, A, S.AWAIT_VALIDATION)
    partition.leader = Leader(1, 3)
    positions.truncated(partition, 2, 1)
    assert positions.position(A) == Position(2, 1, Leader(1, 3))
    assert partition.state is S.FETCHING


def test_x1_use_of_partitions_that_are_not_assigned() -> None:
    positions = Positions()
    for use in (
        lambda: positions.seek(A, 0),
        lambda: positions.reset(A, "latest"),
        lambda: positions.pause([A]),
        lambda: positions.resume([A]),
        lambda: positions.position(A),
        lambda: positions.highwater(A),
    ):
        with pytest.raises(IllegalStateError, match="t-0 is not assigned"):
            use()


def test_seek_and_reset_refuse_what_can_never_be() -> None:
    positions = Positions()
    positions.assign([A])
    with pytest.raises(IllegalArgumentError):
        positions.seek(A, -1)
    with pytest.raises(IllegalArgumentError):
        positions.reset(A, "none")
    with pytest.raises(ValueError, match="newest"):
        positions.reset(A, "newest")
