"""How members are set up, and what their applications do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from kcore.sim.clock import Clock


class Commit(Enum):
    """When an application commits."""

    AUTO = "auto"  # leaves it to the core
    EACH = "each"  # everything handed over, before the next poll
    NAMED = "named"  # the same, with the offsets by name, and retried for a while
    SOMETIMES = "sometimes"  # every few polls


class Role(Enum):
    """What a process does where producers are simulated."""

    WRITER = "writer"  # produces
    MOVER = "mover"  # consumes and produces
    READER = "reader"  # consumes, without a group


_DUE_EVERY: Final = {Commit.AUTO: 0, Commit.EACH: 1, Commit.NAMED: 1, Commit.SOMETIMES: 4}  # polls


@dataclass(frozen=True, slots=True)
class Habits:
    """How one member is set up, and what its application does."""

    name: str
    group_id: str
    topics: tuple[str, ...]
    bootstrap: tuple[str, ...]
    assignors: tuple[str, ...]
    commit: Commit
    clock: Clock
    poll_every_ms: int
    max_records: int
    awaits: bool = False  # acknowledges each step of a rebalance
    remote_assignor: str | None = None
    by_epochs: bool = False  # speaks the consumer protocol (KIP-848)
    instance_id: str | None = None
    by_pattern: bool = False
    by_remote_pattern: bool = False  # that brokers match
    explicit: bool = False  # of a share group: acknowledges record by record
    one_by_one: bool = False  # of a share group: is given no more than it asks for (KIP-1206)
    rack: str = ""
    role: Role | None = None  # where producers are simulated
    transactional_id: str | None = None
    committed: bool = True  # a reader: reads what is committed

    @property
    def named(self) -> bool:
        """Whether its processes, one after the other, are the same to brokers."""
        return self.instance_id is not None or self.transactional_id is not None

    def commits_in(self, poll: int) -> bool:
        """Whether its application commits in this poll, counted from 1."""
        every = _DUE_EVERY[self.commit]
        return every > 0 and poll % every == 0
