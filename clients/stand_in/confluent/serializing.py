"""Clients that serialize: SerializingProducer, DeserializingConsumer and that of share groups."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import GenericAlias
from typing import Any

from kcore.clients.stand_in.confluent.consumer import Consumer
from kcore.clients.stand_in.confluent.errors import named
from kcore.clients.stand_in.confluent.messages import Message
from kcore.clients.stand_in.confluent.producer import Producer
from kcore.clients.stand_in.confluent.serialization import (
    ConsumeError,
    KeyDeserializationError,
    KeySerializationError,
    MessageField,
    SerializationContext,
    ValueDeserializationError,
    ValueSerializationError,
)
from kcore.clients.stand_in.confluent.share import ShareConsumer
from kcore.clients.stand_in.confluent.structures import Messages


class Serdes:
    """A key's and a value's, taken out of a configuration: what is left of it is `conf`. Those that
    a builder has made are closed by `close`.

    ValueError: a serde and a builder of one, or a builder that gives something else.
    """

    def __init__(self, conf: Any, kind: str) -> None:
        if not isinstance(conf, dict):
            raise TypeError("expected configuration dict")
        left = {**conf}
        self._made: list[Any] = []
        found, leftovers = [], []
        for part, is_key in (("key", True), ("value", False)):
            name = f"{part}.{kind}"
            serde, builder = left.pop(name, None), left.pop(f"{name}.builder", None)
            if serde is not None and builder is not None:
                raise ValueError(
                    f"Cannot configure both {name} and {name}.builder; use one or the other"
                )
            found.append((serde, builder, is_key, name))
        self.key, self.value = None, None
        for serde, builder, is_key, name in found:
            made = serde
            if builder is not None:
                try:
                    made, rest = builder.build({**left}, is_key)
                except (TypeError, ValueError):
                    self.close()
                    raise
                if not isinstance(rest, dict):
                    raise ValueError(f"{name}.builder must return (serde, configuration dict)")
                self._made.append(made)
                leftovers.append(rest)
            if is_key:
                self.key = made
            else:
                self.value = made
        for rest in leftovers:
            left = {key: value for key, value in left.items() if key in rest}
        self.conf = left

    @contextmanager
    def closed_if_it_fails(self) -> Iterator[None]:
        """Around the making of the client that has them."""
        try:
            yield
        except BaseException:
            with suppress(Exception):
                self.close()
            raise

    def tell_of_cluster(self, cluster_id: Any) -> None:
        """Have them know who can say the cluster's id."""
        for serde in (self.key, self.value):
            tell = getattr(serde, "set_cluster_id_resolver", None)
            if callable(tell):
                tell(cluster_id)

    def let_go(self) -> list[Any]:
        """What builders have made, to be closed by whoever asks; once."""
        made, self._made = self._made, []
        return made

    def close(self) -> None:
        """Close what a builder has made; once."""
        for serde in self.let_go():
            close = getattr(serde, "close", None)
            if callable(close):
                close()


class SerializingProducer(Producer):
    """A Producer whose `produce` takes objects: key.serializer, value.serializer make bytes."""

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(self, conf: dict[str, Any]) -> None:
        self._serdes = Serdes(conf, "serializer")
        with self._serdes.closed_if_it_fails():
            super().__init__(self._serdes.conf)
        self._serdes.tell_of_cluster(self.cluster_id)

    def produce(  # type: ignore[override]
        self,
        topic: str,
        key: Any = None,
        value: Any = None,
        partition: int = -1,
        on_delivery: Any = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        """As Producer's. KeySerializationError, ValueSerializationError."""
        self._need()
        if not isinstance(topic, str):
            raise TypeError(f"topic must be a str, not {type(topic).__name__}")
        context = SerializationContext(topic, MessageField.KEY, headers)
        if self._serdes.key is not None:
            try:
                key = self._serdes.key(key, context)
            except Exception as error:
                raise KeySerializationError(error) from error
        context.field = MessageField.VALUE
        if self._serdes.value is not None:
            try:
                value = self._serdes.value(value, context)
            except Exception as error:
                raise ValueSerializationError(error) from error
        super().produce(
            topic,
            value,
            key,
            partition=partition,
            on_delivery=on_delivery,
            timestamp=timestamp,
            headers=headers,
        )

    def close(self) -> bool:
        """As Producer's; then the serializers that builders have made."""
        done = super().close()
        self._serdes.close()
        return done


class DeserializingConsumer(Consumer):
    """A Consumer whose `poll` gives objects: key.deserializer, value.deserializer make them."""

    __class_getitem__: Any = classmethod(GenericAlias)

    def __init__(self, conf: dict[str, Any]) -> None:
        self._serdes = Serdes(conf, "deserializer")
        with self._serdes.closed_if_it_fails():
            super().__init__(self._serdes.conf)
        self._serdes.tell_of_cluster(self.cluster_id)

    def poll(self, timeout: float = -1) -> Message | None:
        """As Consumer's. ConsumeError: what is an error there. KeyDeserializationError,
        ValueDeserializationError.
        """
        message = super().poll(timeout)
        if message is None:
            return None
        error = message.error()
        if error is not None:
            raise ConsumeError(error, kafka_message=message)
        key, value = message.key(), message.value()
        context = SerializationContext(message.topic(), MessageField.KEY, message.headers())
        if self._serdes.key is not None:
            try:
                key = self._serdes.key(key, context)
            except Exception as failed:
                raise KeyDeserializationError(failed, message) from failed
        context.field = MessageField.VALUE
        if self._serdes.value is not None:
            try:
                value = self._serdes.value(value, context)
            except Exception as failed:
                raise ValueDeserializationError(failed, message) from failed
        message.set_key(key)
        message.set_value(value)
        return message

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """There is none, as there."""
        raise NotImplementedError

    def close(self) -> None:
        """As Consumer's; then the deserializers that builders have made."""
        super().close()
        self._serdes.close()


class DeserializingShareConsumer(ShareConsumer):
    """A ShareConsumer whose messages are objects. One that cannot be made is a message with an
    error, and the bytes as they are.
    """

    def __init__(self, conf: dict[str, Any]) -> None:
        left = {**conf}
        self._key_deserializer = left.pop("key.deserializer", None)
        self._value_deserializer = left.pop("value.deserializer", None)
        super().__init__(left)

    def poll(self, timeout: float = -1) -> Messages:
        """As ShareConsumer's."""
        messages = super().poll(timeout)
        for message in messages:
            if message.error() is None:
                self._deserialize(message)
        return messages

    def _deserialize(self, message: Message) -> None:
        context = SerializationContext(message.topic(), MessageField.KEY, message.headers())
        key, value, part = message.key(), message.value(), "_KEY_DESERIALIZATION"
        try:
            if self._key_deserializer is not None:
                key = self._key_deserializer(key, context)
            context.field, part = MessageField.VALUE, "_VALUE_DESERIALIZATION"
            if self._value_deserializer is not None:
                value = self._value_deserializer(value, context)
        except Exception as error:  # noqa: BLE001 - whatever it is, the message tells
            message.set_error(named(part, str(error)))
            return
        message.set_key(key)
        message.set_value(value)
