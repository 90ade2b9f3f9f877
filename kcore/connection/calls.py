"""How the rooms above talk to brokers: a request with the function that takes its answer.

Rules every room relies on:
* `done` never runs inside `send`; it runs later, while an input (bytes, closure, deadline) is
  handled.
* `done` runs exactly once for each request sent, whatever happens to the link.
* A question may stand (`Standing`): answers that tell nothing are then followed by the same
  question at once, or are taken without being read. `done` runs with the first answer that tells
  something, or the link's end.
* The body is built when the request is written, because only then the connection's version is
  known. Who has the bytes of the same request gives those.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.enums import Enum
from kcore.errors import DisconnectedError, KafkaError
from kcore.hints import Any, Final, Protocol
from kcore.limits import MAX_INT32
from kcore.structs import Leader, Node, TopicPartition
from kcore.wire.apis import ApiKey

# A message dataclass of kcore.wire.messages. They share no base class that mypy would need. Or a
# whole frame (bytearray), in which only the correlation id is put.
Message = Any
Build = Callable[[int], Message]

# Node keys are node ids; bootstrap addresses are negative; a coordinator has a connection of its
# own, under this number minus its node id, so that a parked JoinGroup never holds up fetches (Java:
# AbstractCoordinator). Node ids go up to 2^31 - 1: keys of coordinators begin behind that.
COORDINATOR_KEY_BASE = 0xFFFFFFFF
COORDINATORS_APART = COORDINATOR_KEY_BASE - MAX_INT32  # from the numbers that metrics have
# And a second connection, for what is not to wait behind a fetch that the broker keeps, has this
# minus the node's id: behind all coordinators.
_SECOND_KEY_BASE: Final = 2 * COORDINATOR_KEY_BASE


def node_id_of(key: int) -> int:
    """The node id of a key to ask under; below 0: an address of the bootstrap, whose is not
    known.
    """
    if key > COORDINATOR_KEY_BASE:
        return _SECOND_KEY_BASE - key
    return COORDINATOR_KEY_BASE - key if key > MAX_INT32 else key


def keys_of(node_id: int) -> tuple[int, int, int]:
    """All keys of a node: its own, the coordinator's, and that of its second connection."""
    return node_id, COORDINATOR_KEY_BASE - node_id, _SECOND_KEY_BASE - node_id


def number_told(key: int) -> int:
    """How Kafka's clients number a connection in metrics: a coordinator's is near 2^31. (They have
    no second one of a node.)
    """
    return key - COORDINATORS_APART if key > MAX_INT32 else key


class StruckError(DisconnectedError):
    """The answer to all that was under way when a call was struck from outside (Ctrl-C), and the
    links were ended for it: that is no sign against whoever was asked.
    """


class Answer:
    """What came of a request: a decoded body, or an error and no body.

    body: the response message, None if there is an error.
    error: why there is no body: disconnected, timed out, unsupported version, malformed answer.
    version: the API version used (-1 if the request was never written).
    node: the node key asked.
    """

    __slots__ = ("body", "error", "node", "version")

    def __init__(self, body: Message, error: KafkaError | None, version: int, node: int) -> None:
        self.body = body
        self.error = error
        self.version = version
        self.node = node

    def __repr__(self) -> str:
        return f"Answer({self.error or self.body!r}, v{self.version}, node {self.node})"


Done = Callable[[Answer, int], None]  # (answer, now_ms)


ANSWERED: Final = b""  # of `Standing.again`: the answer is taken, and nothing follows it


class Standing(Protocol):
    """What is asked again and again, and mostly answered with the same.

    timeout_ms: how long each answer may take.
    """

    timeout_ms: int

    def again(
        self, frame: memoryview, version: int, correlation_id: int, client_id: str, now_ms: int
    ) -> bytes | None:
        """The request (its frame) that follows this answer, if there is nothing in it and nobody
        has anything else to ask. ANSWERED: nothing follows, and `done` does not run. None: decode
        it, and let `done` see to what follows.
        """


class Reach(Enum):
    """Whether a request to a node can go out."""

    READY = "ready"  # greeted: a request is written at once
    CONNECTING = "connecting"  # on its way: a request waits, at most its own timeout
    IDLE = "idle"  # no link, but one may be opened now: `send` opens it
    BACKOFF = "backoff"  # failed lately: `send` fails the request at the next turn
    UNKNOWN = "unknown"  # no such node


class Network(Protocol):
    """The links to all nodes, as group and fetch see them (kcore.cluster.links implements it)."""

    late: bool  # the program was away when something was due: see Bounded.expired

    def send(
        self,
        node: int,
        api: ApiKey,
        build: Build,
        done: Done,
        now_ms: int,
        *,
        timeout_ms: int | None = None,
        max_version: int | None = None,
        answered: bool = True,
        standing: Standing | None = None,
    ) -> None:
        """Ask `node`. `timeout_ms` (default: the configured request timeout) is how long it may
        take until it is written, and from then on until it is answered.

        answered: False for a request that brokers do not answer (Produce with acks=0): `done` takes
        an answer with neither body nor error once it is written.
        """

    def reach(self, node: int, now_ms: int) -> Reach:
        """Whether a request to `node` can go out."""

    def retry_at(self, node: int) -> int:
        """When a node in BACKOFF may be tried again (ms); 0 if it may be tried now."""

    def least_loaded(self, now_ms: int) -> int | None:
        """The node to ask a question that any broker answers; None if none can be reached now."""

    def version_of(self, node: int, api: ApiKey, max_version: int | None = None) -> int | None:
        """The version `send` would use; None while the node is not greeted or does not serve the
        API.
        """

    def in_flight(self, node: int) -> int:
        """Requests sent to or waiting for `node` and not yet answered."""

    def add_coordinator(self, node_id: int, host: str, port: int) -> int:
        """Give the coordinator a connection of its own; returns its node key."""

    def second(self, node_id: int) -> int:
        """The key of another connection to a node that is known, for what is not to wait behind a
        fetch that the broker keeps.
        """

    def drop(self, node: int, now_ms: int) -> None:
        """Close the node's link; its requests fail with a disconnect."""


class ClusterView(Protocol):
    """What is known of topics and leaders (kcore.cluster.metadata implements it)."""

    @property
    def version(self) -> int:
        """Goes up with each change of what this view says."""

    def leader(self, tp: TopicPartition) -> Leader | None:
        """The leader, None if it is unknown or none is elected."""

    def node(self, node_id: int) -> Node | None:
        """A broker's address."""

    def partitions(self, topic: str) -> list[int] | None:
        """Partition numbers in order; None if the topic is not known."""

    def topics(self) -> set[str]:
        """Every topic known now."""

    def is_internal(self, topic: str) -> bool:
        """Whether the broker marks the topic internal."""

    def topic_id(self, topic: str) -> bytes | None:
        """The 16-byte topic id; None if there is none."""

    def topic_name(self, topic_id: bytes) -> str | None:
        """The topic of an id."""

    def replica_racks(self, tp: TopicPartition) -> set[str]:
        """Racks that hold a replica (for rack-aware assignment)."""

    def request_update(self) -> None:
        """Ask for a refresh as soon as its backoff allows."""

    def request_names(self, topic_ids: frozenset[bytes]) -> None:
        """Ask what topics these ids stand for, as soon as the backoff of refreshes allows."""

    def see_epoch(self, tp: TopicPartition, epoch: int) -> bool:
        """Note a leader epoch seen elsewhere; if it is newer than ours, a refresh is asked for.
        True if newer.
        """

    def learn_leader(self, tp: TopicPartition, leader: Leader, node: Node | None) -> bool:
        """Take a leader hint from a response (KIP-951); False if it is not newer or its node is
        unknown.
        """
