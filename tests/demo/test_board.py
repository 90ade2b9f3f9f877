"""The demo's book-keeping, from what members say."""

import pytest

from kcore.cli.demo.board import Board


def joined(generation, *, is_leader=False):
    return {
        "said": "joined",
        "generation": generation,
        "is_leader": is_leader,
        "members": 2 if is_leader else 0,
        "protocol": "range",
    }


def assigned(generation, *partitions):
    return {
        "said": "assigned",
        "generation": generation,
        "member_id": "m",
        "partitions": list(partitions),
    }


def committed(**progress):
    return {"said": "committed", "progress": {key[1:]: list(at) for key, at in progress.items()}}


def test_a_run_of_two():
    board = Board({0: 10, 1: 5}, members=2)
    assert not board.done
    board.take(0, joined(1, is_leader=True))
    board.take(0, assigned(1, 0))
    board.take(1, assigned(1, 1))
    board.take(0, committed(p0=(6, 6, 600)))
    board.take(1, committed(p1=(5, 5, 500)))
    assert board.partitions[0].lag == 4
    assert not board.done
    board.take(0, committed(p0=(10, 4, 400)))
    assert board.done
    assert (board.records, board.size_bytes) == (15, 1500)
    assert (board.generation, board.leader) == (1, 0)
    assert [row.readers for row in board.partitions.values()] == [[0], [1]]
    assert len(board.take_news()) == 3
    assert board.take_news() == []


def test_a_partition_that_moves_has_both_readers_and_the_last_owner():
    board = Board({0: 10}, members=2)
    board.take(0, assigned(1, 0))
    board.take(0, committed(p0=(4, 4, 4)))
    board.take(0, {"said": "revoked", "partitions": [0]})
    assert board.partitions[0].owner is None
    board.take(1, assigned(2, 0))
    board.take(1, committed(p0=(10, 6, 6)))
    row = board.partitions[0]
    assert (row.readers, row.owner, row.records) == ([0, 1], 1, 10)


def test_a_late_revocation_does_not_take_it_from_the_new_owner():
    board = Board({0: 10}, members=2)
    board.take(0, assigned(1, 0))
    board.take(1, assigned(2, 0))
    board.take(0, {"said": "lost", "partitions": [0]})
    assert board.partitions[0].owner == 1
    assert "lost" in board.take_news()[-1]


def test_leader_of_an_old_generation_leads_no_more():
    board = Board({0: 1}, members=2)
    board.take(0, joined(1, is_leader=True))
    board.take(0, joined(2))
    assert board.leader is None
    board.take(1, joined(2, is_leader=True))
    assert board.leader == 1


def test_an_empty_partition_is_done_when_its_position_is_committed():
    board = Board({0: 0}, members=1)
    assert not board.done
    board.take(0, committed(p0=(0, 0, 0)))
    assert board.done
    assert board.partitions[0].readers == []


def test_failure_is_kept():
    board = Board({0: 1}, members=1)
    board.take(0, {"said": "failed", "error": "NoBrokersAvailable"})
    assert board.failures == ["member 0: NoBrokersAvailable"]


@pytest.mark.parametrize(
    ("records", "offset", "wrong"),
    [(10, 10, 0), (9, 10, 1), (11, 10, 1), (10, 9, 1), (10, None, 1), (0, None, 2)],
)
def test_shortfalls(records, offset, wrong):
    board = Board({0: 10}, members=1)
    board.take(0, committed(p0=(10, records, 0)))
    assert len(board.shortfalls({0: offset}, 10)) == wrong


def test_offsets_alone_decide_on_a_topic_of_the_users():
    board = Board({0: 10}, members=1)
    board.take(0, committed(p0=(10, 7, 0)))
    assert board.shortfalls({0: 10}, None) == []


def test_how_much_is_done_counts_up_to_the_ends():
    board = Board({0: 10, 1: 30}, members=1)
    assert board.part_done == 0
    board.take(0, assigned(1, 0, 1))
    board.take(0, committed(p0=(10, 10, 10), p1=(10, 10, 10)))
    assert board.part_done == 0.5
    board.take(0, committed(p0=(99, 0, 0)))
    assert board.part_done == 0.5
    assert Board({0: 0}, members=1).part_done == 1


def test_nodes_go_down_and_come_back():
    board = Board({0: 1}, 1, nodes=(1, 2))
    board.node_changed(2, "down", "is killed")
    assert board.nodes == {1: "up", 2: "down"}
    assert board.take_news() == ["node 2: is killed"]
