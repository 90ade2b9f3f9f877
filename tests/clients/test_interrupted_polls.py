"""Whatever strikes from outside while a call hands records over: they count as not handed over."""

import pytest

from kcore import Consumer, Producer, TopicPartition
from kcore.embedded import EmbeddedBroker

COUNT = 300
T0 = TopicPartition("t", 0)


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(in_memory=True) as broker:
        broker.create_topic("t", 1)
        with Producer(transport=broker.transport(), bootstrap_servers=broker.bootstrap) as producer:
            for number in range(COUNT):
                producer.send("t", b"%d" % number)
        yield broker


class Struck(BaseException):
    """What a signal handler raises."""


@pytest.fixture
def consumer(broker):
    with Consumer(
        transport=broker.transport(),
        bootstrap_servers=broker.bootstrap,
        group_id="g",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 0)
        yield consumer


def strike_behind(consumer, monkeypatch, kind, times):
    """Let the first few takings of records be followed by something from outside."""
    core = consumer._engine.core
    take, struck = core.take_records, []

    def taking(*given):
        found = take(*given)
        if found and len(struck) < times:
            struck.append(found)
            raise kind
        return found

    monkeypatch.setattr(core, "take_records", taking)
    return struck


@pytest.mark.parametrize("kind", [Struck, TimeoutError, KeyboardInterrupt])
@pytest.mark.parametrize("limit", [7, 500])
def test_nothing_is_passed_over(consumer, monkeypatch, kind, limit):
    struck = strike_behind(consumer, monkeypatch, kind, 3)
    seen = []
    while len(seen) < COUNT:
        before = consumer.position(T0)
        try:
            taken = consumer.poll(timeout_ms=500, max_records=limit)
        except kind:
            assert consumer.position(T0) == before
            continue
        seen += [record.offset for records in taken.values() for record in records]
    assert seen == list(range(COUNT))
    assert len(struck) == 3
    assert consumer.position(T0) == COUNT


def test_an_iteration_goes_on_where_it_was(consumer, monkeypatch):
    strike_behind(consumer, monkeypatch, Struck, 2)
    seen = []
    while len(seen) < COUNT:
        try:
            for record in consumer:
                seen.append(record.offset)
                if len(seen) == COUNT:
                    break
        except Struck:
            continue
    assert seen == list(range(COUNT))


def test_what_went_before_stays_handed_over(consumer, monkeypatch):
    first = consumer.poll(timeout_ms=500, max_records=5)[T0]

    def fail(*_):
        raise Struck

    with monkeypatch.context() as patch:
        patch.setattr(consumer._engine.core, "take_records", fail)
        with pytest.raises(Struck):
            consumer.poll(timeout_ms=0, max_records=5)
    assert consumer.position(T0) == len(first) == 5


def test_what_a_loop_had_not_come_to_is_handed_back_again(consumer, monkeypatch):
    go_back, struck = consumer._engine.core.go_back, []

    def going_back(*given):
        if not struck:
            struck.append(given)
            raise Struck
        go_back(*given)

    seen = [next(consumer).offset for _ in range(5)]
    monkeypatch.setattr(consumer._engine.core, "go_back", going_back)
    with pytest.raises(Struck):
        consumer.poll()
    assert consumer.position(T0) == 5
    seen += [next(consumer).offset for _ in range(5)]
    seen += [record.offset for record in consumer.poll(timeout_ms=5_000)[T0]]
    assert seen == list(range(len(seen)))
    assert len(seen) > 10
