"""What the rules of one partition share: its groups, what waits, and the way to the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from kcore.coordinator.appends import Appends, Done
from kcore.coordinator.config import CoordinatorConfig
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.group import Group
from kcore.coordinator.journal import Item, group_entry
from kcore.coordinator.keeper import Keeper
from kcore.coordinator.purgatory import Purgatory, heartbeat_key, join_key, sync_key
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.states import GroupInput
from kcore.coordinator.streams.group import StreamsGroup
from kcore.limits import MAX_NAME_CHARS
from kcore.structs import Rng
from kcore.wire.codes import ErrorCode

# Called with a group that is held; None if there is none, or an error says why not.
Held = Callable[["AnyGroup | None", ErrorCode, int], None]

# The fields of a UUID in hex digits.
_UUID_PARTS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))


AnyGroup = Group | ConsumerGroup | ShareGroup | StreamsGroup


class Topics(Protocol):
    """What the cluster's topics are; the owner answers from its metadata."""

    @property
    def version(self) -> int:
        """Another number after each topic that comes, grows or goes."""

    def names(self) -> Iterable[str]:
        """Every topic."""

    def partition_count(self, name: str) -> int:
        """How many partitions a topic has; 0 if there is no such topic."""

    def name_of(self, topic_id: bytes) -> str | None:
        """The name of a topic id (16 bytes); None if there is none."""

    def id_of(self, name: str) -> bytes | None:
        """The id of a topic; None if there is no such topic."""

    def has_partition(self, name: str, partition: int) -> bool:
        """Whether offsets can be committed for it."""


class Context:
    """Shared by the parts of one partition's coordinator."""

    __slots__ = (
        "appends",
        "config",
        "consumers",
        "groups",
        "keeper",
        "purgatory",
        "rng",
        "shares",
        "streams",
        "topics",
        "wall_offset_ms",
    )

    def __init__(
        self,
        config: CoordinatorConfig,
        rng: Rng,
        topics: Topics,
        purgatory: Purgatory,
        wall_offset_ms: int,
        keeper: Keeper,
    ) -> None:
        self.config = config
        self.rng = rng
        self.topics = topics
        self.purgatory = purgatory
        self.wall_offset_ms = wall_offset_ms
        self.keeper = keeper
        # Classic groups, those of KIP-848, share groups and streams groups; an id is in one of them
        # at most.
        self.groups: dict[str, Group] = {}
        self.consumers: dict[str, ConsumerGroup] = {}
        self.shares: dict[str, ShareGroup] = {}
        self.streams: dict[str, StreamsGroup] = {}
        self.appends: Appends

    def wall_ms(self, now_ms: int) -> int:
        """The time of day: what the journal keeps must mean something to the next process."""
        return now_ms + self.wall_offset_ms

    def kept(self, group_id: str) -> AnyGroup | None:
        """The group of this id, of whatever kind."""
        return (
            self.groups.get(group_id)
            or self.consumers.get(group_id)
            or self.shares.get(group_id)
            or self.streams.get(group_id)
        )

    def move(self, group: Group, what: GroupInput, now_ms: int) -> None:
        """Change a group's state."""
        group.move(what, self.wall_ms(now_ms))

    def write(self, items: list[Item], done: Done, now_ms: int) -> None:
        """Append entries; `done` is called once."""
        self.appends.append(items, done, now_ms)

    def write_group(
        self, group: Group, assignments: dict[str, bytes], done: Done, now_ms: int
    ) -> None:
        """Append the group as it is now, with these assignments."""
        self.write([group_entry(group.group_id, group.value(assignments))], done, now_ms)

    def when_free(self, group_id: str, run: Done, now_ms: int) -> None:
        """Call `run`; if something is about to be removed of the group, once that is through."""
        group = self.kept(group_id)
        if group is None or not group.held:
            run(ErrorCode.NONE, now_ms)
            return

        def again(error: ErrorCode, now_ms: int) -> None:
            if error:
                run(error, now_ms)
            else:
                self.when_free(group_id, run, now_ms)

        self.appends.after(again, now_ms)

    def hold(self, group_id: str, run: Held, now_ms: int) -> None:
        """Call `run` with the group when nothing about it is on its way to the journal, and keep
        it like that: what would add to the group waits (`when_free`) until `run` has set `held`
        back. Without a group there is nothing to keep.
        """

        def turn(error: ErrorCode, now_ms: int) -> None:
            group = self.kept(group_id)
            if error or group is None:
                run(None, error, now_ms)
            elif group.held:
                self.appends.after(turn, now_ms)
            else:
                group.held = True
                self.appends.after(lambda error, now_ms: held(group, error, now_ms), now_ms)

        def held(group: AnyGroup, error: ErrorCode, now_ms: int) -> None:
            if error:
                group.held = False
            run(None if error else group, error, now_ms)

        self.appends.after(turn, now_ms)

    def new_member_id(self, prefix: str) -> str:
        """An id nobody has. The prefix tells people whose it is; cut, so that it fits a string."""
        return f"{prefix[:MAX_NAME_CHARS]}-{self.new_uuid()}"

    def new_uuid(self) -> str:
        """The same without a prefix: so are the ids of members of consumer groups."""
        digits = f"{self.rng.getrandbits(128):032x}"
        return "-".join(digits[start:end] for start, end in _UUID_PARTS)

    def forget_timers(self, group: Group) -> None:
        """Nothing of this group is to fire any more."""
        self.purgatory.cancel(join_key(group))
        self.purgatory.cancel(sync_key(group))
        for member_id in (*group.members, *group.pending_join):
            self.purgatory.cancel(heartbeat_key(group, member_id))


def ignore(_error: object, _now_ms: int) -> None:
    """For appends that nobody waits for: a lost one is made again by what follows."""
