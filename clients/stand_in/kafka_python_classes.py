"""kafka-python's classes where they differ from kcore's in more than the name, and those that
programs derive theirs from.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from enum import IntEnum
from typing import Any, Final

from kcore.admin.config import AdminConfig
from kcore.clients.admin import Admin
from kcore.clients.consumer import Consumer
from kcore.clients.producer import Producer
from kcore.clients.stand_in import shared
from kcore.consumer.config import ConsumerConfig
from kcore.producer.config import ProducerConfig


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


class KafkaConsumer(Consumer):
    """kcore's Consumer."""

    DEFAULT_CONFIG: Final = ConsumerConfig.from_options({}).as_mapping()


class KafkaProducer(Producer):
    """kcore's Producer; with kafka-python's own partitioners it has its own."""

    DEFAULT_CONFIG: Final = ProducerConfig.from_options({}).as_mapping()

    def __init__(self, **options: Any) -> None:
        if type(options.get("partitioner")) in _ITS_OWN:
            del options["partitioner"]
        super().__init__(**options)


class KafkaAdminClient(Admin):
    """kcore's Admin."""

    DEFAULT_CONFIG: Final = AdminConfig.from_options({}).as_mapping()


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
