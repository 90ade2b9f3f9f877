"""Topics and records put into a Kafka with librdkafka: what demo, tests and benches read after.

Another project's client on purpose: what kcore reads is not what kcore wrote.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

TIMEOUT_S: Final = 30.0
ATTEMPT_S: Final = 3.0
FLUSH_S: Final = 60.0
QUIET: Final[dict[str, str | int]] = {
    "log_level": 0
}  # librdkafka writes to standard error when a broker goes away
POLL_EVERY: Final = 10_000  # records between two looks at the producer's deliveries
LEADER_POLL_S: Final = 0.05
_DROPPED: Final = KafkaError._DESTROY_BROKER  # noqa: SLF001 - named so


class KafkaDataError(RuntimeError):
    """The cluster refused, or did not answer in time."""


def create_topic(
    bootstrap: str,
    name: str,
    partitions: int,
    replication: int = 1,
    configs: Mapping[str, str] | None = None,
) -> None:
    """Create a topic and wait until every partition has a leader. Raises KafkaDataError."""
    admin = AdminClient(QUIET | {"bootstrap.servers": bootstrap})
    topic = NewTopic(
        name, num_partitions=partitions, replication_factor=replication, config=dict(configs or {})
    )
    attempts = 0

    def create() -> None:
        nonlocal attempts
        attempts += 1
        try:
            admin.create_topics([topic], request_timeout=TIMEOUT_S)[name].result(TIMEOUT_S)
        except KafkaException as refused:
            if attempts == 1 or _code(refused) != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    def look() -> Any:
        return admin.list_topics(name, timeout=TIMEOUT_S)

    try:
        _until_heard(create)
        deadline_s = time.monotonic() + TIMEOUT_S
        while not _has_leaders(_until_heard(look), name, partitions):
            if time.monotonic() > deadline_s:
                raise KafkaDataError(f"topic {name}: no leaders after {TIMEOUT_S:.0f} s")
            time.sleep(LEADER_POLL_S)
    except KafkaException as refused:
        raise KafkaDataError(f"topic {name}: {refused}") from refused


def _until_heard(ask: Callable[[], Any]) -> Any:
    """What comes of it; asked again where librdkafka has dropped the broker that it was asking.

    It drops those that an answer does not list, with what they were asked, and a node that has just
    started lists only those nodes of which it has heard by then.
    """
    deadline_s = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return ask()
        except KafkaException as failed:
            if _code(failed) != _DROPPED or time.monotonic() > deadline_s:
                raise


def _code(failed: KafkaException) -> int:
    return int(failed.args[0].code())


def _has_leaders(metadata: Any, name: str, partitions: int) -> bool:
    found = metadata.topics[name].partitions
    return len(found) == partitions and all(part.leader >= 0 for part in found.values())


def produce(
    bootstrap: str,
    topic: str,
    records: Iterable[tuple[bytes | None, bytes | None]],
    partition: int | None = None,
    **options: str | int,
) -> int:
    """Write (key, value) records, all acknowledged when it returns; gives their number.

    `partition` None: by key, as the Java client does it. `options` are librdkafka's,
    with `_` for `.`. Raises KafkaDataError.
    """
    refused: list[str] = []

    def delivered(error: Any, _message: object) -> None:
        if error is not None:
            refused.append(str(error))

    settings: dict[str, str | int] = QUIET | {
        "bootstrap.servers": bootstrap,
        "linger.ms": 20,
        # Not the minute that they are by default: a node that falls silent is given up sooner.
        "socket.timeout.ms": 5_000,
        "request.timeout.ms": 5_000,
        "batch.num.messages": 10_000,
        "queue.buffering.max.messages": 1_000_000,
        "queue.buffering.max.kbytes": 262_144,
        "partitioner": "murmur2_random",
    }
    producer = Producer(settings | {key.replace("_", "."): value for key, value in options.items()})
    where: dict[str, Any] = {} if partition is None else {"partition": partition}
    count = 0
    for key, value in records:
        while True:
            try:
                producer.produce(topic, value, key, on_delivery=delivered, **where)
                break
            except BufferError:  # the producer's queue is full
                producer.poll(0.1)
        count += 1
        if count % POLL_EVERY == 0:
            producer.poll(0)
    left = producer.flush(FLUSH_S)
    if refused or left:
        raise KafkaDataError(
            f"topic {topic}: {len(refused)} records refused ({refused[:1]}), {left} not sent"
        )
    return count


def end_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """Partition -> the offset that its next record will get. Raises KafkaDataError.

    Asked again while leaders move: an answer may still be waited for from one that is gone.
    """
    admin = AdminClient(QUIET | {"bootstrap.servers": bootstrap})
    deadline_s = time.monotonic() + TIMEOUT_S
    while True:
        try:
            return _end_offsets(admin, topic)
        except (KafkaException, TimeoutError) as refused:
            if time.monotonic() > deadline_s:
                raise KafkaDataError(f"topic {topic}: {refused!r}") from refused


def _end_offsets(admin: AdminClient, topic: str) -> dict[int, int]:
    found = admin.list_topics(topic, timeout=ATTEMPT_S).topics[topic]
    if found.error is not None:
        raise KafkaDataError(f"topic {topic}: {found.error}")
    wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in found.partitions}
    answers = admin.list_offsets(wanted, request_timeout=ATTEMPT_S)
    return {part.partition: answer.result(ATTEMPT_S).offset for part, answer in answers.items()}


def group_offsets(bootstrap: str, group: str, topic: str) -> dict[int, int]:
    """Partition -> what a group has committed of a topic, where it has. Raises KafkaDataError."""
    admin = AdminClient(QUIET | {"bootstrap.servers": bootstrap})
    asked = [ConsumerGroupTopicPartitions(group)]
    try:
        answer = _until_heard(
            lambda: admin.list_consumer_group_offsets(asked)[group].result(TIMEOUT_S)
        )
    except KafkaException as refused:
        raise KafkaDataError(f"group {group}: {refused}") from refused
    parts = (part for part in answer.topic_partitions if part.topic == topic and part.offset >= 0)
    return {part.partition: part.offset for part in parts}


def coordinator_of(bootstrap: str, group: str) -> int:
    """The id of the node that keeps a group. Raises KafkaDataError."""
    admin = AdminClient(QUIET | {"bootstrap.servers": bootstrap})

    def describe() -> Any:
        found = admin.describe_consumer_groups([group], request_timeout=TIMEOUT_S)[group]
        return found.result(TIMEOUT_S)

    try:
        return int(_until_heard(describe).coordinator.id)
    except KafkaException as refused:
        raise KafkaDataError(f"group {group}: {refused}") from refused
