"""Peers: a client core each, driven as drivers do it: bytes and time in, actions and events out.

A process may have several, as one that consumes and produces (`exact/movers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcore.actions import Connect, Disconnect, Send
from kcore.timers import NEVER

if TYPE_CHECKING:
    from kcore.cluster.client import ClientCore
    from kcore.events import Event
    from kcore.sim.clock import Clock
    from kcore.sim.stage import Stage


class Peer:
    """One side of connections. Whoever inherits makes `core` and follows its events."""

    core: ClientCore

    def __init__(self, stage: Stage, name: str, clock: Clock) -> None:
        self.stage = stage
        self.name = name
        self.clock = clock
        self.owner: object = self
        self.ended = False
        self.paused = False  # its process stands still
        self.deaf = False  # it has, so that it may not have read what has arrived
        self._backlog: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self._wake_ms = NEVER

    def follow(self, event: Event) -> None:
        """The core has news."""
        raise NotImplementedError

    @property
    def local_ms(self) -> int:
        """What its own clock says."""
        return self.clock.read(self.stage.now())

    # The network ---------------------------------------------------------------------------------

    def wire_opened(self, link: int) -> None:
        """See ClientSide."""
        self._input(self.core.handle_connected, link)

    def wire_data(self, link: int, data: bytes) -> None:
        """See ClientSide."""
        self._input(self._receive, link, data)

    def wire_closed(self, link: int, why: str) -> None:
        """See ClientSide."""
        self._input(self.core.handle_closed, link, why)

    def _receive(self, link: int, data: bytes, now_ms: int) -> None:
        """Into the room that the core lends, as drivers do; each fill is an input of its own."""
        rest = memoryview(data)
        while rest:
            try:
                room = self.core.receive_buffer(link)
            except LookupError:
                return
            size = min(len(room), len(rest))
            room[:size] = rest[:size]
            rest = rest[size:]
            self.core.receive_advance(link, size, now_ms)
            self._drain_actions()

    def _input(self, verb: Callable[..., None], *arguments: Any) -> None:
        if self.paused:
            self._backlog.append((verb, arguments))
        elif not self.ended:
            verb(*arguments, self.local_ms)
            self.drain()

    # Turns ---------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Do what the core wants done, take its news, and come back when it wants."""
        self._drain_actions()
        core = self.core
        event = core.next_event()
        while event is not None:
            self.follow(event)
            event = core.next_event()
        if not self.ended:
            at_ms = self.clock.when(core.deadline())
            if at_ms < self._wake_ms:
                self._wake_ms = max(at_ms, self.stage.now())
                self.stage.at(self._wake_ms, self._wake, self._wake_ms)

    def _drain_actions(self) -> None:
        network = self.stage.network
        action = self.core.next_action()
        while action is not None:
            if isinstance(action, Send):
                network.client_sends(self, action.link, action.data)
            elif isinstance(action, Connect):
                network.connect(self, action.link, self.stage.find(action))
            elif isinstance(action, Disconnect):
                network.client_closes(self, action.link)
            action = self.core.next_action()

    def _wake(self, at_ms: int) -> None:
        if self.ended or self.paused or self._wake_ms != at_ms:
            return
        self._wake_ms = NEVER
        now_ms = self.local_ms
        if self.core.deadline() <= now_ms:
            self.core.handle_deadline(now_ms)
        self.drain()

    def catch_up(self) -> None:
        """It goes on with what has come while it stood still, data before deadlines."""
        backlog, self._backlog = self._backlog, []
        for verb, arguments in backlog:
            self._input(verb, *arguments)
        if not self.ended:
            self._wake_ms = NEVER
            self.drain()
