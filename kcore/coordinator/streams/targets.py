"""What each member of a streams group is to get, and how the journal says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kcore.coordinator.journal import Item
from kcore.coordinator.streams import records
from kcore.coordinator.streams.assignor import Worker, assign
from kcore.coordinator.streams.configuring import Configured
from kcore.coordinator.streams.group import NOTHING_REPORTED, Reported
from kcore.coordinator.streams.member import NO_TARGET, StreamsMember, Tasks
from kcore.coordinator.streams.options import StreamsOptions
from kcore.tuples import NamedTuple


class Ground(NamedTuple):
    """What a target is made on. before: the last one; offsets: what members said, both by member
    id. as_44: as by a Kafka 4.4, which goes by what members have, and before by the last target.
    """

    members: Iterable[StreamsMember]
    before: Mapping[str, Tasks]
    offsets: Mapping[str, Reported]
    configured: Configured
    options: StreamsOptions
    as_44: bool


def new_target(group_id: str, ground: Ground) -> tuple[list[Item], dict[str, Tasks]]:
    """What each of the members is to get, and how it is written; nothing, as long as topics are not
    as they have to be.
    """
    workers = {one.member_id: _worker(one, ground) for one in ground.members}
    targets = dict.fromkeys(workers, NO_TARGET)
    parts = ground.configured.parts
    if ground.configured.ready:
        standbys = ground.options.num_standby_replicas
        targets = assign(workers, parts, standbys, as_44=ground.as_44)
    items: list[Item] = [
        records.target_entry(group_id, member_id, target)
        for member_id, target in targets.items()
        if ground.before.get(member_id) != target
    ]
    return items, targets


def _worker(member: StreamsMember, ground: Ground) -> Worker:
    if not ground.as_44:
        return Worker(member.process_id, ground.before.get(member.member_id, NO_TARGET))
    has = Tasks(frozenset(member.assigned.active), member.assigned.standby)
    reported = ground.offsets.get(member.member_id, NOTHING_REPORTED)
    return Worker(member.process_id, has, reported.done)
