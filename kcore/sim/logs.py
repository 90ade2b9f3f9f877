"""Records of all partitions, as producers were promised and applications got them.

A topic that is deleted and made anew under its name has another life, counted from 0: its logs
begin again, and what was promised of the former ones is promised no more. Records are told apart by
their values, of which there are no two alike; one whose producer had no answer when its topic was
deleted may have come to be in either life.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
    excused: dict[str, int] = field(default_factory=dict)  # who could not know that it is another


@dataclass(slots=True)
class _Sent:
    """A record. life: of its topic; None: one of two, nobody knows which."""

    tp: TopicPartition
    life: int | None
    promised: bool = False


class Logs:
    """See the module's text."""

    def __init__(self) -> None:
        self._lives: Counter[str] = Counter()
        self._logs: dict[tuple[TopicPartition, int], Log] = {}
        self._sent: dict[bytes, _Sent] = {}
        self.delivered = 0

    # Topics --------------------------------------------------------------------------------------

    def life(self, topic: str) -> int:
        """How often it was deleted so far."""
        return self._lives[topic]

    def topic_gone(self, topic: str) -> None:
        """It is deleted."""
        for sent in self._sent.values():
            if sent.tp.topic == topic and sent.life == self._lives[topic] and not sent.promised:
                sent.life = None
        self._lives[topic] += 1

    def life_of(self, value: bytes) -> int | None:
        """The life of its topic that a record is of; None: it cannot be told."""
        sent = self._sent.get(value)
        return None if sent is None else sent.life

    def _log(self, tp: TopicPartition, life: int | None = None) -> Log:
        at = self._lives[tp.topic] if life is None else life
        return self._logs.setdefault((tp, at), Log())

    # Writing -------------------------------------------------------------------------------------

    def written(self, tp: TopicPartition, values: Sequence[bytes]) -> None:
        """A producer sends these; they are in the log from now on, or never."""
        for value in values:
            self._sent[value] = _Sent(tp, self._lives[tp.topic])

    def acknowledged(self, tp: TopicPartition, base_offset: int, values: Sequence[bytes]) -> None:
        """It was promised that they are kept, unless their topic was deleted meanwhile."""
        sent = [self._sent.setdefault(value, _Sent(tp, self.life(tp.topic))) for value in values]
        if sent[0].life != self.life(tp.topic):
            return
        log = self._log(tp)
        for offset, value in enumerate(values, base_offset):
            self._sent[value].promised = True
            if log.values.setdefault(offset, value) != value:
                raise ViolationError(
                    Rule.NEVER_SKIPS, f"offset {offset} of {_name(tp)} was given out twice"
                )
        log.end_offset = max(log.end_offset, base_offset + len(values))

    def trimmed(self, tp: TopicPartition, start_offset: int) -> None:
        """Records before that are deleted."""
        self._log(tp).starts.append(start_offset)

    # Handing over --------------------------------------------------------------------------------

    def delivered_to(
        self, name: str, group_id: str, tp: TopicPartition, records: Sequence[Any]
    ) -> None:
        """Records came as they were written."""
        for record in records:
            sent = self._sent.get(record.value)
            life = self._lives[tp.topic] if sent is None or sent.life is None else sent.life
            log = self._log(tp, life)
            wanted = log.values.get(record.offset)
            loose = sent is not None and sent.life is None
            known = sent is not None and sent.tp == tp
            if not known or (wanted not in (None, record.value) and not loose):
                raise ViolationError(
                    Rule.NEVER_SKIPS,
                    f"{name} got {record.value!r} at {record.offset} of {_name(tp)}, which has"
                    f" {wanted!r} there",
                )
            if loose:
                continue
            if log.delivered.setdefault(record.offset, record.value) != record.value:
                raise ViolationError(
                    Rule.NEVER_SKIPS,
                    f"{name} got {record.value!r} at {record.offset} of {_name(tp)}, where"
                    f" {log.delivered[record.offset]!r} was",
                )
            log.by_group.setdefault(group_id, set()).add(record.offset)
        self.delivered += len(records)

    def excuse(self, group_id: str, tp: TopicPartition, life: int, offset: int) -> None:
        """A group begins there, as it could not tell the topic from the one before."""
        excused = self._log(tp, life).excused
        excused[group_id] = max(offset, excused.get(group_id, 0))

    # Looking -------------------------------------------------------------------------------------

    def has(self, tp: TopicPartition, offset: int) -> bool:
        """Whether there is a record, as a producer was promised or somebody has got it."""
        log = self._log(tp)
        return offset in log.values or offset in log.delivered

    def missing(self, group_id: str, tp: TopicPartition) -> list[int]:
        """Promised records that nobody of a group got, and that have not been deleted."""
        log = self._log(tp)
        missing = log.values.keys() - log.by_group.get(group_id, set())
        first = max(self.kept_from(tp), log.excused.get(group_id, 0))
        return sorted(offset for offset in missing if offset >= first)

    def promised(self, tp: TopicPartition) -> list[int]:
        """The offsets of all records that producers were promised."""
        return sorted(self._log(tp).values)

    def handed_end(self, group_id: str, tp: TopicPartition) -> int:
        """Behind the last record that anybody of a group got; 0: nobody got any."""
        got = self._log(tp).by_group.get(group_id)
        return max(got) + 1 if got else 0

    def starts(self, tp: TopicPartition, life: int | None = None) -> list[int]:
        """Where the log has started so far: whoever wants older records goes on there."""
        return self._log(tp, life).starts

    def kept_from(self, tp: TopicPartition) -> int:
        """Older records may be deleted, or not: a leader that has moved its start may be gone
        before its followers hear of that, and lead again later. Such starts go back and forth.
        """
        return max(self.starts(tp))

    def end_offset(self, tp: TopicPartition) -> int:
        """Behind the last promised record."""
        return self._log(tp).end_offset


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"
