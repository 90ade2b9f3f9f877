"""What the coordinators of a node have in common: the doors, and the partitions behind them.

A coordinator keeps what the partitions of its journal say that this node leads, each in a `Shard`
of its own. Requests are its own matter; a partition that comes, is read and goes, appends that are
through, connections that are gone, time, and the way out are the same for all. Which partition
keeps a name is, too.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from itertools import count
from typing import Final, Generic, Protocol, TypeVar

from kcore.coordinator.appends import Appends
from kcore.coordinator.context import Topics
from kcore.coordinator.desk import Desk, Reply
from kcore.coordinator.journal import Append, Item
from kcore.coordinator.purgatory import Purgatory
from kcore.errors import UsageError
from kcore.wire.codes import ErrorCode

_INT32: Final = 0x7FFFFFFF


class AnyTopic:
    """For owners that do not care which topics there are: every name exists, no id does."""

    version = 0

    def names(self) -> Iterable[str]:
        """None that can be listed."""
        return ()

    def partition_count(self, _name: str) -> int:
        """Not known: none that could be assigned."""
        return 0

    def name_of(self, _topic_id: bytes) -> str | None:
        """No topic is known by its id."""
        return None

    def id_of(self, _name: str) -> bytes | None:
        """No topic is known by its id."""
        return None

    def has_partition(self, _name: str, partition: int) -> bool:
        """Every partition exists."""
        return partition >= 0


class BaseShard:
    """One partition of a journal, and all that its entries say.

    A shard sets `appends` before it is used; it replays what they take and what `load` brings.
    """

    appends: Appends

    def __init__(self) -> None:
        self.loading = True

    def load(self, items: Iterable[Item], now_ms: int) -> None:
        """Entries of the journal, in its order; CorruptRecordError if one cannot be read."""
        self.appends.load(items, now_ms)

    def start(self, now_ms: int) -> None:
        """U2: the whole journal is loaded; requests are served from now on."""
        raise NotImplementedError

    def resign(self, error: ErrorCode, now_ms: int) -> None:
        """U3: another node has the partition now. Whoever waits is told `error`."""
        raise NotImplementedError


class _OfPartition(Protocol):
    @property
    def partition(self) -> int: ...


S = TypeVar("S", bound=BaseShard)
Q = TypeVar("Q", bound=_OfPartition)


class Front(Generic[S]):
    """The doors of a coordinator. One input, drain the outputs to None, next input.

    topics: which topics there are. wall_offset_ms: the time of day minus `now_ms`. immediate: an
    append counts as done when it is given out, for owners whose journal cannot fail;
    `handle_appended` is not to be called then.
    """

    def __init__(self, topics: Topics | None, *, wall_offset_ms: int, immediate: bool) -> None:
        self._topics: Topics = AnyTopic() if topics is None else topics
        self._wall_offset_ms = wall_offset_ms
        self._immediate = immediate
        self._purgatory = Purgatory()
        self._desk = Desk()
        self._appends: deque[Append] = deque()
        self._numbers = count(1)
        self._shards: dict[int, S] = {}

    # World in ------------------------------------------------------------------------------------

    def handle_closed(self, link: Hashable) -> None:
        """A connection is gone: nobody is there to get its answers. What it asked for goes on, and
        members of groups live until their sessions end, as the next connection may be theirs.
        """
        self._desk.close(link)

    def handle_deadline(self, now_ms: int) -> None:
        """The time that `deadline` said has come."""
        self._purgatory.expire(now_ms)

    def handle_appended(
        self, partition: int, number: int, now_ms: int, error: ErrorCode = ErrorCode.NONE
    ) -> None:
        """An append is through, or failed with the log's `error` and left nothing behind.

        Ignored if the partition has been lost since. IllegalStateError if it is not its turn.
        """
        shard = self._shards.get(partition)
        if shard is not None:
            shard.appends.handle_appended(number, error, now_ms)
            self._purgatory.expire(now_ms)

    def handle_entries(self, partition: int, items: Iterable[Item], now_ms: int) -> None:
        """Entries of the partition, in its order; CorruptRecordError if one cannot be read."""
        self._loading(partition).load(items, now_ms)

    def handle_loaded(self, partition: int, now_ms: int) -> None:
        """That were all: what the partition keeps goes on."""
        self._loading(partition).start(now_ms)
        self._purgatory.expire(now_ms)

    def handle_resigned(self, partition: int, now_ms: int) -> None:
        """Another node leads the partition, or none; harmless if this one did not."""
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.resign(ErrorCode.NOT_COORDINATOR, now_ms)
            drop(self._appends, partition)

    # Out -----------------------------------------------------------------------------------------

    def next_append(self) -> Append | None:
        """What to append next; None if there is nothing."""
        return self._appends.popleft() if self._appends else None

    def next_reply(self) -> Reply | None:
        """The next answer; None if there is none."""
        return self._desk.next_reply()

    def deadline(self) -> int:
        """When `handle_deadline` is to be called; NEVER if nothing waits."""
        return self._purgatory.deadline()

    @property
    def parked(self) -> int:
        """How many requests wait for their answer."""
        return self._desk.waiting

    # Shards --------------------------------------------------------------------------------------

    def _elect(self, partition: int, shard: S) -> None:
        """The partition is led here from now on; UsageError if it is already."""
        if partition in self._shards:
            raise UsageError(f"partition {partition} is led already")
        self._shards[partition] = shard

    def _shard_at(self, partition: int) -> tuple[S | None, ErrorCode]:
        """Who serves the partition, or why nobody here does."""
        shard = self._shards.get(partition)
        if shard is None:
            return None, ErrorCode.NOT_COORDINATOR
        if shard.loading:
            return None, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return shard, ErrorCode.NONE

    def _all_shards(self) -> tuple[list[S], ErrorCode]:
        """All, in the order of their partitions; an error while one is being loaded."""
        shards = [self._shards[partition] for partition in sorted(self._shards)]
        if any(shard.loading for shard in shards):
            return [], ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return shards, ErrorCode.NONE

    def _loading(self, partition: int) -> S:
        shard = self._shards.get(partition)
        if shard is None or not shard.loading:
            raise UsageError(f"partition {partition} is not being loaded")
        return shard


def drop(queue: deque[Q], partition: int) -> None:
    """Take out what is about a partition."""
    kept = [one for one in queue if one.partition != partition]
    queue.clear()
    queue.extend(kept)


def partition_for(name: str, partitions: int) -> int:
    """Which of so many partitions of a journal keeps a group or a transactional id.

    Java: Utils.abs(name.hashCode()) % partitions; the hash runs over UTF-16 units.
    """
    units = name.encode("utf-16-be", "surrogatepass")
    value = 0
    for index in range(0, len(units), 2):
        value = (31 * value + (units[index] << 8 | units[index + 1])) & 0xFFFFFFFF
    if value > _INT32:  # below 0 in Java; of the least there is Kafka's `abs` makes 0
        value = -value & _INT32
    return value % partitions
