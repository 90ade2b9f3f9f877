"""DescribeProducers v0 (KIP-664): who writes to a partition, where an open transaction begins; any
replica says so.
"""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.topics import Topic, check_name
from kcore.wire.messages import DescribeProducersRequest, DescribeProducersResponse

_NO_TRANSACTION = -1

Described = DescribeProducersResponse.PartitionResponse


def handle(call: Call, request: DescribeProducersRequest) -> DescribeProducersResponse:
    """The producers of each partition."""
    response = DescribeProducersResponse()
    for entry in request.topics:
        topic = call.node.cluster.topics.get(entry.name)
        response.topics.append(
            DescribeProducersResponse.TopicResponse(
                name=entry.name,
                partitions=[
                    _describe(call, entry.name, topic, number) for number in entry.partition_indexes
                ],
            )
        )
    return response


def _describe(call: Call, name: str, topic: Topic | None, number: int) -> Described:
    try:
        check_name(name)
        here = call.node.node_id
        log = call.node.cluster.host(here, topic, number).logs[here]
    except RefusedError as refused:
        why = refused.why if topic is None else None  # a Kafka has no text with other errors
        return Described(partition_index=number, error_code=refused.code, error_message=why)
    result = Described(partition_index=number, error_message=None)
    for producer_id, known in log.sequences:
        first_offset = log.transactions.first_offset(producer_id)
        result.active_producers.append(
            DescribeProducersResponse.ProducerState(
                producer_id=producer_id,
                producer_epoch=known.epoch,
                last_sequence=known.last_sequence,
                last_timestamp=known.last_timestamp,
                coordinator_epoch=known.coordinator_epoch,
                current_txn_start_offset=_NO_TRANSACTION if first_offset is None else first_offset,
            )
        )
    return result
