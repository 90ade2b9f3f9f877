"""A program for the serializing clients of `confluent_kafka.aio`, told what it saw: for any library
that has them.
"""

import asyncio


class Serde:
    def __init__(self, seen):
        self.seen = seen

    async def __call__(self, value, context):
        self.seen.append(("made", str(context.field), context.topic[:0]))
        await asyncio.sleep(0)
        if value in ("bad", b"bad"):
            raise ValueError("a bad one")
        return value.encode() if isinstance(value, str) else value.decode()

    async def close(self):
        self.seen.append("closed")


class Builder:
    def __init__(self, seen):
        self.seen = seen

    async def build(self, conf, is_key):
        self.seen.append((is_key, sorted(conf)))
        left = {name: value for name, value in conf.items() if name != "of.the.builder"}
        return Serde(self.seen), left


async def program(aio, where, topic):
    seen = []
    conf = {"bootstrap.servers": where}
    producer = await aio.AsyncSerializingProducer(
        {
            **conf,
            "of.the.builder": 1,
            "key.serializer": lambda key, _context: key.encode(),
            "value.serializer.builder": Builder(seen),
        },
        batch_size=1,
    )
    message = await (await producer.produce(topic, "k", "good"))
    seen.append((message.key(), message.value(), message.offset()))
    for wrong in ({"key": "k", "value": "bad"}, {"key": 5, "value": "good"}):
        try:
            await producer.produce(topic, **wrong)
        except Exception as error:  # noqa: BLE001 - of two libraries
            seen.append((type(error).__name__, error.args[0].code()))
    await producer.close()
    await producer.close()
    try:
        await producer.produce(topic, "k", "good")
    except RuntimeError as error:
        seen.append(str(error))
    consumer = await aio.AsyncDeserializingConsumer(
        {
            **conf,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "key.deserializer": lambda key, _context: key.decode(),
            "value.deserializer.builder": Builder(seen),
        }
    )
    await consumer.subscribe([topic])
    message = await consumer.poll(20)
    seen.append((message.key(), message.value(), message.offset()))
    seen.append(await consumer.consume(1, 0.2))
    await consumer.close()
    await consumer.close()
    both = {**conf, "key.serializer": str, "key.serializer.builder": Builder(seen)}
    try:
        await aio.AsyncSerializingProducer(both)
    except ValueError as error:
        seen.append(type(error).__name__)
    return seen
