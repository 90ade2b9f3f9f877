"""Connections between members and nodes: they take time, break bytes up, and end in bad ways.

A wire is one connection. Bytes keep their order in each direction, as TCP keeps it; when they
arrive, and in how many pieces, is drawn. What a side sends before it closes still arrives; a reset
drops what is under way. Where one direction is lost nothing passes that way any more and nobody is
told; both are where a machine, or a router between, is gone.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from kcore.sim.chance import Chance
from kcore.sim.ledger import Ledger
from kcore.wire.apis import ApiKey

if TYPE_CHECKING:
    from kcore.sim.ledger import Asked

# How soon a node that does not read is asked again whether it does.
_READ_AGAIN_MS: Final = 50

# How much of a time passes by the client's clock at least, which may be fast.
_OF_ITS_CLOCK: Final = 0.97

# The most pieces that one thing sent arrives in.
_PIECES_MAX: Final = 4

_Piece = bytes | None  # None: the other side closed here


class ClientSide(Protocol):
    """What opens wires: a member, a producer."""

    name: str
    owner: object  # the process that it is of: itself, or what has another client besides
    deaf: bool  # it stands still, or has: what arrives it may read late

    def wire_opened(self, link: int) -> None:
        """Connected."""

    def wire_data(self, link: int, data: bytes) -> None:
        """Bytes came."""

    def wire_closed(self, link: int, why: str) -> None:
        """It is gone, or never came to be."""


class NodeSide(Protocol):
    """What wires lead to."""

    name: str
    up: bool
    paused: bool

    def wire_opened(self, number: int, host: str) -> None:
        """A client connected."""

    def wire_data(self, number: int, data: bytes) -> None:
        """Bytes came."""

    def wire_sent(self, number: int) -> None:
        """What was sent on it is written."""

    def wire_closed(self, number: int, why: str) -> None:
        """It is gone."""

    def reads(self, number: int) -> bool:
        """Whether it takes bytes now."""


class Wire:
    """One connection, from its attempt on."""

    __slots__ = (
        "asked",
        "client",
        "client_open",
        "down",
        "down_lost",
        "down_ms",
        "down_quiet_ms",
        "excused",
        "link",
        "mute_ms",
        "node",
        "node_open",
        "number",
        "speaks_ms",
        "throttle_ms",
        "turn_ms",
        "up",
        "up_lost",
        "up_ms",
        "up_quiet_ms",
    )

    def __init__(self, number: int, client: ClientSide, link: int, node: NodeSide) -> None:
        self.number = number
        self.client = client
        self.link = link  # the client's number for it
        self.node = node
        self.client_open = True  # the client has not given it up
        self.node_open = False
        self.up_lost = self.down_lost = False  # nothing arrives any more
        self.up_quiet_ms = self.down_quiet_ms = 0  # nothing arrives before
        self.up: deque[_Piece] = deque()  # under way to the node
        self.down: deque[_Piece] = deque()
        self.up_ms = self.down_ms = 0  # when the last of it arrives
        self.asked: deque[Asked] = deque()  # requests without an answer yet
        self.turn_ms = 0  # when the last answer was given
        self.throttle_ms = 0  # how long the last answer tells the client to wait
        self.mute_ms = self.speaks_ms = 0  # when that has arrived, and when it may be over
        self.excused = False  # a fault has slowed it: its answers may be late


Scheduler = Callable[..., None]


class Network:
    """All wires. `at(time, function, *arguments)` schedules; `now()` is the time of the world."""

    def __init__(
        self,
        chance: Chance,
        ledger: Ledger,
        at: Scheduler,
        now: Callable[[], int],
        latency_ms: tuple[int, int],
        split_share: float,
    ) -> None:
        self._chance = chance
        self._ledger = ledger
        self._at = at
        self._now = now
        self._latency_ms = latency_ms
        self._split_share = split_share
        self._wires: dict[int, Wire] = {}  # by number, from the attempt until both sides are gone
        self._by_client: dict[tuple[ClientSide, int], Wire] = {}
        self._apart: dict[tuple[str, str], int] = {}  # client and node -> until when
        self._count = 0
        self._lost: Counter[ApiKey] = Counter()  # so many answers will not arrive
        # What is neither taken nor done any more once its client has lost that connection.
        self.never_linger: frozenset[ApiKey] = frozenset()
        self.never_linger_of: set[str] = set()  # nor anything of these clients
        self.refused_until_ms = 0
        self.connects = 0
        self.counted: Callable[[str], None] = lambda _name: None

    # What peers do -------------------------------------------------------------------------------

    def connect(self, client: ClientSide, link: int, node: NodeSide) -> None:
        """A client wants a connection."""
        self._count += 1
        self.connects += 1
        self.counted(client.name)
        wire = Wire(self._count, client, link, node)
        self._wires[wire.number] = self._by_client[client, link] = wire
        apart_ms = self._apart.get((client.name, node.name), 0)
        self._at(max(self._now() + self._delay(), apart_ms), self._open, wire)

    def client_sends(self, client: ClientSide, link: int, data: bytes) -> None:
        """A client sends one request."""
        wire = self._by_client.get((client, link))
        if wire is not None and wire.node_open:
            self._ledger.asked(wire, data, self._now())
            self._send_up(wire, data)

    def client_closes(self, client: ClientSide, link: int) -> None:
        """A client gives a connection up."""
        wire = self._by_client.get((client, link))
        if wire is not None:
            self._ledger.judge_open(wire, self._now())
            self._client_gone(wire)
            if not self._kept_from_lingering(wire) and wire.node_open:
                self._send_up(wire, None)

    def node_sends(self, number: int, data: bytes) -> int:
        """A node sends one answer; when all of it is written."""
        wire = self._wires.get(number)
        if wire is None or not wire.node_open:
            return self._now()
        api = self._ledger.answered(wire, data, self._now())
        if self._lost[api] and wire.client_open:
            self._lost[api] -= 1
            self.reset(wire)
        elif wire.client_open:
            self._send_down(wire, data)
            heard = not wire.down_lost and wire.down_ms >= wire.down_quiet_ms
            if wire.throttle_ms and heard:
                wire.mute_ms = wire.down_ms
                wire.speaks_ms = self._now() + int(wire.throttle_ms * _OF_ITS_CLOCK)
        return wire.down_ms if self._split_share else self._now()

    def node_closes(self, number: int) -> None:
        """A node ends a connection."""
        wire = self._wires.get(number)
        if wire is not None and wire.node_open:
            self._node_gone(wire)
            if wire.client_open:
                self._send_down(wire, None)

    # What happens to wires -----------------------------------------------------------------------

    def wires(self) -> list[Wire]:
        """Those that stand, oldest first."""
        return [wire for wire in self._wires.values() if wire.client_open and wire.node_open]

    def all_wires(self) -> list[Wire]:
        """Those of which any side is left."""
        return list(self._wires.values())

    def reset(self, wire: Wire) -> None:
        """Both sides learn that it is gone; what is under way is lost."""
        self.lose_wire(wire)
        self.tell_client(wire, "connection reset")
        self.tell_node(wire, "connection reset")

    def lose_wire(self, wire: Wire, *, up: bool = True, down: bool = True) -> None:
        """Nothing passes on it any more, to the node (up), to the client, or either way."""
        wire.up_lost, wire.down_lost = wire.up_lost or up, wire.down_lost or down
        wire.excused = True
        if down:
            self._unheard(wire)

    def tell_client(self, wire: Wire, why: str) -> None:
        """The client learns that it is gone, soon."""
        self._at(self._now() + self._delay(), self._reset_client, wire, why)

    def tell_node(self, wire: Wire, why: str) -> None:
        """The node learns that it is gone, soon."""
        self._at(self._now() + self._delay(), self._reset_node, wire, why)

    def keep_apart(
        self,
        client_name: str,
        node_name: str,
        until_ms: int,
        *,
        up: bool = True,
        down: bool = True,
    ) -> None:
        """Nothing passes between two machines until then, or not that way; then all of it does.
        Who connects waits in any case.
        """
        self._apart[client_name, node_name] = until_ms
        for wire in self._wires.values():
            if (wire.client.name, wire.node.name) == (client_name, node_name):
                self.hush(wire, until_ms, up=up, down=down)

    def hush(self, wire: Wire, until_ms: int, *, up: bool = True, down: bool = True) -> None:
        """Nothing arrives on a wire until then, or not at that end."""
        if up:
            wire.up_quiet_ms = max(wire.up_quiet_ms, until_ms)
        if down:
            wire.down_quiet_ms = max(wire.down_quiet_ms, until_ms)
            self._unheard(wire)
        wire.excused = True

    def _unheard(self, wire: Wire) -> None:
        """What tells the client to wait, if it is still under way, does not arrive in time."""
        if wire.mute_ms >= self._now():
            wire.speaks_ms = 0

    def lose(self, api: ApiKey, times: int) -> None:
        """The next answers of an API do not arrive: their connections are gone."""
        self._lost[api] += times

    def vanish(self, client: ClientSide, *, told: bool) -> None:
        """A client's machine is gone; told: its connections are reset."""
        for wire in list(self._wires.values()):
            if wire.client is client and wire.client_open:
                self._client_gone(wire)
                self.lose_wire(wire)
                if wire.node_open and told:
                    self.tell_node(wire, "connection reset")

    def heal(self) -> None:
        """No more of that: who still waits at a dead wire is told."""
        self._apart.clear()
        self._lost.clear()
        self.refused_until_ms = 0
        for wire in list(self._wires.values()):
            wire.up_quiet_ms = wire.down_quiet_ms = 0
            if wire.up_lost or wire.down_lost:
                self.tell_client(wire, "connection reset")
                self.tell_node(wire, "connection reset")

    # Arriving ------------------------------------------------------------------------------------

    def _delay(self) -> int:
        return self._chance.between(*self._latency_ms)

    def _send_up(self, wire: Wire, data: _Piece) -> None:
        if not wire.up_lost:
            wire.up_ms = self._send(wire, wire.up, data, wire.up_ms, self._arrive_up)

    def _send_down(self, wire: Wire, data: _Piece) -> None:
        if not wire.down_lost:
            wire.down_ms = self._send(wire, wire.down, data, wire.down_ms, self._arrive_down)

    def _send(
        self,
        wire: Wire,
        pipe: deque[_Piece],
        data: _Piece,
        last_ms: int,
        arrive: Callable[[Wire], None],
    ) -> int:
        at_ms = max(self._now() + self._delay(), last_ms)
        if data is None or not self._chance.happens(self._split_share):
            pipe.append(data)
            self._at(at_ms, arrive, wire)
            return at_ms
        cuts = sorted(self._chance.between(0, len(data)) for _ in range(_PIECES_MAX - 1))
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            if start < end:
                pipe.append(data[start:end])
                self._at(at_ms, arrive, wire)
                at_ms += self._delay()
        return at_ms

    def _open(self, wire: Wire) -> None:
        if not wire.client_open:
            self._forget(wire)
            return
        if (wire.node.up or wire.node.paused) and self._now() >= self.refused_until_ms:
            wire.node_open = True
            wire.excused = wire.excused or wire.node.paused
            wire.node.wire_opened(wire.number, wire.client.name)
            wire.client.wire_opened(wire.link)
        else:
            self._client_gone(wire)
            wire.client.wire_closed(wire.link, "connection refused")

    def _arrive_up(self, wire: Wire) -> None:
        now_ms = self._now()
        if wire.up_lost or not wire.node_open:
            return
        if now_ms < wire.up_quiet_ms:
            self._at(wire.up_quiet_ms, self._arrive_up, wire)
        elif wire.up[0] is None:
            self._node_gone(wire)
            wire.node.wire_closed(wire.number, "closed by the client")
        elif not wire.node.reads(wire.number):
            self._at(now_ms + _READ_AGAIN_MS, self._arrive_up, wire)
        else:
            data = wire.up.popleft()
            assert data is not None
            wire.node.wire_data(wire.number, data)

    def _arrive_down(self, wire: Wire) -> None:
        if wire.down_lost or not wire.client_open:
            return
        if self._now() < wire.down_quiet_ms:
            self._at(wire.down_quiet_ms, self._arrive_down, wire)
            return
        data = wire.down.popleft()
        if data is None:
            self._client_gone(wire)
            wire.client.wire_closed(wire.link, "closed by the node")
        else:
            wire.client.wire_data(wire.link, data)

    def _reset_client(self, wire: Wire, why: str) -> None:
        if wire.client_open:
            self._client_gone(wire)
            self._kept_from_lingering(wire)
            wire.client.wire_closed(wire.link, why)

    def _kept_from_lingering(self, wire: Wire) -> bool:
        """Its client is gone: whether the node gives up what it was asked, too, soon."""
        late = wire.node_open and any(
            asked.api in self.never_linger or wire.client.name in self.never_linger_of
            for asked in wire.asked
        )
        if late:
            self.lose_wire(wire)
            self.tell_node(wire, "connection reset")
        return late

    def _reset_node(self, wire: Wire, why: str) -> None:
        if wire.node_open:
            self._node_gone(wire)
            wire.node.wire_closed(wire.number, why)

    def _client_gone(self, wire: Wire) -> None:
        wire.client_open = False
        self._by_client.pop((wire.client, wire.link), None)
        self._forget(wire)

    def _node_gone(self, wire: Wire) -> None:
        wire.node_open = False
        self._ledger.dropped(wire)
        self._forget(wire)

    def _forget(self, wire: Wire) -> None:
        if not wire.client_open and not wire.node_open:
            self._wires.pop(wire.number, None)


def find_wires(network: Network, **wanted: Any) -> list[Wire]:
    """Standing wires of a client or a node (`client=`, `node=`)."""
    return [
        wire
        for wire in network.wires()
        if all(getattr(wire, name) is value for name, value in wanted.items())
    ]
