"""Why a partition is or is not being fetched, in a few words for people (never parsed)."""

from __future__ import annotations

from kcore.fetch.partition import ASIDE, HELD, PAUSED, SUSPENDED, Partition
from kcore.fetch.planner import Planner
from kcore.fetch.positions import Positions
from kcore.fetch.states import PartitionState
from kcore.hints import Final
from kcore.structs import TopicPartition

_ITS_TURN: Final = "behind, and so are others: its turn comes"


def describe(positions: Positions, planner: Planner, tp: TopicPartition) -> str:
    """The first reason that holds; "fetching" if there is none."""
    partition = positions.find(tp)
    if partition is None:
        return "not assigned"
    if partition.flags & SUSPENDED:
        return "about to be given up in a rebalance"
    if partition.flags & HELD:
        return "waiting for the application to take note of the assignment"
    if partition.flags & PAUSED:
        return "paused"
    if partition.state is not PartitionState.FETCHING:
        return _without_position(partition)
    if partition.flags & ASIDE:
        return "left aside: nobody reads it now"
    return _with_position(partition, planner)


def _without_position(partition: Partition) -> str:
    why = f" ({partition.error})" if partition.error else ""
    if partition.state is PartitionState.AWAIT_RESET:
        return f"position unknown: looking up the {partition.strategy.value} offset{why}"
    if partition.state is PartitionState.AWAIT_VALIDATION:
        return f"validating position{why}"
    if partition.undecided:
        return "position unknown: nothing is committed and there is no reset policy"
    return "position unknown: waiting for committed offset"


def _with_position(partition: Partition, planner: Planner) -> str:
    if partition.refused or not partition.can_go_on:
        return f"stuck at offset {partition.offset}: an error waits to be raised"
    if partition.node is None:
        return f"not fetched for now: {partition.error or 'not planned yet'}"
    plan = planner.nodes[partition.node]
    waits = partition.tp not in plan.window
    if plan.in_flight:
        return _ITS_TURN if waits else "fetching"
    if planner.starved(plan):
        return "buffer full"
    if plan.failures or plan.early:
        return f"node {plan.node_id} failed to answer, asked again soon"
    if waits:
        return _ITS_TURN
    return "records buffered" if plan.waiting else "fetching"
