"""One heartbeat on its way through a streams group: what it changes, as entries.

It reads the group and changes nothing there; that is for the entries to do once they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kcore.coordinator.consumer.topics import metadata_hash
from kcore.coordinator.heartbeating import is_old_enough
from kcore.coordinator.journal import Item
from kcore.coordinator.refused import RefusedError
from kcore.coordinator.streams import records
from kcore.coordinator.streams.configuring import Configured, configure
from kcore.coordinator.streams.group import NOTHING_REPORTED, StreamsGroup
from kcore.coordinator.streams.member import NO_TARGET, StreamsMember, Tasks
from kcore.coordinator.streams.options import StreamsOptions
from kcore.coordinator.streams.reconciling import Goal, reconcile
from kcore.coordinator.streams.requests import owned_by, reported_by
from kcore.coordinator.streams.states import Status
from kcore.coordinator.streams.statics import left_for_a_while, static_member
from kcore.coordinator.streams.targets import Ground, new_target
from kcore.coordinator.streams.topology import Topology, topology_of
from kcore.limits import MAX_NAME_CHARS
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse

if TYPE_CHECKING:
    from kcore.coordinator.context import Context

# No topology is valid in the cluster as it is.
_NONE_VALID: Final = -1

# What a status says at most: so that it fits a string, whatever its characters are.
DETAIL_CHARS_MAX: Final = 8_000

_Status = StreamsGroupHeartbeatResponse.Status


class Beat:
    """Entries in `items`, the member before and after in `old` and `member`, what it is told of the
    group in `statuses`.
    """

    def __init__(
        self, context: Context, group: StreamsGroup, items: Sequence[Item], wall_ms: int
    ) -> None:
        self._context = context
        self._group = group
        self._wall_ms = wall_ms
        self._options: StreamsOptions = context.keeper.streams_options(group.group_id)
        self._as_44 = context.config.as_44
        self.items = list(items)
        self.statuses: list[_Status] = []
        self.old: StreamsMember
        self.member: StreamsMember
        self.configured: Configured
        self.replaced: str | None = None  # member id of the one whose place the member takes
        self.reported = NOTHING_REPORTED
        self._is_static = False  # comes with an instance id
        self.is_stale = False  # has an older topology than the group
        self._epoch = group.epoch  # of the group, once the entries are written

    def tell(self, status: Status, detail: str) -> None:
        """The member is told of it; names of a client's may be in it."""
        text = detail[:DETAIL_CHARS_MAX]
        self.statuses.append(_Status(status_code=status, status_detail=text))

    # The member ----------------------------------------------------------------------------------

    def find(self, request: StreamsGroupHeartbeatRequest) -> None:
        """Who this is. Epoch 0 is always let in: a member that was fenced begins again with it. The
        last epoch is, if what the member has was its own in it: the answer with the new one was
        lost.
        """
        group, epoch = self._group, request.member_epoch
        if request.instance_id is None:
            old = group.members.get(request.member_id)
            if old is None and epoch:
                raise unknown(request.member_id, group.group_id)
        elif epoch:
            old = static_member(group, request.instance_id, request.member_id)
        else:
            old = self._returned(request.instance_id, request.member_id)
        self._is_static = request.instance_id is not None
        self.old = old or group.members.get(request.member_id) or StreamsMember(request.member_id)
        if epoch:
            _check_epoch(request, self.old)
        before = group.offsets.get(request.member_id, NOTHING_REPORTED)
        self.reported = reported_by(request, before)

    def _returned(self, instance_id: str, member_id: str) -> StreamsMember | None:
        """The member that takes the place of the one with this instance id, and all that it had;
        None if there is none.
        """
        before = left_for_a_while(self._group, instance_id, member_id)
        if before is None:
            return None
        if before.member_id != member_id:
            self.replaced = before.member_id
        member = replace(before, member_id=member_id, epoch=0, previous_epoch=0)
        self.items += records.replacing(self._group, before, member)
        return member

    def merge(self, request: StreamsGroupHeartbeatRequest, client_id: str, host: str) -> None:
        """What is not said is as it was."""
        old = self.old
        timeout_ms, endpoint = request.rebalance_timeout_ms, request.user_endpoint
        tags, topology = request.client_tags, request.topology
        answers = None if endpoint is None else (endpoint.host, endpoint.port)
        if answers is None and (request.member_epoch or not self._as_44):
            answers = old.endpoint
        self.member = replace(
            old,
            instance_id=request.instance_id or old.instance_id,
            rack_id=old.rack_id if request.rack_id is None else request.rack_id,
            rebalance_timeout_ms=old.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
            topology_epoch=old.topology_epoch if topology is None else topology.epoch,
            process_id=old.process_id if request.process_id is None else request.process_id,
            endpoint=answers,
            tags=old.tags if tags is None else {tag.key: tag.value for tag in tags},
            client_id=client_id,
            client_host=host,
        )

    # Its topology --------------------------------------------------------------------------------

    def configure(self, request: StreamsGroupHeartbeatRequest) -> None:
        """The topology in the cluster as it is now; and perhaps the group has a new epoch."""
        group, member = self._group, self.member
        bump = member != self.old
        if bump:
            self.items.append(records.member_entry(group.group_id, member))
            bump = not self._is_static or _counts(member) != _counts(self.old)
        topology = self._topology(request.topology)
        if group.topology is not None and member.topology_epoch < group.topology.epoch:
            self.is_stale = True
            self.tell(
                Status.STALE_TOPOLOGY,
                f"The member's topology epoch {member.topology_epoch} is behind the group's"
                f" topology epoch {group.topology.epoch}.",
            )
        topics, value, configured = self._context.topics, group.metadata_hash, group.configured
        if configured is None or group.seen_version != topics.version:
            value = metadata_hash(topics, topology.topics)
            if value != group.metadata_hash:
                bump, configured = True, None
        self.configured = configured or configure(topology, topics)
        validated = topology.epoch if self.configured.ready else _NONE_VALID
        if self.configured.ready:
            self._check_tasks(request)
        configs = self._options.assignment_configs
        if bump or validated != group.validated_epoch or configs != group.configs:
            self._epoch += 1
            self.items.append(
                records.epoch_entry(group.group_id, self._epoch, value, validated, configs)
            )

    def _topology(self, said: StreamsGroupHeartbeatRequest.Topology | None) -> Topology:
        known = self._group.topology
        if said is None:
            if known is None:
                raise RefusedError(
                    ErrorCode.UNKNOWN_SERVER_ERROR, "the topology of the group is not known"
                )
            return known
        try:
            topology = topology_of(said)
        except ValueError as error:
            raise RefusedError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from None
        if topology.epoch < 0:
            raise RefusedError(
                ErrorCode.UNKNOWN_SERVER_ERROR, "Topology epoch must be non-negative."
            )
        if known is None:
            self.items.append(records.topology_entry(self._group.group_id, topology))
            return topology
        if known.epoch <= topology.epoch and known != topology:
            raise RefusedError(ErrorCode.INVALID_REQUEST, "Topology updates are not supported yet.")
        return known

    def _check_tasks(self, request: StreamsGroupHeartbeatRequest) -> None:
        """What a member says it has are tasks that there can be; in the order in which it says so,
        and of each part, also without tasks, that there is one.
        """
        roles = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
        for said in (one for role in roles for one in role or ()):
            name, part = said.subtopology_id, self.configured.parts.get(said.subtopology_id)
            if part is None:
                raise RefusedError(
                    ErrorCode.INVALID_REQUEST,
                    f"Subtopology {name[:MAX_NAME_CHARS]} does not exist in the topology.",
                )
            for number in said.partitions:
                if not 0 <= number < part.task_count:
                    raise RefusedError(
                        ErrorCode.INVALID_REQUEST,
                        f"Task {number} for subtopology {name} is invalid. Number of tasks for this"
                        f" subtopology: {part.task_count}",
                    )

    # What it gets --------------------------------------------------------------------------------

    def advance(self, owned: Tasks | None, *, delayed: bool) -> None:
        """A new target if there is none for this epoch, and the member's way to it. delayed: the
        group is new, and others are awaited first.
        """
        group, member_id = self._group, self.member.member_id
        epoch, target = group.target_epoch, group.target_of(self.replaced or member_id)
        if delayed:
            target = NO_TARGET
            self._tell_delayed("initial rebalance delay")
        elif epoch < self._epoch:
            if may_assign(group, self._options, self._wall_ms):
                epoch = self._epoch
                items, targets = self._new_target()
                self.items += items
                target = targets[member_id]
                self.items.append(records.target_epoch_entry(group.group_id, epoch, self._wall_ms))
            else:
                self._tell_delayed("assignment interval")
        member = reconcile(self.member, Goal(epoch, target, group, owned, self._as_44))
        if member is None:
            raise RefusedError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The streams group member is in a unknown state. The member must abandon all its"
                " tasks and rejoin.",
            )
        if member != self.member:
            self.items.append(records.current_entry(group.group_id, member))
        self.member = member

    def others(self) -> Iterator[StreamsMember]:
        """All that are there beside the member."""
        here = {self.member.member_id, self.replaced}
        return (one for one in self._group.members.values() if one.member_id not in here)

    def _new_target(self) -> tuple[list[Item], dict[str, Tasks]]:
        group, member_id = self._group, self.member.member_id
        before = dict(group.target)
        if self.replaced in before:
            before[member_id] = before.pop(self.replaced)
        members = {one.member_id: one for one in group.ordered()}
        members.pop(self.replaced or "", None)
        members[member_id] = self.member
        ground = Ground(
            members.values(),
            before,
            {**group.offsets, member_id: self.reported},
            self.configured,
            self._options,
            self._as_44,
        )
        return new_target(group.group_id, ground)

    def _tell_delayed(self, why: str) -> None:
        self.tell(Status.ASSIGNMENT_DELAYED, f"Assignment delayed due to the configured {why}.")


def may_assign(group: StreamsGroup, options: StreamsOptions, wall_ms: int) -> bool:
    """Whether the last target is old enough (KIP-1263)."""
    return is_old_enough(group.target_wall_ms, options.assignment_interval_ms, wall_ms)


def unknown(member_id: str, group_id: str) -> RefusedError:
    """Nobody of that name is there."""
    return RefusedError(
        ErrorCode.UNKNOWN_MEMBER_ID,
        f"Member {member_id[:MAX_NAME_CHARS]} is not a member of group"
        f" {group_id[:MAX_NAME_CHARS]}.",
    )


def _counts(member: StreamsMember) -> tuple[object, ...]:
    """What of a member with an instance id makes a new target, if it changes."""
    return member.topology_epoch, member.rack_id, member.tags, member.process_id


def _check_epoch(request: StreamsGroupHeartbeatRequest, member: StreamsMember) -> None:
    epoch = request.member_epoch
    if epoch > member.epoch:
        raise _fenced("greater", epoch, member)
    if epoch < member.epoch:
        owned = owned_by(request)
        lost = (
            epoch == member.previous_epoch and owned is not None and owned.within(member.assigned)
        )
        if not lost:
            raise _fenced("smaller", epoch, member)


def _fenced(which: str, epoch: int, member: StreamsMember) -> RefusedError:
    return RefusedError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The streams group member has a {which} member epoch ({epoch}) than the one known by the"
        f" group coordinator ({member.epoch}). The member must abandon all its partitions and"
        " rejoin.",
    )
