"""The cluster itself: its brokers, and what is on their disks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcore.admin.asking import Ask, Outcome, Reply, Route
from kcore.admin.core import Procedure
from kcore.admin.rows import operations_of, row_of
from kcore.cluster.refresh import metadata_request
from kcore.errors import BrokerNotAvailableError, UnsupportedVersionError
from kcore.wire.apis import ApiKey
from kcore.wire.messages import DescribeClusterRequest, DescribeLogDirsRequest

_FENCED_SINCE = 2  # DescribeCluster with brokers that are fenced (KIP-1073, Kafka 4.0)


def describe_cluster() -> Procedure[dict[str, Any]]:
    """kafka-python's {"cluster_id", "controller_id", "brokers", "authorized_operations"}."""
    (outcome,) = yield [_ask_cluster()]
    error = outcome.failed.get(None)
    if isinstance(error, UnsupportedVersionError):  # before 2.8 (KIP-700)
        (outcome,) = yield [ask_metadata()]
        return _from_metadata(outcome.all_done()[None])
    body = outcome.all_done()[None]
    return {
        "cluster_id": body.cluster_id,
        "controller_id": body.controller_id,
        "brokers": [row_of(broker) for broker in body.brokers],
        "authorized_operations": operations_of(body.cluster_authorized_operations),
    }


def _ask_cluster() -> Ask:
    def build(_keys: list[None], version: int, _limit_ms: int) -> DescribeClusterRequest:
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)
        request.include_fenced_brokers = version >= _FENCED_SINCE
        return request

    return Ask(ApiKey.DESCRIBE_CLUSTER, (None,), "describing", build, _read_whole, name=_whole)


def _read_whole(body: Any, _version: int, _keys: list[None]) -> Iterable[Reply]:
    yield Reply(None, body.error_code, body, getattr(body, "error_message", None))


def _whole(_key: None) -> str:
    return "the cluster"


def ask_metadata() -> Ask:
    """Which brokers there are, in any version. Value of the key None: a MetadataResponse."""

    def build(_keys: list[None], version: int, _limit_ms: int) -> Any:
        return metadata_request(set(), version, allow_auto_create=False)

    return Ask(ApiKey.METADATA, (None,), "describing", build, _read_whole, name=_whole)


def _from_metadata(body: Any) -> dict[str, Any]:
    return {
        "cluster_id": body.cluster_id,
        "controller_id": body.controller_id,
        "brokers": [
            {
                "broker_id": broker.node_id,
                "host": broker.host,
                "port": broker.port,
                "rack": broker.rack,
                "is_fenced": False,
            }
            for broker in body.brokers
        ],
        "authorized_operations": operations_of(body.cluster_authorized_operations),
    }


def of_brokers(
    brokers: Sequence[int] | None, make: Any
) -> Procedure[tuple[tuple[int, ...], Outcome]]:
    """`make(ids)`: a question to each of these brokers, or to all there are.

    One that has left the cluster meanwhile is no error if nobody has named it: then all are asked
    again, for what it had is with others now.
    """
    while True:
        wanted = brokers
        if wanted is None:
            (outcome,) = yield [ask_metadata()]
            wanted = [broker.node_id for broker in outcome.all_done()[None].brokers]
        (outcome,) = yield [make(tuple(wanted))]
        errors = outcome.failed.values()
        if brokers is None and any(type(error) is BrokerNotAvailableError for error in errors):
            continue
        return tuple(wanted), outcome


def describe_log_dirs(
    topics: Mapping[str, Sequence[int]] | None, brokers: Sequence[int] | None
) -> Procedure[list[dict[str, Any]]]:
    """kafka-python's [{"broker": id, "log_dirs": [...]}]. topics: of these partitions alone."""

    def build(_keys: list[int], _version: int, _limit_ms: int) -> DescribeLogDirsRequest:
        cls = DescribeLogDirsRequest.DescribableLogDirTopic
        if topics is None:
            return DescribeLogDirsRequest(topics=None)
        return DescribeLogDirsRequest(
            topics=[cls(topic=name, partitions=list(parts)) for name, parts in topics.items()]
        )

    def read(body: Any, _version: int, keys: list[int]) -> Iterable[Reply]:
        yield Reply(keys[0], body.error_code, [row_of(one) for one in body.results])

    def make(ids: tuple[int, ...]) -> Ask:
        return Ask(
            ApiKey.DESCRIBE_LOG_DIRS,
            ids,
            "describing the log directories of broker",
            build,
            read,
            route=Route.BROKER,
        )

    ids, outcome = yield from of_brokers(brokers, make)
    found = outcome.all_done()
    return [{"broker": node_id, "log_dirs": found[node_id]} for node_id in ids]
