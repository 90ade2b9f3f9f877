"""The table of a member's states, whole."""

import pytest

from kcore.errors import IllegalStateError
from kcore.group.machine import Machine
from kcore.share.states import SHARE_TABLE, ShareInput, ShareState

S, I = ShareState, ShareInput  # noqa: E741
WHOLE = {
    #                JOIN       ANSWERED  FENCED     STALLED  REFUSED  LEAVE           LEFT
    S.UNSUBSCRIBED: (S.JOINING, None, None, None, None, S.UNSUBSCRIBED, None),
    S.JOINING: (None, S.STABLE, S.JOINING, S.STALE, S.FATAL, S.LEAVING, None),
    S.STABLE: (None, S.STABLE, S.JOINING, S.STALE, S.FATAL, S.LEAVING, None),
    S.LEAVING: (S.JOINING, None, None, None, None, S.LEAVING, S.UNSUBSCRIBED),
    S.STALE: (S.JOINING, None, None, None, None, S.UNSUBSCRIBED, None),
    S.FATAL: (None, None, None, None, None, S.UNSUBSCRIBED, None),
}


@pytest.mark.parametrize("state", S)
@pytest.mark.parametrize("what", I)
def test_every_cell(state, what):
    machine = Machine(SHARE_TABLE, state)
    to = WHOLE[state][list(I).index(what)]
    if to is None:
        with pytest.raises(IllegalStateError, match=f"{what.name} cannot happen in {state.name}"):
            machine.move(what)
        assert machine.state is state
    else:
        assert machine.move(what) is state
        assert machine.state is to


@pytest.mark.parametrize("state", S)
def test_from_everywhere_a_way_leads_out_and_back(state):
    reached, new = {state}, {state}
    while new:
        new = {to for one in new for to in SHARE_TABLE[one].values()} - reached
        reached |= new
    assert {S.UNSUBSCRIBED, S.STABLE} <= reached
