"""What must be true of producers when the faults are over, and when everybody has left.

Every producer can write, nothing is open, what was promised is in the log, every record that is
committed was moved once, and readers have got all there is for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcore.sim.exact.copies import Deal, Fate, Item, at
from kcore.sim.exact.movers import OUT, Mover
from kcore.sim.exact.readers import Reader
from kcore.sim.exact.writers import Writer

if TYPE_CHECKING:
    from kcore.sim.exact.judge import ExactJudge
    from kcore.sim.world import World
    from kcore.structs import TopicPartition

_SHOWN: Final = 8


def unsettled(world: World, judge: ExactJudge) -> list[str]:
    """What is not well yet, in words."""
    partitions = world.brokers.partitions()
    judge.copies.read_all()
    wrong = []
    for process in world.living():
        if isinstance(process, Writer | Mover) and not process.settled:
            wrong.append(f"{process.name} is {_state(process)}")
        elif isinstance(process, Reader):
            wrong += [
                f"{process.name} has {left} records of {at(tp)} to get"
                for tp in partitions
                if (left := process.left(tp))
            ]
    moving = any(isinstance(process, Mover) for process in world.living())
    for tp in partitions:
        wrong += _open(world, judge, tp)
        life = judge.copies.life(tp)
        if moving and not tp.topic.endswith(OUT):
            wrong += [
                f"{item} at {offset} was not moved"
                for offset, item in judge.copies.shown(tp, life, 0, committed=True)
                if not judge.copies.is_moved((tp, life, offset))
            ]
    return wrong + [text for item in judge.copies.items.values() for text in _item(item)]


def _state(process: Writer | Mover) -> str:
    producing = process.producing
    state = producing.core.transaction_state
    return "not done" if state is None else f"{state.value}"


def _open(world: World, judge: ExactJudge, tp: TopicPartition) -> list[str]:
    """Who reads what is committed gets all of it."""
    partition = world.brokers.cluster.partition(tp.topic, tp.partition)
    log = partition.log
    if log.high_watermark < log.end_offset:
        return [f"{at(tp)} is replicated up to {log.high_watermark} of {log.end_offset}"]
    if log.last_stable_offset < log.high_watermark:
        deals = {item.deal for items in judge.copies.copies[tp].open.values() for item in items}
        return [f"{at(tp)} is open since {log.last_stable_offset}: {_names(deals)}"]
    return []


def _names(deals: set[Deal | None]) -> str:
    return ", ".join(sorted(str(deal) for deal in deals)) or "nobody knows why"


def _item(item: Item) -> list[str]:
    if item.wanted and item.offset is None:
        return [f"{item} was promised, and is not there"]
    deal = item.deal
    excused = item.lost or item.refused
    if deal is not None and deal.told is Fate.COMMITTED and not (item.visible or excused):
        return [f"{deal} is committed, and {item} is not"]
    return []


def left_behind(world: World, judge: ExactJudge) -> list[str]:
    """What is open when all are gone, in words: what they left open ends by its timeout."""
    partitions = world.brokers.partitions()
    judge.copies.read_all()
    return [text for tp in partitions for text in _open(world, judge, tp)][:_SHOWN]
