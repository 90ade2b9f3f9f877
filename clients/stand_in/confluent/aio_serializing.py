"""AsyncSerializingProducer and AsyncDeserializingConsumer of `confluent_kafka.aio`: clients whose
serdes, and their builders, may be coroutine functions, or plain ones, which run in the loop.

Making one is awaited: `await AsyncSerializingProducer(conf)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from inspect import isawaitable
from types import GenericAlias
from typing import Any, Self

from kcore.clients.stand_in.confluent.aio import AIOConsumer, AIOProducer
from kcore.clients.stand_in.confluent.messages import Message
from kcore.clients.stand_in.confluent.serialization import (
    ConsumeError,
    KeyDeserializationError,
    KeySerializationError,
    MessageField,
    SerializationContext,
    ValueDeserializationError,
    ValueSerializationError,
)
from kcore.clients.stand_in.confluent.serializing import Serdes


async def _settled(found: Any) -> Any:
    return await found if isawaitable(found) else found


class _Built:
    """A builder whose work is done."""

    def __init__(self, found: Any) -> None:
        self._found = found

    def build(self, _conf: Any, _is_key: bool) -> Any:
        """What the true one has given."""
        return self._found


async def _close(made: list[Any]) -> None:
    for serde in made:
        close = getattr(serde, "close", None)
        if callable(close):
            await _settled(close())


def _parts_of(conf: dict[str, Any], parts: list[str]) -> dict[str, Any]:
    """What a configuration has of serdes and builders."""
    names = [name for part in parts for name in (part, f"{part}.builder")]
    return {name: conf[name] for name in names if name in conf}


async def _serdes(conf: Any, kind: str) -> Serdes:
    """As Serdes; builders are awaited, those of a key first."""
    if not isinstance(conf, dict):
        raise TypeError("expected configuration dict")
    parts = [f"{part}.{kind}" for part in ("key", "value")]
    both = _parts_of(conf, parts)
    left = {name: value for name, value in conf.items() if name not in both}
    made: list[Any] = []
    try:
        for part in parts:
            builder = conf.get(f"{part}.builder")
            if builder is not None and conf.get(part) is None:
                found = await _settled(builder.build({**left}, part.startswith("key")))
                both[f"{part}.builder"] = _Built(found)
                made.append(found[0] if isinstance(found, tuple) and found else None)
        return Serdes({**left, **both}, kind)
    except BaseException:
        with suppress(Exception):
            await _close(made)
        raise


class _Awaited:
    """Making one is a coroutine."""

    __class_getitem__: Any = classmethod(GenericAlias)
    _kind = ""
    _serdes: Serdes
    _asking: asyncio.Task[Any] | None = None

    def __new__(cls, conf: Any, **keywords: Any) -> Coroutine[Any, Any, Self]:  # type: ignore[misc]
        return cls._make(conf, keywords)

    @classmethod
    async def _make(cls, conf: Any, keywords: dict[str, Any]) -> Self:
        made = object.__new__(cls)
        serdes = made._serdes = await _serdes(conf, cls._kind)
        try:
            cls.__init__(made, serdes.conf, **keywords)  # type: ignore[call-arg]
        except BaseException:
            with suppress(Exception):
                await _close(serdes.let_go())
            raise
        for serde in (serdes.key, serdes.value):
            tell = getattr(serde, "set_async_cluster_id_resolver", None)
            if callable(tell):
                tell(made._cluster_id)
        return made

    async def _cluster_id(self) -> Any:
        """Asked once for all who wait, whoever of them gives up."""
        if self._asking is None or self._asking.done():
            asking = self.cluster_id(timeout=10)  # type: ignore[attr-defined]
            self._asking = asyncio.ensure_future(asking)
        return await asyncio.shield(self._asking)


class AsyncSerializingProducer(_Awaited, AIOProducer):
    """An AIOProducer whose `produce` takes objects: key.serializer, value.serializer make bytes."""

    _kind = "serializer"

    async def produce(  # type: ignore[override]
        self,
        topic: str,
        key: Any = None,
        value: Any = None,
        partition: int = -1,
        timestamp: int = 0,
        headers: Any = None,
    ) -> asyncio.Future[Any]:
        """As AIOProducer's. KeySerializationError, ValueSerializationError. RuntimeError: it is
        closed.
        """
        if self._closed:
            raise RuntimeError("Producer has been closed")
        if not isinstance(topic, str):
            raise TypeError(f"topic must be a str, not {type(topic).__name__}")
        context = SerializationContext(topic, MessageField.KEY, headers)
        if self._serdes.key is not None:
            try:
                key = await _settled(self._serdes.key(key, context))
            except Exception as error:
                raise KeySerializationError(error) from error
        context.field = MessageField.VALUE
        if self._serdes.value is not None:
            try:
                value = await _settled(self._serdes.value(value, context))
            except Exception as error:
                raise ValueSerializationError(error) from error
        return await super().produce(topic, value, key, partition, timestamp, headers)

    async def close(self) -> None:
        """As AIOProducer's; then the serializers that builders have made."""
        if not self._closed:
            await super().close()
        await _close(self._serdes.let_go())


class AsyncDeserializingConsumer(_Awaited, AIOConsumer):
    """An AIOConsumer that gives objects: key.deserializer, value.deserializer make them."""

    _kind = "deserializer"

    async def poll(self, timeout: float = -1) -> Message | None:
        """As AIOConsumer's. ConsumeError: what is an error there. KeyDeserializationError,
        ValueDeserializationError.
        """
        message: Message | None = await super().poll(timeout)
        if message is None:
            return None
        error = message.error()
        if error is not None:
            raise ConsumeError(error, kafka_message=message)
        return await self._deserialized(message)

    async def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        """As AIOConsumer's; what is an error stays one among them."""
        found = await super().consume(num_messages, timeout)
        return [one if one.error() is not None else await self._deserialized(one) for one in found]

    async def _deserialized(self, message: Message) -> Message:
        context = SerializationContext(message.topic(), MessageField.KEY, message.headers())
        key, value = message.key(), message.value()
        if self._serdes.key is not None:
            try:
                key = await _settled(self._serdes.key(key, context))
            except Exception as failed:
                raise KeyDeserializationError(failed, message) from failed
        context.field = MessageField.VALUE
        if self._serdes.value is not None:
            try:
                value = await _settled(self._serdes.value(value, context))
            except Exception as failed:
                raise ValueDeserializationError(failed, message) from failed
        message.set_key(key)
        message.set_value(value)
        return message

    async def close(self) -> None:
        """As AIOConsumer's; then the deserializers that builders have made."""
        if not self._closed:
            await super().close()
        await _close(self._serdes.let_go())
