"""What is where in aiokafka (0.14), and what of kcore it is."""

from __future__ import annotations

from typing import Any, Final

from kcore import admin
from kcore.clients.consumer.rebalance import ConsumerRebalanceListener
from kcore.clients.producer.batches import ProducerBatch
from kcore.clients.producer.metadata import RecordMetadata
from kcore.clients.stand_in import aiokafka_classes as own
from kcore.clients.stand_in import shared
from kcore.clients.stand_in.modules import Table
from kcore.errors import ConsumerStoppedError, IllegalOperation
from kcore.produce.murmur import murmur2
from kcore.structs import TopicPartition

_STRUCTS: Final[dict[str, Any]] = {
    "ConsumerRecord": own.ConsumerRecord,
    "OffsetAndMetadata": own.OffsetAndMetadata,
    "OffsetAndTimestamp": own.OffsetAndTimestamp,
    "TopicPartition": TopicPartition,
}
_CONSUMER: Final = {"AIOKafkaConsumer": own.AIOKafkaConsumer}
_PRODUCER: Final = {"AIOKafkaProducer": own.AIOKafkaProducer}
_LISTENER: Final = {"ConsumerRebalanceListener": ConsumerRebalanceListener}
_ADMIN: Final = {"AIOKafkaAdminClient": own.AIOKafkaAdminClient}
_RESOURCE: Final = {
    "ConfigResource": admin.ConfigResource,
    "ConfigResourceType": admin.ConfigResourceType,
}
_PARTITIONS: Final = {"NewPartitions": admin.NewPartitions}
_TOPIC: Final = {"NewTopic": admin.NewTopic}
_RECORDS: Final = {"RecordsToDelete": admin.RecordsToDelete}
_STICKY: Final = {"StickyPartitionAssignor": shared.StickyPartitionAssignor}

MODULES: Final[Table] = {
    "aiokafka": {
        "__version__": "0.14.0",
        **_STRUCTS,
        **_CONSUMER,
        **_PRODUCER,
        **_LISTENER,
        "ConsumerStoppedError": ConsumerStoppedError,
        "IllegalOperation": IllegalOperation,
    },
    "aiokafka.abc": {**_LISTENER, "AbstractTokenProvider": own.AbstractTokenProvider},
    "aiokafka.admin": {**_ADMIN, **_PARTITIONS, **_TOPIC, **_RECORDS},
    "aiokafka.admin.client": _ADMIN,
    "aiokafka.admin.config_resource": _RESOURCE,
    "aiokafka.admin.new_partitions": _PARTITIONS,
    "aiokafka.admin.new_topic": _TOPIC,
    "aiokafka.admin.records_to_delete": _RECORDS,
    "aiokafka.consumer": _CONSUMER,
    "aiokafka.consumer.consumer": _CONSUMER,
    "aiokafka.coordinator": {},
    "aiokafka.coordinator.assignors": {},
    "aiokafka.coordinator.assignors.abstract": {"AbstractPartitionAssignor": shared.AssignorName},
    "aiokafka.coordinator.assignors.range": {
        "RangePartitionAssignor": shared.RangePartitionAssignor
    },
    "aiokafka.coordinator.assignors.roundrobin": {
        "RoundRobinPartitionAssignor": shared.RoundRobinPartitionAssignor
    },
    "aiokafka.coordinator.assignors.sticky": {},
    "aiokafka.coordinator.assignors.sticky.sticky_assignor": _STICKY,
    "aiokafka.errors": "kcore.errors",
    "aiokafka.helpers": {"create_ssl_context": own.create_ssl_context},
    "aiokafka.partitioner": {
        "DefaultPartitioner": shared.DefaultPartitioner,
        "murmur2": murmur2,
    },
    "aiokafka.producer": _PRODUCER,
    "aiokafka.producer.message_accumulator": {"BatchBuilder": ProducerBatch},
    "aiokafka.producer.producer": {**_PRODUCER, "_missing": own.MISSING},
    "aiokafka.structs": {**_STRUCTS, "RecordMetadata": RecordMetadata},
}
