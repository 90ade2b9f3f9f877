"""A scripted cluster that takes what admin clients ask, of every API and version: it agrees to all
of it, unless a test says what goes wrong; it has no share groups. See scripted.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from agreements import answer_to
from scripted import Client, ScriptedCluster, World

from kcore.admin import (
    ACL,
    AbortTransactionSpec,
    ACLFilter,
    AlterConfigOp,
    ConfigFilterType,
    ConfigResourceType,
    ElectionType,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    RaftVoterEndpoint,
    ResourcePattern,
    ScramMechanism,
    TopicPartitionReplica,
    UpdateFeatureType,
)
from kcore.admin.acls import create_acls, delete_acls, describe_acls
from kcore.admin.cluster import describe_cluster, describe_log_dirs
from kcore.admin.commits import alter_group_offsets, delete_group_offsets, list_group_offsets
from kcore.admin.config import AdminConfig
from kcore.admin.configs import alter_configs, describe_configs
from kcore.admin.core import AdminCore, Procedure
from kcore.admin.directories import alter_replica_log_dirs
from kcore.admin.features import FeatureUpdate, update_features
from kcore.admin.groups import delete_groups, list_groups, remove_group_members
from kcore.admin.offsets import delete_records, list_partition_offsets
from kcore.admin.partitions import create_partitions, elect_leaders
from kcore.admin.producers import describe_producers
from kcore.admin.quorum import (
    add_raft_voter,
    describe_metadata_quorum,
    remove_raft_voter,
    unregister_broker,
    unregister_controller,
)
from kcore.admin.quotas import QuotaAlteration, alter_client_quotas, describe_client_quotas
from kcore.admin.reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from kcore.admin.resources import list_config_resources
from kcore.admin.scram import (
    Alteration,
    Salted,
    alter_user_scram_credentials,
    describe_user_scram_credentials,
)
from kcore.admin.shares import (
    alter_share_group_offsets,
    delete_share_group_offsets,
    list_share_group_offsets,
)
from kcore.admin.tokens import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from kcore.admin.topics import create_topics, delete_topics, list_topics
from kcore.admin.transactions import (
    TransactionFilter,
    abort_transaction,
    describe_transactions,
    fence_producers,
    list_transactions,
)
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
TOPIC = (ConfigResourceType.TOPIC, "t")
BROKER = (ConfigResourceType.BROKER, "2")
READS = ACL("User:a", "*", "read", "allow", ResourcePattern("topic", "t"))
WRITES = ACL("User:a", "*", "write", "allow", ResourcePattern("topic", "t", "prefixed"))
SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512
RAISED: dict[str, Any] = {"raise_errors": True}
KEEP: dict[str, Any] = {"validate_only": False, "raise_on_unknown": False, "raise_errors": True}

# Of each API a procedure that asks it, and nothing else but for places, and raises its errors.
VERBS: dict[ApiKey, Callable[[], Procedure[Any]]] = {
    ApiKey.CREATE_TOPICS: lambda: create_topics(
        [NewTopic("a", 1, 1), NewTopic("b", 1, 1)], validate_only=False, wait=False, **RAISED
    ),
    ApiKey.DELETE_TOPICS: lambda: delete_topics(["a", "b"], **RAISED),
    ApiKey.CREATE_PARTITIONS: lambda: create_partitions(
        {"a": NewPartitions(3)}, validate_only=False, **RAISED
    ),
    ApiKey.DELETE_RECORDS: lambda: delete_records({T0: 1, T1: 2}),
    ApiKey.LIST_OFFSETS: lambda: list_partition_offsets({T0: -1, T1: -2, T2: 5}, 1),
    ApiKey.ELECT_LEADERS: lambda: elect_leaders(ElectionType.PREFERRED, {"t": [0, 1]}, **RAISED),
    ApiKey.DESCRIBE_CLUSTER: describe_cluster,
    ApiKey.DESCRIBE_LOG_DIRS: lambda: describe_log_dirs({"t": [0]}, None),
    ApiKey.DESCRIBE_CONFIGS: lambda: describe_configs(
        {TOPIC: None, BROKER: ["x"]}, synonyms=True, shown=ConfigFilterType.ALL, **RAISED
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda: alter_configs(
        {TOPIC: {"a": (AlterConfigOp.SET, "1")}, BROKER: {"b": (AlterConfigOp.DELETE, None)}},
        **KEEP,
    ),
    ApiKey.LIST_GROUPS: lambda: list_groups(None, [], []),
    ApiKey.DELETE_GROUPS: lambda: delete_groups(["g", "h"], **RAISED),
    ApiKey.LEAVE_GROUP: lambda: remove_group_members("g", [MemberToRemove("m")], **RAISED),
    ApiKey.OFFSET_FETCH: lambda: list_group_offsets({"g": [T0], "h": [T1]}),
    ApiKey.OFFSET_COMMIT: lambda: alter_group_offsets(
        "g", {T0: OffsetAndMetadata(1, "m", 3), T1: OffsetAndMetadata(2)}, **RAISED
    ),
    ApiKey.OFFSET_DELETE: lambda: delete_group_offsets("g", [T0, T1], **RAISED),
    ApiKey.METADATA: list_topics,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: lambda: list_share_group_offsets({"g": None, "h": None}),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: lambda: alter_share_group_offsets(
        "g", {T0: 1, T1: 2}, **RAISED
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: lambda: delete_share_group_offsets(
        "g", ["t", "u"], **RAISED
    ),
    ApiKey.DESCRIBE_ACLS: lambda: describe_acls(ACLFilter()),
    ApiKey.CREATE_ACLS: lambda: create_acls([READS, WRITES], **RAISED),
    ApiKey.DELETE_ACLS: lambda: delete_acls([READS, ACLFilter("User:b")], **RAISED),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: lambda: describe_user_scram_credentials(None),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: lambda: alter_user_scram_credentials(
        [Alteration("u", SHA_256, None), Alteration("v", SHA_512, Salted(4096, b"s", b"p"))],
        **RAISED,
    ),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: lambda: describe_client_quotas([], strict=False),
    ApiKey.ALTER_CLIENT_QUOTAS: lambda: alter_client_quotas(
        [
            QuotaAlteration((("user", "u"),), {"q": 1.5}),
            QuotaAlteration((("ip", None),), {"q": None}),
        ],
        validate_only=False,
        **RAISED,
    ),
    ApiKey.UPDATE_FEATURES: lambda: update_features(
        {
            "a.version": FeatureUpdate(1, UpdateFeatureType.UPGRADE),
            "b.version": FeatureUpdate(0, UpdateFeatureType.SAFE_DOWNGRADE),
        },
        validate_only=False,
        **RAISED,
    ),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: lambda: alter_partition_reassignments(
        {T0: [1, 2], T1: None}, change_factor=True, **RAISED
    ),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda: list_partition_reassignments({"t": [0]}),
    ApiKey.DESCRIBE_PRODUCERS: lambda: describe_producers([T0, T1], None),
    ApiKey.CREATE_DELEGATION_TOKEN: lambda: create_delegation_token([("User", "a")], None, -1),
    ApiKey.RENEW_DELEGATION_TOKEN: lambda: renew_delegation_token(b"h", -1),
    ApiKey.EXPIRE_DELEGATION_TOKEN: lambda: expire_delegation_token(b"h", -1),
    ApiKey.DESCRIBE_DELEGATION_TOKEN: lambda: describe_delegation_token([("User", "a")]),
    ApiKey.ALTER_REPLICA_LOG_DIRS: lambda: alter_replica_log_dirs(
        {TopicPartitionReplica("t", 0, 2): "/a"}, **RAISED
    ),
    ApiKey.LIST_CONFIG_RESOURCES: lambda: list_config_resources(
        [ConfigResourceType.CLIENT_METRICS]
    ),
    ApiKey.DESCRIBE_QUORUM: describe_metadata_quorum,
    ApiKey.ADD_RAFT_VOTER: lambda: add_raft_voter(
        4, UUID(int=7), [RaftVoterEndpoint("CONTROLLER", "h", 9)], "c"
    ),
    ApiKey.REMOVE_RAFT_VOTER: lambda: remove_raft_voter(4, UUID(int=7), None),
    ApiKey.UNREGISTER_BROKER: lambda: unregister_broker(4),
    ApiKey.UNREGISTER_CONTROLLER: lambda: unregister_controller(4),
    ApiKey.LIST_TRANSACTIONS: lambda: list_transactions(None, TransactionFilter()),
    ApiKey.DESCRIBE_TRANSACTIONS: lambda: describe_transactions(["g", "h"]),
    ApiKey.WRITE_TXN_MARKERS: lambda: abort_transaction(AbortTransactionSpec(T0, 9, 1, 0)),
    ApiKey.INIT_PRODUCER_ID: lambda: fence_producers(["g", "h"]),
}
APIS = sorted(VERBS)
CHANGES = set(APIS) - {
    ApiKey.LIST_OFFSETS,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.LIST_GROUPS,
    ApiKey.OFFSET_FETCH,
    ApiKey.METADATA,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.LIST_TRANSACTIONS,
    ApiKey.DESCRIBE_TRANSACTIONS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
}


class AdminCluster(ScriptedCluster):
    """coordinators: {group: node}, 1 of those that are not named. controller: the node's number."""

    def __init__(self, topics: dict[str, int], nodes: int = 3) -> None:
        super().__init__(topics, nodes)
        self.apis = {key: (api.min_version, api.max_version) for key, api in API_TABLE.items()}
        self.coordinators: dict[str, int] = {}
        self.controller = 1

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.removeprefix("_").upper() not in ApiKey.__members__:
            raise AttributeError(name)
        return partial(self._agree, ErrorCode.NONE)

    @staticmethod
    def _agree(code: ErrorCode, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        reply(answer_to(request.message, request.api_version, code))

    def _metadata(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        def take(answer: Any) -> None:
            answer.controller_id = self.controller
            answer.brokers = [one for one in answer.brokers if one.node_id not in self.down]
            reply(answer)

        super()._metadata(node, request, take)

    def _find_coordinator(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        R = m.FindCoordinatorResponse
        if request.api_version < 4:
            host, port = self.nodes[self.coordinators.get(request.message.key, 1)]
            number = self.coordinators.get(request.message.key, 1)
            reply(R(node_id=number, host=host, port=port))
            return
        found = []
        for key in request.message.coordinator_keys:
            number = self.coordinators.get(key, 1)
            host, port = self.nodes[number]
            found.append(R.Coordinator(key=key, node_id=number, host=host, port=port))
        reply(R(coordinators=found))

    def _list_offsets(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        self._agree(ErrorCode.NONE, node, request, reply)

    def _share_group_describe(self, node: int, request: Any, reply: Callable[[Any], None]) -> None:
        self._agree(ErrorCode.GROUP_ID_NOT_FOUND, node, request, reply)

    _streams_group_describe = _share_group_describe
    _offset_commit = _offset_fetch = _leave_group = _list_offsets

    def first(self, api: ApiKey, *answers: Any) -> None:
        """The first requests of an API get these: an error code, or what `script` may give."""
        left = list(answers)

        def script(_node: int, request: Any) -> Any:
            answer = left.pop(0) if left else None
            if isinstance(answer, ErrorCode):
                return answer_to(request.message, request.api_version, answer)
            return answer

        self.script[api] = script

    def always(self, api: ApiKey, code: ErrorCode) -> None:
        """All requests of an API get this error."""
        self.script[api] = lambda _node, request: answer_to(
            request.message, request.api_version, code
        )

    def who_was_asked(self, api: ApiKey) -> list[int]:
        return [node for node, asked, _ in self.asked if asked is api]


class AdminClient(Client):
    """An admin client's core in the world."""

    def __init__(self, world: World, options: dict[str, Any]) -> None:
        self.world = world
        servers = [f"{h}:{p}" for h, p in world.cluster.nodes.values()]
        known = {} if "bootstrap_controllers" in options else {"bootstrap_servers": servers}
        config = AdminConfig.from_options(known | options)
        self.core: Any = AdminCore(config, random.Random(world.seed), world.now)
        self.links, self.readers, self.slots = {}, {}, {}
        self.events = []
        self.drain()

    def begin(self, procedure: Procedure[Any], timeout_ms: int = 60_000) -> int:
        number: int = self.core.begin(procedure, self.world.now, timeout_ms)
        self.drain()
        return number

    def run(self, procedure: Procedure[Any], timeout_ms: int = 60_000) -> Any:
        """Do it in the world: its result, or its error raised; in its time."""
        until = self.world.now + timeout_ms
        number = self.begin(procedure, timeout_ms)
        try:
            return self.result(number, timeout_ms + 100)
        finally:
            assert self.world.now <= until + 50


def admin_world(
    nodes: int = 3, topics: dict[str, int] | None = None, seed: int = 1, **options: Any
) -> tuple[World, AdminCluster, AdminClient]:
    cluster = AdminCluster({"t": 3} if topics is None else topics, nodes)
    world = World(cluster, seed)
    client = AdminClient(world, options)
    world.clients.append(client)
    return world, cluster, client
