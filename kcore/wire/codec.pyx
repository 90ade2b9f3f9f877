"""Encoding and decoding of every message, driven by compiled field tables (`plan`).

Reading never raises half way: a fault sticks to the cursor, the loops stop, and it is raised once,
with the message, version, field and offset. Counts are held against the bytes left before a list is
made. Depth is the schema's: no message contains itself.

Layout (KIP-482 for the compact forms, which flexible versions use):
    string   int16 length, -1 null          compact: uvarint length + 1, 0 null
    bytes    int32 length, -1 null          compact: uvarint length + 1, 0 null
    array    int32 count, -1 null           compact: uvarint count + 1, 0 null
    struct   its fields; if it can be null, an int8 before them: 1, or -1 for null (tagged: 0)
    tagged   behind a flexible struct's fields: uvarint count; each uvarint tag, uvarint size, value
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.object cimport (
    Py_EQ,
    PyObject,
    PyObject_RichCompareBool,
    PyObject_TypeCheck,
    PyTypeObject,
)
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport INT32_MAX, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memmove

from kcore.wire.cursor cimport (
    FAULT_ITEMS,
    FAULT_LENGTH,
    FAULT_NONE,
    FAULT_NULL,
    FAULT_TAG,
    FAULT_TRAILING,
    FAULT_TRUNCATED,
    FAULT_UTF8,
    FAULT_VARINT,
    cursor_open,
    fail,
    left,
    take,
    take_float64,
    take_int8,
    take_int16,
    take_int32,
    take_int64,
    take_uint16,
    take_uvarint,
)
from kcore.wire.plan cimport (
    KIND_BOOL,
    KIND_BYTES,
    KIND_FLOAT64,
    KIND_INT8,
    KIND_INT16,
    KIND_INT32,
    KIND_INT64,
    KIND_RECORDS,
    KIND_STRING,
    KIND_STRUCT,
    KIND_UINT16,
    KIND_UUID,
    Op,
    Plan,
    plan_of,
    slot,
)
from kcore.wire.writer cimport (
    UVARINT_MAX,
    put_bytes,
    put_int,
    put_uvarint,
    room,
    store_uvarint,
    writer_drop,
    writer_finish,
    writer_open,
    written,
    written_at,
)

from reprlib import repr as shorten

from kcore.errors import Truncated, Unexpected, UnsupportedVersionError, UsageError
from kcore.wire.message import Pieces


cdef extern from "Python.h":
    const Py_ssize_t PY_SSIZE_T_MAX
    object PyType_GenericAlloc(PyTypeObject *cls, Py_ssize_t items)
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1

cdef enum:
    ASIDE_MIN = 2048  # bytes; a smaller buffer is copied sooner than sent by itself
    STRING_MAX = 0x7FFF  # bytes; Kafka holds compact strings to the int16 limit of the others
    FIRST_CAPACITY = 256  # bytes; most requests fit
    UUID_SIZE = 16

cdef dict REASONS = {
    FAULT_TRUNCATED: "the bytes end",
    FAULT_ITEMS: "more items than are taken",
    FAULT_LENGTH: "an impossible length",
    FAULT_NULL: "null, which it cannot be,",
    FAULT_UTF8: "text that is not UTF-8",
    FAULT_VARINT: "a varint longer than 32 bits",
    FAULT_TAG: "a tagged field that does not fill its size",
    FAULT_TRAILING: "bytes behind the end",
}


def encode(message, int version):
    """The bytes of a message's body (no header, no length) in the given version.

    Raises UnsupportedVersionError if the version does not exist, or cannot say what the message
    says (a field it lacks is set, and may not be dropped); UsageError if a value does not fit.
    """
    cdef Writer writer
    writer_open(&writer, FIRST_CAPACITY)
    try:
        write_message(message, version, &writer)
        return writer_finish(&writer)
    except BaseException:
        writer_drop(&writer)
        raise


def decode(type cls, int version, data, *, bint allow_trailing=False):
    """The message of class `cls` whose body is `data` (bytes-like, contiguous).

    `records` fields are memoryviews over `data`; all else is copied. allow_trailing: ignore bytes
    behind the message, as readers of embedded blobs must when the blob's version is newer.
    Raises Truncated, Unexpected; UnsupportedVersionError if the version does not exist.
    """
    return read_message(cls, version, open_source(data), not allow_trailing)


# Reading ------------------------------------------------------------------------------------------


@cython.final
cdef class Source:
    def __dealloc__(self):
        PyBuffer_Release(&self.buffer)


cdef Source open_source(object data):
    """What to read from; it holds on to `data` as long as it lives."""
    cdef Source source = Source.__new__(Source)
    source.items_left = PY_SSIZE_T_MAX
    source.view = data if type(data) is memoryview else memoryview(data)
    if source.view.itemsize != 1:
        source.view = source.view.cast("B")
    PyObject_GetBuffer(source.view, &source.buffer, PyBUF_SIMPLE)
    cursor_open(&source.cursor, <const uint8_t *> source.buffer.buf, source.buffer.len)
    return source


cdef object read_message(type cls, int version, Source source, bint to_the_end):
    """Read one message; `to_the_end`: nothing may follow it."""
    message = read_struct(plan_of(cls, version), source)
    if to_the_end and source.cursor.fault == FAULT_NONE and left(&source.cursor) > 0:
        fail(&source.cursor, FAULT_TRAILING)
    if source.cursor.fault != FAULT_NONE:
        raise_fault(cls, version, source)
    return message


cdef int raise_fault(type cls, int version, Source source) except -1:
    cdef str where = "" if source.field is None else f" in {source.field}"
    kind = Truncated if source.cursor.fault == FAULT_TRUNCATED else Unexpected
    raise kind(
        f"{cls.__name__} v{version}: {REASONS[source.cursor.fault]}{where}"
        f" at byte {source.cursor.fault_at}",
        api=cls.__name__,
        version=version,
        at=source.cursor.fault_at,
    )


cdef object read_struct(Plan plan, Source source):
    target = PyType_GenericAlloc(<PyTypeObject *> plan.cls, 0)
    cdef const Op *op = plan.ops
    cdef const Op *plain_end = plan.ops + plan.plain_end
    cdef const Op *end = plan.ops + plan.op_count
    while op < plain_end:
        put(target, op, read_value(op, source))
        if source.cursor.fault != FAULT_NONE:
            if source.field is None:
                source.field = <str> op.name
            return target
        op += 1
    while op < end:
        put(target, op, default_value(op))
        op += 1
    if plan.flexible:
        read_tagged(plan, target, source)
    return target


cdef int read_tagged(Plan plan, object target, Source source) except -1:
    """The tagged fields; those that the plan does not know are passed over."""
    cdef Cursor *cursor = &source.cursor
    cdef uint32_t count = take_uvarint(cursor)
    cdef uint32_t tag, size
    cdef const uint8_t *end
    cdef const Op *op
    while count > 0 and cursor.fault == FAULT_NONE:
        count -= 1
        tag = take_uvarint(cursor)
        size = take_uvarint(cursor)
        if size > left(cursor):
            fail(cursor, FAULT_TRUNCATED)
        if cursor.fault != FAULT_NONE:
            break
        op = tagged_op(plan, tag)
        if op == NULL:
            take(cursor, size)
            continue
        end = cursor.end
        cursor.end = cursor.pos + size
        put(target, op, read_value(op, source))
        if cursor.fault == FAULT_NONE and cursor.pos != cursor.end:
            fail(cursor, FAULT_TAG)
        elif cursor.fault == FAULT_TRUNCATED:  # of what its size gave it: the size is a lie
            cursor.fault = FAULT_TAG
        if cursor.fault != FAULT_NONE and source.field is None:
            source.field = <str> op.name
        cursor.end = end
    return 0


cdef inline const Op *tagged_op(Plan plan, uint32_t tag) noexcept:
    cdef Py_ssize_t i
    for i in range(plan.plain_end, plan.tagged_end):
        if <uint32_t> plan.ops[i].tag == tag:
            return &plan.ops[i]
    return NULL


cdef inline void put(object target, const Op *op, object value) noexcept:
    cdef PyObject **place = slot(<PyObject *> target, op)
    cdef PyObject *before = place[0]
    Py_INCREF(value)
    place[0] = <PyObject *> value
    Py_XDECREF(before)


cdef object default_value(const Op *op):
    if op.default != NULL:
        return <object> op.default
    if op.is_array:
        return []
    cdef Plan plan = <Plan> op.plan
    target = PyType_GenericAlloc(<PyTypeObject *> plan.cls, 0)
    cdef Py_ssize_t i
    for i in range(plan.op_count):
        put(target, &plan.ops[i], default_value(&plan.ops[i]))
    return target


cdef object read_value(const Op *op, Source source):
    """A field's value; after a fault something that nobody may see."""
    cdef Py_ssize_t count, i
    if not op.is_array:
        return read_item(op, op.nullable, source)
    count = take_length(op, 4, INT32_MAX, op.nullable, &source.cursor)
    if count < 0:
        return None
    if count > left(&source.cursor) // op.item_size:
        fail(&source.cursor, FAULT_TRUNCATED)
        return None
    source.items_left -= count
    if source.items_left < 0:
        fail(&source.cursor, FAULT_ITEMS)
        return None
    items = PyList_New(count)
    for i in range(count):
        item = read_item(op, False, source)
        Py_INCREF(item)
        PyList_SET_ITEM(items, i, item)
        if source.cursor.fault != FAULT_NONE:
            break
    return items


cdef object read_item(const Op *op, bint nullable, Source source):
    """One value: the field's, or an item of its array."""
    cdef Cursor *cursor = &source.cursor
    cdef const uint8_t *found
    if op.kind == KIND_INT32:
        return take_int32(cursor)
    if op.kind == KIND_INT64:
        return take_int64(cursor)
    if op.kind == KIND_INT16:
        return take_int16(cursor)
    if op.kind == KIND_INT8:
        return take_int8(cursor)
    if op.kind == KIND_BOOL:
        return take_int8(cursor) != 0
    if op.kind == KIND_STRUCT:
        if nullable and take_int8(cursor) < (op.tag >= 0):
            return None
        return read_struct(<Plan> op.plan, source)
    if op.kind == KIND_UUID:
        found = take(cursor, UUID_SIZE)
        return None if found == NULL else PyBytes_FromStringAndSize(<const char *> found, UUID_SIZE)
    if op.kind == KIND_STRING:
        return read_string(op, nullable, cursor)
    if op.kind == KIND_FLOAT64:
        return take_float64(cursor)
    if op.kind == KIND_UINT16:
        return take_uint16(cursor)
    return read_bytes(op, nullable, source)


cdef object read_string(const Op *op, bint nullable, Cursor *cursor):
    cdef Py_ssize_t size = take_length(op, 2, STRING_MAX, nullable, cursor)
    cdef const uint8_t *found = NULL
    if size >= 0:
        found = take(cursor, size)
    if found == NULL:
        return None
    try:
        return PyUnicode_DecodeUTF8(<const char *> found, size, NULL)
    except UnicodeDecodeError:
        cursor.pos = found
        fail(cursor, FAULT_UTF8)
        return None


cdef object read_bytes(const Op *op, bint nullable, Source source):
    """`bytes` as a copy, `records` as a slice of the view."""
    cdef Cursor *cursor = &source.cursor
    cdef Py_ssize_t size = take_length(op, 4, INT32_MAX, nullable, cursor)
    cdef const uint8_t *found = NULL
    if size >= 0:
        found = take(cursor, size)
    if found == NULL:
        return None
    if op.kind == KIND_BYTES:
        return PyBytes_FromStringAndSize(<const char *> found, size)
    return source.view[found - cursor.start:cursor.pos - cursor.start]


cdef Py_ssize_t take_length(
    const Op *op, int width, int64_t limit, bint nullable, Cursor *cursor
) noexcept nogil:
    """A length or count of `width` bytes, or a compact one; -1 for null and after a fault."""
    cdef const uint8_t *first = cursor.pos
    cdef int64_t size
    if op.compact:
        size = <int64_t> take_uvarint(cursor) - 1
    elif width == 2:
        size = take_int16(cursor)
    else:
        size = take_int32(cursor)
    if cursor.fault != FAULT_NONE or (size == -1 and nullable):
        return -1
    if 0 <= size <= limit:
        return size
    cursor.pos = first
    fail(cursor, FAULT_NULL if size == -1 else FAULT_LENGTH)
    return -1


# Writing ------------------------------------------------------------------------------------------


cdef int write_message(object message, int version, Writer *writer) except -1:
    """Write one message behind what the writer holds."""
    return write_struct(plan_of(type(message), version), message, writer)


cdef int write_struct(Plan plan, object source, Writer *writer) except -1:
    if not PyObject_TypeCheck(source, <PyTypeObject *> plan.cls):
        raise UsageError(
            f"a {plan.cls.__qualname__} is wanted, not a {type(source).__qualname__}"
        )
    cdef Py_ssize_t i
    cdef const Op *op
    for i in range(plan.plain_end):
        op = &plan.ops[i]
        write_value(plan, op, get(plan, op, source), writer)
    for i in range(plan.tagged_end, plan.op_count):
        op = &plan.ops[i]
        if not op.ignorable and not is_default(op, get(plan, op, source)):
            raise UnsupportedVersionError(
                f"{plan.cls.__qualname__} v{plan.version} has no field {<str> op.name},"
                f" which is set to {shorten(get(plan, op, source))}"
            )
    if plan.flexible:
        write_tagged(plan, source, writer)
    return 0


cdef int write_tagged(Plan plan, object source, Writer *writer) except -1:
    """The tagged fields that differ from their defaults, in the order of their tags."""
    cdef Py_ssize_t i, start, size
    cdef uint32_t count = 0
    cdef int width
    cdef const Op *op
    for i in range(plan.plain_end, plan.tagged_end):
        op = &plan.ops[i]
        count += not is_default(op, get(plan, op, source))
    put_uvarint(writer, count)
    for i in range(plan.plain_end, plan.tagged_end):
        op = &plan.ops[i]
        value = get(plan, op, source)
        if is_default(op, value):
            continue
        put_uvarint(writer, op.tag)
        # The size goes before the value but is known after it: leave room for the longest.
        room(writer, UVARINT_MAX)
        start = written(writer)
        write_value(plan, op, value, writer)
        size = written(writer) - start
        width = store_uvarint(written_at(writer, start - UVARINT_MAX), <uint32_t> size)
        memmove(
            written_at(writer, start - UVARINT_MAX + width), written_at(writer, start), size
        )
        writer.pos -= UVARINT_MAX - width
    return 0


cdef object get(Plan plan, const Op *op, object source):
    cdef PyObject *value
    with cython.critical_section(source):  # as the interpreter's own setter of a slot
        value = slot(<PyObject *> source, op)[0]
        if value != NULL:
            return <object> value
    raise wrong(plan, op, "is not set")


cdef object wrong(Plan plan, const Op *op, str why):
    return UsageError(f"{plan.cls.__qualname__} v{plan.version}: {<str> op.name} {why}")


cdef bint is_default(const Op *op, object value) except -1:
    cdef Plan plan
    cdef Py_ssize_t i
    if op.default != NULL:
        if <PyObject *> value == op.default:
            return True
        return PyObject_RichCompareBool(value, <object> op.default, Py_EQ)
    if op.is_array:
        return isinstance(value, (list, tuple)) and not value
    plan = <Plan> op.plan
    if not PyObject_TypeCheck(value, <PyTypeObject *> plan.cls):
        return False
    for i in range(plan.op_count):
        if not is_default(&plan.ops[i], get(plan, &plan.ops[i], value)):
            return False
    return True


cdef int write_value(Plan plan, const Op *op, object value, Writer *writer) except -1:
    if value is None:
        return write_null(plan, op, writer)
    if not op.is_array:
        if op.kind == KIND_STRUCT and op.nullable:
            put_int(writer, 1, 1)
        return write_item(plan, op, value, writer)
    if not isinstance(value, (list, tuple)):
        raise wrong(plan, op, f"is not a list but {type(value).__name__}")
    items = tuple(value)  # a copy: writing an item may run code that changes the list
    put_length(plan, op, len(items), 4, INT32_MAX, writer)
    for item in items:
        write_item(plan, op, item, writer)
    return 0


cdef int write_null(Plan plan, const Op *op, Writer *writer) except -1:
    if not op.nullable:
        if op.ever_nullable:
            raise UnsupportedVersionError(
                f"{plan.cls.__qualname__}: {<str> op.name} cannot be null in v{plan.version}"
            )
        raise wrong(plan, op, "cannot be None")
    if op.kind == KIND_STRUCT and not op.is_array:
        return put_int(writer, 0 if op.tag >= 0 else -1, 1)
    if op.compact:
        return put_uvarint(writer, 0)
    return put_int(writer, -1, 2 if op.kind == KIND_STRING and not op.is_array else 4)


cdef int write_item(Plan plan, const Op *op, object value, Writer *writer) except -1:
    """One value: the field's, or an item of its array."""
    if op.kind == KIND_INT32:
        return put_number(plan, op, value, 4, writer)
    if op.kind == KIND_INT64:
        return put_number(plan, op, value, 8, writer)
    if op.kind == KIND_INT16 or op.kind == KIND_UINT16:
        return put_number(plan, op, value, 2, writer)
    if op.kind == KIND_INT8:
        return put_number(plan, op, value, 1, writer)
    if op.kind == KIND_BOOL:
        if not isinstance(value, bool):
            raise wrong(plan, op, f"is not a bool but {type(value).__name__}")
        return put_int(writer, value is True, 1)
    if op.kind == KIND_STRUCT:
        return write_struct(<Plan> op.plan, value, writer)
    if op.kind == KIND_STRING:
        return write_string(plan, op, value, writer)
    if op.kind == KIND_RECORDS and isinstance(value, Pieces):
        return write_pieces(plan, op, value, writer)
    if op.kind == KIND_FLOAT64:
        return write_float(plan, op, value, writer)
    return write_bytes(plan, op, value, writer)


cdef int put_number(Plan plan, const Op *op, object value, int width, Writer *writer) except -1:
    if not isinstance(value, int):
        raise wrong(plan, op, f"is not an int but {type(value).__name__}")
    cdef int overflow = 0
    cdef int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow)
    cdef int64_t limit = <int64_t> 1 << (8 * width - 1) if width < 8 else 0
    cdef int64_t middle = limit if op.kind == KIND_UINT16 else 0
    if overflow or (limit and not -limit <= number - middle < limit):
        kind = f"{'u' if middle else ''}int{8 * width}"
        raise wrong(plan, op, f"does not fit into {kind}: {shorten(value)}")
    return put_int(writer, number, width)


cdef int write_float(Plan plan, const Op *op, object value, Writer *writer) except -1:
    if not isinstance(value, float):
        raise wrong(plan, op, f"is not a float but {type(value).__name__}")
    cdef double number = PyFloat_AS_DOUBLE(value)
    cdef int64_t bits
    memcpy(&bits, &number, sizeof(double))
    return put_int(writer, bits, 8)


cdef int write_string(Plan plan, const Op *op, object value, Writer *writer) except -1:
    if not isinstance(value, str):
        raise wrong(plan, op, f"is not a str but {type(value).__name__}")
    cdef Py_ssize_t size = 0
    cdef const char *text
    try:
        text = PyUnicode_AsUTF8AndSize(value, &size)
    except UnicodeEncodeError as error:
        raise wrong(plan, op, f"cannot be written as UTF-8: {error.reason}") from None
    put_length(plan, op, size, 2, STRING_MAX, writer)
    return put_bytes(writer, text, size)


cdef int write_bytes(Plan plan, const Op *op, object value, Writer *writer) except -1:
    """`bytes`, `records` in one piece and `uuid`."""
    cdef Py_buffer buffer
    try:
        PyObject_GetBuffer(value, &buffer, PyBUF_SIMPLE)
    except (TypeError, BufferError):
        raise wrong(plan, op, f"is not contiguous bytes but {type(value).__name__}") from None
    try:
        if op.kind != KIND_UUID:
            put_length(plan, op, buffer.len, 4, INT32_MAX, writer)
        elif buffer.len != UUID_SIZE:
            raise wrong(plan, op, f"is not {UUID_SIZE} bytes long but {buffer.len}")
        return put_bytes(writer, buffer.buf, buffer.len)
    finally:
        PyBuffer_Release(&buffer)


cdef int write_pieces(Plan plan, const Op *op, object pieces, Writer *writer) except -1:
    """`records` in pieces; the large ones are left aside if the writer has a list for them."""
    cdef Py_ssize_t size = 0
    for piece in pieces:
        size += len(piece)
    put_length(plan, op, size, 4, INT32_MAX, writer)
    cdef Py_buffer buffer
    for piece in pieces:
        size = len(piece)
        if writer.aside != NULL and size >= ASIDE_MIN:
            (<list> writer.aside).append((written(writer), piece))
            writer.aside_size += size
            continue
        PyObject_GetBuffer(piece, &buffer, PyBUF_SIMPLE)
        try:
            put_bytes(writer, buffer.buf, buffer.len)
        finally:
            PyBuffer_Release(&buffer)
    return 0


cdef int put_length(
    Plan plan, const Op *op, Py_ssize_t size, int width, Py_ssize_t limit, Writer *writer
) except -1:
    if size > limit:
        raise wrong(plan, op, f"is longer than {limit}: {size}")
    if op.compact:
        return put_uvarint(writer, <uint32_t> size + 1)
    return put_int(writer, size, width)
