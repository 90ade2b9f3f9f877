"""What actors find around them: the clock, the network, the checkers, the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kcore.actions import Connect
    from kcore.sim.habits import Habits
    from kcore.sim.network import Network, NodeSide
    from kcore.sim.plan import Plan
    from kcore.sim.referee import Referee
    from kcore.sim.trace import Trace


class Schedule(Protocol):
    """`at(time of the world, function, *arguments)`."""

    def __call__(self, at_ms: int, what: Callable[..., None], /, *arguments: Any) -> None:
        """Call it then."""


@dataclass(slots=True)
class Stage:
    """One run's surroundings. `find` resolves an address; `now()` is the time of the world;
    `start_again` is for a process that cannot be what it is to be yet.
    """

    plan: Plan
    now: Callable[[], int]
    at: Schedule
    network: Network
    judge: Referee
    trace: Trace
    find: Callable[[Connect], NodeSide]
    start_again: Callable[[Habits], None]
