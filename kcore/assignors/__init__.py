"""Pure functions that share partitions out among the members of a group.

Those but `range` are loaded when they are first asked for, by name (`by_name`) or by class (PEP
562): few groups use them.
"""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType

from kcore.assignors.base import Assignor, MemberSubscription, Plan, RebalanceProtocol
from kcore.assignors.range import RangeAssignor
from kcore.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcore.assignors.roundrobin import RoundRobinAssignor
    from kcore.assignors.sticky import CooperativeStickyAssignor, StickyAssignor

__all__ = [
    "CLASSES",
    "Assignor",
    "CooperativeStickyAssignor",
    "MemberSubscription",
    "Plan",
    "RangeAssignor",
    "RebalanceProtocol",
    "RoundRobinAssignor",
    "StickyAssignor",
    "by_name",
]

# The assignors that come with the package, under the names that travel in JoinGroup.
CLASSES = MappingProxyType(
    {
        "range": "RangeAssignor",
        "roundrobin": "RoundRobinAssignor",
        "sticky": "StickyAssignor",
        "cooperative-sticky": "CooperativeStickyAssignor",
    }
)
_HOMES = {
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "sticky",
}


def by_name(name: str) -> type[Assignor]:
    """The class of one of CLASSES."""
    found: type[Assignor] = getattr(import_module(__name__), CLASSES[name])
    return found


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
