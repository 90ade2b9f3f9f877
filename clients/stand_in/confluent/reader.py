"""Our consumer as the one that stands in needs it: nothing is waited for when it is made, and a
poll without a subscription waits like any other.
"""

from __future__ import annotations

import time
from typing import Any

from kcore.clients.consumer.consumer import Consumer
from kcore.clients.stand_in.confluent import constants
from kcore.clients.stand_in.confluent.errors import raised
from kcore.clients.stand_in.confluent.happenings import Happenings
from kcore.clients.stand_in.confluent.options import Options
from kcore.errors import KafkaError
from kcore.structs import TopicPartition


class Reader(Consumer):
    """See the module's text."""

    def __init__(self, happenings: Happenings, options: Options) -> None:
        self.began_at = time.time()
        try:
            super().__init__(**options)
        except KafkaError as error:
            raise raised(error) from error
        self._engine.reporter = happenings
        self._remade = self._engine.remade.since_now()
        self.now_ms = self._engine.pump.now_ms
        self.core: Any = self._engine.core
        happenings.watch(self.core._links.measures)  # noqa: SLF001 - who measures them anyway

    def _find_release(self, timeout_ms: float) -> None:
        """Nobody waits for that."""

    def _begin_poll(self) -> None:
        """There may be nothing to poll: then nothing comes."""
        if self._wanted is not None:
            self._want(None)

    def nudge(self) -> None:
        """End the wait of a poll. From any thread."""
        if self._engine.guard.usable:
            self._engine.nudge()

    @property
    def subscribed(self) -> bool:
        """Whether a group says what is read."""
        return self._wish in ("topics", "pattern")

    def here(self, tp: TopicPartition) -> bool:
        """Whether the partition is read, and known where."""
        return tp in self.core.assignment() and self.core.position(tp) is not None

    def end_of(self, tp: TopicPartition) -> int | None:
        """The end of what may be read, as last told; None: nobody has said yet."""
        if self._settings.isolation_level == "read_committed":
            found: int | None = self.core.last_stable_offset(tp)
            return found
        return self.core.highwater(tp)  # type: ignore[no-any-return]

    def told_of(self, tp: TopicPartition) -> float:
        """When a fetch answer last named the partition, by `now_ms`; below 0: never yet."""
        found = self.core._positions.told_at(tp)  # noqa: SLF001 - as in `edges`
        return -1 if found is None else found

    def go_back(self, tp: TopicPartition, offset: int) -> None:
        """Read again from a record that was handed over."""
        with self._engine.guard:
            self._hold_batch()
            self.core.go_back(tp, offset, self._engine.pump.now_ms())
            self._cut_batch([tp], go_back=False)
            self._engine.pump.drain()

    def begin_anew(self, tp: TopicPartition) -> None:
        """Read as if it were newly assigned."""
        with self._engine.guard:
            self._hold_batch()
            self.core.begin_anew(tp, self._engine.pump.now_ms())
            self._cut_batch([tp], go_back=False)
            self._engine.pump.drain()

    def made_anew(self) -> set[TopicPartition]:
        """Partitions whose topics were made anew since this was asked last."""
        return self._remade.take()

    @property
    def by_pattern(self) -> bool:
        """Whether a pattern says what is read."""
        return self._wish == "pattern"

    def edges(self, tp: TopicPartition) -> tuple[int, int]:
        """(the first offset, the end), as last told; OFFSET_INVALID: nobody has said yet."""
        if tp not in self.core.assignment():
            return constants.OFFSET_INVALID, constants.OFFSET_INVALID
        end, first = self.core.highwater(tp), self.core._positions.log_start(tp)  # noqa: SLF001
        missing = constants.OFFSET_INVALID
        return missing if first is None else first, missing if end is None else end

    def exists(self, tp: TopicPartition, timeout_ms: float | None) -> bool:
        """Whether there is such a partition, as far as is known; if not, asked once.
        KafkaTimeoutError.
        """
        if tp.partition in (self.core.cluster.partitions(tp.topic) or ()):
            return True
        found = self._answer(self._ask_metadata([tp.topic], dict, timeout_ms))
        return tp.partition in found.get(tp.topic, ())

    def authenticate_as(self, username: str, password: str) -> None:
        """On connections that are made from now on."""
        authenticate_as(self.core, username, password)


def authenticate_as(core: Any, username: Any, password: Any) -> None:
    """Have a core be this user on connections that are made from now on. TypeError."""
    if not isinstance(username, str) or not isinstance(password, str):
        raise TypeError("username and password must be strings")
    core._links.authenticate_as(username, password)  # noqa: SLF001 - it has no door for that
