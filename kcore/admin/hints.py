"""What to do about errors of administration, by code: the end of their messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kcore.wire.codes import ErrorCode as Code

HINTS: Final[Mapping[int, str]] = {
    Code.UNKNOWN_TOPIC_OR_PARTITION: "check the name; a principal sees no topic that it may not "
    "describe",
    Code.TOPIC_AUTHORIZATION_FAILED: "grant this principal the operation on the topic",
    Code.GROUP_AUTHORIZATION_FAILED: "grant this principal the operation on the group",
    Code.CLUSTER_AUTHORIZATION_FAILED: "grant this principal the operation on the cluster",
    Code.INVALID_REPLICATION_FACTOR: "a cluster keeps at most one copy a broker; -1 is the "
    "cluster's default",
    Code.INVALID_PARTITIONS: "partitions are only ever added: give the new total",
    Code.NON_EMPTY_GROUP: "stop its members first, or remove them (remove_group_members)",
    Code.UNKNOWN_MEMBER_ID: "offsets of a group are changed while it has no members: stop them "
    "first",
    Code.GROUP_SUBSCRIBED_TO_TOPIC: "offsets of a topic are deleted while no member of the group "
    "subscribes to it",
    Code.TOPIC_DELETION_DISABLED: "the brokers have delete.topic.enable=false",
    Code.OFFSET_OUT_OF_RANGE: "give an offset from the beginning to the high watermark, or -1 for "
    "the latter",
    Code.ELECTION_NOT_NEEDED: "the replica to be elected leads already",
    Code.REBALANCE_IN_PROGRESS: "the group has members, which are joining: stop them first",
}
