"""Topics of the jobs on somebody's own brokers: what an earlier run left there, and what others
write into them.
"""

import gc
import json
import weakref
from types import SimpleNamespace

import pytest
from confluent_kafka.admin import AdminClient

from kcore import Producer
from kcore.embedded import EmbeddedBroker
from kcore.pipeline.jobs import data, delays, topics
from kcore.pipeline.jobs.errors import JobError, shortened
from kcore.pipeline.jobs.runner import begins_of, prepare

pytest.importorskip("pandas")


@pytest.fixture
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("delays", 2)
        yield broker


def write(broker, *values, partition=0):
    with Producer(bootstrap_servers=broker.bootstrap) as producer:
        for value in values:
            producer.send("delays", value, partition=partition)


def row(number):
    return json.dumps({"flights": number}).encode()


def test_each_row_counts_once(broker):
    write(broker, row(1), row(2), row(1))
    write(broker, row(3), row(2), partition=1)
    found = topics.read_json(broker.bootstrap, "delays", [0, 0])
    assert sorted(found["flights"]) == [1, 2, 3]


def test_what_was_there_before_is_passed_over(broker):
    write(broker, b"of somebody else", None, row(1))
    begins = topics.ends(broker.bootstrap, "delays")
    assert begins == [3, 0]
    write(broker, row(6), partition=1)
    assert [*topics.read_json(broker.bootstrap, "delays", begins)["flights"]] == [6]
    write(broker, row(5))
    found = topics.read_json(broker.bootstrap, "delays", begins)
    assert sorted(found["flights"]) == [5, 6]


def test_of_a_topic_that_was_made_anew_everything_counts(broker):
    write(broker, row(1))
    assert [*topics.read_json(broker.bootstrap, "delays", [40, 7])["flights"]] == [1]


@pytest.mark.parametrize("value", [None, b"", b"hello", b"\xff\xfe", b"5", b'["a"]'])
def test_what_is_no_row_is_named_with_where_it_is(broker, value):
    write(broker, row(1))
    write(broker, row(2), row(3), value, row(4), partition=1)
    with pytest.raises(JobError, match=r"topic delays, partition 1, offset 2: .*delete") as caught:
        topics.read_json(broker.bootstrap, "delays", [0, 0])
    assert "\n" not in str(caught.value)
    assert "JSON" in str(caught.value)


def test_topics_are_made_and_filled_once(broker):
    job = SimpleNamespace(
        TOPICS={"delays": {}, "made": {}}, records=lambda _rows: {"made": data.Keyed([b"x"] * 6)}
    )
    for _ in range(2):
        topics.fill(job, broker.bootstrap, None)
        assert topics.ends(broker.bootstrap, "made") == [2, 2, 1, 1]
    assert topics.ends(broker.bootstrap, "delays") == [0, 0]  # which was there, as it is
    broker.produce("made", [(None, b"y")])
    with pytest.raises(JobError, match=r"7 records .* topic made so far, and it is to have 6: del"):
        topics.fill(job, broker.bootstrap, None)


def test_topics_that_cannot_be_made_or_read_end_the_job(broker, monkeypatch):
    broker.refuse("CreateTopics", "TOPIC_AUTHORIZATION_FAILED", topic="made")
    with pytest.raises(JobError, match=r"no topic could be made at 127.*AUTHORIZATION"):
        topics.create(broker.bootstrap, {"delays": {}, "made": {}})
    write(broker, row(1))
    monkeypatch.setattr(topics, "_STALLED_S", 0.5)
    broker.refuse("Fetch", "NOT_LEADER_OR_FOLLOWER", times=1_000_000)
    with pytest.raises(JobError, match="topic delays could not be read back: nothing came"):
        topics.read_json(broker.bootstrap, "delays", [0, 0])


def test_who_made_topics_is_gone_by_then(broker, monkeypatch):
    """Or it would say on standard error that it cannot connect, where the broker has ended."""
    made = []
    real = AdminClient.__init__

    def begin(client, *given):
        real(client, *given)
        made.append(weakref.ref(client))

    monkeypatch.setattr(AdminClient, "__init__", begin)
    gc.disable()
    try:
        for _ in range(2):  # the second time they are there
            topics.create(broker.bootstrap, {"delays": {}, "other": {}})
        assert [one() for one in made] == [None, None]
    finally:
        gc.enable()


def test_a_topic_that_is_not_there_is_named(broker):
    with pytest.raises(JobError, match=r"no topic nowhere at .*--no-load"):
        topics.written(broker.bootstrap, "nowhere")


def test_a_killed_run_counts_from_where_it_began_and_another_one_anew(broker, tmp_path):
    write(broker, row(1))
    assert not prepare(tmp_path, 4_000, broker.bootstrap)
    assert begins_of(tmp_path, delays, broker.bootstrap) == {"delays": [1, 0]}
    write(broker, row(2))
    note = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(note | {"state": "loaded"}))
    assert prepare(tmp_path, 4_000, broker.bootstrap)
    assert begins_of(tmp_path, delays, broker.bootstrap) == {"delays": [1, 0]}
    assert not prepare(tmp_path, 5_000, broker.bootstrap)
    assert begins_of(tmp_path, delays, broker.bootstrap) == {"delays": [2, 0]}


def test_what_java_says_is_told_without_how_it_was_called():
    said = (
        "An error occurred while calling None.org.apache.spark.sql.classic.SparkSession.\n"
        ": java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.\n"
        "This stopped SparkContext was created at:\n"
    )
    told = "java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext."
    assert shortened(said) == told
