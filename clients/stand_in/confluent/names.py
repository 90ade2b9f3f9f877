"""What is where in confluent-kafka (2.16), and what of kcore it is."""

from __future__ import annotations

from typing import Any, Final

from kcore.clients.stand_in.confluent import (
    admin_names,
    aio,
    aio_serializing,
    constants,
    errors,
    serialization,
    serializing,
    structures,
)
from kcore.clients.stand_in.confluent.consumer import Consumer
from kcore.clients.stand_in.confluent.messages import Message
from kcore.clients.stand_in.confluent.partitioners import consistent, fnv1a, murmur2
from kcore.clients.stand_in.confluent.producer import Producer
from kcore.clients.stand_in.confluent.share import ShareConsumer
from kcore.clients.stand_in.modules import Table

_ERRORS: Final[dict[str, Any]] = {
    "ConcurrentModificationException": errors.ConcurrentModificationException,
    "IllegalStateException": errors.IllegalStateException,
    "KafkaError": errors.KafkaError,
    "KafkaException": errors.KafkaException,
}
_NUMBERS: Final[dict[str, Any]] = {
    "OFFSET_BEGINNING": constants.OFFSET_BEGINNING,
    "OFFSET_END": constants.OFFSET_END,
    "OFFSET_INVALID": constants.OFFSET_INVALID,
    "OFFSET_STORED": constants.OFFSET_STORED,
    "TIMESTAMP_CREATE_TIME": constants.TIMESTAMP_CREATE_TIME,
    "TIMESTAMP_LOG_APPEND_TIME": constants.TIMESTAMP_LOG_APPEND_TIME,
    "TIMESTAMP_NOT_AVAILABLE": constants.TIMESTAMP_NOT_AVAILABLE,
}
_MODEL: Final[dict[str, Any]] = {
    name: getattr(structures, name)
    for name in (
        "AcknowledgeType",
        "ConsumerGroupState",
        "ConsumerGroupTopicPartitions",
        "ConsumerGroupType",
        "ElectionType",
        "IsolationLevel",
        "Messages",
        "Node",
        "TopicCollection",
        "TopicPartitionInfo",
    )
}


def libversion() -> tuple[str, int]:
    """The librdkafka whose ways these are, as text and as a number."""
    return constants.LIBRDKAFKA


def version() -> str:
    """The confluent-kafka whose names these are."""
    return constants.VERSION


_OF_C: Final[dict[str, Any]] = {
    **_ERRORS,
    **_NUMBERS,
    "Consumer": Consumer,
    "Message": Message,
    "Producer": Producer,
    "ShareConsumer": ShareConsumer,
    "TopicPartition": structures.TopicPartition,
    "Uuid": structures.Uuid,
    "consistent": consistent,
    "fnv1a": fnv1a,
    "libversion": libversion,
    "murmur2": murmur2,
    "version": version,
}
_SERIALIZING_PRODUCER: Final = {"SerializingProducer": serializing.SerializingProducer}
_DESERIALIZING_CONSUMER: Final = {"DeserializingConsumer": serializing.DeserializingConsumer}
_DESERIALIZING_SHARE_CONSUMER: Final = {
    "DeserializingShareConsumer": serializing.DeserializingShareConsumer
}
_SERDES: Final[dict[str, Any]] = {
    name: getattr(serialization, name)
    for name in (
        "Deserializer",
        "DeserializerBuilder",
        "DoubleDeserializer",
        "DoubleSerializer",
        "IntegerDeserializer",
        "IntegerSerializer",
        "MessageField",
        "SerializationContext",
        "SerializationError",
        "Serializer",
        "SerializerBuilder",
        "StringDeserializer",
        "StringSerializer",
    )
}
_SERDE_ERRORS: Final[dict[str, Any]] = {
    name: getattr(serialization, name)
    for name in (
        "ConsumeError",
        "KeyDeserializationError",
        "KeySerializationError",
        "ProduceError",
        "SerializationError",
        "ValueDeserializationError",
        "ValueSerializationError",
    )
}
_AIO: Final[dict[str, Any]] = {
    "AIOConsumer": aio.AIOConsumer,
    "AIOProducer": aio.AIOProducer,
    "AsyncDeserializingConsumer": aio_serializing.AsyncDeserializingConsumer,
    "AsyncSerializingProducer": aio_serializing.AsyncSerializingProducer,
}

_TOP: Final[dict[str, Any]] = {
    **_OF_C,
    **_MODEL,
    **_SERIALIZING_PRODUCER,
    **_DESERIALIZING_CONSUMER,
    **_DESERIALIZING_SHARE_CONSUMER,
    "ThrottleEvent": structures.ThrottleEvent,
}

MODULES: Final[Table] = {
    **admin_names.MODULES,
    "confluent_kafka": {"__version__": constants.VERSION, "__all__": sorted(_TOP), **_TOP},
    "confluent_kafka._model": _MODEL,
    "confluent_kafka.aio": {"__all__": sorted(_AIO), **_AIO},
    "confluent_kafka.cimpl": {**_OF_C, **constants.FOR_ADMINS, **admin_names.NEW},
    "confluent_kafka.deserializing_consumer": _DESERIALIZING_CONSUMER,
    "confluent_kafka.deserializing_share_consumer": _DESERIALIZING_SHARE_CONSUMER,
    "confluent_kafka.error": {
        "KafkaError": errors.KafkaError,
        "KafkaException": errors.KafkaException,
        **_SERDE_ERRORS,
    },
    "confluent_kafka.serialization": {"__all__": sorted(_SERDES), **_SERDES},
    "confluent_kafka.serializing_producer": _SERIALIZING_PRODUCER,
}
