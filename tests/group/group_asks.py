"""Asking a member of `group_world` for commits and committed offsets."""

from __future__ import annotations

from group_world import World, tp, tps

from kcore.errors import (
    KafkaError,
)
from kcore.structs import OffsetAndMetadata

T10, T11 = tp("t1-0"), tp("t1-1")
AT5 = {T10: OffsetAndMetadata(5, "note", 3)}


class Outcome:
    """What `done` was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict | None, KafkaError | None]] = []

    def __call__(self, result: dict | None, error: KafkaError | None) -> None:
        self.calls.append((result, error))

    @property
    def result(self) -> dict | None:
        ((result, error),) = self.calls
        assert error is None, error
        return result

    @property
    def error(self) -> KafkaError:
        ((_, error),) = self.calls
        assert error is not None
        return error


def commit(world: World, offsets=AT5, deadline_ms: int | None = None) -> Outcome:
    outcome = Outcome()
    deadline = None if deadline_ms is None else world.now + deadline_ms
    world.member.commit(offsets, world.now, outcome, deadline_ms=deadline)
    assert not outcome.calls  # never inside the call
    world.settle()
    return outcome


def fetch(world: World, partitions: str = "t1-0 t1-1", deadline_ms: int = 10_000) -> Outcome:
    outcome = Outcome()
    world.member.fetch_committed(
        tps(partitions), world.now, outcome, deadline_ms=world.now + deadline_ms
    )
    assert not outcome.calls
    world.settle()
    return outcome


def stable(**config: object) -> World:
    world = World(config=config)
    world.become_stable()
    return world


def manual(**config: object) -> World:
    world = World(config=config)
    world.host.owned = tps("t1-0 t1-1")
    return world


def auto(interval: int = 1_000, **config: object) -> World:
    world = stable(enable_auto_commit=True, auto_commit_interval_ms=interval, **config)
    world.host.consumed = {T10: OffsetAndMetadata(100)}
    return world
