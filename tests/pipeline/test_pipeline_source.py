"""What the driver plans for a batch: partitions and bounds; no Spark, on the embedded broker."""

import json
import logging
import time

import pytest
from pipeline_support import (
    bound,
    create_topic,
    delete_records,
    fill,
    options,
    plan,
    plan_tasks,
    transact,
    with_an_open_transaction,
)
from pyspark.sql.streaming.datasource import ReadMaxRows

from kcore.pipeline.errors import DataLossError, PlanError
from kcore.pipeline.source import KcoreReader

pytestmark = pytest.mark.usefixtures("soon")


def test_everything_by_default(broker, topic):
    assert plan(broker, topic) == [(topic, 0, 0, 5), (topic, 1, 0, 5)]
    assert plan(broker, topic, subscribePattern=f"{topic}.*") == plan(broker, topic)
    assert plan(broker, topic, assign=json.dumps({topic: [1]})) == [(topic, 1, 0, 5)]


def test_a_pattern_may_be_anywhere_in_a_name_as_with_sparks_own(broker, topic):
    assert len(plan(broker, topic, subscribePattern=topic[3:-1])) == 2
    assert plan(broker, topic, subscribePattern=f"^{topic[:-1]}$") == []
    assert plan(broker, topic, subscribePattern="no such") == []


def test_bounds(broker, topic):
    begin = json.dumps({topic: {"0": 2, "1": -2}})
    end = json.dumps({topic: {"0": -1, "1": 3}})
    assert plan(broker, topic, startingOffsets=begin, endingOffsets=end) == [
        (topic, 0, 2, 5),
        (topic, 1, 0, 3),
    ]
    same = json.dumps({topic: {"0": 5, "1": 3}})
    assert plan(broker, topic, startingOffsets=same, endingOffsets=end) == []


def test_bounds_by_time(broker, request):
    topic = "by-time"
    create_topic(broker.bootstrap, topic, 2)
    stamps = []
    for _ in range(3):
        time.sleep(0.005)
        stamps.append(time.time_ns() // 1_000_000)
        time.sleep(0.005)
        fill(broker, topic, 2)
    begin, end = str(stamps[1]), str(stamps[2])
    assert plan(broker, topic, startingTimestamp=begin, endingTimestamp=end) == [
        (topic, 0, 1, 2),
        (topic, 1, 1, 2),
    ]
    each = json.dumps({topic: {"0": stamps[2], "1": stamps[0]}})
    assert plan(broker, topic, startingOffsetsByTimestamp=each) == [
        (topic, 0, 2, 3),
        (topic, 1, 0, 3),
    ]
    late = str(stamps[2] + 3_600_000)
    assert plan(broker, topic, endingTimestamp=late) == [(topic, 0, 0, 3), (topic, 1, 0, 3)]
    with pytest.raises(PlanError, match="'startingTimestamp': by-time-0, by-time-1 has no record"):
        plan(broker, topic, startingTimestamp=late)
    relaxed = {"startingOffsetsByTimestampStrategy": "latest"}
    assert plan(broker, topic, startingTimestamp=late, **relaxed) == []


def test_tasks_are_cut_by_size(broker, topic):
    assert len(plan(broker, topic, maxRecordsPerPartition="2")) == 6
    assert len(plan(broker, topic, minPartitions="4")) == 4


def test_small_ranges_share_a_task(broker, topic, streamed):
    assert len(plan_tasks(broker, topic, minRecordsPerPartition="1")) == 2
    tasks = plan_tasks(broker, topic)
    assert [str(one) for one in tasks] == [f"{topic}-0[0, 5), {topic}-1[0, 5)"]
    found = list(KcoreReader(options(broker.bootstrap, topic)).read(tasks[0]))
    assert [(row["partition"], row["offset"]) for rows in found for row in rows.to_pylist()] == [
        (partition, offset) for partition in range(2) for offset in range(5)
    ]
    reader = streamed(startingOffsets="earliest")
    begin = reader.initialOffset()
    tasks = reader.partitions(begin, reader.latestOffset(begin, ReadMaxRows(6)))
    assert [str(one) for one in tasks] == [f"{topic}-0[0, 3), {topic}-1[0, 3)"]


def test_plans_that_cannot_be(broker, topic):
    with pytest.raises(PlanError, match="there is no topic absent, gone: create"):
        plan(broker, f"gone,{topic},absent")
    with pytest.raises(PlanError, match=f"'assign' names partitions that do not exist: {topic}-7"):
        plan(broker, topic, assign=json.dumps({topic: [0, 7]}))
    one = json.dumps({topic: {"0": 1}})
    with pytest.raises(PlanError, match=f"'startingOffsets' has to .*{topic}-1 is missing.*-1"):
        plan(broker, topic, startingOffsets=one)
    with pytest.raises(PlanError, match=f"has to name every partition; {topic}-1 is missing$"):
        plan(broker, topic, startingOffsetsByTimestamp=one)
    more = json.dumps({topic: {"0": 1, "1": 1, "2": 1}, "other": {"0": 1}})
    with pytest.raises(PlanError, match=f"not read: other-0, {topic}-2"):
        plan(broker, topic, endingOffsets=more)
    begin, end = json.dumps({topic: {"0": 4, "1": 0}}), json.dumps({topic: {"0": 3, "1": 3}})
    with pytest.raises(PlanError, match=f"{topic}-0 would be read from 4 to 3"):
        plan(broker, topic, startingOffsets=begin, endingOffsets=end)
    assert set(broker.topics()) & {"gone", "absent", "other"} == set()  # asking makes none


def test_offsets_that_the_log_does_not_have_are_said_while_planning(broker, topic, streamed):
    delete_records(broker.bootstrap, topic, 2)
    early, late, behind = bound(topic, 1, 0), bound(topic, 2, 9), bound(topic, 5, 6)
    with pytest.raises(DataLossError) as caught:
        plan(broker, topic, startingOffsets=early)
    assert f"'startingOffsets': {topic}-0: records 1 to 2 are gone; the log begins at 2" in str(
        caught.value
    )
    assert (caught.value.partition.partition, caught.value.begin, caught.value.end) == (0, 1, 2)
    with pytest.raises(DataLossError, match=f"{topic}-0: records 1 to 2 are gone"):
        streamed(startingOffsets=early).initialOffset()
    with pytest.raises(PlanError, match=f"'startingOffsets': {topic}-1: 9 is behind .* at 5"):
        streamed(startingOffsets=late).initialOffset()
    with pytest.raises(PlanError, match=f"'startingOffsets': {topic}-1: 9 is behind .* at 5"):
        plan(broker, topic, startingOffsets=late)
    with pytest.raises(PlanError, match=f"'endingOffsets': {topic}-1: 6 is behind .* at 5"):
        plan(broker, topic, endingOffsets=behind)


def test_with_fail_on_data_loss_false_bounds_are_moved_to_what_there_is(broker, topic, caplog):
    delete_records(broker.bootstrap, topic, 2)
    bounds = {"startingOffsets": bound(topic, 1, 9), "endingOffsets": bound(topic, 8, 5)}
    with caplog.at_level(logging.WARNING, "kcore.pipeline"):
        assert plan(broker, topic, failOnDataLoss="false", **bounds) == [(topic, 0, 2, 5)]
    for said in ("records 1 to 2 are gone", "0: 8 is behind", "1: 9 is behind"):
        assert said in caplog.text
    assert "set option" not in caplog.text  # it is set


@pytest.mark.parametrize("start", [{}, {"startingOffsets": 1}])
def test_with_fail_on_data_loss_false_a_range_that_is_all_gone_is_empty(
    broker, topic, start, caplog
):
    delete_records(broker.bootstrap, topic, 4)
    bounds = {name: bound(topic, number, 0) for name, number in start.items()}
    bounds["endingOffsets"] = bound(topic, 3, 5)
    with caplog.at_level(logging.WARNING, "kcore.pipeline"):
        assert plan(broker, topic, failOnDataLoss="false", **bounds) == [(topic, 1, 0, 5)]
    assert f"'endingOffsets': {topic}-0: all before 3 is gone; the log begins at 4" in caplog.text
    with pytest.raises((DataLossError, PlanError), match=r"records 1 to 4|from 4 to 3"):
        plan(broker, topic, **bounds)


def test_an_end_behind_what_is_committed_may_come_still(broker, topic):
    """A transaction is open: its records are there, and not yet to be read."""
    committed = {"kafka.isolation.level": "read_committed"}
    producer = with_an_open_transaction(broker, topic)
    assert plan(broker, topic, **committed)[0] == (topic, 0, 0, 5)
    end = bound(topic, 6, 5)
    assert plan(broker, topic, endingOffsets=end, **committed)[0] == (topic, 0, 0, 6)
    producer.abort_transaction(30)


def test_read_committed_ends_before_what_is_open(broker, topic):
    transact(broker.bootstrap, topic, [b"a"], commit=True)
    committed = {"kafka.isolation.level": "read_committed"}
    assert plan(broker, topic, **committed)[0] == (topic, 0, 0, 7)  # the marker counts
