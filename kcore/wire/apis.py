"""API keys, the versions of each that we speak, and how a version is agreed on with a broker.

Every version in API_TABLE can be written and read in both directions. The lowest is the lowest that
a 4.x broker serves (KIP-896), which is below what any broker since 2.1 offers as its highest; the
highest is the highest stable one of Kafka 4.4. Sources: the message definitions in kafka-clients
4.4.0; KIP-35 and KIP-511 for the negotiation.
"""

from __future__ import annotations

from functools import cache

from kcore.enums import IntEnum
from kcore.errors import UnsupportedVersionError
from kcore.tuples import NamedTuple
from kcore.wire import messages
from kcore.wire.message import Message


class ApiKey(IntEnum):
    """The number of each API; its capitals spell the stem of its classes."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    DESCRIBE_QUORUM = 55
    UPDATE_FEATURES = 57
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92
    STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE = 93
    UNREGISTER_CONTROLLER = 94

    @property
    def stem(self) -> str:
        """`JoinGroup`: the name Kafka documents, and that of its classes without their suffix."""
        return self.name.title().replace("_", "")


class Api(NamedTuple):
    """An API as we speak it: every version from `min_version` to `max_version`, both directions."""

    key: ApiKey
    min_version: int
    max_version: int

    @property
    def request(self) -> type[Message]:
        """The class of its requests."""
        return _class_of(self.key, "Request")

    @property
    def response(self) -> type[Message]:
        """The class of its responses."""
        return _class_of(self.key, "Response")


@cache
def _class_of(key: ApiKey, kind: str) -> type[Message]:
    found: type[Message] = getattr(messages, key.stem + kind)
    return found


_APIS = (
    Api(ApiKey.PRODUCE, 3, 13),
    Api(ApiKey.FETCH, 4, 18),
    Api(ApiKey.LIST_OFFSETS, 1, 11),
    Api(ApiKey.METADATA, 0, 13),
    Api(ApiKey.OFFSET_COMMIT, 2, 10),
    Api(ApiKey.OFFSET_FETCH, 1, 10),
    Api(ApiKey.FIND_COORDINATOR, 0, 6),
    Api(ApiKey.JOIN_GROUP, 0, 9),
    Api(ApiKey.HEARTBEAT, 0, 4),
    Api(ApiKey.LEAVE_GROUP, 0, 5),
    Api(ApiKey.SYNC_GROUP, 0, 5),
    Api(ApiKey.DESCRIBE_GROUPS, 0, 6),
    Api(ApiKey.LIST_GROUPS, 0, 5),
    Api(ApiKey.SASL_HANDSHAKE, 0, 1),
    Api(ApiKey.API_VERSIONS, 0, 5),
    Api(ApiKey.CREATE_TOPICS, 2, 7),
    Api(ApiKey.DELETE_TOPICS, 1, 6),
    Api(ApiKey.DELETE_RECORDS, 0, 2),
    Api(ApiKey.INIT_PRODUCER_ID, 0, 5),  # 6 (two-phase commit, KIP-939) is not stable yet
    Api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4),
    Api(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5),  # 4 and up are for brokers: a client caps this at 3
    Api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4),
    Api(ApiKey.END_TXN, 0, 5),
    Api(ApiKey.WRITE_TXN_MARKERS, 1, 2),
    Api(ApiKey.TXN_OFFSET_COMMIT, 0, 6),
    Api(ApiKey.DESCRIBE_ACLS, 1, 3),
    Api(ApiKey.CREATE_ACLS, 1, 3),
    Api(ApiKey.DELETE_ACLS, 1, 3),
    Api(ApiKey.DESCRIBE_CONFIGS, 1, 4),
    Api(ApiKey.ALTER_CONFIGS, 0, 2),
    Api(ApiKey.ALTER_REPLICA_LOG_DIRS, 1, 2),
    Api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5),
    Api(ApiKey.SASL_AUTHENTICATE, 0, 2),
    Api(ApiKey.CREATE_PARTITIONS, 0, 3),
    Api(ApiKey.CREATE_DELEGATION_TOKEN, 1, 3),
    Api(ApiKey.RENEW_DELEGATION_TOKEN, 1, 2),
    Api(ApiKey.EXPIRE_DELEGATION_TOKEN, 1, 2),
    Api(ApiKey.DESCRIBE_DELEGATION_TOKEN, 1, 3),
    Api(ApiKey.DELETE_GROUPS, 0, 3),
    Api(ApiKey.ELECT_LEADERS, 0, 2),
    Api(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1),
    Api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1),
    Api(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0),
    Api(ApiKey.OFFSET_DELETE, 0, 0),
    Api(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1),
    Api(ApiKey.ALTER_CLIENT_QUOTAS, 0, 1),
    Api(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0),
    Api(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0),
    Api(ApiKey.DESCRIBE_QUORUM, 0, 2),
    Api(ApiKey.UPDATE_FEATURES, 0, 2),
    Api(ApiKey.DESCRIBE_CLUSTER, 0, 2),
    Api(ApiKey.DESCRIBE_PRODUCERS, 0, 0),
    Api(ApiKey.UNREGISTER_BROKER, 0, 0),
    Api(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0),
    Api(ApiKey.LIST_TRANSACTIONS, 0, 2),
    Api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1),
    Api(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1),
    Api(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, 0),
    Api(ApiKey.PUSH_TELEMETRY, 0, 0),
    Api(ApiKey.LIST_CONFIG_RESOURCES, 0, 1),
    Api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0),
    Api(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1),
    Api(ApiKey.SHARE_GROUP_DESCRIBE, 1, 1),
    Api(ApiKey.SHARE_FETCH, 1, 2),
    Api(ApiKey.SHARE_ACKNOWLEDGE, 1, 2),
    Api(ApiKey.ADD_RAFT_VOTER, 0, 1),
    Api(ApiKey.REMOVE_RAFT_VOTER, 0, 0),
    Api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, 1),
    Api(ApiKey.STREAMS_GROUP_DESCRIBE, 0, 1),
    Api(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0, 1),
    Api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, 0),
    Api(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, 0),
    Api(ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, 0, 0),
    Api(ApiKey.UNREGISTER_CONTROLLER, 0, 0),
)

API_TABLE: dict[ApiKey, Api] = {api.key: api for api in _APIS}


def negotiate(api: ApiKey, broker_min: int, broker_max: int, cap: int | None = None) -> int:
    """The highest version of `api` that we and a broker offering these versions both speak.

    cap: go no higher, for reasons outside this API (topic ids that are not known, say).
    Raises UnsupportedVersionError if there is no such version, or the broker's range is inverted.
    """
    _, lowest, highest = API_TABLE[api]
    if broker_min > broker_max:
        raise UnsupportedVersionError(
            f"{api.stem}: the broker's version range is inverted, {broker_min} to {broker_max};"
            f" ours is {lowest} to {highest}"
        )
    version = min(highest, broker_max, highest if cap is None else cap)
    if version < max(lowest, broker_min):
        limit = "" if cap is None else f" (no higher than {cap} can be used here)"
        raise UnsupportedVersionError(
            f"{api.stem}: no common version. The broker speaks {broker_min} to {broker_max},"
            f" we speak {lowest} to {highest}{limit}"
        )
    return version
