"""OffsetFetch for one group (rules O11-O14). Newer and older versions ask the same thing."""

from __future__ import annotations

from collections.abc import Callable

from kcore.coordinator.context import Context
from kcore.coordinator.epochs import check_fetch
from kcore.coordinator.offsets import Offsets
from kcore.coordinator.states import GroupState
from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ZERO_UUID, OffsetFetchRequest, OffsetFetchResponse

# From these versions on: many groups in a request; topics go by their ids.
MANY_GROUPS_VERSION = 8
TOPIC_IDS_VERSION = 10

# Before this version there is no place for an error but the partitions.
_GROUP_ERROR_VERSION = 2

Found = OffsetFetchResponse.OffsetFetchResponseGroup
_Topic = OffsetFetchResponse.OffsetFetchResponseTopics
_Partition = OffsetFetchResponse.OffsetFetchResponsePartitions
Asked = OffsetFetchRequest.OffsetFetchRequestGroup


class Fetches:
    """Looks up the offsets of a partition's groups."""

    def __init__(self, context: Context, offsets: Offsets) -> None:
        self._context = context
        self._offsets = offsets

    def fetch(
        self,
        asked: Asked,
        *,
        by_id: bool,
        require_stable: bool,
        done: Callable[[Found], None],
        now_ms: int,
    ) -> None:
        """Calls `done` with what is committed. If it has to be stable, writes on their way are
        awaited first.
        """

        def look(error: ErrorCode, _now_ms: int) -> None:
            if error:
                done(Found(group_id=asked.group_id, error_code=error))
            else:
                done(self._found(asked, by_id=by_id, require_stable=require_stable))

        if require_stable:
            self._context.appends.after(look, now_ms)
        else:
            look(ErrorCode.NONE, now_ms)

    def _found(self, asked: Asked, *, by_id: bool, require_stable: bool) -> Found:
        found = Found(group_id=asked.group_id)
        group = self._context.groups.get(asked.group_id)
        of_epochs = self._context.consumers.get(asked.group_id) or self._context.streams.get(
            asked.group_id
        )
        known = group is not None and group.state is not GroupState.DEAD
        if of_epochs is not None:
            known = True
            found.error_code = check_fetch(of_epochs, asked.member_id, asked.member_epoch)
            if found.error_code:
                return found
        topics = self._everything(asked.group_id) if asked.topics is None else asked.topics
        for topic in topics:
            named = asked.topics is None or not by_id
            name = topic.name if named else self._context.topics.name_of(topic.topic_id)
            topic_id = topic.topic_id
            if by_id and named:
                known_id = self._context.topics.id_of(topic.name)
                if known_id is None:
                    continue  # everything was asked for, and this topic is gone
                topic_id = known_id
            found.topics.append(
                _Topic(
                    name="" if by_id else name or "",
                    topic_id=topic_id,
                    partitions=[
                        self._partition(asked.group_id, name, index, known, require_stable)
                        for index in topic.partition_indexes
                    ],
                )
            )
        return found

    def _everything(self, group_id: str) -> list[OffsetFetchRequest.OffsetFetchRequestTopics]:
        topics: dict[str, list[int]] = {}
        for tp in sorted(self._offsets.of(group_id)):
            topics.setdefault(tp.topic, []).append(tp.partition)
        return [
            OffsetFetchRequest.OffsetFetchRequestTopics(
                name=name, topic_id=ZERO_UUID, partition_indexes=indexes
            )
            for name, indexes in topics.items()
        ]

    def _partition(
        self, group_id: str, topic: str | None, index: int, known: bool, require_stable: bool
    ) -> _Partition:
        nothing = _Partition(partition_index=index, committed_offset=-1, metadata="")
        if topic is None:
            nothing.error_code = ErrorCode.UNKNOWN_TOPIC_ID
            return nothing
        tp = TopicPartition(topic, index)
        if require_stable and self._offsets.is_pending(group_id, tp):
            nothing.error_code = ErrorCode.UNSTABLE_OFFSET_COMMIT
            return nothing
        value = self._offsets.get(group_id, tp) if known else None
        if value is None:
            return nothing
        return _Partition(
            partition_index=index,
            committed_offset=value.offset,
            committed_leader_epoch=value.leader_epoch,
            metadata=value.metadata,
        )


def asked_groups(request: OffsetFetchRequest, version: int) -> list[Asked]:
    """What a request of any version asks for."""
    if version >= MANY_GROUPS_VERSION:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequest.OffsetFetchRequestTopics(
                name=topic.name, partition_indexes=topic.partition_indexes
            )
            for topic in request.topics
        ]
    return [Asked(group_id=request.group_id, topics=topics)]


def response_of(
    request: OffsetFetchRequest, version: int, found: list[Found]
) -> OffsetFetchResponse:
    """The answer in the form of the request's version."""
    if version >= MANY_GROUPS_VERSION:
        return OffsetFetchResponse(groups=found)
    (only,) = found
    response = OffsetFetchResponse(
        error_code=only.error_code,
        topics=[
            OffsetFetchResponse.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponse.OffsetFetchResponsePartition(
                        partition_index=one.partition_index,
                        committed_offset=one.committed_offset,
                        committed_leader_epoch=one.committed_leader_epoch,
                        metadata=one.metadata,
                        error_code=one.error_code,
                    )
                    for one in topic.partitions
                ],
            )
            for topic in only.topics
        ],
    )
    if only.error_code and version < _GROUP_ERROR_VERSION:
        response.topics = [
            OffsetFetchResponse.OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponse.OffsetFetchResponsePartition(
                        partition_index=index,
                        committed_offset=-1,
                        metadata="",
                        error_code=only.error_code,
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    return response
