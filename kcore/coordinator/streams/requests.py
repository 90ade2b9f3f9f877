"""What is wrong with a StreamsGroupHeartbeat by itself, and what it says.

Source of the rules and the texts: Java's GroupCoordinatorService of Kafka 4.3 and 4.4. Regular
expressions are in the protocol and refused; until 4.3 so were static members, offsets of tasks and
warm-up tasks.
"""

from __future__ import annotations

from collections.abc import Iterable

from kcore.coordinator.refused import RefusedError
from kcore.coordinator.streams.group import Reported
from kcore.coordinator.streams.member import LEAVING_STATIC, Offsets, Task, Tasks
from kcore.limits import MAX_NAME_CHARS
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import StreamsGroupHeartbeatRequest

_TaskIds = StreamsGroupHeartbeatRequest.TaskIds


def check(request: StreamsGroupHeartbeatRequest, *, as_44: bool) -> RefusedError | None:
    """What is wrong; None if nothing is."""
    why = (None if as_44 else _unsupported(request)) or _regular(request) or _empty(request)
    if why is None and request.member_epoch == 0:
        why = _incomplete(request)
        if why is None and request.topology is not None:
            sized = _sized_changelog(request.topology)
            if sized is not None:
                return RefusedError(ErrorCode.STREAMS_INVALID_TOPOLOGY, sized)
    if why is None:
        why = _wrong_epoch(request) or _uneven(request)
    return None if why is None else RefusedError(ErrorCode.INVALID_REQUEST, why)


def owned_by(request: StreamsGroupHeartbeatRequest) -> Tasks | None:
    """What the member says it has; None if it does not say."""
    if request.active_tasks is None:
        return None
    return Tasks(
        _tasks_of(request.active_tasks),
        _tasks_of(request.standby_tasks or ()),
        _tasks_of(request.warmup_tasks or ()),
    )


def reported_by(request: StreamsGroupHeartbeatRequest, before: Reported) -> Reported:
    """How far the member says that it is with tasks; what it does not say is as before."""
    done, ends = request.task_offsets, request.task_end_offsets
    if done is None and ends is None:
        return before
    return Reported(
        before.done if done is None else _offsets_of(done),
        before.ends if ends is None else _offsets_of(ends),
    )


def _offsets_of(entries: Iterable[StreamsGroupHeartbeatRequest.TaskOffset]) -> Offsets:
    found: dict[Task, int] = {}
    for entry in entries:
        task = entry.subtopology_id, entry.partition
        if task in found:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST,
                "Task offsets contain a duplicate entry for subtopology"
                f" {entry.subtopology_id[:MAX_NAME_CHARS]} and partition {entry.partition}.",
            )
        found[task] = entry.offset
    return found


def _tasks_of(parts: Iterable[_TaskIds]) -> frozenset[Task]:
    return frozenset((part.subtopology_id, number) for part in parts for number in part.partitions)


def _unsupported(request: StreamsGroupHeartbeatRequest) -> str | None:
    if request.instance_id is not None:
        return "Static membership is not yet supported."
    if request.task_offsets is not None:
        return "TaskOffsets are not supported yet."
    if request.task_end_offsets is not None:
        return "TaskEndOffsets are not supported yet."
    if request.warmup_tasks:
        return "WarmupTasks are not supported yet."
    return None


def _regular(request: StreamsGroupHeartbeatRequest) -> str | None:
    if request.topology is not None and any(
        one.source_topic_regex for one in request.topology.subtopologies
    ):
        return "Regular expressions for source topics are not supported yet."
    return None


def _empty(request: StreamsGroupHeartbeatRequest) -> str | None:
    named = {
        "MemberId": request.member_id,
        "GroupId": request.group_id,
        "InstanceId": request.instance_id,
        "RackId": request.rack_id,
    }
    for name, value in named.items():
        if value is not None and not value.strip():
            return f"{name} can't be empty."
    return None


def _incomplete(request: StreamsGroupHeartbeatRequest) -> str | None:
    if request.rebalance_timeout_ms == -1:
        return "RebalanceTimeoutMs must be provided in first request."
    for name, tasks in (
        ("ActiveTasks", request.active_tasks),
        ("StandbyTasks", request.standby_tasks),
        ("WarmupTasks", request.warmup_tasks),
    ):
        if tasks is None or tasks:
            return f"{name} must be empty when (re-)joining."
    if request.topology is None:
        return "Topology must be non-null when (re-)joining."
    return None


def _sized_changelog(topology: StreamsGroupHeartbeatRequest.Topology) -> str | None:
    for one in topology.subtopologies:
        for topic in one.state_changelog_topics:
            if topic.partitions:
                return (
                    f"Changelog topic {topic.name[:MAX_NAME_CHARS]} must have an undefined"
                    f" partition count, but it is set to {topic.partitions}."
                )
    return None


def _wrong_epoch(request: StreamsGroupHeartbeatRequest) -> str | None:
    if request.member_epoch == LEAVING_STATIC and request.instance_id is None:
        return "InstanceId can't be null."
    if request.member_epoch < LEAVING_STATIC:
        return (
            f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to"
            f" {LEAVING_STATIC}."
        )
    return None


def _uneven(request: StreamsGroupHeartbeatRequest) -> str | None:
    roles = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    missing = [tasks is None for tasks in roles]
    if any(missing) and not all(missing):
        return "If one task-type is non-null, all must be non-null."
    if request.member_epoch != 0 and request.topology is not None:
        return "Topology can only be provided when (re-)joining."
    return None
