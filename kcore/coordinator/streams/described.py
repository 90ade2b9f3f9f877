"""Descriptions of topologies (KIP-1331), which members push when they are asked for one: kept in
memory, as by a Kafka whose plug-in does.

They are gone with the coordinator, or the group; the group's members are asked again then. Source
of the rules and the texts: Java's StreamsGroupTopologyDescriptionManager of Kafka 4.4.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

from kcore.coordinator.refused import RefusedError
from kcore.coordinator.streams.group import Asked, StreamsGroup
from kcore.limits import MAX_NAME_CHARS
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    StreamsGroupDescribeResponse,
    StreamsGroupTopologyDescriptionUpdateRequest,
)

# How long whoever was asked has, before another one is; twice as long each time, up to a bound.
_FIRST_MS: Final = 30_000
_LAST_MS: Final = 3_600_000

_Pushed = StreamsGroupTopologyDescriptionUpdateRequest
_Told = StreamsGroupDescribeResponse


class NodeType(IntEnum):
    """Of a node of a topology."""

    SOURCE = 1
    PROCESSOR = 2
    SINK = 3


class Stored(IntEnum):
    """What there is to tell of a description (Java: TopologyDescriptionStatus)."""

    NOT_REQUESTED = 0
    NOT_STORED = 1
    AVAILABLE = 3


def check(request: _Pushed, *, kept: bool) -> RefusedError | None:
    """What is wrong with a description by itself; None if nothing is. kept: whether any are."""
    if not kept:
        return RefusedError(
            ErrorCode.UNSUPPORTED_VERSION,
            "The broker has no streams group topology description plugin configured.",
        )
    for name, value in (("MemberId", request.member_id), ("GroupId", request.group_id)):
        if not value.strip():
            return RefusedError(ErrorCode.INVALID_REQUEST, f"{name} can't be empty.")
    return None


def ask_for(group: StreamsGroup, now_ms: int) -> bool:
    """Whether the member that is answered now is to push a description; it is asked then."""
    epoch, asked = _epoch_of(group), group.asked
    if epoch < 0 or (group.description is not None and group.description[0] == epoch):
        return False
    if asked is not None and asked.epoch == epoch:
        if now_ms < asked.until_ms:
            return False
        wait_ms = min(asked.wait_ms * 2, _LAST_MS)
    else:
        wait_ms = _FIRST_MS
    group.asked = Asked(epoch, wait_ms, now_ms + wait_ms)
    return True


def keep(group: StreamsGroup, request: _Pushed) -> None:
    """A member pushes a description. RefusedError if it is none of the group's."""
    if request.member_id not in group.members:
        raise RefusedError(
            ErrorCode.UNKNOWN_MEMBER_ID,
            f"Member {request.member_id[:MAX_NAME_CHARS]} is not a member of group"
            f" {group.group_id}.",
        )
    epoch = _epoch_of(group)
    if request.topology_epoch != epoch:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST,
            f"Topology epoch {request.topology_epoch} does not match the group's current topology"
            f" epoch {epoch}.",
        )
    group.description = epoch, _read(request.topology_description)
    group.asked = None


def description_of(group: StreamsGroup) -> _Told.TopologyDescription | None:
    """That of the group's topology; None if there is none."""
    if group.description is None or group.description[0] != _epoch_of(group):
        return None
    return group.description[1]


def _epoch_of(group: StreamsGroup) -> int:
    return -1 if group.topology is None else group.topology.epoch


def _read(pushed: _Pushed.TopologyDescription) -> _Told.TopologyDescription:
    return _Told.TopologyDescription(
        subtopologies=[
            _Told.TopologyDescriptionSubtopology(
                subtopology_id=part.subtopology_id, nodes=[_node(one) for one in part.nodes]
            )
            for part in pushed.subtopologies
        ],
        global_stores=[_global_store(one) for one in pushed.global_stores],
    )


def _global_store(
    pushed: _Pushed.TopologyDescriptionGlobalStore,
) -> _Told.TopologyDescriptionGlobalStore:
    source, processor = _node(pushed.source), _node(pushed.processor)
    types = source.node_type, processor.node_type
    if types != (NodeType.SOURCE, NodeType.PROCESSOR):
        raise RefusedError(
            ErrorCode.INVALID_REQUEST,
            "Global store must be composed of a source and a processor node.",
        )
    return _Told.TopologyDescriptionGlobalStore(source=source, processor=processor)


def _node(pushed: _Pushed.TopologyDescriptionNode) -> _Told.TopologyDescriptionNode:
    """With what nodes of its type have, each name once."""
    kind = pushed.node_type
    if kind not in set(NodeType):
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"Unknown topology node type: {kind}")
    more: dict[str, Any] = {}
    if kind == NodeType.SOURCE:
        more["source_topics"] = list(dict.fromkeys(pushed.source_topics))
    elif kind == NodeType.PROCESSOR:
        more["stores"] = list(dict.fromkeys(pushed.stores))
    else:
        more["sink_topic"] = pushed.sink_topic
    return _Told.TopologyDescriptionNode(
        name=pushed.name,
        node_type=kind,
        successors=list(dict.fromkeys(pushed.successors)),
        **more,
    )
