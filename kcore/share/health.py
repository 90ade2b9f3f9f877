"""Why records come or do not, in a few words for people."""

from __future__ import annotations

from collections.abc import Iterable

from kcore.connection.calls import ClusterView
from kcore.share.exchange import Exchange
from kcore.structs import TopicPartition


def describe(
    exchange: Exchange, partitions: Iterable[TopicPartition], cluster: ClusterView
) -> dict[TopicPartition, str]:
    """Of each partition."""
    found: dict[TopicPartition, str] = {}
    for tp in sorted(partitions):
        leader = cluster.leader(tp)
        if leader is None:
            found[tp] = "no leader is known"
        elif cluster.topic_id(tp.topic) is None:
            found[tp] = "the topic has no id, which share groups need"
        else:
            found[tp] = exchange.state_of(leader.node_id)
    return found
