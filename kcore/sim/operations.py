"""What who operates the cluster does to groups, with an admin client: one function a kind of fault,
as in `faults.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kcore.admin.commits import alter_group_offsets, delete_group_offsets, list_group_offsets
from kcore.admin.configs import alter_configs
from kcore.admin.groups import delete_groups, describe_groups, remove_group_members
from kcore.admin.shares import list_share_group_offsets
from kcore.admin.values import AlterConfigOp, ConfigResourceType, MemberToRemove
from kcore.sim.plan import RETUNED_DELIVERIES, Fault, Plan
from kcore.structs import OffsetAndMetadata

if TYPE_CHECKING:
    from kcore.admin.core import Procedure
    from kcore.errors import KafkaError
    from kcore.sim.chance import Chance
    from kcore.sim.processes import Process
    from kcore.sim.world import World


# How long a group is stopped at most, if its members, or some that come meanwhile, do not leave it;
# how soon somebody looks whether it is empty.
_STOPPED_MS: Final = 15_000
_LOOK_MS: Final = 500


def _group(world: World, chance: Chance) -> str:
    return chance.one_of(sorted({slot.group_id for slot in world.slots}))


def _nothing(_result: Any, _error: KafkaError | None) -> None:
    """It is no matter."""


def _audit(world: World, chance: Chance) -> None:
    group_id = _group(world, chance)
    world.fault(Fault.AUDIT, group_id)
    if chance.happens(0.3):
        world.operator.ask(describe_groups([group_id], operations=False), _nothing)
        return
    operator = world.operator
    found = world.judge.interventions.look(group_id, world.brokers.partitions())

    def then(result: Any, error: KafkaError | None) -> None:
        if error is None:
            found(result[group_id])

    if world.plan.share:
        operator.ask(list_share_group_offsets({group_id: None}), then)
    else:
        operator.ask(list_group_offsets({group_id: None}, require_stable=True), then)


def least_session_ms(plan: Plan) -> int:
    """The shortest session that may be set."""
    return plan.session_timeout_ms * 2 // 3


def least_heartbeat_ms(plan: Plan) -> int:
    """The shortest interval between heartbeats that may be set."""
    return plan.heartbeat_interval_ms // 2


def _tunings(plan: Plan) -> dict[str, tuple[int | str, ...]]:
    """What may be set, and to what: sessions no longer than at first, locks and deliveries no less;
    never so that an interval is above the time that a member has.
    """
    kind = "share" if plan.share else "consumer"
    tunings: dict[str, tuple[int | str, ...]] = {
        f"{kind}.session.timeout.ms": (plan.session_timeout_ms, least_session_ms(plan)),
        f"{kind}.heartbeat.interval.ms": (plan.heartbeat_interval_ms, least_heartbeat_ms(plan)),
    }
    interval_ms = plan.assignment_interval_ms
    if not plan.share:
        return tunings | {"consumer.assignment.interval.ms": (0, interval_ms)}
    return tunings | {
        "share.record.lock.duration.ms": (plan.lock_ms, plan.longest_lock_ms),
        "share.delivery.count.limit": tuple(
            range(plan.delivery_limit, plan.delivery_limit + RETUNED_DELIVERIES + 1)
        ),
        "share.partition.max.record.locks": (100, 2_000),
        "share.assignment.interval.ms": (0, interval_ms),
    }


def _retune(world: World, chance: Chance) -> None:
    group_id, tunings = _group(world, chance), _tunings(world.plan)
    name = chance.one_of(list(tunings))
    value = str(chance.one_of(tunings[name]))
    change: tuple[AlterConfigOp, str | None] = (AlterConfigOp.SET, value)
    if chance.happens(0.2):
        change, value = (AlterConfigOp.DELETE, None), "as by default"
    world.fault(Fault.RETUNE, group_id, option=f"{name}: {value}")
    world.operator.ask(
        alter_configs(
            {(ConfigResourceType.GROUP, group_id): {name: change}},
            validate_only=False,
            raise_on_unknown=False,
            raise_errors=True,
        ),
        _nothing,
    )


def _evict(world: World, chance: Chance) -> None:
    """By its name, if it has one, or by the id that it has now."""
    able = [member for member in world.living() if not member.closing and member.member_id]
    if not able:
        return
    member: Process = chance.one_of(able)
    instance_id = member.habits.instance_id
    world.fault(Fault.EVICT, member.name)
    who = MemberToRemove(
        member_id=None if instance_id else member.member_id,
        group_instance_id=instance_id,
        reason="the operator wants it",
    )
    world.operator.ask(remove_group_members(member.group_id, [who], raise_errors=False), _nothing)


def _reset(world: World, chance: Chance) -> None:
    """All members close, and come again when it is done. Who stands still is ended."""
    group_id = _group(world, chance)
    if group_id in world.stopped:
        return
    until_ms = world.now_ms + _STOPPED_MS
    world.fault(Fault.RESET, group_id, until_ms=until_ms)
    world.stopped.add(group_id)
    names: list[str] = []
    for member in list(world.living()):
        if member.group_id == group_id:
            names.append(member.name)
            if member.paused:
                member.crash(told=False)
            else:
                member.close()
    _when_empty(world, chance, group_id, names, until_ms)


def _when_empty(
    world: World, chance: Chance, group_id: str, names: list[str], until_ms: int
) -> None:
    group = world.brokers.group_of(group_id)
    if world.healed or world.now_ms >= until_ms:
        _go_on(world, group_id, names)
    elif group is None or group.members:
        world.at(world.now_ms + _LOOK_MS, _when_empty, world, chance, group_id, names, until_ms)
    else:
        world.operator.ask(
            _change(world, chance, group_id), lambda *_: _look_back(world, group_id, names)
        )


def _change(world: World, chance: Chance, group_id: str) -> Procedure[Any]:
    """Of some partitions, or all that there is."""
    tps = chance.some_of(world.brokers.partitions(), 0.6)
    what = chance.one_of(("alter", "alter", "delete", "delete the group"))
    if what == "delete the group" or not tps:
        return delete_groups([group_id], raise_errors=True)
    if what == "delete":
        return delete_group_offsets(group_id, tps, raise_errors=True)
    offsets = {}
    for tp in tps:
        partition = world.brokers.partition(tp)
        assert partition is not None
        end = world.judge.logs.end_offset(tp)  # what is behind that may be lost with its leader
        first = min(partition.log.start_offset, end)
        offsets[tp] = OffsetAndMetadata(chance.between(first, end))
    return alter_group_offsets(group_id, offsets, raise_errors=True)


def _look_back(world: World, group_id: str, names: list[str]) -> None:
    """What was done is so before anybody comes again."""
    found = world.judge.interventions.look(group_id, world.brokers.partitions())

    def then(result: Any, error: KafkaError | None) -> None:
        if error is None:
            found(result[group_id])
        _go_on(world, group_id, names)

    world.operator.ask(list_group_offsets({group_id: None}), then)


def _go_on(world: World, group_id: str, names: list[str]) -> None:
    world.stopped.discard(group_id)
    for slot in [] if world.ending else list(world.slots):
        if slot.name in names and slot.name not in {one.name for one in world.living()}:
            world.start_member(slot)


OPERATIONS: Final[dict[Fault, Callable[[World, Chance], None]]] = {
    Fault.AUDIT: _audit,
    Fault.RETUNE: _retune,
    Fault.EVICT: _evict,
    Fault.RESET: _reset,
}
