"""DescribeQuorum v0-2: the nodes as voters of a static quorum (`controller.quorum.voters`), led by
the one that is the controller.

Left out: there is no metadata log. Its offsets are half seconds, in which a Kafka's controller
writes a record that says nothing; nodes that are down are told as not known.
"""

from __future__ import annotations

from typing import Final

from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import DescribeQuorumRequest, DescribeQuorumResponse

_TOPIC: Final = "__cluster_metadata"
_LISTENER: Final = "CONTROLLER"
_NODES_SINCE: Final = 2  # KIP-853
_RECORD_MS: Final = 500  # metadata.max.idle.interval.ms

_R: Final = DescribeQuorumResponse


def handle(call: Call, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """The one partition that there is, if it and nothing else is asked for."""
    numbers = [[part.partition_index for part in topic.partitions] for topic in request.topics]
    known = numbers == [[0]] and request.topics[0].topic_name == _TOPIC
    response = _R(
        topics=[
            _R.TopicData(
                topic_name=topic.topic_name,
                partitions=[_quorum(call)] if known else [_unknown(number) for number in parts],
            )
            for topic, parts in zip(request.topics, numbers, strict=True)
        ]
    )
    if known and call.version >= _NODES_SINCE:
        response.nodes = [
            _R.Node(
                node_id=at.node_id,
                listeners=[_R.Listener(name=_LISTENER, host=at.host, port=at.port)],
            )
            for at in call.node.cluster.addresses.values()
        ]
    return response


def _unknown(number: int) -> DescribeQuorumResponse.PartitionData:
    return _R.PartitionData(
        partition_index=number,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message="This server does not host this topic-partition.",
    )


def _quorum(call: Call) -> DescribeQuorumResponse.PartitionData:
    cluster, now_ms = call.node.cluster, call.now_ms
    end, wall_ms = now_ms // _RECORD_MS + 1, cluster.wall_ms(now_ms)
    return _R.PartitionData(
        leader_id=cluster.controller_id,
        leader_epoch=cluster.controller_epoch,
        high_watermark=end,
        current_voters=[
            _R.ReplicaState(
                replica_id=node_id,
                log_end_offset=end,
                last_fetch_timestamp=wall_ms,
                last_caught_up_timestamp=wall_ms,
            )
            if node_id in cluster.live
            else _R.ReplicaState(replica_id=node_id, log_end_offset=-1)
            for node_id in cluster.node_ids
        ],
    )
