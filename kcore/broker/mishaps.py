"""Mishaps on purpose, for tests of clients.

The next requests of an API are answered with an error, late, or never, with the connection closed
before they are served or after; or the way between some clients and some nodes is slow, or lets
nothing pass, until it is mended.
A mishap may be of requests that name a topic, a partition or a group: what is refused then is that
part of the request (`parts.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from kcore.errors import UsageError
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message

if TYPE_CHECKING:
    from kcore.broker.calls import Call

# What requests name, and answers have an error for. ListPartitionReassignments and DescribeLogDirs
# name topics, too, and have none for them.
OF_PARTITIONS: Final = frozenset(
    {
        *(ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.METADATA),
        *(ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.DELETE_RECORDS),
        *(ApiKey.OFFSET_FOR_LEADER_EPOCH, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.WRITE_TXN_MARKERS),
        *(ApiKey.TXN_OFFSET_COMMIT, ApiKey.ELECT_LEADERS, ApiKey.ALTER_PARTITION_REASSIGNMENTS),
        *(ApiKey.OFFSET_DELETE, ApiKey.DESCRIBE_PRODUCERS, ApiKey.DESCRIBE_TOPIC_PARTITIONS),
        *(ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE),
        *(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, ApiKey.ALTER_SHARE_GROUP_OFFSETS),
    }
)
OF_TOPICS: Final = OF_PARTITIONS | {
    *(ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS),
    *(ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
}
OF_GROUPS: Final = frozenset(
    {
        *(ApiKey.FIND_COORDINATOR, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH),
        *(ApiKey.OFFSET_DELETE, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT),
        *(ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP),
        *(ApiKey.DESCRIBE_GROUPS, ApiKey.DELETE_GROUPS),
        *(ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE),
        *(ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.SHARE_GROUP_DESCRIBE),
        *(ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS),
        *(ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS),
        *(ApiKey.STREAMS_GROUP_HEARTBEAT, ApiKey.STREAMS_GROUP_DESCRIBE),
    }
)


class Kind(Enum):
    """What happens to a request."""

    REFUSED = "refused"  # answered with an error; what it asks for is not done
    CUT = "cut"  # its connection is closed instead; what it asks for is not done
    LOST = "lost"  # served, and its connection is closed in place of the answer
    DELAYED = "delayed"  # served later


class Named(NamedTuple):
    """Something that a request names: a partition of a topic, or all of it, of a group if it is
    about one.
    """

    group: str | None = None
    topic: str | None = None
    partition: int | None = None


@dataclass(slots=True, eq=False)
class Mishap:
    """What is to happen to the next `times` requests of an API, at one node (None: at any), from
    clients of one id (None: of any), that name a topic, a partition of it, a group (None: any).
    """

    api: ApiKey
    kind: Kind
    times: int = 1
    node_id: int | None = None
    error: ErrorCode = ErrorCode.NONE
    delay_ms: int = 0
    client_id: str | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing: UsageError."""
        if self.times < 1 or self.delay_ms < 0:
            raise UsageError(f"times={self.times}, delay_ms={self.delay_ms}")
        if self.partition is not None and (self.topic is None or self.partition < 0):
            raise UsageError(f"partition={self.partition} of topic={self.topic!r}")
        if self.group is not None:
            self._check(OF_GROUPS, "group")
        if self.partition is not None:
            self._check(OF_PARTITIONS, "partition")
        elif self.topic is not None:
            self._check(OF_TOPICS, "topic")

    def _check(self, known: frozenset[ApiKey], what: str) -> None:
        if self.api not in known:
            names = ", ".join(key.stem for key in sorted(known))
            raise UsageError(
                f"{self.api.stem} has no {what} of which something could be said by itself; leave "
                f"{what}= out, for requests as a whole. These have: {names}"
            )

    def concerns(self, call: Call) -> bool:
        """Whether it may happen to this request, by where it comes from and goes to."""
        return (
            self.api is call.key
            and self.node_id in {None, call.node.node_id}
            and self.client_id in {None, call.client_id}
        )

    def covers(self, named: Named) -> bool:
        """Whether it is about this."""
        return (
            self.group in {None, named.group}
            and self.topic in {None, named.topic}
            and self.partition in {None, named.partition}
        )


# Parts of a request, and what happens to each.
Refused = dict[Named, Mishap]


@dataclass(frozen=True, slots=True)
class LinkFault:
    """Something is wrong between a node (None: every) and clients of an id (None: all).

    delay_ms: requests are served so much later; None: nothing passes, and nothing is lost, as TCP
    has it: what was sent arrives when the fault is gone.
    """

    delay_ms: int | None = None
    node_id: int | None = None
    client_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing: UsageError."""
        if self.delay_ms is not None and self.delay_ms < 0:
            raise UsageError(f"delay_ms={self.delay_ms}")


class Mishaps:
    """The mishaps of a cluster, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._mishaps: list[Mishap] = []
        self._links: list[LinkFault] = []

    def add(self, mishap: Mishap) -> None:
        """From now on."""
        self._mishaps.append(mishap)

    def clear(self) -> None:
        """No more of them; what is delayed stays so."""
        self._mishaps.clear()

    def add_link(self, fault: LinkFault) -> None:
        """From now on, until `mend_links`."""
        self._links.append(fault)

    def mend_links(self) -> None:
        """Everything passes again; nodes are to be told by `Node.release`."""
        self._links.clear()

    def blocked(self, node_id: int, client_id: str) -> bool:
        """Whether nothing passes between these two."""
        return bool(self._links) and any(
            fault.delay_ms is None for fault in self._between(node_id, client_id)
        )

    def delay_ms(self, node_id: int, client_id: str) -> int:
        """How late everything is between these two."""
        if not self._links:
            return 0
        delays = (fault.delay_ms or 0 for fault in self._between(node_id, client_id))
        return max(delays, default=0)

    def _between(self, node_id: int, client_id: str) -> Iterator[LinkFault]:
        for fault in self._links:
            if fault.node_id in {None, node_id} and fault.client_id in {None, client_id}:
                yield fault

    def take(self, call: Call, request: Message) -> Mishap | Refused | None:
        """What happens to this request, or to parts of it; counts it. The first mishap decides:
        behind one of parts come those of other parts, and no others.
        """
        if not self._mishaps:
            return None
        from kcore.broker.parts import group_of, named_in  # noqa: PLC0415 - only for who asks

        refused: Refused = {}
        names: list[Named] = []
        for mishap in list(self._mishaps):
            if not mishap.concerns(call):
                continue
            if mishap.topic is None and mishap.group in {None, group_of(request, call.version)}:
                covered = []
            else:
                names = names or list(named_in(call, request))
                covered = [one for one in names if mishap.covers(one) and one not in refused]
                if not covered:
                    continue
            if covered and mishap.kind is Kind.REFUSED:
                refused.update(dict.fromkeys(covered, self._counted(mishap)))
            elif not refused:
                return self._counted(mishap)
        return refused or None

    def _counted(self, mishap: Mishap) -> Mishap:
        mishap.times -= 1
        if not mishap.times:
            self._mishaps.remove(mishap)
        return mishap

    def __len__(self) -> int:
        return sum(mishap.times for mishap in self._mishaps)
