"""A broker without I/O: see `kcore.broker.node`."""

from __future__ import annotations

from kcore.broker.authorization.config import AuthorizerConfig
from kcore.broker.batches import RefusedError
from kcore.broker.cluster import Cluster
from kcore.broker.config import BrokerConfig
from kcore.broker.log import PartitionLog
from kcore.broker.mishaps import Kind, LinkFault, Mishap
from kcore.broker.node import Node
from kcore.broker.options import LogConfig

__all__ = [
    "AuthorizerConfig",
    "BrokerConfig",
    "Cluster",
    "Kind",
    "LinkFault",
    "LogConfig",
    "Mishap",
    "Node",
    "PartitionLog",
    "RefusedError",
]
