"""The demo's outage: when, which node, and that it is missed if it did not happen."""

import pytest

from kcore.cli.demo.board import Board
from kcore.cli.demo.outage import Outage


class Recorded:
    bootstrap = "nowhere:1"
    node_ids = (1, 2, 3)

    def __init__(self):
        self.calls = []

    def kill(self, node):
        self.calls.append(("kill", node))

    def revive(self, node):
        self.calls.append(("revive", node))

    def faults(self):
        return []


def read_up_to(board, offset):
    board.partitions[0].committed = offset


@pytest.fixture
def brokers():
    return Recorded()


def test_the_coordinator_dies_half_way_and_comes_back(brokers):
    board = Board({0: 100}, 1, brokers.node_ids)
    outage = Outage(brokers, lambda: 3)
    expected = {
        49: [],
        50: [("kill", 3)],
        74: [("kill", 3)],
        75: [("kill", 3), ("revive", 3)],
        100: [("kill", 3), ("revive", 3)],
    }
    for offset, calls in expected.items():
        read_up_to(board, offset)
        outage.look(board)
        assert brokers.calls == calls
    assert outage.shortfalls() == []
    assert board.nodes == {1: "up", 2: "up", 3: "up"}


def test_an_outage_that_did_not_happen_is_said(brokers):
    board = Board({0: 100}, 1)
    outage = Outage(brokers, lambda: 1)
    assert "no node was killed" in outage.shortfalls()[0]
    read_up_to(board, 60)
    outage.look(board)
    assert outage.shortfalls() == ["node 1 was not revived"]
