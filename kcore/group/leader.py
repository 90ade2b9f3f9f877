"""The leader's part of a round: reads the members' subscriptions, runs the assignor, watches the
metadata it used.

Rules D1-D5 and G1. The snapshot of the metadata an assignment was made from is kept: when it
changes (a topic grows, appears, goes away, moves racks), the leader asks for a rebalance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kcore.assignors import Assignor, MemberSubscription, Plan, RebalanceProtocol, blobs
from kcore.errors import IllegalStateError, KafkaError, Unexpected
from kcore.group.context import Context
from kcore.hints import Any
from kcore.structs import TopicPartition

Snapshot = dict[str, object]


class Leader:
    """Has a role only between a JoinGroup answer that makes us the leader and the next
    join-prepare.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._members: dict[str, MemberSubscription] = {}
        self._assignor: Assignor | None = None
        self._topics: set[str] | None = None
        self._snapshot: Snapshot | None = None
        self._seen_version = -1

    def retire(self) -> None:
        """Join-prepare: forget the leadership and the group's topics."""
        if self._topics is not None:
            self._ctx.host.set_group_topics(None)
        self._members = {}
        self._assignor = None
        self._topics = None
        self._snapshot = None

    def elect(self, members: Sequence[Any], protocol: str) -> bool:
        """Take the role with the members of a JoinGroup answer; True if all metadata is at hand
        (D1).

        ProtocolError if a member's subscription cannot be read: an assignment without that member
        would leave it idle for good, so the round fails and is tried again later.
        """
        found: dict[str, MemberSubscription] = {}
        for member in members:
            try:
                found[member.member_id] = blobs.decode_subscription(
                    member.metadata, member.group_instance_id
                )
            except KafkaError as error:
                raise Unexpected(
                    f"the subscription of member {member.member_id!r} cannot be read: {error}"
                ) from error
        self._members = found
        self._assignor = self._ctx.config.assignor(protocol)
        self._topics = {topic for member in found.values() for topic in member.topics}
        return self._ctx.host.set_group_topics(self._topics)

    def observe(self) -> None:
        """Note the metadata as what the assignment stands on."""
        self._snapshot = self._look()
        self._seen_version = self._ctx.cluster.version

    def changed(self) -> bool:
        """Whether the metadata differs from what the assignment was made from."""
        if self._snapshot is None or self._seen_version == self._ctx.cluster.version:
            return False
        if self._look() != self._snapshot:
            return True
        self._seen_version = self._ctx.cluster.version
        return False

    def assign(self) -> dict[str, bytes]:
        """Run the assignor; member id -> assignment blob. KafkaError if the plan cannot be used."""
        assignor = self._assignor
        if assignor is None:
            raise IllegalStateError("only a leader assigns")
        cluster = self._ctx.cluster
        partitions: dict[str, list[int]] = {}
        for topic in sorted(self._topics or ()):
            numbers = cluster.partitions(topic)
            if numbers is not None:  # D5: without metadata a topic is left out
                partitions[topic] = numbers
        racks = None
        if any(member.rack for member in self._members.values()):
            racks = {
                tp: frozenset(cluster.replica_racks(tp))
                for topic, numbers in partitions.items()
                for tp in (TopicPartition(topic, number) for number in numbers)
            }
        try:
            plan = assignor.assign(self._members, partitions, racks)
        except KafkaError:
            raise
        except (
            Exception
        ) as error:  # an assignor may be the user's; its bug must fail the round only
            raise IllegalStateError(f"assignor {assignor.name!r} failed: {error!r}") from error
        self._check(plan, assignor.name)
        self.observe()
        return {
            member_id: blobs.encode_assignment(plan.get(member_id, ()))
            for member_id in self._members
        }

    def _check(self, plan: Plan, name: str) -> None:
        """No partition goes to two members, and under COOPERATIVE none moves without a stop
        (D3).
        """
        owners: dict[TopicPartition, str] = {}
        for member_id, partitions in plan.items():
            for tp in partitions:
                other = owners.setdefault(tp, member_id)
                if other != member_id:
                    raise IllegalStateError(
                        f"assignor {name!r} gave {tp.topic}-{tp.partition} to both"
                        f" {other!r} and {member_id!r}"
                    )
        if (
            self._ctx.config.protocol is not RebalanceProtocol.COOPERATIVE
            or name == "cooperative-sticky"
        ):
            return
        held = _owned(self._members)
        for tp, member_id in owners.items():
            if held.get(tp, member_id) != member_id:
                raise IllegalStateError(
                    f"assignor {name!r} moved {tp.topic}-{tp.partition} to"
                    f" {member_id!r} while {held[tp]!r} still owns it"
                )

    def _look(self) -> Snapshot:
        """Topics of interest -> partition count, and the racks of each partition if we have a
        rack.
        """
        cluster = self._ctx.cluster
        snapshot: Snapshot = {}
        for topic in self._topics or ():
            numbers = cluster.partitions(topic)
            if numbers is None:
                continue
            if self._ctx.config.client_rack:
                snapshot[topic] = [
                    frozenset(cluster.replica_racks(TopicPartition(topic, number)))
                    for number in numbers
                ]
            else:
                snapshot[topic] = len(numbers)
        return snapshot


def _owned(members: Mapping[str, MemberSubscription]) -> dict[TopicPartition, str]:
    return {tp: member_id for member_id, member in members.items() for tp in member.owned}
