"""ConsumerRecord beside kafka-python's named tuple: the same fields, the same behaviour."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Sequence

import pytest
from kafka.consumer.fetcher import ConsumerRecord as Theirs
from record_batches import read

from kcore.records import ConsumerRecord, encode_batch

FIELDS = ("t", 3, 7, 5, 1234, 0, b"k", b"v", [("h", b"x"), ("n", None)], None, 1, 1, 3)


def fetched() -> ConsumerRecord:
    log = encode_batch(
        [(1234, b"k", b"v", [("h", b"x"), ("n", None)])], base_offset=5, leader_epoch=7
    )
    return read(log)[0]


def made() -> ConsumerRecord:
    return ConsumerRecord(*FIELDS)


both = pytest.mark.parametrize("make", [fetched, made])


def test_the_fields_are_kafka_python_s() -> None:
    assert ConsumerRecord._fields == Theirs._fields
    assert ConsumerRecord.__match_args__ == Theirs.__match_args__
    assert ConsumerRecord._field_defaults == {}


@both
def test_each_field(make: object) -> None:
    record, theirs = make(), Theirs(*FIELDS)
    for name in Theirs._fields:
        assert getattr(record, name) == getattr(theirs, name), name


@both
def test_as_a_tuple(make: object) -> None:
    record = make()
    assert len(record) == 13
    assert tuple(record) == FIELDS
    assert list(record) == list(FIELDS)
    topic, partition, *_, size = record
    assert (topic, partition, size) == ("t", 3, 3)
    assert [record[i] for i in range(-13, 13)] == [FIELDS[i] for i in range(-13, 13)]
    assert record[3:8:2] == FIELDS[3:8:2]
    assert record[:] == FIELDS
    assert b"v" in record
    assert b"w" not in record
    assert (record.index(b"v"), record.count(1), record.index(1, 11)) == (7, 2, 11)
    assert record + (1,) == (*FIELDS, 1)  # noqa: RUF005 - the operator
    assert isinstance(record, Sequence)
    for index in (13, -14):
        with pytest.raises(IndexError):
            record[index]
    with pytest.raises(ValueError, match="not in tuple"):
        record.index(b"nowhere")


@both
def test_equality(make: object) -> None:
    record, theirs = make(), Theirs(*FIELDS)
    assert record == FIELDS
    assert FIELDS == record  # noqa: SIM300 - the reflected operator
    assert record == theirs
    assert theirs == record
    assert record == fetched()
    assert fetched() == record
    assert made() == record
    assert not record != FIELDS  # noqa: SIM202 - the other operator
    for at in range(13):
        other = (*FIELDS[:at], "other", *FIELDS[at + 1 :])
        assert record != other
        assert record != Theirs(*other)
        assert record != ConsumerRecord(*other)
    assert record != list(FIELDS)
    assert record != 5


@both
def test_hash_is_the_place(make: object) -> None:
    assert hash(make()) == hash(fetched())
    assert len({fetched(), make(), make()._replace(offset=6)}) == 2


@both
def test_repr_is_kafka_python_s(make: object) -> None:
    assert repr(make()) == repr(Theirs(*FIELDS))


@both
def test_replace_and_asdict(make: object) -> None:
    record, theirs = make(), Theirs(*FIELDS)
    assert record._asdict() == theirs._asdict()
    assert list(record._asdict()) == list(Theirs._fields)
    changed = record._replace(key=b"other", offset=9, headers=[], timestamp=None)
    assert changed == theirs._replace(key=b"other", offset=9, headers=[], timestamp=None)
    assert (changed.key, changed.offset, changed.timestamp) == (b"other", 9, None)
    assert record == FIELDS
    with pytest.raises(ValueError, match=r"unexpected field names: \['nope'\]"):
        record._replace(nope=1)
    assert ConsumerRecord._make(iter(FIELDS)) == record
    assert ConsumerRecord(**record._asdict()) == record


@both
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickling(make: object, protocol: int) -> None:
    again = pickle.loads(pickle.dumps(make(), protocol))
    assert type(again) is ConsumerRecord
    assert again == FIELDS


@both
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_copying(make: object, how: object) -> None:
    again = how(make())
    assert type(again) is ConsumerRecord
    assert again == FIELDS


@both
def test_it_does_not_change(make: object) -> None:
    record = make()
    for name in (*ConsumerRecord._fields, "extra"):
        with pytest.raises(AttributeError):
            setattr(record, name, 1)
        with pytest.raises(AttributeError):
            delattr(record, name)
    with pytest.raises(TypeError, match="does not change"):
        record.__init__(*FIELDS)
    with pytest.raises(TypeError):
        record[0] = 1
    assert record == FIELDS


@both
def test_match(make: object) -> None:
    match make():
        case ConsumerRecord(topic="t", offset=offset, value=value):
            assert (offset, value) == (5, b"v")
        case _:
            raise AssertionError


def test_header_lists_are_the_caller_s() -> None:
    record = read(encode_batch([(1, None, None)]))[0]
    record.headers.append(("mine", b""))
    assert record.headers == []
    assert record.serialized_header_size == -1
    assert (record.serialized_key_size, record.serialized_value_size) == (-1, -1)


def test_construction_wants_every_field() -> None:
    with pytest.raises(TypeError):
        ConsumerRecord("t", 3)
    with pytest.raises(TypeError):
        ConsumerRecord(*FIELDS, 1)


def test_an_empty_one_is_no_crash() -> None:
    bare = ConsumerRecord.__new__(ConsumerRecord)
    assert bare != FIELDS
    for use in (repr, tuple, hash, lambda one: one.topic):
        with pytest.raises(TypeError):
            use(bare)
