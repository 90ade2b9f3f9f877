"""The way of a record that is sent from an event loop: into the batch that is open for it, and back
as its future's metadata. What `AsyncProducer.send` costs is spent here.

What is out of the ordinary is left to the producer, as in `kcore/produce/intake.pyx`: the answer is
None then, and nothing has changed.
"""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject_Call
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.stdint cimport int64_t

from kcore.produce.intake cimport Filling, Intake, Receiver, goes_as_it_is, moment_of
from kcore.stint cimport Stint

import asyncio
import sys

from kcore.clients.producer import metadata as words
from kcore.clients.producer.awaited import awaited
from kcore.errors import TransactionAbortedError
from kcore.transports.loops import asyncios, running


cdef extern from *:
    """
    static inline PyObject *kcore_tuple(PyObject *kind, Py_ssize_t size) {
        return ((PyTypeObject *) kind)->tp_alloc((PyTypeObject *) kind, size);
    }
    """
    # A named tuple, whose fields are to be put in at once.
    tuple empty_of "kcore_tuple" (object kind, Py_ssize_t size)


cdef struct Sent:
    int64_t number
    int64_t timestamp_ms


cdef object METADATA = words.RecordMetadata
cdef object OF_ITS_OWN = words.CREATE_TIME
cdef object OF_THE_LOG = words.LOG_APPEND_TIME
cdef dict LOADED = sys.modules
# How loops of asyncio's make a future: with a call, of the class that is there then (nest_asyncio
# puts another one there).
cdef object ASYNCIOS_WAY = asyncio.BaseEventLoop.create_future
cdef dict FUTURES = vars(asyncio.futures)


cdef inline int put(tuple fields, Py_ssize_t at, field) except -1:
    Py_INCREF(field)
    PyTuple_SET_ITEM(fields, at, field)
    return 0


cdef tuple metadata(
    tp, topic, partition, int64_t offset, int64_t timestamp_ms, int64_t appended_ms,
    log_start_offset,
):
    cdef tuple made = empty_of(METADATA, 7)
    put(made, 0, topic)
    put(made, 1, partition)
    put(made, 2, tp)
    put(made, 3, offset)
    put(made, 4, timestamp_ms if appended_ms < 0 else appended_ms)
    put(made, 5, OF_ITS_OWN if appended_ms < 0 else OF_THE_LOG)
    put(made, 6, log_start_offset)
    return made


def metadata_of(tp, outcome, int64_t timestamp_ms):
    """Of a record that was delivered. timestamp_ms: its own."""
    topic, partition = tp
    return metadata(
        tp,
        topic,
        partition,
        outcome.offset,
        timestamp_ms,
        outcome.timestamp_ms,
        outcome.log_start_offset,
    )


def is_users_own(error) -> bool:
    """Whether nothing has failed, but a transaction was aborted."""
    return isinstance(error, TransactionAbortedError) and error.__cause__ is None


@cython.final
cdef class Followers:
    """The futures of a batch's records; used in their loop alone."""

    cdef Filling batch  # None: all were told
    cdef Receiver courier
    cdef list futures  # None: it was told
    cdef Sent* sent
    cdef Py_ssize_t room

    def __init__(self, Filling batch not None, Receiver courier not None) -> None:
        self.batch = batch
        self.courier = courier
        self.futures = []

    def __dealloc__(self) -> None:
        PyMem_Free(self.sent)

    cdef int add(self, future, int64_t number, int64_t timestamp_ms) except -1:
        cdef Py_ssize_t count = len(self.futures)
        cdef Py_ssize_t room
        cdef Sent* grown
        if count == self.room:
            room = 2 * self.room or 4
            grown = <Sent*> PyMem_Realloc(self.sent, room * sizeof(Sent))
            if grown == NULL:
                raise MemoryError
            self.sent, self.room = grown, room
        self.sent[count] = Sent(number=number, timestamp_ms=timestamp_ms)
        self.futures.append(future)
        return 0

    def settle(self, batch) -> tuple:
        """Tell the futures of records that are over; those that were cancelled hear nothing.
        Nothing is left to be called.
        """
        mine = self.batch
        if mine is None:
            return ()
        if mine.parts or mine.record_errors or mine.error is not None:
            self.tell_each(batch)
        elif mine.done:
            self.tell_all()
        # Last: who is struck before tells them again. Futures that are kept keep no batch.
        if self.futures.count(None) == len(self.futures):
            self.batch = None
        return ()

    def hurry(self) -> None:
        """One of them is waited for."""
        mine = self.batch
        if mine is not None and mine.lingers:
            self.courier.hurry((mine,))

    cdef int tell_all(self) except -1:
        """All were delivered, side by side."""
        cdef Py_ssize_t at
        cdef int64_t base_offset = self.batch.base_offset
        cdef int64_t appended_ms = self.batch.log_append_time_ms
        cdef int64_t offset = -1
        cdef Sent sent
        tp, log_start_offset = self.batch.tp, self.batch.log_start_offset
        topic, partition = tp
        for at in range(len(self.futures)):
            future = self.futures[at]
            if future is None:
                continue
            if not future.done():
                sent = self.sent[at]
                if base_offset >= 0:
                    offset = base_offset + sent.number
                future.set_result(
                    metadata(
                        tp,
                        topic,
                        partition,
                        offset,
                        sent.timestamp_ms,
                        appended_ms,
                        log_start_offset,
                    )
                )
            self.futures[at] = None
        return 0

    cdef int tell_each(self, batch) except -1:
        cdef Py_ssize_t at
        cdef Sent sent
        for at in range(len(self.futures)):
            future = self.futures[at]
            if future is None:
                continue
            sent = self.sent[at]
            outcome = self.batch.outcome(sent.number)
            if outcome is None:
                continue
            if not future.done():
                if outcome.error is None:
                    future.set_result(metadata_of(self.batch.tp, outcome, sent.timestamp_ms))
                else:
                    self.fail(future, outcome.error, batch)
            self.futures[at] = None
        return 0

    cdef int fail(self, future, error, batch) except -1:
        future.set_exception(error)
        # Loops say of futures that nobody has looked at that they failed: once a batch is
        # enough, and what the user has aborted is no news.
        if self.courier.told_of is batch or is_users_own(error):
            future.exception()
        self.courier.told_of = batch
        return 0


cdef bint makes_asyncios(loop) except -1:
    """Whether its futures are asyncio's, made as asyncio makes them."""
    if getattr(loop.create_future, "__func__", None) is ASYNCIOS_WAY:
        return True
    uvs = LOADED.get("uvloop")
    return (
        uvs is not None
        and getattr(type(loop), "create_future", None) is uvs.Loop.create_future
        and "create_future" not in getattr(loop, "__dict__", ())
    )


@cython.final
cdef class LoopDoor:
    """Takes records, and gives each a future. courier: drives the core whose intake this is, makes
    the loop's turns, and counts in `stint` what goes by between them.

    open: records go into a batch as they are given. in_line: who waits for room, and is to be
    served before others.
    """

    cdef Intake intake
    cdef Receiver courier
    cdef Stint stint
    cdef object loop
    cdef dict of_loop  # arguments of a future that is made here; None: the loop makes it
    cdef object of_its_own  # what it is then; None: asyncio's
    cdef object kind  # and what that was when one was made last
    cdef object made
    cdef public bint open
    cdef public int64_t in_line

    def __init__(
        self, Intake intake not None, Receiver courier not None, Stint stint not None
    ) -> None:
        self.intake = intake
        self.courier = courier
        self.stint = stint

    def bind(self, loop) -> None:
        """Futures are this loop's from here on."""
        self.loop = loop
        self.of_loop = self.of_its_own = None
        trios = LOADED.get("kcore.transports.trio_loop")
        if trios is not None and type(loop) is trios.TrioLoop:
            self.of_its_own = trios.TrioFuture
        elif not makes_asyncios(loop):
            return
        self.of_loop = {"loop": loop}

    def send(self, topic, value, key, partition, timestamp_ms, headers):
        """The future of a record that was taken; None: it was not, for whatever reason: nothing has
        changed, and nothing is said of what is wrong with it.
        """
        cdef Filling filling
        cdef int64_t at_ms
        if (
            not self.open
            or self.in_line
            or self.courier.stopped
            or self.stint.over()
            or not goes_as_it_is(topic, key, value, headers, partition)
            or not self.is_here()
        ):
            return None
        at_ms = moment_of(timestamp_ms)
        if at_ms < 0:
            return None
        future = self.future()  # first: a signal may strike there
        try:
            filling = self.intake.take(topic, key, value, headers, partition, at_ms)
        except (TypeError, ValueError):
            return None
        if filling is None:
            return None
        self.wait(future, filling, filling.builder.record_count - 1, at_ms)
        return future

    def follow(self, Filling batch not None, int64_t number, int64_t timestamp_ms):
        """The future of a record that was taken elsewhere, just now."""
        future = self.future()
        self.wait(future, batch, number, timestamp_ms)
        return future

    cdef object future(self):
        if self.of_loop is None:
            return self.loop.create_future()
        kind = FUTURES["Future"] if self.of_its_own is None else self.of_its_own
        if kind is not self.kind:
            self.made, self.kind = awaited(kind), kind
        return PyObject_Call(self.made, (), self.of_loop)

    cdef int wait(
        self, future, Filling batch, int64_t number, int64_t timestamp_ms
    ) except -1:
        cdef Py_ssize_t count = len(batch.waiters)
        last = batch.waiters[count - 1] if count else None
        if type(last) is not Followers:
            last = Followers(batch, self.courier)
            batch.waiters.append(last)
        (<Followers> last).add(future, number, timestamp_ms)
        if self.of_loop is not None:
            future.followers = last
        self.courier.last = batch
        if self.stint.begun:
            self.stint.records += 1
        else:
            self.courier.passed(1)
        return 0

    cdef bint is_here(self) except -1:
        """Whether it is its loop that runs."""
        if "sniffio" in LOADED:  # which knows of loops that are no asyncio's
            return running() is self.loop
        try:
            return asyncios() is self.loop
        except RuntimeError:
            return False
