"""What was written, handed over and committed, seen from outside, and the rules about it.

Logs are known by what producers were promised, deliveries by what applications got, commits by what
passes on the wire. A commit whose answer nobody saw may count or not; until a later one is
confirmed, both are possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition


@dataclass(slots=True)
class Log:
    """One partition. `values`: by offset, of the records that were promised to be kept."""

    values: dict[int, bytes] = field(default_factory=dict)
    end_offset: int = 0  # behind the last of these
    starts: list[int] = field(default_factory=lambda: [0])  # where leaders have let it start
    delivered: dict[int, bytes] = field(default_factory=dict)  # to anybody, promised or not
    by_group: dict[str, set[int]] = field(default_factory=dict)  # delivered to whom


@dataclass(slots=True)
class Committed:
    """A group's offset in one partition."""

    sure: int | None = None  # the last one that was confirmed
    generation: int = -1  # of that
    history: list[int] = field(default_factory=lambda: [0])  # confirmed; nothing: from the first
    possible: set[int] = field(default_factory=set)  # asked for since, not answered

    def candidates(self, since: int = -1) -> set[int]:
        """Where a member may begin that has asked at any time since so many were confirmed."""
        return self.possible.union(self.history[since:])


@dataclass(slots=True)
class Hands:
    """What one member has of its partitions. Offsets are the next ones to come."""

    position: dict[TopicPartition, int] = field(default_factory=dict)  # since it was assigned
    done: dict[TopicPartition, int] = field(default_factory=dict)  # the application is done before
    owned: dict[TopicPartition, int] = field(default_factory=dict)
    since: dict[TopicPartition, int] = field(default_factory=dict)  # the history when assigned


class Logs:
    """Records of all partitions."""

    def __init__(self) -> None:
        self.logs: dict[TopicPartition, Log] = {}
        self._sent: dict[bytes, TopicPartition] = {}
        self.delivered = 0

    def written(self, tp: TopicPartition, values: Sequence[bytes]) -> None:
        """A producer sends these; they are in the log from now on, or never."""
        for value in values:
            self._sent[value] = tp

    def acknowledged(self, tp: TopicPartition, base_offset: int, values: Sequence[bytes]) -> None:
        """It was promised that they are kept."""
        log = self.logs.setdefault(tp, Log())
        for offset, value in enumerate(values, base_offset):
            if log.values.setdefault(offset, value) != value:
                raise ViolationError(
                    Rule.NEVER_SKIPS, f"offset {offset} of {_name(tp)} was given out twice"
                )
        log.end_offset = max(log.end_offset, base_offset + len(values))

    def delivered_to(
        self, name: str, group_id: str, tp: TopicPartition, records: Sequence[Any]
    ) -> None:
        """Records came as they were written."""
        log = self.logs.setdefault(tp, Log())
        got = log.by_group.setdefault(group_id, set())
        for record in records:
            wanted = log.values.get(record.offset)
            known = self._sent.get(record.value) == tp if wanted is None else record.value == wanted
            if not known:
                raise ViolationError(
                    Rule.NEVER_SKIPS,
                    f"{name} got {record.value!r} at {record.offset} of {_name(tp)}, which has"
                    f" {wanted!r} there",
                )
            if log.delivered.setdefault(record.offset, record.value) != record.value:
                raise ViolationError(
                    Rule.NEVER_SKIPS,
                    f"{name} got {record.value!r} at {record.offset} of {_name(tp)}, where"
                    f" {log.delivered[record.offset]!r} was",
                )
            got.add(record.offset)
        self.delivered += len(records)

    def has(self, tp: TopicPartition, offset: int) -> bool:
        """Whether there is a record, as a producer was promised or somebody has got it."""
        log = self.logs.get(tp)
        return log is not None and (offset in log.values or offset in log.delivered)

    def missing(self, group_id: str, tp: TopicPartition) -> list[int]:
        """Promised records that nobody of a group got, and that have not been deleted."""
        log = self.logs.get(tp)
        if log is None:
            return []
        missing = log.values.keys() - log.by_group.get(group_id, set())
        return sorted(offset for offset in missing if offset >= self.kept_from(tp))

    def promised(self, tp: TopicPartition) -> list[int]:
        """The offsets of all records that producers were promised."""
        log = self.logs.get(tp)
        return [] if log is None else sorted(log.values)

    def handed_end(self, group_id: str, tp: TopicPartition) -> int:
        """Behind the last record that anybody of a group got; 0: nobody got any."""
        log = self.logs.get(tp)
        got = None if log is None else log.by_group.get(group_id)
        return max(got) + 1 if got else 0

    def trimmed(self, tp: TopicPartition, start_offset: int) -> None:
        """Records before that are deleted."""
        self.logs.setdefault(tp, Log()).starts.append(start_offset)

    def starts(self, tp: TopicPartition) -> list[int]:
        """Where the log has started so far: whoever wants older records goes on there."""
        log = self.logs.get(tp)
        return [0] if log is None else log.starts

    def kept_from(self, tp: TopicPartition) -> int:
        """Older records may be deleted, or not: a leader that has moved its start may be gone
        before its followers hear of that, and lead again later. Such starts go back and forth.
        """
        return max(self.starts(tp))

    def end_offset(self, tp: TopicPartition) -> int:
        """Behind the last promised record."""
        log = self.logs.get(tp)
        return 0 if log is None else log.end_offset


class Offsets:
    """Positions of members and offsets of groups."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self.committed: dict[tuple[str, TopicPartition], Committed] = {}
        self.commits = 0

    def of(self, group_id: str, tp: TopicPartition) -> Committed:
        """What a group has committed in a partition."""
        return self.committed.setdefault((group_id, tp), Committed())

    # Handing over --------------------------------------------------------------------------------

    def handed(
        self, name: str, group_id: str, hands: Hands, tp: TopicPartition, records: Sequence[Any]
    ) -> None:
        """Records follow one another, from where the group has left off."""
        first = records[0].offset
        expected = hands.position.get(tp)
        if expected is None:
            begins = self.of(group_id, tp).candidates(hands.since.get(tp, -1))
            if first not in begins and not self._reset(tp, min(begins), first):
                raise ViolationError(
                    Rule.NEVER_SKIPS,
                    f"{name} begins at {first} in {_name(tp)}, committed is {sorted(begins)}",
                )
            expected = first
        elif self._reset(tp, expected, first):
            expected = first
        for record in records:
            if record.offset != expected:
                raise ViolationError(
                    Rule.NEVER_SKIPS,
                    f"{name} got {record.offset} of {_name(tp)} after {expected - 1}",
                )
            expected += 1
        hands.position[tp] = expected

    def _reset(self, tp: TopicPartition, expected: int, first: int) -> bool:
        """Whether what was expected may be deleted, so that reading goes on at the start."""
        return first > expected and first in self._logs.starts(tp)

    # Committing ----------------------------------------------------------------------------------

    def asked(
        self, name: str, group_id: str, hands: Hands, offsets: Mapping[TopicPartition, int]
    ) -> None:
        """A member asks for a commit: of nothing it is not done with."""
        for tp, offset in offsets.items():
            committed = self.of(group_id, tp)
            starts = self._logs.starts(tp)
            begun = committed.candidates(hands.since.get(tp, -1))
            allowed = max(hands.done.get(tp, 0), *begun, *starts)
            if offset > allowed:
                raise ViolationError(
                    Rule.COMMIT_BEHIND,
                    f"{name} commits {offset} in {_name(tp)} and is done up to {allowed}",
                )
            committed.possible.add(offset)

    def confirmed(
        self,
        name: str,
        group_id: str,
        generation: int,
        tp: TopicPartition,
        offset: int,
        *,
        stray: bool,
    ) -> None:
        """The coordinator has taken it. stray: it came on a connection that its sender had given up
        by then, and may have asked again on another one: Kafka knows no order between the two.
        """
        committed = self.of(group_id, tp)
        back = committed.sure is not None and offset < committed.sure
        if back and not stray and generation == committed.generation:
            raise ViolationError(
                Rule.COMMIT_FORWARD,
                f"{name} takes {_name(tp)} back from {committed.sure} to {offset} in generation"
                f" {generation}",
            )
        committed.sure, committed.generation = offset, generation
        committed.history.append(offset)
        committed.possible.clear()
        self.commits += 1

    def refused(self, group_id: str, tp: TopicPartition, offset: int) -> None:
        """The coordinator has not taken it."""
        self.of(group_id, tp).possible.discard(offset)


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"
