"""Who this producer is to the brokers: the producer id and its epoch (KIP-98, KIP-360).

Asked for once, from any broker, when the first batch is due. An idempotent producer without a
transactional id raises its epoch by itself; at the last one it asks for a new id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kcore import errors
from kcore.connection.backoff import exponential
from kcore.connection.calls import Answer
from kcore.errors import BrokerResponseError, KafkaError, UnsupportedVersionError
from kcore.produce.batch import NO_PRODUCER
from kcore.produce.config import ProduceConfig
from kcore.produce.network import Links
from kcore.structs import Rng
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import InitProducerIdRequest

_EPOCH_MAX: Final = 32_767
_HINTS: Final = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: ": allow this principal to write to a topic (KIP-679; "
    "brokers before 2.8 want IdempotentWrite on the cluster), or give enable_idempotence=False",
}


class Identity:
    """See the module's text. producer_id: -1 while there is none."""

    def __init__(
        self,
        config: ProduceConfig,
        links: Links,
        rng: Rng,
        fail: Callable[[KafkaError, int], None],
    ) -> None:
        self.producer_id = NO_PRODUCER
        self.producer_epoch = -1
        self._config = config
        self._links = links
        self._rng = rng
        self._fail = fail
        self._asked = False
        self._retry_at = 0
        self._failures = 0

    @property
    def known(self) -> bool:
        """Whether batches can be numbered."""
        return self.producer_id != NO_PRODUCER

    def raise_epoch(self) -> None:
        """Go on under the next epoch; after the last one under a new id, once there is one."""
        if self.producer_epoch < _EPOCH_MAX:
            self.producer_epoch += 1
        else:
            self.producer_id, self.producer_epoch = NO_PRODUCER, -1

    def deadline(self) -> int:
        """When `ask` has something to do, if an id is needed."""
        return NEVER if self._asked else max(self._retry_at, self._links.next_retry_at())

    def ask(self, now_ms: int) -> None:
        """An id is needed: ask for one, if nobody has been asked and one can be."""
        if self._asked or now_ms < self._retry_at:
            return
        node = self._links.least_loaded(now_ms)
        if node is None:
            return
        self._links.send(
            node, ApiKey.INIT_PRODUCER_ID, _request, self._answered, now_ms, max_version=4
        )
        self._asked = True  # behind it: see ClientCore.handle_interrupted

    def _answered(self, answer: Answer, now_ms: int) -> None:
        self._asked = False
        body, error = answer.body, answer.error
        if body is not None and not body.error_code and body.producer_id >= 0:
            self.producer_id, self.producer_epoch = body.producer_id, body.producer_epoch
            self._failures = 0
            return
        if isinstance(error, UnsupportedVersionError):
            self._fail(
                UnsupportedVersionError(
                    "the brokers are too old for idempotence (they need 0.11): "
                    "give enable_idempotence=False"
                ),
                now_ms,
            )
            return
        if body is not None and body.error_code:
            kind: type[BrokerResponseError] = errors.for_code(body.error_code)
            if not kind.retriable:
                hint = _HINTS.get(body.error_code, "")
                self._fail(kind(f"no producer id was given (InitProducerId){hint}"), now_ms)
        config = self._config
        self._retry_at = now_ms + exponential(
            self._failures, config.retry_backoff_ms, config.retry_backoff_max_ms, self._rng
        )
        self._failures += 1


def _request(_version: int) -> InitProducerIdRequest:
    return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
