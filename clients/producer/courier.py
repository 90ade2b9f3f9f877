"""Drives a producer's core in a thread (or greenlet) of its own, and lets others in while it waits.

One lock guards core and pump. The courier holds it for all but its waits (for the network, for a
resolver, for the user's provider of tokens), during which anybody may append; who begins something
that cannot wait rings the pump's bell. Callbacks run in the courier, without the lock.

Ctrl-C, or a signal handler that raises, may strike whoever has the lock in the middle of a change:
the main thread, or any greenlet, also the courier itself. Whoever has it next has the core begin
anew what was asked (`ProducerCore.handle_interrupted`), and the courier goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from kcore import transports
from kcore.clients import arguments
from kcore.clients.log import Log
from kcore.clients.producer.dispatch import STRIKES_MAX, Dispatch
from kcore.errors import ConcurrentUseError, ForkedError, KafkaError
from kcore.limits import AWAY_MS, MAX_TIMEOUT_MS, OVERSLEPT_MS
from kcore.locks import WorkLock
from kcore.transports.background import current, make_event, make_lock, run_aside
from kcore.transports.forking import release_in_child

if TYPE_CHECKING:
    from kcore.produce.batch import Batch

log = Log("kcore.producer")


def _always() -> bool:
    return True


def _never() -> bool:
    return False


class CourierLock(WorkLock):
    """Guards core and pump: see the module's text."""

    def __init__(
        self, lock: Any, begin_anew: Callable[[], object], ring: Callable[[], object]
    ) -> None:
        super().__init__(lock, KafkaError)
        self._begin_anew = begin_anew
        self._ring = ring

    def mend(self) -> None:
        """Have the core begin anew."""
        self._begin_anew()

    def tell_struck(self) -> None:
        """The courier is to see to what was begun."""
        self._ring()

    def refuse_midway(self) -> NoReturn:
        """A call of this very thread is under way."""
        raise ConcurrentUseError(
            "the producer is in the middle of another call of this thread, which this one would "
            "break (a signal handler, a finalizer?): note what is to be done, and do it behind that"
        )


class YieldingTransport:
    """A transport whose waits let go of a lock that is held by whoever steps the pump.

    mend: what to do if somebody was struck meanwhile, before any input. waiting: who begins
    something has the next wait end at once. midway: the pump is in the middle of an action.
    """

    def __init__(self, transport: Any, lock: WorkLock, mend: Callable[[], object]) -> None:
        self._transport = transport
        self._lock = lock
        self._mend = mend
        self.waiting = self.midway = False

    def wait(self, timeout_ms: int | None) -> Sequence[tuple[int, int]]:
        """The transport's own, without the lock."""
        self.waiting = True
        with self._lock.away():
            found: Sequence[tuple[int, int]] = self._transport.wait(timeout_ms)
        self.waiting = False
        if self._lock.struck:
            self._mend()
            return ()  # what is ready is so still, unless that has ended its link
        return found

    def resolve(self, host: str, port: int) -> Any:
        """The transport's own, likewise: a resolver that nobody answers takes half a minute."""
        return self.lend(self._transport.resolve, host, port)

    def lend(self, call: Callable[..., Any], *args: Any) -> Any:
        """Make a call that may wait, in the middle of an action, without the lock."""
        self.waiting = self.midway = True
        try:
            with self._lock.away():
                return call(*args)
        finally:
            self.waiting = self.midway = False
            if self._lock.struck:  # its actions follow those that are being carried out
                self._lock.mend()
                self._lock.struck = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class YieldingSource:
    """A source for SASL that is asked without the lock."""

    def __init__(self, source: Any, transport: YieldingTransport) -> None:
        self._source = source
        self._transport = transport
        self.close = source.close

    def ask(self, action: Any, take: Callable[[Any], None], wake: Callable[[], None]) -> None:
        """The source's own."""
        self._transport.lend(self._source.ask, action, take, wake)


class Courier(Dispatch):
    """See the module's text. `lock` is re-entrant."""

    def __init__(
        self, core: Any, transport: Any, tls: Any, sasl: Any, proxy: Any, name: str
    ) -> None:
        super().__init__(core, name)
        core.patient = True
        self.lock = CourierLock(make_lock(transport.name), self._begin_anew, self._ring)
        self._name: str = transport.name
        self._transport = YieldingTransport(transport, self.lock, self._mend)
        if sasl is not None:
            sasl = YieldingSource(sasl, self._transport)
        self._pump = transports.Pump(core, self._transport, tls=tls, sasl=sasl, proxy=proxy)
        self.now_ms = self._pump.now_ms
        # Of everybody who waits: rung at the end, and after each turn that may help.
        self._bells: dict[Any, Callable[[], bool]] = {}
        self._abandoned = False
        self._inside: object = None  # the courier's thread or greenlet
        self._strikes = 0  # in a row
        release_in_child(self)

    def start(self) -> None:
        """Begin: once, when whoever sees to its end is there."""
        run_aside(self._name, "kcore-producer", self._run)

    # The courier's thread --------------------------------------------------------------------

    def _run(self, _stop: object) -> None:
        self._inside = current(self._name)
        why, goes_on = "it was ended", False
        try:
            while not self.stopped:
                try:
                    self._work()
                except Exception:  # noqa: BLE001 - most are raised again there
                    self._judge_strike()
        except BaseException as error:
            goes_on = self._strikable and isinstance(error, (KeyboardInterrupt, SystemExit))
            if not (self._forked or goes_on):
                log.exception("the producer's thread failed")
            why = repr(error)
            if not isinstance(error, Exception):
                raise  # `run_aside` comes again behind Ctrl-C
        finally:
            if not goes_on:
                if not (self.stopped or self._forked):
                    self._fail(f"the producer's thread failed: {why}")
                self.stopped = True
                for bell in [*self._bells]:
                    bell.set()

    @property
    def _strikable(self) -> bool:
        """Whether signal handlers may run in the courier: in any greenlet, in no side thread."""
        return self._name == "gevent"

    def _work(self) -> None:
        """Turns, and the calls that follow from them."""
        while not self.stopped:
            with self.lock:
                if self._abandoned:
                    self._abandoned = False
                    self.core.close(self.now_ms(), MAX_TIMEOUT_MS)
                self._turn()
            self._call()
            self._strikes = 0

    def _judge_strike(self) -> None:
        """Raise what is being handled, if no signal handler can have."""
        self._strikes += 1
        if self._forked or not self._strikable or self._strikes >= STRIKES_MAX:
            raise  # noqa: PLE0704 - what is being handled
        log.exception("the producer was struck by a signal handler that raises, and goes on")

    def _fail(self, why: str) -> None:
        """Nobody delivers any more: whoever waits for a record hears that it has failed."""
        self.stopped = True  # first: nothing is mended any more
        with self.lock:
            self._failed = why
            self.give_up(KafkaError(why))
        self._call()

    def _begin_anew(self) -> None:
        if not self.stopped:
            self.core.handle_interrupted(self.now_ms())

    def _ring(self) -> None:
        with suppress(ForkedError):
            self._pump.wakeup()

    def _mend(self) -> None:
        """In the middle of a step of the pump, which has waited."""
        self.lock.mend()
        self.lock.struck = False
        self._pump.drain()

    def _turn(self, timeout_ms: int | None = None) -> None:
        """Wait for the network and sort what came of it.

        What others have begun since the last one goes together. A verb of theirs may have come to
        its end, which brings an event and nothing that would wake the pump: so there is no wait
        while anything is unread.
        """
        core = self.core
        if core.stirred:
            core.stirred = False
            core.handle_deadline(self._pump.caught_up())
        if not core.unread:
            self._pump.step(timeout_ms)
        with self.lock.still():  # who reads the log may send
            self._collect()

    def _collect(self) -> None:
        """Sort what the core has said, and ring for who waits for that."""
        if self.sort():
            for bell, may_help in [*self._bells.items()]:
                if may_help():
                    bell.set()

    def _end(self) -> None:
        self._closed = self.stopped = True
        self._pump.drain()
        self._pump.close()

    def _call(self) -> None:
        calls = self.calls
        while calls:
            call = calls[0]
            del calls[0]
            try:
                call()
            except KeyboardInterrupt:
                raise  # who raises it asks for the end of all
            except BaseException as error:  # a CancelledError, say: other records go on
                if self._strikable and not isinstance(error, (Exception, SystemExit)):
                    raise  # the end of a greenlet
                log.exception("a callback of a delivered record failed")

    # Others ----------------------------------------------------------------------------------

    @property
    def inside(self) -> bool:
        """Whether the caller is a callback, which the courier runs."""
        return current(self._name) == self._inside

    def nudge(self) -> None:
        """With the lock held: if something was begun, do not wait for the network meanwhile."""
        if self.core.stirred and self._transport.waiting:
            self._transport.waiting = False  # it is on its way: others need not wake it
            self._pump.wakeup()

    def hurry(self, batches: Iterable[Batch]) -> None:
        """Somebody is about to wait for these."""
        with self.lock:
            self.core.hurry(batches, self.now_ms())
            self.nudge()

    def abandon(self) -> None:
        """Nobody will close it: deliver what there is, then end. From any thread, also from within
        the lock, as the garbage collector is.
        """
        self._abandoned = True
        self._pump.wakeup()

    def wait(
        self,
        done: Callable[[], bool],
        timeout_s: float | None,
        attend: Callable[[Any], Callable[[], object]] | None = None,
        may_help: Callable[[], bool] = _always,
    ) -> bool:
        """Wait until `done()`, asked with the lock held; False: the time was over first.

        attend: has a bell rung when `done` may have become true, and gives what undoes that (a wait
        that is repeated leaves nothing behind); without it, `done` is asked after each turn of the
        courier, if `may_help()` says so there: to wake another thread costs more
        than most turns. From a callback, which is inside the courier, its turns go on.
        """
        if timeout_s is not None:
            timeout_s = arguments.seconds(timeout_s)  # as a user has given it, perhaps
        if self.inside:
            return self._wait_inside(done, timeout_s)
        until = None if timeout_s is None else self.now_ms() + timeout_s * 1000
        bell = make_event(self._name)
        leave: Callable[[], object] | None = None
        overslept = False
        try:
            with self.lock:
                if done():
                    return True
                self.check()
                self._bells[bell] = may_help if attend is None else _never
                if attend is not None:
                    leave = attend(bell)
            while True:
                bell.wait(None if until is None else max(0.0, (until - self.now_ms()) / 1000))
                bell.clear()
                with self.lock:
                    if done():
                        return True
                    self.check()
                if until is not None and (over_ms := self.now_ms() - until) >= 0:
                    if over_ms < AWAY_MS or overslept:
                        return False
                    overslept, until = True, self.now_ms() + OVERSLEPT_MS
                    self._pump.wakeup()  # the courier has been away, too: what has arrived counts
        finally:
            with self.lock:
                self._bells.pop(bell, None)
                if leave is not None:
                    leave()

    def _wait_inside(self, done: Callable[[], bool], timeout_s: float | None) -> bool:
        if self._transport.midway:  # it is a provider of tokens that asks
            self.lock.refuse_midway()
        until = None if timeout_s is None else self.now_ms() + timeout_s * 1000
        while True:
            with self.lock:
                if done():
                    return True
                self.check()
                left = None if until is None else int(until - self.now_ms())
                if left is not None and left <= 0:
                    return False
                self._turn(left)
            self._call()

    def forked(self) -> None:
        """In the child of a fork: there is no thread here, and the lock may be held for ever."""
        super().forked()
        self.lock.hold(make_lock(self._name))
