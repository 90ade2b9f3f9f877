"""Processes: a client core each, and the application around it, which has its turns, stands still,
is slow, or dies.

What applications do with their cores is the members' (`members.py`, `share/members.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kcore.actions import Connect, Disconnect, Send
from kcore.sim.trace import What
from kcore.timers import NEVER

if TYPE_CHECKING:
    from kcore.cluster.client import ClientCore
    from kcore.errors import KafkaError
    from kcore.events import Event
    from kcore.sim.chance import Chance
    from kcore.sim.habits import Habits
    from kcore.sim.stage import Stage

CLOSE_MS: Final = 5_000

# How soon an application that is stuck looks whether it still is.
_LOOK_AGAIN_MS: Final = 500

# How an application polls that has nothing else to do.
_QUICK_POLL_MS: Final = 250
_MANY_RECORDS: Final = 500


class Process:
    """A process that is a member of a group. Whoever inherits makes `core`, then calls `begin`."""

    core: ClientCore

    def __init__(self, stage: Stage, habits: Habits, chance: Chance, process: int) -> None:
        self.stage = stage
        self.process = process  # of those of the run: two may have one name for a while
        self.habits = habits
        self.name = habits.name
        self.group_id = habits.group_id
        self.identity = habits.instance_id or habits.name
        self.topics = habits.topics
        self.chance = chance
        self.ended = False
        self.closing = False
        self.paused = False  # its process stands still
        self.slow_until_ms = 0  # it works on something until then
        self.poll_every_ms = habits.poll_every_ms
        self.max_records = habits.max_records
        self.errors = 0
        self._backlog: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self._wake_ms = NEVER

    def begin(self) -> None:
        """The process is there."""
        stage, habits = self.stage, self.habits
        stage.judge.member_started(self)
        self.say(What.MEMBER_STARTED, group=self.group_id, instance=habits.instance_id)
        self.subscribe(habits.topics)
        stage.at(stage.now() + self.chance.between(0, habits.poll_every_ms), self._turn)

    # What the application does -------------------------------------------------------------------

    @property
    def member_id(self) -> str:
        """What its group calls it; empty before it is told."""
        raise NotImplementedError

    @property
    def stuck(self) -> bool:
        """Whether its listener is still busy with a step of a rebalance: it does not poll."""
        return False

    def poll(self) -> None:
        """A turn of its loop."""
        raise NotImplementedError

    def follow(self, event: Event) -> None:
        """The core has news."""
        raise NotImplementedError

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Read these topics from now on."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave in peace."""
        raise NotImplementedError

    def rejoin(self) -> None:
        """Ask for a rebalance, where there are any."""

    def pause_partitions(self, chance: Chance) -> None:
        """Take nothing from some of its partitions for now, where that can be."""

    def resume_partitions(self) -> None:
        """Take from all of them again."""

    def complain(self, error: KafkaError) -> None:
        """The application is told of an error, and goes on."""
        self.errors += 1
        self.stage.judge.complained(self)
        self.say(What.ERROR, error=f"{type(error).__name__}: {error}")

    def say(self, what: What, **detail: Any) -> None:
        """Into the trace."""
        self.stage.trace.event(what, self.name, process=self.process, **detail)

    @property
    def local_ms(self) -> int:
        """What its own clock says."""
        return self.habits.clock.read(self.stage.now())

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
            at_ms = self.habits.clock.when(core.deadline())
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

    def _turn(self) -> None:
        """The application's loop comes round."""
        if self.ended or self.closing:
            return
        now_ms = self.stage.now()
        if self.paused or now_ms < self.slow_until_ms:
            self.stage.at(now_ms + _LOOK_AGAIN_MS, self._turn)
            return
        if not self.stuck:
            self.poll()
        every_ms = self.poll_every_ms
        self.stage.at(now_ms + self.chance.between(every_ms // 2, every_ms * 3 // 2), self._turn)

    # What happens to it --------------------------------------------------------------------------

    def hurry(self) -> None:
        """Get through what there is: nothing is slow any more."""
        self.slow_until_ms = 0
        self.poll_every_ms, self.max_records = _QUICK_POLL_MS, _MANY_RECORDS

    def pause_process(self) -> None:
        """Stand still."""
        self.paused = True
        self.say(What.MEMBER_PAUSED)

    def resume_process(self) -> None:
        """Go on with what has come meanwhile, data before deadlines; the application may have its
        turn before both.
        """
        if self.ended or not self.paused:
            return
        self.paused = False
        self.say(What.MEMBER_RESUMED)
        if self.chance.happens(0.5) and not self.stuck and not self.closing:
            self.poll()
        backlog, self._backlog = self._backlog, []
        for verb, arguments in backlog:
            self._input(verb, *arguments)
        if not self.ended:
            self._wake_ms = NEVER
            self.drain()

    def crash(self, *, told: bool) -> None:
        """Be gone without a word; told: the machine is there and resets its connections."""
        self.end("crashed", told=told)

    def end(self, how: str, *, told: bool = True) -> None:
        """Its process is over."""
        if not self.ended:
            self.ended = True
            self.stage.network.vanish(self, told=told)
            self.say(What.MEMBER_ENDED, how=how)
            self.stage.judge.member_ended(self, left=how == "left")
