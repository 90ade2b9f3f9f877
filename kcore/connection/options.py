"""What every link of one client has in common."""

from __future__ import annotations

from collections.abc import Mapping

from kcore import limits
from kcore.values import Value, field
from kcore.wire.apis import ApiKey


class LinkOptions(Value):
    """See the module's text.

    kept_ms: how long brokers may keep a request that has nothing to tell (a fetch).
    via: the proxy that all connections go through, for people; "" if there is none.
    highest: API -> the highest version to speak, -1 for none at all (see kcore.wire.releases); what
    it does not list is capped by nobody.
    """

    client_id: str
    request_timeout_ms: int = 30_000
    kept_ms: int = 0
    max_frame_bytes: int = limits.MAX_FRAME_BYTES
    max_in_flight: int = 100
    software_name: str = "kcore"
    software_version: str = "0"
    via: str = ""
    highest: Mapping[ApiKey, int] = field(default_factory=dict)
