"""The bridge to rebalance listeners whose methods may be coroutines.

One task at a time tells the listener, step by step, beside whatever else goes on: a `getone` that
is cancelled does not break off a listener in the middle of its work. The core waits with each step
until it is acknowledged; partitions that are about to go are not handed over meanwhile.
"""

from __future__ import annotations

from collections import deque
from inspect import isawaitable
from typing import Any
from weakref import WeakMethod

from kcore.clients.consumer.rebalance import call_listener, check_listener
from kcore.clients.engine import Engine, Rebalance, call
from kcore.clients.looping import LoopDriver
from kcore.errors import KafkaError
from kcore.transports.loops import Cancellable, running


class AsyncBridge:
    """Tells the listener what the engine has queued, in a task of its own."""

    def __init__(self, engine: Engine, driver: LoopDriver) -> None:
        self._engine = engine
        self._driver = driver
        self._listener: Any = None
        # Each step with the listener that it is for: another one may be set before it is told.
        self._steps: deque[tuple[Any, Rebalance]] = deque()
        self._task: Cancellable | None = None
        telling = WeakMethod(self._telling)  # weak: a listener may know the consumer
        engine.telling = lambda: bool(call(telling))

    @staticmethod
    def check(listener: Any) -> None:
        """TypeError: it cannot be one."""
        check_listener(listener, coroutines=True)

    @property
    def listener(self) -> Any:
        """The user's listener, None if there is none."""
        return self._listener

    @listener.setter
    def listener(self, listener: Any) -> None:
        self._listener = listener
        self._engine.has_listener = listener is not None

    @property
    def busy(self) -> bool:
        """Whether the listener is being told, or is to be."""
        return self._task is not None or bool(self._engine.rebalances)

    def _telling(self) -> bool:
        return self.busy or bool(self._steps)

    @property
    def inside(self) -> bool:
        """Whether it is the listener who asks."""
        return self._task is not None and self._driver.ways.is_current(self._task)

    def serve(self) -> None:
        """See to it that the listener is told of every step queued."""
        rebalances = self._engine.rebalances
        while rebalances:
            self._steps.append((self._listener, rebalances[0]))
            rebalances.popleft()  # behind it: see Engine.telling
        driver = self._driver
        if self._steps and self._task is None and driver.loop is not None:
            self._task = driver.ways.spawn(self._tell)

    def retire(self) -> None:
        """Have no listener; the one that was is told of what is queued for it."""
        self.serve()
        self.listener = None

    def abandon(self) -> None:
        """Nobody is told of anything any more; a listener that is at work is broken off."""
        self.listener = None
        self._engine.rebalances.clear()
        self._steps.clear()
        if self._task is not None and running() is self._driver.loop and not self.inside:
            self._task.cancel()

    async def _tell(self) -> None:
        try:
            while self._steps:
                listener, event = self._steps.popleft()
                try:
                    outcome = None if listener is None else call_listener(listener, event)
                    if isawaitable(outcome):
                        await outcome
                except Exception as error:  # noqa: BLE001 - raised by the next read
                    wrapped = KafkaError("the rebalance listener raised an error")
                    wrapped.__cause__ = error
                    self._engine.keep(wrapped)
                finally:
                    self.serve()
                    if not self._steps:  # else overtaken: see `Bridge.serve`
                        self.acknowledge()
        finally:
            self._task = None
            self._driver.wake()

    def acknowledge(self) -> None:
        """The group goes on."""
        engine = self._engine
        if engine.guard.usable:  # the listener may have closed the consumer
            engine.core.acknowledge_rebalance(engine.pump.now_ms())
            engine.pump.drain()
            engine.collect()
            self.serve()
