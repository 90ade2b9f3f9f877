"""The rows that jobs read, what pandas makes of them, and what Spark's file sink says is there."""

import json
import time

import pandas as pd
import pytest
from pyspark.errors import StreamingQueryException

from kcore.cli.local import pipeline
from kcore.pipeline.jobs import NAMES, aircraft, data, delays, runner, weather
from kcore.pipeline.jobs.errors import JobError, WrongResultError, shortened
from kcore.pipeline.jobs.results import check, files
from kcore.pipeline.jobs.runner import Job, module_of, prepare

ROWS = 3_000


# Rows --------------------------------------------------------------------------------------------


def test_flights_are_all_there_in_the_order_of_their_times():
    flights = data.flights()
    assert len(flights) == data.FLIGHTS
    assert flights["scheduled"].is_monotonic_increasing
    # The very first: United 1545 to Houston, at 5:15 in New York, two minutes late.
    first = flights.iloc[0]
    assert (first["carrier"], first["flight"], first["dest"]) == ("UA", 1545, "IAH")
    assert first["scheduled"] == pd.Timestamp("2013-01-01T10:15Z")
    assert first["dep_delay"] == 2.0


def test_a_part_is_the_beginning():
    pd.testing.assert_frame_equal(data.flights(ROWS), data.flights()[:ROWS])
    assert data.weather(ROWS)["hour"].max() <= data.flights(ROWS)["hour"].max()


def test_values_are_json_with_times_in_utc_and_null_for_what_is_missing():
    rows = data.flights()
    missing = rows[rows["dep_delay"].isna()].head(1)[["scheduled", "carrier", "dep_delay"]]
    value = json.loads(data.to_values(missing)[0])
    assert value["scheduled"].endswith("Z")
    assert pd.Timestamp(value["scheduled"]) == missing["scheduled"].iloc[0]
    assert value["dep_delay"] is None


@pytest.mark.parametrize("name", NAMES)
def test_every_topic_that_is_read_gets_records_and_is_created(name):
    module = module_of(name)
    records = module.records(ROWS)
    assert set(records) == set(module.READS) <= set(module.TOPICS)
    for topic in records.values():
        assert len(topic.values) > 100
        assert topic.keys is None or len(topic.keys) == len(topic.values)
        assert topic.times is None or len(topic.times) == len(topic.values)


def test_no_job_of_another_name():
    with pytest.raises(JobError, match="delays, weather, aircraft"):
        module_of("nonsense")


# What pandas says --------------------------------------------------------------------------------


def test_late_flights_come_last_and_the_watermark_has_passed_them():
    in_time, late = delays.reported(ROWS)
    assert len(in_time) + len(late) == ROWS
    assert 0 < len(late) <= delays.LATE_ROWS
    # One micro-batch before the end the watermark is behind what came by then.
    before = in_time["scheduled"][: len(in_time) - ROWS // 8].max()
    assert late["scheduled"].max().ceil("h") < before - pd.Timedelta(delays.WATERMARK)
    # Out of order, but never by a day.
    behind = in_time["scheduled"].cummax() - in_time["scheduled"]
    assert pd.Timedelta(0) < behind.max() < pd.Timedelta(hours=2)


def test_delays_are_counted_without_late_ones_and_open_windows():
    in_time, late = delays.reported(ROWS)
    found = delays.expected(ROWS)
    ends = found["hour"] + pd.Timedelta(hours=1)
    assert ends.max() <= in_time["scheduled"].max() - pd.Timedelta(delays.WATERMARK)
    closed = in_time["scheduled"].dt.floor("h") <= found["hour"].max()
    assert found["flights"].sum() == closed.sum()
    assert found["flights"].sum() < ROWS - len(late)


def test_flights_without_weather_are_left_out():
    found = weather.expected(ROWS)
    keys = set(zip(data.weather()["hour"], data.weather()["origin"], strict=True))
    there = [pair in keys for pair in zip(found["hour"], found["origin"], strict=True)]
    assert all(there)
    assert ROWS * 0.9 < len(found) <= ROWS


def test_the_last_state_of_those_that_fly_on():
    found = aircraft.expected(ROWS)
    flights = data.flights(ROWS)
    assert found["tailnum"].is_unique
    gone = aircraft.retired(flights[flights["tailnum"].notna()])
    assert not set(gone) & set(found["tailnum"])
    assert len(gone) + len(found) == flights["tailnum"].nunique()
    one = found.iloc[0]
    assert one["scheduled"] == flights[flights["tailnum"] == one["tailnum"]]["scheduled"].max()


@pytest.mark.parametrize("name", NAMES)
def test_plots_are_drawn(name, tmp_path):
    module = module_of(name)
    module.plot(module.expected(20_000), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


# The check ---------------------------------------------------------------------------------------


def wrong_value(right):
    right.loc[5, "mean_delay"] += 0.001
    return right


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda right: right[1:], "pandas has"),
        (lambda right: pd.concat([right, right[:1]]), "pandas has"),
        (lambda right: pd.concat([right[1:], right[1:2]]), "not what pandas has"),
        (wrong_value, "not what pandas has: .*mean_delay"),
        (lambda right: right.drop(columns="flights"), "there is no column flights"),
    ],
)
def test_a_wrong_result_is_found(spoil, said):
    right = delays.expected(ROWS)
    with pytest.raises(WrongResultError, match=f"^files: .*{said}"):
        check("files", spoil(right.copy()), right)


def test_order_and_the_kind_of_time_do_not_matter():
    right = delays.expected(ROWS)
    found = right[::-1].assign(hour=right["hour"].dt.strftime("%Y-%m-%dT%H:%M:%S.000Z"))
    assert len(check("topic", found, right)) == len(right)


# Files of a sink ---------------------------------------------------------------------------------


def told(folder, name, *added):
    log = folder / "_spark_metadata"
    log.mkdir(exist_ok=True)
    entries = [{"path": f"file://{folder}/{path}", "action": "add"} for path in added]
    (log / name).write_text("\n".join(["v1", *map(json.dumps, entries)]))
    (log / f".{name}.crc").write_bytes(b"crc")


def test_only_what_the_sink_has_committed_counts(tmp_path):
    for name in ("a.parquet", "b.parquet", "left-over.parquet"):
        (tmp_path / name).touch()
    told(tmp_path, "0", "a.parquet")
    told(tmp_path, "1", "b.parquet")
    told(tmp_path, "2")
    assert [path.name for path in files(tmp_path)] == ["a.parquet", "b.parquet"]


def test_a_compacted_log_stands_for_those_before_it(tmp_path):
    told(tmp_path, "8", "old.parquet")  # is still there, and in the compacted one too
    told(tmp_path, "9.compact", "old.parquet", "a.parquet")
    told(tmp_path, "10", "b.parquet")
    told(tmp_path, "11", "c.parquet")
    names = [path.name for path in files(tmp_path)]
    assert names == ["old.parquet", "a.parquet", "b.parquet", "c.parquet"]


def test_the_last_of_two_compacted_logs_counts(tmp_path):
    told(tmp_path, "9.compact", "a.parquet")
    told(tmp_path, "10", "b.parquet")
    told(tmp_path, "19.compact", "a.parquet", "b.parquet", "c.parquet")
    assert [path.name for path in files(tmp_path)] == ["a.parquet", "b.parquet", "c.parquet"]


def test_without_a_log_every_file_counts(tmp_path):
    (tmp_path / "part-0.parquet").touch()
    (tmp_path / "_SUCCESS").touch()
    assert [path.name for path in files(tmp_path)] == ["part-0.parquet"]


# A job's folder ----------------------------------------------------------------------------------


def noted(folder, rows, state):
    (folder / "checkpoints").mkdir(parents=True)
    noted = {"rows": rows, "brokers": None, "state": state}
    (folder / "run.json").write_text(json.dumps(noted))


def test_a_killed_run_goes_on(tmp_path):
    noted(tmp_path, 5_000, "loaded")
    assert prepare(tmp_path, 5_000, None)
    assert (tmp_path / "checkpoints").exists()


@pytest.mark.parametrize(("rows", "state"), [(5_000, "done"), (6_000, "loaded"), (None, "loaded")])
def test_another_run_begins_anew_and_touches_nothing_else(rows, state, tmp_path):
    noted(tmp_path, rows, state)
    (tmp_path / "notes.txt").write_text("mine")
    assert not prepare(tmp_path, 5_000, None)
    assert not (tmp_path / "checkpoints").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_a_damaged_note_begins_anew(text, tmp_path):
    noted(tmp_path, 5_000, "loaded")
    (tmp_path / "run.json").write_text(text)
    assert not prepare(tmp_path, 5_000, None)
    assert not (tmp_path / "checkpoints").exists()


def test_other_brokers_begin_anew(tmp_path):
    noted(tmp_path, 5_000, "loaded")
    assert not prepare(tmp_path, 5_000, "127.0.0.1:9092")
    assert not prepare(tmp_path, 5_000, "127.0.0.1:9092")  # it never came to its rows


def test_what_no_run_has_made_stays(tmp_path):
    (tmp_path / "parquet").mkdir()
    with pytest.raises(JobError, match=r"parquet is of no run of this job"):
        prepare(tmp_path, 5_000, None)
    assert (tmp_path / "parquet").exists()


def test_the_command_takes_as_many_rows_as_the_jobs_do():
    (rows,) = (option for option in pipeline.params if option.name == "rows")
    assert (rows.type.min, rows.type.max) == (data.ROWS_MIN, data.FLIGHTS)


# Endings -----------------------------------------------------------------------------------------


class FakeQuery:
    """A query that ends, fails, or goes on for good."""

    def __init__(self, name, ending=None):
        self.name = name
        self.ending = ending
        self.isActive = True
        self.lastProgress = {"batchId": 3}

    def awaitTermination(self, timeout_s):  # noqa: N802 - Spark's
        if isinstance(self.ending, Exception):
            self.isActive = False
            raise self.ending
        if self.ending == "done":
            self.isActive = False
        return not self.isActive

    def stop(self):
        self.isActive = False


TOLD_BY_SPARK = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted
due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
    raise DataLossError(text)
ValueError: the cause of it

During handling of the above exception, another exception occurred:

kcore.pipeline.errors.DataLossError: orders-0: records 3 to 9 are gone; the log begins at 9

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
Caused by: org.apache.spark.SparkException: nothing
java.lang.RuntimeException: nothing either
SQLSTATE: XXKST"""


def test_when_a_query_fails_the_others_are_stopped_and_the_error_is_short(tmp_path):
    job = Job(None, "delays", "nowhere:1", tmp_path)
    going_on = FakeQuery("delays-parquet")
    failing = FakeQuery("delays-to-delays", StreamingQueryException(TOLD_BY_SPARK))
    job.queries = [FakeQuery("first", "done"), going_on, failing]
    with pytest.raises(JobError) as caught:
        job.finish()
    assert str(caught.value) == (
        "query delays-to-delays failed: DataLossError: orders-0: records 3 to 9 are gone; the log "
        "begins at 9"
    )
    assert not going_on.isActive


class SlowQuery(FakeQuery):
    """A micro-batch with each look, `batches` of them."""

    def __init__(self, name, batches):
        super().__init__(name)
        self.batches = batches

    def awaitTermination(self, timeout_s):  # noqa: N802 - Spark's
        time.sleep(timeout_s)
        self.lastProgress = {"batchId": self.lastProgress["batchId"] + 1}
        self.batches -= 1
        self.isActive = self.batches > 0
        return not self.isActive


def test_a_query_that_does_nothing_for_long_ends_the_job_and_a_long_one_does_not(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(runner, "_STALLED_S", 0.05)
    monkeypatch.setattr(runner, "_POLL_S", 0.01)
    job = Job(None, "delays", "nowhere:1", tmp_path)
    job.queries = [SlowQuery("long", 20)]
    job.finish()
    job.queries = [SlowQuery("long", 1_000), FakeQuery("stuck")]
    with pytest.raises(JobError, match=r"query stuck did nothing for 0\.05 s"):
        job.finish()
    assert not any(query.isActive for query in job.queries)


def test_what_is_no_python_error_is_told_by_its_first_line():
    assert shortened("[NO] this is not a topic\nsecond line\n\tat org.apache") == (
        "[NO] this is not a topic"
    )
    assert shortened("") == ""
    assert len(shortened("x" * 10_000)) == 500
