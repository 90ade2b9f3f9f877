"""The state tables: every (state, input) cell, and what the tables as a whole must be."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
from machine_tables import move, reached

from kcore.group.states import (
    MEMBER_TABLE,
    STEP_TABLE,
    MemberInput,
    MemberState,
    Step,
    StepInput,
)

M, I = MemberState, MemberInput  # noqa: E741
S, J = Step, StepInput

# Written down a second time, by row: input -> next state; what is missing cannot happen.
MEMBER_ROWS = {
    M.UNJOINED: {I.JOIN_SENT: M.PREPARING, I.RESET: M.UNJOINED},
    M.PREPARING: {I.JOIN_SENT: M.PREPARING, I.JOIN_ACCEPTED: M.COMPLETING, I.RESET: M.UNJOINED},
    M.COMPLETING: {I.JOIN_SENT: M.PREPARING, I.SYNC_ACCEPTED: M.STABLE, I.RESET: M.UNJOINED},
    M.STABLE: {I.JOIN_SENT: M.PREPARING, I.RESET: M.UNJOINED},
    M.FENCED: {I.RESET: M.FENCED},
}
for _row in MEMBER_ROWS.values():
    _row |= {I.FENCED: M.FENCED, I.RELEASED: M.UNJOINED}

BEFORE_CLOSING = set(S) - {S.CLOSING, S.PARTING, S.DEPARTING, S.CLOSED}
# Steps in which the loss of the membership changes nothing, because something else must come first.
WAITING = {S.COMMITTING, S.REVOKING, S.SHEDDING, S.ASSIGNING, S.LEAVING, S.CLOSING, S.PARTING}


def expected_step(step: Step, what: StepInput) -> Step | None:
    """The step table as rules."""
    if step is S.CLOSED:
        return S.CLOSED
    rules: dict[tuple[Step, StepInput], Step] = {
        (S.IDLE, J.BEGAN): S.COMMITTING,
        (S.COMMITTING, J.TOLD): S.REVOKING,
        (S.COMMITTING, J.PREPARED): S.READY,
        (S.REVOKING, J.PREPARED): S.READY,
        (S.READY, J.SENT): S.JOINING,
        (S.READY, J.FAILED): S.READY,
        (S.JOINING, J.SYNCED): S.DELIVERING,
        (S.JOINING, J.FAILED): S.READY,
        (S.DELIVERING, J.SHED): S.SHEDDING,
        (S.DELIVERING, J.TOLD): S.ASSIGNING,
        (S.DELIVERING, J.SETTLED): S.IDLE,
        (S.SHEDDING, J.TOLD): S.ASSIGNING,
        (S.SHEDDING, J.SETTLED): S.IDLE,
        (S.ASSIGNING, J.SETTLED): S.IDLE,
        (S.HALTED, J.RESUMED): S.READY,
        (S.HALTED, J.SETTLED): S.IDLE,
        (S.LEAVING, J.LEFT): S.IDLE,
        (S.CLOSING, J.TOLD): S.PARTING,
    }
    if (step, what) in rules:
        return rules[step, what]
    if what is J.LEAVE and step in BEFORE_CLOSING:
        return S.LEAVING
    if what is J.CLOSE:
        return S.CLOSING if step in BEFORE_CLOSING else step
    if what is J.DEPARTED and step in (S.CLOSING, S.PARTING):
        return S.DEPARTING
    if what is J.GONE and step not in BEFORE_CLOSING:
        return S.CLOSED
    if what in (J.DROPPED, J.STALLED):
        if step is S.DEPARTING:
            return S.DEPARTING if what is J.DROPPED else None
        return step if step in WAITING else S.IDLE
    if what is J.HALT:
        return step if step in (WAITING - {S.COMMITTING}) | {S.DEPARTING} else S.HALTED
    return None


@pytest.mark.parametrize("what", MemberInput, ids=lambda it: it.name)
@pytest.mark.parametrize("state", MemberState, ids=lambda it: it.name)
def test_every_cell_of_the_member_table(state: MemberState, what: MemberInput) -> None:
    assert move(MEMBER_TABLE, state, what) is MEMBER_ROWS[state].get(what)


@pytest.mark.parametrize("what", StepInput, ids=lambda it: it.name)
@pytest.mark.parametrize("step", Step, ids=lambda it: it.name)
def test_every_cell_of_the_step_table(step: Step, what: StepInput) -> None:
    assert move(STEP_TABLE, step, what) is expected_step(step, what)


@pytest.mark.parametrize(("table", "start"), [(MEMBER_TABLE, M.UNJOINED), (STEP_TABLE, S.IDLE)])
def test_every_state_can_be_reached(table: dict[Any, Any], start: Enum) -> None:
    assert reached(table, start) == set(type(start))


def test_closing_is_a_one_way_street() -> None:
    for step in set(S) - BEFORE_CLOSING:
        assert set(STEP_TABLE[step].values()).isdisjoint(BEFORE_CLOSING)


def test_every_step_can_be_left_by_close() -> None:
    assert all(J.CLOSE in row for row in STEP_TABLE.values())
