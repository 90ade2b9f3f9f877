"""Rule P2: partitions without a position get the committed one, else the reset policy decides.

Each is asked for by itself, as it were: one that the coordinator refuses to tell of (a right is
missing, a topic is gone, a transaction is open) holds up no other. What will not change by itself
is said by a poll, and asked for again, ever more slowly; Java's consumers say it at every poll and
read nothing meanwhile. Of a topic that the coordinator does not know, too, for as long as that
lasts: Java's of the consumer protocol goes by the reset policy then, after default_api_timeout_ms
and without a word, past what is committed ("latest"), or before it ("earliest").
"""

from __future__ import annotations

from kcore.connection.backoff import exponential
from kcore.connection.calls import ClusterView
from kcore.consumer.config import ConsumerConfig
from kcore.errors import KafkaError
from kcore.fetch.fetcher import Fetcher
from kcore.fetch.positions import Positions
from kcore.group.member import GroupMember
from kcore.group.offsets import Committed
from kcore.structs import Rng, TopicPartition
from kcore.timers import NEVER


class Beginnings:
    """Where the partitions of one consumer begin."""

    def __init__(
        self,
        config: ConsumerConfig,
        view: ClusterView,
        positions: Positions,
        fetcher: Fetcher,
        rng: Rng,
    ) -> None:
        self._config = config
        self._view = view
        self._positions = positions
        self._fetcher = fetcher
        self._rng = rng
        self._asked: set[TopicPartition] = set()
        self._refused: list[TopicPartition] = []  # since the last tick
        self._later: dict[TopicPartition, int] = {}  # when they are asked for again
        self._failures = 0  # in a row

    def recover(self) -> None:
        """Nobody may have been asked (see ClientCore.handle_interrupted); twice does no harm."""
        self._asked.clear()

    def deadline(self) -> int:
        """When `handle_tick` has something to do."""
        return min(self._later.values(), default=NEVER)

    def handle_tick(self, group: GroupMember | None, now_ms: int) -> None:
        """Ask for those of which nothing is known yet."""
        missing = self._positions.initializing()
        if self._later or self._refused:
            missing = self._put_off(missing, now_ms)
        if self._asked:
            missing = [tp for tp in missing if tp not in self._asked]
        if not missing:
            return
        if group is None:
            self._positions.reset_initializing(missing)
            return
        asked = set(missing)
        self._asked |= asked

        def done(found: Committed | None, error: KafkaError | None) -> None:
            self._asked -= asked
            if found is not None:
                self._failures = 0
                self._take(found, by_id=group.committed_by_id)
                return
            # Unless the application has sought meanwhile: nobody waits for it then.
            left = [tp for tp in self._positions.initializing() if tp in asked]
            self._refused += left
            if error is not None and left:
                self._fetcher.raise_later(error, left)

        def each(found: Committed) -> None:
            self._asked -= found.keys()
            asked.difference_update(found)
            self._take(found, by_id=group.committed_by_id)

        deadline_ms = now_ms + self._config.default_api_timeout_ms
        group.fetch_committed(missing, now_ms, done, deadline_ms=deadline_ms, each=each)

    def _take(self, found: Committed, *, by_id: bool) -> None:
        if not by_id:
            # Before Kafka 4.2 offsets are committed by names: what is there may be what was read of
            # the topic before, committed before anybody here knew of the new one.
            positions = self._positions
            found = {tp: None if positions.was_remade(tp) else at for tp, at in found.items()}
        self._positions.apply_committed(found)
        for tp, offset in found.items():
            if offset is not None:
                self._positions.found_in(tp, self._view.topic_id(tp.topic))
        self._positions.reset_initializing([tp for tp, offset in found.items() if offset is None])

    def _put_off(self, missing: list[TopicPartition], now_ms: int) -> list[TopicPartition]:
        """Those that are asked for now: not the ones that were refused a moment ago."""
        if self._refused:
            config = self._config
            wait_ms = exponential(
                self._failures, config.retry_backoff_ms, config.retry_backoff_max_ms, self._rng
            )
            self._later |= dict.fromkeys(self._refused, now_ms + wait_ms)
            self._refused.clear()
            self._failures += 1
        left = set(missing)
        self._later = {tp: at for tp, at in self._later.items() if at > now_ms and tp in left}
        return [tp for tp in missing if tp not in self._later]
