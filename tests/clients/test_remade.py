"""Who asks which topics were made anew since a moment."""

from kcore import TopicPartition
from kcore.clients.remade import Remade

A, B = TopicPartition("a", 0), TopicPartition("b", 0)


def test_each_asks_for_those_since_a_moment_of_its_own():
    remade = Remade()
    remade.hear(A)
    early = remade.since_now()
    assert A not in early
    assert early.take() == set()
    remade.hear(B)
    late = remade.since_now()
    assert B in early
    assert B not in late
    assert early.take() == {B}
    assert B not in early
    assert early.take() == set()
    remade.hear(B)
    remade.hear(A)
    assert early.take() == late.take() == {A, B}


class Heard(dict):
    """One in which another thread writes whenever somebody has looked at an entry."""

    def items(self):
        for one in super().items():
            yield one
            self[TopicPartition("later", len(self))] = 9


def test_another_thread_may_hear_of_one_meanwhile(monkeypatch):
    remade = Remade()
    since = remade.since_now()
    monkeypatch.setattr(since, "_last", Heard({A: 1, B: 2}))
    assert since.take() == {A, B}
    assert since.take() == set()
