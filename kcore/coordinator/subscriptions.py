"""The one thing a coordinator reads in its members' metadata: which topics they subscribe to.

It keeps offsets of these from being deleted or expiring. Only the part that every version of the
subscription has is read (ConsumerProtocolSubscription, version 0).
"""

from __future__ import annotations

from collections.abc import Iterable

from kcore.errors import ProtocolError
from kcore.wire import codec
from kcore.wire.messages import ConsumerProtocolSubscription

_PREFIX_BYTES = 2  # int16 version


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """All topics of these members; None if one of them cannot be read."""
    topics: set[str] = set()
    for data in subscriptions:
        if len(data) < _PREFIX_BYTES or data[0] & 0x80:  # a negative version
            return None
        body = memoryview(data)[_PREFIX_BYTES:]
        try:
            found = codec.decode(ConsumerProtocolSubscription, 0, body, allow_trailing=True)
        except ProtocolError:
            return None
        topics.update(found.topics)
    return frozenset(topics)
