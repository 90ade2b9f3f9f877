"""What somebody who operates the cluster asks of groups, and is told of them, as it is judged.

An admin client may look at any time at what a group has committed: it finds what counted when it
asked, or has come to count since.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple
from kcore.wire.messages import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kcore.sim.ledger import Asked
    from kcore.sim.logs import Logs
    from kcore.sim.network import Wire
    from kcore.sim.offsets import Offsets
    from kcore.sim.referee import GroupBook
    from kcore.wire.message import Message

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

    def __init__(self, offsets: Offsets, logs: Logs, books: Mapping[str, GroupBook]) -> None:
        self._offsets = offsets
        self._logs = logs
        self._books = books

    def asked(self, wire: Wire, asked: Asked) -> None:
        """From now on it may count."""
        del wire
        for group_id, tp, offset in self._wanted(asked.message):
            asked.lives[tp.topic] = self._logs.life(tp.topic)
            self._offsets.altering(group_id, tp, offset)
        self._begin_anew(asked.message)

    def answered(self, wire: Wire, asked: Asked, answer: Any) -> None:
        """It counts, or not; where its topic was deleted meanwhile, nobody knows of which it is."""
        del wire
        message = asked.message
        codes = _codes(message, answer)
        for group_id, tp, offset in self._wanted(message):
            life = asked.lives.get(tp.topic)
            if life is None:
                continue
            if codes.get(tp, codes.get(group_id, 0)):
                self._offsets.refused(group_id, tp, offset, life)
            elif life != self._logs.life(tp.topic):
                self._offsets.void(group_id, tp, offset, life)
            else:
                deleted = not isinstance(message, OffsetCommitRequest)
                self._offsets.altered(group_id, tp, offset, life, deleted=deleted)
        self._begin_anew(message)

    def _wanted(self, message: Message | None) -> Iterator[tuple[str, TopicPartition, int]]:
        """Of which group, where, and where it is to go on."""
        if isinstance(message, OffsetCommitRequest):
            for topic in message.topics:
                for part in topic.partitions:
                    tp = TopicPartition(topic.name, part.partition_index)
                    yield message.group_id, tp, part.committed_offset
        elif isinstance(message, OffsetDeleteRequest):
            for named in message.topics:
                for index in named.partitions:
                    tp = TopicPartition(named.name, index.partition_index)
                    yield message.group_id, tp, _NOTHING
        elif isinstance(message, DeleteGroupsRequest):
            for group_id in message.groups_names:
                for tp in self._offsets.places(group_id):
                    yield group_id, tp, _NOTHING

    def _begin_anew(self, message: Message | None) -> None:
        """One of that name counts its generations from the first on."""
        if isinstance(message, DeleteGroupsRequest):
            for group_id in message.groups_names:
                if group_id in self._books:
                    self._books[group_id].begin_anew()

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


def _codes(message: Message | None, answer: Any) -> dict[TopicPartition | str, int]:
    """What is refused: partitions, or groups as a whole."""
    codes: dict[TopicPartition | str, int] = {}
    if isinstance(answer, OffsetDeleteResponse) and answer.error_code:
        assert isinstance(message, OffsetDeleteRequest)
        codes[message.group_id] = answer.error_code
    elif isinstance(answer, OffsetCommitResponse | OffsetDeleteResponse):
        for topic in answer.topics:
            for part in topic.partitions:
                codes[TopicPartition(topic.name, part.partition_index)] = part.error_code
    elif isinstance(answer, DeleteGroupsResponse):
        for row in answer.results:
            codes[row.group_id] = row.error_code
    return codes
