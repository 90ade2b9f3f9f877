"""What clusters look like to `list_topics` of every client, and groups to `list_groups`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kcore.admin.core import Procedure
from kcore.admin.topics import ask_topics
from kcore.clients.stand_in.confluent.errors import KafkaError, words_of


class ClusterMetadata:
    """A cluster: its brokers by number, topics by name, and who has told of them."""

    def __init__(self) -> None:
        self.cluster_id: str | None = None
        self.controller_id = -1
        self.brokers: dict[int, BrokerMetadata] = {}
        self.topics: dict[str, TopicMetadata] = {}
        self.orig_broker_id = -1
        self.orig_broker_name: str | None = None

    def __repr__(self) -> str:
        return f"ClusterMetadata({self.cluster_id})"

    def __str__(self) -> str:
        return str(self.cluster_id)


class BrokerMetadata:
    """A broker: number, host, port."""

    def __init__(self) -> None:
        self.id = -1
        self.host: str | None = None
        self.port = -1

    def __repr__(self) -> str:
        return f"BrokerMetadata({self.id}, {self.host}:{self.port})"

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.id}"


class TopicMetadata:
    """A topic: its partitions by number, and what is wrong with it."""

    def __init__(self) -> None:
        self.topic: str | None = None
        self.partitions: dict[int, PartitionMetadata] = {}
        self.error: KafkaError | None = None

    def __repr__(self) -> str:
        wrong = "" if self.error is None else f", {self.error}"
        return f"TopicMetadata({self.topic}, {len(self.partitions)} partitions{wrong})"

    def __str__(self) -> str:
        return str(self.topic)


class PartitionMetadata:
    """A partition: the numbers of its leader (-1: none), its replicas, those in sync."""

    def __init__(self) -> None:
        self.id = -1
        self.leader = -1
        self.replicas: list[int] = []
        self.isrs: list[int] = []
        self.error: KafkaError | None = None

    def __repr__(self) -> str:
        wrong = "" if self.error is None else f", {self.error}"
        return f"PartitionMetadata({self.id}{wrong})"

    def __str__(self) -> str:
        return str(self.id)


class GroupMember:
    """A member of a group; metadata and assignment as the bytes of its protocol."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.client_id: str | None = None
        self.client_host: str | None = None
        self.metadata: bytes | None = None
        self.assignment: bytes | None = None


class GroupMetadata:
    """A group, as the broker that coordinates it has it."""

    def __init__(self) -> None:
        self.broker: BrokerMetadata | None = None
        self.id: str | None = None
        self.error: KafkaError | None = None
        self.state: str | None = None
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.members: list[GroupMember] = []

    def __repr__(self) -> str:
        wrong = "" if self.error is None else f", {self.error}"
        return f"GroupMetadata({self.id}{wrong})"

    def __str__(self) -> str:
        return str(self.id)


def ask_cluster(topic: str | None, servers: Sequence[str]) -> Procedure[ClusterMetadata]:
    """The cluster with all topics, or with one: which is made, where brokers make topics that are
    asked for. servers: of the bootstrap.
    """
    wanted = None if topic is None else [topic]
    (outcome,) = yield [ask_topics(wanted, create=topic is not None)]
    return _cluster(outcome.all_done()[None], outcome.nodes[None], servers)


def _cluster(body: Any, node_id: int, servers: Sequence[str]) -> ClusterMetadata:
    told = ClusterMetadata()
    told.cluster_id, told.controller_id = body.cluster_id, body.controller_id
    told.brokers = {broker.node_id: broker_of(broker) for broker in body.brokers}
    told.topics = {topic.name: _topic(topic) for topic in body.topics}
    if node_id in told.brokers:
        told.orig_broker_id, told.orig_broker_name = node_id, str(told.brokers[node_id])
    elif -len(servers) <= node_id < 0:
        told.orig_broker_name = f"{servers[-1 - node_id]}/bootstrap"
    return told


def broker_of(row: Any) -> BrokerMetadata:
    """A broker, of a row of brokers that brokers tell."""
    told = BrokerMetadata()
    told.id, told.host, told.port = row.node_id, row.host, row.port
    return told


def _topic(row: Any) -> TopicMetadata:
    told = TopicMetadata()
    told.topic, told.error = row.name, error_of(row.error_code)
    for part in row.partitions:
        made = PartitionMetadata()
        made.id, made.leader = part.partition_index, part.leader_id
        made.replicas, made.isrs = list(part.replica_nodes), list(part.isr_nodes)
        made.error = error_of(part.error_code)
        told.partitions[made.id] = made
    return told


def error_of(code: int) -> KafkaError | None:
    """What a broker's code says; None: nothing is wrong."""
    return KafkaError(code, words_of(code)) if code else None
