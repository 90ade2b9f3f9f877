"""What each API asks of whom: the one table of it, checked against KafkaApis of Kafka 4.4.0.

A `Need` is an operation on a resource. Those of a request are asked first, in their order; the
first that is not met refuses it as a whole. Those of `Entries` are asked of each entry of a list:
the entries that are refused are taken out, the handler serves the rest, and its answer gets theirs
back, with their error. `hides` is about what handlers answer by themselves: what may not be
described is left out. `others` is what is asked where more than one thing follows from it: by the
API's own gate (`gates.py`), or by its handler (`Call.allows`), where the topics are not all in the
request: those of sessions, and all there are.
"""

from __future__ import annotations

from typing import Final

from kcore.broker.authorization.acls import Operation as Op
from kcore.broker.authorization.acls import Resource
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

TOPIC, GROUP, CLUSTER = Resource.TOPIC, Resource.GROUP, Resource.CLUSTER
TRANSACTION: Final = Resource.TRANSACTIONAL_ID
TOKEN, USER = Resource.DELEGATION_TOKEN, Resource.USER

# What is answered to who may not.
ERRORS: Final = {
    TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    TRANSACTION: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


class Need(NamedTuple):
    """An operation on the resource that a field of the request names; on the cluster, if none.

    instead: an operation on the cluster that does as well. since, until: versions that ask it.
    """

    operation: Op
    resource: Resource
    field: str = ""
    instead: Op | None = None
    since: int = 0
    until: int = 99


class Entries(NamedTuple):
    """An operation on the resource that each entry of a list names.

    asked, answered: the lists of the request and of the answer. field: of an entry; "" if the entry
    is the name. Topics may be named by their ids. instead: an operation on the cluster that does as
    well. within: the list in whose entries `asked` and `answered` are, and the field that is the
    same in those of request and answer.
    distinct: what is named twice is the handler's, which refuses it. bare: what is refused has its
    name and the error, and no more. with_ids: topics that are refused by their names are answered
    with their ids, too.
    """

    operation: Op
    resource: Resource
    asked: str
    answered: str
    field: str = "name"
    instead: Op | None = None
    within: tuple[str, str] | None = None
    distinct: bool = False
    bare: bool = False
    with_ids: bool = False


class Hides(NamedTuple):
    """An operation on the resource that each entry of a list in the answer names: those that are
    refused are left out. within: the list in whose entries it is.
    """

    operation: Op
    resource: Resource
    answered: str
    field: str
    instead: Op | None = None
    within: str | None = None


class Rule(NamedTuple):
    """What an API asks. once_since: from this version on an answer that is refused as a whole says
    so in one place, and nothing else.
    """

    needs: tuple[Need, ...] = ()
    entries: tuple[Entries, ...] = ()
    hides: tuple[Hides, ...] = ()
    others: tuple[Need, ...] = ()
    once_since: int = 99


_READ_GROUP: Final = Need(Op.READ, GROUP, "group_id")
_WRITE_TRANSACTION: Final = Need(Op.WRITE, TRANSACTION, "transactional_id")
_ALTER_CLUSTER: Final = Need(Op.ALTER, CLUSTER)
_DESCRIBE_CLUSTER: Final = Need(Op.DESCRIBE, CLUSTER)
_OPEN: Final = Rule()

TABLE: Final[dict[ApiKey, Rule]] = {
    # Records
    ApiKey.PRODUCE: Rule(  # and the transactional id, if there are records of a transaction
        entries=(Entries(Op.WRITE, TOPIC, "topic_data", "responses"),),
        others=(_WRITE_TRANSACTION,),
    ),
    ApiKey.FETCH: Rule(others=(Need(Op.READ, TOPIC),)),
    ApiKey.LIST_OFFSETS: Rule(entries=(Entries(Op.DESCRIBE, TOPIC, "topics", "topics"),)),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Rule(
        entries=(
            Entries(Op.DESCRIBE, TOPIC, "topics", "topics", "topic", instead=Op.CLUSTER_ACTION),
        )
    ),
    ApiKey.DELETE_RECORDS: Rule(entries=(Entries(Op.DELETE, TOPIC, "topics", "topics"),)),
    # Connections, and where everything is
    ApiKey.API_VERSIONS: _OPEN,
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: _OPEN,
    ApiKey.PUSH_TELEMETRY: _OPEN,
    ApiKey.SASL_HANDSHAKE: _OPEN,
    ApiKey.SASL_AUTHENTICATE: _OPEN,
    ApiKey.METADATA: Rule(  # CREATE for topics that are made by it, if not of the cluster
        others=(Need(Op.DESCRIBE, TOPIC), Need(Op.CREATE, TOPIC, instead=Op.CREATE)),
    ),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Rule(others=(Need(Op.DESCRIBE, TOPIC),)),
    ApiKey.FIND_COORDINATOR: Rule(  # by the kind of the key
        others=(
            Need(Op.DESCRIBE, GROUP),
            Need(Op.DESCRIBE, TRANSACTION),
            Need(Op.CLUSTER_ACTION, CLUSTER),
        ),
    ),
    ApiKey.DESCRIBE_CLUSTER: _OPEN,
    # Groups
    ApiKey.JOIN_GROUP: Rule(needs=(_READ_GROUP,)),
    ApiKey.SYNC_GROUP: Rule(needs=(_READ_GROUP,)),
    ApiKey.HEARTBEAT: Rule(needs=(_READ_GROUP,)),
    ApiKey.LEAVE_GROUP: Rule(needs=(_READ_GROUP,), once_since=0),
    ApiKey.OFFSET_COMMIT: Rule(
        needs=(_READ_GROUP,), entries=(Entries(Op.READ, TOPIC, "topics", "topics"),)
    ),
    ApiKey.OFFSET_FETCH: Rule(  # up to v7 of one group
        needs=(Need(Op.DESCRIBE, GROUP, "group_id", until=7),),
        entries=(
            Entries(Op.DESCRIBE, GROUP, "groups", "groups", "group_id", bare=True),
            Entries(Op.DESCRIBE, TOPIC, "topics", "topics"),
            Entries(Op.DESCRIBE, TOPIC, "topics", "topics", within=("groups", "group_id")),
        ),
        hides=(
            Hides(Op.DESCRIBE, TOPIC, "topics", "name"),
            Hides(Op.DESCRIBE, TOPIC, "topics", "name", within="groups"),
        ),
        once_since=2,
    ),
    ApiKey.OFFSET_DELETE: Rule(
        needs=(Need(Op.DELETE, GROUP, "group_id"),),
        entries=(Entries(Op.READ, TOPIC, "topics", "topics"),),
        once_since=0,
    ),
    ApiKey.DESCRIBE_GROUPS: Rule(
        entries=(Entries(Op.DESCRIBE, GROUP, "groups", "groups", ""),),
    ),
    ApiKey.LIST_GROUPS: Rule(
        hides=(Hides(Op.DESCRIBE, GROUP, "groups", "group_id", instead=Op.DESCRIBE),),
    ),
    ApiKey.DELETE_GROUPS: Rule(entries=(Entries(Op.DELETE, GROUP, "groups_names", "results", ""),)),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: Rule(  # and of each topic that is named: DESCRIBE
        needs=(_READ_GROUP,), others=(Need(Op.DESCRIBE, TOPIC),)
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: Rule(  # and of each topic that members have: DESCRIBE
        entries=(Entries(Op.DESCRIBE, GROUP, "group_ids", "groups", ""),),
        others=(Need(Op.DESCRIBE, TOPIC),),
    ),
    # Share groups
    ApiKey.SHARE_GROUP_HEARTBEAT: Rule(needs=(_READ_GROUP,), others=(Need(Op.DESCRIBE, TOPIC),)),
    ApiKey.SHARE_GROUP_DESCRIBE: Rule(
        entries=(Entries(Op.DESCRIBE, GROUP, "group_ids", "groups", ""),),
        others=(Need(Op.DESCRIBE, TOPIC),),
    ),
    ApiKey.SHARE_FETCH: Rule(needs=(_READ_GROUP,), others=(Need(Op.READ, TOPIC),), once_since=0),
    ApiKey.SHARE_ACKNOWLEDGE: Rule(
        needs=(_READ_GROUP,), others=(Need(Op.READ, TOPIC),), once_since=0
    ),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: Rule(
        entries=(
            Entries(Op.DESCRIBE, GROUP, "groups", "groups", "group_id", bare=True),
            Entries(
                Op.DESCRIBE, TOPIC, "topics", "topics", "topic_name", within=("groups", "group_id")
            ),
        ),
        hides=(Hides(Op.DESCRIBE, TOPIC, "topics", "topic_name", within="groups"),),
    ),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: Rule(
        needs=(_READ_GROUP,),
        entries=(Entries(Op.READ, TOPIC, "topics", "responses", "topic_name", with_ids=True),),
        once_since=0,
    ),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: Rule(
        needs=(Need(Op.DELETE, GROUP, "group_id"),),
        entries=(Entries(Op.READ, TOPIC, "topics", "responses", "topic_name"),),
        once_since=0,
    ),
    # Streams groups
    ApiKey.STREAMS_GROUP_HEARTBEAT: Rule(  # CREATE of the topics that are made for it
        needs=(_READ_GROUP,),
        others=(Need(Op.DESCRIBE, TOPIC), Need(Op.CREATE, TOPIC)),
        once_since=0,
    ),
    ApiKey.STREAMS_GROUP_DESCRIBE: Rule(  # and of each topic of the application: DESCRIBE
        entries=(Entries(Op.DESCRIBE, GROUP, "group_ids", "groups", ""),),
        others=(Need(Op.DESCRIBE, TOPIC),),
    ),
    ApiKey.STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: Rule(needs=(_READ_GROUP,)),
    # Transactions
    ApiKey.INIT_PRODUCER_ID: Rule(  # without an id IDEMPOTENT_WRITE, or WRITE of any topic
        others=(_WRITE_TRANSACTION, Need(Op.IDEMPOTENT_WRITE, CLUSTER)),
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: Rule(  # up to v3; a topic that is refused keeps out the others
        needs=(
            Need(Op.CLUSTER_ACTION, CLUSTER, since=4),
            Need(Op.WRITE, TRANSACTION, "v3_and_below_transactional_id", until=3),
        ),
        others=(Need(Op.WRITE, TOPIC),),
        once_since=4,
    ),
    ApiKey.ADD_OFFSETS_TO_TXN: Rule(needs=(_WRITE_TRANSACTION, _READ_GROUP)),
    ApiKey.TXN_OFFSET_COMMIT: Rule(
        needs=(_WRITE_TRANSACTION, _READ_GROUP),
        entries=(Entries(Op.READ, TOPIC, "topics", "topics"),),
    ),
    ApiKey.END_TXN: Rule(needs=(_WRITE_TRANSACTION,)),
    ApiKey.WRITE_TXN_MARKERS: Rule(needs=(Need(Op.CLUSTER_ACTION, CLUSTER, instead=Op.ALTER),)),
    ApiKey.DESCRIBE_PRODUCERS: Rule(entries=(Entries(Op.READ, TOPIC, "topics", "topics"),)),
    ApiKey.DESCRIBE_TRANSACTIONS: Rule(
        entries=(Entries(Op.DESCRIBE, TRANSACTION, "transactional_ids", "transaction_states", ""),),
        hides=(Hides(Op.DESCRIBE, TOPIC, "topics", "topic", within="transaction_states"),),
    ),
    ApiKey.LIST_TRANSACTIONS: Rule(
        hides=(Hides(Op.DESCRIBE, TRANSACTION, "transaction_states", "transactional_id"),),
    ),
    # Topics, options, replicas
    ApiKey.CREATE_TOPICS: Rule(  # and DESCRIBE_CONFIGS, to be told what options they have
        entries=(Entries(Op.CREATE, TOPIC, "topics", "topics", instead=Op.CREATE, distinct=True),),
        others=(Need(Op.DESCRIBE_CONFIGS, TOPIC),),
    ),
    ApiKey.DELETE_TOPICS: Rule(  # who may not describe them either is not told their names
        others=(Need(Op.DELETE, TOPIC, instead=Op.DELETE), Need(Op.DESCRIBE, TOPIC)),
    ),
    ApiKey.CREATE_PARTITIONS: Rule(
        entries=(Entries(Op.ALTER, TOPIC, "topics", "results", distinct=True),)
    ),
    ApiKey.DESCRIBE_CONFIGS: Rule(  # of the cluster, for nodes
        others=(
            Need(Op.DESCRIBE_CONFIGS, TOPIC),
            Need(Op.DESCRIBE_CONFIGS, GROUP),
            Need(Op.DESCRIBE_CONFIGS, CLUSTER),
        ),
    ),
    ApiKey.ALTER_CONFIGS: Rule(
        others=(
            Need(Op.ALTER_CONFIGS, TOPIC),
            Need(Op.ALTER_CONFIGS, GROUP),
            Need(Op.ALTER_CONFIGS, CLUSTER),
        ),
    ),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Rule(
        others=(
            Need(Op.ALTER_CONFIGS, TOPIC),
            Need(Op.ALTER_CONFIGS, GROUP),
            Need(Op.ALTER_CONFIGS, CLUSTER),
        ),
    ),
    ApiKey.DESCRIBE_LOG_DIRS: Rule(needs=(_DESCRIBE_CLUSTER,), once_since=0),
    ApiKey.DESCRIBE_QUORUM: Rule(needs=(_DESCRIBE_CLUSTER,), once_since=0),
    ApiKey.ELECT_LEADERS: Rule(needs=(_ALTER_CLUSTER,)),
    ApiKey.UPDATE_FEATURES: Rule(needs=(_ALTER_CLUSTER,), once_since=0),
    ApiKey.UNREGISTER_CONTROLLER: Rule(needs=(_ALTER_CLUSTER,)),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Rule(needs=(_ALTER_CLUSTER,)),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Rule(needs=(_DESCRIBE_CLUSTER,)),
    # Access
    ApiKey.DESCRIBE_ACLS: Rule(needs=(_DESCRIBE_CLUSTER,), once_since=0),
    ApiKey.CREATE_ACLS: Rule(needs=(_ALTER_CLUSTER,)),
    ApiKey.DELETE_ACLS: Rule(needs=(_ALTER_CLUSTER,)),
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Rule(needs=(_DESCRIBE_CLUSTER,)),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: Rule(needs=(_ALTER_CLUSTER,)),
    ApiKey.CREATE_DELEGATION_TOKEN: Rule(  # for somebody else
        others=(Need(Op.CREATE_TOKENS, USER),)
    ),
    ApiKey.RENEW_DELEGATION_TOKEN: _OPEN,  # to owners and renewers
    ApiKey.EXPIRE_DELEGATION_TOKEN: _OPEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: Rule(  # of those of others, either
        others=(Need(Op.DESCRIBE, TOKEN), Need(Op.DESCRIBE_TOKENS, USER)),
    ),
    ApiKey.LIST_CONFIG_RESOURCES: Rule(needs=(Need(Op.DESCRIBE_CONFIGS, CLUSTER),)),
    ApiKey.ALTER_CLIENT_QUOTAS: Rule(needs=(Need(Op.ALTER_CONFIGS, CLUSTER),)),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Rule(needs=(Need(Op.DESCRIBE_CONFIGS, CLUSTER),)),
}
