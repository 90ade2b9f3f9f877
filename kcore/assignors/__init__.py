"""Pure functions that share partitions out among the members of a group."""

from __future__ import annotations

from kcore.assignors.base import Assignor, MemberSubscription, Plan, RebalanceProtocol
from kcore.assignors.range import RangeAssignor
from kcore.assignors.roundrobin import RoundRobinAssignor
from kcore.assignors.sticky import CooperativeStickyAssignor, StickyAssignor

__all__ = [
    "BY_NAME",
    "Assignor",
    "CooperativeStickyAssignor",
    "MemberSubscription",
    "Plan",
    "RangeAssignor",
    "RebalanceProtocol",
    "RoundRobinAssignor",
    "StickyAssignor",
]

# The assignors that come with the package, under the names that travel in JoinGroup.
BY_NAME: dict[str, type[Assignor]] = {
    RangeAssignor.name: RangeAssignor,
    RoundRobinAssignor.name: RoundRobinAssignor,
    StickyAssignor.name: StickyAssignor,
    CooperativeStickyAssignor.name: CooperativeStickyAssignor,
}
