"""What a link ends with, and what is said of one that was not set up, by what it was at."""

from __future__ import annotations

from collections.abc import Mapping

from kcore.actions import CallGssapi, FetchToken
from kcore.connection.calls import node_id_of
from kcore.connection.states import LinkInput, LinkState
from kcore.errors import (
    AuthenticationFailedError,
    AuthenticationMethodNotSupported,
    FrameError,
    KafkaError,
    ProtocolError,
    ProxyAuthenticationError,
    ProxyError,
)
from kcore.hints import Final

# How TLS answers a peer that does not speak it; as the length of a frame it would be 352 MB.
_TLS_ALERT: Final = b"\x15\x03"

# What the link was at when its set-up time ran out.
_UNFINISHED: Final[Mapping[LinkState, str]] = {
    LinkState.CONNECTING: "connect",
    LinkState.GREETING: "answer the greeting",
    LinkState.AUTHENTICATING: "answer the authentication",
}
# Who did not answer in time, if it was not the broker.
_UNANSWERED: Final[Mapping[type, str]] = {
    FetchToken: "no token came in time to authenticate at {} with",
    CallGssapi: "Kerberos gave nothing in time to authenticate at {} with (is its KDC there?)",
}
_STRANGER: Final = " (does it want TLS, or is it no Kafka?)"
# A broker says nothing when what it hears makes no sense to it; it only hangs up.
CLOSED_EARLY: Final[Mapping[LinkState, str]] = {
    LinkState.GREETING: f" before it answered the greeting{_STRANGER}",
    LinkState.AUTHENTICATING: " during authentication (some brokers refuse credentials this way)",
}


def overdue(
    state: LinkState, wanted: type[FetchToken | CallGssapi] | None, where: str, through: str
) -> str:
    """Why a set-up ended when its time was over; wanted: what the driver was to find out."""
    if wanted is not None:
        return _UNANSWERED[wanted].format(where)
    hint = _STRANGER if state is LinkState.GREETING else ""
    return f"{where} did not {_UNFINISHED[state]}{through} within the set-up timeout{hint}"


def of_peer(
    error: ProtocolError | AuthenticationFailedError, node: int, where: str
) -> tuple[LinkInput, KafkaError]:
    """What a link ends with whose peer said this."""
    if isinstance(error, AuthenticationFailedError):
        node_id = node_id_of(node)
        if node_id >= 0:
            where = f"node {node_id} at {where}"
        error.args = (f"{where}: {error.args[0]}", *error.args[1:])
        return LinkInput.REJECTED, error
    if isinstance(error, FrameError) and error.start.startswith(_TLS_ALERT):
        needs_tls = f"{where} speaks TLS: use security_protocol SSL or SASL_SSL"
        return LinkInput.REJECTED, AuthenticationMethodNotSupported(needs_tls)
    return LinkInput.MALFORMED, error


def at_proxy(
    text: str, via: str, host: str, port: int, *, untrusted: bool
) -> ProxyAuthenticationError | ProxyError:
    """Why there was no way through a proxy; untrusted: it refuses who we are."""
    kind = ProxyAuthenticationError if untrusted else ProxyError
    return kind(text, proxy=via, host=host, port=port)
