"""One member of the demo's group, a process of its own: `python -m kcore.cli.demo.member SPEC`.

SPEC is JSON: {"bootstrap", "topic", "group", "ends": {partition: offset}, "pace": records a second
or null}. It reads until its standard input ends, which is how the parent ends it (and what happens
if the parent dies). It says on standard output, a JSON object a line:

    {"said": "joining"}
    {"said": "joined", "generation", "is_leader", "members", "protocol"}
    {"said": "assigned", "partitions", "generation", "member_id"}
    {"said": "revoked" | "lost", "partitions"}
    {"said": "committed", "progress": {partition: [offset, records, bytes]}}   since it said so last
    {"said": "failed", "error"}                                                and exit code 1
    {"said": "left"}
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from kcore import Consumer, ConsumerRebalanceListener, ConsumerRecord
from kcore.errors import CommitFailedError, KafkaError, KafkaTimeoutError, WakeupError
from kcore.events import Event, GroupJoined
from kcore.structs import OffsetAndMetadata, TopicPartition

POLL_MS: Final = 100
POLL_RECORDS: Final = 5_000
PACED_POLLS: Final = 50  # polls a second of a member that is to read slowly
COMMIT_EVERY_S: Final = 0.1
POSITION_MS: Final = 100

Say = Callable[[Mapping[str, Any]], None]


class Member(ConsumerRebalanceListener):
    """Reads its partitions up to their ends, commits often, and says how far it is committed."""

    def __init__(
        self,
        consumer: Consumer,
        topic: str,
        ends: Mapping[int, int],
        say: Say,
        pace: int | None = None,
    ) -> None:
        self._consumer = consumer
        self._topic = topic
        self._ends = ends
        self._say = say
        self._pace = pace
        self._poll_records = POLL_RECORDS if pace is None else max(1, pace // PACED_POLLS)
        self._read: dict[TopicPartition, list[int]] = {}  # [records, bytes] since the last commit
        self._committed: dict[TopicPartition, int] = {}

    def run(self, stopped: threading.Event) -> None:
        """Read until `stopped`. Raises KafkaError."""
        self._say({"said": "joining"})
        self._consumer.observe(self._observe)
        self._consumer.subscribe([self._topic], listener=self)
        commit_at_s = time.monotonic()
        while not stopped.is_set():
            count = 0
            for partition, records in self._poll().items():
                self._count(partition, records)
                count += len(records)
            if self._pace:
                stopped.wait(count / self._pace)
            if time.monotonic() >= commit_at_s:
                self._commit()
                commit_at_s = time.monotonic() + COMMIT_EVERY_S
        self._commit()

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:  # noqa: ARG002
        """Tell the parent what this member has now."""
        group = self._consumer.group_metadata()
        self._say(
            {
                "said": "assigned",
                "partitions": sorted(part.partition for part in self._consumer.assignment()),
                "generation": group.generation_id,
                "member_id": group.member_id,
            }
        )

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """They are still this member's: commit, so that the next owner begins behind it."""
        gone = set(revoked)
        if gone:
            self._commit()
            self._forget("revoked", gone)

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        """Someone else may have them already: what is not committed is theirs to read again."""
        self._forget("lost", set(lost))

    def _observe(self, event: Event) -> None:
        if isinstance(event, GroupJoined):
            self._say(
                {
                    "said": "joined",
                    "generation": event.generation,
                    "is_leader": event.is_leader,
                    "members": event.members,
                    "protocol": event.protocol,
                }
            )

    def _forget(self, said: str, gone: set[TopicPartition]) -> None:
        for partition in gone:
            self._read.pop(partition, None)
            self._committed.pop(partition, None)
        self._say({"said": said, "partitions": sorted(part.partition for part in gone)})

    def _poll(self) -> Mapping[TopicPartition, Sequence[ConsumerRecord]]:
        try:
            return self._consumer.poll(timeout_ms=POLL_MS, max_records=self._poll_records)
        except WakeupError:  # the parent wants an end
            return {}

    def _count(self, partition: TopicPartition, records: Sequence[ConsumerRecord]) -> None:
        end = self._ends.get(partition.partition, 0)
        counts = self._read.setdefault(partition, [0, 0])
        for record in records:
            if record.offset < end:
                counts[0] += 1
                counts[1] += len(record.key or b"") + len(record.value or b"")

    def _commit(self) -> None:
        moved = {
            partition: offset
            for partition in self._consumer.assignment()
            if (offset := self._position(partition)) is not None
            if offset != self._committed.get(partition)
        }
        if not moved:
            return
        try:
            self._consumer.commit(
                {part: OffsetAndMetadata(offset, "", -1) for part, offset in moved.items()}
            )
        except CommitFailedError:  # a rebalance came first: the next owner reads it again
            self._read.clear()
            return
        self._committed |= moved
        read, self._read = self._read, {}
        progress = {
            str(part.partition): [offset, *read.get(part, (0, 0))] for part, offset in moved.items()
        }
        self._say({"said": "committed", "progress": progress})

    def _position(self, partition: TopicPartition) -> int | None:
        """How far this member has read, but not beyond the end that is wanted."""
        try:
            position = self._consumer.position(partition, timeout_ms=POSITION_MS)
        except KafkaTimeoutError:
            return None
        if position is None:
            return None
        return min(position, self._ends.get(partition.partition, 0))


def say(message: Mapping[str, Any]) -> None:
    """Tell the parent."""
    sys.stdout.write(json.dumps(message) + "\n")  # in one piece: events come from another thread
    sys.stdout.flush()


def main(spec: Mapping[str, Any]) -> int:
    """Be a member until standard input ends; the exit code."""
    stopped = threading.Event()
    try:
        consumer = Consumer(
            bootstrap_servers=spec["bootstrap"].split(","),
            group_id=spec["group"],
            client_id="kcore-demo",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        with consumer:
            threading.Thread(target=_await_end, args=(stopped, consumer), daemon=True).start()
            ends = {int(number): end for number, end in spec["ends"].items()}
            Member(consumer, spec["topic"], ends, say, spec["pace"]).run(stopped)
    except KafkaError as error:
        say({"said": "failed", "error": f"{type(error).__name__}: {error}"})
        return 1
    say({"said": "left"})
    return 0


def _await_end(stopped: threading.Event, consumer: Consumer) -> None:
    sys.stdin.read()
    stopped.set()
    consumer.wakeup()


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
