"""Where a record is, in aiokafka's words."""

from __future__ import annotations

from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple

CREATE_TIME, LOG_APPEND_TIME = 0, 1


class RecordMetadata(NamedTuple):
    """Where a record is; aiokafka's fields.

    offset: -1 if the broker did not say (acks=0). timestamp: ms; timestamp_type: 0, the record's
    own, 1, of the log append. log_start_offset: where the log began then, -1 if nobody said.
    """

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    timestamp_type: int
    log_start_offset: int


def unknown(tp: TopicPartition) -> RecordMetadata:
    """Of a record that was not delivered; for interceptors, which are given something always."""
    return RecordMetadata(*tp, tp, -1, -1, -1, -1)
