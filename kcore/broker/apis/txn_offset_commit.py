"""TxnOffsetCommit v0-6: the group coordinator's, once the transaction coordinator has been asked
whether the group's offsets are in the transaction (KIP-890); v5 adds them.
"""

from __future__ import annotations

from typing import Final

from kcore.broker.calls import PARKED, Call
from kcore.broker.verification import ask_coordinator, support
from kcore.coordinator import partition_for
from kcore.coordinator.appends import answered
from kcore.coordinator.commits import txn_commit_response
from kcore.coordinator.journal import OFFSETS_TOPIC
from kcore.structs import TopicPartition
from kcore.wire.messages import TxnOffsetCommitRequest, TxnOffsetCommitResponse

_ABORTABLE_VERSION: Final = 4


def handle(call: Call, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse | str:
    """Store offsets that count when the transaction is committed."""
    cluster = call.node.cluster
    response, wanted = txn_commit_response(cluster.topics, request, call.version)
    if not wanted:
        return response
    count = cluster.config.coordinator.offsets_topic_num_partitions
    number = partition_for(request.group_id, count)
    if request.group_id and call.node.groups.keeps(number):
        errors = ask_coordinator(
            call.node,
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            [TopicPartition(OFFSETS_TOPIC, number)],
            support(call.version, _ABORTABLE_VERSION),
            call.now_ms,
        )
        for error in errors.values():
            for one in wanted:
                one.result.error_code = answered(error)
            return response
    call.node.groups.request(call, request)
    return PARKED
