"""What is known of the run so far, from what the members say. No clock, no terminal, no Kafka.

A member says how far it committed and what it had read up to there, so each record counts once:
what was read but not committed when a partition moved on is read, committed and counted by its next
owner.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class PartitionRow:
    """One partition: how far the group is committed, and who read what of it."""

    end: int
    committed: int | None = None
    records: int = 0
    size_bytes: int = 0
    owner: int | None = None
    readers: list[int] = field(default_factory=list)

    @property
    def done(self) -> bool:
        """Whether it is committed up to the end that was wanted."""
        return self.committed is not None and self.committed >= self.end

    @property
    def lag(self) -> int | None:
        """Records left before that end; None while nothing is known."""
        return None if self.committed is None else max(0, self.end - self.committed)


@dataclass
class MemberRow:
    """One member, as it said last."""

    state: str = "starting"
    generation: int = -1
    member_id: str = ""
    partitions: tuple[int, ...] = ()
    is_leader: bool = False


class Board:
    """The state of the run: `take` what the members say, read the rest."""

    def __init__(self, ends: Mapping[int, int], members: int, nodes: Iterable[int] = ()) -> None:
        self.nodes = dict.fromkeys(nodes, "up")
        self.partitions = {number: PartitionRow(end) for number, end in sorted(ends.items())}
        self.members = [MemberRow() for _ in range(members)]
        self.failures: list[str] = []
        self._news: list[str] = []

    @property
    def records(self) -> int:
        """Records read and committed."""
        return sum(row.records for row in self.partitions.values())

    @property
    def size_bytes(self) -> int:
        """Their keys' and values' bytes."""
        return sum(row.size_bytes for row in self.partitions.values())

    @property
    def part_done(self) -> float:
        """How much of what is wanted is committed: 0 to 1."""
        wanted = sum(row.end for row in self.partitions.values())
        done = sum(min(row.committed or 0, row.end) for row in self.partitions.values())
        return done / wanted if wanted else 1.0

    @property
    def done(self) -> bool:
        """Whether every partition is committed up to its end."""
        return all(row.done for row in self.partitions.values())

    @property
    def generation(self) -> int:
        """The newest generation that a member was in."""
        return max((row.generation for row in self.members), default=-1)

    @property
    def leader(self) -> int | None:
        """The number of the member that leads the newest generation, once it said so."""
        for number, row in enumerate(self.members):
            if row.is_leader and row.generation == self.generation:
                return number
        return None

    def shortfalls(self, committed: Mapping[int, int | None], records: int | None) -> list[str]:
        """What is wrong with the outcome, a line each.

        committed: what the broker answers, by partition. records: how many there must be, if known.
        """
        wrong = [
            f"partition {number}: committed {committed.get(number)}, but it ends at {row.end}"
            for number, row in self.partitions.items()
            if (committed.get(number) or 0) < row.end
        ]
        if records is not None and self.records != records:
            wrong.append(f"{records:,} records were written, {self.records:,} were read")
        return wrong

    def take_news(self) -> list[str]:
        """Lines about the group since the last call."""
        news, self._news = self._news, []
        return news

    def node_changed(self, node: int, state: str, why: str) -> None:
        """A node of the cluster is "up" or "down" from now on."""
        self.nodes[node] = state
        self._news.append(f"node {node}: {why}")

    def take(self, member: int, message: Mapping[str, Any]) -> None:
        """Take in one message of one member (see member.py)."""
        row = self.members[member]
        match message["said"]:
            case "joining":
                row.state = "joining"
            case "joined":
                self._joined(member, row, message)
            case "assigned":
                self._assigned(member, row, message)
            case "revoked" | "lost":
                self._revoked(member, row, message)
            case "committed":
                self._committed(member, message)
            case "failed":
                row.state = "failed"
                self.failures.append(f"member {member}: {message['error']}")
            case "left":
                row.state, row.partitions = "left", ()

    def _joined(self, member: int, row: MemberRow, message: Mapping[str, Any]) -> None:
        row.generation, row.is_leader = message["generation"], message["is_leader"]
        if row.is_leader:
            self._news.append(
                f"generation {row.generation}: member {member} leads, "
                f"{message['members']} in the group, assignor {message['protocol']}"
            )

    def _assigned(self, member: int, row: MemberRow, message: Mapping[str, Any]) -> None:
        row.state = "reading"
        row.generation, row.member_id = message["generation"], message["member_id"]
        row.partitions = tuple(message["partitions"])
        for number in row.partitions:
            self.partitions[number].owner = member
        listed = ", ".join(map(str, row.partitions)) or "none"
        self._news.append(f"generation {row.generation}: member {member} has partitions {listed}")

    def _revoked(self, member: int, row: MemberRow, message: Mapping[str, Any]) -> None:
        row.state = "rebalancing"
        gone = set(message["partitions"])
        row.partitions = tuple(number for number in row.partitions if number not in gone)
        for number in gone:
            if self.partitions[number].owner == member:
                self.partitions[number].owner = None
        if message["said"] == "lost":
            self._news.append(f"member {member} lost partitions {sorted(gone)}")

    def _committed(self, member: int, message: Mapping[str, Any]) -> None:
        for text, (offset, records, size_bytes) in message["progress"].items():
            row = self.partitions[int(text)]
            row.committed = offset
            row.records += records
            row.size_bytes += size_bytes
            if records and member not in row.readers:
                row.readers.append(member)
