"""Interceptors on a real Kafka: what they write other clients read, and what they are told of
commits is what Kafka has.
"""

import asyncio

import pytest
from kafka import KafkaConsumer
from kafka.structs import TopicPartition as TheirPartition
from leftovers import KAFKA_PYTHON

from kcore import (
    Admin,
    AsyncConsumer,
    AsyncProducer,
    Consumer,
    ConsumerInterceptor,
    Producer,
    ProducerInterceptor,
)
from kcore.errors import RecordTooLargeError

pytestmark = [*KAFKA_PYTHON, pytest.mark.slow]
COUNT, PARTITIONS = 2_000, 3


class Stamp(ProducerInterceptor):
    def __init__(self):
        self.at, self.failed = {}, []

    def on_send(self, record):
        record.headers.append(("number", record.value))
        return record._replace(key=record.value)

    def on_acknowledgement(self, metadata, exception, headers):
        if exception is None:
            self.at[metadata.partition, metadata.offset] = dict(headers)["number"]
        else:
            self.failed.append((metadata.topic, exception))


class Audit(ConsumerInterceptor):
    def __init__(self):
        self.seen, self.committed = 0, {}

    def on_consume(self, records):
        self.seen += sum(map(len, records.values()))
        return {
            tp: [record for record in found if int(record.value) % 2]
            for tp, found in records.items()
        }

    def on_commit(self, offsets):
        self.committed |= {tp: at.offset for tp, at in offsets.items()}


def as_kafka_python_reads(kafka, topic):
    reader = KafkaConsumer(
        bootstrap_servers=kafka.bootstrap, consumer_timeout_ms=2_000, auto_offset_reset="earliest"
    )
    reader.assign([TheirPartition(topic, number) for number in range(PARTITIONS)])
    found = {(one.partition, one.offset): (one.key, dict(one.headers)["number"]) for one in reader}
    reader.close()
    return found


def check(kafka, names, stamp, audit, odd):
    theirs = as_kafka_python_reads(kafka, names.topic)
    assert len(theirs) == COUNT
    assert {place: (number, number) for place, number in stamp.at.items()} == theirs
    assert audit.seen == COUNT
    assert sorted(odd) == [number for number in range(COUNT) if number % 2]
    with Admin(bootstrap_servers=kafka.bootstrap) as admin:
        known = admin.list_group_offsets([names.group])[names.group]
        ends = kafka.end_offsets(names.topic)
    assert {tp: at.offset for tp, at in known.items()} == audit.committed
    assert {tp.partition: offset for tp, offset in audit.committed.items()} == ends


def test_threads(kafka, names):
    kafka.create_topic(names.topic, PARTITIONS)
    stamp, audit = Stamp(), Audit()
    with Producer(bootstrap_servers=kafka.bootstrap, interceptor_classes=[stamp]) as producer:
        for number in range(COUNT):
            producer.send(names.topic, b"%d" % number)
        with pytest.raises(RecordTooLargeError):
            producer.send(names.topic, b"1" * 2_000_000)
    assert [(topic, type(error)) for topic, error in stamp.failed] == [
        (names.topic, RecordTooLargeError)
    ]
    with Consumer(
        names.topic,
        bootstrap_servers=kafka.bootstrap,
        group_id=names.group,
        auto_offset_reset="earliest",
        interceptor_classes=[audit],
        consumer_timeout_ms=3_000,
    ) as reader:
        odd = [int(record.value) for record in reader]
    check(kafka, names, stamp, audit, odd)


def test_tasks(kafka, names):
    kafka.create_topic(names.topic, PARTITIONS)
    stamp, audit = Stamp(), Audit()

    async def main():
        async with AsyncProducer(
            bootstrap_servers=kafka.bootstrap, interceptor_classes=[stamp]
        ) as producer:
            sent = [await producer.send(names.topic, b"%d" % number) for number in range(COUNT)]
            await asyncio.gather(*sent)
        async with AsyncConsumer(
            names.topic,
            bootstrap_servers=kafka.bootstrap,
            group_id=names.group,
            auto_offset_reset="earliest",
            interceptor_classes=[audit],
        ) as reader:
            odd = []
            while len(odd) < COUNT // 2:
                odd.append(int((await reader.getone()).value))
                for found in (await reader.getmany(timeout_ms=100, max_records=50)).values():
                    odd += [int(record.value) for record in found]
            while audit.seen < COUNT:
                await reader.getmany(timeout_ms=100)
            return odd

    odd = asyncio.run(main())
    assert not stamp.failed
    check(kafka, names, stamp, audit, odd)
