"""Which process runs what, for pytest-xdist: each what it collected, which is its own kinds
(side_by_side.py); what is left where one came to its end is for the one in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from side_by_side import SESSION
from xdist.workermanage import parse_tx_spec_config

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController


class ByKind:
    """xdist.scheduler.protocol.Scheduling."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._processes = len(parse_tx_spec_config(config))
        self._collected: dict[tuple[str, ...], int] = {}  # by kinds: how many
        self._done: set[str] = set()
        self._pending: dict[WorkerController, dict[int, str]] = {}
        self._orphans: set[tuple[str, ...]] = set()  # kinds whose process came to its end
        self._told: set[WorkerController] = set()

    @property
    def nodes(self) -> list[WorkerController]:
        return list(self._pending)

    @property
    def collection_is_completed(self) -> bool:
        return len(self._collected) >= self._processes

    @property
    def has_pending(self) -> bool:
        return any(self._pending.values())

    @property
    def tests_finished(self) -> bool:
        return self.collection_is_completed and not self.has_pending and not self._orphans

    def add_node(self, node: WorkerController) -> None:
        self._pending[node] = {}

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        kinds = _kinds_of(node)
        self._collected[kinds] = len(collection)
        self._orphans.discard(kinds)
        left = ((at, test) for at, test in enumerate(collection) if test not in self._done)
        self._pending[node] = dict(left)
        self._config.stash[SESSION].testscollected = sum(self._collected.values())

    def schedule(self) -> None:
        """A process runs its last test once it knows that it is the last."""
        for node, pending in self._pending.items():
            if node not in self._told:
                self._told.add(node)
                if pending:
                    node.send_runtest_some(list(pending))
                node.shutdown()

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        self._done.add(self._pending[node].pop(item_index))

    def mark_test_pending(self, item: str) -> None:
        raise NotImplementedError

    def remove_pending_tests_from_node(
        self, node: WorkerController, indices: Sequence[int]
    ) -> None:
        raise NotImplementedError

    def remove_node(self, node: WorkerController) -> str | None:
        """The test in which a process came to its end is not tried again in the next one."""
        pending = list(self._pending.pop(node).values())
        if not pending:
            return None
        crashed, *left = pending
        self._done.add(crashed)
        if left:
            self._orphans.add(_kinds_of(node))
        return crashed


def _kinds_of(node: WorkerController) -> tuple[str, ...]:
    # Those without any differ, too.
    return tuple(node.workerinput["kinds"]) or (node.gateway.id,)
