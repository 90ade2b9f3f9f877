"""The door of a node whose clients have to say who they are (SASL): who is let in, and who is not.

Before its client is known a connection may send what `sasl/states.py` takes then, in frames of a
bounded size. Who is refused is told so after a while, in which nothing of him is read, and then
turned away (Kafka: connection.failed.authentication.delay.ms), so that guessing takes its time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kcore.broker.calls import Call
from kcore.broker.links import ClientLink, Turn
from kcore.broker.refusals import refusal
from kcore.broker.sasl.authenticator import Authenticator
from kcore.broker.sasl.config import SaslConfig
from kcore.broker.sasl.mechanisms import RefusalError
from kcore.broker.sasl.states import Taken
from kcore.timers import NEVER
from kcore.tuples import NamedTuple
from kcore.wire import frames
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.frames import FrameReader
from kcore.wire.message import Message
from kcore.wire.messages import ApiVersionsRequest, ProduceRequest

if TYPE_CHECKING:
    from kcore.broker.node import Node

_LENGTH_BYTES: Final = 4

Parts = list[bytes | memoryview]


class Hands(NamedTuple):
    """What a node does for its door: write to a client, end its connection, take note of a bug that
    ends it; whether it is still there.
    """

    send: Callable[[ClientLink, Parts], None]
    drop: Callable[[ClientLink], None]
    fail: Callable[[ClientLink, Exception], None]
    has: Callable[[ClientLink], bool]


class Door:
    """Of one node."""

    def __init__(self, node: Node, config: SaslConfig, hands: Hands) -> None:
        self._node = node
        self._config = config
        self._hands = hands
        # Who goes when, and what is said to him: in this order, as all wait equally long.
        self._leaving: deque[tuple[int, ClientLink, Parts]] = deque()

    def meet(self, client: ClientLink) -> None:
        """Somebody is there."""
        cluster = self._node.cluster
        client.sasl = Authenticator(self._config, cluster.users, cluster.tokens, cluster.rng)

    def takes(self, client: ClientLink, complete: list[memoryview], now_ms: int) -> bool:
        """Whether frames are taken in, and the one that has begun."""
        if client.sasl is not None and not client.sasl.known and client.turn is not Turn.LEAVING:
            largest = max([_open_bytes(client.reader), *map(len, complete)])
            if largest > self._config.sasl_server_max_receive_size:
                self._refuse(client, [], now_ms)
        return client.turn is not Turn.LEAVING

    def refuse_bytes(self, client: ClientLink, now_ms: int) -> None:
        """What came is no frame, or too large a one for anybody."""
        if client.sasl is None or client.sasl.known:
            self._hands.drop(client)
        elif client.turn is not Turn.LEAVING:
            self._refuse(client, [], now_ms)

    def admits(self, client: ClientLink, frame: memoryview, now_ms: int) -> bool:
        """Whether a request is served, by what is known of its client; what is to be done is done
        if not. ProtocolError: it costs its connection.
        """
        sasl = client.sasl
        if sasl is None:
            return True
        taken = sasl.look(frame, now_ms)
        if taken is Taken.TOKEN:
            self._take_token(client, sasl, frame, now_ms)
        elif taken is Taken.CLOSED:
            self._hands.drop(client)
        elif taken is Taken.FAILED:
            self._refuse(client, [], now_ms)
        elif taken is Taken.WRONG_TIME:
            self._answer_wrong_time(client, frame, now_ms)
        return taken is Taken.SERVED

    def turn_away(self, call: Call, message: Message | None) -> None:
        """Who sent this is refused. None: nothing is said."""
        parts: Parts = []
        if message is not None:
            parts = frames.encode_response_parts(message, call.version, call.correlation_id)
        self._refuse(call.link, parts, call.now_ms)

    def expire(self, now_ms: int) -> None:
        """Say it to those who have waited long enough, and let them go."""
        while self._leaving and self._leaving[0][0] <= now_ms:
            _, client, parts = self._leaving.popleft()
            self._part_with(client, parts)

    def deadline(self) -> int:
        """When the next one goes."""
        return self._leaving[0][0] if self._leaving else NEVER

    def clear(self) -> None:
        """All are gone."""
        self._leaving.clear()

    def _take_token(
        self, client: ClientLink, sasl: Authenticator, frame: memoryview, now_ms: int
    ) -> None:
        """A step of a mechanism without a header (SaslHandshake v0)."""
        try:
            answer, _ = sasl.step(bytes(frame), now_ms, self._node.cluster.wall_ms(now_ms))
        except RefusalError as refused:
            if refused.misfit:
                self._hands.drop(client)
            else:
                self._refuse(client, [], now_ms)
        except Exception as error:  # noqa: BLE001 - one request must not end everybody's node
            self._hands.fail(client, error)
        else:
            client.signed_in()
            if answer is None:
                client.turn = Turn.IDLE
                client.served_bytes = 0
            else:
                self._hands.send(client, [len(answer).to_bytes(_LENGTH_BYTES, "big") + answer])

    def _answer_wrong_time(self, client: ClientLink, frame: memoryview, now_ms: int) -> None:
        request = frames.decode_request(frame)
        call = Call(self._node, client, request, now_ms)
        lowest, highest = self._node.versions.get(call.key, (0, -1))
        message = request.message if lowest <= call.version <= highest else None
        if message is None and call.key is ApiKey.API_VERSIONS:
            message, call.version = ApiVersionsRequest(), 0
        if message is None or (isinstance(message, ProduceRequest) and not message.acks):
            self._hands.drop(client)
        else:
            self.turn_away(call, refusal(message, call.version, ErrorCode.ILLEGAL_SASL_STATE))

    def _refuse(self, client: ClientLink, parts: Parts, now_ms: int) -> None:
        assert client.sasl is not None
        client.sasl.refuse()
        client.turn = Turn.LEAVING
        client.reader = FrameReader(0)  # what has begun of a frame is not kept meanwhile
        delay_ms = self._config.connection_failed_authentication_delay_ms
        if delay_ms:
            self._leaving.append((now_ms + delay_ms, client, parts))
        else:
            self._part_with(client, parts)

    def _part_with(self, client: ClientLink, parts: Parts) -> None:
        if self._hands.has(client):
            if parts:
                self._hands.send(client, parts)
            self._hands.drop(client)


def _open_bytes(reader: FrameReader) -> int:
    """How large the frame is that has begun; 0 if none has, or its length is not known yet."""
    missing = reader.missing_bytes
    return missing and missing + reader.pending_bytes - _LENGTH_BYTES
