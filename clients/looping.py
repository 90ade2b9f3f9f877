"""What stands in for a consumer's thread that waits: turns of an event loop (`turns.py`).

The loop holds the driver and the engine, and neither holds the consumer: one that is dropped
without `stop` can be collected.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kcore.clients.engine import Engine
from kcore.clients.guard import Guard
from kcore.clients.iteration import next_size
from kcore.clients.opening import open_loop_sasl, open_proxy, open_tls, socket_options, tie
from kcore.clients.turns import READS_PER_TURN, TURN_MS, LoopTurns, Place
from kcore.errors import KafkaError
from kcore.settings.addresses import CANONICAL_NAMES
from kcore.transports import Pump, Step, monotonic_ms
from kcore.transports.asyncio_driver import AsyncioTransport
from kcore.transports.loops import here

if TYPE_CHECKING:
    from kcore.settings.client import ClientConfig

# Records one by one, from one look at everything else to the next: as many as take a moment.
BURST_MAX = 250
BURST_QUICK_MS = 1


class LoopGuard(Guard):
    """Lets in whoever runs in the consumer's loop, or in its thread while the loop does not run.

    Nothing is locked: a call is over before the loop goes on. Whoever comes behind one that was
    struck (see Guard) has the core begin anew first.
    """

    def __init__(self, what: str = "consumer") -> None:
        super().__init__(threading.RLock())
        self.place = Place(what)
        self.bind = self.place.bind
        self.check_place = self.place.check

    def enter(self) -> None:
        """Begin a call. ConsumerStoppedError, ForkedError; ConcurrentUseError: not in its loop."""
        if self.barred:
            self.refuse()
        self.check_place()
        if self.struck:
            self.mend()

    __enter__ = enter

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        """End the call."""
        if error is not None and not isinstance(error, KafkaError):
            self.struck = True


class EngineTurns(LoopTurns):
    """An engine's driver. engine: set by whoever makes one of this."""

    engine: Engine

    def step(self, timeout_ms: int | None = None) -> Step:  # noqa: ARG002 - waiting is the loop's
        """One step of the pump, without a wait."""
        return self._pump.step(0)

    def drain(self) -> None:
        """`obey`, behind a verb: it may have made room for whoever waits."""
        self.obey()
        self.wake()

    def wakeup(self) -> None:
        """Nobody waits inside the pump."""

    def _step(self) -> bool:
        engine, fed = self.engine, True
        try:
            try:
                fed = engine.step(0) is not Step.IDLE
            except BaseException as error:
                # A signal handler may strike here, in the middle of anything.
                engine.guard.struck |= not isinstance(error, KafkaError)
                self.turn_soon()
                raise
            engine.run_callbacks()
        except Exception as error:  # noqa: BLE001 - the next call raises it
            engine.keep_failure(error, "a turn of the event loop")
        return fed


D = TypeVar("D", bound=LoopTurns)


def open_driver(
    core: Any, settings: ClientConfig, kind: Callable[[Pump, AsyncioTransport], D]
) -> D:
    """What drives a core from an event loop, with TLS and SASL by the options.
    KafkaConfigurationError.
    """
    transport, sasl = AsyncioTransport(socket_options(settings)), open_loop_sasl(settings)
    pump = Pump(
        core,
        transport,
        tls=open_tls(settings),
        sasl=sasl,
        proxy=open_proxy(settings),
        reads_per_step=READS_PER_TURN,
    )
    driver = kind(pump, transport)
    tie(sasl, driver)
    return driver


async def begin_at_names(core: Any, settings: ClientConfig) -> None:
    """As `opening.begin_at_names`, in a thread of the loop's executor: before the core's first
    turn.
    """
    if settings.client_dns_lookup == CANONICAL_NAMES:
        from kcore.transports.canonical import canonical_servers  # noqa: PLC0415 - few need it

        find = partial(canonical_servers, settings.bootstrap_servers)
        servers = await here().run_in_executor(None, find)
        core.use_bootstrap(servers, monotonic_ms())


class LoopLife:
    """What clients of an event loop have in common: `async with`, forks, and the end of one that
    nobody has closed. The attributes are the client's.
    """

    _driver: EngineTurns
    _guard: LoopGuard
    _closed_word = "stopped"

    async def start(self) -> None:
        """Connect."""
        raise NotImplementedError

    async def _give_up(self) -> None:
        """It did not start: close it."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        was_started = self._guard.place.started
        try:
            await self.start()
        except BaseException:
            if not was_started:  # else it is somebody else's
                await self._give_up()
            raise
        return self

    def __del__(self) -> None:
        driver = getattr(self, "_driver", None)
        if driver is None or not driver.left:
            return
        told = driver.loop is not None and self._guard.usable
        driver.abandon()
        if told:  # behind it: with -W error this raises
            why = f"{self!r} was never {self._closed_word}"
            warnings.warn(why, ResourceWarning, stacklevel=2, source=self)

    def forked(self) -> None:
        """In the child of a fork (called by itself): every later call raises ForkedError."""
        self._guard.forked()


class LoopDriver(EngineTurns):
    """That of a consumer's."""

    def __init__(self, pump: Pump, transport: AsyncioTransport) -> None:
        super().__init__(pump, transport)
        self._burst = 1
        self._granted_at = 0
        self._find_attendant: Callable[[], Callable[[], None] | None] = lambda: None

    def attended_by(self, find: Callable[[], Callable[[], None] | None]) -> None:
        """find(): what to call behind each turn that brought anything, if it is still there."""
        self._find_attendant = find

    # Turns --------------------------------------------------------------------------------------

    def obey(self) -> None:
        """See LoopTurns."""
        self.stay()
        super().obey()

    def close(self) -> None:
        """See LoopTurns."""
        self.stay()
        super().close()

    def _step(self) -> bool:
        self.stay()
        return super()._step()

    def _attend(self) -> None:
        attend = self._find_attendant()
        if attend is not None:
            attend()

    def _turned(self) -> None:
        super()._turned()
        self.stay()

    # Records one by one -------------------------------------------------------------------------

    def grant(self) -> int:
        """Let the next few records be handed over one by one without a look at anything else, in
        this turn of the loop; how many records that makes, with the one in hand.
        """
        now = self.now_ms()
        took_ms, self._granted_at = now - self._granted_at, now
        self._burst = next_size(self._burst, took_ms, BURST_MAX, BURST_QUICK_MS, TURN_MS)
        self.engine.core.inside.burst = self._burst - 1
        return self._burst

    def stay(self) -> None:
        """Take that back: the next read looks at everything."""
        self.engine.core.inside.burst = 0
