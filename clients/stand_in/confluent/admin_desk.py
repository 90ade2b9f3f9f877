"""Who asks on behalf of an AdminClient: an AsyncAdmin, in a thread with an event loop of its own.

So calls return at once, any number of them go side by side, and each ends when its time is over,
whatever the others wait for. Whoever made the client may drop it: nothing in here holds it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

from kcore.admin.core import CLOSED, Procedure
from kcore.clients.admin.async_admin import AsyncAdmin
from kcore.clients.reporting import Reporter
from kcore.connection.measures import LinkMeasures
from kcore.errors import (
    ForkedError,
    IllegalStateError,
    KafkaTimeoutError,
    NoBrokersAvailable,
)
from kcore.events import Event

Listen = Callable[[Event, int], None]
Watch = Callable[[LinkMeasures], None]
Done = Callable[[Any, "BaseException | None"], None]

# What closing grants calls that are under way to tell that it came to nothing.
_CLOSE_S = 5.0


class _Listener(Reporter):
    """Tells somebody of every event, who then says what there is to say."""

    def __init__(self, name: str, listen: Listen) -> None:
        super().__init__(name)
        self._listen = listen

    def report(self, event: Event, now_ms: int) -> None:
        """See Reporter."""
        self._listen(event, now_ms)


class _Asker(AsyncAdmin):
    """Asks nobody anything before it is asked something. calls: under way."""

    def __init__(
        self, options: Mapping[str, Any], listen: Listen | None, watch: Watch | None
    ) -> None:
        super().__init__(**options)
        self._bound = asyncio.Lock()
        self._retired = False
        self.calls = 0
        if listen is not None:
            self._engine.reporter = _Listener(self._settings.client_id, listen)
        if watch is not None:
            watch(self._engine.core._links.measures)  # noqa: SLF001 - who measures them anyway

    async def _begin(self) -> None:
        await self._bind()

    async def ask(self, procedure: Procedure[Any], timeout_ms: float) -> Any:
        """How it ended; its error is raised."""
        self.calls += 1
        try:
            async with self._bound:
                if not self._guard.place.started:
                    await self.start()
            return await self._run(procedure, timeout_ms)
        finally:
            self.calls -= 1
            if self._retired and not self.calls:
                await self.close()

    async def ask_anybody(self, procedure: Procedure[Any], timeout_ms: float) -> Any:
        """As `ask`; where no broker is connected in time, the error is NoBrokersAvailable."""
        try:
            return await self.ask(procedure, timeout_ms)
        except KafkaTimeoutError as error:
            if self._engine.core.connected:
                raise
            raise NoBrokersAvailable(str(error)) from error

    def address(self, node: int) -> str:
        """Of a node by the number that metrics have."""
        return str(self._engine.core.address(node))

    async def retire(self) -> None:
        """End with the last call; others ask somebody else."""
        self._retired = True
        if not self.calls:
            await self.close()


class Desk:
    """See the module's text. options: an AsyncAdmin's; listen(event, now_ms): called in the thread,
    in the place of the log's reporter; watch(measures): what is measured of the links. servers: its
    bootstrap_servers, a list. closed: nobody is asked any more.

    KafkaConfigurationError: options.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        listen: Listen | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._options = dict(options)
        self.servers: list[str] = options["bootstrap_servers"]
        self._listen, self._watch = listen, watch
        self._asker = _Asker(self._options, listen, watch)
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._hands: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self.closed = False

    def __len__(self) -> int:
        return self._asker.calls

    def metrics(self) -> Mapping[str, Any]:
        """What is measured: numbers by name, by group. From any thread."""
        return self._asker.metrics()

    def address(self, node: int) -> str:
        """Of a node by the number that metrics have. From any thread."""
        return self._asker.address(node)

    def ask(self, procedure: Procedure[Any], timeout_s: float, done: Done) -> None:
        """Have it asked; `done(result, error)` is called in a thread where it may take its time.

        ForkedError: the thread is the parent's. IllegalStateError: closed.
        """
        answer = self._asked(procedure, timeout_s)
        assert self._hands is not None
        answer.add_done_callback(partial(_hand_over, self._hands, done))

    def answer(self, procedure: Procedure[Any], timeout_s: float) -> Any:
        """Ask, and wait for the answer; its error is raised: NoBrokersAvailable where none could be
        asked in time. Errors: those of `ask`, too.
        """
        return self._asked(procedure, timeout_s, anybody=True).result()

    def _asked(
        self, procedure: Procedure[Any], timeout_s: float, *, anybody: bool = False
    ) -> Future[Any]:
        if self._process != os.getpid():
            raise ForkedError("this client was made before a fork: make another one in the child")
        with self._lock:
            if self.closed:
                raise IllegalStateError(CLOSED)
            asker = self._asker
            ask = asker.ask_anybody if anybody else asker.ask
            asking = ask(procedure, timeout_s * 1000)
            return asyncio.run_coroutine_threadsafe(asking, self._begun())

    def use_password(self, username: str, password: str) -> None:
        """Log in with these from the next call on, if it is by a password; calls that are under
        way go on.
        """
        if "sasl_plain_username" not in self._options:
            return
        self._options |= {"sasl_plain_username": username, "sasl_plain_password": password}
        asker = _Asker(self._options, self._listen, self._watch)
        with self._lock:
            last, self._asker = self._asker, asker
            if self._loop is not None:
                asyncio.run_coroutine_threadsafe(last.retire(), self._loop)

    def _begun(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._hands = ThreadPoolExecutor(1, "kcore-admin-answers")
            run = partial(_run, self._loop)
            self._thread = threading.Thread(target=run, name="kcore-admin", daemon=True)
            self._thread.start()
        return self._loop

    def close(self) -> None:
        """End all calls, connections and the threads. Twice is harmless."""
        with self._lock:
            loop, thread, closed, self.closed = self._loop, self._thread, self.closed, True
        if closed or loop is None or thread is None or self._process != os.getpid():
            return
        ending = asyncio.run_coroutine_threadsafe(self._end(), loop)
        if threading.current_thread() is not thread:
            with suppress(TimeoutError):
                ending.result(_CLOSE_S)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_CLOSE_S)
        else:
            ending.add_done_callback(lambda _ending: loop.stop())
        if self._hands is not None:
            self._hands.shutdown(wait=False)

    def let_go(self) -> None:
        """The same for who collects garbage, which may be anybody, in the middle of anything: it
        takes no lock, and waits for nothing.
        """
        if self._loop is not None and self._process == os.getpid():
            with suppress(RuntimeError):  # it is over
                self._loop.call_soon_threadsafe(self.close)

    async def _end(self) -> None:
        await self._asker.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=_CLOSE_S)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


def _hand_over(hands: ThreadPoolExecutor, done: Done, answer: Future[Any]) -> None:
    error = answer.exception()
    call = partial(done, None if error else answer.result(), error)
    try:
        hands.submit(call)
    except RuntimeError:  # the interpreter is on its way out
        call()
