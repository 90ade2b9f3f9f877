"""ConsumerRecord beside kafka-python's named tuple: the same fields, the same behaviour."""

from __future__ import annotations

import copy
import operator
import pickle
import random
from collections.abc import Callable, Sequence

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
    with pytest.raises((TypeError, ValueError)) as theirs_said:  # the latter before Python 3.13
        theirs._replace(nope=1)
    with pytest.raises(theirs_said.type, match=r"unexpected field names: \['nope'\]"):
        record._replace(nope=1)
    assert record.__replace__(offset=9) == record._replace(offset=9)  # copy.replace (3.13)
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


@both
def test_match_as_a_sequence(make: object) -> None:
    match make():
        case (topic, partition, *_, size):
            assert (topic, partition, size) == ("t", 3, 3)
        case _:
            raise AssertionError


def outcome(use: Callable[[object], object], record: object) -> object:
    """What a use gives, or the class of what it raises."""
    try:
        return use(record)
    except Exception as error:  # noqa: BLE001 - whatever it is
        return type(error)


def any_fields(rng: random.Random) -> tuple:
    """What a record may hold; not all of it can be ordered."""
    times = rng.randrange(3), rng.randrange(2**41), rng.choice([0, 1])
    key, value = (rng.choice([None, b"", b"k", b"kk", "text", 7]) for _ in range(2))
    headers = [("h", rng.choice([None, b"x"]))] * rng.randrange(3)
    sizes = (rng.randrange(-1, 3) for _ in range(3))
    place = "tu"[rng.randrange(2)], rng.randrange(2), rng.randrange(-1, 2)
    return (*place, *times, key, value, headers, rng.choice([None, 5]), *sizes)


ORDER = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


@pytest.mark.parametrize("seed", range(30))
def test_whatever_is_done_with_it_gives_what_theirs_gives(seed: int) -> None:
    rng = random.Random(seed)
    fields, others = any_fields(rng), any_fields(rng)
    if rng.random() < 0.7:  # alike up to some field
        others = fields[: (at := rng.randrange(14))] + others[at:]
    number, tail = rng.randrange(-15, 15), rng.choice([(), (1, 2), [3], 4])
    ends = [rng.choice([None, *range(-15, 16)]) for _ in range(3)]
    item, names = rng.choice(fields), rng.sample([*Theirs._fields, "nope"], 2)
    for ours, theirs in ((ConsumerRecord(*others), Theirs(*others)), (others, others), (5, 5)):
        for order in ORDER:
            left = outcome(lambda one: order(one, ours), ConsumerRecord(*fields))  # noqa: B023
            assert left == outcome(lambda one: order(one, theirs), Theirs(*fields))  # noqa: B023
            right = outcome(lambda one: order(ours, one), ConsumerRecord(*fields))  # noqa: B023
            assert right == outcome(lambda one: order(theirs, one), Theirs(*fields))  # noqa: B023
    uses = [
        lambda one: one[number],
        lambda one: one[slice(*ends)],
        lambda one: one + tail,
        lambda one: tail + one,
        lambda one: one * (number % 3),
        lambda one: (number % 3) * one,
        lambda one: one * tail,
        lambda one: one.index(item),
        lambda one: one.index(item, number),
        lambda one: one.count(item),
        lambda one: item in one,
        lambda one: list(reversed(one)),
        lambda one: one._replace(**dict.fromkeys(names, item)),
        lambda one: one._make(range(12 + number % 3)),
        lambda one: one.__getnewargs__(),
        lambda one: min(one, one._replace(offset=0)).offset,
        repr,
        str,
        bool,
        len,
    ]
    for use in uses:
        assert outcome(use, ConsumerRecord(*fields)) == outcome(use, Theirs(*fields))


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


def test_key_and_value_may_be_said_to_be_of_a_kind():
    kind = ConsumerRecord[str, bytes]
    assert (kind.__origin__, kind.__args__) == (ConsumerRecord, (str, bytes))
    assert isinstance(kind(*range(8), [], None, 0, 0, 0), ConsumerRecord)
