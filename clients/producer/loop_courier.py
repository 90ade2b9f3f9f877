"""Drives a producer's core by turns of an event loop (`turns.py`).

The loop holds the courier, which does not hold the producer: one that is dropped without `stop`
can be collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from kcore.clients.log import Log
from kcore.clients.producer.dispatch import STRIKES_MAX, Dispatch
from kcore.clients.turns import READS_PER_TURN, LoopTurns
from kcore.errors import KafkaError, ProducerClosed
from kcore.locks import WorkLock
from kcore.transports import Pump, Step
from kcore.transports.asyncio_driver import AsyncioTransport
from kcore.transports.background import make_lock
from kcore.transports.forking import release_in_child
from kcore.transports.loops import running

if TYPE_CHECKING:
    from kcore.produce.batch import Batch

log = Log("kcore.producer")


class LoopWork(WorkLock):
    """Around what a task has the core do, which waits for nothing: Ctrl-C may strike there, too,
    and the loop be run again. What comes next has the core begin anew.
    """

    def __init__(self, begin_anew: Callable[[], object], turn_soon: Callable[[], object]) -> None:
        super().__init__(make_lock("asyncio"), KafkaError)
        self._begin_anew = begin_anew
        self._turn_soon = turn_soon

    def mend(self) -> None:
        """Have the core begin anew."""
        self._begin_anew()

    def tell_struck(self) -> None:
        """The next turn is to see to what was begun."""
        self._turn_soon()


class LoopCourier(LoopTurns, Dispatch):
    """See the module's text. told_of: the batch whose failure was left to a future to tell, while
    its futures are told: its error would keep whoever raised it.
    """

    def __init__(
        self,
        core: Any,
        transport: AsyncioTransport,
        tls: Any,
        sasl: Any,
        proxy: Any,
        name: str,
    ) -> None:
        pump = Pump(
            core,
            transport,
            tls=tls,
            sasl=sasl,
            proxy=proxy,
            reads_per_step=READS_PER_TURN,
        )
        LoopTurns.__init__(self, pump, transport)
        Dispatch.__init__(self, core, name)
        core.patient = True
        self.work = LoopWork(self._begin_anew, self.turn_soon)
        self._struck = False  # a turn was broken off in the middle
        self._strikes = 0  # turns in a row that were
        self.told_of: object = None
        release_in_child(self)

    def _tell(self, batch: Any) -> None:
        super()._tell(batch)
        self.told_of = self.last = None  # their errors would keep who raised them

    def nudge(self) -> None:
        """If something was begun, make a turn when what runs now has let go of the loop: what it
        appends until then goes together.
        """
        if self.core.stirred:
            self.turn_soon()

    def hurry(self, batches: Iterable[Batch]) -> None:
        """Somebody is about to wait for these; in the loop, or it is nothing to us."""
        if running() is not self.loop:
            return
        with self.work:
            self.core.hurry(batches, self.now_ms())
        self.nudge()

    # Turns --------------------------------------------------------------------------------------

    def _step(self) -> bool:
        core = self.core
        try:
            if self._struck or self.work.struck:
                self._begin_anew()
                self._struck = self.work.struck = False
            fed = False
            if core.stirred:
                core.stirred = False
                fed = self._pump.away
                core.handle_deadline(self._pump.caught_up())
            fed |= self._pump.step(0) is not Step.IDLE
            fed |= self.sort()
            self._make_calls()
        except BaseException as error:
            self._struck = True
            self._strikes += 1
            self.turn_soon()  # which begins anew what this one was in the middle of
            if not isinstance(error, Exception):
                raise
            return self._judge_strike(error)
        self._strikes = 0
        return fed

    def _begin_anew(self) -> None:
        if not self.stopped:
            self.core.handle_interrupted(self.now_ms())

    def _judge_strike(self, error: Exception) -> bool:
        """A signal handler has raised, and the next turn goes on; or turns
        fail by themselves. Whether that is the end.
        """
        if self._strikes < STRIKES_MAX:
            log.exception("the producer was struck by what raises in a turn, and goes on")
            return False
        log.exception("a turn of the event loop failed")
        self._fail(f"a turn of the event loop failed: {error!r}")
        return True

    def orphan(self) -> None:
        """See LoopTurns: what was not delivered has failed."""
        if not self.closed:
            self._fail("the event loop that the producer was started on has ended")
            self.orphaned = True

    def _fail(self, why: str) -> None:
        """Nobody delivers any more."""
        self._failed = why
        self.stopped = True
        self._abandon_records(KafkaError(why))  # before the sockets: who waits is told why
        super().close()

    def _abandon_records(self, error: KafkaError) -> None:
        loop = self.loop
        if loop is not None and not loop.is_closed():  # else nobody can wait
            self.give_up(error)
            self.told_of = self.last = None
            self._make_calls()

    # The end ------------------------------------------------------------------------------------

    def _end(self) -> None:
        self._closed = self.stopped = True
        self._pump.drain()
        super().close()

    def close(self) -> None:
        """Close all sockets and let go of the loop; whatever is not over has failed."""
        if not self._closed:
            self._closed = self.stopped = True
            if not self._failed:
                why = "the producer was closed before the records were delivered"
                self._abandon_records(ProducerClosed(why))
        super().close()

    def forked(self) -> None:
        """In the child of a fork: the loop is the parent's."""
        super().forked()
        self.closed = True

    def _make_calls(self) -> None:
        while self.calls:
            self.calls.popleft()()
