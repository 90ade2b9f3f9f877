"""StreamsGroupHeartbeat v0-1: names of topics are looked at here, the rest is the coordinator's."""

from __future__ import annotations

from kcore.broker.apis import groups
from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.topics import check_name
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse

# What an answer says at most.
_WHY_CHARS_MAX = 1_000


def handle(call: Call, request: StreamsGroupHeartbeatRequest) -> Message | str:
    """The coordinator answers, unless the topology names what can be no topic of an application."""
    if request.topology is not None:
        names = _topics_of(request.topology)
        why = None
        prohibited = [name for name in names if name in INTERNAL_TOPICS]
        invalid = [name for name in names if not _is_valid(name)]
        if prohibited:
            why = (
                f"Use of Kafka internal topics {','.join(prohibited)} in a Kafka Streams topology"
                " is prohibited."
            )
        elif invalid:
            why = f"Topic names {','.join(invalid)} are not valid topic names."
        if why is not None:
            return StreamsGroupHeartbeatResponse(
                error_code=ErrorCode.STREAMS_INVALID_TOPOLOGY,
                error_message=why[:_WHY_CHARS_MAX],
            )
    return groups.handle(call, request)


def _topics_of(topology: StreamsGroupHeartbeatRequest.Topology) -> list[str]:
    """Every topic that a topology names, once."""
    found: dict[str, None] = {}
    for one in topology.subtopologies:
        found.update(dict.fromkeys((*one.source_topics, *one.repartition_sink_topics)))
        for topic in (*one.repartition_source_topics, *one.state_changelog_topics):
            found[topic.name] = None
    return list(found)


def _is_valid(name: str) -> bool:
    try:
        check_name(name)
    except RefusedError:
        return False
    return True
