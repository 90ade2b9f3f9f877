"""The controllers asked in place of brokers (KIP-919): `bootstrap_controllers`.

What they are asked is what Java's KafkaAdminClient (4.3) lets through. All goes to the one that is
active, except for what only one of a number knows. They say who they are in DescribeCluster.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Any, Final

from kcore.admin.asking import Ask, Outcome, Reply, Route
from kcore.admin.values import ConfigResourceType
from kcore.connection.calls import Message
from kcore.errors import UnsupportedEndpointTypeError, UnsupportedVersionError
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import DescribeClusterRequest

ACTIVE: Final = "the active controller"  # a place beside numbers
SERVED: Final = frozenset(
    {
        ApiKey.API_VERSIONS,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.DESCRIBE_ACLS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.UNREGISTER_CONTROLLER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)
_CONTROLLERS: Final = 2  # an endpoint type
_TYPES_SINCE: Final = 1  # DescribeCluster with endpoint types (KIP-919, Kafka 3.7)


def for_controllers(ask: Ask) -> Ask:
    """A question as controllers are asked it. UnsupportedEndpointTypeError: they are not."""
    if ask.api not in SERVED:
        raise UnsupportedEndpointTypeError(
            f"{ask.what}: this cannot be asked of controllers ({ask.api.name.lower()} is about what"
            " brokers know); give bootstrap_servers in place of bootstrap_controllers"
        )
    if ask.route is Route.ANY:
        ask = replace(ask, route=Route.CONTROLLER)
    if ask.api is ApiKey.DESCRIBE_CLUSTER:
        return replace(ask, build=_of_controllers(ask))
    if ask.api is ApiKey.INCREMENTAL_ALTER_CONFIGS and ask.route is Route.BROKER:
        # Loggers are of one node; all else is written to the log of metadata.
        return replace(
            ask,
            place=lambda key: (
                ask.place(key) if key[0] is ConfigResourceType.BROKER_LOGGER else ACTIVE
            ),
        )
    return ask


def _of_controllers(ask: Ask) -> Any:
    def build(keys: list[Any], version: int, limit_ms: int) -> Message:
        request = ask.build(keys, version, limit_ms)
        assert isinstance(request, DescribeClusterRequest)
        return _typed(request, version)

    return build


def _typed(request: DescribeClusterRequest, version: int) -> DescribeClusterRequest:
    if version < _TYPES_SINCE:
        raise UnsupportedVersionError(
            "asking for the controllers: whoever answers is no controller of Kafka 3.7 or newer"
            " (KIP-919); check bootstrap_controllers"
        )
    request.endpoint_type = _CONTROLLERS
    request.include_fenced_brokers = False
    return request


def ask_controllers(route: Route, keys: list[Any]) -> Ask:
    """Which controllers there are: the active one, or those of numbers. Values: numbers."""

    def build(_keys: list[Any], version: int, _limit_ms: int) -> Message:
        return _typed(DescribeClusterRequest(), version)

    def read(body: Any, _version: int, keys: list[Any]) -> Iterable[Reply]:
        known = sorted(node.broker_id for node in body.brokers)
        for key in keys:
            wanted = body.controller_id if route is Route.CONTROLLER else key
            if body.error_code:
                yield Reply(key, body.error_code, words=body.error_message)
            elif wanted in known:
                yield Reply(key, 0, wanted)
            elif route is Route.CONTROLLER:
                yield Reply(key, ErrorCode.NOT_CONTROLLER, words="none is active now")
            else:
                words = f"there are controllers {', '.join(map(str, known))}"
                yield Reply(key, ErrorCode.BROKER_NOT_AVAILABLE, words=words)

    active = route is Route.CONTROLLER
    return Ask(
        ApiKey.DESCRIBE_CLUSTER,
        tuple(keys),
        "finding the active controller" if active else "finding controller",
        build,
        read,
        name=(lambda _key: "of the quorum") if active else str,
    )


def find_controller() -> Generator[list[Ask], list[Outcome], None]:
    """Whether there is one that is active."""
    (outcome,) = yield [ask_controllers(Route.CONTROLLER, [None])]
    outcome.check(raise_errors=True)
