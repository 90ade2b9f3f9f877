"""AsyncProducers on embedded brokers, and what they have written."""

from __future__ import annotations

from kcore import AsyncConsumer, AsyncProducer, TopicPartition


def producer(broker, **more):
    return AsyncProducer(**{"bootstrap_servers": broker.bootstrap, "linger_ms": 0} | more)


def topic_of(broker, request):
    """A topic of one partition that no other test writes to."""
    name = request.node.name.replace("[", "-").replace("]", "")[:200]
    broker.create_topic(name, 1)
    return name


async def read(broker, topic):
    """Every record of a topic, by partition."""
    async with AsyncConsumer(bootstrap_servers=broker.bootstrap) as reader:
        ends = dict(enumerate(broker.end_offsets(topic)))
        found = {number: [] for number in ends}
        reader.assign([TopicPartition(topic, number) for number in ends])
        await reader.seek_to_beginning()
        while any(len(found[number]) < end for number, end in ends.items()):
            for tp, records in (await reader.getmany(timeout_ms=100)).items():
                found[tp.partition] += records
        return found
