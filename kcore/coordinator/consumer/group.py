"""A consumer group: its members, its epochs, the target assignment. It answers nobody.

Everything here is what the journal says: only replay changes it. What is derived from members (who
subscribes to what, who holds which partition) is kept in step as they come, change and go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from kcore.coordinator.consumer.member import ConsumerMember, Owned, TopicIdPartition
from kcore.coordinator.consumer.states import REFUSED, ConsumerGroupState
from kcore.coordinator.ordering import hash_ordered
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

Target = frozenset[TopicIdPartition]

NO_TARGET: Target = frozenset()

# A group begins here, so that no member that has joined is in epoch 0, which means joining.
FIRST_EPOCH: Final = 1


@dataclass(frozen=True, slots=True)
class Resolved:
    """The topics that a regular expression stands for, as of a time of day and of a version of the
    cluster's topics.
    """

    topics: frozenset[str]
    version: int
    wall_ms: int


class ConsumerGroup:
    """One consumer group."""

    __slots__ = (
        "epoch",
        "group_id",
        "held",
        "holders",
        "members",
        "metadata_hash",
        "named",
        "regex_members",
        "regexes",
        "seen_version",
        "static_members",
        "target",
        "target_epoch",
        "target_wall_ms",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0  # of the topics subscribed to, when the epoch was bumped last
        self.target_epoch = FIRST_EPOCH
        self.target_wall_ms = 0  # when the target was made; 0: not known
        self.target: dict[str, Target] = {}
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}  # instance id -> member id
        self.holders: dict[TopicIdPartition, int] = {}  # partition -> epoch of who has it
        self.named: Counter[str] = Counter()  # topic -> members that name it
        self.regex_members: Counter[str] = Counter()  # regex -> members that have it
        self.regexes: dict[str, Resolved] = {}
        self.seen_version: int | None = None  # of the cluster's topics; None: not looked at yet
        self.held = False  # something of it is being decided and written

    # Questions -----------------------------------------------------------------------------------

    @property
    def state(self) -> ConsumerGroupState:
        """See ConsumerGroupState."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.target_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(member.reconciled_to(self.target_epoch) for member in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def refusal(self, api: ApiKey) -> ErrorCode:
        """What the state by itself answers to a request; NONE if it is served."""
        return REFUSED[self.state].get(api, ErrorCode.NONE)

    def subscribed(self) -> set[str]:
        """The topics that any member wants."""
        return set(self.named).union(*(found.topics for found in self.regexes.values()))

    def is_subscribed(self, topic: str) -> bool:
        """Whether offsets of the topic are in use."""
        return topic in self.named or any(topic in found.topics for found in self.regexes.values())

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """What a member wants, as far as its regular expression is resolved."""
        found = self.regexes.get(member.regex) if member.regex else None
        return member.topics if found is None else member.topics | found.topics

    def is_held(self, partition: TopicIdPartition) -> bool:
        """Whether a member has a partition, or may have it still."""
        return partition in self.holders

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        """The member that an instance id stands for."""
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def target_of(self, member: ConsumerMember) -> Target:
        """What a member is to get; one that comes back gets what it had been given."""
        before = self.static_member(member.instance_id)
        member_id = member.member_id if before is None else before.member_id
        return self.target.get(member_id, NO_TARGET)

    @property
    def assignor(self) -> str | None:
        """The assignor that most members want; None: nobody cares. Of as many, what comes first in
        a HashMap (Java: ConsumerGroup.preferredServerAssignor).
        """
        return _most_wanted(self._assignors())

    def assignor_with(self, old: ConsumerMember, new: ConsumerMember) -> str | None:
        """The same once `new` is in the place of `old`, which has the assignor of the one whose
        place it takes. Of as many, one that nobody has named before: it comes first in its bucket
        of a HashMap that is made for those before it, in which both of ours have the same one
        (Java: ConsumerGroup.computePreferredServerAssignor).
        """
        before = self._assignors()
        wanted = before.copy()
        if old.assignor is not None:
            wanted[old.assignor] -= 1
        if new.assignor is not None:
            wanted[new.assignor] += 1
            if new.assignor not in before and wanted[new.assignor] == max(wanted.values()):
                return new.assignor
        return _most_wanted(+wanted)

    def _assignors(self) -> Counter[str]:
        return Counter(
            member.assignor for member in self.members.values() if member.assignor is not None
        )

    # Replay --------------------------------------------------------------------------------------

    def put(self, member: ConsumerMember) -> None:
        """A member is new, or is this from now on."""
        old = self.members.get(member.member_id)
        if old is not None:
            self._uncount(old)
            self._unname(old)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self.named.update(member.topics)
        if member.regex:
            self.regex_members[member.regex] += 1
        for partition in _all_of(member):
            self.holders[partition] = max(member.epoch, self.holders.get(partition, member.epoch))

    def remove(self, member_id: str) -> None:
        """A member is gone."""
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._uncount(member)
        self._unname(member)

    def _unname(self, member: ConsumerMember) -> None:
        """It is its instance no more; another member may be that by now."""
        instance_id = member.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]

    def _uncount(self, member: ConsumerMember) -> None:
        _take(self.named, member.topics)
        if member.regex:
            _take(self.regex_members, (member.regex,))
        for partition in _all_of(member):
            if self.holders.get(partition) == member.epoch:
                del self.holders[partition]


def _most_wanted(wanted: Counter[str]) -> str | None:
    return max(hash_ordered(wanted), key=wanted.__getitem__, default=None)


def _all_of(member: ConsumerMember) -> Mapping[TopicIdPartition, int]:
    both: Owned = {**member.assigned, **member.pending}
    return both


def _take(counts: Counter[str], names: Iterable[str]) -> None:
    for name in names:
        counts[name] -= 1
        if not counts[name]:
            del counts[name]
