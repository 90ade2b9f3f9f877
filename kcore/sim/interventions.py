"""What somebody who operates the cluster asks of groups, and is told of them, as it is judged.

An admin client may look at any time at what a group has committed: it finds what counted when it
asked, or has come to count since.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kcore.sim.violations import Rule, ViolationError
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcore.sim.ledger import Asked
    from kcore.sim.logs import Logs
    from kcore.sim.network import Wire
    from kcore.sim.offsets import Offsets
    from kcore.structs import TopicPartition

# Of a group without a commit members read from the first record on.
_NOTHING: Final = 0


class _Seen(NamedTuple):
    """What may count in one partition when somebody begins to look. commits, asks: how many
    were confirmed by then, and asked for.
    """

    life: int
    commits: int
    asks: int
    possible: frozenset[int]


class Interventions:
    """Where nothing is judged of what is committed; see Alterations."""

    def asked(self, wire: Wire, asked: Asked) -> None:
        """It sends this."""

    def answered(self, wire: Wire, asked: Asked, answer: Any) -> None:
        """A node answers."""

    def look(self, group_id: str, tps: Iterable[TopicPartition]) -> Callable[[Any], None]:
        """It begins to look at what a group has committed; to be called with what it finds."""
        del group_id, tps
        return lambda _found: None


class Alterations(Interventions):
    """Of what groups of consumers have committed."""

    def __init__(self, offsets: Offsets, logs: Logs) -> None:
        self._offsets = offsets
        self._logs = logs

    def look(self, group_id: str, tps: Iterable[TopicPartition]) -> Callable[[Any], None]:
        """See Interventions."""
        seen = {}
        for tp in tps:
            committed = self._offsets.of(group_id, tp)
            seen[tp] = _Seen(
                self._logs.life(tp.topic),
                len(committed.history),
                len(committed.asks),
                frozenset(committed.possible),
            )
        return partial(self._found, group_id, seen)

    def _found(
        self, group_id: str, seen: Mapping[TopicPartition, _Seen], found: Mapping[Any, Any]
    ) -> None:
        """Of topics that have been deleted since then anything may be."""
        for tp, before in seen.items():
            if before.life != self._logs.life(tp.topic):
                continue
            committed = self._offsets.of(group_id, tp)
            may_be = {*committed.history[before.commits - 1 :], *committed.asks[before.asks :]}
            may_be |= before.possible | committed.strays.keys()
            offset = max(found[tp].offset, _NOTHING) if tp in found else _NOTHING
            if offset not in may_be:
                raise ViolationError(
                    Rule.OPERATED,
                    f"{group_id} has {found.get(tp)} in {tp.topic}-{tp.partition} for who looks,"
                    f" and it has committed one of {sorted(may_be)}",
                )
