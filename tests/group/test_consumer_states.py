"""The tables of the consumer protocol: every (state, input) cell, and what each must be as a
whole.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
from machine_tables import move, reached

from kcore.group.consumer_states import (
    CONSUMER_STEP_TABLE,
    CONSUMER_TABLE,
    ConsumerInput,
    ConsumerState,
)
from kcore.group.states import STEP_TABLE, Step, StepInput

S, I = ConsumerState, ConsumerInput  # noqa: E741
MEMBERS = {S.JOINING, S.RECONCILING, S.ACKNOWLEDGING, S.STABLE}
SILENT = {S.FENCED, S.STALE, S.FATAL}
LAST = {Step.LEAVING, Step.CLOSING, Step.PARTING, Step.DEPARTING, Step.CLOSED}


def expected_state(state: ConsumerState, what: ConsumerInput) -> ConsumerState | None:
    """The table as rules."""
    rules: dict[tuple[ConsumerState, ConsumerInput], ConsumerState] = {
        (S.UNSUBSCRIBED, I.JOIN): S.JOINING,
        (S.FENCED, I.JOIN): S.JOINING,
        (S.STALE, I.JOIN): S.JOINING,
        (S.LEAVING, I.JOIN): S.JOINING,
        (S.RECONCILING, I.AGREED): S.STABLE,
        (S.ACKNOWLEDGING, I.AGREED): S.STABLE,
        (S.RECONCILING, I.RECONCILED): S.ACKNOWLEDGING,
        (S.PREPARE_LEAVING, I.LEAVE_SENT): S.LEAVING,
        (S.LEAVING, I.STALLED): S.STALE,
        (S.UNSUBSCRIBED, I.LEAVE): S.UNSUBSCRIBED,
        (S.LEAVING, I.LEAVE): S.LEAVING,
        (S.PREPARE_LEAVING, I.FENCED): S.PREPARE_LEAVING,
        (S.PREPARE_LEAVING, I.FATAL): S.PREPARE_LEAVING,
    }
    if (state, what) in rules:
        return rules[state, what]
    if what is I.TARGET and state in MEMBERS:
        return S.RECONCILING
    if what is I.FENCED and state in MEMBERS:
        return S.FENCED
    if what is I.STALLED and state in MEMBERS:
        return S.STALE
    if what is I.FATAL and state is not S.LEAVING:
        return S.FATAL
    if what is I.LEAVE:
        return S.PREPARE_LEAVING
    if what is I.RELEASED and state not in MEMBERS | SILENT:
        return S.UNSUBSCRIBED
    return None


def expected_step(step: Step, what: StepInput) -> Step | None:
    if step in LAST:
        return STEP_TABLE[step].get(what)
    rules: dict[tuple[Step, StepInput], Step] = {
        (Step.IDLE, StepInput.BEGAN): Step.COMMITTING,
        (Step.IDLE, StepInput.TOLD): Step.REVOKING,
        (Step.COMMITTING, StepInput.SHED): Step.SHEDDING,
        (Step.COMMITTING, StepInput.TOLD): Step.ASSIGNING,
        (Step.COMMITTING, StepInput.DROPPED): Step.IDLE,
        (Step.SHEDDING, StepInput.TOLD): Step.ASSIGNING,
    }
    told = {Step.SHEDDING, Step.REVOKING, Step.ASSIGNING}
    if (step, what) in rules:
        return rules[step, what]
    if what is StepInput.SETTLED and step in told:
        return Step.IDLE
    if step in told | {Step.IDLE, Step.COMMITTING}:
        ends = {StepInput.LEAVE: Step.LEAVING, StepInput.CLOSE: Step.CLOSING}
        return ends.get(what, step if what is StepInput.DROPPED else None)
    return None


@pytest.mark.parametrize("what", ConsumerInput, ids=lambda it: it.name)
@pytest.mark.parametrize("state", ConsumerState, ids=lambda it: it.name)
def test_every_cell_of_the_state_table(state: ConsumerState, what: ConsumerInput) -> None:
    assert move(CONSUMER_TABLE, state, what) is expected_state(state, what)


@pytest.mark.parametrize("what", StepInput, ids=lambda it: it.name)
@pytest.mark.parametrize("step", CONSUMER_STEP_TABLE, ids=lambda it: it.name)
def test_every_cell_of_the_step_table(step: Step, what: StepInput) -> None:
    assert move(CONSUMER_STEP_TABLE, step, what) is expected_step(step, what)


@pytest.mark.parametrize(
    ("table", "start"), [(CONSUMER_TABLE, S.UNSUBSCRIBED), (CONSUMER_STEP_TABLE, Step.IDLE)]
)
def test_every_state_can_be_reached(table: dict[Any, Any], start: Enum) -> None:
    assert reached(table, start) == set(table)


def test_every_state_but_the_last_can_be_left_by_leaving() -> None:
    assert all(I.LEAVE in row for row in CONSUMER_TABLE.values())
