"""What an AdminClient tells: groups, topics, clusters, offsets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcore.clients.stand_in.confluent.admin_values import (
    AclOperation,
    ScramCredentialInfo,
    enum_of,
)
from kcore.clients.stand_in.confluent.structures import (
    ConsumerGroupState,
    ConsumerGroupType,
    Node,
    TopicPartition,
    TopicPartitionInfo,
    Uuid,
)


def _operations(given: Iterable[Any] | None) -> list[AclOperation] | None:
    return [enum_of(AclOperation, one) for one in given] if given else None


class ConsumerGroupListing:
    """A group in a list. is_simple_consumer_group: it has offsets, and no protocol."""

    def __init__(
        self,
        group_id: str,
        is_simple_consumer_group: bool,
        state: ConsumerGroupState | str | int | None = None,
        type: ConsumerGroupType | str | int | None = None,  # noqa: A002 - its name there
    ) -> None:
        self.group_id = group_id
        self.is_simple_consumer_group = is_simple_consumer_group
        if state is not None:
            self.state = enum_of(ConsumerGroupState, state)
        if type is not None:
            self.type = enum_of(ConsumerGroupType, type)


class ListConsumerGroupsResult:
    """Groups, and what was wrong with brokers that have not told of theirs."""

    def __init__(
        self,
        valid: list[ConsumerGroupListing] | None = None,
        errors: list[Any] | None = None,
    ) -> None:
        self.valid = valid
        self.errors = errors


class MemberAssignment:
    """What a member of a group has."""

    def __init__(self, topic_partitions: list[TopicPartition] | None) -> None:
        self.topic_partitions = topic_partitions or []


class MemberDescription:
    """A member of a group. target_assignment: what it is to have, in the consumer protocol."""

    def __init__(
        self,
        member_id: str,
        client_id: str,
        host: str,
        assignment: MemberAssignment,
        group_instance_id: str | None = None,
        target_assignment: MemberAssignment | None = None,
    ) -> None:
        self.member_id = member_id
        self.client_id = client_id
        self.host = host
        self.assignment = assignment
        self.target_assignment = target_assignment
        self.group_instance_id = group_instance_id


class ConsumerGroupDescription:
    """A group with its members and its coordinator."""

    def __init__(
        self,
        group_id: str,
        is_simple_consumer_group: bool,
        members: list[MemberDescription],
        partition_assignor: str,
        state: ConsumerGroupState | str | int | None,
        coordinator: Node,
        authorized_operations: Iterable[AclOperation | str | int] | None = None,
        type: ConsumerGroupType | str | int = ConsumerGroupType.UNKNOWN,  # noqa: A002 - its name
    ) -> None:
        self.group_id = group_id
        self.is_simple_consumer_group = is_simple_consumer_group
        self.members = members
        self.authorized_operations = _operations(authorized_operations)
        self.partition_assignor = partition_assignor
        if state is not None:
            self.state = enum_of(ConsumerGroupState, state)
        if type is not None:
            self.type = enum_of(ConsumerGroupType, type)
        self.coordinator = coordinator


class TopicDescription:
    """A topic with its partitions, and what we may do to it."""

    def __init__(
        self,
        name: str,
        topic_id: Uuid,
        is_internal: bool,
        partitions: list[TopicPartitionInfo],
        authorized_operations: Iterable[AclOperation | str | int] | None = None,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.is_internal = is_internal
        self.partitions = partitions
        self.authorized_operations = _operations(authorized_operations)


class DescribeClusterResult:
    """A cluster: its nodes, and what we may do to it."""

    def __init__(
        self,
        controller: Node | None,
        nodes: list[Node],
        cluster_id: str | None = None,
        authorized_operations: Iterable[AclOperation | str | int] | None = None,
    ) -> None:
        self.cluster_id = cluster_id
        self.controller = controller
        self.nodes = nodes
        self.authorized_operations = _operations(authorized_operations)


class UserScramCredentialsDescription:
    """What credentials a user has."""

    def __init__(self, user: str, scram_credential_infos: list[ScramCredentialInfo]) -> None:
        self.user = user
        self.scram_credential_infos = scram_credential_infos


class ListOffsetsResultInfo:
    """An offset. timestamp: of its record, -1: it is no record's. leader_epoch: None: unknown."""

    def __init__(self, offset: int, timestamp: int, leader_epoch: int) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.leader_epoch = leader_epoch if leader_epoch >= 0 else None


class DeletedRecords:
    """low_watermark: where the partition begins now."""

    def __init__(self, low_watermark: int) -> None:
        self.low_watermark = low_watermark
