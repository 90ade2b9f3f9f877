"""One module an API (each coordinator's share one): versions and what is left out stand on top.

A handler takes a `Call` and the decoded request. It returns the answer, PARKED or UNANSWERED, and
raises nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kcore.broker.apis import (
    acls,
    alter_client_quotas,
    alter_configs,
    alter_partition_reassignments,
    alter_user_scram_credentials,
    api_versions,
    create_partitions,
    create_topics,
    delegation_tokens,
    delete_records,
    delete_topics,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_user_scram_credentials,
    elect_leaders,
    fetch,
    find_coordinator,
    get_telemetry_subscriptions,
    groups,
    incremental_alter_configs,
    list_config_resources,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_for_leader_epoch,
    produce,
    push_telemetry,
    sasl_authenticate,
    sasl_handshake,
    share_acknowledge,
    share_fetch,
    streams_group_heartbeat,
    transactions,
    txn_offset_commit,
    unregister_controller,
    update_features,
    write_txn_markers,
)
from kcore.broker.authorization.authorizer import Authorizer
from kcore.broker.calls import Call
from kcore.broker.features import NEEDED, switched_off
from kcore.broker.refusals import refusal
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.releases import highest_versions

__all__ = ["HANDLERS", "handlers", "offered", "unsupported_version"]

Handler = Callable[[Call, Any], Message | str]


def _in_time(handler: Handler) -> Handler:
    """Of what a controller does: nothing, where it is given no time, as by a Kafka's."""

    def handle(call: Call, request: Any) -> Message | str:
        if request.timeout_ms > 0:
            return handler(call, request)
        return refusal(request, call.version, ErrorCode.REQUEST_TIMED_OUT)

    return handle


def _finalized(handler: Handler, feature: str) -> Handler:
    """Of what is refused while the feature that it belongs to is at level 0 (KIP-584)."""

    def handle(call: Call, request: Any) -> Message | str:
        if call.node.cluster.features.is_off(feature):
            return switched_off(request, call.version)
        return handler(call, request)

    return handle


def _gated(handlers: Mapping[ApiKey, Handler]) -> dict[ApiKey, Handler]:
    return {key: _finalized(handlers[key], feature) for key, feature in NEEDED.items()}


HANDLERS: Final[dict[ApiKey, Handler]] = {
    ApiKey.PRODUCE: produce.handle,
    ApiKey.FETCH: fetch.handle,
    ApiKey.LIST_OFFSETS: list_offsets.handle,
    ApiKey.METADATA: metadata.handle,
    ApiKey.OFFSET_COMMIT: groups.handle,
    ApiKey.OFFSET_FETCH: groups.handle,
    ApiKey.FIND_COORDINATOR: find_coordinator.handle,
    ApiKey.JOIN_GROUP: groups.handle,
    ApiKey.HEARTBEAT: groups.handle,
    ApiKey.LEAVE_GROUP: groups.handle,
    ApiKey.SYNC_GROUP: groups.handle,
    ApiKey.DESCRIBE_GROUPS: groups.handle,
    ApiKey.LIST_GROUPS: groups.handle,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: groups.handle,
    ApiKey.CONSUMER_GROUP_DESCRIBE: groups.handle,
    ApiKey.SASL_HANDSHAKE: sasl_handshake.handle,
    ApiKey.API_VERSIONS: api_versions.handle,
    ApiKey.CREATE_TOPICS: _in_time(create_topics.handle),
    ApiKey.DELETE_TOPICS: _in_time(delete_topics.handle),
    ApiKey.DELETE_RECORDS: delete_records.handle,
    ApiKey.INIT_PRODUCER_ID: transactions.handle,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: offset_for_leader_epoch.handle,
    ApiKey.ADD_PARTITIONS_TO_TXN: transactions.handle,
    ApiKey.ADD_OFFSETS_TO_TXN: transactions.handle,
    ApiKey.END_TXN: transactions.handle,
    ApiKey.WRITE_TXN_MARKERS: write_txn_markers.handle,
    ApiKey.TXN_OFFSET_COMMIT: txn_offset_commit.handle,
    ApiKey.DESCRIBE_ACLS: acls.describe,
    ApiKey.CREATE_ACLS: acls.create,
    ApiKey.DELETE_ACLS: acls.delete,
    ApiKey.DESCRIBE_CONFIGS: describe_configs.handle,
    ApiKey.CREATE_PARTITIONS: _in_time(create_partitions.handle),
    ApiKey.CREATE_DELEGATION_TOKEN: delegation_tokens.create,
    ApiKey.RENEW_DELEGATION_TOKEN: delegation_tokens.renew,
    ApiKey.EXPIRE_DELEGATION_TOKEN: delegation_tokens.expire,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: delegation_tokens.describe,
    ApiKey.DELETE_GROUPS: groups.handle,
    ApiKey.ALTER_CONFIGS: alter_configs.handle,
    ApiKey.DESCRIBE_LOG_DIRS: describe_log_dirs.handle,
    ApiKey.SASL_AUTHENTICATE: sasl_authenticate.handle,
    ApiKey.ELECT_LEADERS: _in_time(elect_leaders.handle),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _in_time(alter_partition_reassignments.handle),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: list_partition_reassignments.handle,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: incremental_alter_configs.handle,
    ApiKey.OFFSET_DELETE: groups.handle,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: describe_client_quotas.handle,
    ApiKey.ALTER_CLIENT_QUOTAS: alter_client_quotas.handle,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: describe_user_scram_credentials.handle,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials.handle,
    ApiKey.DESCRIBE_QUORUM: describe_quorum.handle,
    ApiKey.UPDATE_FEATURES: update_features.handle,
    ApiKey.DESCRIBE_CLUSTER: describe_cluster.handle,
    ApiKey.DESCRIBE_PRODUCERS: describe_producers.handle,
    ApiKey.DESCRIBE_TRANSACTIONS: transactions.handle,
    ApiKey.LIST_TRANSACTIONS: transactions.handle,
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: get_telemetry_subscriptions.handle,
    ApiKey.PUSH_TELEMETRY: push_telemetry.handle,
    ApiKey.LIST_CONFIG_RESOURCES: list_config_resources.handle,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: describe_topic_partitions.handle,
    ApiKey.SHARE_GROUP_HEARTBEAT: groups.handle,
    ApiKey.SHARE_GROUP_DESCRIBE: groups.handle,
    ApiKey.SHARE_FETCH: share_fetch.handle,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: groups.handle,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: groups.handle,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: groups.handle,
    ApiKey.SHARE_ACKNOWLEDGE: share_acknowledge.handle,
    ApiKey.STREAMS_GROUP_HEARTBEAT: streams_group_heartbeat.handle,
    ApiKey.STREAMS_GROUP_DESCRIBE: groups.handle,
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: groups.handle,
    ApiKey.UNREGISTER_CONTROLLER: unregister_controller.handle,
}
HANDLERS.update(_gated(HANDLERS))

# What brokers with a plug-in serve besides (KIP-714).
_TELEMETRY: Final = frozenset({ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY})
_TELEMETRY_SINCE: Final = (3, 7)

unsupported_version = api_versions.unsupported


def handlers(authorizer: Authorizer | None) -> Mapping[ApiKey, Handler]:
    """Who serves each API; behind the authorizer, if there is one. Whether its feature is switched
    on comes first, as in a Kafka: nobody is asked who he is then.
    """
    if authorizer is None:
        return HANDLERS
    from kcore.broker.authorization.guard import guarded  # noqa: PLC0415 - few brokers have one

    served = guarded(authorizer, HANDLERS)
    return {**served, **_gated(served)}


def offered(release: tuple[int, int], *, telemetry: bool = True) -> dict[ApiKey, tuple[int, int]]:
    """API -> the lowest and highest version served as a node of this Kafka release; telemetry: one
    with a plug-in for it.
    """
    highest = dict(highest_versions(release))
    highest |= dict.fromkeys(_TELEMETRY, 0 if telemetry and release >= _TELEMETRY_SINCE else -1)
    return {
        key: (API_TABLE[key].min_version, min(API_TABLE[key].max_version, highest[key]))
        for key in HANDLERS
        if highest[key] >= API_TABLE[key].min_version
    }
