"""The coordinator's APIs, in all versions it has (see kcore.coordinator for what it leaves out):

OffsetCommit v2-10, OffsetFetch v1-10, JoinGroup v0-9, Heartbeat v0-4, LeaveGroup v0-5, SyncGroup
v0-5, DescribeGroups v0-6, ListGroups v0-5, DeleteGroups v0-3, OffsetDelete v0,
ConsumerGroupHeartbeat v0-1, ConsumerGroupDescribe v0-1, ShareGroupHeartbeat v1, ShareGroupDescribe
v1, DescribeShareGroupOffsets v0-1, AlterShareGroupOffsets v0, DeleteShareGroupOffsets v0,
StreamsGroupDescribe v0-1, StreamsGroupTopologyDescriptionUpdate v0.
"""

from __future__ import annotations

from kcore.broker.calls import PARKED, Call
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import SyncGroupRequest, SyncGroupResponse

_NAMED_PROTOCOL_VERSION = 5


def handle(call: Call, request: Message) -> Message | str:
    """The coordinator answers, now or later."""
    if (
        isinstance(request, SyncGroupRequest)
        and call.version >= _NAMED_PROTOCOL_VERSION
        and None in {request.protocol_type, request.protocol_name}
    ):
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    call.node.groups.request(call, request)
    return PARKED
