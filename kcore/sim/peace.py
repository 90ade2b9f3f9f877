"""Who is at peace: which members no fault has touched, or has had time to get over it.

Some rules hold only where nothing has gone wrong: a member whose connection is dead may be put out,
and commit nothing. So each fault says whom it touches and until when; that it is over by
`Plan.settle_within_ms` after its end is a rule of its own. What members and topics do in health
(come, leave, ask for rebalances, grow) touches nobody, and who crashes nobody else.
"""

from __future__ import annotations

from typing import Final

from kcore.sim.plan import Fault, Plan
from kcore.timers import NEVER

# They touch one member, by its name.
_OF_ONE: Final = {
    Fault.CUT,
    Fault.HALF_OPEN,
    Fault.SPLIT,
    Fault.STALL,
    Fault.ONE_WAY,
    Fault.ZOMBIE,
    Fault.SLOW,
    Fault.RESTART,
    Fault.THROTTLE,
    Fault.EVICT,
    Fault.MIGRATE,
}

# They touch all members, through the nodes. Whoever hears of another leader makes sure of its
# positions first, and commits none of them meanwhile, as Java's consumer.
_OF_ALL: Final = {
    Fault.LEADER_MOVE,
    Fault.REFUSE,
    Fault.NODE_CRASH,
    Fault.NODE_PAUSE,
    Fault.NODE_FENCE,
    Fault.NODE_SPLIT,
    Fault.COORDINATOR_MOVE,
    Fault.DOWNGRADE,
    Fault.RESET,
}

# So do these, at any time from now on until the world heals.
_LASTING: Final = {Fault.REFUSAL, Fault.LATE_ANSWER, Fault.LOST_ANSWER, Fault.LAG}

# How long it may take until a static member's twin is there and the one before has woken up; or
# until a member is removed.
_LATE: Final = {Fault.RESTART, Fault.EVICT, Fault.MIGRATE}
_LATE_MS: Final = 12_000

_NEVER_TOUCHED: Final = -1


class Peace:
    """Until when faults touch whom. Times are the world's, in ms."""

    def __init__(self, plan: Plan) -> None:
        self._over_ms = plan.settle_within_ms
        self._all_ms = _NEVER_TOUCHED
        self._one_ms: dict[str, int] = {}
        self._slow_ms: dict[str, int] = {}

    def touched(self, kind: Fault, who: str, now_ms: int, until_ms: int | None = None) -> None:
        """A fault happens. who: the member, if it touches but one. until_ms: None: at once over."""
        end_ms = now_ms if until_ms is None else until_ms
        if kind in _LASTING:
            self._all_ms = NEVER
        elif kind in _OF_ALL:
            self._all_ms = max(self._all_ms, end_ms)
        elif kind in _OF_ONE:
            if kind in _LATE:
                end_ms += _LATE_MS
            ends = self._slow_ms if kind is Fault.SLOW else self._one_ms
            ends[who] = max(ends.get(who, _NEVER_TOUCHED), end_ms)

    def healed(self, now_ms: int) -> None:
        """All of them are over."""
        self._all_ms = min(self._all_ms, now_ms)
        for ends in (self._one_ms, self._slow_ms):
            for who, end_ms in ends.items():
                ends[who] = min(end_ms, now_ms)

    def at(self, name: str, now_ms: int, *, but_slow: bool = False) -> bool:
        """Whether a member of that name is at peace. but_slow: its slowness is no matter."""
        last_ms = max(self._all_ms, self._one_ms.get(name, _NEVER_TOUCHED))
        if not but_slow:
            last_ms = max(last_ms, self._slow_ms.get(name, _NEVER_TOUCHED))
        return last_ms == _NEVER_TOUCHED or now_ms - last_ms > self._over_ms
