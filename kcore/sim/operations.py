"""What who operates the cluster does to groups, with an admin client: one function a kind of fault,
as in `faults.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kcore.admin.commits import list_group_offsets
from kcore.admin.groups import describe_groups
from kcore.admin.shares import list_share_group_offsets
from kcore.sim.plan import Fault

if TYPE_CHECKING:
    from kcore.errors import KafkaError
    from kcore.sim.chance import Chance
    from kcore.sim.world import World


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


OPERATIONS: Final[dict[Fault, Callable[[World, Chance], None]]] = {
    Fault.AUDIT: _audit,
}
