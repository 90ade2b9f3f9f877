"""Processes: a client core each, and the application around it, which has its turns, stands still,
is slow, or dies.

What applications do with their cores is the members' (`members.py`, `share/members.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kcore.sim.peers import Peer
from kcore.sim.trace import What
from kcore.structs import GroupMembershipOperation

if TYPE_CHECKING:
    from kcore.errors import KafkaError
    from kcore.sim.chance import Chance
    from kcore.sim.habits import Habits
    from kcore.sim.stage import Stage

CLOSE_MS: Final = 5_000

# How soon an application that is stuck looks whether it still is.
_LOOK_AGAIN_MS: Final = 500

# How an application polls that has nothing else to do.
_QUICK_POLL_MS: Final = 250
_MANY_RECORDS: Final = 500


class Process(Peer):
    """A process that is a member of a group. Whoever inherits makes `core`, then calls `begin`."""

    def __init__(self, stage: Stage, habits: Habits, chance: Chance, process: int) -> None:
        super().__init__(stage, habits.name, habits.clock)
        self.process = process  # of those of the run: two may have one name for a while
        self.habits = habits
        self.group_id = habits.group_id
        self.identity = habits.instance_id or habits.name
        self.topics = habits.topics
        self.chance = chance
        self.closing = False
        self.operation = GroupMembershipOperation.DEFAULT  # of its close
        self.slow_until_ms = 0  # it works on something until then
        self.poll_every_ms = habits.poll_every_ms
        self.max_records = habits.max_records
        self.errors = 0

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
        """What its group calls it; empty before it is told, or where it has none."""
        return ""

    @property
    def stuck(self) -> bool:
        """Whether its listener is still busy with a step of a rebalance: it does not poll."""
        return False

    def poll(self) -> None:
        """A turn of its loop."""
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

    # Turns ---------------------------------------------------------------------------------------

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
        self.paused = self.deaf = True
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
        self.catch_up()

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
