"""A share group: its members, its epochs, the target assignment. It answers nobody.

Everything here is what the journal says: only replay changes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcore.coordinator.share.member import NOTHING, Partitions, ShareMember
from kcore.coordinator.share.states import REFUSED, ShareGroupState
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.coordinator.context import Topics


@dataclass(frozen=True, slots=True)
class Initialized:
    """A topic of which the state of these partitions is kept for the group."""

    name: str
    partitions: frozenset[int]


class ShareGroup:
    """One share group."""

    __slots__ = (
        "epoch",
        "group_id",
        "held",
        "initialized",
        "members",
        "metadata_hash",
        "seen_version",
        "target",
        "target_epoch",
        "target_wall_ms",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 1  # as a Kafka begins; the first member makes it 2
        self.metadata_hash = 0  # of the topics subscribed to, when the epoch was bumped last
        self.target_epoch = 1
        self.target_wall_ms = 0  # when the target was made; 0: not known
        self.target: dict[str, Partitions] = {}
        self.members: dict[str, ShareMember] = {}
        self.initialized: dict[bytes, Initialized] = {}  # topic id ->
        self.seen_version: int | None = None  # of the cluster's topics; None: not looked at yet
        self.held = False  # something of it is being decided and written

    @property
    def state(self) -> ShareGroupState:
        """See ShareGroupState."""
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    def refusal(self, api: ApiKey) -> ErrorCode:
        """What the state by itself answers to a request; NONE if it is served."""
        return REFUSED[self.state].get(api, ErrorCode.NONE)

    def is_subscribed(self, topic: str) -> bool:
        """Whether a member wants the topic."""
        return any(topic in member.topics for member in self.members.values())

    def target_of(self, member_id: str) -> Partitions:
        """What a member is to get."""
        return self.target.get(member_id, NOTHING)

    def kept_of(self, topic_id: bytes) -> frozenset[int]:
        """The partitions of a topic whose state is kept."""
        known = self.initialized.get(topic_id)
        return frozenset() if known is None else known.partitions

    def knows(self, partitions: Iterable[int], topic_id: bytes) -> bool:
        """Whether the state of all of these partitions of a topic is kept."""
        return topic_id in self.initialized and self.kept_of(topic_id).issuperset(partitions)

    def lacks_target(self, topics: Topics) -> bool:
        """Whether something that members read was not kept yet when the target of this epoch was
        made: nobody has it, and no other change would have it given to them.
        """
        if self.target_epoch < self.epoch:
            return False  # the next one is to come
        wanted = frozenset[str]().union(*(one.topics for one in self.members.values()))
        given = NOTHING.union(*self.target.values())
        return any(
            (topic_id, number) not in given
            for topic_id, one in self.initialized.items()
            if one.name in wanted and topics.name_of(topic_id) is not None
            for number in one.partitions
        )

    # Replay --------------------------------------------------------------------------------------

    def put(self, member: ShareMember) -> None:
        """A member is new, or is this from now on."""
        self.members[member.member_id] = member

    def remove(self, member_id: str) -> None:
        """A member is gone."""
        self.members.pop(member_id, None)
