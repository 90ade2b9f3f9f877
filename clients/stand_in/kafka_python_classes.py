"""kafka-python's classes where they differ from kcore's in more than the name, and those that
programs derive theirs from.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from enum import IntEnum
from types import SimpleNamespace
from typing import Any, Final

from kcore.admin.config import AdminConfig
from kcore.clients.admin.admin import Admin
from kcore.clients.consumer.consumer import Consumer
from kcore.clients.producer.producer import Producer
from kcore.clients.stand_in import shared
from kcore.consumer.config import ConsumerConfig
from kcore.errors import DeserializationError
from kcore.producer.config import ProducerConfig
from kcore.records import ConsumerRecord
from kcore.structs import TopicPartition
from kcore.wire.message import Struct

_MAGIC: Final = 2


class Partitioner(ABC):
    """What chooses partitions."""

    @abstractmethod
    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: Any,
    ) -> int:
        """One of `cluster.partitions_for_topic(topic)`."""


class DefaultPartitioner(shared.DefaultPartitioner, Partitioner):
    """See there."""

    def partition(
        self,
        topic: str,
        key: Any,  # noqa: ARG002 - theirs
        serialized_key: bytes | None,
        value: Any,  # noqa: ARG002 - theirs
        serialized_value: bytes | None,  # noqa: ARG002 - theirs
        cluster: Any,
    ) -> int:
        """A partition."""
        available = [*cluster.available_partitions_for_topic(topic)]
        return self(serialized_key, sorted(cluster.partitions_for_topic(topic)), available)


class StickyPartitioner(DefaultPartitioner):
    """What has no key stays with a partition until that has a batch (KIP-480), as it does here
    without any partitioner.
    """


# What a producer that stands in does by itself.
_ITS_OWN: Final = (DefaultPartitioner, StickyPartitioner)


def _as_given(config: dict[str, object], options: Mapping[str, Any]) -> None:
    """Have `bootstrap_servers` stand in `config` as a program gave it: some compare."""
    if "bootstrap_servers" in options:
        config["bootstrap_servers"] = options["bootstrap_servers"]


class KafkaConsumer(Consumer):
    """kcore's Consumer, and what tracers look at of kafka-python's."""

    DEFAULT_CONFIG: Final = ConsumerConfig.from_options({}).as_mapping()

    def __init__(self, *topics: str, **options: Any) -> None:
        super().__init__(*topics, **options)
        _as_given(self.config, options)

    def poll(self, *arguments: Any, **options: Any) -> dict[TopicPartition, list[ConsumerRecord]]:
        """See Consumer."""
        try:
            return super().poll(*arguments, **options)
        except DeserializationError as error:
            raise shared.own_error(error) from None

    def _next_batch(self) -> None:
        try:
            super()._next_batch()
        except DeserializationError as error:
            raise shared.own_error(error) from None

    @property
    def _subscription(self) -> SimpleNamespace:
        return SimpleNamespace(subscription=self.subscription())


class KafkaProducer(Producer):
    """kcore's Producer; with kafka-python's own partitioners it has its own."""

    DEFAULT_CONFIG: Final = ProducerConfig.from_options({}).as_mapping()

    def __init__(self, **options: Any) -> None:
        if type(options.get("partitioner")) in _ITS_OWN:
            del options["partitioner"]
        super().__init__(**options)
        _as_given(self.config, options)

    @staticmethod
    def max_usable_produce_magic(api_version: tuple[int, ...]) -> int:  # noqa: ARG004 - theirs
        """The format of batches: the newest, which all brokers take that kcore speaks to."""
        return _MAGIC

    @property
    def _metadata(self) -> SimpleNamespace:
        """Elastic's agent asks for the `controller`: (id, host, port); None while it is unknown."""
        cluster = self._core.cluster
        with self._courier.lock:
            node = cluster.node(cluster.controller_id)
        found = None if node is None else (node.node_id, node.host, node.port)
        return SimpleNamespace(controller=found)


class Told:
    """A part of what a broker said: its fields by name, and by place as in kafka-python; lists of
    such parts hold them in turn.
    """

    def __init__(self, part: Struct) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        """A field."""
        if name.startswith("_"):
            raise AttributeError(name)
        return _told(getattr(self._part, name))

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, row[0]) for row in self._part.FIELDS)

    def __getitem__(self, place: Any) -> Any:
        return [*self][place]

    def __eq__(self, other: object) -> bool:
        """Of another of its kind, or of a tuple of all fields."""
        if isinstance(other, tuple):
            return tuple(self) == other
        return isinstance(other, Told) and self._part == other._part

    __hash__ = None  # type: ignore[assignment]  # what it holds may be changed

    def to_dict(self) -> dict[str, Any]:
        """All fields."""
        return {row[0]: _plain(getattr(self, row[0])) for row in self._part.FIELDS}

    def __repr__(self) -> str:
        return repr(self._part)


def _told(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_told, value)]
    return Told(value) if isinstance(value, Struct) else value


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_plain, value)]
    return value.to_dict() if isinstance(value, Told) else value


class KafkaAdminClient(Admin):
    """kcore's Admin, whose answers that are no dicts may be taken apart by place as well."""

    DEFAULT_CONFIG: Final = AdminConfig.from_options({}).as_mapping()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        _as_given(self.config, options)

    def create_partitions(self, *arguments: Any, **options: Any) -> Told:  # type: ignore[override]
        """See Admin."""
        return Told(super().create_partitions(*arguments, **options))

    def elect_leaders(self, *arguments: Any, **options: Any) -> Told:  # type: ignore[override]
        """See Admin."""
        return Told(super().elect_leaders(*arguments, **options))


class IsolationLevel(IntEnum):
    """For the option of that name."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class Serializer(ABC):
    """What makes bytes of keys or values."""

    @abstractmethod
    def serialize(self, topic: str, headers: Any, data: Any) -> bytes | None:
        """The bytes."""

    def close(self) -> None:  # noqa: B027 - most have nothing to do there
        """It is not used any more."""


class Deserializer(ABC):
    """What makes keys or values of bytes."""

    @abstractmethod
    def deserialize(self, topic: str, headers: Any, data: bytes | None) -> Any:
        """The object."""

    def close(self) -> None:  # noqa: B027 - most have nothing to do there
        """It is not used any more."""


class DefaultSerializer(Serializer, Deserializer):
    """Text, both ways; what is bytes already, or None, stays that."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def serialize(self, topic: str, headers: Any, data: Any) -> bytes | None:  # noqa: ARG002
        """Bytes of text."""
        if data is None or isinstance(data, (bytes, bytearray, memoryview)):
            return data  # type: ignore[return-value]
        return str.encode(data, self.encoding)

    def deserialize(self, topic: str, headers: Any, data: bytes | None) -> Any:  # noqa: ARG002
        """Text of bytes."""
        return None if data is None else data.decode(self.encoding)


class JsonSerializer(DefaultSerializer):
    """JSON, both ways; None stays that."""

    def serialize(self, topic: str, headers: Any, data: Any) -> bytes | None:
        """JSON of an object."""
        return None if data is None else super().serialize(topic, headers, json.dumps(data))

    def deserialize(self, topic: str, headers: Any, data: bytes | None) -> Any:
        """An object of JSON."""
        return None if data is None else json.loads(super().deserialize(topic, headers, data))


class AbstractTokenProvider(ABC):
    """Who has tokens for OAUTHBEARER."""

    def __init__(self, **config: Any) -> None:  # noqa: B027 - for whoever gives options on
        """Nothing is taken."""

    @abstractmethod
    def token(self) -> str:
        """A token."""

    def extensions(self) -> dict[str, str]:
        """What goes along with it (KIP-342)."""
        return {}
