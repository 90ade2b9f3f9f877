"""test_group_interleavings for a member of the consumer protocol: whatever happens to it, then
peace, and it has what the coordinator wants it to have and has told it so.
"""

from __future__ import annotations

from typing import Any

import pytest
from consumer_world import BEAT, ConsumerWorld
from group_world import Request
from longer import quickly
from test_group_interleavings import Chaos, close_from_anywhere, healed, ticks_of

from kcore.errors import DisconnectedError, KafkaError, RequestTimedOutError, Unexpected
from kcore.group.consumer_states import ConsumerState
from kcore.group.states import Step
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

CODES: list[int | KafkaError] = [
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.UNRELEASED_INSTANCE_ID,
    DisconnectedError("gone"),
    RequestTimedOutError("late"),
    Unexpected("garbage"),
]


class ConsumerChaos(Chaos):
    """Beside what Chaos does: targets at random, of topics subscribed, unsubscribed and unknown."""

    make_world = ConsumerWorld
    codes = CODES

    def fields(self, request: Request, *, garbage: bool) -> dict[str, Any]:
        if request.api is not BEAT:
            return {}
        if garbage:
            return self.rng.choice(
                [{"epoch": 0}, {"interval": 0}, {"assigned": None}, {"assigned": "who-knows-3"}]
            )
        epoch = max(1, request.body.member_epoch) + self.rng.choice([0, 0, 1])
        targets = ["", "t1-0", "t1-0 t1-1", "t2-0", "t1-1 t2-1", "t9-0 t1-0"]
        told = request.body.member_epoch == 0 or self.rng.random() < 0.4
        return {"epoch": epoch, "assigned": self.rng.choice(targets) if told else None}


@pytest.mark.parametrize("block", quickly(2, of=16))
def test_any_interleaving_heals(block: int) -> None:
    done = 0
    for seed, world in healed(ConsumerChaos, block):
        assert isinstance(world, ConsumerWorld)
        assert sorted(world.owned_told) == sorted(world.host.owned), seed
        done += 1
    assert done == 25


@pytest.mark.parametrize("block", range(4))
def test_leave_and_close_end_from_anywhere(block: int) -> None:
    close_from_anywhere(ConsumerChaos, block)


def test_long_silence_costs_few_wakeups() -> None:
    """An application that never comes back: the member leaves once, and is silent then."""
    world = ConsumerWorld(config={"enable_auto_commit": True, "auto_commit_interval_ms": 100})
    world.become_stable()
    world.auto = True
    ticks = ticks_of(world, 600_000)
    assert world.member.state is ConsumerState.STALE
    assert world.member.step is Step.IDLE
    leaves = [it for it in world.network.log if it.api is BEAT and it.body.member_epoch == -1]
    assert len(leaves) == 1
    assert world.count(ApiKey.LEAVE_GROUP) == 0
    assert ticks < 100, ticks  # twelve heartbeats and their answers before the poll interval ends
