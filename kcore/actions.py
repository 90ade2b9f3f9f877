"""What the core asks of its driver: small values, popped by `next_action()` until it answers
None.

A link is the core's own number for one connection attempt and what follows; it is never used twice.
"""

from __future__ import annotations

from kcore.enums import Enum
from kcore.values import Value, field

_assign = object.__setattr__


class Connect(Value):
    """Open a TCP connection to `host:port` and answer `handle_connected(link)` or
    `handle_closed(link, why)`.

    The driver resolves the name, or has a proxy do so. Of the addresses found (in the resolver's
    order) it takes number `address_index` modulo their count, and says `more_addresses=True` in
    `handle_closed` as long as `address_index + 1` is below that count: so the core walks through
    every address of a name (KIP-302) without ever seeing one. The core keeps the set-up timeout; it
    sends `Disconnect` when that is over.
    """

    link: int
    host: str
    port: int
    address_index: int = 0


class Send(Value):
    """Write `data` whole, in order, after everything sent on this link before."""

    link: int
    data: bytes

    def __init__(self, link: int, data: bytes) -> None:
        # Value's own goes by the names of the fields, which an idle consumer has to look for far
        # from its caches: a tenth of what such a turn costs.
        _assign(self, "link", link)
        _assign(self, "data", data)


class SendParts(Send):
    """A `Send` in parts, to be written in a row (`sendmsg`), so that large ones are not copied.

    Whoever asks for `data` gets them joined.
    """

    __slots__ = ("parts",)

    parts: list[bytes | memoryview]

    def __init__(self, link: int, parts: list[bytes | memoryview]) -> None:
        _assign(self, "link", link)
        _assign(self, "parts", parts)

    @property  # type: ignore[misc]  # it brings its own slots, so `data` is no field of it
    def data(self) -> bytes:
        """The parts, joined."""
        return b"".join(self.parts)


class Disconnect(Value):
    """Close the link (or give up opening it). The core has forgotten it: no `handle_closed` is
    owed, one is harmless.

    unanswered: how many requests have been sent that nobody waits for any more. A broker may leave
    the last of them unread if it meets a closed connection with the answers to the others.
    """

    link: int
    unanswered: int = 0


class FetchToken(Value):
    """Get a token for SASL/OAUTHBEARER and answer `handle_token(link, token, now_ms)`, or with None
    and why there is none. Asked for only with that mechanism, once for each authentication.
    """

    link: int


class GssapiCall(Enum):
    """What is called, by the name RFC 2743 has for it."""

    STEP = "GSS_Init_sec_context"
    UNWRAP = "GSS_Unwrap"
    WRAP = "GSS_Wrap"  # for integrity alone: nothing is encrypted


class CallGssapi(Value):
    """Call GSSAPI with `data` and answer `handle_gssapi(link, result, now_ms)`, or with None and
    what went wrong. Asked for only with the mechanism GSSAPI, one call of a link at a time; a STEP
    may ask a KDC, so it is nothing to wait for in the middle of a loop.

    context: what the last answer of this exchange gave as `context`, and None to begin: then a
    context is to be made to the service of `host`, by Kerberos, with mutual authentication and
    integrity. The core does not look into it.
    """

    link: int
    host: str
    call: GssapiCall
    data: bytes = field(repr=False)
    context: object = field(default=None, repr=False)


Action = Connect | Send | Disconnect | FetchToken | CallGssapi
