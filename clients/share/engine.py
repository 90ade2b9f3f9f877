"""An engine (`engine.py`) of a share consumer: nobody has to be asked when partitions come or go,
and a callback hears what brokers made of acknowledgements.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kcore.clients.engine import Engine
from kcore.errors import KafkaError
from kcore.events import Event, PartitionsAssigned, RecordsAcknowledged
from kcore.structs import TopicPartition

Offsets = dict[TopicPartition, set[int]]
AcknowledgementCallback = Callable[[Offsets, KafkaError | None], object]


class ShareEngine(Engine):
    """acknowledged: what to call with what was acknowledged, in a later call of the user's."""

    acknowledged: AcknowledgementCallback | None = None

    def _sort(self, event: Event) -> None:
        match event:
            case PartitionsAssigned():
                self.reporter.report(event, self.pump.now_ms())
            case RecordsAcknowledged():
                if self.acknowledged is not None:
                    offsets = {at for first, last in event.ranges for at in range(first, last + 1)}
                    told = {event.partition: offsets}
                    self.calls.append(partial(self.acknowledged, told, event.error))
                self.reporter.report(event, self.pump.now_ms())
            case _:
                super()._sort(event)
