"""The group coordinator of a node: requests in, answers and journal entries out; no I/O, no clock.

    owner                                      GroupCoordinator
      request, its caller, the time      -->    handle_request
      a connection is gone               -->    handle_closed
      time has come                      -->    handle_deadline
      append is through, or failed       -->    handle_appended
      partition gained, read, lost       -->    handle_elected, handle_entries, handle_loaded,
                                                handle_resigned
      what to append, answers            <--    next_append, next_reply
      when to come back                  <--    deadline

One input, drain `next_append` and `next_reply` to None, next input. An answer that depends on an
entry comes after the entry's append is through; JoinGroup and SyncGroup may be parked for long.
Every request is answered exactly once, or its connection is gone.

Source of the rules: Kafka 4.3 (GroupCoordinatorService, GroupMetadataManager,
OffsetMetadataManager); classic groups, in `consumer/` those of KIP-848, in `share/` those of
KIP-932, in `streams/` those of KIP-1071.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.coordinator.config import CoordinatorConfig
from kcore.coordinator.consumer import describing as consumer_describing
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.requests import check
from kcore.coordinator.context import AnyGroup, Context, Topics
from kcore.coordinator.describing import describe, listed
from kcore.coordinator.desk import Caller, Ticket
from kcore.coordinator.fetches import TOPIC_IDS_VERSION, Found, asked_groups, response_of
from kcore.coordinator.front import Front, partition_for
from kcore.coordinator.group import Group
from kcore.coordinator.journal import Epochs, Marker, marker_error
from kcore.coordinator.keeper import Keeper, NoKeeper
from kcore.coordinator.refusals import refuse
from kcore.coordinator.refused import RefusedError
from kcore.coordinator.shard import Shard
from kcore.coordinator.share import describing as share_describing
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.share.heartbeats import check as check_share
from kcore.coordinator.streams import describing as streams_describing
from kcore.coordinator.streams.described import check as check_description
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.requests import check as check_streams
from kcore.errors import UsageError
from kcore.structs import Rng
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import (
    AlterShareGroupOffsetsRequest,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DeleteShareGroupOffsetsRequest,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)

# Requests about one group, and the part of a shard that serves them.
_Serve = Callable[[Shard, Ticket, Any, int], None]
_ONE_GROUP: Final[dict[type[Message], _Serve]] = {
    JoinGroupRequest: lambda shard, *rest: shard.joining.handle(*rest),
    SyncGroupRequest: lambda shard, *rest: shard.membership.sync(*rest),
    HeartbeatRequest: lambda shard, *rest: shard.membership.heartbeat(*rest),
    LeaveGroupRequest: lambda shard, *rest: shard.membership.leave(*rest),
    OffsetCommitRequest: lambda shard, *rest: shard.commits.commit(*rest),
    TxnOffsetCommitRequest: lambda shard, *rest: shard.commits.commit_in_transaction(*rest),
    ConsumerGroupHeartbeatRequest: lambda shard, *rest: shard.heartbeats.handle(*rest),
    ShareGroupHeartbeatRequest: lambda shard, *rest: shard.share_heartbeats.handle(*rest),
    StreamsGroupHeartbeatRequest: lambda shard, *rest: shard.streams_heartbeats.handle(*rest),
    AlterShareGroupOffsetsRequest: lambda shard, *rest: shard.share_offsets.alter(*rest),
    DeleteShareGroupOffsetsRequest: lambda shard, *rest: shard.share_offsets.delete(*rest),
    StreamsGroupTopologyDescriptionUpdateRequest: lambda shard, *rest: (
        shard.streams_heartbeats.describe_topology(*rest)
    ),
    OffsetDeleteRequest: lambda shard, *rest: shard.cleaning.delete_offsets(*rest),
}

# Requests of members that can be wrong by themselves, and the class of their answers.
_Check = Callable[[Any, int, CoordinatorConfig], RefusedError | None]
_CHECKED: Final[Mapping[type[Message], tuple[_Check, Callable[..., Message]]]] = {
    ConsumerGroupHeartbeatRequest: (
        lambda request, version, config: check(request, version, config.group_consumer_assignors),
        ConsumerGroupHeartbeatResponse,
    ),
    ShareGroupHeartbeatRequest: (
        lambda request, _version, _config: check_share(request),
        ShareGroupHeartbeatResponse,
    ),
    StreamsGroupHeartbeatRequest: (
        lambda request, _version, config: check_streams(request, as_44=config.as_44),
        StreamsGroupHeartbeatResponse,
    ),
    StreamsGroupTopologyDescriptionUpdateRequest: (
        lambda request, _version, config: check_description(
            request, kept=config.describes_topologies
        ),
        StreamsGroupTopologyDescriptionUpdateResponse,
    ),
}

# What adds to a group waits while something is being removed.
_ADDS: Final = (JoinGroupRequest, OffsetCommitRequest, TxnOffsetCommitRequest)

# Groups without a name: allowed where offsets are, as they always were (KIP-289).
_NAMELESS: Final = (OffsetCommitRequest,)


class GroupCoordinator(Front[Shard]):
    """The coordinator of the groups whose partitions of `__consumer_offsets` this node leads.

    rng: member ids are drawn from it. wall_offset_ms: may be set again. keeper: who knows what is
    set for groups, keeps what share groups have read and makes topics. The rest: see `Front`.
    """

    def __init__(
        self,
        config: CoordinatorConfig,
        rng: Rng,
        topics: Topics | None = None,
        *,
        wall_offset_ms: int = 0,
        immediate: bool = False,
        keeper: Keeper | None = None,
    ) -> None:
        super().__init__(topics, wall_offset_ms=wall_offset_ms, immediate=immediate)
        self._config = config
        self._rng = rng
        self._keeper: Keeper = keeper or NoKeeper(config)
        self._running = True
        self._fan_outs: dict[type[Message], Callable[[Ticket, Any, int], None]] = {
            OffsetFetchRequest: self._fetch,
            DescribeGroupsRequest: self._describe,
            ConsumerGroupDescribeRequest: self._describe_consumers,
            ShareGroupDescribeRequest: self._describe_shares,
            DescribeShareGroupOffsetsRequest: self._describe_share_offsets,
            StreamsGroupDescribeRequest: self._describe_streams,
            ListGroupsRequest: self._list,
            DeleteGroupsRequest: self._delete,
        }

    # World in: requests --------------------------------------------------------------------------

    def handle_request(self, caller: Caller, version: int, request: Message, now_ms: int) -> None:
        """A request, decoded from this version of its API; its answer comes with `next_reply`.

        UsageError for messages that are not the coordinator's.
        """
        serve = _ONE_GROUP.get(type(request))
        fan_out = self._fan_outs.get(type(request))
        if serve is None and fan_out is None:
            raise UsageError(f"{type(request).__name__} is not for the group coordinator")
        ticket = self._desk.take(caller, version)
        if fan_out is not None:
            fan_out(ticket, request, now_ms)
        elif serve is not None:
            self._serve_group(serve, ticket, request, now_ms)
        self._purgatory.expire(now_ms)

    # World in: the journal -----------------------------------------------------------------------

    def handle_elected(self, partition: int) -> None:
        """The partition is led here from now on; its entries are to come."""
        context = Context(
            self._config,
            self._rng,
            self._topics,
            self._purgatory,
            self._wall_offset_ms,
            self._keeper,
        )
        shard = Shard(context, partition, self._appends, self._numbers, immediate=self._immediate)
        self._elect(partition, shard)

    def end_transaction(
        self, partition: int, marker: Marker, now_ms: int, *, transaction_version: int = 0
    ) -> ErrorCode:
        """Append the marker that decides about the offsets a producer has pending here.
        transaction_version: by the rules of which it is written.

        The owner sees that through by the append; an error means that none was made.
        """
        shard, error = self._shard_at(partition)
        if shard is not None:
            error = marker_error(
                Epochs(marker.producer_epoch, marker.coordinator_epoch),
                shard.offsets.epochs_of(marker.producer_id),
                transaction_version,
                opened=shard.offsets.has_pending(marker.producer_id),
            )
        if shard is not None and not error:
            shard.context.write([marker], lambda _error, _now_ms: None, now_ms)
        return error

    def delete_topics(
        self, topics: Collection[str], now_ms: int, partition: int | None = None
    ) -> None:
        """Topics are gone: so are the offsets in them. partition: of one that could not be told."""
        for number, shard in self._shards.items():
            if not shard.loading and partition in {None, number}:
                shard.cleaning.delete_topics(topics, now_ms)

    def set_wall_offset(self, wall_offset_ms: int) -> None:
        """The time of day has been set; sessions do not care, the age of offsets does."""
        self._wall_offset_ms = wall_offset_ms
        for shard in self._shards.values():
            shard.context.wall_offset_ms = wall_offset_ms

    def shutdown(self, now_ms: int) -> None:
        """The node stops: every partition is given up, requests get COORDINATOR_NOT_AVAILABLE."""
        self._running = False
        for partition in list(self._shards):
            self.handle_resigned(partition, now_ms)

    # State ---------------------------------------------------------------------------------------

    def partition_for(self, group_id: str) -> int:
        """Which partition of `__consumer_offsets` keeps a group."""
        return partition_for(group_id, self._config.offsets_topic_num_partitions)

    def group(self, group_id: str) -> Group | None:
        """A classic group that is kept here, to look at; None if there is none."""
        shard = self._shards.get(self.partition_for(group_id))
        return None if shard is None else shard.groups.get(group_id)

    def consumer_group(self, group_id: str) -> ConsumerGroup | None:
        """A consumer group that is kept here, to look at; None if there is none."""
        shard = self._shards.get(self.partition_for(group_id))
        return None if shard is None else shard.context.consumers.get(group_id)

    def share_group(self, group_id: str) -> ShareGroup | None:
        """A share group that is kept here, to look at; None if there is none."""
        shard = self._shards.get(self.partition_for(group_id))
        return None if shard is None else shard.context.shares.get(group_id)

    def streams_group(self, group_id: str) -> StreamsGroup | None:
        """A streams group that is kept here, to look at; None if there is none."""
        shard = self._shards.get(self.partition_for(group_id))
        return None if shard is None else shard.context.streams.get(group_id)

    # Requests ------------------------------------------------------------------------------------

    def _serve_group(self, serve: _Serve, ticket: Ticket, request: Any, now_ms: int) -> None:
        shard, error = self._shard_of(request.group_id, nameless=type(request) in _NAMELESS)
        if type(request) in _CHECKED and self._running:
            check_request, response = _CHECKED[type(request)]
            wrong = check_request(request, ticket.version, self._config)
            if wrong is not None:
                ticket.answer(wrong.answer(response))
                return
        if isinstance(request, JoinGroupRequest):
            error = self._join_error(request) or error
        if error or shard is None:
            refuse(ticket, request, error, self._topics)
            return

        def run(error: ErrorCode, now_ms: int) -> None:
            if error:
                refuse(ticket, request, error, self._topics)
            else:
                serve(shard, ticket, request, now_ms)

        if isinstance(request, _ADDS):
            shard.context.when_free(request.group_id, run, now_ms)
        else:
            run(ErrorCode.NONE, now_ms)

    def _join_error(self, request: JoinGroupRequest) -> ErrorCode:
        """What is wrong with a JoinGroup wherever it goes."""
        config = self._config
        lowest, highest = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
        if not self._running:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        if not lowest <= request.session_timeout_ms <= highest:
            return ErrorCode.INVALID_SESSION_TIMEOUT
        return ErrorCode.NONE

    def _fetch(self, ticket: Ticket, request: OffsetFetchRequest, now_ms: int) -> None:
        asked = asked_groups(request, ticket.version)
        found: dict[int, Found] = {}  # by place in the request: answers come in any order

        def finish(index: int, one: Found) -> None:
            found[index] = one
            if len(found) == len(asked):
                answers = [found[index] for index in range(len(asked))]
                ticket.answer(response_of(request, ticket.version, answers))

        if not asked:
            ticket.answer(response_of(request, ticket.version, []))
        for index, group in enumerate(asked):
            shard, error = self._shard_of(group.group_id, nameless=True)
            if error or shard is None:
                finish(index, Found(group_id=group.group_id, error_code=error))
                continue
            shard.fetches.fetch(
                group,
                by_id=ticket.version >= TOPIC_IDS_VERSION,
                require_stable=request.require_stable,
                done=lambda one, index=index: finish(index, one),  # type: ignore[misc]
                now_ms=now_ms,
            )

    def _describe(self, ticket: Ticket, request: DescribeGroupsRequest, _now_ms: int) -> None:
        def look(shard: Shard, group_id: str) -> Any:
            return describe(group_id, shard.groups.get(group_id), ticket.version)

        self._describe_each(ticket, request.groups, DescribeGroupsResponse(), look, nameless=True)

    def _describe_consumers(
        self, ticket: Ticket, request: ConsumerGroupDescribeRequest, _now_ms: int
    ) -> None:
        usual = self._config.group_consumer_assignors[0]

        def look(shard: Shard, group_id: str) -> Any:
            group = shard.context.consumers.get(group_id)
            return consumer_describing.describe(group_id, group, self._topics, usual)

        self._describe_each(ticket, request.group_ids, ConsumerGroupDescribeResponse(), look)

    def _describe_shares(
        self, ticket: Ticket, request: ShareGroupDescribeRequest, _now_ms: int
    ) -> None:
        def look(shard: Shard, group_id: str) -> Any:
            return share_describing.describe(group_id, shard.context.kept(group_id), self._topics)

        self._describe_each(ticket, request.group_ids, ShareGroupDescribeResponse(), look)

    def _describe_streams(
        self, ticket: Ticket, request: StreamsGroupDescribeRequest, _now_ms: int
    ) -> None:
        def look(shard: Shard, group_id: str) -> Any:
            assignor = self._keeper.streams_options(group_id).assignor_name
            return streams_describing.describe(
                group_id,
                shard.context.kept(group_id),
                assignor,
                with_description=request.include_topology_description,
            )

        self._describe_each(ticket, request.group_ids, StreamsGroupDescribeResponse(), look)

    def _describe_each(
        self,
        ticket: Ticket,
        group_ids: Iterable[str],
        response: Any,
        look: Callable[[Shard, str], Any],
        *,
        nameless: bool = False,
    ) -> None:
        """Answer with what `look` finds of each group that is kept here."""
        for group_id in group_ids:
            shard, error = self._shard_of(group_id, nameless=nameless)
            if error or shard is None:
                found = response.DescribedGroup(group_id=group_id, error_code=error)
            else:
                found = look(shard, group_id)
            response.groups.append(found)
        ticket.answer(response)

    def _describe_share_offsets(
        self, ticket: Ticket, request: DescribeShareGroupOffsetsRequest, _now_ms: int
    ) -> None:
        response = DescribeShareGroupOffsetsResponse()
        for asked in request.groups:
            shard, error = self._shard_of(asked.group_id)
            if error or shard is None:
                one = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup(
                    group_id=asked.group_id, error_code=error
                )
            else:
                one = shard.share_offsets.describe(asked)
            response.groups.append(one)
        ticket.answer(response)

    def _list(self, ticket: Ticket, request: ListGroupsRequest, _now_ms: int) -> None:
        shards, error = self._all_shards()
        if not self._running:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        if error:
            ticket.answer(ListGroupsResponse(error_code=error))
            return
        groups: list[AnyGroup] = []
        for shard in shards:
            groups += shard.groups.values()
            groups += shard.context.consumers.values()
            groups += shard.context.shares.values()
            groups += shard.context.streams.values()
        found = listed(groups, request.states_filter, request.types_filter)
        ticket.answer(ListGroupsResponse(groups=found))

    def _delete(self, ticket: Ticket, request: DeleteGroupsRequest, now_ms: int) -> None:
        names: Sequence[str] = list(dict.fromkeys(request.groups_names))
        errors: dict[str, ErrorCode] = {}

        def finish(group_id: str, error: ErrorCode) -> None:
            errors[group_id] = error
            if len(errors) == len(names):
                results = [
                    DeleteGroupsResponse.DeletableGroupResult(
                        group_id=name, error_code=errors[name]
                    )
                    for name in names
                ]
                ticket.answer(DeleteGroupsResponse(results=results))

        if not names:
            ticket.answer(DeleteGroupsResponse())
        for group_id in names:
            shard, error = self._shard_of(group_id, nameless=True)
            if error or shard is None:
                finish(group_id, error)
                continue
            shard.cleaning.delete_group(
                group_id,
                lambda error, group_id=group_id: finish(group_id, error),  # type: ignore[misc]
                now_ms,
            )

    # Shards --------------------------------------------------------------------------------------

    def _shard_of(self, group_id: str, *, nameless: bool = False) -> tuple[Shard | None, ErrorCode]:
        """Who keeps a group, or why nobody here does."""
        if self._running and not group_id and not nameless:
            return None, ErrorCode.INVALID_GROUP_ID
        return self._shard_at(self.partition_for(group_id))

    def _shard_at(self, partition: int) -> tuple[Shard | None, ErrorCode]:
        if not self._running:
            return None, ErrorCode.COORDINATOR_NOT_AVAILABLE
        return super()._shard_at(partition)
