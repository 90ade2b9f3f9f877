"""What is where in kafka-python (3.0), and what of kcore it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final

from kcore import admin
from kcore.clients.admin import Admin
from kcore.clients.consumer import Consumer
from kcore.clients.deliveries import RecordFuture, RecordMetadata
from kcore.clients.producer import Producer
from kcore.clients.rebalance import ConsumerRebalanceListener
from kcore.clients.stand_in import shared
from kcore.clients.stand_in.modules import Table
from kcore.produce.murmur import murmur2
from kcore.records import ConsumerRecord
from kcore.structs import (
    ConsumerGroupMetadata,
    MemberState,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
)


class KafkaProducer(Producer):
    """kcore's Producer; with kafka-python's default partitioner it has its own."""

    def __init__(self, **options: Any) -> None:
        if isinstance(options.get("partitioner"), shared.DefaultPartitioner):
            del options["partitioner"]
        super().__init__(**options)


class Serializer(ABC):
    """What makes bytes of keys or values."""

    @abstractmethod
    def serialize(self, topic: str, headers: Any, data: Any) -> bytes | None:
        """The bytes."""

    def close(self) -> None:  # noqa: B027 - most have nothing to do there
        """It is not used any more."""


class Deserializer(ABC):
    """What makes keys or values of bytes."""

    @abstractmethod
    def deserialize(self, topic: str, headers: Any, data: bytes | None) -> Any:
        """The object."""

    def close(self) -> None:  # noqa: B027 - most have nothing to do there
        """It is not used any more."""


_CONSUMER: Final = {"KafkaConsumer": Consumer}
_PRODUCER: Final = {"KafkaProducer": KafkaProducer}
_ADMIN: Final = {"KafkaAdminClient": Admin}
_LISTENER: Final = {"ConsumerRebalanceListener": ConsumerRebalanceListener}
_SERIALIZERS: Final = {"Serializer": Serializer, "Deserializer": Deserializer}
_PARTITIONER: Final[dict[str, Any]] = {
    "DefaultPartitioner": shared.DefaultPartitioner,
    "murmur2": murmur2,
}
_STICKY: Final = {"StickyPartitionAssignor": shared.StickyPartitionAssignor}
_STRUCTS: Final[dict[str, Any]] = {
    "ConsumerGroupMetadata": ConsumerGroupMetadata,
    "MemberState": MemberState,
    "OffsetAndMetadata": OffsetAndMetadata,
    "OffsetAndTimestamp": OffsetAndTimestamp,
    "TopicPartition": TopicPartition,
    "TopicPartitionReplica": admin.TopicPartitionReplica,
}

_AT_THE_TOP: Final = (
    "ConsumerGroupMetadata",
    "OffsetAndMetadata",
    "TopicPartition",
    "TopicPartitionReplica",
)

MODULES: Final[Table] = {
    "kafka": {
        "__version__": "3.0.0",
        **_CONSUMER,
        **_PRODUCER,
        **_ADMIN,
        **_LISTENER,
        **_SERIALIZERS,
        **{name: _STRUCTS[name] for name in _AT_THE_TOP},
        "OffsetSpec": admin.OffsetSpec,
    },
    "kafka.admin": {**_ADMIN, **{name: getattr(admin, name) for name in admin.__all__}},
    "kafka.admin.client": _ADMIN,
    "kafka.consumer": _CONSUMER,
    "kafka.consumer.fetcher": {"ConsumerRecord": ConsumerRecord},
    "kafka.consumer.group": _CONSUMER,
    "kafka.consumer.subscription_state": _LISTENER,
    "kafka.coordinator": {},
    "kafka.coordinator.assignors": {},
    "kafka.coordinator.assignors.abstract": {"AbstractPartitionAssignor": shared.AssignorName},
    "kafka.coordinator.assignors.cooperative_sticky": {
        "CooperativeStickyAssignor": shared.CooperativeStickyAssignor
    },
    "kafka.coordinator.assignors.range": {"RangePartitionAssignor": shared.RangePartitionAssignor},
    "kafka.coordinator.assignors.roundrobin": {
        "RoundRobinPartitionAssignor": shared.RoundRobinPartitionAssignor
    },
    "kafka.coordinator.assignors.sticky": {},
    "kafka.coordinator.assignors.sticky.sticky_assignor": _STICKY,
    "kafka.errors": "kcore.errors",
    "kafka.partitioner": _PARTITIONER,
    "kafka.partitioner.default": _PARTITIONER,
    "kafka.producer": _PRODUCER,
    "kafka.producer.future": {
        "FutureRecordMetadata": RecordFuture,
        "RecordMetadata": RecordMetadata,
    },
    "kafka.producer.kafka": _PRODUCER,
    "kafka.record": {},
    "kafka.record.abc": {"ABCRecord": ConsumerRecord},  # what OpenTelemetry has in annotations
    "kafka.serializer": _SERIALIZERS,
    "kafka.serializer.abstract": _SERIALIZERS,
    "kafka.structs": _STRUCTS,
    "kafka.version": {"__version__": "3.0.0"},
}
