"""One node taken down when half of the records are read, and brought back a quarter later.

It is the node that coordinates the group: the members lose their coordinator, and the leader of
some of their partitions with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kcore.cli.demo.board import Board
from kcore.cli.demo.brokers import Brokers

KILL_AT: Final = 0.5
REVIVE_AT: Final = 0.75


class Outage:
    """`look` at the board again and again; at the end, `shortfalls` says what did not happen.

    coordinator: which node keeps the group, asked when it is to be killed.
    """

    def __init__(self, brokers: Brokers, coordinator: Callable[[], int]) -> None:
        self._brokers = brokers
        self._coordinator = coordinator
        self._node: int | None = None
        self._revived = False

    def look(self, board: Board) -> None:
        """Do what is due."""
        part = board.part_done
        if self._node is None and part >= KILL_AT:
            self._node = self._coordinator()
            self._brokers.kill(self._node)
            board.node_changed(self._node, "down", "the coordinator of the group is killed")
        elif self._node is not None and not self._revived and part >= REVIVE_AT:
            self._brokers.revive(self._node)
            self._revived = True
            board.node_changed(self._node, "up", "is back")

    def shortfalls(self) -> list[str]:
        """A line for each thing that was asked for and did not happen."""
        if self._node is None:
            return ["no node was killed: everything was read too soon"]
        return [] if self._revived else [f"node {self._node} was not revived"]
