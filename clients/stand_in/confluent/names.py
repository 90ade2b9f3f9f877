"""What is where in confluent-kafka (2.16), and what of kcore it is."""

from __future__ import annotations

from typing import Any, Final

from kcore.clients.stand_in.confluent import constants, errors, structures
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
_VALUES: Final[dict[str, Any]] = {
    "TopicPartition": structures.TopicPartition,
    "Uuid": structures.Uuid,
}


def libversion() -> tuple[str, int]:
    """The librdkafka whose ways these are, as text and as a number."""
    return constants.LIBRDKAFKA


def version() -> str:
    """The confluent-kafka whose names these are."""
    return constants.VERSION


_VERSIONS: Final[dict[str, Any]] = {"libversion": libversion, "version": version}

MODULES: Final[Table] = {
    "confluent_kafka": {
        "__version__": constants.VERSION,
        **_ERRORS,
        **_NUMBERS,
        **_MODEL,
        **_VALUES,
        **_VERSIONS,
        "ThrottleEvent": structures.ThrottleEvent,
    },
    "confluent_kafka._model": _MODEL,
    "confluent_kafka.cimpl": {
        **_ERRORS,
        **_NUMBERS,
        **_VALUES,
        **_VERSIONS,
        **constants.FOR_ADMINS,
    },
    "confluent_kafka.error": {
        "KafkaError": errors.KafkaError,
        "KafkaException": errors.KafkaException,
    },
}
