"""Where the state of an application can be asked for: which member's endpoint has what (KIP-67)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kcore.coordinator.numbered import grouped
from kcore.coordinator.refused import RefusedError
from kcore.coordinator.streams.configuring import Configured
from kcore.coordinator.streams.member import StreamsMember, Task
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import StreamsGroupHeartbeatResponse

if TYPE_CHECKING:
    from kcore.coordinator.context import Topics

_EndpointToPartitions = StreamsGroupHeartbeatResponse.EndpointToPartitions
_Endpoint = StreamsGroupHeartbeatResponse.Endpoint
_TopicPartition = StreamsGroupHeartbeatResponse.TopicPartition


def endpoints_of(
    members: Iterable[StreamsMember], configured: Configured, topics: Topics, *, as_44: bool
) -> list[_EndpointToPartitions]:
    """Of each member that has an endpoint what its tasks read. RefusedError if that cannot be said:
    a Kafka fails as well as long as topics are missing.
    """

    def inputs(tasks: Iterable[Task]) -> list[_TopicPartition]:
        return _inputs(tasks, configured, topics, as_44=as_44)

    found = []
    for member in members:
        if member.endpoint is not None:
            if not configured.parts:
                raise RefusedError(
                    ErrorCode.UNKNOWN_SERVER_ERROR, "endpoints are asked for, and topics missing"
                )
            host, port = member.endpoint
            found.append(
                _EndpointToPartitions(
                    user_endpoint=_Endpoint(host=host, port=port),
                    active_partitions=inputs(member.assigned.active),
                    standby_partitions=inputs(member.assigned.standby | member.assigned.warmup),
                )
            )
    return found


def _inputs(
    tasks: Iterable[Task], configured: Configured, topics: Topics, *, as_44: bool
) -> list[_TopicPartition]:
    found = []
    for name, numbers in grouped(tasks).items():
        for topic in sorted(set(configured.parts[name].subtopology.inputs)):
            count = topics.partition_count(topic)
            if not count:
                raise RefusedError(
                    ErrorCode.UNKNOWN_SERVER_ERROR, f"a topic of endpoints is missing: {topic}"
                )
            # As Kafka 4.3 has it: of a narrower topic as many as it has, if there are more tasks
            # than that; else the numbers of the tasks, whether or not it has these.
            read = [one for one in numbers if one < count] if as_44 else numbers[:count]
            if read:
                found.append(_TopicPartition(topic=topic, partitions=read))
    return found
