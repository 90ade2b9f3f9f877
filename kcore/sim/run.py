"""One run from its seed: members and brokers under faults, then peace, then the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kcore.coordinator.group import Group
from kcore.sim import faults
from kcore.sim.chance import Chance, Source
from kcore.sim.exact import settle as exact
from kcore.sim.exact.judge import ExactJudge
from kcore.sim.plan import Plan, draw
from kcore.sim.settle import settle
from kcore.sim.share import settle as shares
from kcore.sim.share.judge import ShareJudge
from kcore.sim.trace import TraceEvent, What
from kcore.sim.violations import Rule, ViolationError, escaped
from kcore.sim.world import World

_LOOK_EVERY_MS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run. `violation` is None if it was well; `tail` are the last lines then.

    settled_ms: from the last fault until all was well; None if it never was.
    """

    plan: Plan
    digest: str
    steps: int
    ended_ms: int
    settled_ms: int | None
    counts: dict[str, int]
    violation: ViolationError | None
    tail: list[str]
    events: list[TraceEvent]


def plan_of(source: Source | Callable[[int], Any], seed: int) -> Plan:
    """What a seed says its run is to be."""
    return draw(Chance(source, seed), seed)


def simulate(plan: Plan, source: Source | Callable[[int], Any]) -> Outcome:
    """Run it. source: makes a stream of randomness from a seed; the class `random.Random` does."""
    chance = Chance(source, plan.seed + 1)
    world = World(plan, chance)
    violation: ViolationError | None = None
    settled_ms: int | None = None
    try:
        begin(world, chance)
        world.run_until(plan.duration_ms)
        faults.heal(world)
        world.watch.calm()
        settled_ms = settle(world)
        close(world)
    except ViolationError as found:
        violation = found
    except Exception as error:  # noqa: BLE001 - whatever escapes is what was found
        violation = escaped(error)
    trace = world.trace
    return Outcome(
        plan=plan,
        digest=trace.digest,
        steps=trace.steps,
        ended_ms=world.now_ms,
        settled_ms=settled_ms,
        counts=counts_of(world),
        violation=violation,
        tail=trace.tail(),
        events=trace.events,
    )


def begin(world: World, chance: Chance) -> None:
    """Members come, and what goes wrong is on its way."""
    for slot in world.slots:
        world.start_member(slot)
    faults.schedule(world, chance)


def close(world: World) -> None:
    """Everybody leaves in peace; nothing is left behind. Static members do not say that they go,
    and a join of theirs may be parked: that takes as long as settling does.
    """
    end_ms = world.now_ms + world.plan.settle_within_ms
    world.ending = True
    if not world.dismiss():
        raise ViolationError(Rule.OPERATED, "the admin client does not close")
    for member in list(world.living()):
        member.close()
    left = left_behind(world)
    while left and world.now_ms < end_ms:
        world.run_until(world.now_ms + _LOOK_EVERY_MS)
        left = left_behind(world)
    if left:
        raise ViolationError(Rule.SETTLES, f"all have left, and still {'; '.join(left)}")


def left_behind(world: World) -> list[str]:
    """What is there that should not be when all members are gone, in words."""
    left = [f"{member.name} is not closed" for member in world.living()]
    for peer in world.brokers.peers.values():
        coordinator = peer.node.groups.coordinator
        for group_id in world.judge.groups:
            group = peer.group(group_id)
            pending = group.pending_join if isinstance(group, Group) else ()
            if group is not None and (group.members or pending):
                left.append(f"{group_id} has {[*group.members, *sorted(pending)]}")
        if coordinator.parked:
            left.append(f"{peer.name} has {coordinator.parked} requests to answer")
    if isinstance(world.judge, ShareJudge):
        left += shares.left_behind(world, world.judge)
    elif isinstance(world.judge, ExactJudge):
        left += exact.left_behind(world, world.judge)
    return left


def counts_of(world: World) -> dict[str, int]:
    """How much happened."""
    judge = world.judge
    return {
        "members": world.started,
        "generations": sum(max(book.generation, 0) for book in judge.groups.values()),
        "requests": world.ledger.requests,
        "connects": world.network.connects,
        "records": world.producer.acknowledged,
        "delivered": judge.logs.delivered,
        **judge.counts(),
        "faults": sum(event.what is What.FAULT for event in world.trace.events),
    }
