"""Arrow columns of every layout through `read_rows` and a builder, read back as records."""

import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from longer import examples

from kcore.produce.rows import ColumnError, read_rows
from kcore.records import RecordReader
from kcore.records.builder import BatchBuilder

pa = pytest.importorskip("pyarrow")

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class Feed:
    """One partition with room for everything."""

    def __init__(self):
        self.builders = [BatchBuilder()]
        self.raw_limit = self.room_bytes = 1 << 40
        self.wall_ms = 99
        self.by_key = True
        self.sticky, self.sticky_bytes = 0, 1 << 40

    def records(self):
        data = self.builders[0].finish()
        return RecordReader("t", 0, data, 0).take(1 << 20)


def sent(data):
    """(key, value, timestamp, headers) of every row, as a consumer reads it."""
    feed = Feed()
    for rows in read_rows(data):
        assert rows.unfit() is None
        assert rows.too_large(1 << 40) is None
        assert rows.fill(0, rows.length, feed) == rows.length
    return [(r.key, r.value, r.timestamp, [*r.headers]) for r in feed.records()]


def values(column):
    return [value for _, value, _, _ in sent(pa.table({"value": column}))]


# Layouts ------------------------------------------------------------------------------------------

BYTES = [b"a", None, b"", b"longer than twelve bytes", b"twelve bytes", b"\xff\x00"]
TEXTS = ["a", None, "", "longer than twelve chars", "zwölf", "x"]
KINDS = [pa.binary(), pa.large_binary(), pa.binary_view()]
INDICES = [
    pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()
]  # fmt: skip
TEXT_KINDS = [pa.string(), pa.large_string(), pa.string_view()]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_binary_layouts(kind):
    assert values(pa.array(BYTES, kind)) == BYTES


@pytest.mark.parametrize("kind", TEXT_KINDS, ids=str)
def test_text_layouts(kind):
    assert values(pa.array(TEXTS, kind)) == [
        None if text is None else text.encode() for text in TEXTS
    ]


def test_fixed_size_binary():
    wanted = [b"abc", None, b"xyz"]
    assert values(pa.array(wanted, pa.binary(3))) == wanted


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("kind", [*KINDS, pa.binary(1)], ids=str)
def test_dictionaries(index, kind):
    words = pa.array([b"a", b"b", b"c"], kind)
    column = pa.DictionaryArray.from_arrays(pa.array([2, None, 0, 2, 1], index), words)
    assert values(column) == [b"c", None, b"a", b"c", b"b"]
    assert values(column[1:4]) == [None, b"a", b"c"]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_dictionary_of_as_many_words_as_its_indices_can_name(index):
    most = min(2 ** (index.bit_width - str(index).startswith("int")), 70_000)
    words = [b"%05d" % number for number in range(most)]
    rows = [0, most - 1, most // 2, None, most // 2 + 1]
    column = pa.DictionaryArray.from_arrays(pa.array(rows, index), pa.array(words))
    assert values(column) == [None if row is None else words[row] for row in rows]


def test_a_dictionary_with_nulls_and_an_offset_of_its_own():
    words = pa.array([b"-", b"a", None, b"c"])[1:]
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), words)
    assert values(column) == [b"a", None, b"c"]


def test_a_column_of_nulls():
    assert values(pa.nulls(3)) == [None] * 3


@pytest.mark.parametrize("kind", [*KINDS, pa.binary(2)], ids=str)
def test_slices_and_chunks(kind):
    whole = [b"%02d" % n if n % 5 else None for n in range(40)]
    column = pa.array(whole, kind)
    for begin, end in [(0, 40), (1, 40), (7, 9), (8, 17), (39, 40), (5, 5)]:
        assert values(column[begin:end]) == whole[begin:end]
    chunks = pa.chunked_array([column[3:9], column[9:9], column[17:40]])
    assert values(chunks) == whole[3:9] + whole[17:40]


def test_sliced_tables_and_batches():
    keys, words = [b"%d" % n for n in range(20)], [b"v%d" % n for n in range(20)]
    table = pa.table({"key": keys, "value": words})
    for data in (table.slice(5, 7), table.to_batches()[0].slice(5, 7)):
        assert [(key, value) for key, value, _, _ in sent(data)] == [
            (b"%d" % n, b"v%d" % n) for n in range(5, 12)
        ]


def test_a_stream_without_rows():
    assert sent(pa.table({"value": pa.array([], pa.binary())})) == []
    assert sent(pa.RecordBatchReader.from_batches(pa.schema([("value", pa.binary())]), [])) == []


# Times --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "given"), [("s", 3), ("ms", 3_000), ("us", 3_000_999), ("ns", 3_000_999_999)]
)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_times_of_each_unit(unit, given, zone):
    table = pa.table(
        {"value": [b"v", b"w"], "timestamp": pa.array([given, None], pa.timestamp(unit, zone))}
    )
    assert [at for _, _, at, _ in sent(table)] == [3_000, 99]


def test_times_as_numbers():
    table = pa.table({"value": [b"v", b"w"], "timestamp": pa.array([5, None], pa.int64())})
    assert [at for _, _, at, _ in sent(table)] == [5, 99]


def test_a_time_before_1970_is_named():
    table = pa.table({"value": [b"v", b"w"], "timestamp": pa.array([5, -1], pa.int64())})
    (rows,) = read_rows(table)
    assert rows.unfit() == (1, "its timestamp, -1 ms, is before 1970")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ((1 << 63) // 1000 + 1, "is more than 9223372036854775807"),
        (18446744073709552 + 1, "is more than"),  # 1384 ms, if it goes round
        ((1 << 63) - 1, "is more than"),
        (-((1 << 63) // 1000) - 1, "is before 1970"),
        (-18446744073709550, "is before 1970"),  # positive, if it goes round
        (-(1 << 63), "is before 1970"),
    ],
)
def test_seconds_that_are_too_many_are_refused(given, why):
    table = pa.table({"value": [b"v"] * 2, "timestamp": pa.array([5, given], pa.timestamp("s"))})
    (rows,) = read_rows(table)
    row, told = rows.unfit()
    assert row == 1
    assert why in told


def test_the_last_second_there_is():
    last = ((1 << 63) - 1) // 1000
    table = pa.table({"value": [b"v"], "timestamp": pa.array([last], pa.timestamp("s"))})
    assert [at for _, _, at, _ in sent(table)] == [last * 1000]


# Headers ------------------------------------------------------------------------------------------

LISTS = [[("a", b"1"), ("b", None)], [], None, [("c" * 200, b"x" * 200)], [("", b"")]]


def pairs(lists):
    return [[*(one or ())] for one in lists]


@pytest.mark.parametrize(
    "kind",
    [
        HEADERS,
        pa.large_list(pa.struct([("key", pa.large_string()), ("value", pa.large_binary())])),
        pa.list_(pa.struct([("key", pa.string_view()), ("value", pa.binary_view())])),
        pa.list_(pa.struct([("key", pa.binary()), ("value", pa.string())])),
    ],
    ids=str,
)
def test_lists_of_headers(kind):
    items = [None if one is None else [{"key": k, "value": v} for k, v in one] for one in LISTS]
    views = "view" in str(kind)  # which cannot be cast to
    column = pa.array(items, kind) if views else pa.array(items, HEADERS).cast(kind)
    table = pa.table({"value": [b"v"] * 5, "headers": column})
    assert [headers for *_, headers in sent(table)] == pairs(LISTS)
    assert [headers for *_, headers in sent(table.slice(1, 3))] == pairs(LISTS)[1:4]


def test_maps_of_headers():
    column = pa.array(LISTS, pa.map_(pa.string(), pa.binary()))
    table = pa.table({"value": [b"v"] * 5, "headers": column})
    assert [headers for *_, headers in sent(table)] == pairs(LISTS)


def test_headers_are_known_by_name():
    kind = pa.list_(pa.struct([("value", pa.binary()), ("key", pa.string())]))
    column = pa.array([[{"key": "k", "value": b"v"}]], kind)
    assert sent(pa.table({"value": [b""], "headers": column}))[0][3] == [("k", b"v")]
    kind = pa.list_(pa.struct([("k", pa.string()), ("v", pa.binary())]))
    with pytest.raises(ColumnError, match="they have to be key and value"):
        sent(pa.table({"value": [b""], "headers": pa.array([[]], kind)}))


def test_items_with_an_offset_of_their_own():
    pairs = [("no", b""), ("a", b"1"), ("b", None)]
    items = pa.array([{"key": k, "value": v} for k, v in pairs], HEADERS.value_type)[1:]
    column = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), items)
    table = pa.table({"value": [b"v"] * 2, "headers": column})
    assert [headers for *_, headers in sent(table)] == [[("a", b"1")], [("b", None)]]


@pytest.mark.parametrize("item", [None, {"key": None, "value": b"x"}])
def test_a_header_without_a_key_is_named(item):
    column = pa.array([[], [{"key": "k", "value": b""}, item]], HEADERS)
    (rows,) = read_rows(pa.table({"value": [b"v"] * 2, "headers": column}))
    assert rows.unfit() == (1, "a header without a key")


# Whose tables -------------------------------------------------------------------------------------


def test_polars():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(
        {
            "key": [b"k", None],
            "value": ["v", "a longer value than twelve"],
            "timestamp": [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), None],
            "headers": [[{"key": "h", "value": b"1"}], []],
        }
    )
    assert sent(frame) == [
        (b"k", b"v", 1_704_067_200_000, [("h", b"1")]),
        (None, b"a longer value than twelve", 99, []),
    ]


def test_duckdb():
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql("select 'k' || i as key, ('v' || i)::blob as value from range(5000) t(i)")
    assert [(k, v) for k, v, *_ in sent(found)] == [(b"k%d" % n, b"v%d" % n) for n in range(5000)]


def test_a_struct_array_and_a_reader():
    batch = pa.record_batch({"value": [b"v"]})
    assert len(sent(batch.to_struct_array())) == 1
    assert len(sent(pa.RecordBatchReader.from_batches(batch.schema, [batch, batch]))) == 2


# What cannot be sent ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"key": [b"k"]}, "no column `value`"),
        ({"value": [b"v"], "colour": [1]}, "'colour' means nothing here"),
        ({"value": [1]}, "has to be binary or string"),
        ({"value": [b"v"], "key": [1.5]}, "column key"),
        ({"value": [b"v"], "partition": ["0"]}, "int32 or int64"),
        ({"value": [b"v"], "partition": pa.array([1], pa.int8())}, "int32 or int64"),
        ({"value": [b"v"], "timestamp": ["now"]}, "a timestamp, or int64 ms"),
        ({"value": [b"v"], "timestamp": pa.array([1], pa.date32())}, "a timestamp"),
        ({"value": [b"v"], "headers": ["h"]}, "it has to be a list"),
        ({"value": [b"v"], "headers": [[1]]}, "struct<key, value>"),
        ({"value": [b"v"], "headers": [[{"key": 1, "value": b""}]]}, "headers.key"),
        ({"value": [b"v"], "partition": pa.array([1]).dictionary_encode()}, "dictionary"),
        ({"value": pa.RunEndEncodedArray.from_arrays([1], [b"v"])}, "binary or string"),
    ],
)
def test_columns_of_the_wrong_kind_are_named(table, said):
    with pytest.raises(ColumnError, match=said):
        sent(pa.table(table))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"foo": pa.int8(), "value": pa.binary()}, "'foo' means nothing here"),
        ({"key": pa.binary()}, "no column `value`"),
        ({}, "no column `value`"),
        ({"value": pa.int64()}, "column value"),
        ({"value": pa.dictionary(pa.int8(), pa.int64())}, "column value"),
        ({"value": pa.binary(), "headers": pa.list_(pa.int8())}, "struct<key, value>"),
        ({"value": pa.binary(), "headers": pa.map_(pa.int8(), pa.binary())}, "headers.key"),
    ],
)
def test_columns_of_the_wrong_kind_are_named_where_there_are_no_rows(fields, said):
    """pyarrow, pandas and duckdb give a stream without batches then."""
    schema = pa.schema(list(fields.items()))
    with pytest.raises(ColumnError, match=said):
        sent(pa.RecordBatchReader.from_batches(schema, []))


def test_columns_of_any_kind_may_have_no_rows():
    kinds = [*KINDS, *TEXT_KINDS, pa.null(), pa.dictionary(pa.int8(), pa.string()), pa.binary(3)]
    for kind in kinds:
        fields = [("value", kind), ("key", kind), ("topic", kind), ("headers", HEADERS)]
        numbers = [("partition", pa.int32()), ("timestamp", pa.timestamp("s"))]
        schema = pa.schema([*fields, *numbers])
        (rows,) = read_rows(pa.RecordBatchReader.from_batches(schema, []))
        assert (rows.length, rows.has_topic) == (0, True)
        assert rows.unfit() is rows.too_large(0) is None
        assert rows.fill(0, 0, Feed()) == 0


def test_two_columns_of_one_name():
    table = pa.table([pa.array([b"a"]), pa.array([b"b"])], names=["value", "value"])
    with pytest.raises(ColumnError, match="two columns 'value'"):
        sent(table)


@pytest.mark.parametrize("data", [None, 5, [b"v"], {"value": [b"v"]}])
def test_what_is_no_arrow_data(data):
    with pytest.raises(ColumnError, match="__arrow_c_stream__"):
        sent(data)


def test_arrays_that_are_no_tables():
    with pytest.raises(ColumnError, match="not a table"):
        sent(pa.array([b"v"]))
    whole = pa.record_batch({"value": [b"a", b"b"]}).to_struct_array()
    with pytest.raises(ColumnError, match="of its own"):
        sent(whole[1:])


def test_a_stream_that_breaks_off():
    def batches():
        yield pa.record_batch({"value": [b"v"]})
        raise ValueError("of the source")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("value", pa.binary())]), batches())
    with pytest.raises(ColumnError, match="of the source"):
        sent(reader)


# Anything -----------------------------------------------------------------------------------------

NAMES = ("key", "value")
_name = st.text(st.characters(codec="utf-8"), max_size=5)
_row = st.tuples(
    st.none() | st.binary(max_size=20),
    st.none() | st.binary(max_size=40),
    st.none() | st.integers(0, 1 << 50),
    st.lists(st.tuples(_name, st.none() | st.binary(max_size=5)), max_size=3),
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(_row, max_size=30),
    kinds=st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)),
    cut=st.tuples(st.integers(0, 30), st.integers(0, 30)),
)
def test_any_rows_come_back(rows, kinds, cut):
    table = pa.table(
        {
            "key": pa.array([row[0] for row in rows], kinds[0]),
            "value": pa.array([row[1] for row in rows], kinds[1]),
            "timestamp": pa.array([row[2] for row in rows], pa.int64()),
            "headers": pa.array(
                [[dict(zip(NAMES, h, strict=True)) for h in row[3]] for row in rows], HEADERS
            ),
        }
    )
    begin, end = sorted(cut)
    wanted = [(k, v, 99 if at is None else at, h) for k, v, at, h in rows]
    assert sent(table) == wanted
    assert sent(table.slice(begin, end - begin)) == wanted[begin:end]
    turned = pa.concat_tables([table.slice(end), table.slice(0, end)])
    assert sent(turned) == wanted[end:] + wanted[:end]


# Rows that are too large --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*KINDS, pa.dictionary(pa.int8(), pa.binary())], ids=str)
def test_the_first_row_that_is_too_large_is_named(kind):
    keys = pa.array([b"x" * 500, None, b"", b"x" * 300, b"x" * 300], pa.binary()).cast(kind)
    sizes = [0, 600, 300, 300, 301]
    values = pa.array([b"v" * size for size in sizes], pa.binary()).cast(kind)
    whole = pa.table({"key": keys, "value": values})
    for table in (whole, whole.slice(1)):
        (rows,) = read_rows(table)
        first = 5 - rows.length
        pairs = zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)
        largest = max(32 + len(key or b"") + len(value) for key, value in pairs)
        assert rows.too_large(largest) is None
        row, size = rows.too_large(600)
        assert (first + row, size) == (1, 632)
        assert rows.too_large(632) == (4 - first, 633)
        assert rows.too_large(633) is None


def test_headers_count_as_part_of_a_row():
    headers = pa.array([None, [{"key": "k" * 10, "value": b"v" * 100}]], HEADERS)
    (rows,) = read_rows(pa.table({"value": pa.array([b"", b""], pa.binary()), "headers": headers}))
    assert rows.too_large(32 + 10 + 110) is None
    assert rows.too_large(32 + 10 + 109) == (1, 152)


def test_rows_of_one_size():
    (rows,) = read_rows(pa.table({"value": pa.array([b"12345", None], pa.binary(5))}))
    assert rows.too_large(37) is None
    assert rows.too_large(36) == (0, 37)
