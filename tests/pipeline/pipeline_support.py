"""What the tests of the pipeline share: an admin's verbs, ranges planned and read without Spark."""

import json

from confluent_kafka import Producer as TransactionalProducer
from confluent_kafka import TopicPartition as AdminPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from kcore.pipeline.options import source_options
from kcore.pipeline.planning import OffsetRange
from kcore.pipeline.reading import read_range
from kcore.pipeline.source import KcoreReader

DEADLINE_S = 30


def administer(bootstrap, verb, wanted):
    client = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    for future in getattr(client, verb)(wanted).values():
        future.result(DEADLINE_S)


def create_topic(bootstrap, name, partitions=1, **settings):
    config = {key.replace("_", "."): value for key, value in settings.items()}
    administer(bootstrap, "create_topics", [NewTopic(name, partitions, 1, config=config)])


def delete_records(bootstrap, topic, before, partition=0):
    """What retention does, at once."""
    administer(bootstrap, "delete_records", [AdminPartition(topic, partition, before)])


def delete_topic(bootstrap, topic):
    administer(bootstrap, "delete_topics", [topic])


def add_partitions(bootstrap, topic, total):
    administer(bootstrap, "create_partitions", [NewPartitions(topic, total)])


def transact(bootstrap, topic, values, *, commit, partition=0):
    producer = TransactionalProducer(
        {"bootstrap.servers": bootstrap, "transactional.id": topic, "log_level": 0}
    )
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value, partition=partition)
    producer.flush(DEADLINE_S)
    if commit:
        producer.commit_transaction(DEADLINE_S)
    else:
        producer.abort_transaction(DEADLINE_S)


def options(bootstrap, topic, *, streaming=False, **more):
    given = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}
    given["kafka.fetch.max.wait.ms"] = "20"  # a seek waits for the fetch that is under way
    given |= {name.replace("__", "."): value for name, value in more.items()}
    if "subscribePattern" in given or "assign" in given:
        del given["subscribe"]
    return source_options(given, streaming=streaming)


def rows_of(batches):
    return [row for batch in batches for row in batch.to_pylist()]


def read(wanted, topic, begin, end, partition=0):
    """(offset, value) of a range."""
    found = rows_of(read_range(wanted, OffsetRange(topic, partition, begin, end)))
    assert all((row["topic"], row["partition"]) == (topic, partition) for row in found)
    return [(row["offset"], row["value"]) for row in found]


def values(begin, end):
    return [(number, b"%d" % number) for number in range(begin, end)]


def topic_of(broker, request, count=0, **settings):
    name = request.node.name.replace("[", "-").replace("]", "")
    create_topic(broker.bootstrap, name, **settings)
    for begin in range(0, count, 10):  # batches of ten
        size = min(10, count - begin)
        broker.produce(name, [(None, b"%d" % (begin + at)) for at in range(size)], partition=0)
    return name


# Plans ----------------------------------------------------------------------------------------


def fill(broker, topic, count):
    broker.produce(topic, [(None, b"x")] * count)


def with_an_open_transaction(broker, topic):
    """A producer that has written a record to partition 0 and not said how it ends."""
    producer = TransactionalProducer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "log_level": 0}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"a", partition=0)
    producer.flush(30)
    return producer


def plan(broker, topic, **more):
    """The ranges of a batch query: (topic, partition, begin, end)."""
    return ranges(plan_tasks(broker, topic, **more))


def plan_tasks(broker, topic, **more):
    return KcoreReader(options(broker.bootstrap, topic, **more)).partitions()


def ranges(tasks):
    return [(*part.tp, part.begin, part.end) for one in tasks for part in one.ranges]


def bound(topic, *numbers):
    return json.dumps({topic: {str(number): offset for number, offset in enumerate(numbers)}})
