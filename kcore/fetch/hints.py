"""Who leads a partition now, as an answer about it says (KIP-951)."""

from __future__ import annotations

from kcore.connection.calls import ClusterView
from kcore.hints import Any
from kcore.structs import Leader, Node, TopicPartition


def learn_leader(cluster: ClusterView, tp: TopicPartition, data: Any, body: Any) -> None:
    """Take the hint in `data`, a partition of the answer `body`, if there is one (F6)."""
    hint = data.current_leader
    if hint.leader_id < 0 or hint.leader_epoch < 0:
        return
    node = next(
        (
            Node(end.node_id, end.host, end.port, end.rack)
            for end in body.node_endpoints
            if end.node_id == hint.leader_id
        ),
        None,
    )
    cluster.learn_leader(tp, Leader(hint.leader_id, hint.leader_epoch), node)
