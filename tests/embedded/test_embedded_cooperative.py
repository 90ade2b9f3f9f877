"""Consumers that share cooperatively, on the embedded broker: what their listeners are told."""

import pytest
from foreign_members import until

from kcore import Consumer, ConsumerRebalanceListener, TopicPartition
from kcore.embedded import EmbeddedBroker

ALL = {TopicPartition("t", number) for number in range(6)}


class Told(ConsumerRebalanceListener):
    """What it was told, in words; `revoking` is called inside."""

    def __init__(self, revoking=lambda: None):
        self.heard = []
        self._revoking = revoking

    def on_partitions_assigned(self, assigned):
        self.heard.append(("assigned", assigned))

    def on_partitions_revoked(self, revoked):
        self.heard.append(("revoked", revoked))
        self._revoking()

    def on_partitions_lost(self, lost):
        self.heard.append(("lost", lost))

    def of(self, what):
        return [partitions for word, partitions in self.heard if word == what and partitions]


@pytest.fixture
def broker():
    with EmbeddedBroker() as embedded:
        embedded.create_topic("t", 6)
        yield embedded
        assert not embedded.faults


@pytest.fixture
def make(broker):
    made = []

    def consumer(**options):
        made.append(
            Consumer(
                bootstrap_servers=broker.bootstrap,
                group_id="g",
                partition_assignment_strategy="cooperative-sticky",
                auto_offset_reset="earliest",
                heartbeat_interval_ms=50,
                **options,
            )
        )
        return made[-1]

    yield consumer
    for one in made:
        one.close()


def taking_turns(*consumers):
    def step():
        for one in consumers:
            one.poll(timeout_ms=10, max_records=5)

    return step


def test_what_stays_is_paused_and_stands_where_it_was(make, broker):
    broker.produce("t", [(None, b"v")] * 400)
    told = Told()
    first, second = make(), make()
    first.subscribe(["t"], listener=told)
    until(lambda: first.assignment() == ALL, taking_turns(first))
    for tp in ALL:
        first.seek(tp, 7)
    first.pause(*ALL)
    second.subscribe(["t"])
    until(lambda: len(second.assignment()) == 3, taking_turns(first, second))
    assert told.of("assigned") == [ALL]
    assert told.of("revoked") == [second.assignment()]
    assert first.assignment() == first.paused() == ALL - second.assignment()
    assert {first.position(tp) for tp in first.assignment()} == {7}


def test_what_was_read_in_a_round_is_not_read_again(make, broker):
    """A third one holds the round up, in which the first reads on what it will have to give up."""
    read = {}

    def step(*consumers):
        for one in consumers:
            for tp, records in one.poll(timeout_ms=10, max_records=20).items():
                read.setdefault(tp, []).extend(record.offset for record in records)

    first, third = make(auto_commit_interval_ms=60_000), make(auto_commit_interval_ms=60_000)
    for one in (first, third):
        one.subscribe(["t"])
    until(
        lambda: len(first.assignment()) == len(third.assignment()) == 3, lambda: step(first, third)
    )
    second = make(auto_commit_interval_ms=60_000)
    second.subscribe(["t"])
    step(second)
    for _ in range(10):
        step(first)
    broker.produce("t", [(None, b"%d" % number) for number in range(400)])
    until(lambda: len(read) == 3, lambda: step(first))
    everyone = (first, second, third)
    until(lambda: all(one.assignment() for one in everyone), lambda: step(*everyone))
    until(lambda: sum(map(len, read.values())) >= 400, lambda: step(*everyone))
    step(*everyone)
    ends = broker.end_offsets("t")
    assert read == {tp: list(range(ends[tp.partition])) for tp in ALL}


def test_who_unsubscribes_when_told_is_told_of_the_rest(make):
    first = make()
    told = Told(revoking=first.unsubscribe)
    first.subscribe(["t"], listener=told)
    until(lambda: first.assignment() == ALL, taking_turns(first))
    second = make()
    second.subscribe(["t"])

    def step():
        if not told.of("revoked"):
            first.poll(timeout_ms=10)
        second.poll(timeout_ms=10)

    until(lambda: second.assignment() == ALL, step)
    assert len(told.of("revoked")) == 2
    assert set().union(*told.of("revoked")) == ALL
    assert first.assignment() == set()
