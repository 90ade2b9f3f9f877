"""The transaction coordinator's APIs, in all versions it has (see kcore.coordinator.transactions):

InitProducerId v0-5, AddPartitionsToTxn v0-5, AddOffsetsToTxn v0-4, EndTxn v0-5,
DescribeTransactions v0, ListTransactions v0-2.

Left out: two-phase commit (KIP-939); patterns of ListTransactions with groups (KIP-1152).
"""

from __future__ import annotations

from kcore.broker.calls import PARKED, Call
from kcore.wire.message import Message


def handle(call: Call, request: Message) -> str:
    """The coordinator answers, now or later."""
    call.node.transactions.request(call, request)
    return PARKED
