"""Positions as Java's consumer has them, too: lag without a question, a seek with an epoch, many
partitions at once.
"""

import pytest
from async_consumers import consumer, fill, run
from scripted_consumer import T0, T1, assigned, records

from kcore import Consumer, OffsetAndMetadata, Producer, TopicPartition, errors
from kcore.embedded import EmbeddedBroker

EACH = 50
AT = {T0: OffsetAndMetadata(7, "note", 3), T1: None}


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as embedded:
        fill(embedded, "t", 2, EACH)
        yield embedded


def options(broker, **more):
    return {
        "bootstrap_servers": broker.bootstrap,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "fetch_max_wait_ms": 50,
    } | more


# While a broker keeps a fetch ---------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["blocking", "selectors", "gevent"])
def test_nothing_waits_for_a_fetch_that_a_broker_keeps(broker, transport):
    """It is kept for longer than any of this may take."""
    more = {"transport": transport, "fetch_max_wait_ms": 25_000}
    with Consumer(**options(broker, **more)) as reader:
        reader.assign([T0, T1])
        read = 0
        while read < 2 * EACH:
            read += sum(map(len, reader.poll(timeout_ms=5_000).values()))
        for number in range(3):
            assert reader.poll(timeout_ms=20) == {}
            assert reader.end_offsets([T0, T1], timeout_ms=5_000) == {T0: EACH, T1: EACH}
            assert "t" in reader.topics()
            reader.seek(T0, 40 + number)
            (found,) = reader.poll(timeout_ms=5_000).values()
            assert [one.offset for one in found] == [*range(40 + number, EACH)]


def test_nor_in_an_event_loop(broker):
    async def main():
        async with consumer(broker, **options(broker, fetch_max_wait_ms=25_000)) as reader:
            reader.assign([T0, T1])
            await reader.seek_to_beginning()
            read = 0
            while read < 2 * EACH:
                read += sum(map(len, (await reader.getmany(timeout_ms=5_000)).values()))
            assert await reader.getmany(timeout_ms=20) == {}
            assert await reader.end_offsets([T0]) == {T0: EACH}
            reader.seek(T0, 40)
            (found,) = (await reader.getmany(timeout_ms=5_000)).values()
            assert [one.offset for one in found] == [*range(40, EACH)]

    run(main())


# Lag --------------------------------------------------------------------------------------------


def test_lag_is_from_the_position_to_what_was_told():
    reader = assigned()
    assert reader.current_lag(T0) is None  # the position is not known
    reader.core.positions[T0] = 90
    assert reader.current_lag(T0) == 9
    reader.core.highwater = lambda tp: None  # nothing was fetched yet
    assert reader.current_lag(T0) is None
    reader.core.highwater = lambda tp: 80  # the leader has lost the end
    assert reader.current_lag(T0) == 0


def test_with_read_committed_it_is_to_the_last_stable_offset():
    reader = assigned(isolation_level="read_committed")
    reader.core.positions[T0] = 90
    reader.core.last_stable_offset = lambda tp: 95
    assert reader.current_lag(T0) == 5


def test_a_loop_stands_behind_the_record_in_hand():
    reader = assigned()
    reader.core.batches.append(records(T0, 10, 11, 12))
    next(reader)
    assert reader.current_lag(T0) == 99 - 11


def test_of_others_there_is_none():
    with pytest.raises(errors.UnassignedPartitionError):
        assigned().current_lag(TopicPartition("other", 0))
    with pytest.raises(TypeError):
        assigned().current_lag("t")


def test_lag_of_what_was_read(broker):
    with Consumer(**options(broker)) as reader:
        reader.assign([T0])
        assert reader.current_lag(T0) is None
        got = 0
        while not got:
            got = sum(map(len, reader.poll(timeout_ms=100, max_records=20).values()))
        assert reader.current_lag(T0) == EACH - got
        while reader.position(T0) < EACH:
            reader.poll(timeout_ms=100)
        assert reader.current_lag(T0) == 0


def test_lag_stops_at_an_open_transaction():
    with EmbeddedBroker() as broker:
        fill(broker, "t", 1, EACH)
        producer = Producer(bootstrap_servers=broker.bootstrap, transactional_id="x")
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("t", b"open", partition=0).get(10)
        for level, more in (("read_committed", 0), ("read_uncommitted", 1)):
            with Consumer(**options(broker, isolation_level=level)) as reader:
                reader.assign([T0])
                reader.seek(T0, 40)
                while not reader.poll(timeout_ms=100, max_records=1):
                    pass
                assert reader.current_lag(T0) == EACH - 41 + more
                told = reader.metrics()["consumer-fetch-manager-metrics"]["records-lag-max"]
                assert told == EACH - 41 + more
        producer.abort_transaction()
        producer.close()


# Seeks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sought"),
    [
        (5, (5, -1)),
        (OffsetAndMetadata(5, "note", 3), (5, 3)),
        ((5, "note"), (5, -1)),
        (OffsetAndMetadata(5, "", None), (5, -1)),
    ],
)
def test_a_seek_takes_what_was_committed(given, sought):
    reader = assigned()
    reader.seek(T0, given)
    assert reader.core.verbs("seek") == [("seek", T0, *sought)]


@pytest.mark.parametrize("wrong", [-1, None, "5", True, (5,), (5, "", "x"), (-1, "")])
def test_other_places_are_refused(wrong):
    reader = assigned()
    with pytest.raises((TypeError, errors.IllegalArgumentError)):
        reader.seek(T0, wrong)
    assert not reader.core.verbs("seek")


# Several at once ---------------------------------------------------------------------------------


@pytest.mark.parametrize("several", [list, set, frozenset])
def test_what_is_committed_of_several_is_one_question(several):
    reader = assigned(group_id="g")
    reader.core.answers["committed"] = dict(AT)
    assert reader.committed(several([T0, T1])) == {T0: 7, T1: None}
    assert reader.committed(several([T0, T1]), metadata=True) == AT
    assert len(reader.core.verbs("committed")) == 2
    reader.core.answers["committed"] = {T0: AT[T0]}
    assert reader.committed(T0) == 7
    assert reader.committed(("t", 0), metadata=True) == AT[T0]


def test_of_none_there_is_nothing(broker):
    with Consumer(**options(broker, group_id="none")) as reader:
        assert reader.committed([]) == {}


@pytest.mark.parametrize("wrong", [{"t"}, [T0, 1], {T0: 1}, "t", None])
def test_what_is_no_partition_is_refused(wrong):
    with pytest.raises(TypeError):
        assigned(group_id="g").committed(wrong)


@pytest.mark.parametrize("verb", ["pause", "resume", "seek_to_beginning", "seek_to_end"])
def test_partitions_may_come_as_one_list(verb):
    reader = assigned()
    getattr(reader, verb)([T0])
    getattr(reader, verb)({T0})
    getattr(reader, verb)(T0)
    assert reader.core.verbs(verb) == [(verb, [T0])] * 3
    with pytest.raises(TypeError):
        getattr(reader, verb)([T0], [T0])


def test_an_empty_list_is_all_to_a_seek_and_none_to_a_pause():
    reader = assigned()
    reader.seek_to_end([])
    reader.pause([])
    (sought,) = reader.core.verbs("seek_to_end")
    assert set(sought[1]) == reader.assignment()
    assert reader.core.verbs("pause") == [("pause", [])]


def test_on_a_loop(broker):
    async def main():
        async with consumer(broker, group_id="looped") as reader:
            reader.assign([T0, T1])
            await reader.seek_to_beginning([T0, T1])
            assert reader.current_lag(T0) is None
            await reader.getmany(T0, timeout_ms=2_000, max_records=20)
            assert reader.current_lag(T0) == EACH - 20
            await reader.commit()
            found = await reader.committed({T0, T1})
            assert found[T0] == 20
            held = await reader.committed([T0], metadata=True)
            assert held == {T0: OffsetAndMetadata(20, "", 0)}
            reader.seek(T0, held[T0])
            reader.pause([T0])
            assert reader.paused() == {T0}
            assert await reader.committed(T0) == 20

    run(main())


def test_a_loop_that_was_left_can_be_committed_behind_a_poll(broker):
    """The position goes back to where the loop stood: that is no reason to leave it out."""
    with Consumer("t", group_id="left", **options(broker)) as reader:
        seen = {T0: 0, T1: 0}
        for record in reader:
            seen[TopicPartition(record.topic, record.partition)] = record.offset + 1
            if sum(seen.values()) == 10:
                break
        reader.poll(max_records=1)
        reader.commit()
        found = reader.committed({T0, T1})
        assert sum(at or 0 for at in found.values()) in (10, 11)
