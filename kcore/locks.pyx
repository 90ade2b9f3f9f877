"""Locks that a signal handler cannot leave behind closed.

A handler runs between two bytecodes of the main thread, and may raise there (Ctrl-C does). Between
taking a lock and noting it there must be no bytecode, then, and `with` has none either around
`__enter__` and `__exit__` that are compiled.

Turnstile: one caller at a time, the others are refused. WorkLock: one at a time, the others wait.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.pythread cimport (
    NOWAIT_LOCK,
    PY_LOCK_ACQUIRED,
    PY_LOCK_FAILURE,
    PyLockStatus,
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_get_thread_ident,
    PyThread_release_lock,
    PyThread_type_lock,
)
from cpython.time cimport monotonic


cdef extern from "pythread.h":
    PyLockStatus PyThread_acquire_lock_timed(
        PyThread_type_lock, long long microseconds, int intr_flag
    ) nogil

# How often a greenlet that waits for another one looks; it is a matter of a turn of the hub.
cdef double LOOK_S = 0.001


cdef class Reentrant:
    """A re-entrant lock, as threading.RLock: whoever has it may take it again, and has to give it
    as often.

    forsaken: another one is in its place, as this process was forked while others may have had it.
    """

    cdef bint take(self, bint blocking, double timeout_s) except -1:
        raise NotImplementedError

    cdef int give(self) except -1:
        raise NotImplementedError

    def acquire(self, bint blocking=True, double timeout=-1) -> bool:
        """As threading's: False if another one holds it (all `timeout` seconds long)."""
        return self.take(blocking, timeout)

    def release(self) -> None:
        """RuntimeError: it is not the caller's."""
        self.give()

    def __enter__(self):
        return self.take(True, -1)

    def __exit__(self, *_):
        self.give()


@cython.final
cdef class ThreadLock(Reentrant):
    """For threads. threading's own costs a call of a function, with arguments to be looked at, for
    each end of it: 1,190 of the 3,710 instructions that a `send` then takes in its caller's thread.
    """

    cdef PyThread_type_lock lock
    cdef unsigned long owner  # 0: nobody has it
    cdef Py_ssize_t count

    def __cinit__(self) -> None:
        self.lock = PyThread_allocate_lock()
        if self.lock is NULL:
            raise MemoryError("no lock is to be had")

    def __dealloc__(self) -> None:
        if self.lock is not NULL:
            if self.owner:
                PyThread_release_lock(self.lock)
            PyThread_free_lock(self.lock)

    cdef bint take(self, bint blocking, double timeout_s) except -1:
        cdef unsigned long caller = PyThread_get_thread_ident()
        if self.owner == caller:
            self.count += 1
            return True
        if not PyThread_acquire_lock(self.lock, NOWAIT_LOCK):
            return blocking and self.wait(caller, timeout_s)
        self.owner = caller
        self.count = 1
        return True

    cdef bint wait(self, unsigned long caller, double timeout_s) except -1:
        """Take it when it is free, so long at most (below 0: for ever). What a signal handler
        raises. ForkedError: it has forked, and nobody gives this one back in the child.
        """
        cdef ThreadLock kept = self  # the child may put another one in its place
        cdef double until = 0
        cdef long long left_us = -1
        cdef PyLockStatus status
        if timeout_s >= 0:
            until = monotonic() + timeout_s
        while True:
            if timeout_s >= 0:
                left_us = <long long> max(0.0, (until - monotonic()) * 1e6)
            with nogil:
                status = PyThread_acquire_lock_timed(kept.lock, left_us, 1)
            if status == PY_LOCK_ACQUIRED:
                kept.owner = caller
                kept.count = 1
                return True
            if status == PY_LOCK_FAILURE:
                return False
            PyErr_CheckSignals()
            if kept.forsaken:
                from kcore.errors import ForkedError
                raise ForkedError(
                    "a signal handler has forked while this call waited for another thread, which "
                    "the child does not have: make another client there"
                )

    cdef int give(self) except -1:
        if self.owner != <unsigned long> PyThread_get_thread_ident():
            raise RuntimeError("cannot release a lock of another thread")
        self.count -= 1
        if not self.count:
            self.owner = 0
            PyThread_release_lock(self.lock)
        return 0


@cython.final
cdef class GreenletLock(Reentrant):
    """For the greenlets of one thread: gevent's own is written in Python.

    getcurrent, sleep: greenlet's and gevent's.
    """

    cdef object getcurrent
    cdef object sleep
    cdef object owner
    cdef Py_ssize_t count

    def __init__(self, getcurrent, sleep) -> None:
        self.getcurrent = getcurrent
        self.sleep = sleep

    cdef bint look(self) except -1:
        me = self.getcurrent()
        if self.count and self.owner is not me:
            return False
        self.owner = me
        self.count += 1
        return True

    cdef bint take(self, bint blocking, double timeout_s) except -1:
        if self.look():
            return True
        if not blocking:
            return False
        cdef double waited = 0
        while timeout_s < 0 or waited < timeout_s:
            self.sleep(LOOK_S)
            waited += LOOK_S
            if self.look():
                return True
        return False

    cdef int give(self) except -1:
        if not self.count or self.owner is not self.getcurrent():
            raise RuntimeError("cannot release a lock of another greenlet")
        self.count -= 1
        if not self.count:
            self.owner = None
        return 0


@cython.final
cdef class Borrowed(Reentrant):
    """One with `acquire(blocking, timeout)` and `release()`, of whatever kind: such as threading's
    where greenlets have been put in the place of threads.
    """

    cdef object acquire_it
    cdef object release_it

    def __init__(self, lock) -> None:
        self.acquire_it = lock.acquire
        self.release_it = lock.release

    cdef bint take(self, bint blocking, double timeout_s) except -1:
        return self.acquire_it(blocking, timeout_s)

    cdef int give(self) except -1:
        self.release_it()
        return 0


cdef Reentrant instead_of(Reentrant before, lock):
    if before is not None:
        before.forsaken = True
    return lock if isinstance(lock, Reentrant) else Borrowed(lock)


cdef class Turnstile:
    """Who is inside: a caller, in calls inside each other, or a visitor for a moment.

    `with turnstile:` is a call of the user's. One inside another is let in only while the outer one
    has lent its place (`with turnstile.lent():`): that runs code of the user's and stands still.
    Who comes otherwise does so from a signal handler, in the middle of anything; and so does who
    comes inside a visit, which lends nothing: a handler may strike the visitor, where that is a
    greenlet.

    lock: a re-entrant one with `acquire(blocking, timeout)` and `release()`. barred: nobody is let
    in any more. A subclass says why: `refuse` (barred), `refuse_busy` (another caller is inside),
    `refuse_midway` (this very caller is), `refuse_late` (a visitor stays); they raise.
    struck: a call was ended by an exception that was neither of the user's code nor one of `own`,
    save for those of `foreign`. Whoever is inside next has `mend` called first, which resets it.
    """

    cdef public bint barred
    cdef Reentrant lock
    cdef int depth
    cdef int lent_at
    cdef bint visited
    cdef object excused
    cdef object own
    cdef object foreign
    cdef public bint struck

    def __init__(self, lock, own, foreign) -> None:
        self.own = own
        self.foreign = foreign
        self.hold(lock)

    def hold(self, lock) -> None:
        """Begin anew, with nobody inside, with this lock."""
        self.lock = instead_of(self.lock, lock)
        self.depth = self.lent_at = 0
        self.visited = False

    @property
    def inside(self) -> int:
        """How many calls are inside each other."""
        return self.depth

    cdef int come_in(self, double limit_s) except -1:
        cdef double waited = 0
        if not self.lock.take(False, -1):
            while True:
                if self.depth:
                    self.refuse_busy()
                if self.lock.take(True, LOOK_FOR_BUSY_S):
                    break
                waited += LOOK_FOR_BUSY_S
                if 0 <= limit_s <= waited:
                    self.refuse_late()
        if self.depth != self.lent_at or self.visited:
            self.lock.give()
            self.refuse_midway()
        self.depth += 1
        if self.struck:
            try:
                self.mend()
            except BaseException:
                self.go_out(None)
                raise
        return 0

    cdef int go_out(self, error) except -1:
        excused = self.excused
        if not self.depth:  # forked meanwhile: another lock is in the place of the one it took
            return 0
        self.depth -= 1
        self.lent_at = self.depth  # who is outside now has lent its place, or nobody is
        if not self.depth:
            self.excused = None
        if error is not None and error is not excused:
            if not isinstance(error, self.own) or isinstance(error, self.foreign):
                self.struck = True
        self.lock.give()
        return 0

    def __enter__(self):
        if self.barred:
            self.refuse()
        self.come_in(-1)

    def __exit__(self, kind, error, trace):
        self.go_out(error)

    def mend(self):
        """Make whole what was left half done."""

    def even_barred(self, double limit_s) -> "Unbarred":
        """A call that is let in even if all are refused, waiting so long for a visitor."""
        return Unbarred(self, limit_s)

    def visit(self) -> "Visit":
        """`with turnstile.visit() as let_in:`: False, at once, if anybody is inside, or barred."""
        return Visit(self)

    def lent(self) -> "Lent":
        """Around code of the user's, which may call back."""
        return Lent(self)


# How often a caller who waits for the visitor looks whether it is the visitor it waits for.
cdef double LOOK_FOR_BUSY_S = 0.05


@cython.final
cdef class Unbarred:
    """Of Turnstile.even_barred, for one `with`."""

    cdef Turnstile turnstile
    cdef double limit_s

    def __init__(self, Turnstile turnstile not None, double limit_s) -> None:
        self.turnstile = turnstile
        self.limit_s = limit_s

    def __enter__(self):
        self.turnstile.come_in(self.limit_s)

    def __exit__(self, kind, error, trace):
        self.turnstile.go_out(error)


@cython.final
cdef class Visit:
    """Of Turnstile.visit, for one `with`."""

    cdef Turnstile turnstile
    cdef bint let_in

    def __init__(self, Turnstile turnstile not None) -> None:
        self.turnstile = turnstile

    def __enter__(self):
        if self.turnstile.barred or not self.turnstile.lock.take(False, -1):
            return False
        if self.turnstile.depth or self.turnstile.barred or self.turnstile.visited:
            self.turnstile.lock.give()
            return False
        self.let_in = self.turnstile.visited = True
        return True

    def __exit__(self, *_):
        if self.let_in and self.turnstile.visited:  # else another lock is in its place
            self.turnstile.visited = False
            self.turnstile.lock.give()
        self.let_in = False


@cython.final
cdef class Lent:
    """Of Turnstile.lent, for one `with`. Without a call inside it does nothing."""

    cdef Turnstile turnstile

    def __init__(self, Turnstile turnstile not None) -> None:
        self.turnstile = turnstile

    def __enter__(self):
        self.turnstile.lent_at = self.turnstile.depth

    def __exit__(self, kind, error, trace):
        if self.turnstile.depth:
            self.turnstile.lent_at = self.turnstile.depth - 1
            self.turnstile.excused = error


cdef class WorkLock:
    """A lock around work that an exception from outside (Ctrl-C) may leave half done.

    `with lock:` is a piece of work. Whoever holds the lock next has `mend` called first, until that
    comes through. A piece inside another one comes from a signal handler (or a finalizer, or who
    reads the log), in the middle of anything: it is refused, unless the outer one stands still
    (`with lock.still():`) or has let go (`with lock.away():`).

    lock: a re-entrant one with `acquire()` and `release()`. own: exceptions that end a piece of
    work by themselves. busy: a piece is under way. struck: one was ended otherwise, and nobody has
    mended it. A subclass says what to do: `mend`; `refuse_midway`, which raises; `tell_struck`,
    which is called without the lock.
    """

    def __init__(self, lock, own) -> None:
        self.own = own
        self.hold(lock)

    def hold(self, lock) -> None:
        """Begin anew, with nothing under way, with this lock."""
        self.lock = instead_of(self.lock, lock)
        self.busy = self.struck = False

    cdef int take(self) except -1:
        self.lock.take(True, -1)
        return 0

    cdef int give(self) except -1:
        return self.lock.give()

    def __enter__(self):
        self.take()
        if self.busy:
            self.give()
            self.refuse_midway()
        self.busy = True
        if self.struck:
            try:
                self.mend()
            except BaseException:
                self.busy = False
                self.give()
                raise
            self.struck = False

    def __exit__(self, kind, error, trace):
        cdef bint struck = error is not None and not isinstance(error, self.own)
        self.busy = False
        self.struck = self.struck or struck
        self.give()
        if struck:
            self.tell_struck()

    def mend(self):
        """Make whole what was left half done."""

    def tell_struck(self):
        """A piece of work was struck just now."""

    def refuse_midway(self):
        """A piece of work of this very thread is under way."""
        raise RuntimeError("in the middle of another piece of work of this thread")

    def still(self) -> "Still":
        """Inside a piece of work: what is done meanwhile may begin another one."""
        return Still(self)

    def away(self) -> "Away":
        """Inside a piece of work: others may have the lock meanwhile. `struck` behind it: it is for
        the piece that goes on to mend.
        """
        return Away(self)

    def held(self) -> "Held":
        """The lock, without a piece of work; who has it may begin one. Again and again."""
        return Held(self)


@cython.final
cdef class Held:
    """Of WorkLock.held."""

    cdef WorkLock lock

    def __init__(self, WorkLock lock not None) -> None:
        self.lock = lock

    def __enter__(self):
        self.lock.take()

    def __exit__(self, *_):
        self.lock.give()


@cython.final
cdef class Still:
    """Of WorkLock.still, for one `with`."""

    cdef WorkLock lock

    def __init__(self, WorkLock lock not None) -> None:
        self.lock = lock

    def __enter__(self):
        self.lock.busy = False

    def __exit__(self, *_):
        self.lock.busy = True


@cython.final
cdef class Away:
    """Of WorkLock.away, for one `with`."""

    cdef WorkLock lock

    def __init__(self, WorkLock lock not None) -> None:
        self.lock = lock

    def __enter__(self):
        self.lock.busy = False
        self.lock.give()

    def __exit__(self, *_):
        failure = None
        while True:
            try:
                self.lock.take()
                break
            except BaseException as error:  # a greenlet was struck while it waited for another one
                failure = error
        self.lock.busy = True
        if failure is not None:
            raise failure
