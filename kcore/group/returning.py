"""What a static member that comes back may miss, and nobody else would notice.

A coordinator answers it with what it had before, and the group does not rebalance (KIP-345): also
where it subscribes to more topics now, or partitions have been added since. So it looks once who
has what. If nobody has something that it subscribes to, it asks for a rebalance. (Java's consumer
reads none of that until something else has the group rebalance.) A topic that there is not yet is
looked for when there is. Assignors of the application's own may leave things out on purpose: their
groups would rebalance whenever a member comes back, so that they are left alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from kcore.assignors import CLASSES, blobs
from kcore.connection.calls import Answer, Message
from kcore.errors import KafkaError, for_code
from kcore.group.classic_membership import ClassicMembership
from kcore.group.context import Context, Timer
from kcore.group.coordinator import Coordinator
from kcore.group.effects import passing
from kcore.group.membership import Generation
from kcore.group.states import MemberState
from kcore.hints import Any, Final
from kcore.structs import TopicPartition
from kcore.wire import messages  # hardly ever needed: loaded at first use
from kcore.wire.apis import ApiKey

_STABLE: Final = "Stable"
_NAMED_MAX: Final = 8
# An answer that does not come, or is too large, costs the coordinator's link, by which heartbeats
# go: how often that is risked.
_LOST_MAX: Final = 3


class Returning:
    """Timer.SURVEY says when it is to be looked (again)."""

    def __init__(
        self, ctx: Context, membership: ClassicMembership, coordinator: Coordinator
    ) -> None:
        self._ctx = ctx
        self._membership = membership
        self._coordinator = coordinator
        self._attempts = self._lost = 0
        self._unknown: list[str] = []  # topics that there were not when it looked

    def came_back(self, assigned: Iterable[TopicPartition], *, leads: bool, now_ms: int) -> None:
        """A static member has an assignment that may be of before. leads: as the leader, who was
        told to leave it as it is (KIP-814).
        """
        if self._membership.generation.protocol not in CLASSES:
            return
        have = {tp.topic for tp in assigned}
        if leads or not have.issuperset(self._ctx.host.subscribed_topics()):
            self._attempts = self._lost = 0
            self._ctx.timers.set(Timer.SURVEY, now_ms)

    def forget(self) -> None:
        """There is a rebalance in any case, or no membership."""
        self._ctx.timers.cancel(Timer.SURVEY)
        self._unknown = []

    def handle_tick(self, now_ms: int) -> None:
        """Look, if it is time."""
        if self._unknown and any(self._ctx.cluster.partitions(name) for name in self._unknown):
            self._unknown = []
            self._attempts = self._lost = 0
            self._ctx.timers.set(Timer.SURVEY, now_ms)
        if self._ctx.due(Timer.SURVEY, now_ms) and self._membership.state is MemberState.STABLE:
            if self._coordinator.key is None:
                self._again(now_ms)
            else:
                self._ask(now_ms)

    def _again(self, now_ms: int) -> None:
        self._ctx.timers.set(Timer.SURVEY, now_ms + self._ctx.backoff(self._attempts))
        self._attempts += 1

    def _ask(self, now_ms: int) -> None:
        generation = self._membership.generation

        def build(_version: int) -> Message:
            return messages.DescribeGroupsRequest(groups=[self._ctx.config.group_id])

        def done(answer: Answer, at_ms: int) -> None:
            if self._stands(generation):
                self._take(answer, at_ms)

        self._coordinator.ask(ApiKey.DESCRIBE_GROUPS, build, done, now_ms)

    def _stands(self, generation: Generation) -> bool:
        membership = self._membership
        return membership.generation == generation and membership.settled

    def _take(self, answer: Answer, now_ms: int) -> None:
        error: KafkaError | None = answer.error
        group: Any = None
        if error is None:
            group = next(iter(answer.body.groups), None)
            if group is not None and group.error_code:
                error = for_code(group.error_code)("looking who has what")
        else:
            self._lost += 1
        if error is not None:
            if passing(error) and self._lost < _LOST_MAX:
                self._again(now_ms)
            return  # without the right to look there is no more than Java's consumer knows
        if group is None or group.group_state != _STABLE:
            return  # it rebalances already
        nobodys = self._nobodys(group.members)
        if nobodys:
            names = ", ".join(f"{tp.topic}-{tp.partition}" for tp in nobodys[:_NAMED_MAX])
            self._membership.request_rejoin(f"nobody has {names}")
            return
        partitions, topics = self._ctx.cluster.partitions, self._ctx.host.subscribed_topics()
        self._unknown = [topic for topic in topics if not partitions(topic)]

    def _nobodys(self, members: Iterable[Any]) -> list[TopicPartition]:
        """What of the subscribed topics is assigned to no member; nothing, if that cannot be
        read.
        """
        taken: set[TopicPartition] = set()
        for member in members:
            try:
                if member.member_assignment:
                    taken.update(blobs.decode_assignment(bytes(member.member_assignment))[0])
            except KafkaError:
                return []
        partitions = self._ctx.cluster.partitions
        return [
            tp
            for topic in self._ctx.host.subscribed_topics()
            for tp in (TopicPartition(topic, number) for number in partitions(topic) or ())
            if tp not in taken
        ]
