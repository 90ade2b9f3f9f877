"""Whether coordinators wait for whom they are to wait for, and no longer than they may.

A round of the classic protocol waits for everybody it knows of, and for whom it has handed an id to
(MEMBER_ID_REQUIRED), until the rebalance timeout is over: once for joins, once for syncs. Within a
generation nobody comes or goes. A member of a consumer group has as long to give up what it is
to. These are in a coordinator's books and timers only, so it is these that are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcore.coordinator import GroupState
from kcore.coordinator.config import MIN_JOIN_RETRY_MS
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.states import MemberState
from kcore.coordinator.group import Group
from kcore.sim.violations import Rule, ViolationError

if TYPE_CHECKING:
    from kcore.coordinator.consumer.member import ConsumerMember
    from kcore.coordinator.context import AnyGroup
    from kcore.sim.plan import Plan

# Timers are as coarse as the looks at them.
_SLACK_MS: Final = 2_000

# Clocks of nodes are slower or faster than the world's, by less than this share.
_DRIFT: Final = 0.1

_KEPT_TOGETHER: Final = {GroupState.COMPLETING_REBALANCE, GroupState.STABLE}


class _Seen:
    """What was seen of a classic group where it is kept, in one generation. Times are the world's.

    calm_ms: when it was last not preparing a rebalance. waits: for what, since when. pending: ids
    that were handed out, for which the next generation waits.
    """

    __slots__ = ("calm_ms", "generation", "pending", "size", "waits")

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.calm_ms: int | None = None
        self.waits: tuple[str, int] | None = None
        self.pending: frozenset[str] = frozenset()
        self.size: int | None = None


class Rounds:
    """Groups by the nodes that keep them."""

    def __init__(self, plan: Plan) -> None:
        self._timeout_ms = plan.max_poll_interval_ms
        longest_ms = max(self._timeout_ms, plan.rebalance_delay_ms, MIN_JOIN_RETRY_MS)
        self._bound_ms = round(longest_ms * (1 + _DRIFT)) + _SLACK_MS
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._unrevoked: dict[tuple[str, str], dict[str, tuple[ConsumerMember, int]]] = {}

    def look(
        self, node: str, group_id: str, group: AnyGroup | None, now_ms: int, *, still: bool
    ) -> None:
        """Look at a group where a node keeps it. still: the node stands still, and its timers."""
        at = (node, group_id)
        if isinstance(group, Group):
            self._unrevoked.pop(at, None)
            self._look_at_classic(at, group, now_ms, still=still)
            return
        self._seen.pop(at, None)
        if isinstance(group, ConsumerGroup):
            self._look_at_members(at, group, now_ms, still=still)
        else:
            self._unrevoked.pop(at, None)

    # Classic groups ------------------------------------------------------------------------------

    def _look_at_classic(
        self, at: tuple[str, str], group: Group, now_ms: int, *, still: bool
    ) -> None:
        seen = self._seen.get(at)
        if seen is None or seen.generation != group.generation:
            if seen is not None:
                self._judge_awaited(seen, group, now_ms)
            seen = self._seen[at] = _Seen(group.generation)
        if group.state is not GroupState.PREPARING_REBALANCE:
            seen.calm_ms = now_ms
        if group.state is GroupState.EMPTY or group.initial_delay():
            seen.pending = frozenset()  # an empty group waits a while for all there may be
        else:
            seen.pending = frozenset(group.pending_join)
        self._judge_together(seen, group)
        waits = _waits_for(group)
        if waits is None:
            seen.waits = None
        elif seen.waits is None or seen.waits[0] != waits or still:
            seen.waits = (waits, now_ms)
        elif now_ms - seen.waits[1] > self._bound_ms:
            raise ViolationError(
                Rule.ROUNDS,
                f"{group.group_id} has waited for {waits} for {now_ms - seen.waits[1]} ms in"
                f" generation {group.generation}",
            )

    def _judge_awaited(self, seen: _Seen, group: Group, now_ms: int) -> None:
        """The next generation is there: unless its time was over, it has waited for everybody. One
        of nobody waits for nobody, and who comes then does so with the next.
        """
        left_out = sorted(seen.pending & group.pending_join)
        if (
            left_out
            and group.members
            and not group.initial_delay()
            and group.generation == seen.generation + 1
            and seen.calm_ms is not None
            and now_ms - seen.calm_ms < self._timeout_ms * (1 - _DRIFT)
        ):
            raise ViolationError(
                Rule.ROUNDS,
                f"{group.group_id} has not waited for {left_out} with generation"
                f" {group.generation}, {now_ms - seen.calm_ms} ms after the one before",
            )

    def _judge_together(self, seen: _Seen, group: Group) -> None:
        if group.state not in _KEPT_TOGETHER:
            return
        if seen.size is None:
            seen.size = len(group.members)
        elif seen.size != len(group.members):
            raise ViolationError(
                Rule.ROUNDS,
                f"{group.group_id} had {seen.size} members and has {len(group.members)}, all in"
                f" generation {group.generation}",
            )

    # Consumer groups -----------------------------------------------------------------------------

    def _look_at_members(
        self, at: tuple[str, str], group: ConsumerGroup, now_ms: int, *, still: bool
    ) -> None:
        before, found = self._unrevoked.get(at, {}), {}
        for member in group.members.values():
            away = member.epoch < 0  # a static one, whose partitions wait for it
            unrevoked = member.state is MemberState.UNREVOKED_PARTITIONS
            if away or not unrevoked or member.classic is not None:
                continue
            known, since_ms = before.get(member.member_id, (None, now_ms))
            if still or known != member:
                since_ms = now_ms
            found[member.member_id] = (member, since_ms)
            if now_ms - since_ms > self._bound_ms:
                raise ViolationError(
                    Rule.ROUNDS,
                    f"{group.group_id} has waited for {member.member_id} to give up what it is to"
                    f" for {now_ms - since_ms} ms",
                )
        self._unrevoked[at] = found


def _waits_for(group: Group) -> str | None:
    """What a classic group waits for that is not to last."""
    if group.state is GroupState.PREPARING_REBALANCE and group.awaiting_join:
        return "joins"
    return "syncs" if group.pending_sync else None
