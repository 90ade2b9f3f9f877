"""A rebalance that the application asks for (KIP-568, KIP-800): in every step there is, by both
protocols.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from consumer_world import BEAT, ConsumerWorld
from group_asks import T10
from group_world import CooperativeRange, World, tps

from kcore.group.consumer_states import ConsumerState
from kcore.group.states import MemberState, Step
from kcore.structs import OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

WHY = "the disks are full"


def member(**config: object) -> World:
    world = World(config={"await_acknowledgement": True} | config)
    world.become_stable()
    world.host.consumed = {T10: OffsetAndMetadata(100)}
    return world


def rebalancing(**config: object) -> World:
    """A poll has found that another round is due."""
    world = member(**config)
    world.member.request_rejoin("the first", world.now)
    world.poll()
    return world


def joining() -> World:
    world = rebalancing()
    world.ack()
    return world


def ready() -> World:
    world = joining()
    world.answer(ApiKey.JOIN_GROUP, E.COORDINATOR_LOAD_IN_PROGRESS)
    return world


def syncing() -> World:
    world = joining()
    world.answer(ApiKey.JOIN_GROUP, leader="me")
    return world


def delivering() -> World:
    world = joining()
    world.join("t1-0")
    return world


def assigning() -> World:
    world = delivering()
    world.poll()
    return world


def shedding() -> World:
    world = rebalancing(assignors=(CooperativeRange(),))
    world.join("t1-0")
    world.poll()
    return world


def halted(code: E = E.GROUP_AUTHORIZATION_FAILED) -> World:
    world = joining()
    world.answer(ApiKey.JOIN_GROUP, code)
    return world


def leaving() -> World:
    world = member()
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    return world


def closing() -> World:
    world = member(enable_auto_commit=True)
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    return world


def parting() -> World:
    world = closing()
    world.answer(ApiKey.OFFSET_COMMIT)
    return world


def departing() -> World:
    world = parting()
    world.ack()
    return world


def closed() -> World:
    world = departing()
    world.answer(ApiKey.LEAVE_GROUP)
    return world


# By step: how to get there, and how many rounds come from then on. One that is due or on its way is
# the one that was asked for; where its assignment is here already, another follows.
ROUNDS: list[tuple[Step, Callable[[], World], int]] = [
    (Step.IDLE, member, 1),
    (Step.COMMITTING, lambda: rebalancing(enable_auto_commit=True), 1),
    (Step.REVOKING, rebalancing, 1),
    (Step.READY, ready, 1),
    (Step.JOINING, joining, 0),
    (Step.JOINING, syncing, 0),
    (Step.DELIVERING, delivering, 1),
    (Step.SHEDDING, shedding, 1),  # which the shedding brings, too
    (Step.ASSIGNING, assigning, 1),
    (Step.HALTED, halted, 1),
    (Step.HALTED, lambda: halted(E.FENCED_INSTANCE_ID), 0),
    (Step.LEAVING, leaving, 0),
    (Step.CLOSING, closing, 0),
    (Step.PARTING, parting, 0),
    (Step.DEPARTING, departing, 0),
    (Step.CLOSED, closed, 0),
]


def live(world: World) -> None:
    """Everything is answered, the application polls and acknowledges."""
    world.auto = True
    for _ in range(20):
        world.poll()
        world.ack()
        world.run(200)


def test_every_step_is_here() -> None:
    assert {step for step, _, _ in ROUNDS} == set(Step)


@pytest.mark.parametrize(("step", "make", "rounds"), ROUNDS, ids=lambda it: getattr(it, "name", ""))
def test_the_group_rebalances_once(step: Step, make: Callable[[], World], rounds: int) -> None:
    world = make()
    assert world.member.step is step
    joined = world.count(ApiKey.JOIN_GROUP)
    for _ in range(3):
        world.member.request_rejoin(WHY, world.now)
        world.settle()
    assert world.member.step is step  # nothing moves before a poll, or an answer
    live(world)
    assert world.count(ApiKey.JOIN_GROUP) == joined + rounds
    if rounds or step is Step.JOINING:
        assert world.member.stable
        assert world.host.owned == tps("t1-0 t1-1")


def test_the_brokers_are_told_why() -> None:
    world = member()
    world.member.request_rejoin(WHY, world.now)
    world.poll()
    world.ack()
    assert world.request(ApiKey.JOIN_GROUP).body.reason == WHY


@pytest.mark.parametrize(
    ("state", "make"),
    [
        (MemberState.UNJOINED, World),
        (MemberState.STABLE, member),
        (MemberState.PREPARING, joining),
        (MemberState.COMPLETING, syncing),
        (MemberState.FENCED, lambda: halted(E.FENCED_INSTANCE_ID)),
    ],
    ids=lambda it: getattr(it, "name", ""),
)
def test_the_membership_is_what_it_was(state: MemberState, make: Callable[[], World]) -> None:
    world = make()
    before = world.member.metadata()
    world.member.request_rejoin(WHY, world.now)
    world.settle()
    assert world.member.state is state
    assert world.member.metadata() == before


def test_who_has_assigned_by_hand_joins_nothing() -> None:
    world = World()
    world.host.owned = tps("t1-0")
    world.member.request_rejoin(WHY, world.now)
    live(world)
    assert world.count(ApiKey.JOIN_GROUP) == 0


# -- the coordinator assigns -----------------------------------------------------------------------


def of_consumer(state: ConsumerState) -> ConsumerWorld:
    """A member in this state, by the shortest way."""
    world = ConsumerWorld(config={"await_acknowledgement": True})
    S = ConsumerState
    if state is S.UNSUBSCRIBED:
        return world
    world.start()
    if state is S.JOINING:
        return world
    if state is S.FATAL:
        world.refuse(E.GROUP_AUTHORIZATION_FAILED)
        return world
    world.beat("t1-0")
    if state is S.RECONCILING:
        return world
    world.poll()
    if state is S.ACKNOWLEDGING:
        world.member.acknowledge_rebalance(world.now)  # and no tick yet
        return world
    world.ack()
    world.beat()
    if state is S.FENCED:
        world.next_beat()
        world.refuse(E.FENCED_MEMBER_EPOCH)
    elif state is S.STALE:
        world.auto = True
        world.run(60_000)
        world.auto = False
    elif state in (S.PREPARE_LEAVING, S.LEAVING):
        world.member.leave(world.now, "unsubscribed")
        world.settle()
        if state is S.LEAVING:
            world.ack()
    return world


@pytest.mark.parametrize("state", ConsumerState, ids=lambda state: state.name)
def test_a_member_whom_the_coordinator_assigns_cannot_ask(state: ConsumerState) -> None:
    """What goes over the wire is the same with and without."""

    def beats(*, ask: bool) -> list[tuple[object, ...]]:
        world = of_consumer(state)
        assert world.member.state is state
        if ask:
            world.member.request_rejoin(WHY, world.now)
        assert world.member.state is state
        live(world)
        return [
            (request.body.member_epoch, world.said(request))
            for request in world.network.log
            if request.api is BEAT
        ]

    assert beats(ask=True) == beats(ask=False)
