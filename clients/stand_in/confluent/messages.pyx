"""`Message`, and what becomes of those that are produced: what `produce` costs, and telling of it,
is spent here.

Nearly every message that is consumed is a record, looked at by methods: it holds the record, and
nothing is made of that before somebody asks. All others hold their own.

Those that are produced go into the batch that is open for them, as of `kcore.produce.intake`, and
wait with others of it in a Parcel, which the producer's thread hands over when the batch is done.
Nothing is made of each before it is told, in the program's own calls.
"""

cimport cython
from cpython.bytes cimport PyBytes_GET_SIZE
from cpython.dict cimport PyDict_GetItemWithError
from cpython.list cimport PyList_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.time cimport time
from libc.stdint cimport int16_t, int32_t, int64_t

from kcore.locks cimport WorkLock
from kcore.produce.intake cimport Filling, Intake, Route

from collections import deque
from operator import index
from threading import Event
from types import GenericAlias

from kcore.clients.stand_in.confluent import constants
from kcore.clients.stand_in.confluent.errors import failure
from kcore.clients.stand_in.confluent.parts import header_pairs, to_bytes

cdef enum:
    DRAWN = -1  # the partition is not given
    PARTS = 4  # of a message in a parcel: key, value, headers, callback

cdef int CREATED = constants.TIMESTAMP_CREATE_TIME
cdef int APPENDED = constants.TIMESTAMP_LOG_APPEND_TIME
cdef int64_t NO_OFFSET = constants.OFFSET_INVALID
cdef int NO_PARTITION = constants.PARTITION_UNASSIGNED


cdef class Message:
    """A record, an error, or an event. What is not known is None, but for the timestamp, which is
    (TIMESTAMP_NOT_AVAILABLE, 0) then.
    """

    cdef object record  # what it shows, until that is changed; None: what follows
    cdef object topic_
    cdef object key_
    cdef object value_
    cdef object headers_
    cdef object error_
    cdef int64_t offset_
    cdef int64_t time_ms
    cdef double latency_s
    cdef int time_kind
    cdef int partition_
    cdef int epoch
    cdef int16_t deliveries

    def __cinit__(self) -> None:
        self.offset_ = NO_OFFSET
        self.latency_s = -1
        self.partition_ = NO_PARTITION
        self.epoch = self.deliveries = -1

    def __init__(
        self,
        topic=None,
        partition=NO_PARTITION,
        offset=NO_OFFSET,
        key=None,
        value=None,
        headers=None,
        error=None,
        timestamp=None,
        double latency=-1,
        leader_epoch=-1,
        delivery_count=-1,
    ) -> None:
        cdef int number = index(partition), epoch = index(leader_epoch)
        cdef int64_t place = index(offset)
        cdef int16_t deliveries = index(delivery_count)
        if timestamp is not None:
            if not (isinstance(timestamp, tuple) and len(timestamp) == 2):
                raise TypeError("timestamp must be a tuple of (int, int)")
            self.time_kind, self.time_ms = index(timestamp[0]), index(timestamp[1])
        self.topic_ = topic
        self.partition_ = NO_PARTITION if number < 0 else number
        self.offset_ = NO_OFFSET if place < 0 else place
        self.key_ = key
        self.value_ = value
        self.headers_ = headers
        self.error_ = error
        self.latency_s = -1 if latency < 0 else latency
        self.epoch = max(epoch, -1)
        self.deliveries = deliveries if deliveries > 0 else -1

    @classmethod
    def __class_getitem__(cls, item):
        return GenericAlias(cls, item)

    def topic(self):
        """The topic."""
        return self.topic_ if self.record is None else self.record.topic

    def partition(self):
        """The partition's number."""
        number = self.partition_ if self.record is None else self.record.partition
        return None if number == NO_PARTITION else number

    def offset(self):
        """The offset."""
        return known(self.offset_) if self.record is None else self.record.offset

    def key(self):
        """The key: bytes, or what a deserializer has made of them."""
        return self.key_ if self.record is None else self.record.key

    def value(self):
        """The value, likewise."""
        return self.value_ if self.record is None else self.record.value

    def deserialized_key(self):
        """As `key`."""
        return self.key()

    def deserialized_value(self):
        """As `value`."""
        return self.value()

    def headers(self):
        """A list of (str, bytes or None); None: there are none."""
        return self.headers_ if self.record is None else self.record.headers or None

    def error(self):
        """The KafkaError that this message is in truth, or that its delivery has met with."""
        return self.error_

    def timestamp(self):
        """(kind, ms since 1970)."""
        if self.record is None:
            return self.time_kind, self.time_ms
        kind = self.record.timestamp_type
        if kind is None:
            return constants.TIMESTAMP_NOT_AVAILABLE, -1
        return kind + 1, self.record.timestamp

    def latency(self):
        """How long its delivery took, s."""
        return None if self.latency_s < 0 else self.latency_s

    def leader_epoch(self):
        """The epoch of the leader it was read from."""
        if self.record is None:
            return known(self.epoch)
        epoch = self.record.leader_epoch
        return None if epoch is None or epoch < 0 else epoch

    def delivery_count(self):
        """How often a share group has delivered it."""
        return known(self.deliveries) if self.record is None else self.record.delivery_count

    cdef int own(self) except -1:
        """It is to be changed: have what the record has."""
        record = self.record
        if record is None:
            return 0
        self.time_kind, self.time_ms = self.timestamp()
        self.headers_ = self.headers()
        self.epoch = -1 if record.leader_epoch is None else record.leader_epoch
        self.deliveries = -1 if record.delivery_count is None else record.delivery_count
        self.topic_, self.partition_, self.offset_ = record.topic, record.partition, record.offset
        self.key_, self.value_ = record.key, record.value
        self.record = None
        return 0

    def set_topic(self, topic) -> None:
        """Another topic."""
        self.own()
        self.topic_ = topic

    def set_key(self, key) -> None:
        """Another key."""
        self.own()
        self.key_ = key

    def set_value(self, value) -> None:
        """Another value."""
        self.own()
        self.value_ = value

    def set_headers(self, headers) -> None:
        """Other headers."""
        self.own()
        self.headers_ = headers

    def set_error(self, error) -> None:
        """Another error."""
        self.error_ = error

    def __len__(self) -> int:
        value = self.value()
        return 0 if value is None else len(value)

    cdef tuple compared(self):
        return (
            self.topic(), self.value(), self.key(), self.headers(), self.error(),
            self.partition(), self.offset(), self.leader_epoch(), self.timestamp(),
        )

    def __eq__(self, other) -> bool:
        if self is other:
            return True
        return isinstance(other, Message) and self.compared() == (<Message> other).compared()

    def __reduce__(self):
        self.own()
        return Message, (
            self.topic_, self.partition_, self.offset_, self.key_, self.value_, self.headers_,
            self.error_, (self.time_kind, self.time_ms), self.latency_s, self.epoch,
            self.deliveries,
        )

    def __repr__(self) -> str:
        where = f"{self.topic()}-{self.partition()} at {self.offset()}"
        return f"<Message of {where}: {self.error() or self.value()!r:.200}>"


cdef inline known(int64_t number):
    return None if number < 0 else number


def of_record(record) -> Message:
    """The message that a record is."""
    cdef Message made = Message.__new__(Message)
    made.record = record
    return made


# Those that are produced ---------------------------------------------------------------------


cdef struct Sent:
    int64_t timestamp_ms
    double at  # when, s
    int32_t number  # in its batch


@cython.final
cdef class Parcel:
    """The messages of a batch, in its order: what of each is an object is in `parts`."""

    cdef readonly object batch
    cdef Counter counter
    cdef bint given
    cdef list parts
    cdef Sent* sent
    cdef Py_ssize_t count
    cdef Py_ssize_t room
    cdef Py_ssize_t told

    def __init__(self, batch, Counter counter not None) -> None:
        self.batch = batch
        self.counter = counter
        self.parts = []

    def __dealloc__(self) -> None:
        PyMem_Free(self.sent)

    cdef int add(self, Sent one, bytes key, bytes value, list headers, callback) except -1:
        cdef Py_ssize_t room
        cdef Sent* grown
        if self.count == self.room:
            room = 2 * self.room or 16
            grown = <Sent*> PyMem_Realloc(self.sent, room * sizeof(Sent))
            if grown == NULL:
                raise MemoryError
            self.sent, self.room = grown, room
        self.parts.append(key)
        self.parts.append(value)
        self.parts.append(headers)
        self.parts.append(callback)
        self.sent[self.count] = one
        self.count += 1
        return 0

    def settle(self, _batch) -> list:
        """As batches tell who waits: in the producer's thread."""
        if self.batch.done:
            self.counter.open.pop(self.batch, None)
            self.counter.hand_over(self)
        return []


@cython.final
cdef class Counter:
    """Where messages come in, and parcels are handed over to the program.

    choose: the partition of (key, count of partitions); -1: whichever. why: the KafkaError that an
    error of ours is, of (error, batch). kept: those that are in no batch yet, by topic. bell: rung
    when something is to be told. Of messages: how many were taken and are over, and their bytes.
    """

    cdef Intake intake
    cdef WorkLock lock
    cdef object choose
    cdef object why
    cdef int64_t count_max
    cdef int64_t bytes_max
    cdef readonly dict kept
    cdef readonly object bell
    cdef readonly int64_t taken
    cdef readonly int64_t taken_bytes
    cdef readonly int64_t ended
    cdef readonly int64_t ended_bytes
    cdef dict open  # parcels, by batch
    cdef object over  # parcels whose batch is done
    cdef object failed

    def __init__(
        self,
        Intake intake not None,
        WorkLock lock not None,
        choose,
        why,
        int64_t count_max,
        int64_t bytes_max,
    ) -> None:
        self.intake = intake
        self.lock = lock
        self.choose = choose
        self.why = why
        self.count_max = count_max
        self.bytes_max = bytes_max
        self.kept = {}
        self.open = {}
        self.over = deque()
        self.failed = deque()
        self.bell = Event()

    # In ------------------------------------------------------------------------------------------

    cpdef int check_room(self, int64_t size) except -1:
        """BufferError: there is none for a message of so many bytes."""
        if (
            self.taken - self.ended >= self.count_max
            or self.taken_bytes - self.ended_bytes + size > self.bytes_max
        ):
            raise BufferError("Local: Queue full")
        return 0

    def count(self, int64_t size) -> None:
        """A message was taken, by `put` or to be kept."""
        self.taken += 1
        self.taken_bytes += size

    cdef bint take(
        self, str topic, bytes key, bytes value, list headers, int partition, Sent one, callback,
        int64_t size,
    ) except -1:
        """A message into the batch that is open for it; False: that takes more than this."""
        self.lock.take()
        try:
            if self.lock.busy or self.lock.struck:
                return False
            self.check_room(size)
            if self.kept and topic in self.kept:
                return False
            if not self.place(topic, key, value, headers, partition, one, callback):
                return False
            self.taken += 1
            self.taken_bytes += size
            return True
        finally:
            self.lock.give()

    cdef bint place(
        self, str topic, bytes key, bytes value, list headers, int partition, Sent one, callback
    ) except -1:
        cdef PyObject* route
        cdef Filling filling
        if partition == DRAWN:
            route = PyDict_GetItemWithError(self.intake.routes, topic)
            if route == NULL:
                return False
            partition = self.choose(key, PyList_GET_SIZE((<Route> route).numbers))
        filling = self.intake.take(
            topic, key, value, headers, None if partition == DRAWN else partition, one.timestamp_ms
        )
        if filling is None:
            return False
        one.number = filling.builder.record_count - 1
        self.wait(filling, one, key, value, headers, callback)
        return True

    def put_quickly(self, tuple unsent) -> bool:
        """A message into the batch that is open for it; False: that takes more. With the lock."""
        topic, partition, key, value, headers, timestamp_ms, callback, at, _ = unsent
        if self.lock.busy or self.lock.struck or timestamp_ms < 0:
            return False
        return self.place(
            topic, key, value, headers, partition,
            Sent(timestamp_ms=timestamp_ms, at=at, number=-1), callback,
        )

    def put(self, batch, int32_t number, tuple unsent) -> None:
        """A message has come into a batch otherwise. With the lock."""
        _, _, key, value, headers, timestamp_ms, callback, at, _ = unsent
        self.wait(
            batch, Sent(timestamp_ms=timestamp_ms, at=at, number=number), key, value, headers,
            callback,
        )

    cdef int wait(
        self, batch, Sent one, bytes key, bytes value, list headers, callback
    ) except -1:
        cdef PyObject* found = PyDict_GetItemWithError(self.open, batch)
        cdef Parcel parcel
        if found != NULL:
            parcel = <Parcel> found
        else:
            parcel = Parcel(batch, self)
            if batch.done:
                parcel.given = True
            else:
                self.open[batch] = parcel
                batch.waiters.append(parcel)
        parcel.add(one, key, value, headers, callback)
        if parcel.given:
            self.hand_over(parcel)
        return 0

    # Out -----------------------------------------------------------------------------------------

    cdef int hand_over(self, Parcel parcel) except -1:
        """A batch is over. From any thread; again where there is more of it."""
        parcel.given = True
        self.over.append(parcel)
        self.bell.set()
        return 0

    def fail(self, tuple unsent, error) -> None:
        """A message that came into no batch has failed."""
        self.failed.append((unsent, error))
        self.bell.set()

    @property
    def has_any(self) -> bool:
        """Whether anything is to be told."""
        return bool(self.over or self.failed)

    def serve(self, bint errors_only) -> int:
        """Tell the program: how many were told. A message is over before it is told of. By one
        thread at a time; whatever callbacks raise, and others are told next time.
        """
        cdef int64_t served = 0
        cdef double now = time()
        cdef Parcel parcel
        while self.failed:
            self.tell_failed(self.failed.popleft(), now)
            served += 1
        while self.over:
            parcel = self.over[0]
            served += self.tell(parcel, now, errors_only)
            if self.over and self.over[0] is parcel:
                self.over.popleft()
        return served

    cdef int tell_failed(self, tuple failed, double now) except -1:
        (topic, partition, key, value, headers, timestamp_ms, callback, at, size), error = failed
        self.ended += 1
        self.ended_bytes += size
        if callback is not None:
            message = Message(
                topic, partition, NO_OFFSET, key, value, headers, error,
                (CREATED, timestamp_ms), now - at,
            )
            (<Message> message).partition_ = partition  # as it was given
            callback(error, message)
        return 0

    cdef int64_t tell(self, Parcel parcel, double now, bint errors_only) except -1:
        cdef int64_t served = 0
        cdef list parts = parcel.parts
        cdef Py_ssize_t at
        cdef Message message
        cdef Sent one
        cdef int64_t base_offset, appended_ms
        batch = parcel.batch
        topic, partition = batch.tp
        # Of one that was split, or in which records have failed, each is asked for.
        cdef bint delivered = not (batch.parts or batch.record_errors or batch.error)
        base_offset, appended_ms = batch.base_offset, batch.log_append_time_ms
        while parcel.told < parcel.count:  # a callback may come back here, and in between
            one = parcel.sent[parcel.told]
            at = parcel.told * PARTS
            key, value, callback = parts[at], parts[at + 1], parts[at + 3]
            parcel.told += 1
            self.ended += 1
            self.ended_bytes += bytes_of(key, value)
            served += 1
            if callback is None or (errors_only and delivered):
                continue
            message = Message.__new__(Message)
            if delivered:
                if base_offset >= 0:
                    message.offset_ = base_offset + one.number
            else:
                outcome = batch.outcome(one.number)
                if outcome.error is not None:
                    message.error_ = self.why(outcome.error, batch)
                elif errors_only:
                    continue
                elif outcome.offset >= 0:
                    message.offset_ = outcome.offset
                appended_ms = outcome.timestamp_ms
            message.topic_, message.partition_ = topic, partition
            message.key_, message.value_, message.headers_ = key, value, parts[at + 2]
            if appended_ms >= 0:
                message.time_kind, message.time_ms = APPENDED, appended_ms
            else:
                message.time_kind, message.time_ms = CREATED, one.timestamp_ms
            message.latency_s = now - one.at
            callback(message.error_, message)
        return served


cdef inline int64_t bytes_of(bytes key, bytes value) noexcept:
    cdef int64_t size = 0
    if key is not None:
        size += PyBytes_GET_SIZE(key)
    if value is not None:
        size += PyBytes_GET_SIZE(value)
    return size


cdef class Outgoing:
    """The part of a Producer that takes messages.

    A subclass has `_need()`, which raises if it is closed, and `_take(unsent)`, for what takes more
    than being put into an open batch.
    """

    cdef Counter counter
    cdef object on_delivery
    cdef int64_t message_max
    cdef bint open

    def _begin(self, Counter counter not None, on_delivery, int64_t message_max) -> None:
        self.counter = counter
        self.on_delivery = on_delivery
        self.message_max = message_max
        self.open = True

    def _end(self) -> None:
        self.open = False

    def produce(
        self,
        topic,
        value=None,
        key=None,
        partition=DRAWN,
        callback=None,
        on_delivery=None,
        timestamp=0,
        headers=None,
    ) -> None:
        """Take a message, to be delivered soon. value, key: bytes, or text. headers: pairs, or a
        dict. timestamp: ms since 1970; 0: now. callback, on_delivery: called with a KafkaError (or
        None) and the message, by `poll` and `flush`.

        BufferError: there are too many that are not delivered: `poll`, then try again.
        KafkaException: too large, no such partition, not in a transaction. TypeError.
        """
        cdef Sent one
        cdef int64_t size
        cdef list pairs
        cdef int number = partition if type(partition) is int else index(partition)
        cdef int64_t time_ms = timestamp if type(timestamp) is int else index(timestamp)
        if not self.open:
            self._need()
        if type(value) is not bytes and value is not None:
            value = to_bytes("value", value)
        if type(key) is not bytes and key is not None:
            key = to_bytes("key", key)
        pairs = None if headers is None else header_pairs(headers) or None
        size = bytes_of(key, value)
        if size > self.message_max:
            raise failure("MSG_SIZE_TOO_LARGE", "Broker: Message size too large")
        if type(topic) is not str:
            raise TypeError(f"topic must be a string, not {topic!r:.200}")
        told = callback or on_delivery or self.on_delivery
        one.at = time()
        one.timestamp_ms = time_ms or <int64_t> (one.at * 1000)
        one.number = -1
        if time_ms < 0 or not self.counter.take(topic, key, value, pairs, number, one, told, size):
            self._take((topic, number, key, value, pairs, one.timestamp_ms, told, one.at, size))
