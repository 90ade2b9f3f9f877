"""What some APIs ask beside the table's rows, or in another way (`others` in the table).

A gate looks at a request before it is served. It returns the answer if nothing is to be served;
else it may take parts out of the request, and have the answer amended (`GuardedCall.amend`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kcore.broker.authorization.acls import CLUSTER_NAME, Resource
from kcore.broker.authorization.acls import Operation as Op
from kcore.broker.authorization.refused import TEXTS, refused_answer
from kcore.broker.authorization.table import ERRORS
from kcore.broker.batches import is_transactional
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import ZERO_UUID, Message
from kcore.wire.messages import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AlterConfigsRequest,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DescribeClusterRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    IncrementalAlterConfigsRequest,
    InitProducerIdRequest,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    StreamsGroupDescribeRequest,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from kcore.broker.authorization.guard import GuardedCall

Gate = Callable[["GuardedCall", Any], Message | None]

_MANY_KEYS_VERSION: Final = 4
_FROM_NODES_VERSION: Final = 4
_DELETE_BY_ID_VERSION: Final = 6
_SHARE_VERSION: Final = 6
_TOPIC_IDS_VERSION: Final = 12
_OPERATIONS_VERSION: Final = 8
_CLUSTER_OPERATIONS_UNTIL: Final = 10

# Java: CoordinatorType, ConfigResource.Type.
_KEYS: Final = {0: Resource.GROUP, 1: Resource.TRANSACTIONAL_ID}
_SHARE_KEY: Final = 2
_NODE: Final = 4
_CONFIGS: Final = {
    2: Resource.TOPIC,
    _NODE: Resource.CLUSTER,
    8: Resource.CLUSTER,
    16: Resource.CLUSTER,
    32: Resource.GROUP,
}
_HIDDEN: Final = "The group has described topic(s) that the client is not authorized to describe."
_HIDDEN_APPLICATION: Final = (
    "The described group uses topics that the client is not authorized to describe."
)


def _produce(call: GuardedCall, request: ProduceRequest) -> Message | None:
    """Records of a transaction need its id."""
    parts = (part for topic in request.topic_data for part in topic.partition_data)
    if not any(is_transactional(part.records) for part in parts):
        return None
    name = request.transactional_id
    if name is not None and call.allows(Op.WRITE, Resource.TRANSACTIONAL_ID, name):
        return None
    return refused_answer(request, call.version, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _find_coordinator(call: GuardedCall, request: FindCoordinatorRequest) -> Message | None:
    """Keys are groups or transactional ids; those of share-partitions are for nodes."""
    if request.key_type == _SHARE_KEY and call.version >= _SHARE_VERSION:
        if call.allows(Op.CLUSTER_ACTION, Resource.CLUSTER):
            return None
        return refused_answer(request, call.version, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    kind = _KEYS.get(request.key_type)
    if kind is None:
        return None
    if call.version < _MANY_KEYS_VERSION:
        if call.allows(Op.DESCRIBE, kind, request.key):
            return None
        return refused_answer(request, call.version, ERRORS[kind])
    asked = request.coordinator_keys
    gone = {key for key in asked if not call.allows(Op.DESCRIBE, kind, key)}
    if gone:
        request.coordinator_keys = [key for key in asked if key in gone]
        refused: Any = refused_answer(request, call.version, ERRORS[kind])
        request.coordinator_keys = [key for key in asked if key not in gone]
        call.amend(lambda answer: answer.coordinators.extend(refused.coordinators))
    return None


# Topics -------------------------------------------------------------------------------------------


def _metadata(call: GuardedCall, request: MetadataRequest) -> Message | None:
    """Who may not describe a topic is not told whether it exists; nor made by who may not create
    it. Of all topics he sees those that he may describe.
    """
    asked = request.topics
    everything = asked is None or (call.version == 0 and not asked)
    asked = asked or []
    if call.version < _TOPIC_IDS_VERSION and any(one.topic_id != ZERO_UUID for one in asked):
        return None  # it is refused as it is
    if call.version >= _OPERATIONS_VERSION:
        call.amend(lambda answer: _tell_operations(call, request, answer))
    if everything:
        call.amend(lambda answer: _keep_described(call, answer))
        return None
    kept, refused = [], []
    for one in asked:
        name = call.name_of(one, "name")
        if name is None or (
            call.allows(Op.DESCRIBE, Resource.TOPIC, name)
            and (one.topic_id != ZERO_UUID or not _lacks_creation(call, request, name))
        ):
            kept.append(one)
        else:
            refused.append(
                MetadataResponse.MetadataResponseTopic(
                    error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                    name=one.name if one.topic_id == ZERO_UUID else None,
                    topic_id=one.topic_id,
                )
            )
    request.topics = kept
    if refused and not kept and call.version == 0:  # which would be all of them
        call.amend(lambda answer: answer.topics.clear())
    if refused:
        call.amend(lambda answer: answer.topics.extend(refused))
    return None


def _lacks_creation(call: GuardedCall, request: MetadataRequest, name: str) -> bool:
    """Whether the topic would be made, by who may not do that."""
    cluster = call.node.cluster
    return (
        request.allow_auto_topic_creation
        and cluster.config.auto_create_topics
        and cluster.topics.get(name) is None
        and not call.may(Op.CREATE, Resource.TOPIC, name, Op.CREATE)
    )


def _keep_described(call: GuardedCall, answer: MetadataResponse) -> None:
    answer.topics = [
        one for one in answer.topics if call.allows(Op.DESCRIBE, Resource.TOPIC, one.name or "")
    ]


def _tell_operations(call: GuardedCall, request: MetadataRequest, answer: MetadataResponse) -> None:
    if request.include_cluster_authorized_operations and call.version <= _CLUSTER_OPERATIONS_UNTIL:
        answer.cluster_authorized_operations = _cluster_operations(call)
    if request.include_topic_authorized_operations:
        for one in answer.topics:
            if one.error_code != ErrorCode.UNKNOWN_TOPIC_ID:  # refused ones come behind this
                one.topic_authorized_operations = call.operations(Resource.TOPIC, one.name or "")


def _cluster_operations(call: GuardedCall) -> int:
    """None of them, for who may not describe the cluster."""
    described = call.allows(Op.DESCRIBE, Resource.CLUSTER)
    return call.operations(Resource.CLUSTER) if described else 0


def _describe_topics(call: GuardedCall, _request: Message) -> Message | None:
    def tell(answer: Any) -> None:
        for one in answer.topics:
            if one.error_code not in {
                ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                ErrorCode.INVALID_REQUEST,
            }:
                one.topic_authorized_operations = call.operations(Resource.TOPIC, one.name or "")

    call.amend(tell)
    return None


def _describe_cluster(call: GuardedCall, request: DescribeClusterRequest) -> Message | None:
    def tell(answer: Any) -> None:
        if not answer.error_code:
            answer.cluster_authorized_operations = _cluster_operations(call)

    if request.include_cluster_authorized_operations:
        call.amend(tell)
    return None


def _create_topics(call: GuardedCall, _request: Message) -> Message | None:
    """Who may not see the options of a topic makes it, and is not told them."""

    def hide(answer: CreateTopicsResponse) -> None:
        for one in answer.topics:
            if one.error_code or call.allows(Op.DESCRIBE_CONFIGS, Resource.TOPIC, one.name):
                continue
            one.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            one.num_partitions = one.replication_factor = -1
            one.configs = []

    call.amend(hide)
    return None


def _delete_topics(call: GuardedCall, request: DeleteTopicsRequest) -> Message | None:
    """Who may describe a topic and not delete it is told that it exists."""
    by_id = call.version >= _DELETE_BY_ID_VERSION
    asked: Sequence[Any] = request.topics if by_id else request.topic_names
    pairs = [(one.name, one.topic_id) if by_id else (one, ZERO_UUID) for one in asked]
    times = Counter(pairs)
    kept, refused = [], []
    for one, (name, topic_id) in zip(asked, pairs, strict=True):
        found = call.node.cluster.topics.get(name, topic_id)
        known = name if found is None else found.name
        wrong = (name is None) is (topic_id == ZERO_UUID)
        if times[name, topic_id] > 1 or wrong or known is None or _deletes(call, known, found):
            kept.append(one)
            continue
        shown = name is not None or call.allows(Op.DESCRIBE, Resource.TOPIC, known)
        refused.append(
            DeleteTopicsResponse.DeletableTopicResult(
                name=known if shown else None,
                topic_id=topic_id,
                error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                error_message=TEXTS[ErrorCode.TOPIC_AUTHORIZATION_FAILED],
            )
        )
    if by_id:
        request.topics = kept
    else:
        request.topic_names = kept
    if refused:
        call.amend(lambda answer: answer.responses.extend(refused))
    return None


def _deletes(call: GuardedCall, name: str, found: object) -> bool:
    """Whether the handler may have it: to delete it, or to say that it does not exist."""
    if call.may(Op.DELETE, Resource.TOPIC, name, Op.DELETE):
        return True
    return found is None and call.allows(Op.DESCRIBE, Resource.TOPIC, name)


# Options ------------------------------------------------------------------------------------------


def _describe_configs(call: GuardedCall, request: DescribeConfigsRequest) -> Message | None:
    request.resources = _allowed(call, request, Op.DESCRIBE_CONFIGS, "results")
    return None


def _alter_configs(
    call: GuardedCall, request: AlterConfigsRequest | IncrementalAlterConfigsRequest
) -> Message | None:
    request.resources = _allowed(call, request, Op.ALTER_CONFIGS, "responses")
    return None


def _allowed(call: GuardedCall, request: Any, operation: Op, answered: str) -> list[Any]:
    """The resources that the handler may have; the others are answered with their errors."""
    asked = request.resources
    times = Counter((one.resource_type, one.resource_name) for one in asked)
    kept: list[Any] = []
    refused: list[Any] = []
    for one in asked:
        kind = _CONFIGS.get(one.resource_type)
        name = CLUSTER_NAME if kind is Resource.CLUSTER else one.resource_name
        twice = operation is Op.ALTER_CONFIGS and times[one.resource_type, one.resource_name] > 1
        if kind is None or twice or call.allows(operation, kind, name):
            kept.append(one)
            continue
        request.resources = [one]
        answer = refused_answer(request, call.version, ERRORS[kind])
        if operation is Op.ALTER_CONFIGS and one.resource_type == _NODE:
            answer.responses[0].error_message = None  # type: ignore[attr-defined]
        refused += getattr(answer, answered)
    if refused:
        call.amend(lambda answer: getattr(answer, answered).extend(refused))
    return kept


# Producers ----------------------------------------------------------------------------------------


def _init_producer_id(call: GuardedCall, request: InitProducerIdRequest) -> Message | None:
    name = request.transactional_id
    error = ErrorCode.NONE
    if name is not None:
        if not call.allows(Op.WRITE, Resource.TRANSACTIONAL_ID, name):
            error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    elif not (
        call.allows(Op.IDEMPOTENT_WRITE, Resource.CLUSTER)
        or call.allows_some(Op.WRITE, Resource.TOPIC)
    ):
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return refused_answer(request, call.version, error) if error else None


def _add_partitions(call: GuardedCall, request: AddPartitionsToTxnRequest) -> Message | None:
    """One topic that is refused keeps all out of the transaction."""
    if call.version >= _FROM_NODES_VERSION:
        return None
    asked = request.v3_and_below_topics
    refused = {
        one.name
        for one in asked
        if one.name in INTERNAL_TOPICS or not call.allows(Op.WRITE, Resource.TOPIC, one.name)
    }
    if not refused:
        return None
    answer = AddPartitionsToTxnResponse()
    for one in asked:
        topic = call.node.cluster.topics.get(one.name)
        known = 0 if topic is None else len(topic.partitions)
        part = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
        results = []
        for number in one.partitions:
            error = ErrorCode.OPERATION_NOT_ATTEMPTED
            if one.name in refused:
                error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif not 0 <= number < known:
                error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            results.append(part(partition_index=number, partition_error_code=error))
        answer.results_by_topic_v3_and_below.append(
            AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult(
                name=one.name, results_by_partition=results
            )
        )
    return answer


# Groups -------------------------------------------------------------------------------------------


def _consumer_heartbeat(
    call: GuardedCall, request: ConsumerGroupHeartbeatRequest
) -> Message | None:
    """Topics that are named have to be describable, all of them; what a regular expression stands
    for is looked up with what the member may see.
    """
    if _describes(call, request.subscribed_topic_names or ()):
        return None
    return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _share_heartbeat(call: GuardedCall, request: ShareGroupHeartbeatRequest) -> Message | None:
    if _describes(call, request.subscribed_topic_names or ()):
        return None
    return ShareGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _streams_heartbeat(call: GuardedCall, request: StreamsGroupHeartbeatRequest) -> Message | None:
    """Every topic of the application has to be describable, those that are to be made, too."""
    if request.topology is None or _describes(call, _named(request.topology)):
        return None
    return StreamsGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)


def _describe_streams(call: GuardedCall, request: StreamsGroupDescribeRequest) -> Message | None:
    """Groups with topics that may not be described are not shown at all."""

    def hide(answer: Any) -> None:
        answer.groups = [
            one
            if one.topology is None or _describes(call, _named(one.topology))
            else _hidden(one, _HIDDEN_APPLICATION)
            for one in answer.groups
        ]

    _describe_groups(call, request)
    call.amend(hide)
    return None


def _named(topology: Any) -> Iterable[str]:
    """The topics of a topology."""
    for one in topology.subtopologies or ():
        yield from one.source_topics
        yield from one.repartition_sink_topics
        for topic in (*one.repartition_source_topics, *one.state_changelog_topics):
            yield topic.name


def _describes(call: GuardedCall, names: Iterable[str]) -> bool:
    return all(call.allows(Op.DESCRIBE, Resource.TOPIC, name) for name in set(names))


def _describe_groups(
    call: GuardedCall,
    request: DescribeGroupsRequest
    | ConsumerGroupDescribeRequest
    | ShareGroupDescribeRequest
    | StreamsGroupDescribeRequest,
) -> Message | None:
    def tell(answer: Any) -> None:
        for one in answer.groups:
            if not one.error_code:
                operations = call.operations(Resource.GROUP, one.group_id)
                one.authorized_operations = operations

    if request.include_authorized_operations:
        call.amend(tell)
    return None


def _describe_assigned(
    call: GuardedCall, request: ConsumerGroupDescribeRequest | ShareGroupDescribeRequest
) -> Message | None:
    """Groups whose members have topics that may not be described are not shown at all."""

    def hide(answer: Any) -> None:
        answer.groups = [
            one if _describes(call, _assigned(one)) else _hidden(one, _HIDDEN)
            for one in answer.groups
        ]

    _describe_groups(call, request)
    call.amend(hide)
    return None


def _assigned(group: Any) -> Iterable[str]:
    for member in group.members:
        for assignment in (member.assignment, getattr(member, "target_assignment", None)):
            for one in () if assignment is None else assignment.topic_partitions:
                yield one.topic_name


def _hidden(group: Any, why: str) -> Any:
    return type(group)(
        group_id=group.group_id,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        error_message=why,
    )


GATES: Final[dict[ApiKey, Gate]] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.METADATA: _metadata,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _describe_topics,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.DESCRIBE_GROUPS: _describe_groups,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.INIT_PRODUCER_ID: _init_producer_id,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.ALTER_CONFIGS: _alter_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    ApiKey.DESCRIBE_CLUSTER: _describe_cluster,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _consumer_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: _describe_assigned,
    ApiKey.SHARE_GROUP_HEARTBEAT: _share_heartbeat,
    ApiKey.SHARE_GROUP_DESCRIBE: _describe_assigned,
    ApiKey.STREAMS_GROUP_HEARTBEAT: _streams_heartbeat,
    ApiKey.STREAMS_GROUP_DESCRIBE: _describe_streams,
}
