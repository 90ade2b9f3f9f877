"""What the clients of one node use of their quotas, and how long they have to wait (KIP-219).

Whoever is above a quota is answered at once, is told of it by `throttle_time_ms`, and nothing more
of that connection is served for so long. What is fetched is kept back then: the answer is empty.
Each node counts for itself, as a Kafka's do (Java: ClientQuotaManager).
"""

from __future__ import annotations

from collections import OrderedDict
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final

from kcore.broker.links import Turn
from kcore.broker.quotas.rates import Rate
from kcore.broker.quotas.table import CONSUMER, PRODUCER, REQUESTS
from kcore.timers import NEVER
from kcore.tuples import NamedTuple
from kcore.wire import frames
from kcore.wire.apis import ApiKey

if TYPE_CHECKING:
    from kcore.broker.calls import Call
    from kcore.broker.links import ClientLink
    from kcore.broker.quotas.quotas import Quotas
    from kcore.wire.message import Message

# Rates that are remembered; who has not been there for longest is forgotten first.
_RATES_MAX: Final = 10_000
# Of a thread's time, in percent of a second: what a request is taken to need. No clock is read
# while one is served.
_REQUEST_PERCENT: Final = 0.1
# Those before a client is known are nobody's; fetches have been counted when they were answered.
_EXEMPT: Final = frozenset(
    {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.FETCH, ApiKey.SHARE_FETCH}
)
_CORRELATION_BYTES: Final = 4
_WAITING: Final = frozenset({Turn.MUTED, Turn.LEAVING})
# Connections that are gone, of those that are kept because they wait.
_GONE_MAX: Final = 64


class Muted(NamedTuple):
    """A connection that waits until then; refused: it is closed by then."""

    until_ms: int
    order: int
    client: ClientLink
    refused: bool


class Throttle:
    """Of one node."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas
        self._rates: OrderedDict[tuple[str, str, str], Rate] = OrderedDict()
        self._muted: list[Muted] = []  # a heap
        self._muted_max = _GONE_MAX  # when to look for those that are gone
        self._order = count()

    # Counting ------------------------------------------------------------------------------------

    def charge(self, call: Call, message: Message | None) -> None:
        """A request is answered: say in the answer how long its client has to wait."""
        if not self._quotas.entries:
            return
        ms = int(getattr(message, "throttle_time_ms", 0))
        if call.key not in _EXEMPT:
            ms = max(ms, self._requests_ms(call))
        if call.key is ApiKey.PRODUCE:
            ms = max(ms, self._excess_ms(PRODUCER, call, call.link.served_bytes))
        if ms:
            if message is not None and hasattr(message, "throttle_time_ms"):
                message.throttle_time_ms = ms
            call.link.mute_ms = ms

    def fetched_ms(self, call: Call, answer: Message) -> int:
        """How long who is to get this has to wait; if he has to, he does not get it."""
        if not self._quotas.entries:
            return 0
        size = _size(answer, call.version)
        requests_ms = self._requests_ms(call)
        ms = max(requests_ms, self._excess_ms(CONSUMER, call, size))
        if ms:
            self._take_back(CONSUMER, call, size)
        return ms

    def fetch_bytes_max(self, call: Call, bytes_max: int) -> int:
        """As much as can be fetched at once without having to wait, at most."""
        limit = self._quotas.limit_of(CONSUMER, call)
        if limit is None:
            return bytes_max
        return int(min(limit.bound * self._quotas.windows.full_s, bytes_max))

    def connected_ms(self, host: str, now_ms: int) -> int:
        """An address has made a connection: how long until it is closed; 0: it may stay."""
        bound = self._quotas.connections_of(host)
        if bound is None:
            return 0
        rate = self._rate("", host, "")
        rate.record(1, now_ms)
        ms = min(rate.excess_ms(bound, now_ms), self._quotas.windows.size_ms)
        if ms:
            rate.record(-1, now_ms)
        return ms

    def _requests_ms(self, call: Call) -> int:
        ms = self._excess_ms(REQUESTS, call, _REQUEST_PERCENT)
        return min(ms, self._quotas.windows.size_ms)

    def _excess_ms(self, key: str, call: Call, amount: float) -> int:
        limit = self._quotas.limit_of(key, call)
        if limit is None:
            return 0
        now_ms = call.node.cluster.now_ms
        rate = self._rate(key, limit.user, limit.client_id)
        rate.record(amount, now_ms)
        return rate.excess_ms(limit.bound, now_ms)

    def _take_back(self, key: str, call: Call, amount: float) -> None:
        limit = self._quotas.limit_of(key, call)
        if limit is not None:
            rate = self._rate(key, limit.user, limit.client_id)
            rate.record(-amount, call.node.cluster.now_ms)

    def _rate(self, key: str, user: str, client_id: str) -> Rate:
        of = key, user, client_id
        rate = self._rates.get(of)
        if rate is None:
            rate = self._rates[of] = Rate(self._quotas.windows)
            if len(self._rates) > _RATES_MAX:
                self._rates.popitem(last=False)
        else:
            self._rates.move_to_end(of)
        return rate

    # Waiting -------------------------------------------------------------------------------------

    def mute(self, client: ClientLink, until_ms: int, *, refused: bool = False) -> None:
        """Nothing of it is served until then."""
        if len(self._muted) > self._muted_max:  # who is gone does not wait, and may for weeks
            self._muted = [one for one in self._muted if one.client.turn in _WAITING]
            heapify(self._muted)
            self._muted_max = 2 * len(self._muted) + _GONE_MAX
        heappush(self._muted, Muted(until_ms, next(self._order), client, refused))

    def due(self, now_ms: int) -> Muted | None:
        """The next one whose time is over."""
        if self._muted and self._muted[0].until_ms <= now_ms:
            return heappop(self._muted)
        return None

    def deadline(self) -> int:
        """When it is."""
        return self._muted[0].until_ms if self._muted else NEVER


def _size(answer: Message, version: int) -> int:
    """Bytes of an answer, as a Kafka counts them: with the length before it, without the header."""
    parts = frames.encode_response_parts(answer, version, 0)
    return sum(map(len, parts)) - _CORRELATION_BYTES - (version >= (answer.FLEXIBLE_FROM or 0))
