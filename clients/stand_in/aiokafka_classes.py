"""aiokafka's classes where they differ from kcore's in more than the name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from kcore.clients.admin.async_admin import AsyncAdmin
from kcore.clients.consumer.async_consumer import AsyncConsumer
from kcore.clients.producer.async_producer import AsyncProducer
from kcore.clients.stand_in.shared import DefaultPartitioner, own_error
from kcore.errors import ConsumerStoppedError, DeserializationError
from kcore.records import ConsumerRecord as Record
from kcore.structs import ConsumerGroupMetadata, TopicPartition
from kcore.tuples import NamedTuple

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

# What aiokafka's producer has for "no acks given"; frameworks pass it on.
MISSING = object()


@dataclass
class ConsumerRecord(Generic[_Key, _Value]):
    """aiokafka's record: programs change it, put things on it and derive classes from it, which
    kcore's own, made in C for all records of a batch, does not let them.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int | None
    key: _Key | None
    value: _Value | None
    checksum: int | None
    serialized_key_size: int
    serialized_value_size: int
    headers: Sequence[tuple[str, bytes | None]]


class OffsetAndMetadata(NamedTuple):
    """What aiokafka has of it, which programs take apart: two fields."""

    offset: int
    metadata: str


class OffsetAndTimestamp(NamedTuple):
    """The same of an answer to a look-up by time."""

    offset: int
    timestamp: int


def _theirs(record: Record) -> ConsumerRecord[Any, Any]:
    return ConsumerRecord(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.timestamp_type,
        record.key,
        record.value,
        record.checksum,
        record.serialized_key_size,
        record.serialized_value_size,
        tuple(record.headers),
    )


class AIOKafkaConsumer(AsyncConsumer):
    """kcore's AsyncConsumer, with aiokafka's records, and what others look at of its innermost."""

    async def getone(self, *partitions: Any) -> ConsumerRecord[Any, Any]:  # type: ignore[override]
        """See AsyncConsumer."""
        try:
            return _theirs(await super().getone(*partitions))
        except DeserializationError as error:
            raise own_error(error) from None

    async def getmany(  # type: ignore[override]
        self, *partitions: Any, timeout_ms: float = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord[Any, Any]]]:
        """See AsyncConsumer."""
        limits: dict[str, Any] = {"timeout_ms": timeout_ms, "max_records": max_records}
        was_stopped = self._stopping
        try:
            found = await super().getmany(*partitions, **limits)
        except DeserializationError as error:
            raise own_error(error) from None
        except ConsumerStoppedError:
            if was_stopped:
                raise
            return {}  # aiokafka has only the next call fail
        return {tp: [*map(_theirs, records)] for tp, records in found.items()}

    async def offsets_for_times(  # type: ignore[override]
        self, timestamps: Mapping[Any, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """See AsyncConsumer."""
        found = await super().offsets_for_times(timestamps)
        return {
            tp: None if at is None else OffsetAndTimestamp(at.offset, at.timestamp)
            for tp, at in found.items()
        }

    async def __anext__(self) -> ConsumerRecord[Any, Any]:  # type: ignore[override]
        try:
            return await self.getone()  # which tracers wrap
        except ConsumerStoppedError:
            raise StopAsyncIteration from None

    @property
    def _client(self) -> SimpleNamespace:
        return _client_of(self.config)

    @property
    def _coordinator(self) -> ConsumerGroupMetadata:
        """`member_id` and `generation_id`."""
        return self.group_metadata()

    @property
    def _group_id(self) -> str | None:
        return self._settings.group_id

    @property
    def _subscription(self) -> SimpleNamespace:
        return SimpleNamespace(topics=self.subscription())


def _client_of(config: Mapping[str, object]) -> SimpleNamespace:
    """Of aiokafka's client, what tracers ask for."""
    return SimpleNamespace(
        _bootstrap_servers=config["bootstrap_servers"], _client_id=config["client_id"]
    )


class AIOKafkaProducer(AsyncProducer):
    """kcore's AsyncProducer; with aiokafka's default partitioner it has its own."""

    def __init__(self, **options: Any) -> None:
        if options.get("acks") is MISSING:
            del options["acks"]
        if type(options.get("partitioner")) is DefaultPartitioner:  # no class derived from it
            del options["partitioner"]
        super().__init__(**options)

    @property
    def client(self) -> SimpleNamespace:
        """Who it says it is, and to whom."""
        return _client_of(self.config)


class Response:
    """What a broker said, told as aiokafka tells it: fields, and `to_object()` for all of them."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        """A list of objects becomes a list of tuples."""
        if name.startswith("_") or name not in self._fields:
            raise AttributeError(name)
        found = self._fields[name]
        return [tuple(row.values()) for row in found] if isinstance(found, list) else found

    def to_object(self) -> dict[str, Any]:
        """All fields."""
        return dict(self._fields)

    def __repr__(self) -> str:
        return f"Response({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"


class AIOKafkaAdminClient(AsyncAdmin):
    """kcore's AsyncAdmin, whose calls on topics and groups give what aiokafka's give: errors of
    single topics are codes in a response. Others give what AsyncAdmin's do.
    """

    async def create_topics(  # type: ignore[override]
        self, new_topics: Iterable[Any], timeout_ms: int | None = None, validate_only: bool = False
    ) -> Response:
        """The response's `topic_errors`: topic, error_code, error_message."""
        told = await super().create_topics(
            new_topics, timeout_ms, validate_only=validate_only, raise_errors=False
        )
        return _topic_errors(told["topics"])

    async def delete_topics(  # type: ignore[override]
        self, topics: Iterable[str], timeout_ms: int | None = None
    ) -> Response:
        """The response's `topic_error_codes`: topic, error_code."""
        told = await super().delete_topics(topics, timeout_ms, raise_errors=False)
        rows = [{"topic": row["name"], "error_code": row["error_code"]} for row in told["topics"]]
        return Response({"throttle_time_ms": 0, "topic_error_codes": rows})

    async def create_partitions(  # type: ignore[override]
        self,
        topic_partitions: Mapping[str, Any],
        timeout_ms: int | None = None,
        validate_only: bool = False,
    ) -> Response:
        """The response's `topic_errors`: topic, error_code, error_message."""
        told = await super().create_partitions(
            topic_partitions, timeout_ms, validate_only=validate_only, raise_errors=False
        )
        return _topic_errors(
            [
                {"name": one.name, "error_code": one.error_code, "error_message": one.error_message}
                for one in told.results
            ]
        )

    async def describe_topics(  # type: ignore[override]
        self, topics: Iterable[str] | None = None
    ) -> list[dict[str, Any]]:
        """Topics with their partitions."""
        return [
            {
                "error_code": row["error_code"],
                "topic": row["name"],
                "is_internal": row["is_internal"],
                "partitions": [
                    {
                        "error_code": part["error_code"],
                        "partition": part["partition_index"],
                        "leader": part["leader_id"],
                        "replicas": part["replica_nodes"],
                        "isr": part["isr_nodes"],
                        "offline_replicas": part["offline_replicas"],
                    }
                    for part in row["partitions"]
                ],
            }
            for row in await super().describe_topics(topics)
        ]

    async def list_consumer_groups(  # type: ignore[override]
        self, broker_ids: Sequence[int] | None = None
    ) -> list[tuple[str, str]]:
        """(group, type of protocol) pairs."""
        found = await self.list_groups(broker_ids)
        return [(row["group_id"], row["protocol_type"]) for row in found]

    async def list_consumer_group_offsets(  # type: ignore[override]
        self,
        group_id: str,
        group_coordinator_id: int | None = None,
        partitions: Iterable[TopicPartition] | None = None,
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Of each partition where its group goes on; -1 where it has not committed any."""
        told = await super().list_consumer_group_offsets(group_id, group_coordinator_id, partitions)
        return {tp: OffsetAndMetadata(at.offset, at.metadata) for tp, at in told.items()}


def _topic_errors(rows: Iterable[Mapping[str, Any]]) -> Response:
    told = [
        {
            "topic": row["name"],
            "error_code": row["error_code"],
            "error_message": row["error_message"],
        }
        for row in rows
    ]
    return Response({"throttle_time_ms": 0, "topic_errors": told})


class AbstractTokenProvider(ABC):
    """Who has tokens for OAUTHBEARER."""

    @abstractmethod
    async def token(self) -> str:
        """A token."""

    def extensions(self) -> dict[str, str]:
        """What goes along with it (KIP-342)."""
        return {}


def create_ssl_context(
    *,
    cafile: Any = None,
    capath: Any = None,
    cadata: Any = None,
    certfile: Any = None,
    keyfile: Any = None,
    password: Any = None,
) -> Any:
    """An SSLContext that verifies brokers."""
    import ssl  # noqa: PLC0415 - who has no TLS need not load it

    context = ssl.create_default_context(
        ssl.Purpose.SERVER_AUTH, cafile=cafile, capath=capath, cadata=cadata
    )
    if certfile:
        context.load_cert_chain(certfile, keyfile, password)
    return context
