"""Which process runs what, for pytest-xdist: each what it collected, which is its own kinds
(side_by_side.py); what is left where one came to its end is for the one in its place.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from side_by_side import SESSION
from xdist.workermanage import parse_tx_spec_config

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

AHEAD = 32  # tests a process is told of at once: with -x it runs these to their end


class ByKind:
    """xdist.scheduler.protocol.Scheduling."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._processes = len(parse_tx_spec_config(config))
        self._collected: dict[tuple[str, ...], int] = {}  # by kinds: how many
        self._done: set[str] = set()
        self._told: dict[WorkerController, dict[int, str]] = {}  # what each is to run now
        self._later: dict[WorkerController, deque[tuple[int, str]]] = {}
        self._orphans: set[tuple[str, ...]] = set()  # kinds whose process came to its end

    @property
    def nodes(self) -> list[WorkerController]:
        return list(self._told)

    @property
    def collection_is_completed(self) -> bool:
        return len(self._collected) >= self._processes

    @property
    def has_pending(self) -> bool:
        return any(self._told.values()) or any(self._later.values())

    @property
    def tests_finished(self) -> bool:
        return self.collection_is_completed and not self.has_pending and not self._orphans

    def add_node(self, node: WorkerController) -> None:
        self._told[node] = {}

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        kinds = _kinds_of(node)
        self._collected[kinds] = len(collection)
        self._orphans.discard(kinds)
        left = ((at, test) for at, test in enumerate(collection) if test not in self._done)
        self._later[node] = deque(left)
        self._config.stash[SESSION].testscollected = sum(self._collected.values())

    def schedule(self) -> None:
        for node in self._later:
            self._go_on(node)

    def _go_on(self, node: WorkerController) -> None:
        """A process runs a test once it knows the next one, or that it is the last."""
        told, later = self._told[node], self._later[node]
        if node.shutting_down or len(told) > AHEAD // 2:
            return
        more = [later.popleft() for _ in range(min(AHEAD, len(later)))]
        if more:
            told.update(more)
            node.send_runtest_some([at for at, _ in more])
        if not later:
            node.shutdown()

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        self._done.add(self._told[node].pop(item_index))
        self._go_on(node)

    def mark_test_pending(self, item: str) -> None:
        raise NotImplementedError

    def remove_pending_tests_from_node(
        self, node: WorkerController, indices: Sequence[int]
    ) -> None:
        raise NotImplementedError

    def remove_node(self, node: WorkerController) -> str | None:
        """The test in which a process came to its end is not tried again in the next one."""
        told, later = list(self._told.pop(node).values()), self._later.pop(node, None)
        if not told:
            return None
        self._done.add(told[0])
        if told[1:] or later:
            self._orphans.add(_kinds_of(node))
        return told[0]


def _kinds_of(node: WorkerController) -> tuple[str, ...]:
    # Those without any differ, too.
    return tuple(node.workerinput["kinds"]) or (node.gateway.id,)
