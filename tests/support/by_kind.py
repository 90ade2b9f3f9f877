"""How pytest-xdist shares out tests: each kind (side_by_side.py) has a process of its own, if there
are three.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from side_by_side import kind_of
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController


class ByKind(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return kind_of(nodeid.partition("::")[0])

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        """Three at most: more is not asked for, and it is asked with each event of each test.
        All of ten thousand would be counted.
        """
        each = (done for scope in workload.values() for done in reversed(scope.values()))
        return len(list(itertools.islice((done for done in each if not done), 3)))

    def remove_node(self, node: WorkerController) -> str | None:
        """The test in which a process came to its end is not tried again in the next one."""
        crashed = super().remove_node(node)
        if crashed is not None:
            kind = kind_of(crashed.partition("::")[0])
            self.workqueue[kind][crashed] = True
            if all(self.workqueue[kind].values()):
                del self.workqueue[kind]
        return crashed

    def schedule(self) -> None:
        """A process runs its last test once it knows that it is the last."""
        super().schedule()
        if self.collection_is_completed and not self.workqueue:
            for node in self.nodes:
                if not node.shutting_down:
                    node.shutdown()
