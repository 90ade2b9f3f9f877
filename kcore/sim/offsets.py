"""What was handed over and committed, seen from outside, and the rules about it.

A commit whose answer nobody saw may count or not; until a later one is confirmed, both are
possible. Offsets are those of one life of a topic (`logs.py`): who deletes a topic deletes what was
committed in it. Of a commit without a topic id nobody can tell which life it was meant for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcore.sim.logs import Logs
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition


@dataclass(slots=True)
class Committed:
    """A group's offset in one partition."""

    sure: int | None = None  # the last one that was confirmed
    generation: int = -1  # of that
    history: list[int] = field(default_factory=lambda: [0])  # confirmed; nothing: from the first
    # How often each was asked for since, and not refused: one may count, and another be refused.
    possible: Counter[int] = field(default_factory=Counter)
    asks: list[int] = field(default_factory=list)  # all that was ever asked for
    # Without a topic id: not answered; and those that may have been meant for another life.
    unnamed: Counter[int] = field(default_factory=Counter)
    strays: Counter[int] = field(default_factory=Counter)

    def candidates(self, since: int = -1) -> set[int]:
        """Where a member may begin that has asked at any time since so many were confirmed."""
        return {*self.possible, *self.history[since:], *self.strays}


@dataclass(slots=True)
class Hands:
    """What one member has of its partitions. Offsets are the next ones to come.

    lives: of the topic that positions are in. begun: when it was assigned, the life there was then,
    and how many commits there had been in that. loose: where nobody knows which life all that came
    is of.
    """

    position: dict[TopicPartition, int] = field(default_factory=dict)  # since it was assigned
    done: dict[TopicPartition, int] = field(default_factory=dict)  # the application is done before
    owned: dict[TopicPartition, int] = field(default_factory=dict)
    lives: dict[TopicPartition, int] = field(default_factory=dict)
    begun: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    loose: set[TopicPartition] = field(default_factory=set)

    def since(self, tp: TopicPartition, life: int) -> int:
        """Which commits of that life it may have asked for, as `Committed.candidates` takes it."""
        at_life, count = self.begun.get(tp, (life, -1))
        return count if at_life == life else 0

    def drop(self, tp: TopicPartition) -> None:
        """It has no position there."""
        self.position.pop(tp, None)
        self.lives.pop(tp, None)
        self.loose.discard(tp)


class Offsets:
    """Positions of members and offsets of groups. named: records are asked for by names, so that
    members cannot tell one life of a topic from another. unnamed: so are commits.
    """

    def __init__(self, logs: Logs, *, named: bool = False, unnamed: bool = False) -> None:
        self._logs = logs
        self._named = named
        self._unnamed = unnamed
        self.committed: dict[tuple[str, TopicPartition, int], Committed] = {}
        self.commits = 0

    def of(self, group_id: str, tp: TopicPartition, life: int | None = None) -> Committed:
        """What a group has committed in a partition, of the topic as it is now or was once."""
        if life is None:
            life = self._logs.life(tp.topic)
        return self.committed.setdefault((group_id, tp, life), Committed())

    def life(self, tp: TopicPartition, lives: Mapping[str, int] | None) -> int:
        """Which one is meant; None: it is named without its id."""
        return self._logs.life(tp.topic) if lives is None else lives[tp.topic]

    def beginnings(self, group_id: str, hands: Hands, tp: TopicPartition, life: int) -> set[int]:
        """Where a member may begin: at what is committed, or, if the log may not have that, as it
        was meant for another one, where that starts.
        """
        committed = self.of(group_id, tp, life)
        found = committed.candidates(hands.since(tp, life))
        # Who hears late of the new one does not believe what is committed without its id.
        anew = committed.strays or (life and self._unnamed)
        return found.union(self._logs.starts(tp, life)) if anew else found

    def missing(self, group_id: str, tp: TopicPartition) -> list[int]:
        """Records that nobody of a group got, and that it was not told by a commit of its own to
        leave out: who begins there, or is sent back to the end from beyond it, passes over those.
        """
        first = max(self.of(group_id, tp).strays, default=0)
        return [offset for offset in self._logs.missing(group_id, tp) if offset >= first]

    def topic_gone(self, topic: str) -> None:
        """It is deleted, and what was committed in it. What comes late, without an id, counts in
        the one that is made anew, however often that was done meanwhile.
        """
        for (group_id, tp, _), committed in list(self.committed.items()):
            if tp.topic == topic and committed.unnamed:
                self.of(group_id, tp).strays.update(committed.unnamed)

    # Handing over --------------------------------------------------------------------------------

    def handed(
        self, name: str, group_id: str, hands: Hands, tp: TopicPartition, records: Sequence[Any]
    ) -> None:
        """Records follow one another, from where the group has left off."""
        loose = tp in hands.loose
        for life, part in self._by_life(group_id, hands, tp, records):
            known = hands.lives.get(tp, life)
            # What nobody knew the life of was of this one, if these go on there.
            onward = loose and part[0].offset == hands.position.get(tp)
            if life < known and tp not in hands.loose:
                raise ViolationError(
                    Rule.NEVER_SKIPS,
                    f"{name} got {part[0].offset} of {_name(tp)} as it was before it was deleted,"
                    " after records of the one that was made anew",
                )
            self._follow(name, group_id, hands, tp, part, life, begins=life > known and not onward)

    def _by_life(
        self, group_id: str, hands: Hands, tp: TopicPartition, records: Sequence[Any]
    ) -> Iterator[tuple[int, Sequence[Any]]]:
        """Records of one life after another. Of some nobody knows in which they have come to be:
        they are of that of their neighbours, or go on where those before have ended, or not.
        """
        now = self._logs.life(tp.topic)
        if not now:
            yield 0, records
            return
        lives = [self._logs.life_of(record.value) for record in records]
        last = next((life for life in lives if life is not None), None)
        if last is not None:
            hands.loose.discard(tp)
        else:
            first, begun = records[0].offset, hands.begun.get(tp, (now, -1))
            onward = first == hands.position.get(tp)
            if tp not in hands.lives or not onward:
                hands.loose.add(tp)
            last = hands.lives.get(tp, now) if onward else now
            if tp not in hands.position:
                former = self._may_begin(group_id, hands, tp, begun[0], first)
                last = begun[0] if former else now
        begin = 0
        for at, life in enumerate(lives):
            if life is not None and life != last:
                yield last, records[begin:at]
                begin, last = at, life
        yield last, records[begin:]

    def _follow(
        self,
        name: str,
        group_id: str,
        hands: Hands,
        tp: TopicPartition,
        records: Sequence[Any],
        life: int,
        *,
        begins: bool,
    ) -> None:
        first = records[0].offset
        expected = hands.position.get(tp)
        if expected is None or begins:
            # Those of another log, as far as this one goes: beyond its end they are cut off.
            others = [*self.of(group_id, tp, life).strays]
            if begins and self._named and expected is not None:
                others.append(expected)
            elif self._named:  # where it was to begin in another one, and got nothing there
                for former in range(hands.begun.get(tp, (life, 0))[0], life):
                    others += self.of(group_id, tp, former).candidates()
                    others += self._logs.starts(tp, former)
            known = self._may_begin(group_id, hands, tp, life, first)
            if not known and first > max(others, default=-1):
                starts = sorted(self.beginnings(group_id, hands, tp, life).union(others))
                raise ViolationError(
                    Rule.NEVER_SKIPS,
                    f"{name} begins at {first} in {_name(tp)}, committed is {starts}",
                )
            if self._named:
                self._logs.excuse(group_id, tp, life, first)
            expected = first
        elif self._reset(tp, life, expected, first):
            expected = first
        for record in records:
            if record.offset != expected:
                raise ViolationError(
                    Rule.NEVER_SKIPS,
                    f"{name} got {record.offset} of {_name(tp)} after {expected - 1}",
                )
            expected += 1
        hands.position[tp], hands.lives[tp] = expected, life

    def _may_begin(
        self, group_id: str, hands: Hands, tp: TopicPartition, life: int, first: int
    ) -> bool:
        """Whether a member without a position may get that record of that life first."""
        starts = self.beginnings(group_id, hands, tp, life)
        return first in starts or self._reset(tp, life, min(starts), first)

    def _reset(self, tp: TopicPartition, life: int, expected: int, first: int) -> bool:
        """Whether what was expected may be deleted, so that reading goes on at the start."""
        return first > expected and first in self._logs.starts(tp, life)

    # Committing ----------------------------------------------------------------------------------

    def asked(
        self,
        name: str,
        group_id: str,
        hands: Hands,
        offsets: Mapping[TopicPartition, int],
        lives: Mapping[str, int] | None = None,
        *,
        blind: bool = False,
    ) -> None:
        """A member asks for a commit: of nothing it is not done with. lives: of topics that are
        named by their ids. blind: its application has named the offsets, which knows of no ids.
        """
        for tp, offset in offsets.items():
            life = self.life(tp, lives)
            committed = self.of(group_id, tp, life)
            begun = self.beginnings(group_id, hands, tp, life)
            mine, at_first = hands.lives.get(tp, life), hands.begun.get(tp, (life, 0))[0]
            stray = (blind or lives is None) and not mine == at_first == life
            if stray:
                for former in range(at_first, life):
                    begun |= self.of(group_id, tp, former).candidates(0)
                    begun.update(self._logs.starts(tp, former))
            if stray or mine == life or tp in hands.loose:
                begun.add(hands.done.get(tp, 0))
            allowed = max(*begun, *self._logs.starts(tp, life))
            if offset > allowed:
                raise ViolationError(
                    Rule.COMMIT_BEHIND,
                    f"{name} commits {offset} in {_name(tp)} and is done up to {allowed}",
                )
            committed.possible[offset] += 1
            committed.asks.append(offset)
            if lives is None:
                committed.unnamed[offset] += 1
            if stray:
                committed.strays[offset] += 1

    def confirmed(
        self,
        name: str,
        group_id: str,
        generation: int,
        tp: TopicPartition,
        offset: int,
        life: int | None = None,
        *,
        stray: bool,
    ) -> None:
        """The coordinator has taken it. stray: it came on a connection that its sender had given up
        by then, and may have asked again on another one: Kafka knows no order between the two. Nor
        is there one between commits of which one was meant for another life of the topic.
        """
        committed = self.of(group_id, tp, life)
        _once_less(committed.unnamed, offset)
        back = committed.sure is not None and offset < committed.sure
        stray = stray or not committed.strays.keys().isdisjoint((committed.sure, offset))
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

    # By who operates the cluster -----------------------------------------------------------------

    def altering(self, group_id: str, tp: TopicPartition, offset: int) -> None:
        """Somebody who is no member wants the group to go on there; nothing committed: 0."""
        committed = self.of(group_id, tp)
        committed.possible[offset] += 1
        committed.unnamed[offset] += 1
        if offset > self._logs.end_offset(tp):  # it was to be one of the topic before
            committed.strays[offset] += 1
        committed.asks.append(offset)
        self._logs.excuse(group_id, tp, self._logs.life(tp.topic), offset)

    def altered(
        self, group_id: str, tp: TopicPartition, offset: int, life: int, *, deleted: bool = False
    ) -> None:
        """The coordinator has taken it."""
        committed = self.of(group_id, tp, life)
        _once_less(committed.unnamed, offset)
        committed.sure, committed.generation = None if deleted else offset, -1
        committed.history.append(offset)
        committed.possible.clear()

    def places(self, group_id: str) -> list[TopicPartition]:
        """Where a group may have committed anything, of topics as they are now."""
        return [
            tp
            for known, tp, life in self.committed
            if known == group_id and life == self._logs.life(tp.topic)
        ]

    def void(self, group_id: str, tp: TopicPartition, offset: int, life: int) -> None:
        """The coordinator has taken it, of a topic that is deleted: it comes no more."""
        _once_less(self.of(group_id, tp, life).unnamed, offset)

    def refused(
        self, group_id: str, tp: TopicPartition, offset: int, life: int | None = None
    ) -> None:
        """The coordinator has not taken it."""
        committed = self.of(group_id, tp, life)
        _once_less(committed.unnamed, offset)
        _once_less(committed.possible, offset)
        if offset not in committed.history:
            _once_less(committed.strays, offset)


def _once_less(counts: Counter[int], offset: int) -> None:
    """One of them is answered."""
    if counts[offset] > 1:
        counts[offset] -= 1
    else:
        del counts[offset]


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"
