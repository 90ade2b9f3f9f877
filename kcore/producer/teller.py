"""What a producer tells of itself (`kcore.cluster.client.Teller`): what its rooms and links have
measured, and how it stands now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcore.connection.measures import LinkMeasures
from kcore.meters import Reading
from kcore.wire.apis import ApiKey

if TYPE_CHECKING:
    from kcore.produce.accumulator import Accumulator
    from kcore.produce.measures import Measures
    from kcore.produce.sender import Sender
    from kcore.producer.config import ProducerConfig


class Teller:
    """See the module's text. links: what is measured of links."""

    def __init__(
        self,
        config: ProducerConfig,
        measures: Measures,
        accumulator: Accumulator,
        sender: Sender,
        now_ms: int,
    ) -> None:
        self.links = LinkMeasures(now_ms, [ApiKey.PRODUCE])
        self._config = config
        self._measures = measures
        self._accumulator = accumulator
        self._sender = sender

    def tell(self, now_ms: int) -> list[Reading]:
        """Everything."""
        readings = self._measures.tell(now_ms)
        budget, throttle = self._accumulator.budget, self.links.apis[ApiKey.PRODUCE].throttle
        readings[0].values.update(
            {
                **self.links.tell(now_ms),
                "produce-throttle-time-avg": throttle.average(now_ms),
                "produce-throttle-time-max": throttle.largest(now_ms),
                "requests-in-flight": float(self._sender.requests_in_flight),
                "buffer-total-bytes": float(budget.limit_bytes),
                "buffer-available-bytes": float(max(0, budget.limit_bytes - budget.held_bytes)),
                **({} if self._config.transactional_id is None else self._measures.verbs),
            }
        )
        return readings

    def labels(self) -> dict[str, str]:
        """What is told beside it when it is pushed."""
        transactional_id = self._config.transactional_id
        return {} if transactional_id is None else {"transactional_id": transactional_id}
