"""What is where in kafka-python (3.0), and what of kcore it is."""

from __future__ import annotations

from typing import Any, Final

from kcore import admin
from kcore.clients.consumer.rebalance import ConsumerRebalanceListener
from kcore.clients.producer.deliveries import RecordFuture, RecordMetadata
from kcore.clients.stand_in import kafka_python_classes as own
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

_CONSUMER: Final = {"KafkaConsumer": own.KafkaConsumer}
_PRODUCER: Final = {"KafkaProducer": own.KafkaProducer}
_ADMIN: Final = {"KafkaAdminClient": own.KafkaAdminClient}
_LISTENER: Final = {"ConsumerRebalanceListener": ConsumerRebalanceListener}
_ABSTRACT: Final = {"Serializer": own.Serializer, "Deserializer": own.Deserializer}
_TEXT: Final = {"DefaultSerializer": own.DefaultSerializer}
_JSON: Final = {"JsonSerializer": own.JsonSerializer}
_SERIALIZERS: Final = {**_ABSTRACT, **_TEXT, **_JSON}
_PARTITIONER: Final[dict[str, Any]] = {
    "DefaultPartitioner": own.DefaultPartitioner,
    "murmur2": murmur2,
}
_ANY_PARTITIONER: Final = {"Partitioner": own.Partitioner}
_STICKING: Final = {"StickyPartitioner": own.StickyPartitioner}
_TOKENS: Final = {"AbstractTokenProvider": own.AbstractTokenProvider}
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
        "IsolationLevel": own.IsolationLevel,
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
    "kafka.net": {},
    "kafka.net.sasl": {},
    "kafka.net.sasl.oauth": _TOKENS,
    "kafka.partitioner": {**_PARTITIONER, **_ANY_PARTITIONER, **_STICKING},
    "kafka.partitioner.abc": _ANY_PARTITIONER,
    "kafka.partitioner.default": _PARTITIONER,
    "kafka.partitioner.sticky": _STICKING,
    "kafka.producer": _PRODUCER,
    "kafka.producer.future": {
        "FutureRecordMetadata": RecordFuture,
        "RecordMetadata": RecordMetadata,
    },
    "kafka.producer.kafka": _PRODUCER,
    "kafka.record": {},
    "kafka.record.abc": {"ABCRecord": ConsumerRecord},  # what OpenTelemetry has in annotations
    "kafka.serializer": _SERIALIZERS,
    "kafka.serializer.abstract": _ABSTRACT,
    "kafka.serializer.default": _TEXT,
    "kafka.serializer.json": _JSON,
    "kafka.structs": _STRUCTS,
    "kafka.version": {"__version__": "3.0.0"},
}
