"""Metadata v0-13: nodes, topics by name or id, topics made when they are asked for."""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.cluster import Cluster
from kcore.broker.partitions import NOBODY, Partition
from kcore.broker.topics import Topic, check_name
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.wire.codes import ErrorCode
from kcore.wire.message import ZERO_UUID
from kcore.wire.messages import MetadataRequest, MetadataResponse

# From here on a topic that is not known by its id has no name in the answer.
_NULL_NAMES_VERSION = 12


def handle(call: Call, request: MetadataRequest) -> MetadataResponse:
    """The nodes and the topics asked for."""
    cluster = call.node.cluster
    response = MetadataResponse(
        brokers=[
            MetadataResponse.MetadataResponseBroker(
                node_id=node.node_id, host=node.host, port=node.port, rack=node.rack
            )
            for node in cluster.live_addresses
        ],
        cluster_id=cluster.config.cluster_id,
        controller_id=cluster.controller_id,
    )
    if request.topics is None or (call.version == 0 and not request.topics):
        response.topics = [_found(cluster, topic) for topic in cluster.topics.topics()]
        return response
    if call.version < _NULL_NAMES_VERSION and any(
        entry.topic_id != ZERO_UUID for entry in request.topics
    ):
        return _too_early(request)  # these versions have ids, and a Kafka takes none
    asked = {(entry.name, entry.topic_id): None for entry in request.topics}
    for name, topic_id in asked:
        if name is None or (not name and topic_id != ZERO_UUID):
            response.topics.append(_by_id(cluster, topic_id, call.version))
        else:
            response.topics.append(
                _by_name(cluster, name, may_create=request.allow_auto_topic_creation)
            )
    return response


def _too_early(request: MetadataRequest) -> MetadataResponse:
    return MetadataResponse(
        topics=[
            MetadataResponse.MetadataResponseTopic(
                error_code=ErrorCode.INVALID_REQUEST, name=entry.name or "", topic_id=entry.topic_id
            )
            for entry in request.topics or ()
        ]
    )


def _by_id(
    cluster: Cluster, topic_id: bytes, version: int
) -> MetadataResponse.MetadataResponseTopic:
    topic = cluster.topics.get(None, topic_id)
    if topic is not None:
        return _found(cluster, topic)
    return MetadataResponse.MetadataResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_ID,
        name=None if version >= _NULL_NAMES_VERSION else "",
        topic_id=topic_id,
    )


def _by_name(
    cluster: Cluster, name: str, *, may_create: bool
) -> MetadataResponse.MetadataResponseTopic:
    try:
        check_name(name)
        topic = cluster.ensure(name) if may_create else cluster.topics.get(name)
    except RefusedError as refused:
        return MetadataResponse.MetadataResponseTopic(error_code=refused.code, name=name)
    if topic is None:
        return MetadataResponse.MetadataResponseTopic(
            error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=name
        )
    return _found(cluster, topic)


def leader_error(partition: Partition) -> ErrorCode:
    """What there is to say of a partition that nobody leads."""
    return ErrorCode.LEADER_NOT_AVAILABLE if partition.leader == NOBODY else ErrorCode.NONE


def _found(cluster: Cluster, topic: Topic) -> MetadataResponse.MetadataResponseTopic:
    partitions = [
        MetadataResponse.MetadataResponsePartition(
            error_code=leader_error(partition),
            partition_index=number,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            replica_nodes=partition.replicas,
            isr_nodes=partition.isr,
            offline_replicas=[one for one in partition.replicas if one not in cluster.live],
        )
        for number, partition in enumerate(topic.partitions)
    ]
    return MetadataResponse.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=partitions,
    )
