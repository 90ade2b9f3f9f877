"""poll_arrow and poll_batches: arguments, waiting, errors, commits, and the consumer's end."""

import pytest
from scripted_consumer import T0, T1, assigned, make, records

from kcore import errors
from kcore.records.arrow import ArrowBatch

pa = pytest.importorskip("pyarrow")


def offsets(batch):
    return pa.record_batch(batch)["offset"].to_pylist()


def test_rows_at_hand_are_returned_without_a_step():
    consumer = assigned()
    consumer.core.batches.append({**records(T0, 1, 2), **records(T1, 7)})
    drains = consumer.pump.drains
    batch = pa.record_batch(consumer.poll_arrow())
    assert batch["offset"].to_pylist() == [1, 2, 7]
    assert batch["partition"].to_pylist() == [0, 0, 1]
    assert consumer.pump.steps == []
    assert consumer.pump.drains > drains  # the next fetch has left
    assert [entry[0] for entry in consumer.core.log] == ["poll", "take_columns"]


def test_batches_of_partitions():
    consumer = assigned(T0, T1)
    consumer.core.batches.append({**records(T0, 1, 2), **records(T1, 7)})
    one, other = consumer.poll_batches()
    assert (one.topic, one.partition, len(one)) == ("t", 0, 2)
    assert (other.partition, [record.offset for record in other]) == (1, [7])
    assert one.values.tolist() == [b"v", b"v"]


@pytest.mark.parametrize("call", ["poll_arrow", "poll_batches"])
def test_nothing_comes(call):
    consumer = assigned()
    before = consumer.pump.now
    found = getattr(consumer, call)(timeout_ms=2_500)
    assert len(found) == 0
    assert consumer.pump.now - before == 2_500
    assert len(consumer.core.verbs("poll")) >= 3
    if call == "poll_arrow":
        assert pa.record_batch(found).schema.names[-1] == "timestampType"


def test_it_returns_with_what_there_is():
    consumer = assigned()
    consumer.core.batches.append(records(T0, 1))
    before = consumer.pump.now
    assert len(consumer.poll_arrow(timeout_ms=60_000, max_rows=1_000)) == 1
    assert consumer.pump.now == before


def test_options_reach_the_core():
    consumer = assigned()
    consumer.core.batches.extend([records(T0, 1)] * 4)
    batch = consumer.poll_arrow(0, 10, 4_096, views=True, include_headers=True, dictionary=True)
    schema = pa.record_batch(batch).schema
    assert schema.field("key").type == pa.binary_view()
    assert schema.field("topic").type == pa.dictionary(pa.int32(), pa.string())
    assert schema.names[-1] == "headers"
    consumer.poll_arrow()
    consumer.poll_batches(max_records=3)
    consumer.poll_batches()
    assert [entry[1:] for entry in consumer.core.verbs("take_columns")] == [
        (10, 4_096, True, True),
        (None, None, False, False),
        (3, None, True, True),
        (None, None, True, True),
    ]


def test_only_the_columns_that_are_asked_for():
    consumer = assigned()
    consumer.core.batches.extend([records(T0, 1, 2)] * 2)
    batch = pa.record_batch(consumer.poll_arrow(columns=["offset", "value"]))
    assert batch.to_pydict() == {"value": [b"v", b"v"], "offset": [1, 2]}
    assert consumer.core.kept == {"keys": False, "values": True}
    batch = pa.record_batch(consumer.poll_arrow(columns=iter(["headers", "key"])))
    assert batch.schema.names == ["key", "headers"]
    assert consumer.core.kept == {"keys": True, "values": False}
    assert pa.record_batch(consumer.poll_arrow(columns=["topic"])).schema.names == ["topic"]


@pytest.mark.parametrize(
    ("call", "arguments", "error"),
    [
        ("poll_arrow", {"timeout_ms": -1}, ValueError),
        ("poll_arrow", {"timeout_ms": "1"}, TypeError),
        ("poll_arrow", {"max_rows": 0}, ValueError),
        ("poll_arrow", {"max_rows": 1.5}, TypeError),
        ("poll_arrow", {"max_bytes": 0}, ValueError),
        ("poll_arrow", {"max_bytes": True}, TypeError),
        ("poll_arrow", {"columns": ["key", "nonsense"]}, ValueError),
        ("poll_arrow", {"columns": []}, ValueError),
        ("poll_arrow", {"columns": "key"}, TypeError),
        ("poll_arrow", {"columns": ["key"], "include_headers": True}, ValueError),
        ("poll_batches", {"max_records": -1}, ValueError),
        ("poll_batches", {"timeout_ms": float("nan")}, ValueError),
    ],
)
def test_misuse(call, arguments, error):
    with pytest.raises(error, match=next(iter(arguments))):
        getattr(assigned(), call)(**arguments)


@pytest.mark.parametrize("call", ["poll_arrow", "poll_batches"])
def test_errors_are_those_of_poll(call):
    consumer = assigned()
    corrupt = errors.CorruptRecordError("broken", partition=T0, first_offset=3, last_offset=4)
    consumer.core.batches.extend([corrupt, records(T0, 5)])
    with pytest.raises(errors.CorruptRecordError):
        getattr(consumer, call)()
    assert len(getattr(consumer, call)()) == 1
    consumer.wakeup()
    with pytest.raises(errors.WakeupError):
        getattr(consumer, call)(timeout_ms=1_000)
    with pytest.raises(errors.IllegalStateError):
        getattr(make(), call)()


def test_commit_covers_what_was_handed_over():
    consumer = assigned(group_id="g")
    consumer.core.batches.append(records(T0, 1, 2))
    consumer.poll_arrow()
    consumer.commit()
    ((_, wanted, _),) = consumer.core.verbs("commit")
    assert wanted is None  # everything consumed, which only the core knows


def test_a_loop_in_between_goes_back_to_what_it_has_not_yielded():
    consumer = assigned()
    consumer.core.batches.extend([records(T0, 1, 2, 3), records(T0, 2, 3)])
    consumer.core.assigned = {T0}
    assert next(consumer).offset == 1
    assert offsets(consumer.poll_arrow()) == [2, 3]
    assert consumer.core.verbs("go_back") == [("go_back", T0, 2, 3)]


@pytest.mark.parametrize("views", [False, True])
def test_a_batch_outlives_its_consumer(views):
    consumer = assigned()
    consumer.core.batches.append(records(T0, 1, 2))
    batch = consumer.poll_arrow(views=views)
    consumer.close()
    assert isinstance(batch, ArrowBatch)
    assert offsets(batch) == [1, 2]
    assert pa.record_batch(batch)["value"].to_pylist() == [b"v", b"v"]
    with pytest.raises(errors.ConsumerStoppedError):
        consumer.poll_arrow()


def test_records_of_batches_are_deserialized_and_columns_are_not():
    consumer = assigned(T0, value_deserializer=bytes.decode)
    consumer.core.batches.append(records(T0, 1, 2))
    (batch,) = consumer.poll_batches()
    assert [record.value for record in batch] == ["v", "v"]
    assert (batch[0].value, batch[-1].value, batch[1:].tolist()[0].value) == ("v", "v", "v")
    assert batch.values.tolist() == [b"v", b"v"]
    assert pa.record_batch(batch)["value"].to_pylist() == [b"v", b"v"]
    consumer.core.batches.append(records(T0, 3))
    assert pa.record_batch(consumer.poll_arrow())["value"].to_pylist() == [b"v"]
