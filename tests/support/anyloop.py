"""What tests use of asyncio, on asyncio's loop, on uvloop's or on trio: a module that writes
`anyloop.sleep` where it would say `asyncio.sleep`, and is marked `EACH_LOOP`, runs under all.

A test that is about asyncio itself (loops that stand still, say) is marked `ASYNCIO`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import logging
from functools import partial
from pathlib import Path

import pytest
import trio
import uvloop

from kcore.transports.loops import here


class TaskCancelledError(Exception):
    """Whoever awaits a task of trio's that was cancelled gets this."""


CancelledError = asyncio.CancelledError, TaskCancelledError
EACH_LOOP = pytest.mark.usefixtures("on_each_loop")
ASYNCIO = pytest.mark.parametrize("each_loop", ["asyncio", "uvloop"], indirect=True)
TRIO = pytest.mark.parametrize("each_loop", ["trio"], indirect=True)

_loop = "asyncio"
_own = 0  # what the loop watches for itself
_nursery: trio.Nursery | None = None


@contextlib.contextmanager
def on(loop):
    """Everything here is this loop's."""
    global _loop  # noqa: PLW0603 - one test at a time
    if loop == "uvloop":
        uvloop.new_event_loop().close()  # the first one opens what the process keeps
    _loop = loop
    yield
    _loop = "asyncio"


class _Task:
    """`asyncio.Task` by a task of the test's nursery."""

    def __init__(self, work):
        self._work = work
        self._scope = trio.CancelScope()
        self._over = trio.Event()
        self._result = self._error = None
        self._gone = False
        _nursery.start_soon(self._run)

    async def _run(self):
        with self._scope:
            try:
                self._result = await self._work
            except Exception as error:  # noqa: BLE001 - for who awaits it
                self._error = error
            except trio.Cancelled:
                self._gone = True
                raise
            finally:
                self._over.set()

    def cancel(self):
        self._scope.cancel()

    def cancelled(self):
        return self._gone

    def done(self):
        return self._over.is_set()

    def exception(self):
        return self._error

    def result(self):
        assert self.done()
        if self._gone:
            raise TaskCancelledError
        if self._error is not None:
            raise self._error
        return self._result

    async def _wait(self):
        await self._over.wait()
        return self.result()

    def __await__(self):
        return self._wait().__await__()


def new_event_loop():
    """One of asyncio's kind."""
    return uvloop.new_event_loop() if _loop == "uvloop" else asyncio.new_event_loop()


async def _counted(main):
    global _own  # noqa: PLW0603 - one loop at a time
    for _ in range(2):
        await asyncio.sleep(0)  # uvloop's is there behind its first turn
    _own = _in_epoll(asyncio.get_running_loop())
    return await main


def _in_epoll(loop):
    epoll = loop._get_backend_id() if _loop == "uvloop" else loop._selector.fileno()
    lines = Path(f"/proc/self/fdinfo/{epoll}").read_text().splitlines()
    return sum(line.startswith("tfd:") for line in lines)


def run(main):
    """Run a coroutine in a loop of its own, as `asyncio.run` does."""
    if _loop != "trio":
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            return runner.run(_counted(main))

    async def with_tasks():
        global _nursery  # noqa: PLW0603 - one loop at a time
        before, result, failure = _nursery, None, None
        async with trio.open_nursery() as _nursery:
            try:
                result = await main
            except Exception as error:  # noqa: BLE001 - raised below, not in a group
                failure = error
            _nursery.cancel_scope.cancel()
        _nursery = before
        try:
            if failure is not None:
                raise failure
            return result
        finally:
            del failure

    return trio.run(with_tasks)


def get_running_loop():
    """Asyncio's, or what stands in for one."""
    return here()


def watched():
    """How many sockets the loop watches, but its own."""
    loop = here()
    return len(loop._watches) if _loop == "trio" else _in_epoll(loop) - _own


@contextlib.contextmanager
def unseen_failures():
    """Those of futures that nobody has looked at, as the loop says them."""
    said = []
    if _loop != "trio":
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: said.append(context["exception"]))
        yield said
        gc.collect()
        return
    log, handler = logging.getLogger("kcore.transports"), logging.Handler()
    handler.emit = lambda record: said.append(record.exc_info[1])
    log.addHandler(handler)
    try:
        yield said
        gc.collect()
    finally:
        log.removeHandler(handler)


def Event():  # noqa: N802 - theirs
    return asyncio.Event() if _loop != "trio" else trio.Event()


def create_task(work):
    return asyncio.create_task(work) if _loop != "trio" else _Task(work)


def time():
    return asyncio.get_running_loop().time() if _loop != "trio" else trio.current_time()


async def sleep(seconds):
    if _loop != "trio":
        await asyncio.sleep(seconds)
        return
    await trio.sleep(seconds)
    if not seconds:  # a turn is shuffled: behind a second one, everybody has had one
        await trio.lowlevel.checkpoint()


async def turn():
    """One turn of the loop."""
    await (asyncio.sleep(0) if _loop != "trio" else trio.lowlevel.checkpoint())


async def to_thread(call, *args, **more):
    if _loop != "trio":
        return await asyncio.to_thread(call, *args, **more)
    return await trio.to_thread.run_sync(partial(call, *args, **more))


class _Expired:
    def __init__(self, scope):
        self.expired = lambda: scope.cancelled_caught


@contextlib.asynccontextmanager
async def timeout(seconds):
    """As `asyncio.timeout`."""
    if _loop != "trio":
        async with asyncio.timeout(seconds) as limit:
            yield limit
        return
    with trio.move_on_after(seconds) as scope:
        yield _Expired(scope)
    if scope.cancelled_caught:
        raise TimeoutError


async def wait_for(awaitable, seconds):
    """As `asyncio.wait_for`."""
    if _loop != "trio":
        return await asyncio.wait_for(awaitable, seconds)
    async with timeout(seconds):
        return await awaitable


def _begun(awaitables):
    return [create_task(work) if inspect.iscoroutine(work) else work for work in awaitables]


async def wait(awaitables):
    """Until all are over, whatever became of them."""
    if _loop != "trio":
        await asyncio.wait(awaitables)
        return
    for work in _begun(awaitables):
        with contextlib.suppress(Exception):
            await work


async def gather(*awaitables, return_exceptions=False):
    """As `asyncio.gather`."""
    if _loop != "trio":
        return await asyncio.gather(*awaitables, return_exceptions=return_exceptions)
    found = []
    for work in _begun(awaitables):
        try:
            found.append(await work)
        except Exception as error:
            if not return_exceptions:
                raise
            found.append(error)
    return found
