"""What the links are told of the user's options; names and defaults as Java's."""

from __future__ import annotations

from kcore.connection.options import LinkOptions
from kcore.hints import TYPE_CHECKING
from kcore.values import Value

if TYPE_CHECKING:
    from kcore.connection.credentials import Credentials


class LinksConfig(Value):
    """Options of all links. `credentials`: None without SASL."""

    link: LinkOptions
    credentials: Credentials | None = None
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    setup_timeout_ms: int = 10_000
    setup_timeout_max_ms: int = 30_000
    connections_max_idle_ms: int = 540_000
    rebootstrap: bool = True  # metadata.recovery.strategy: ask the bootstrap again (KIP-899)
    check: bool = True  # metadata.cluster.check.enable: tell brokers whom we mean (KIP-1242)
