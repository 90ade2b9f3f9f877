"""The highest version of each API that Kafka releases serve: what `api_version` caps us to.

A user who states the release of the brokers wants only what that release had spoken to them:
brokers, proxies and mocks that advertise more than they can do are talked to in this way, as with
kafka-python. A release between two columns counts as the older one, one before the first as the
first. APIs that are not listed are not capped. Source: what brokers of these releases advertise.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from kcore.hints import Final
from kcore.wire.apis import ApiKey

RELEASES: Final = (
    (2, 1),
    (2, 4),
    (2, 8),
    (3, 0),
    (3, 5),
    (3, 7),
    (3, 9),
    (4, 0),
    (4, 1),
    (4, 2),
    (4, 3),
    (4, 4),
)

# One column a release; -1: not there yet.
_HIGHEST: Final[Mapping[ApiKey, tuple[int, ...]]] = {
    ApiKey.PRODUCE: (7, 8, 9, 9, 9, 10, 11, 12, 13, 13, 13, 13),
    ApiKey.FETCH: (10, 11, 12, 12, 15, 16, 17, 17, 18, 18, 18, 18),
    ApiKey.LIST_OFFSETS: (4, 5, 6, 7, 8, 8, 9, 10, 10, 11, 11, 11),
    ApiKey.METADATA: (7, 9, 11, 11, 12, 12, 12, 13, 13, 13, 13, 13),
    ApiKey.OFFSET_COMMIT: (6, 8, 8, 8, 8, 9, 9, 9, 9, 10, 10, 10),
    ApiKey.OFFSET_FETCH: (5, 6, 7, 8, 8, 9, 9, 9, 9, 10, 10, 10),
    ApiKey.FIND_COORDINATOR: (2, 3, 3, 4, 4, 4, 6, 6, 6, 6, 6, 6),
    ApiKey.JOIN_GROUP: (3, 6, 7, 7, 9, 9, 9, 9, 9, 9, 9, 9),
    ApiKey.HEARTBEAT: (2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4),
    ApiKey.LEAVE_GROUP: (2, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5),
    ApiKey.SYNC_GROUP: (2, 4, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5),
    ApiKey.DESCRIBE_GROUPS: (2, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6),
    ApiKey.LIST_GROUPS: (2, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5),
    ApiKey.SASL_HANDSHAKE: (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    ApiKey.API_VERSIONS: (2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 5),
    ApiKey.CREATE_TOPICS: (3, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7),
    ApiKey.DELETE_TOPICS: (3, 4, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6),
    ApiKey.DELETE_RECORDS: (1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    ApiKey.INIT_PRODUCER_ID: (1, 2, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5),
    ApiKey.ADD_PARTITIONS_TO_TXN: (1, 1, 3, 3, 3, 4, 5, 5, 5, 5, 5, 5),
    ApiKey.ADD_OFFSETS_TO_TXN: (1, 1, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4),
    ApiKey.END_TXN: (1, 1, 3, 3, 3, 3, 4, 5, 5, 5, 5, 5),
    ApiKey.WRITE_TXN_MARKERS: (-1, -1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2),  # 0 is not ours
    ApiKey.TXN_OFFSET_COMMIT: (2, 2, 3, 3, 3, 3, 4, 5, 5, 5, 5, 6),
    ApiKey.DESCRIBE_ACLS: (1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3),
    ApiKey.CREATE_ACLS: (1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3),
    ApiKey.DELETE_ACLS: (1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4),
    ApiKey.SASL_AUTHENTICATE: (0, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    ApiKey.CREATE_PARTITIONS: (1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3),
    ApiKey.CREATE_DELEGATION_TOKEN: (1, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3),
    ApiKey.RENEW_DELEGATION_TOKEN: (1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    ApiKey.EXPIRE_DELEGATION_TOKEN: (1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: (1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3),
    ApiKey.DELETE_GROUPS: (1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3),
    ApiKey.OFFSET_DELETE: (-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (-1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    ApiKey.ALTER_CLIENT_QUOTAS: (-1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: (-1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: (-1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ApiKey.DESCRIBE_QUORUM: (-1, -1, -1, -1, 1, 1, 2, 2, 2, 2, 2, 2),
    ApiKey.UPDATE_FEATURES: (-1, -1, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2),
    ApiKey.DESCRIBE_CONFIGS: (2, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4),
    ApiKey.DESCRIBE_CLUSTER: (-1, -1, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2),
    ApiKey.DESCRIBE_PRODUCERS: (-1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ApiKey.UNREGISTER_BROKER: (-1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ApiKey.DESCRIBE_TRANSACTIONS: (-1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ApiKey.LIST_TRANSACTIONS: (-1, -1, -1, 0, 0, 0, 1, 1, 2, 2, 2, 2),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (-1, -1, -1, -1, -1, 0, 0, 1, 1, 1, 1, 1),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (-1, -1, -1, -1, -1, -1, 0, 1, 1, 1, 1, 1),
    ApiKey.SHARE_GROUP_HEARTBEAT: (-1, -1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1),
    ApiKey.SHARE_GROUP_DESCRIBE: (-1, -1, -1, -1, -1, -1, -1, -1, 1, 1, 1, 1),
    ApiKey.SHARE_FETCH: (-1, -1, -1, -1, -1, -1, -1, -1, 1, 2, 2, 2),
    ApiKey.SHARE_ACKNOWLEDGE: (-1, -1, -1, -1, -1, -1, -1, -1, 1, 2, 2, 2),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 1, 1),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: (-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0),
    ApiKey.ADD_RAFT_VOTER: (-1, -1, -1, -1, -1, -1, 0, 0, 0, 1, 1, 1),
    ApiKey.REMOVE_RAFT_VOTER: (-1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (-1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 1),
    ApiKey.STREAMS_GROUP_DESCRIBE: (-1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 1),
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: (*(-1,) * 11, 0),
    ApiKey.UNREGISTER_CONTROLLER: (*(-1,) * 11, 0),
    ApiKey.LIST_CONFIG_RESOURCES: (-1, -1, -1, -1, -1, 0, 0, 0, 1, 1, 1, 1),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (-1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0),
    ApiKey.ALTER_CONFIGS: (1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    ApiKey.ALTER_REPLICA_LOG_DIRS: (1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    ApiKey.DESCRIBE_LOG_DIRS: (1, 1, 2, 2, 4, 4, 4, 4, 4, 4, 5, 5),
    ApiKey.ELECT_LEADERS: (-1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (-1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (-1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
}


def highest_versions(release: tuple[int, ...]) -> dict[ApiKey, int]:
    """API -> the highest version that brokers of this release serve, -1 where they have none."""
    column = max(0, bisect_right(RELEASES, release[:2]) - 1)
    return {api: versions[column] for api, versions in _HIGHEST.items()}


def not_served(address: str, api: ApiKey) -> str:
    """What an error says of an API that a broker does not serve: if not all do, with the oldest
    release of those above that does.
    """
    text = f"the broker at {address} does not serve {api.name} at all"
    versions = _HIGHEST.get(api, (0,))
    for release, highest in zip(RELEASES, versions, strict=False):
        if highest >= 0 > versions[0]:
            return f"{text}; Apache Kafka {release[0]}.{release[1]} does"
    return text
