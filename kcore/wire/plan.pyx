"""Compiling a message's field table for one version.

Attributes are slots, so their place in the object is known: a value is put there and taken from
there without asking Python. The struct types that fields name are attributes of the message class.
"""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free

from kcore.errors import UnsupportedVersionError, UsageError
from kcore.wire.message import Message


cdef extern from "structmember.h":
    ctypedef struct PyMemberDef:
        Py_ssize_t offset

cdef extern from "Python.h":
    ctypedef struct PyMemberDescrObject:
        PyMemberDef *d_member
    PyTypeObject PyMemberDescr_Type
    PyTypeObject *Py_TYPE(object value) noexcept

cdef dict KINDS = {
    "bool": KIND_BOOL,
    "int8": KIND_INT8,
    "int16": KIND_INT16,
    "uint16": KIND_UINT16,
    "int32": KIND_INT32,
    "int64": KIND_INT64,
    "float64": KIND_FLOAT64,
    "string": KIND_STRING,
    "bytes": KIND_BYTES,
    "records": KIND_RECORDS,
    "uuid": KIND_UUID,
}

cdef dict SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}

# class -> list of plans, by version
cdef dict plans = {}


@cython.final
cdef class Plan:
    def __dealloc__(self):
        PyMem_Free(self.ops)


cdef Plan plan_of(type cls, int version):
    """The plan of a message class, made at first use.

    Raises UnsupportedVersionError outside VERSIONS, UsageError if it is no message class.
    """
    cdef list known = plans.get(cls)
    if known is not None and 0 <= version < len(known) and known[version] is not None:
        return <Plan> known[version]
    if not issubclass(cls, Message):
        raise UsageError(f"{cls.__qualname__} is not a message")
    lowest, highest = cls.VERSIONS
    if not lowest <= version <= highest:
        raise UnsupportedVersionError(
            f"{cls.__name__} has versions {lowest} to {highest}, not {version}"
        )
    if known is None:
        known = plans.setdefault(cls, [None] * (highest + 1))
    flexible = cls.FLEXIBLE_FROM is not None and version >= cls.FLEXIBLE_FROM
    cdef Plan made = compile_plan(cls, cls, version, flexible, {})
    known[version] = made
    return made


cdef Plan compile_plan(type message, type cls, int version, bint flexible, dict memo):
    if cls in memo:
        return <Plan> memo[cls]
    plain = [row for row in cls.FIELDS if row[2] <= version <= row[3]]
    tagged = sorted([row for row in plain if row[7] >= 0], key=lambda row: row[7])
    absent = [row for row in cls.FIELDS if not row[2] <= version <= row[3]]
    plain = [row for row in plain if row[7] < 0]
    cdef Plan plan = Plan.__new__(Plan)
    plan.cls = cls
    plan.version = version
    plan.flexible = flexible
    plan.min_size = 1 if flexible else 0  # the count of tagged fields
    plan._held = []
    plan.plain_end = len(plain)
    plan.tagged_end = plan.plain_end + len(tagged)
    plan.op_count = plan.tagged_end + len(absent)
    plan.ops = <Op *> PyMem_Calloc(max(plan.op_count, 1), sizeof(Op))
    if plan.ops == NULL:
        raise MemoryError
    for i, row in enumerate(plain + tagged + absent):
        compile_op(plan, &plan.ops[i], row, message, memo)
    for i in range(plan.plain_end):
        plan.min_size += min_size(&plan.ops[i], plain[i][1])
    memo[cls] = plan
    return plan


cdef int compile_op(Plan plan, Op *op, tuple row, type message, dict memo) except -1:
    name, kind, _, _, null_first, null_last, default, tag, ignorable, plain = row
    item = kind.removeprefix("[]")
    op.is_array = kind != item
    op.kind = KINDS.get(item, KIND_STRUCT)
    op.nullable = null_first <= plan.version <= null_last
    op.ever_nullable = null_last >= 0
    op.compact = plan.flexible and not plain
    op.ignorable = ignorable
    op.tag = tag
    op.offset = slot_offset(plan.cls, name)
    op.name = <PyObject *> name
    cdef Plan inner
    if op.kind == KIND_STRUCT:
        inner = compile_plan(message, getattr(message, item), plan.version, plan.flexible, memo)
        plan._held.append(inner)
        op.plan = <PyObject *> inner
    if op.is_array:
        op.item_size = item_min_size(op, item)
    if default is not ...:
        op.default = <PyObject *> default
    plan._held.append((name, default))
    return 0


cdef Py_ssize_t item_min_size(const Op *op, str item) except -1:
    """The fewest bytes that one value (not the array of them) takes."""
    if item in SIZES:
        return SIZES[item]
    if op.kind == KIND_STRUCT:
        return (<Plan> op.plan).min_size
    if op.compact:
        return 1
    return 2 if op.kind == KIND_STRING else 4


cdef Py_ssize_t min_size(const Op *op, str kind) except -1:
    """The fewest bytes that the field takes."""
    if op.is_array:
        return 1 if op.compact else 4
    if op.kind == KIND_STRUCT and op.nullable:
        return 1
    return item_min_size(op, kind)


cdef Py_ssize_t slot_offset(type cls, str name) except -1:
    """Where the attribute's value is in instances of the class."""
    descriptor = cls.__dict__[name]
    if Py_TYPE(descriptor) != &PyMemberDescr_Type:
        raise TypeError(f"{cls.__name__}.{name} is not a slot")
    return (<PyMemberDescrObject *> descriptor).d_member.offset
