"""One broker node, without I/O: bytes in, bytes out, time as an input.

    world                                         Node
      a client connected, from this host   -->    handle_connected
      bytes of it                          -->    receive_buffer, receive_advance (or handle_data)
      what was sent on it is written       -->    handle_sent
      TLS stands, with this certificate    -->    handle_secured
      it is gone                           -->    handle_closed
      time has come                        -->    handle_deadline
      Send, Disconnect                     <--    next_action
      when to come back                    <--    deadline
      whether to read on                   <--    reads

One input, drain `next_action` of every node of the cluster, next input: what one node does may let
another one answer. A frame that cannot be read costs its sender the connection, and nothing else;
`faults` stays empty unless there is a bug here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from kcore.actions import Action, Disconnect, Send, SendParts
from kcore.broker import apis
from kcore.broker.calls import UNANSWERED, Call
from kcore.broker.cluster import Cluster
from kcore.broker.config import FAULTS_MAX
from kcore.broker.crowd import Crowd
from kcore.broker.features import SHARES
from kcore.broker.fetches import Fetches
from kcore.broker.groups import Groups
from kcore.broker.links import USER, ClientLink, Turn
from kcore.broker.mishaps import Kind, Mishap, Refused
from kcore.broker.refusals import refusal
from kcore.broker.sessions import Sessions
from kcore.broker.share.shares import Shares
from kcore.broker.telemetry.desk import Desk
from kcore.broker.transactions import Transactions
from kcore.broker.upkeep import Upkeep
from kcore.errors import KafkaError, ProtocolError, UsageError
from kcore.timers import NEVER
from kcore.wire import frames
from kcore.wire.apis import ApiKey
from kcore.wire.message import Message
from kcore.wire.messages import ProduceRequest

if TYPE_CHECKING:
    from kcore.broker.door import Door
    from kcore.broker.quotas.quotas import Quotas
    from kcore.broker.quotas.throttle import Throttle

Serve = Callable[[Call, Message], None]


class Node:
    """A node of `cluster`, by its id there."""

    def __init__(self, cluster: Cluster, node_id: int, now_ms: int) -> None:
        if node_id not in cluster.addresses or node_id in cluster.nodes:
            raise UsageError(f"node {node_id} is not known to the cluster, or is there already")
        self.cluster = cluster
        self.node_id = node_id
        self.versions = apis.offered(
            cluster.config.release, telemetry=cluster.config.client_telemetry
        )
        self._handlers = apis.handlers(cluster.authorizer)
        self.fetches = Fetches()
        self.desk = Desk()
        self.sessions = Sessions(cluster.rng, cluster.config.sessions)
        self.shares = Shares(self)
        self.groups = Groups(self, now_ms)
        self.transactions = Transactions(self, now_ms)
        self.faults: deque[Exception] = deque(maxlen=FAULTS_MAX)
        self._links = Crowd(cluster.config.crowd)
        self._actions: deque[Action] = deque()
        self._delayed: list[tuple[int, int, Call, Message, Serve]] = []  # a heap
        self._order = count()
        self._paused = False
        self._blocked: list[tuple[Call, Message]] = []  # answers that do not pass now
        self._upkeep = Upkeep(cluster, node_id, now_ms)
        self._door = self._made_door()  # None: nobody is asked who he is
        self.throttle: Throttle | None = None  # None: no quota was ever set
        if cluster.quotas is not None:
            self.begin_throttling(cluster.quotas)
        cluster.nodes[node_id] = self

    def _made_door(self) -> Door | None:
        config = self.cluster.config.sasl
        if config is None:
            return None
        # Only for who asks: a broker in a test is up sooner without.
        from kcore.broker.door import Door, Hands  # noqa: PLC0415

        return Door(self, config, Hands(self._send, self._drop, self._fail, self._links.has))

    def begin_throttling(self, quotas: Quotas) -> None:
        """There is a quota now: count what clients use."""
        from kcore.broker.quotas.throttle import Throttle  # noqa: PLC0415 - few brokers have any

        self.throttle = Throttle(quotas)

    def finalized(self) -> None:
        """Levels of features have been set."""
        self.transactions.finalized()
        if self.cluster.features.is_off(SHARES):
            self.shares.clear()  # who reads on, when there are share groups again, begins anew

    # World in ------------------------------------------------------------------------------------

    def handle_connected(self, link: int, host: str, now_ms: int) -> None:
        """A client connected from `host`. Link numbers are the driver's, and never used twice."""
        if link in self._links:
            raise UsageError(f"link {link} is there already")
        client = ClientLink(link, host, self.cluster.config.max_request_bytes, now_ms)
        if self._door is not None:
            self._door.meet(client)
        if not self._links.admit(client, self.cluster.settings.crowd(self.node_id)):
            self._actions.append(Disconnect(link))
        elif self.throttle is not None:
            ms = self.throttle.connected_ms(host, now_ms)
            if ms:  # it is not heard, and closed after that (KIP-612)
                client.turn = Turn.LEAVING
                self.throttle.mute(client, now_ms + ms, refused=True)

    def handle_secured(self, link: int, name: str | None, _now_ms: int) -> None:
        """TLS stands on a link. name: of its client's certificate, as a Kafka writes it; None: it
        has none. Who has to say by SASL who he is, is that, whatever his certificate says.
        """
        client = self._links.get(link)
        if client is not None and client.sasl is None and name is not None:
            client.principal = f"{USER}{name}"

    def receive_buffer(self, link: int) -> memoryview:
        """Writable room for the next bytes, never empty. LookupError: the link is not known."""
        client = self._links.get(link)
        if client is None:
            raise LookupError(f"link {link} is not known")
        return client.reader.buffer()

    def receive_advance(self, link: int, n: int, now_ms: int) -> None:
        """The first `n` bytes of the buffer lent are filled; the loan ends."""
        client = self._links.get(link)
        if client is not None:
            try:
                complete = client.reader.advance(n)
            except (ProtocolError, MemoryError):
                self._refuse_bytes(client, now_ms)
                return
            self._take(client, complete, now_ms)

    def handle_data(self, link: int, data: bytes | memoryview, now_ms: int) -> None:
        """Bytes that are elsewhere, copied."""
        client = self._links.get(link)
        if client is not None:
            try:
                complete = client.reader.feed(data)
            except (ProtocolError, MemoryError):
                self._refuse_bytes(client, now_ms)
                return
            self._take(client, complete, now_ms)

    def handle_sent(self, link: int, now_ms: int) -> None:
        """Everything sent on the link so far is written: its next request may begin."""
        self.cluster.now_ms = now_ms
        client = self._links.get(link)
        if client is not None and client.turn is Turn.SENDING:
            self._end_turn(client, now_ms)
            client.answer_bytes = 0
            self._links.touch(client, now_ms)
            self._serve(client, now_ms)

    def handle_closed(self, link: int, _why: str, now_ms: int) -> None:
        """The connection is gone. Ignored if it is not known."""
        self.cluster.now_ms = now_ms
        client = self._links.get(link)
        if client is not None:
            self._links.remove(client)
            self._forget(client)

    def handle_deadline(self, now_ms: int) -> None:
        """The time that `deadline` said has come. Harmless when it has not."""
        if self._paused:
            return
        self.cluster.now_ms = now_ms
        idle = self._links.idle(now_ms)  # first: who is answered below was not silent
        while idle is not None:
            self._drop(idle)
            idle = self._links.idle(now_ms)
        self._handle_delayed(now_ms)
        if self.throttle is not None:
            self._unmute(self.throttle, now_ms)
        if self._door is not None:
            self._door.expire(now_ms)
        self.cluster.replication.expire(self.node_id, now_ms)
        self.cluster.settle_coordinators(now_ms)
        self.shares.expire(now_ms)  # first: who waits may get what is free now
        self.fetches.expire(now_ms)
        self.groups.expire(now_ms)
        self.transactions.expire(now_ms)
        self._upkeep.expire(now_ms)

    def stop(self, now_ms: int) -> None:
        """The node goes down: its connections end and its groups are kept elsewhere. It may come
        back.
        """
        self._paused = False
        self._blocked.clear()
        if self._door is not None:
            self._door.clear()
        self.shares.clear()  # first: nobody gives anything back
        for client in self._links:
            self._drop(client)
        self.sessions.clear()
        self.groups.take_over(now_ms)
        self.transactions.take_over(now_ms)
        self._upkeep.stop()

    # Mishaps -------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stand still, as a process that is stopped: connections stay, nothing is said on them."""
        self._paused = True

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self._paused

    def resume(self, now_ms: int) -> None:
        """Go on: what has come meanwhile is served, and what has expired meanwhile is expired."""
        if self._paused:
            self._paused = False
            self.cluster.now_ms = now_ms
            self.fetches.recheck_all()
            self.release(now_ms)

    def release(self, now_ms: int) -> None:
        """Links have been mended: what did not pass passes now, unless it is blocked still."""
        self.cluster.now_ms = now_ms
        blocked, self._blocked = self._blocked, []
        for call, message in blocked:
            self.answer(call, message)
        for client in list(self._links):
            if client.turn is Turn.BLOCKED:
                client.turn = Turn.IDLE
            self._serve(client, now_ms)

    # Out -----------------------------------------------------------------------------------------

    def next_action(self) -> Action | None:
        """The next Send or Disconnect; None when there is nothing to do."""
        if self._paused:
            return None
        return self._actions.popleft() if self._actions else None

    def deadline(self) -> int:
        """When `handle_deadline` is to be called."""
        if self._paused:
            return NEVER
        delayed = self._delayed[0][0] if self._delayed else NEVER
        return min(
            delayed,
            NEVER if self._door is None else self._door.deadline(),
            NEVER if self.throttle is None else self.throttle.deadline(),
            self._upkeep.deadline(),
            self.fetches.deadline(),
            self.shares.deadline(),
            self.groups.deadline(),
            self.transactions.deadline(),
            self._links.deadline(),
            self.cluster.replication.deadline(self.node_id),
        )

    def reads(self, link: int) -> bool:
        """Whether bytes of the link are wanted now; asked again after each input."""
        client = self._links.get(link)
        return client is not None and client.open_for_more and not self._paused

    @property
    def link_count(self) -> int:
        """How many clients are connected."""
        return len(self._links)

    # Serving -------------------------------------------------------------------------------------

    def answer(self, call: Call, message: Message) -> None:
        """The answer to a request that is being served; dropped if its client is gone."""
        client = call.link
        if self._links.has(client):
            if self.cluster.mishaps.blocked(self.node_id, call.client_id):
                self._blocked.append((call, message))
                return
            if call.lost:  # not at once: who answers may be about to answer others
                self._delay(call, message, 0, self._hang_up)
                return
            if call.parts is not None:
                call.parts.put_back(message)
            if self.throttle is not None:
                self.throttle.charge(call, message)
            try:
                parts = frames.encode_response_parts(message, call.version, call.correlation_id)
            except KafkaError as error:
                self._fail(client, error)
                return
            self._send(client, parts)

    def _send(self, client: ClientLink, parts: list[bytes | memoryview]) -> None:
        client.turn = Turn.SENDING
        client.served_bytes = 0
        first = parts[0]
        if isinstance(first, bytes):
            self._actions.append(Send(client.number, first))
            client.answer_bytes = len(first)
        else:
            self._actions.append(SendParts(client.number, parts))
            # It is a slice of our own bytes; the rest is the logs', whoever reads it.
            client.answer_bytes = memoryview(first.obj).nbytes
        self._count(client)

    def _end_turn(self, client: ClientLink, now_ms: int) -> None:
        """Its next request may begin; later, if it was throttled (KIP-219)."""
        client.turn = Turn.IDLE
        if client.mute_ms and self.throttle is not None:
            client.turn = Turn.MUTED
            self.throttle.mute(client, now_ms + client.mute_ms)
            client.mute_ms = 0

    def _unmute(self, throttle: Throttle, now_ms: int) -> None:
        """Go on with those who have waited long enough."""
        muted = throttle.due(now_ms)
        while muted is not None:
            client = muted.client
            if muted.refused:
                self._drop(client)
            elif client.turn is Turn.MUTED:
                client.turn = Turn.IDLE
                self._serve(client, now_ms)
            muted = throttle.due(now_ms)

    def hang_up(self, call: Call) -> None:
        """End the connection of a request: the only way to tell who wants no answer."""
        self._drop(call.link)

    def turn_away(self, call: Call, message: Message | None) -> None:
        """Its client has not proven who it is: see `Door`."""
        assert self._door is not None
        self._door.turn_away(call, message)

    def _refuse_bytes(self, client: ClientLink, now_ms: int) -> None:
        """What came is no frame, or too large a one."""
        self.cluster.now_ms = now_ms
        if self._door is None:
            self._drop(client)
        else:
            self._door.refuse_bytes(client, now_ms)

    def _take(self, client: ClientLink, complete: list[memoryview], now_ms: int) -> None:
        """Bytes have come, and with them these requests."""
        self.cluster.now_ms = now_ms
        if self._door is not None and not self._door.takes(client, complete, now_ms):
            return
        if complete:
            client.queue(complete)
            self._links.touch(client, now_ms)
        self._serve(client, now_ms)

    def _count(self, client: ClientLink) -> None:
        """Whoever makes us keep most goes when it is too much in all."""
        greedy = self._links.count(client)
        while greedy is not None:
            self._drop(greedy)
            greedy = self._links.count(client)

    def _serve(self, client: ClientLink, now_ms: int) -> None:
        """Serve requests of one client until one is parked, or an answer has to be written."""
        frame = None if self._paused else client.next_frame()
        while frame is not None:
            client.turn = Turn.SERVING
            try:
                self._serve_frame(client, frame, now_ms)
            except ProtocolError:
                self._drop(client)
            frame = client.next_frame()
        self._count(client)

    def _serve_frame(self, client: ClientLink, frame: memoryview, now_ms: int) -> None:
        if self._door is not None and not self._door.admits(client, frame, now_ms):
            return
        request = frames.decode_request(frame)
        call = Call(self, client, request, now_ms)
        if self.cluster.mishaps.blocked(self.node_id, call.client_id):
            client.put_back(frame)
            return
        lowest, highest = self.versions.get(request.api_key, (0, -1))
        known = request.message is not None and lowest <= request.api_version <= highest
        if not known and request.api_key is not ApiKey.API_VERSIONS:
            self._drop(client)
            return
        if not known:
            call.version = 0
            self.answer(call, apis.unsupported_version(call))
            return
        assert request.message is not None
        delay_ms = self.cluster.mishaps.delay_ms(self.node_id, call.client_id)
        if delay_ms:
            self._delay(call, request.message, delay_ms, self._begin)
            return
        self._begin(call, request.message)

    def _begin(self, call: Call, message: Message) -> None:
        """Serve a request, unless a test asked for something else."""
        mishap = self.cluster.mishaps.take(call, message)
        if mishap is None:
            self._handle(call, message)
        elif isinstance(mishap, Mishap):
            self._suffer(mishap, call, message)
        else:
            self._serve_rest(mishap, call, message)

    def _handle(self, call: Call, message: Message) -> None:
        try:
            result = self._handlers[call.key](call, message)
        except Exception as error:  # noqa: BLE001 - one request must not end everybody's node
            self._fail(call.link, error)
            return
        self.cluster.settle_coordinators(call.now_ms)
        if isinstance(result, Message):
            self.answer(call, result)
        elif result is UNANSWERED:
            if self.throttle is not None:
                self.throttle.charge(call, None)
            self._end_turn(call.link, self.cluster.now_ms)
            call.link.served_bytes = 0

    def _suffer(self, mishap: Mishap, call: Call, message: Message) -> None:
        """What a test asked to happen to this request."""
        silent = isinstance(message, ProduceRequest) and not message.acks
        if mishap.kind is Kind.DELAYED:
            self._delay(call, message, mishap.delay_ms, self._handle)
        elif mishap.kind is Kind.LOST:
            call.lost = True
            self._handle(call, message)
            if silent:
                self._drop(call.link)
        elif mishap.kind is Kind.CUT or silent:
            self._drop(call.link)
        else:
            self.answer(call, refusal(message, call.version, mishap.error))

    def _serve_rest(self, refused: Refused, call: Call, message: Message) -> None:
        """Parts of this request are refused."""
        from kcore.broker.parts import Parts  # noqa: PLC0415 - only for who asks

        silent = isinstance(message, ProduceRequest) and not message.acks
        call.parts = Parts(call, message, refused)
        if call.parts.rest is not None:
            self._handle(call, call.parts.rest)
        elif not silent:
            self.answer(call, call.parts.answer)
        if silent:
            self._drop(call.link)

    def _delay(self, call: Call, message: Message, delay_ms: int, then: Serve) -> None:
        heappush(self._delayed, (call.now_ms + delay_ms, next(self._order), call, message, then))

    def _hang_up(self, call: Call, _answer: Message) -> None:
        self._drop(call.link)

    def _handle_delayed(self, now_ms: int) -> None:
        while self._delayed and self._delayed[0][0] <= now_ms:
            _, _, call, message, then = heappop(self._delayed)
            if self._links.has(call.link):
                call.now_ms = now_ms
                then(call, message)
                self._serve(call.link, now_ms)  # who got no answer may go on

    def _fail(self, client: ClientLink, error: Exception) -> None:
        """A bug of ours: it is kept for who asks, and its request is not answered."""
        self.faults.append(error)
        self._drop(client)

    def _drop(self, client: ClientLink) -> None:
        """End a connection from here."""
        if self._links.remove(client):
            self._actions.append(Disconnect(client.number))
            self._forget(client)

    def _forget(self, client: ClientLink) -> None:
        client.turn = Turn.SERVING  # nothing of it begins any more
        client.frames.clear()
        if self._blocked:
            self._blocked = [held for held in self._blocked if held[0].link is not client]
        self.desk.forget(client.number)
        self.fetches.forget(client)
        self.shares.handle_closed(client.number)
        self.groups.handle_closed(client.number)
        self.transactions.handle_closed(client.number)
