"""How much a request may change of topics (KIP-599): everything, unless a quota is set."""

from __future__ import annotations

from typing import Final, Protocol

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode


class Mutations(Protocol):
    """What one request changes. throttle_ms: how long its client has to wait for it."""

    throttle_ms: int

    @property
    def unlimited(self) -> bool:
        """Whether nothing is counted."""

    def check(self, count: int) -> None:
        """So many partitions are made or deleted; RefusedError if that has to wait."""


class _Unlimited:
    throttle_ms = 0
    unlimited = True

    def check(self, count: int) -> None:
        """As many as it likes."""


_UNLIMITED: Final = _Unlimited()


def mutations_of(call: Call, strict_since: int) -> Mutations:
    """What a request may change; before that version it may always, and waits afterwards."""
    quotas = call.node.cluster.quotas
    if quotas is None:
        return _UNLIMITED
    return quotas.mutations(call, strict=call.version >= strict_since)


def text_of(refused: RefusedError) -> str | None:
    """What is said beside the code: nothing, if it is that of a quota, as by a Kafka."""
    return None if refused.code is ErrorCode.THROTTLING_QUOTA_EXCEEDED else refused.why or None
