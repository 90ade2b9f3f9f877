"""Pure functions that share partitions out among the members of a group."""

from __future__ import annotations

from kcore.assignors.base import Assignor, MemberSubscription, Plan, RebalanceProtocol
from kcore.assignors.range import RangeAssignor
from kcore.assignors.roundrobin import RoundRobinAssignor

__all__ = [
    "BY_NAME",
    "Assignor",
    "MemberSubscription",
    "Plan",
    "RangeAssignor",
    "RebalanceProtocol",
    "RoundRobinAssignor",
]

# The assignors that come with the package, under the names that travel in JoinGroup.
BY_NAME: dict[str, type[Assignor]] = {
    RangeAssignor.name: RangeAssignor,
    RoundRobinAssignor.name: RoundRobinAssignor,
}
