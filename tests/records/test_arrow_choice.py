"""Some of the columns only, and the column of topic names that batches share."""

import itertools

import pytest

from kcore.records import RecordReader, encode_batch
from kcore.records.arrow import FIELD_NAMES, ArrowBatch
from kcore.records.columns import Columns
from kcore.records.names import kept_names

pa = pytest.importorskip("pyarrow")

ROWS = [
    (1_000, b"k", b"v" * 40, [("h", b"1")]),
    (1_001, None, None),
    (1_002, b"a" * 13, b"x" * 12),
]


def columns_of(topic="t", rows=ROWS, **options):
    columns = Columns(1_000_000, **options)
    RecordReader(topic, 3, encode_batch(rows), 0).take_columns(columns)
    return columns


def imported(columns, **options):
    batch = pa.record_batch(ArrowBatch(columns, **options))
    batch.validate(full=True)
    return batch


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("dictionary", [False, True])
def test_any_two_columns_are_those_of_the_whole_batch(views, dictionary):
    columns = columns_of(views=views, with_headers=True)
    whole = imported(columns, include_headers=True, dictionary=dictionary)
    assert whole.schema.names == list(FIELD_NAMES)
    for wanted in itertools.combinations_with_replacement(FIELD_NAMES, 2):
        some = imported(columns, only=wanted[::-1], dictionary=dictionary)
        assert some.schema.names == [name for name in FIELD_NAMES if name in wanted]
        for name in wanted:
            assert some.column(name).equals(whole.column(name)), wanted
            assert some.schema.field(name) == whole.schema.field(name)


def test_what_is_not_kept_is_not_shown():
    whole = imported(columns_of())
    for name, option in (("key", "with_keys"), ("value", "with_values")):
        columns = columns_of(**{option: False})
        others = set(FIELD_NAMES) - {name, "headers"}
        some = imported(columns, only=others)
        assert all(some.column(other).equals(whole.column(other)) for other in others)
        with pytest.raises(ValueError, match="read without"):
            ArrowBatch(columns, only=[name])
        with pytest.raises(ValueError, match="read without"):
            ArrowBatch(columns)


def test_keys_that_were_not_kept_leave_nothing_behind_for_the_next_columns():
    expected = imported(columns_of())
    for _ in range(3):  # columns that went leave their arrays to the next
        columns_of(with_keys=False, with_values=False)
        assert imported(columns_of()).equals(expected)


def names_at(batch):
    """Where the names of a batch are, and what they say."""
    column = batch.column("topic")
    return column.buffers()[2].address, column.to_pylist()


def test_batches_of_a_topic_share_its_names():
    short, long = columns_of("shared"), columns_of("shared", ROWS * 1_000)
    one, other = names_at(imported(short)), names_at(imported(short, start=1))
    assert one == (other[0], ["shared"] * 3)
    assert other[1] == ["shared"] * 2
    before = imported(short)
    longer = imported(long)
    assert names_at(longer) == (names_at(imported(short))[0], ["shared"] * 3_000)
    assert names_at(before) == one  # it keeps what it was made with


def test_names_are_kept_within_bounds():
    topics = [f"topic-{number}" + "x" * 230 for number in range(10)]
    for topic in topics:
        assert set(imported(columns_of(topic, ROWS * 1_000)).column("topic").to_pylist()) == {topic}
        assert sum(rows * (4 + len(name)) for name, rows in kept_names()) <= 8 << 20
    assert [name.decode() for name, _ in kept_names()] == topics[-len(kept_names()) :]
    imported(columns_of("little"))
    for number in range(9):
        imported(columns_of(f"little-{number}"))
    assert len(kept_names()) == 4
    huge = columns_of("h" * 249, [(0, None, None)] * 40_000)
    assert imported(huge, only={"topic"}).column("topic").to_pylist() == ["h" * 249] * 40_000
    assert len(kept_names()) == 4
    assert b"h" * 249 not in dict(kept_names())
