"""What somebody holds who drives a consumer in its user's place (`workers.py`): a poll of which no
record gets lost when Ctrl-C strikes, waits during which the member lives on, positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from kcore.clients.consumer.rebalance import Attendant, Bridge
from kcore.clients.engine import CommitCallback, Engine
from kcore.errors import IllegalStateError, KafkaError, KafkaTimeoutError
from kcore.hints import TYPE_CHECKING, Any, Protocol
from kcore.structs import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from kcore.consumer.config import ConsumerConfig

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class Poll(Protocol):
    """`Consumer._poll`."""

    def __call__(
        self, wait_ms: float, take: Callable[[int], Any], shape: Callable[[Any], Any], /
    ) -> Any:
        """See there."""


class Reins:
    """See the module's text. All but `nudge` is for one thread, the consumer's user.

    settings: the consumer's options. transport: the name of what it runs on.
    """

    def __init__(
        self, engine: Engine, bridge: Bridge, settings: ConsumerConfig, transport: str, poll: Poll
    ) -> None:
        self._engine = engine
        self._bridge = bridge
        self._poll = poll
        self._remade = engine.remade.since_now()
        self.settings = settings
        self.transport = transport

    def attend(self, attendant: Attendant) -> None:
        """Tell it, beside the user's listener, what comes and goes.

        IllegalStateError: somebody drives the consumer already.
        """
        with self._engine.guard:
            if self._bridge.attendant is not None:
                raise IllegalStateError("other Workers are at work on this consumer")
            self._bridge.attendant = attendant

    def leave(self, attendant: Attendant) -> None:
        """Give the consumer back, with no nudge left over. Harmless without `attend` before."""
        if self._bridge.attendant is attendant:
            self._bridge.attendant = None
            self._engine.nudged = False

    def now_ms(self) -> int:
        """The clock."""
        return self._engine.pump.now_ms()

    def nudge(self) -> None:
        """End the wait of a `poll`, and have `wait` look. From anywhere, whatever is closed."""
        if self._engine.guard.usable:
            self._engine.nudge()

    def poll(self, wait_ms: float, limit: int, note: Callable[[Any], None]) -> None:
        """As `Consumer.poll`; `note` has the records (or None) before anything can strike that
        would not have the consumer take them back.
        """
        take, interceptors = self._engine.core.take_records, self._engine.interceptors

        def note_what_is_left(found: Any) -> None:
            note(interceptors.on_consume(found) if found and interceptors is not None else found)

        self._poll(wait_ms, lambda now_ms: take(limit, now_ms), note_what_is_left)

    def wait(self, done: Callable[[], bool], timeout_ms: float) -> bool:
        """Wait until `done()`, looking after each `nudge`; False if the time ends first."""
        with self._engine.guard:
            return self._engine.wait(done, timeout_ms, interruptible=False)

    def consumed(self) -> Offsets:
        """Where the consumer stands; nothing if it is closed."""
        found: Offsets = {}
        with suppress(KafkaError), self._engine.guard:
            found = self._engine.core.consumed_offsets()
        return found

    def made_anew(self) -> set[TopicPartition]:
        """Partitions whose topics were made anew since this was asked last: where records of them
        are that were taken before is no place any more.
        """
        return self._remade.take()

    def commit(self, offsets: Offsets, timeout_ms: int) -> None:
        """Commit, tried again until `timeout_ms`; a wake-up does not end it. KafkaError."""
        if not offsets:
            return
        engine = self._engine
        with engine.guard:
            engine.recover()
            operation = engine.core.commit(dict(offsets), self.now_ms(), timeout_ms)
            future = engine.later(operation, engine.told(None), offsets)
            engine.wait(lambda: bool(future.is_done), timeout_ms, interruptible=False)
        if future.exception is not None:
            raise future.exception
        if not future.is_done:
            raise KafkaTimeoutError(f"no answer in {timeout_ms} ms", timeout_ms=timeout_ms)

    def commit_soon(self, offsets: Offsets, callback: CommitCallback) -> None:
        """Send a commit, one try; `callback(offsets, error)` in a later poll."""
        engine = self._engine
        with engine.guard:
            engine.recover()
            wanted = dict(offsets)
            operation = engine.core.commit(wanted, self.now_ms(), None)
            engine.later(operation, engine.told(callback), wanted)

    def go_back(self, positions: Offsets) -> None:
        """Go on at these, where the partition is still this consumer's."""
        core = self._engine.core
        with self._engine.guard:
            self._engine.recover()
            mine = core.assignment()
            for tp, at in positions.items():
                if tp in mine:
                    core.go_back(tp, at.offset, self.now_ms(), at.leader_epoch)
            self._engine.pump.drain()

    def hold(self, partitions: Iterable[TopicPartition] | None) -> set[TopicPartition]:
        """Pause these (None: all) that are assigned and not paused; which that were."""
        core = self._engine.core
        with self._engine.guard:
            mine: set[TopicPartition] = core.assignment() - core.paused()
            found = mine if partitions is None else mine.intersection(partitions)
            if found:
                core.pause(sorted(found))
                self._engine.pump.drain()
            return found

    def release(self, partitions: Iterable[TopicPartition]) -> None:
        """Resume those of these that are assigned still."""
        core = self._engine.core
        with self._engine.guard:
            found = sorted(core.assignment().intersection(partitions))
            if found:
                core.resume(found, self.now_ms())
                self._engine.pump.drain()
