"""The way of a record into the batch that is open for it: what `send` costs is spent here.

Taken is a record for which everything is prepared: the topic's route is known, the partition has a
batch with room, and has room for more behind the record. That is all but two records of a batch;
for those, and for everything out of the ordinary, the answer is None, nothing has changed, and
`ProducerCore.append` does what has to be done: it finds routes, draws partitions, opens batches,
closes full ones.

What both need to know is in the small classes here, of which the rooms have kinds of their own
(Filling: a batch; Inlet: a lane; Draw: a sticky partition; Ticket: a future).
"""

cimport cython
from cpython.bytes cimport PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.time cimport time
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t

from kcore.locks cimport WorkLock
from kcore.produce.murmur cimport partition_of_bytes
from kcore.records.builder cimport BatchBuilder

import sys
from collections.abc import Sequence  # noqa: F401 - who asks for the annotations of `send`
from typing import Any  # noqa: F401

cdef extern from *:
    """
    static inline void *kcore_target(PyObject *function) {
        return (void *) PyCFunction_GET_FUNCTION(function);
    }
    """
    void* target_of "kcore_target" (PyObject* function) noexcept

cdef dict CLOCKS = vars(sys.modules["time"])
# None: another time was told already when this was imported.
cdef object SYSTEM_CLOCK = CLOCKS["time_ns"]
if type(SYSTEM_CLOCK) is not type(len) or abs(SYSTEM_CLOCK() / 1e9 - time()) > 1:
    SYSTEM_CLOCK = None
cdef void* SYSTEM_TARGET = NULL if SYSTEM_CLOCK is None else target_of(<PyObject*> SYSTEM_CLOCK)

cdef enum:
    # What a record costs beside its key and value, at most, without headers (builder.pyx), and a
    # header beside its own bytes.
    RECORD_BYTES = 32
    HEADER_BYTES = 10  # its name may take four bytes a character

RECORD_OVERHEAD = RECORD_BYTES


cdef extern from *:
    """
    static inline PyObject *kcore_new(PyObject *kind, PyObject *nothing) {
        return ((PyTypeObject *) kind)->tp_new((PyTypeObject *) kind, nothing, NULL);
    }
    """
    object new_of "kcore_new" (object kind, object nothing)


@cython.final
cdef class Budget:
    """The memory of a producer. limit_bytes: what records that are not over may hold together;
    held_bytes: what they do. full_bytes: of a full batch, uncompressed.
    """

    def __init__(self, int64_t limit_bytes, double full_bytes) -> None:
        self.limit_bytes = limit_bytes
        self.full_bytes = full_bytes


cdef class Filling:
    """What takes records while it has a builder. data: what is to be sent, once it is sealed.
    waiters: the application's, told when records of it are over.
    """

    def pack(self) -> None:
        """Seal the builder. A signal handler sees that done or not done: its bytes are there once.
        """
        if self.data is None:
            self.data = self.builder.seal()


cdef class Inlet:
    """A partition. filling: the last one begun, or None; it may take no more records."""


cdef class Draw:
    """Where records without a key go: a partition, and what it has got since it was drawn.

    partition: -1: it is to be drawn. batch_size: once so much is taken, it may be drawn anew.
    """

    def __init__(self, int64_t batch_size) -> None:
        self.batch_size = batch_size
        self.partition = -1


@cython.final
cdef class Route:
    """What a record for one topic needs, looked up when metadata changes.

    numbers: the partitions. lanes: by partition, those that were used. by_key: whether keys decide.
    """

    def __init__(self, list numbers not None, Draw sticky not None, *, bint by_key) -> None:
        self.numbers = numbers
        self.lanes = {}
        self.sticky = sticky
        self.by_key = by_key

    def choose(self, bytes key) -> int:
        """The partition of a record with this key; -1: one is to be drawn."""
        return self.choice(key)

    cdef int64_t choice(self, bytes key) except -2:
        if key is None or not self.by_key:
            return self.sticky.partition
        return self.numbers[partition_of_bytes(key, PyList_GET_SIZE(self.numbers))]


cdef class Ticket:
    """A record on its way: `number` of `batch`. Sizes are of its parts in bytes, -1 for None and
    for no headers, as kafka-python's.

    courier: who knows when it is over. calls: what is to be called then, or None.
    """


def record_bytes(bytes key, bytes value, headers) -> int:
    """The most that a record takes in a batch, uncompressed. headers: (str, bytes) pairs."""
    return plain_bytes(key, value) + (header_room(headers) if headers else 0)


cdef inline int64_t plain_bytes(bytes key, bytes value) noexcept:
    cdef int64_t size = RECORD_BYTES
    if key is not None:
        size += PyBytes_GET_SIZE(key)
    if value is not None:
        size += PyBytes_GET_SIZE(value)
    return size


cdef int64_t header_room(headers) except -1:
    cdef int64_t size = 0
    for name, item in headers:
        size += HEADER_BYTES + 4 * len(name) + (len(item) if item else 0)
    return size


cdef int64_t header_bytes(headers) except -1:
    """What headers hold: the size that metadata of a record tells."""
    cdef int64_t size = 0
    cdef Py_ssize_t name_size
    for name, item in headers:
        PyUnicode_AsUTF8AndSize(name, &name_size)  # kept with the string since it was written
        size += name_size + (len(item) if item else 0)
    return size


@cython.final
cdef class Intake:
    """See the module's text. routes: by topic; without them nothing is taken."""

    def __init__(self, Budget budget not None, int64_t record_bytes_max) -> None:
        self.budget = budget
        self.record_bytes_max = record_bytes_max
        self.routes = {}

    cdef Filling take(
        self, topic, bytes key, bytes value, list headers, partition, int64_t timestamp_ms
    ):
        """The batch that has taken a record, as its last one; None: see the module's text."""
        cdef Budget budget = self.budget
        cdef int64_t size = plain_bytes(key, value)
        cdef int64_t used
        cdef PyObject* found
        cdef Draw sticky = None
        cdef Filling filling
        cdef BatchBuilder builder
        cdef Route route
        if headers:
            size += header_room(headers)
        found = PyDict_GetItemWithError(self.routes, topic)
        if found == NULL or size > self.record_bytes_max:
            return None
        route = <Route> found
        if partition is None:
            partition = route.choice(key)
            if key is None or not route.by_key:
                sticky = route.sticky
                if sticky.taken_bytes + size >= 2 * sticky.batch_size:
                    return None
        found = PyDict_GetItemWithError(route.lanes, partition)
        if found == NULL:
            return None
        filling = (<Inlet> found).filling
        if filling is None:
            return None
        builder = filling.builder
        if (
            builder is None
            or builder.used + size + RECORD_BYTES >= budget.full_bytes
            or budget.held_bytes + size > budget.limit_bytes
        ):
            return None
        used = builder.used
        builder.put(timestamp_ms, key, value, headers)
        budget.held_bytes += builder.used - used
        if sticky is not None:
            sticky.taken_bytes += size
        return filling


cdef class Receiver:
    """Who hears what becomes of records. stopped: nobody does any more, so none is taken. last: the
    batch that took one last, until something is told.
    """


cdef int64_t now_wall_ms() except? -1:
    """Since 1970, by the system's clock; or by what a test has put in the place of Python's
    (freezegun does), or into it (time-machine does), so that its records are of its time.
    """
    cdef PyObject* clock = PyDict_GetItemWithError(CLOCKS, "time_ns")
    if clock == <PyObject*> SYSTEM_CLOCK and target_of(clock) == SYSTEM_TARGET:
        return <int64_t> (time() * 1000)
    return CLOCKS["time_ns"]() // 1_000_000


@cython.final
cdef class Door:
    """Takes records from any thread, and gives each a ticket.

    lock: guards the core whose intake it is. kind: of ticket. courier: what each is told of.
    While work is under way there (a signal handler sends), or is to be mended, nothing is taken.
    """

    def __init__(
        self, Intake intake not None, WorkLock lock not None, kind, Receiver courier
    ) -> None:
        if not issubclass(kind, Ticket):
            raise TypeError(f"{kind} is no kind of Ticket")
        self.intake = intake
        self.lock = lock
        self.kind = kind
        self.courier = courier

    def send(self, topic, key, value, headers, partition, timestamp_ms):
        """The ticket of a record that was taken; None: it was not, for whatever reason.

        timestamp_ms: None: now. TypeError, ValueError: headers that cannot be.
        """
        taken = self.admit(topic, key, value, headers, partition, timestamp_ms, True)
        return taken if taken is not False else None

    cdef object admit(
        self, topic, key, value, headers, partition, timestamp_ms, bint raises
    ):
        """As `send`; False: not as things stand, though it is as it goes into a batch, and its
        topic known: nothing need be checked. raises: else None is for headers that cannot be, too;
        what is raised then is a signal handler's.
        """
        cdef Filling filling
        cdef WorkLock lock = self.lock
        cdef int64_t at_ms
        if not goes_as_it_is(topic, key, value, headers, partition):
            return None
        at_ms = moment_of(timestamp_ms)
        if at_ms < 0:
            return None
        lock.take()
        try:
            if lock.busy or lock.struck or (self.courier is not None and self.courier.stopped):
                return None
            try:
                filling = self.intake.take(topic, key, value, headers, partition, at_ms)
            except (TypeError, ValueError):
                if raises:
                    raise
                return None
            if filling is None:
                return False if topic in self.intake.routes else None
            return self.issue(
                filling, filling.builder.record_count - 1, key, value, headers, at_ms
            )
        finally:
            lock.give()

    def ticket(
        self,
        batch,
        int64_t number,
        bytes key,
        bytes value,
        headers,
        int64_t timestamp_ms,
    ) -> Ticket:
        """A ticket of a record that was taken elsewhere."""
        return self.issue(batch, number, key, value, headers, timestamp_ms)

    cdef Ticket issue(
        self, batch, int64_t number, bytes key, bytes value, headers, int64_t timestamp_ms
    ):
        cdef Ticket made = <Ticket> new_of(self.kind, ())
        made.batch = batch
        made.number = number
        made.timestamp_ms = timestamp_ms
        made.courier = self.courier
        made.key_size = -1 if key is None else PyBytes_GET_SIZE(key)
        made.value_size = -1 if value is None else PyBytes_GET_SIZE(value)
        made.header_size = header_bytes(headers) if headers else -1
        return made


cdef class Sending:
    """What `Producer.send` does with most records. A subclass has `_append` for those that find no
    batch that is open for them, and `_send_with_care` for all others.

    _open_door: where they go in; None: none goes in as it is given.
    """

    @cython.annotation_typing(False)  # they are looked at in the door
    @cython.embedsignature(False)
    @cython.binding(True)  # it is looked at as a Python function is: annotations, a signature
    def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        headers: Sequence[tuple[str, bytes | None]] | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> Ticket:
        """Take a record, to be delivered soon; a future of its metadata.

        value, key: bytes or None, or what the serializers make that of. headers: (str, bytes or
        None) pairs. partition: None: by the key, or where the partitioner wants it.
        timestamp_ms: wall time, default now.

        Waits, at most `max_block_ms`, while the topic is not known or `buffer_memory` is in use:
        KafkaTimeoutError then. RecordTooLargeError. IllegalArgumentError (a ValueError): no such
        partition, nor when brokers are asked anew. TypeError. TopicAuthorizationFailedError,
        InvalidTopicError. ProducerClosed.
        Everything else is told by the future.
        """
        cdef Door door
        cdef int64_t at_ms
        if not isinstance(self, Sending):  # which nobody but such a function looks after
            raise TypeError(f"send is called on a producer, not on {type(self).__name__!r}")
        door, taken = self._open_door, None
        if door is not None:
            # What is wrong with headers that cannot be, `_send_with_care` says.
            taken = door.admit(topic, key, value, headers, partition, timestamp_ms, False)
            if taken is False:
                at_ms = now_wall_ms() if timestamp_ms is None else timestamp_ms
                batch, number = self._append((topic, key, value, headers or [], partition, at_ms))
                return door.issue(batch, number, key, value, headers, at_ms)
            if taken is not None:
                return taken
        return self._send_with_care(topic, value, key, headers, partition, timestamp_ms)
