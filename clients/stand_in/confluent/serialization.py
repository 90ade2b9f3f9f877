"""`confluent_kafka.serialization` and `confluent_kafka.error`: what makes bytes of objects and
objects of bytes, and the errors of that.

A serializer is called with (object, SerializationContext), a deserializer with (bytes, context).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import Enum
from typing import Any

from kcore.clients.stand_in.confluent.errors import KafkaError, KafkaException, named


class MessageField(str, Enum):  # noqa: UP042 - theirs is no StrEnum, and its repr tells
    """Which part of a message it is about."""

    NONE = "none"
    KEY = "key"
    VALUE = "value"

    def __str__(self) -> str:
        return str(self.value)


class SerializationContext:
    """Where an object comes from or goes to."""

    def __init__(self, topic: str, field: MessageField, headers: Any = None) -> None:
        self.topic = topic
        self.field = field
        self.headers = headers


class SerializationError(KafkaException):
    """An object cannot become bytes, or bytes no object."""


class _Serde:
    __slots__ = ()

    def set_cluster_id_resolver(self, resolver: Callable[[], Any]) -> None:
        """Who can say the cluster's id, for those who need it."""

    def close(self) -> None:
        """It is not used any more."""


class Serializer(_Serde):
    """What makes bytes of keys or values."""

    __slots__ = ()

    def __call__(self, obj: Any, ctx: SerializationContext | None = None) -> bytes | None:
        """The bytes. SerializationError."""
        raise NotImplementedError


class Deserializer(_Serde):
    """What makes keys or values of bytes."""

    __slots__ = ()

    def __call__(self, value: bytes | None, ctx: SerializationContext | None = None) -> Any:
        """The object. SerializationError."""
        raise NotImplementedError


class SerializerBuilder:
    """What makes a serializer of a client's configuration."""

    __slots__ = ()

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[Serializer, dict[str, Any]]:
        """The serializer, and the configuration without what was its own."""
        raise NotImplementedError


class DeserializerBuilder:
    """What makes a deserializer of a client's configuration."""

    __slots__ = ()

    def build(self, conf: dict[str, Any], is_key: bool) -> tuple[Deserializer, dict[str, Any]]:
        """The deserializer, and the configuration without what was its own."""
        raise NotImplementedError


class _Packer(Serializer):
    """Numbers of a fixed size; None stays None."""

    __slots__ = ()
    _form = ""

    def __call__(self, obj: Any, _ctx: SerializationContext | None = None) -> bytes | None:
        """The bytes. SerializationError."""
        if obj is None:
            return None
        try:
            return struct.pack(self._form, obj)
        except struct.error as error:
            raise SerializationError(str(error)) from error


class _Unpacker(Deserializer):
    """The same the other way round."""

    __slots__ = ()
    _form = ""

    def __call__(self, value: bytes | None, _ctx: SerializationContext | None = None) -> Any:
        """The number. SerializationError."""
        if value is None:
            return None
        try:
            return struct.unpack(self._form, value)[0]
        except struct.error as error:
            raise SerializationError(str(error)) from error


class DoubleSerializer(_Packer):
    """float to 8 bytes, as Java's."""

    __slots__ = ()
    _form = ">d"


class DoubleDeserializer(_Unpacker):
    """8 bytes to float."""

    __slots__ = ()
    _form = ">d"


class IntegerSerializer(_Packer):
    """int to 4 bytes, as Java's."""

    __slots__ = ()
    _form = ">i"


class IntegerDeserializer(_Unpacker):
    """4 bytes to int."""

    __slots__ = ()
    _form = ">i"


class StringSerializer(Serializer):
    """str to bytes; None stays None."""

    def __init__(self, codec: str = "utf_8") -> None:
        self.codec = codec

    def __call__(self, obj: str | None, _ctx: SerializationContext | None = None) -> bytes | None:
        """The bytes. SerializationError."""
        try:
            return None if obj is None else obj.encode(self.codec)
        except UnicodeError as error:
            raise SerializationError(str(error)) from error


class StringDeserializer(Deserializer):
    """bytes to str; None stays None."""

    def __init__(self, codec: str = "utf_8") -> None:
        self.codec = codec

    def __call__(self, value: bytes | None, _ctx: SerializationContext | None = None) -> str | None:
        """The text. SerializationError."""
        try:
            return None if value is None else value.decode(self.codec)
        except UnicodeError as error:
            raise SerializationError(str(error)) from error


# Errors of clients that serialize -----------------------------------------------------------------


class _ClientError(KafkaException):
    def __init__(
        self, kafka_error: KafkaError, exception: Exception | None = None, kafka_message: Any = None
    ) -> None:
        super().__init__(kafka_error)
        self.exception = exception
        self.kafka_message = kafka_message

    @property
    def code(self) -> int:
        """The KafkaError's."""
        return int(self.args[0].code())

    @property
    def name(self) -> str:
        """The KafkaError's."""
        return str(self.args[0].name())


class ConsumeError(_ClientError):
    """A message could not be had. exception: why. kafka_message: as it is."""


class KeyDeserializationError(ConsumeError, SerializationError):
    """Its key is no object."""

    def __init__(self, exception: Exception | None = None, kafka_message: Any = None) -> None:
        super().__init__(named("_KEY_DESERIALIZATION", str(exception)), exception, kafka_message)


class ValueDeserializationError(ConsumeError, SerializationError):
    """Its value is no object."""

    def __init__(self, exception: Exception | None = None, kafka_message: Any = None) -> None:
        super().__init__(named("_VALUE_DESERIALIZATION", str(exception)), exception, kafka_message)


class ProduceError(_ClientError):
    """A message could not be taken. exception: why."""

    def __init__(self, kafka_error: KafkaError, exception: Exception | None = None) -> None:
        super().__init__(kafka_error, exception)


class KeySerializationError(ProduceError, SerializationError):
    """Its key cannot become bytes."""

    def __init__(self, exception: Exception | None = None) -> None:
        super().__init__(named("_KEY_SERIALIZATION", str(exception)), exception)


class ValueSerializationError(ProduceError, SerializationError):
    """Its value cannot become bytes."""

    def __init__(self, exception: Exception | None = None) -> None:
        super().__init__(named("_VALUE_SERIALIZATION", str(exception)), exception)
