/* Memory of records that hold nothing but bytes and numbers: leaves, as no cycle goes through them.
 *
 * ConsumerRecord is a type that the garbage collector knows, because a record of the caller's may
 * hold anything. A leaf is one without the collector's header in front (`tp_is_gc` says which is
 * which, as `type` itself does it): smaller, never tracked or looked at, made and freed without a
 * call into the collector. Leaves that went wait for the next ones; they also keep the interpreter
 * from giving the memory around them back to the system after a poll, to be faulted in again.
 *
 * Without a GIL leaves are records like others.
 */
#ifndef KCORE_LEAF_H
#define KCORE_LEAF_H

#include <Python.h>
#include <stdint.h>

#if defined(Py_GIL_DISABLED) || defined(Py_TRACE_REFS)
#define KCORE_LEAVES 0
#else
#define KCORE_LEAVES 1
#endif

#define LEAVES_KEPT 16384 /* 1.3 MB; a poll of 10,000 finds all it needs */

/* Values of more than 512 bytes come from malloc. glibc gives what is free on top of its heap back
 * to the system from 128 KiB on, so that each poll would fault its pages in anew, which costs more
 * than decoding. Once a block of this size was freed it keeps up to twice as much (mallopt(3): its
 * thresholds are dynamic). */
#define KEPT_BYTES ((size_t) 8 << 20)

/* What Cython makes of the fields in record.pxd; `adopt_leaves` compares the sizes. */
typedef struct {
    PyObject_HEAD
    PyObject *origin;
    PyObject *key;
    PyObject *value;
    PyObject *offset;
    PyObject *raw_headers;
    int64_t timestamp_ms;
    int32_t key_size;
    int32_t value_size;
    int is_leaf;
} kcore_record;

static PyTypeObject *record_class;

static inline PyObject *bytes_or_none(const uint8_t *data, Py_ssize_t size) {
    if (size < 0) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    return PyBytes_FromStringAndSize((const char *) data, size);
}

#if KCORE_LEAVES

static kcore_record *idle_leaves; /* linked by `origin` */
static int idle_count;
static destructor dealloc_record;

static int is_collected(PyObject *self) {
    return !((kcore_record *) self)->is_leaf;
}

static void dealloc_leaf(PyObject *self) {
    kcore_record *record = (kcore_record *) self;
    if (!record->is_leaf) {
        dealloc_record(self);
        return;
    }
    Py_DECREF(record->origin);
    Py_DECREF(record->key);
    Py_DECREF(record->value);
    Py_DECREF(record->offset);
    Py_DECREF(record->raw_headers);
    if (idle_count < LEAVES_KEPT) {
        record->origin = (PyObject *) idle_leaves;
        idle_leaves = record;
        idle_count += 1;
    } else {
        PyObject_Free(self);
    }
}

static inline kcore_record *new_leaf(void) {
    kcore_record *record = idle_leaves;
    if (record != NULL) {
        idle_leaves = (kcore_record *) record->origin;
        idle_count -= 1;
    } else {
        record = PyObject_Malloc(sizeof(kcore_record));
        if (record == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        record->is_leaf = 1;
    }
    PyObject_Init((PyObject *) record, record_class);
    return record;
}

#else

static inline kcore_record *new_leaf(void) {
    kcore_record *record = (kcore_record *) record_class->tp_alloc(record_class, 0);
    if (record != NULL) {
        PyObject_GC_UnTrack(record);
    }
    return record;
}

#endif

/* Make the class one that has leaves; -1 if its layout is not what is written above. */
static int adopt_leaves(PyObject *type) {
    record_class = (PyTypeObject *) type;
    PyMem_RawFree(PyMem_RawMalloc(KEPT_BYTES)); /* never touched */
    if (record_class->tp_basicsize != (Py_ssize_t) sizeof(kcore_record)) {
        PyErr_SetString(PyExc_SystemError, "ConsumerRecord has an unknown layout");
        return -1;
    }
#if KCORE_LEAVES
    dealloc_record = record_class->tp_dealloc;
    record_class->tp_dealloc = dealloc_leaf;
    record_class->tp_is_gc = is_collected;
#endif
    return 0;
}

/* A record of bytes; a size below 0 is none. */
static PyObject *make_leaf(
    PyObject *origin, int64_t offset, int64_t timestamp_ms, const uint8_t *key, int32_t key_size,
    const uint8_t *value, int32_t value_size, const uint8_t *headers, Py_ssize_t headers_size
) {
    kcore_record *record;
    PyObject *number = PyLong_FromLongLong(offset);
    PyObject *key_bytes = bytes_or_none(key, key_size);
    PyObject *value_bytes = bytes_or_none(value, value_size);
    PyObject *header_bytes = bytes_or_none(headers, headers_size);
    if (number == NULL || key_bytes == NULL || value_bytes == NULL || header_bytes == NULL
        || (record = new_leaf()) == NULL) {
        Py_XDECREF(number);
        Py_XDECREF(key_bytes);
        Py_XDECREF(value_bytes);
        Py_XDECREF(header_bytes);
        return NULL;
    }
    Py_INCREF(origin);
    record->origin = origin;
    record->key = key_bytes;
    record->value = value_bytes;
    record->offset = number;
    record->raw_headers = header_bytes;
    record->timestamp_ms = timestamp_ms;
    record->key_size = key_size;
    record->value_size = value_size;
    return (PyObject *) record;
}

#endif
