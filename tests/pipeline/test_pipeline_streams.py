"""What the driver plans for a stream: micro-batches; no Spark, on the embedded broker."""

import json
import logging
import pickle
import time
from types import SimpleNamespace

import pytest
from pipeline_support import (
    add_partitions,
    bound,
    delete_records,
    delete_topic,
    fill,
    plan,
    ranges,
    with_an_open_transaction,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from kcore import Consumer, Producer
from kcore.errors import ConsumerStoppedError
from kcore.pipeline import cluster
from kcore.pipeline.errors import DataLossError, PlanError

pytestmark = pytest.mark.usefixtures("soon")


def test_a_stream_begins_at_the_end_unless_told(topic, streamed):
    assert streamed().initialOffset() == {topic: {"0": 5, "1": 5}}
    assert streamed(startingOffsets="earliest").initialOffset() == {topic: {"0": 0, "1": 0}}
    some = json.dumps({topic: {"0": 3, "1": -1}})
    assert streamed(startingOffsets=some).initialOffset() == {topic: {"0": 3, "1": 5}}


def test_micro_batches_in_proportion(topic, streamed):
    reader = streamed(maxOffsetsPerTrigger="4", startingOffsets="earliest")
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(4)
    begin = reader.initialOffset()
    end = reader.latestOffset(begin, limit)
    assert end == {topic: {"0": 2, "1": 2}}
    assert reader.reportLatestOffset() == {topic: {"0": 5, "1": 5}}
    assert ranges(reader.partitions(begin, end)) == [(topic, 0, 0, 2), (topic, 1, 0, 2)]
    assert reader.partitions(end, end) == []
    assert streamed().getDefaultReadLimit() == ReadAllAvailable()


def test_no_micro_batch_before_there_is_enough(broker, topic, streamed):
    reader = streamed(minOffsetsPerTrigger="4", startingOffsets="earliest")
    everything = ReadAllAvailable()
    first = reader.latestOffset(reader.initialOffset(), everything)
    assert first == {topic: {"0": 5, "1": 5}}
    fill(broker, topic, 2)
    assert reader.latestOffset(first, everything) == first
    assert reader.reportLatestOffset() == {topic: {"0": 6, "1": 6}}
    fill(broker, topic, 2)
    assert reader.latestOffset(first, everything) == {topic: {"0": 7, "1": 7}}


def test_not_enough_for_long_is_enough(broker, topic, streamed):
    reader = streamed(minOffsetsPerTrigger="4", maxTriggerDelay="50ms", startingOffsets="earliest")
    first = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    fill(broker, topic, 2)
    time.sleep(0.06)
    assert reader.latestOffset(first, ReadAllAvailable()) == {topic: {"0": 6, "1": 6}}


@pytest.fixture
def clock(monkeypatch):
    """The time of the source, in ms (`now`), and for how long it has slept, in s (`naps`)."""
    given = SimpleNamespace(now=1_000, naps=[])
    read = SimpleNamespace(sleep=given.naps.append, monotonic_ns=lambda: given.now * 1_000_000)
    monkeypatch.setattr("kcore.pipeline.source.time", read)
    return given


def test_not_enough_for_long_is_from_the_last_micro_batch_on(broker, topic, streamed, clock):
    reader = streamed(minOffsetsPerTrigger="4", maxTriggerDelay="1s", startingOffsets="earliest")
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    for now_ms, more, moves in [
        (1_900, 4, True),  # enough
        (2_800, 2, False),  # not long enough since then
        (2_900, 0, True),
        (5_000, 0, False),  # there is nothing, and that is no micro-batch
        (5_100, 2, True),
    ]:
        clock.now = now_ms
        fill(broker, topic, more)
        before, end = end, reader.latestOffset(end, ReadAllAvailable())
        assert (now_ms, end != before) == (now_ms, moves)


def test_who_asks_at_once_again_waits_and_available_now_never(broker, topic, streamed, clock):
    naps = clock.naps
    reader = streamed()
    end = reader.initialOffset()
    for clock.now in range(1_000, 1_101, 20):
        assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert naps == [0, 0.001, 0.002, 0.003, 0.004, 0.005]
    fill(broker, topic, 2)
    end = reader.latestOffset(end, ReadAllAvailable())
    reader.latestOffset(end, ReadAllAvailable())
    assert naps[6:] == [0.005, 0]
    clock.now += 20
    reader.prepareForTriggerAvailableNow()
    reader.latestOffset(end, ReadAllAvailable())
    assert naps[8:] == []


def test_available_now_reads_what_is_below_a_micro_batch(broker, topic, streamed):
    reader = streamed(
        startingOffsets="earliest", minOffsetsPerTrigger="6", maxOffsetsPerTrigger="6"
    )
    reader.prepareForTriggerAvailableNow()
    end = reader.initialOffset()
    for wanted in (3, 5, 5):
        end = reader.latestOffset(end, ReadMaxRows(6))
        assert end == {topic: {"0": wanted, "1": wanted}}


def test_available_now_is_what_was_there_when_it_began(broker, topic, streamed):
    reader = streamed(startingOffsets="earliest")
    reader.prepareForTriggerAvailableNow()
    fill(broker, topic, 4)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert end == {topic: {"0": 5, "1": 5}}
    assert reader.latestOffset(end, ReadMaxRows(1)) == end


LATE_TIME = {"startingTimestamp": "4000000000000", "startingOffsetsByTimestampStrategy": "latest"}


@pytest.mark.parametrize("start", [{}, {"startingOffsets": None}, LATE_TIME])
def test_what_came_while_the_first_micro_batch_was_killed_is_read(broker, topic, streamed, start):
    """A query that begins at the end: where that was is written down with the first micro-batch
    only. When that one is run again, the end is somewhere else.
    """
    start = {name: text or bound(topic, -1, -1) for name, text in start.items()}
    first = streamed(**start)
    begin = first.initialOffset()
    assert begin == {topic: {"0": 5, "1": 5}}
    fill(broker, topic, 4)  # after the question for the beginning, before the one for the end
    end = first.latestOffset(begin, ReadAllAvailable())  # is in the checkpoint; killed here
    fill(broker, topic, 2)
    again = streamed(**start)
    read = ranges(again.partitions(again.initialOffset(), end))
    read += ranges(again.partitions(end, again.latestOffset(end, ReadAllAvailable())))
    assert sorted(read) == [(topic, 0, 5, 8), (topic, 1, 5, 8)]


def test_one_that_begins_at_the_end_goes_on_from_there(broker, topic, streamed):
    reader = streamed()
    begin = reader.initialOffset()
    fill(broker, topic, 2)
    end = reader.latestOffset(begin, ReadAllAvailable())
    fill(broker, topic, 2)
    after = reader.latestOffset(end, ReadAllAvailable())
    assert after == {topic: {"0": 7, "1": 7}}
    assert reader.reportLatestOffset() == after
    assert ranges(reader.partitions(begin, end)) + ranges(reader.partitions(end, after)) == [
        (topic, 0, 5, 7),
        (topic, 1, 5, 7),
    ]


def test_where_it_begins_is_the_same_however_often_that_is_asked(broker, topic, streamed):
    """Spark asks when it plans the first micro-batch, and again when it runs that."""
    reader = streamed()
    begin = reader.initialOffset()
    add_partitions(broker.bootstrap, topic, 3)
    broker.produce(topic, [(None, b"y")] * 4, partition=2)
    end = reader.latestOffset(begin, ReadAllAvailable())
    again = reader.initialOffset()
    assert ranges(reader.partitions(again, end)) == [(topic, 2, 0, 4)]
    broker.produce(topic, [(None, b"x")], partition=0)
    after = reader.latestOffset(end, ReadAllAvailable())  # and not a trigger later
    assert ranges(reader.partitions(end, after)) == [(topic, 0, 5, 6)]


def test_available_now_from_the_end_while_records_come_is_no_loss(broker, topic, streamed):
    reader = streamed()
    reader.prepareForTriggerAvailableNow()
    fill(broker, topic, 4)
    begin = reader.initialOffset()
    end = reader.latestOffset(begin, ReadAllAvailable())
    assert reader.partitions(begin, end) == []
    assert end == {topic: {"0": 5, "1": 5}}  # and from there the next run goes on


@pytest.mark.parametrize("how", ["startingOffsets", "startingTimestamp"])
def test_available_now_from_behind_what_was_there_is_no_loss(broker, topic, streamed, how):
    now = time.time_ns() // 1_000_000
    start = {"startingOffsets": bound(topic, 6, 5), "startingTimestamp": str(now + 60_000)}
    reader = streamed(**{how: start[how]})
    reader.prepareForTriggerAvailableNow()
    with Producer(bootstrap_servers=broker.bootstrap) as producer:
        for partition, stamp in [(0, now), (0, now + 60_000), (1, now + 60_000)]:
            producer.send(topic, b"x", partition=partition, timestamp_ms=stamp).get(30)
    begin = reader.initialOffset()
    assert begin == {topic: {"0": 6, "1": 5}}
    end = reader.latestOffset(begin, ReadAllAvailable())
    assert end == begin
    assert reader.partitions(begin, end) == []


def test_new_partitions_are_read_from_their_first_record(broker, topic, streamed):
    reader = streamed()
    begin = reader.initialOffset()
    add_partitions(broker.bootstrap, topic, 3)
    broker.produce(topic, [(None, b"y")] * 4, partition=2)
    end = reader.latestOffset(begin, ReadAllAvailable())
    assert end == {topic: {"0": 5, "1": 5, "2": 4}}
    assert ranges(reader.partitions(begin, end)) == [(topic, 2, 0, 4)]


def test_new_topics_of_a_pattern(broker, topic, streamed):
    reader = streamed(subscribePattern=f"{topic}.*")
    begin = reader.initialOffset()
    broker.create_topic(f"{topic}-more")
    fill(broker, f"{topic}-more", 3)
    end = reader.latestOffset(begin, ReadAllAvailable())
    assert end[f"{topic}-more"] == {"0": 3}
    assert ranges(reader.partitions(begin, end)) == [(f"{topic}-more", 0, 0, 3)]


def test_a_new_partition_that_has_lost_records_already(broker, topic, streamed, caplog):
    begin = streamed().initialOffset()
    add_partitions(broker.bootstrap, topic, 3)
    broker.produce(topic, [(None, b"y")] * 4, partition=2)
    delete_records(broker.bootstrap, topic, 1, partition=2)
    with pytest.raises(DataLossError, match=f"{topic}-2 is new to this query, and begins at 1"):
        streamed().latestOffset(begin, ReadAllAvailable())
    reader = streamed(failOnDataLoss="false")
    with caplog.at_level(logging.WARNING, "kcore.pipeline"):
        end = reader.latestOffset(begin, ReadAllAvailable())
        assert ranges(reader.partitions(begin, end)) == [(topic, 2, 1, 4)]
    assert "begins at 1" in caplog.text


def test_a_topic_made_anew_is_loss(broker, topic, streamed, caplog):
    begin = streamed().initialOffset()
    delete_topic(broker.bootstrap, topic)
    for how, wrong in (("subscribe", PlanError), ("subscribePattern", DataLossError)):
        with pytest.raises(wrong, match=topic):
            streamed(**{how: topic}).latestOffset(begin, ReadAllAvailable())
    broker.create_topic(topic, 1)
    fill(broker, topic, 2)
    with pytest.raises(DataLossError) as caught:
        streamed().latestOffset(begin, ReadAllAvailable())
    assert f"{topic}-0 ends at 2, and was read up to 5" in str(caught.value)
    assert (caught.value.begin, caught.value.end) == (2, 5)
    committed = streamed(**{"kafka.isolation.level": "read_committed"})
    with pytest.raises(DataLossError, match="ends at 2"):  # and is not behind a transaction
        committed.latestOffset(begin, ReadAllAvailable())
    reader = streamed()
    reader.prepareForTriggerAvailableNow()
    with pytest.raises(DataLossError, match="ends at 2"):
        reader.latestOffset(begin, ReadAllAvailable())
    reader = streamed(failOnDataLoss="false")
    with caplog.at_level(logging.WARNING, "kcore.pipeline"):
        end = reader.latestOffset(begin, ReadAllAvailable())
    assert end == {topic: {"0": 2}}
    assert reader.partitions(begin, end) == []
    assert f"{topic}-1 is gone" in caplog.text
    fill(broker, topic, 1)
    after = reader.latestOffset(end, ReadAllAvailable())
    assert ranges(reader.partitions(end, after)) == [(topic, 0, 2, 3)]


@pytest.mark.parametrize("how", ["subscribe", "subscribePattern"])
def test_a_new_partition_that_is_gone_when_its_micro_batch_is_run_again(
    broker, topic, streamed, how, caplog
):
    """An earlier run had planned it, and written that down."""
    begin, end = {topic: {"0": 2, "1": 5}}, {topic: {"0": 5, "1": 5}}
    new = {topic: {"2": 4}} if how == "subscribe" else {f"{topic}-more": {"0": 4}}
    end = {name: end.get(name, {}) | new.get(name, {}) for name in end | new}
    wanted = {how: topic, "kafka.default.api.timeout.ms": "500"}
    with pytest.raises(DataLossError, match="is gone, and was to be read up to 4") as caught:
        streamed(**wanted).partitions(begin, end)
    assert (caught.value.begin, caught.value.end) == (0, 4)
    reader = streamed(failOnDataLoss="false", **wanted)
    with caplog.at_level(logging.WARNING, "kcore.pipeline"):
        assert ranges(reader.partitions(begin, end)) == [(topic, 0, 2, 5)]
    assert "is gone, and was to be read up to 4" in caplog.text


@pytest.mark.parametrize("gone", ["1", "7"])
def test_what_is_gone_is_said_once_though_there_is_not_enough_yet(topic, streamed, gone, caplog):
    reader = streamed(minOffsetsPerTrigger="100", failOnDataLoss="false")
    begin = {topic: {"0": 5, "1": 5, gone: 9}}
    reader.latestOffset(begin, ReadAllAvailable())  # the first one waits for nothing
    caplog.clear()
    with caplog.at_level(logging.WARNING, "kcore.pipeline"):
        end = reader.latestOffset(begin, ReadAllAvailable())
        assert end == {topic: {"0": 5, "1": 5}}
        assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert len(caplog.records) == 1


@pytest.mark.parametrize("how", ["subscribe", "subscribePattern"])
@pytest.mark.parametrize("loss", ["true", "false"])
def test_a_topic_that_a_node_does_not_know_for_a_moment_is_not_gone(
    broker, topic, streamed, how, loss
):
    reader = streamed(startingOffsets="earliest", failOnDataLoss=loss, **{how: topic})
    if how == "subscribe":  # what a pattern is to find for the first time nobody can miss
        broker.refuse("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", times=2)
    begin = reader.initialOffset()
    assert begin == {topic: {"0": 0, "1": 0}}
    end = reader.latestOffset(begin, ReadAllAvailable())
    assert end == {topic: {"0": 5, "1": 5}}
    broker.refuse("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", times=3)
    assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert plan(broker, topic, **{how: topic}) == [(topic, 0, 0, 5), (topic, 1, 0, 5)]
    available = streamed(startingOffsets="earliest", failOnDataLoss=loss, **{how: topic})
    broker.refuse("Metadata", "UNKNOWN_TOPIC_OR_PARTITION", times=1)
    available.prepareForTriggerAvailableNow()
    assert available.latestOffset({topic: {"0": 3, "1": 5}}, ReadAllAvailable()) == end


@pytest.mark.parametrize("how", ["subscribe", "assign"])
def test_a_topic_that_was_just_made_is_asked_for_again(broker, topic, how, monkeypatch):
    answers = []
    ask = Consumer.fetch_partitions

    def lagging(consumer, topics):
        answers.append(dict(ask(consumer, topics)) if len(answers) >= late else {})
        return answers[-1]

    monkeypatch.setattr(Consumer, "fetch_partitions", lagging)
    wanted = {how: json.dumps({topic: [0, 1]}) if how == "assign" else topic}
    late = 5
    assert plan(broker, topic, **wanted) == [(topic, 0, 0, 5), (topic, 1, 0, 5)]
    answers.clear()
    late = 6
    with pytest.raises(PlanError, match=f"there is no topic {topic}"):
        plan(broker, topic, **wanted)


@pytest.mark.parametrize("how", ["subscribe", "subscribePattern", "assign"])
def test_a_partition_that_a_node_does_not_know_for_a_moment_is_not_gone(
    broker, topic, streamed, how, monkeypatch
):
    hidden = [0]
    ask = Consumer.fetch_partitions

    def lagging(consumer, topics):
        found = ask(consumer, topics)
        if hidden[0]:
            hidden[0] -= 1
            found = {name: numbers - {1} for name, numbers in found.items()}
        return found

    monkeypatch.setattr(Consumer, "fetch_partitions", lagging)
    wanted = {how: json.dumps({topic: [0, 1]}) if how == "assign" else topic}
    begin = {topic: {"0": 3, "1": 2}}
    reader = streamed(**wanted)
    hidden[0] = 3
    assert reader.latestOffset(begin, ReadAllAvailable()) == {topic: {"0": 5, "1": 5}}
    assert not hidden[0]
    available = streamed(**wanted)
    hidden[0] = 1
    available.prepareForTriggerAvailableNow()
    hidden[0] = 2 * (how != "assign")
    assert available.latestOffset(begin, ReadAllAvailable()) == {topic: {"0": 5, "1": 5}}
    assert not hidden[0]
    if how == "assign":
        hidden[0] = 3
        assert plan(broker, topic, **wanted) == [(topic, 0, 0, 5), (topic, 1, 0, 5)]


def test_read_committed_goes_on_from_what_was_read_uncommitted(broker, topic, streamed):
    """A checkpoint of read_uncommitted that is behind the last stable offset."""
    producer = with_an_open_transaction(broker, topic)
    begin = streamed().initialOffset()
    assert begin == {topic: {"0": 6, "1": 5}}
    for available_now in (False, True):
        reader = streamed(**{"kafka.isolation.level": "read_committed"})
        if available_now:
            reader.prepareForTriggerAvailableNow()
        assert reader.latestOffset(begin, ReadAllAvailable()) == begin
    producer.commit_transaction(30)
    broker.produce(topic, [(None, b"x")], partition=0)
    reader = streamed(**{"kafka.isolation.level": "read_committed"})
    end = reader.latestOffset(begin, ReadAllAvailable())
    assert ranges(reader.partitions(begin, end)) == [(topic, 0, 6, 8)]


# What travels -------------------------------------------------------------------------------------


def test_readers_travel_without_their_connections(topic, streamed):
    reader = streamed(startingOffsets="earliest", minRecordsPerPartition="1")
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    again = pickle.loads(pickle.dumps(reader))
    (task, _) = reader.partitions(reader.initialOffset(), end)
    task = pickle.loads(pickle.dumps(task))
    assert repr(task) == f"{topic}-0[0, 5)"
    assert sum(batch.num_rows for batch in again.read(task)) == 5


def test_what_pyspark_makes_of_no_task_reads_nothing(topic, streamed):
    from pyspark.sql.datasource import InputPartition  # noqa: PLC0415

    assert [*streamed().read(InputPartition(None))] == []


def test_stop_may_come_first_and_twice(streamed):
    reader = streamed()
    reader.stop()
    assert reader.reportLatestOffset() is None  # nobody has asked yet
    reader.initialOffset()
    reader.stop()
    reader.stop()


def test_whoever_is_done_leaves_nobody_connected(broker, topic, streamed, monkeypatch):
    made = []
    real = cluster.Consumer
    monkeypatch.setattr(cluster, "Consumer", lambda **given: made.append(real(**given)) or made[-1])
    plan(broker, topic)
    with pytest.raises(PlanError):
        plan(broker, topic, startingOffsets=bound(topic, 9, 9))
    reader = streamed(**{"kafka.isolation.level": "read_committed", "failOnDataLoss": "false"})
    for _ in range(3):  # one for all questions, and one for what is not committed yet
        reader.latestOffset({topic: {"0": 9, "1": 9}}, ReadAllAvailable())
    reader.stop()
    assert len(made) == 4
    for one in made:
        with pytest.raises(ConsumerStoppedError):
            one.topics()
