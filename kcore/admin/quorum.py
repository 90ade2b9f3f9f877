"""The quorum of controllers: told (KIP-595), and its voters added and removed (KIP-853); brokers
(KIP-500) and controllers (Kafka 4.4) that are gone for good struck off.

Brokers pass all of it on to the controller that leads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from kcore.admin.asking import Ask, Reply
from kcore.admin.core import Procedure
from kcore.admin.rows import row_of
from kcore.admin.values import RaftVoterEndpoint
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    AddRaftVoterRequest,
    DescribeQuorumRequest,
    RemoveRaftVoterRequest,
    UnregisterBrokerRequest,
    UnregisterControllerRequest,
)

_TOPIC: Final = "__cluster_metadata"
_UNDO: Final = ("throttle_time_ms", "error_code", "error_message")
_HINTS: Final[Mapping[int, str]] = {
    ErrorCode.BROKER_ID_NOT_REGISTERED: "the controllers have no broker of this number registered: "
    "it never was, or is struck off already",
    ErrorCode.CONTROLLER_ID_NOT_REGISTERED: "no controller of this number is registered: it never "
    "was, or is struck off already",
    ErrorCode.DUPLICATE_VOTER: "describe_metadata_quorum tells the voters that there are",
    ErrorCode.VOTER_NOT_FOUND: "describe_metadata_quorum tells the voters that there are, with "
    "their directory ids",
    ErrorCode.UNSUPPORTED_VERSION: "voters can be altered where the feature kraft.version is 1 "
    "(KIP-853): a quorum of controller.quorum.voters is static",
}


def describe_metadata_quorum() -> Procedure[dict[str, Any]]:
    """kafka-python's {"topics": [{"topic_name", "partitions": [row]}], "nodes": [row]}."""

    def build(_keys: list[None], _version: int, _limit_ms: int) -> DescribeQuorumRequest:
        cls = DescribeQuorumRequest
        return DescribeQuorumRequest(
            topics=[cls.TopicData(topic_name=_TOPIC, partitions=[cls.PartitionData()])]
        )

    def read(body: Any, _version: int, _keys: list[None]) -> Iterable[Reply]:
        code, words = body.error_code, body.error_message
        for topic in body.topics:
            for part in topic.partitions:
                if not code:
                    code, words = part.error_code, part.error_message
        yield Reply(None, code, body, words)

    ask = Ask(
        ApiKey.DESCRIBE_QUORUM, (None,), "describing", build, read, name=lambda _key: "the quorum"
    )
    (outcome,) = yield [ask]
    body = outcome.all_done()[None]
    return {
        "topics": [
            {
                "topic_name": topic.topic_name,
                "partitions": [row_of(part, *_UNDO) | {"error": None} for part in topic.partitions],
            }
            for topic in body.topics
        ],
        "nodes": [row_of(node) for node in body.nodes],
    }


def add_raft_voter(
    voter_id: int,
    directory_id: UUID,
    endpoints: Sequence[RaftVoterEndpoint],
    cluster_id: str | None,
) -> Procedure[None]:
    """Have an observer of these endpoints vote."""

    def build(_keys: list[int], _version: int, limit_ms: int) -> AddRaftVoterRequest:
        return AddRaftVoterRequest(
            cluster_id=cluster_id,
            timeout_ms=limit_ms,
            voter_id=voter_id,
            voter_directory_id=directory_id.bytes,
            listeners=[
                AddRaftVoterRequest.Listener(name=one.name, host=one.host, port=one.port)
                for one in endpoints
            ],
        )

    yield from _change(ApiKey.ADD_RAFT_VOTER, voter_id, "adding voter", build)


def remove_raft_voter(voter_id: int, directory_id: UUID, cluster_id: str | None) -> Procedure[None]:
    """Have a voter vote no more."""

    def build(_keys: list[int], _version: int, _limit_ms: int) -> RemoveRaftVoterRequest:
        return RemoveRaftVoterRequest(
            cluster_id=cluster_id, voter_id=voter_id, voter_directory_id=directory_id.bytes
        )

    yield from _change(ApiKey.REMOVE_RAFT_VOTER, voter_id, "removing voter", build)


def unregister_broker(broker_id: int) -> Procedure[None]:
    """Strike off a broker that does not run any more."""

    def build(_keys: list[int], _version: int, _limit_ms: int) -> UnregisterBrokerRequest:
        return UnregisterBrokerRequest(broker_id=broker_id)

    yield from _change(ApiKey.UNREGISTER_BROKER, broker_id, "unregistering broker", build)


def unregister_controller(controller_id: int) -> Procedure[None]:
    """Strike off a controller that does not run any more."""

    def build(_keys: list[int], _version: int, _limit_ms: int) -> UnregisterControllerRequest:
        return UnregisterControllerRequest(controller_id=controller_id)

    yield from _change(
        ApiKey.UNREGISTER_CONTROLLER, controller_id, "unregistering controller", build
    )


def _change(
    api: ApiKey, key: int, what: str, build: Callable[[list[int], int, int], Any]
) -> Procedure[None]:
    def read(body: Any, _version: int, keys: list[int]) -> Iterable[Reply]:
        yield Reply(keys[0], body.error_code, None, body.error_message)

    (outcome,) = yield [Ask(api, (key,), what, build, read, changes=True, hints=_HINTS)]
    outcome.check(raise_errors=True)
