"""Topics: made, deleted, listed, described."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from kcore.admin.asking import Ask, Outcome, Reply, Route
from kcore.admin.core import Procedure
from kcore.admin.rows import code_of, id_of, operations_of, row_of
from kcore.admin.values import ConfigSourceType, NewTopic
from kcore.cluster.refresh import metadata_request
from kcore.errors import UnsupportedVersionError, for_code
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
)

_DEFAULTS_SINCE = 4  # CreateTopics: -1 partitions or replicas (KIP-464, Kafka 2.4)
_IDS_SINCE = 6  # DeleteTopics by topic id (Kafka 2.8)
_DESCRIBE_IDS_SINCE = 12  # Metadata by topic id (Kafka 3.1)
_OPERATIONS_SINCE = 8  # Metadata with authorized operations
_FOR_EVER = 1 << 31


def create_topics(
    topics: Sequence[NewTopic], *, validate_only: bool, raise_errors: bool, wait: bool
) -> Procedure[dict[str, Any]]:
    """Make topics. Result: kafka-python's {"topics": [...]}.

    wait: until every partition of each has a leader that metadata tells.
    """
    wanted = {topic.name: topic for topic in topics}
    ask = Ask(
        ApiKey.CREATE_TOPICS,
        tuple(wanted),
        "creating topic",
        lambda names, version, limit_ms: CreateTopicsRequest(
            topics=[_creatable(wanted[name], version) for name in names],
            timeout_ms=limit_ms,
            validate_only=validate_only,
        ),
        lambda body, _version, _keys: _read_topics(body.topics, _created),
        route=Route.CONTROLLER,
        changes=not validate_only,
        patience=1,
    )
    (outcome,) = yield [ask]
    outcome.check(raise_errors=raise_errors)
    if wait and outcome.done:
        (ready,) = yield [_until_ready(tuple(outcome.done))]
        ready.all_done()
    return {"topics": [_created_row(name, outcome) for name in wanted]}


def _creatable(topic: NewTopic, version: int) -> CreateTopicsRequest.CreatableTopic:
    placed = bool(topic.replica_assignments)
    if (
        version < _DEFAULTS_SINCE
        and not placed
        and -1
        in (
            topic.num_partitions,
            topic.replication_factor,
        )
    ):
        raise UnsupportedVersionError(
            f"creating topic {topic.name}: this broker (before 2.4) knows no defaults: give "
            "num_partitions and replication_factor"
        )
    cls = CreateTopicsRequest
    return cls.CreatableTopic(
        name=topic.name,
        num_partitions=-1 if placed else topic.num_partitions,
        replication_factor=-1 if placed else topic.replication_factor,
        assignments=[
            cls.CreatableReplicaAssignment(partition_index=number, broker_ids=list(brokers))
            for number, brokers in topic.replica_assignments.items()
        ],
        configs=[
            cls.CreatableTopicConfig(name=name, value=value)
            for name, value in topic.topic_configs.items()
        ],
    )


def _read_topics(rows: Iterable[Any], make: Any) -> Iterable[Reply]:
    for row in rows:
        # Since v6 a topic may have been named by its id; of one that is refused there is no name.
        key = row.name
        value = None if row.error_code else make(row)
        yield Reply(key, row.error_code, value, getattr(row, "error_message", None))


def _created(row: Any) -> dict[str, Any]:
    told = row_of(row, "configs")
    if row.configs:
        told["configs"] = {
            entry.name: row_of(entry, "name")
            | {"config_source": ConfigSourceType(_source(entry.config_source)).name}
            for entry in row.configs
        }
    return told


def _source(number: int) -> int:
    return number if number in set(ConfigSourceType) else ConfigSourceType.UNKNOWN


def _created_row(name: str, outcome: Outcome) -> dict[str, Any]:
    error = outcome.failed.get(name)
    if error is None:
        found: dict[str, Any] = outcome.done[name]
        return found
    return {
        "name": name,
        "topic_id": None,
        "error_code": code_of(error),
        "error_message": str(error),
        "topic_config_error_code": 0,
        "num_partitions": -1,
        "replication_factor": -1,
    }


def wait_for_topics(names: Sequence[str]) -> Procedure[None]:
    """Wait until every partition of each has a leader that metadata tells. KafkaTimeoutError."""
    (ready,) = yield [_until_ready(tuple(names))]
    ready.all_done()


def _until_ready(names: tuple[str, ...]) -> Ask:
    return Ask(
        ApiKey.METADATA,
        names,
        "waiting for topic",
        lambda keys, version, _limit_ms: metadata_request(
            set(keys), version, allow_auto_create=False
        ),
        _read_ready,
        patience=_FOR_EVER,
    )


def _read_ready(body: Any, _version: int, keys: list[str]) -> Iterable[Reply]:
    topics = {topic.name: topic for topic in body.topics}
    for name in keys:
        topic = topics.get(name)
        if topic is None:
            continue
        codes = [topic.error_code, *(part.error_code for part in topic.partitions)]
        code = next((code for code in codes if code), 0)
        if not code and (
            not topic.partitions or any(part.leader_id < 0 for part in topic.partitions)
        ):
            code = ErrorCode.LEADER_NOT_AVAILABLE
        yield Reply(name, code, None, "not every partition has a leader yet" if code == 5 else None)


def delete_topics(topics: Sequence[str | UUID], *, raise_errors: bool) -> Procedure[dict[str, Any]]:
    """Delete topics, by name or id. Result: kafka-python's {"topics": [...]}."""

    def build(keys: list[str | UUID], version: int, limit_ms: int) -> DeleteTopicsRequest:
        if version < _IDS_SINCE:
            names = [key for key in keys if isinstance(key, str)]
            if len(names) < len(keys):
                raise UnsupportedVersionError(
                    "deleting topics by id: this broker (before 2.8) knows only names"
                )
            return DeleteTopicsRequest(topic_names=names, timeout_ms=limit_ms)
        state = DeleteTopicsRequest.DeleteTopicState
        states = [
            state(topic_id=key.bytes) if isinstance(key, UUID) else state(name=key) for key in keys
        ]
        return DeleteTopicsRequest(topics=states, timeout_ms=limit_ms)

    def read(body: Any, _version: int, keys: list[str | UUID]) -> Iterable[Reply]:
        for row in body.responses:
            by_id = UUID(bytes=bytes(row.topic_id))
            key = by_id if by_id in keys else row.name
            yield Reply(key, row.error_code, row_of(row), row.error_message)

    ask = Ask(
        ApiKey.DELETE_TOPICS,
        tuple(dict.fromkeys(topics)),
        "deleting topic",
        build,
        read,
        route=Route.CONTROLLER,
        changes=True,
        patience=1,
    )
    (outcome,) = yield [ask]
    outcome.check(raise_errors=raise_errors)
    return {"topics": [_deleted_row(key, outcome) for key in ask.keys]}


def _deleted_row(key: str | UUID, outcome: Outcome) -> dict[str, Any]:
    error = outcome.failed.get(key)
    if error is None:
        found: dict[str, Any] = outcome.done[key]
        return found
    by_id = isinstance(key, UUID)
    return {
        "name": None if by_id else key,
        "topic_id": str(key) if by_id else None,
        "error_code": code_of(error),
        "error_message": str(error),
    }


def list_topics() -> Procedure[list[str]]:
    """The names of all topics that this principal may describe."""
    (outcome,) = yield [ask_topics(None)]
    return [topic.name for topic in outcome.all_done()[None].topics]


def describe_topics(topics: Sequence[str | UUID] | None) -> Procedure[list[dict[str, Any]]]:
    """kafka-python's rows of these topics, or of all; of one that is not there, an error code."""
    (outcome,) = yield [ask_topics(topics)]
    return [_described(topic) for topic in outcome.all_done()[None].topics]


def ask_topics(topics: Sequence[str | UUID] | None, *, create: bool = False) -> Ask:
    """Of these topics, or of all: where their partitions are. create: brokers may make those that
    are not there (auto.create.topics.enable). Value of the key None: a MetadataResponse.
    """

    def build(_keys: list[None], version: int, _limit_ms: int) -> MetadataRequest:
        names = None if topics is None else {one for one in topics if isinstance(one, str)}
        request = metadata_request(names, version, allow_auto_create=create)
        ids = [one for one in topics or () if isinstance(one, UUID)]
        if ids:
            if version < _DESCRIBE_IDS_SINCE:
                raise UnsupportedVersionError(
                    "describing topics by id: this broker (before 3.1) knows only names"
                )
            cls = MetadataRequest.MetadataRequestTopic
            request.topics = [*(request.topics or ())]
            request.topics += [cls(topic_id=one.bytes, name=None) for one in ids]
        if version >= _OPERATIONS_SINCE:
            request.include_topic_authorized_operations = True
        return request

    def read(body: Any, _version: int, _keys: list[None]) -> Iterable[Reply]:
        yield Reply(None, body.error_code, body)

    return Ask(ApiKey.METADATA, (None,), "metadata", build, read, name=_of_topics)


def _of_topics(_key: None) -> str:
    return "of topics"


def _described(topic: Any) -> dict[str, Any]:
    row = row_of(topic, "topic_authorized_operations")
    row["topic_id"] = id_of(topic.topic_id)
    row["authorized_operations"] = operations_of(topic.topic_authorized_operations)
    return row


def describe_topic_partitions(
    topics: Sequence[str] | None, limit: int, cursor: tuple[str, int] | None
) -> Procedure[dict[str, Any]]:
    """kafka-python's {"topics": rows, "next_cursor": where to go on, or None} (KIP-966). topics:
    None: all. limit: so many partitions in one answer. cursor: the first of them.
    """
    if topics is not None and not topics:  # that is how brokers are asked for all
        return {"topics": [], "next_cursor": None}

    def build(_keys: list[None], _version: int, _limit_ms: int) -> DescribeTopicPartitionsRequest:
        cls = DescribeTopicPartitionsRequest
        request = cls(response_partition_limit=limit)
        request.topics = [cls.TopicRequest(name=name) for name in sorted(topics or ())]
        if cursor is not None:
            request.cursor = cls.Cursor(topic_name=cursor[0], partition_index=cursor[1])
        return request

    def read(body: Any, _version: int, _keys: list[None]) -> Iterable[Reply]:
        yield Reply(None, 0, body)

    ask = Ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, (None,), "describing", build, read, name=_of_topics)
    (outcome,) = yield [ask]
    body = outcome.all_done()[None]
    further = body.next_cursor
    return {
        "topics": [_paged(topic) for topic in body.topics],
        "next_cursor": None if further is None else row_of(further),
    }


def _paged(topic: Any) -> dict[str, Any]:
    row = row_of(topic)
    for part in row["partitions"]:
        for name in ("eligible_leader_replicas", "last_known_elr"):
            part[name] = part[name] or None
    return row


def partitions_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[int]]:
    """{topic: its partitions} of described topics. Raises what is wrong with one."""
    found: dict[str, list[int]] = {}
    for row in rows:
        if row["error_code"]:
            raise for_code(row["error_code"])(f"describing topic {row['name']}")
        found[row["name"]] = [part["partition_index"] for part in row["partitions"]]
    return found
