"""Columns as Arrow: what others import, whom memory belongs to, and how it is given back."""

import ctypes
import gc
import threading
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from longer import examples
from record_batches import vectors

from kcore.limits import COLUMN_BYTES, COLUMN_ROWS
from kcore.records import RecordReader, encode_batch
from kcore.records.arrow import ArrowBatch
from kcore.records.batch import batches_of
from kcore.records.columns import Columns

pa = pytest.importorskip("pyarrow")

ROWS = [
    (1_000, b"k", b"v" * 40),
    (1_001, None, None),
    (900, b"", b"x" * 12),
    (-1, b"a" * 13, b"", [("h", b"1"), ("é", None)]),
    (1_003, b"key", b"y" * 300, [("", b"")]),
]


def log(rows=ROWS, **options):
    return encode_batch(rows, base_offset=7, **options)


def columns_of(data, *, topic="t", views=False, max_rows=1_000_000):
    columns = Columns(max_rows, views=views, with_headers=True)
    RecordReader(topic, 3, data, 0).take_columns(columns)
    return columns


def made(*, views=False, data=None, topic="t", **options):
    return ArrowBatch(columns_of(log() if data is None else data, topic=topic, views=views),
                      **options)  # fmt: skip


def expected(rows=ROWS, topic="t"):
    headers = [row[3] if len(row) > 3 and row[3] else None for row in rows]
    return {
        "key": [row[1] for row in rows],
        "value": [row[2] for row in rows],
        "topic": [topic] * len(rows),
        "partition": [3] * len(rows),
        "offset": list(range(7, 7 + len(rows))),
        "timestamp": [row[0] * 1_000 for row in rows],
        "timestampType": [0] * len(rows),
        "headers": [
            None if pairs is None else [{"key": key, "value": value} for key, value in pairs]
            for pairs in headers
        ],
    }


def found(batch):
    """A pyarrow batch as plain lists, checked whole."""
    batch.validate(full=True)
    numbers = batch.column("timestamp").cast(pa.int64())  # Python's dates end with the year 9999
    at = batch.schema.names.index("timestamp")
    batch = batch.set_column(at, "timestamp", numbers)
    return {name: batch.column(name).to_pylist() for name in batch.schema.names}


# What is in it --------------------------------------------------------------------------------


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("dictionary", [False, True])
def test_the_columns_of_sparks_kafka_source(views, dictionary):
    batch = pa.record_batch(made(views=views, dictionary=dictionary, include_headers=True))
    binary = pa.binary_view() if views else pa.binary()
    topic = pa.dictionary(pa.int32(), pa.string()) if dictionary else pa.string()
    pair = pa.struct([("key", pa.string()), ("value", pa.binary())])
    assert batch.schema == pa.schema(
        [
            ("key", binary),
            ("value", binary),
            ("topic", topic),
            ("partition", pa.int32()),
            ("offset", pa.int64()),
            ("timestamp", pa.timestamp("us", "UTC")),
            ("timestampType", pa.int32()),
            ("headers", pa.list_(pa.field("element", pair))),
        ]
    )
    assert found(batch) == expected()


@pytest.mark.parametrize("views", [False, True])
def test_without_headers_there_is_no_such_column(views):
    batch = pa.record_batch(made(views=views))
    assert found(batch) == {k: v for k, v in expected().items() if k != "headers"}


@pytest.mark.parametrize("views", [False, True])
def test_no_records_are_an_empty_batch_with_the_same_schema(views):
    empty = ArrowBatch(
        Columns(views=views, with_headers=True), include_headers=True, dictionary=True
    )
    full = made(views=views, include_headers=True, dictionary=True)
    assert len(empty) == 0
    assert pa.record_batch(empty).schema == pa.record_batch(full).schema
    assert not any(found(pa.record_batch(empty)).values())


def test_broker_time_and_its_kind():
    data = bytearray(log())
    data[22] |= 0x08
    columns = Columns()
    RecordReader("t", 3, bytes(data), 0, check_crcs=False).take_columns(columns)
    assert found(pa.record_batch(ArrowBatch(columns)))["timestampType"] == [1] * 5


def test_a_time_beyond_microseconds_is_null():
    edge = (2**63 - 1) // 1_000
    rows = [(time, None, b"v") for time in (edge, edge + 1, 5, -edge - 1, -edge)]
    batch = pa.record_batch(made(data=log(rows)))
    assert found(batch)["timestamp"] == [*(edge * 1_000, None, 5_000, None, -edge * 1_000)]


@pytest.mark.parametrize("time", [2**53 - 1, 2**53, 2**53 + 1, (2**63 - 1) // 1_000])
def test_times_that_just_fit_are_all_there(time):
    batch = pa.record_batch(made(data=log([(at, None, b"v") for at in (time, -time, 5)])))
    assert found(batch)["timestamp"] == [time * 1_000, -time * 1_000, 5_000]


def test_header_names_that_are_no_utf8_are_replaced():
    broken = bytearray(log([(1, None, b"v", [("ab", b"1"), ("cd", b"2")])]))
    broken[broken.index(b"cd")] = 0xFF
    columns = Columns(with_headers=True)
    RecordReader("t", 3, bytes(broken), 0, check_crcs=False).take_columns(columns)
    batch = pa.record_batch(ArrowBatch(columns, include_headers=True))
    assert found(batch)["headers"] == [[{"key": "ab", "value": b"1"}, {"key": "�d", "value": b"2"}]]


@pytest.mark.parametrize("dictionary", [False, True])
def test_several_topics(dictionary):
    columns = Columns()
    wanted = []
    for topic in ("one", "zwei", "ü", "one"):
        RecordReader(topic, 0, log(), 0).take_columns(columns)
        wanted += [topic] * len(ROWS)
    batch = pa.record_batch(ArrowBatch(columns, dictionary=dictionary))
    assert found(batch)["topic"] == wanted
    part = pa.record_batch(ArrowBatch(columns, 3, 12, dictionary=dictionary))
    assert found(part)["topic"] == wanted[3:12]


@pytest.mark.parametrize("views", [False, True])
def test_any_range_of_rows(views):
    columns = columns_of(log(), views=views)
    for start in range(6):
        for stop in range(start, 6):
            part = ArrowBatch(columns, start, stop, include_headers=True)
            assert found(pa.record_batch(part)) == {
                name: column[start:stop] for name, column in expected().items()
            }
    for wrong in ((-1, 2), (3, 2), (0, 6)):
        with pytest.raises(ValueError, match="rows"):
            ArrowBatch(columns, *wrong)


def test_headers_must_have_been_read():
    with pytest.raises(ValueError, match="without headers"):
        ArrowBatch(Columns(), include_headers=True)


def test_nothing_is_added_to_columns_that_were_shown():
    reader = RecordReader("t", 3, log(), 0)
    columns = Columns()
    ArrowBatch(columns)
    assert columns.full
    assert reader.take_columns(columns) == 0


@given(
    st.lists(
        st.tuples(
            st.integers(-1, 2**50),
            st.none() | st.binary(max_size=30),
            st.none() | st.binary(max_size=60),
            st.lists(
                st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=20)), max_size=9
            ),
        ),
        min_size=1,
        max_size=40,
    ),
    st.booleans(),
    st.sampled_from(["none", "gzip"]),
)
@settings(max_examples=examples(100))
def test_any_records(rows, views, codec):
    batch = pa.record_batch(made(data=log(rows, codec=codec), views=views, include_headers=True))
    assert found(batch) == expected(rows)


def test_views_point_into_the_fetched_bytes():
    data = bytearray(log())
    start = ctypes.addressof((ctypes.c_char * len(data)).from_buffer(data))
    gc.collect()
    batch = pa.record_batch(made(views=True, data=data))
    _, _, buffer, *_ = batch["value"].buffers()
    assert start <= buffer.address <= buffer.address + buffer.size <= start + len(data)
    at = data.index(b"v" * 40)
    data[at : at + 1] = b"V"
    assert batch["value"][0].as_py() == b"V" + b"v" * 39
    assert batch["key"][0].as_py() == b"k"


# Who imports it -------------------------------------------------------------------------------


@pytest.mark.parametrize("views", [False, True])
def test_pyarrow_takes_the_stream_too(views):
    batch = made(views=views, include_headers=True)
    table = pa.RecordBatchReader.from_stream(batch).read_all()
    assert table.num_rows == 5
    assert table.column("offset").to_pylist() == expected()["offset"]
    assert pa.table(batch).equals(table)


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("dictionary", [False, True])
def test_polars(views, dictionary):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(made(views=views, dictionary=dictionary, include_headers=True))
    gc.collect()
    assert frame.columns == list(expected())
    assert frame["key"].to_list() == expected()["key"]
    assert frame["value"].to_list() == expected()["value"]
    assert frame["topic"].to_list() == expected()["topic"]
    assert [h and list(h) for h in frame["headers"].to_list()] == expected()["headers"]
    assert frame["timestamp"].dt.epoch("us").to_list() == expected()["timestamp"]


@pytest.mark.parametrize("views", [False, True])
def test_duckdb(views):
    duckdb = pytest.importorskip("duckdb")
    batch = made(views=views, include_headers=True)
    with duckdb.connect() as database:
        database.register("records", batch)
        rows = database.execute('select key, value, "offset" from records').fetchall()
        total = database.execute("select sum(octet_length(value)) from records").fetchone()
    assert rows == list(
        zip(expected()["key"], expected()["value"], expected()["offset"], strict=True)
    )
    assert total == (sum(len(value or b"") for value in expected()["value"]),)


@pytest.mark.parametrize("views", [False, True])
def test_nanoarrow(views):
    nanoarrow = pytest.importorskip("nanoarrow")
    array = nanoarrow.Array(made(views=views, include_headers=True))
    assert array.child(4).to_pylist() == expected()["offset"]
    assert array.child(7).to_pylist() == expected()["headers"]
    if not views:  # nanoarrow 0.9 crashes when it lists or hands on views, pyarrow's own too
        assert array.child(1).to_pylist() == expected()["value"]
        assert found(pa.record_batch(array)) == expected()


@pytest.mark.parametrize("views", [False, True])
def test_a_batch_of_one_partition_is_arrow_too(views):
    (batch,) = batches_of(columns_of(log(), views=views))
    assert found(pa.record_batch(batch[1:4])) == {k: v[1:4] for k, v in expected().items()}
    assert pa.table(batch).num_rows == 5


# Whom memory belongs to -----------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("views", [False, True])
def test_what_was_imported_needs_nothing_else(views, codec):
    data = bytearray(log(codec=codec))
    batch = made(data=data, views=views, include_headers=True)
    first, second = pa.record_batch(batch), pa.record_batch(batch)
    column = first["value"]
    del first, batch
    gc.collect()
    assert column.to_pylist() == expected()["value"]
    assert found(second) == expected()
    lent = views and codec == "none"
    if lent:
        with pytest.raises(BufferError):
            data.clear()
    del second, column
    gc.collect()
    data.clear()  # given back


class Array(ctypes.Structure):
    """struct ArrowArray."""


Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
    ("private_data", ctypes.c_void_p),
]


class Schema(ctypes.Structure):
    """struct ArrowSchema."""


Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))),
    ("private_data", ctypes.c_void_p),
]


class Stream(ctypes.Structure):
    """struct ArrowArrayStream."""


Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))),
    ("private_data", ctypes.c_void_p),
]

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype = ctypes.c_void_p
pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def struct_in(capsule, name, kind):
    return kind.from_address(pointer_of(capsule, name))


def moved(struct):
    """The struct moved elsewhere, as the specification has it: copied, and the old one released."""
    kind = type(struct)
    copy = kind.from_buffer_copy(struct)
    struct.release = type(struct.release)()
    return copy


@pytest.fixture
def lent():
    """Bytes, and a way to ask whether somebody still looks into them."""
    data = bytearray(log())

    def free():
        gc.collect()
        try:
            data.append(0)
        except BufferError:
            return False
        data.pop()
        return True

    return data, free


def test_a_dropped_capsule_gives_everything_back(lent):
    data, free = lent
    batch = made(data=data, views=True, include_headers=True, dictionary=True)
    capsules = [batch.__arrow_c_array__(), batch.__arrow_c_stream__(), batch.__arrow_c_schema__()]
    del batch
    assert not free()
    del capsules
    assert free()


def test_children_may_be_moved_and_outlive_their_parent(lent):
    data, free = lent
    batch = made(data=data, views=True, include_headers=True, dictionary=True)
    _, capsule = batch.__arrow_c_array__()
    del batch
    array = struct_in(capsule, b"arrow_array", Array)
    assert (array.n_children, array.length, array.null_count) == (8, 5, 0)
    child = moved(array.children[1].contents)
    topic = moved(array.children[2].contents.dictionary.contents)
    pairs = moved(array.children[7].contents.children[0].contents)
    array.release(array)
    assert not array.release
    del capsule, array
    assert not free()
    lengths = ctypes.cast(child.buffers[1], ctypes.POINTER(ctypes.c_int32))
    assert [lengths[4 * row] for row in range(5)] == [40, 0, 12, 0, 300]
    for one in (child, topic, pairs):
        assert not free()
        one.release(one)
        assert not one.release
    assert free()


def test_a_moved_array_is_not_released_by_its_capsule(lent):
    data, free = lent
    schema_capsule, capsule = made(data=data, views=True).__arrow_c_array__()
    array = moved(struct_in(capsule, b"arrow_array", Array))
    schema = moved(struct_in(schema_capsule, b"arrow_schema", Schema))
    del capsule, schema_capsule
    assert not free()
    assert schema.children[1].contents.name == b"value"
    schema.release(schema)
    assert not schema.release
    array.release(array)
    assert free()


def test_children_of_a_schema_may_be_moved():
    capsule = made(include_headers=True, dictionary=True).__arrow_c_schema__()
    schema = struct_in(capsule, b"arrow_schema", Schema)
    headers = moved(schema.children[7].contents)
    schema.release(schema)
    del capsule
    assert headers.format == b"+l"
    assert headers.children[0].contents.children[0].contents.name == b"key"
    headers.release(headers)
    assert not headers.release


def test_release_from_another_thread(lent):
    data, free = lent
    _, capsule = made(data=data, views=True).__arrow_c_array__()
    array = moved(struct_in(capsule, b"arrow_array", Array))
    del capsule
    assert not free()
    thread = threading.Thread(target=array.release, args=(array,))
    thread.start()
    thread.join()
    assert free()


def test_a_stream_gives_one_batch_and_then_the_end(lent):
    data, free = lent
    capsule = made(data=data, views=True).__arrow_c_stream__()
    stream = moved(struct_in(capsule, b"arrow_array_stream", Stream))
    del capsule
    schema, array, end = Schema(), Array(), Array()
    assert stream.get_schema(stream, schema) == 0
    assert stream.get_next(stream, array) == 0
    assert array.length == 5
    for _ in range(2):
        assert stream.get_next(stream, end) == 0
        assert not end.release
    stream.release(stream)
    assert not stream.release
    assert not free()
    array.release(array)
    schema.release(schema)
    assert free()


@pytest.mark.parametrize("read", [0, 1, 2])
def test_a_stream_that_is_left_half_read(lent, read):
    data, free = lent
    batch = made(data=data, views=True)
    capsule = batch.__arrow_c_stream__()
    stream = moved(struct_in(capsule, b"arrow_array_stream", Stream))
    del capsule
    arrays = [Array() for _ in range(read)]
    for array in arrays:
        assert stream.get_next(stream, array) == 0
    del batch
    stream.release(stream)
    assert free() is (read == 0)
    for array in arrays:
        if array.release:
            array.release(array)
    assert free()


def test_what_schema_is_wished_for_changes_nothing():
    """The protocol leaves it to the producer; who asked casts."""
    batch = made()
    wish = pa.schema([("value", pa.large_string())]).__arrow_c_schema__()
    schema, array = batch.__arrow_c_array__(wish)
    taken = pa.RecordBatch._import_from_c_capsule(schema, array)
    assert taken.equals(pa.record_batch(batch))
    reader = pa.RecordBatchReader._import_from_c_capsule(batch.__arrow_c_stream__(wish))
    assert reader.schema == taken.schema


def test_imports_in_many_threads():
    batch = made(views=True, include_headers=True)
    wrong = []

    def work():
        for _ in range(50):
            imported = pa.record_batch(batch)["offset"].to_pylist()
            wrong.extend([imported] if imported != expected()["offset"] else [])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("views", [False, True])
def test_nothing_is_left_after_many_rounds(views):
    data = log()

    def round_():
        batch = made(data=data, views=views, include_headers=True, dictionary=True)
        batch.__arrow_c_stream__()
        batch.__arrow_c_array__()
        pa.table(batch)
        pa.record_batch(batch)["value"]
        for part in batches_of(columns_of(data, views=views)):
            pa.record_batch(part[1:3])
            part.values.view(0)
            part.offsets  # noqa: B018

    for _ in range(20):
        round_()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(10):
            round_()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(300):
            round_()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 5_000  # one round's smallest piece, 300 times, would be more


def test_no_memory_gives_an_error_and_keeps_nothing():
    testcapi = pytest.importorskip("_testcapi")
    columns = columns_of(log(), views=True)
    for call in ("__arrow_c_array__", "__arrow_c_schema__", "__arrow_c_stream__"):
        failed = 0
        for number in range(80):
            testcapi.set_nomemory(number, number + 1)
            try:
                batch = ArrowBatch(columns, include_headers=True, dictionary=True)
                getattr(batch, call)()
            except MemoryError:
                failed += 1
            finally:
                testcapi.remove_mem_hooks()
        assert failed > 5
    whole = ArrowBatch(columns, include_headers=True)
    assert found(pa.record_batch(whole)) == expected()


def test_messages_without_a_time_say_so_as_spark_does():
    columns = Columns()
    RecordReader("t", 3, vectors()["v0"].data, 0).take_columns(columns)
    columns_found = found(pa.record_batch(ArrowBatch(columns)))
    assert set(columns_found["timestampType"]) == {-1}
    assert set(columns_found["timestamp"]) == {-1_000}


@pytest.mark.parametrize(("rows", "size"), [(COLUMN_ROWS, 1), (5_000, 1_200)])
def test_full_columns_leave_their_memory_to_the_next(rows, size):
    data = b"".join(
        encode_batch([(1, b"k", b"v" * size)] * (rows // 10), base_offset=at * (rows // 10))
        for at in range(11)
    )

    def address():
        columns = Columns(COLUMN_ROWS, COLUMN_BYTES)
        RecordReader("t", 0, data, 0).take_columns(columns)
        assert columns.full
        batch = pa.record_batch(ArrowBatch(columns))
        return batch["offset"].buffers()[1].address, batch["value"].buffers()[2].address

    assert address() == address()
