"""The two group protocols as sets of parts; `GroupMember` has what they have in common.

What only one of them needs is loaded with the first member that speaks it.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.group.autocommit import AutoCommit
from kcore.group.context import Context
from kcore.group.coordinator import Coordinator
from kcore.group.effects import CONSUMER_OFFSET_COMMIT, OFFSET_COMMIT, Effects
from kcore.group.leaving import Leave, Leaving
from kcore.group.membership import Membership
from kcore.group.states import Step
from kcore.group.steps import Steps
from kcore.hints import Protocol
from kcore.tuples import NamedTuple


class Beats(Protocol):
    """Heartbeats, and the timers around them."""

    def handle_poll(self, now_ms: int) -> None:
        """The application is alive."""

    def coordinator_found(self, now_ms: int) -> None:
        """There is a coordinator (again)."""

    def recover(self) -> None:
        """None is on its way: see ClientCore.handle_interrupted."""

    def handle_tick(self, now_ms: int) -> None:
        """Send what is due, notice what is overdue."""

    def repeat(self, now_ms: int) -> bool:
        """`handle_tick` where the next heartbeat is due, and nothing else; False if there is
        more to it.
        """

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""


class Hooks(NamedTuple):
    """What the parts tell the member they are in."""

    dropped: Callable[[bool], None]
    stalled: Callable[[int], None]
    fenced: Callable[[int], None]


class Parts(NamedTuple):
    """What one protocol is made of."""

    membership: Membership
    heartbeats: Beats
    commit_effects: Effects
    make_steps: Callable[[AutoCommit], Steps]
    leave: Leave


def classic_parts(ctx: Context, coordinator: Coordinator, hooks: Hooks) -> Parts:
    """JoinGroup, SyncGroup, Heartbeat, LeaveGroup; members assign."""
    from kcore.group.classic_membership import ClassicMembership  # noqa: PLC0415
    from kcore.group.heartbeat import Heartbeats  # noqa: PLC0415
    from kcore.group.joining import Joining  # noqa: PLC0415
    from kcore.group.leader import Leader  # noqa: PLC0415
    from kcore.group.rebalance import Rebalance  # noqa: PLC0415

    membership = ClassicMembership(ctx, hooks.dropped)
    heartbeats = Heartbeats(ctx, membership, coordinator, hooks.stalled, hooks.fenced)
    leaving = Leaving(ctx, membership, coordinator)

    def make_steps(autocommit: AutoCommit) -> Steps:
        leader = Leader(ctx)
        rebalance = Rebalance(ctx, membership, coordinator, autocommit, leader)
        rebalance.joining = Joining(
            *(ctx, membership, coordinator, leader, leaving),
            heartbeats.enable,
            rebalance.round_ended,
        )
        return rebalance

    return Parts(membership, heartbeats, OFFSET_COMMIT, make_steps, leaving)


def consumer_parts(ctx: Context, coordinator: Coordinator, hooks: Hooks) -> Parts:
    """ConsumerGroupHeartbeat; the coordinator assigns (KIP-848)."""
    from kcore.group.consumer_heartbeat import ConsumerHeartbeats  # noqa: PLC0415
    from kcore.group.consumer_membership import ConsumerMembership  # noqa: PLC0415
    from kcore.group.reconciliation import Reconciliation  # noqa: PLC0415

    membership = ConsumerMembership(ctx, hooks.dropped)
    heartbeats = ConsumerHeartbeats(ctx, membership, coordinator, hooks.stalled, hooks.fenced)

    def make_steps(autocommit: AutoCommit) -> Steps:
        steps = Reconciliation(ctx, membership, heartbeats, autocommit)
        heartbeats.on_target, heartbeats.on_sent = steps.target_told, steps.owned_sent
        heartbeats.holds_still = lambda: steps.step is Step.IDLE
        heartbeats.waits_for_poll = lambda: steps.waits_for_poll
        return steps

    return Parts(membership, heartbeats, CONSUMER_OFFSET_COMMIT, make_steps, heartbeats.leave)
