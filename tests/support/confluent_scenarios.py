"""Programs for confluent-kafka's clients, as functions of the module that has them: what they saw,
to be compared. where: a bootstrap server. name: of topics and groups, new ones.
"""

import json
import time

LIMIT_S = 30
KEYS = [None, b"", *(b"key-%d" % number for number in range(20))]


def produced(ck, where, topic, count=10):
    """Messages in partition 0, delivered."""
    producer = ck.Producer({"bootstrap.servers": where, "linger.ms": 1})
    for number in range(count):
        producer.produce(topic, b"v%d" % number, b"k", partition=0, headers=[("h", b"1")])
    assert producer.flush(LIMIT_S) == 0
    return producer


def told(message):
    """What a message is, for those who compare."""
    error = message.error()
    if error is not None:
        return error.name(), message.partition(), message.offset(), bool(message.value())
    return (
        message.partition(),
        message.offset(),
        message.key(),
        message.value(),
        message.headers(),
        message.timestamp()[0],
        message.leader_epoch(),
        message.latency(),
        len(message),
    )


def places(partitions):
    """What partitions are, likewise."""
    return [(one.partition, one.offset, one.metadata, one.error) for one in partitions]


def raises(ck, call):
    """The name of the error, or the kind and words of what else is raised."""
    try:
        call()
    except ck.KafkaException as error:
        found = error.args[0]
        return found.name(), found.retriable(), found.fatal(), found.txn_requires_abort()
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        return type(error).__name__
    return None


def deliveries(ck, where, name):
    """What becomes of messages, as their producer hears of it."""
    seen = []

    def heard(error, message):
        seen.append((
            error and error.name(), message.partition(), message.offset(), message.key(),
            message.value(), message.timestamp()[0], message.latency() >= 0,
        ))  # fmt: skip

    producer = ck.Producer({"bootstrap.servers": where})
    producer.produce(name, "text", key="key", partition=0, on_delivery=heard)
    producer.produce(name, b"bytes", partition=0, callback=heard, headers={"a": "b", "c": None})
    producer.produce(name, None, b"k", partition=0, on_delivery=heard, timestamp=1234)
    facts = [len(producer), bool(producer), producer.flush(LIMIT_S), len(producer), seen]
    facts.append(raises(ck, lambda: producer.produce(name, b"x" * 2_000_000)))
    facts.append(raises(ck, lambda: producer.produce(name, 7)))
    facts.append(raises(ck, lambda: producer.produce(name, b"", headers=[1])))
    facts.append(raises(ck, producer.begin_transaction))
    few = ck.Producer({
        "bootstrap.servers": where, "queue.buffering.max.messages": 2, "linger.ms": 500,
    })  # fmt: skip
    facts.append([raises(ck, lambda: few.produce(name, b"x", partition=0)) for _ in range(3)])
    batch = [{"value": b"1"}, {"value": "2", "key": "k"}]
    facts += [few.flush(LIMIT_S), few.produce_batch(name, batch, partition=0), few.flush(LIMIT_S)]
    return facts


def partitioners(ck, where, name):
    """Where keys go."""
    seen = {}
    for kind in ("", "consistent", "murmur2", "murmur2_random", "fnv1a", "fnv1a_random"):
        producer = ck.Producer({
            "bootstrap.servers": where, **({"partitioner": kind} if kind else {}),
        })  # fmt: skip
        found = seen[kind] = {}
        for key in KEYS:
            if not (key or kind in ("consistent", "murmur2", "fnv1a")):
                continue  # drawn

            def heard(error, message, found=found, key=key):
                found[key] = (error, message.partition())

            producer.produce(name, b"v", key, on_delivery=heard)
        assert producer.flush(LIMIT_S) == 0
    return seen


def a_member(ck, where, name):
    """A consumer of a group: what it reads, commits, seeks."""
    produced(ck, where, name)
    seen, facts = [], []
    consumer = ck.Consumer({
        "bootstrap.servers": where,
        "group.id": name,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    })  # fmt: skip
    consumer.subscribe(
        [name],
        on_assign=lambda c, parts: seen.append((c is consumer, "assigned", places(parts))),
        on_revoke=lambda c, parts: seen.append((c is consumer, "revoked", len(parts))),
    )
    first = ck.TopicPartition(name, 0)
    ends = 0
    while ends < 3:
        message = consumer.poll(LIMIT_S)
        assert message is not None
        ends += message.error() is not None
        if message.partition() == 0:
            facts.append(told(message))
    facts.append(places(consumer.position([first, ck.TopicPartition(name, 1)])))
    facts.append(places(consumer.committed([first], LIMIT_S)))
    facts.append(places(consumer.commit(asynchronous=False)))
    facts.append(places(consumer.committed([first], LIMIT_S)))
    facts.append(raises(ck, lambda: consumer.commit(asynchronous=False)))
    facts.append(consumer.get_watermark_offsets(first, LIMIT_S))
    facts.append(consumer.get_watermark_offsets(first, cached=True))
    consumer.seek(ck.TopicPartition(name, 0, 7))
    facts.append([told(one) for one in consumer.consume(4, LIMIT_S)])
    facts.append(places(consumer.offsets_for_times([ck.TopicPartition(name, 0, 1)], LIMIT_S)))
    later = ck.TopicPartition(name, 0, int(time.time() * 1000) + 10**7)
    facts.append(places(consumer.offsets_for_times([later], LIMIT_S)))
    facts.append(sorted(places(consumer.assignment())))
    at = ck.TopicPartition(name, 0, 3, "mine")
    facts.append(places(consumer.commit(offsets=[at], asynchronous=False)))
    facts.append(places(consumer.committed([first], LIMIT_S)))
    facts.append(raises(ck, lambda: consumer.store_offsets(offsets=[at])))
    facts.append(raises(ck, lambda: consumer.seek(ck.TopicPartition("nowhere", 0, 0))))
    facts.append(bool(consumer.memberid()))
    consumer.pause([first])
    consumer.seek(ck.TopicPartition(name, 0, 0))
    facts.append(consumer.poll(0.2))
    consumer.resume([first])
    facts.append(told(consumer.poll(LIMIT_S)))
    consumer.close()
    facts += [seen, raises(ck, consumer.poll), raises(ck, consumer.assignment)]
    return facts


def leaving(ck, where, name):
    """What a program may do while it hears that it has left, which a poll tells it."""
    produced(ck, where, name)
    facts, first = [], ck.TopicPartition(name, 0)

    def revoked(consumer, parts):
        facts.append(["revoked", len(parts), len(consumer.assignment())])
        facts.append(places(consumer.position([first])))
        facts.append(raises(ck, lambda: consumer.seek(ck.TopicPartition(name, 0, 2))))
        facts.append(places(consumer.commit(asynchronous=False)))

    consumer = ck.Consumer({
        "bootstrap.servers": where,
        "group.id": name,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    })  # fmt: skip
    consumer.subscribe([name], on_revoke=revoked)
    facts.append([one.offset() for one in consumer.consume(4, LIMIT_S)])
    consumer.unsubscribe()
    facts.append([len(facts), len(consumer.assignment())])
    facts.append(consumer.poll(1.0))
    facts.append([len(consumer.assignment()), raises(ck, lambda: consumer.seek(first))])
    facts.append(places(consumer.committed([first], LIMIT_S)))
    consumer.subscribe([name])
    facts.append([one.offset() for one in consumer.consume(2, LIMIT_S)])
    consumer.unsubscribe()
    facts.append(consumer.poll(0.5))
    consumer.close()
    return facts


def ends(ck, where, name):
    """Where _PARTITION_EOF is told: where brokers have said that there is no more, of no partition
    that is paused, and not behind the end.
    """
    producer = produced(ck, where, name, 1)
    consumer = ck.Consumer({
        "bootstrap.servers": where,
        "group.id": name,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
    })  # fmt: skip
    first = ck.TopicPartition(name, 0, 0)
    consumer.assign([first])
    facts = [told(consumer.poll(LIMIT_S))]
    for _ in range(3):  # what is written before a poll is no end
        producer.produce(name, b"more", partition=0)
        producer.flush(LIMIT_S)
        facts.append(told(consumer.poll(LIMIT_S))[:2])
    facts.append(told(consumer.poll(LIMIT_S)))
    facts.append(consumer.poll(1.0))
    consumer.seek(first)
    facts += [one.offset() for one in consumer.consume(4, LIMIT_S)]
    consumer.pause([first])
    facts.append(consumer.poll(1.5))
    consumer.resume([first])
    facts.append(told(consumer.poll(LIMIT_S)))
    consumer.seek(ck.TopicPartition(name, 0, 9))
    facts.append(told(consumer.poll(LIMIT_S))[:2])
    consumer.close()
    return facts


def ends_behind_what_is_taken(ck, where, name):
    """No end is told of ahead of messages that poll has taken beside the one that it gave, however
    the program goes on and how long it takes.
    """
    produced(ck, where, name, 15)
    consumer = ck.Consumer({
        "bootstrap.servers": where,
        "group.id": name,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 100,
    })  # fmt: skip
    consumer.assign([ck.TopicPartition(name, 0, 0)])
    facts = []
    for polled in (9, 8, 12):
        found = [consumer.poll(LIMIT_S) for _ in range(polled)]
        for count in (1, 1, 1, 20):
            time.sleep(0.2)
            found += consumer.consume(count, 1.0)
        facts.append([told(one)[:4] for one in found])
        consumer.seek(ck.TopicPartition(name, 0, 0))
    consumer.close()
    return facts


def by_hand(ck, where, name):
    """Partitions assigned by the program, with offsets; offsets stored by it."""
    produced(ck, where, name)
    facts, heard = [], []
    conf = {
        "bootstrap.servers": where,
        "group.id": name,
        "auto.offset.reset": "error",
        "auto.commit.interval.ms": 200,
        "enable.auto.offset.store": False,
        "on_commit": lambda error, parts: heard.append((error, places(parts))),
    }
    consumer = ck.Consumer(conf)
    consumer.assign([ck.TopicPartition(name, 0, 4)])
    facts.append(places(consumer.assignment()))
    message = consumer.poll(LIMIT_S)
    facts.append(told(message))
    consumer.store_offsets(message)
    while not heard:
        consumer.poll(0.1)
    facts.append(heard[0])
    consumer.assign([ck.TopicPartition(name, 0)])
    facts.append(told(consumer.poll(LIMIT_S)))
    consumer.assign([ck.TopicPartition(name, 0, ck.OFFSET_BEGINNING)])
    facts.append([one.offset() for one in consumer.consume(10, LIMIT_S)])
    consumer.incremental_assign([ck.TopicPartition(name, 1, 0)])
    facts.append(sorted(places(consumer.assignment())))
    again = [ck.TopicPartition(name, 1, 0)]
    facts.append(raises(ck, lambda: consumer.incremental_assign(again)))
    consumer.incremental_unassign([ck.TopicPartition(name, 0)])
    facts.append(places(consumer.assignment()))
    gone = [ck.TopicPartition(name, 0)]
    facts.append(raises(ck, lambda: consumer.incremental_unassign(gone)))
    consumer.unassign()
    facts += [consumer.assignment(), consumer.poll(0.1)]
    consumer.assign([ck.TopicPartition(name, 2)])  # nothing is committed, and nothing is to be done
    message = consumer.poll(LIMIT_S)
    facts.append((message.error().name(), message.partition()))
    consumer.close()
    return facts


def its_own_way(ck, where, name):
    """on_assign that assigns itself, and on_revoke that commits."""
    produced(ck, where, name)
    facts = []

    def assigned(consumer, parts):
        for part in parts:
            part.offset = 8 if part.partition == 0 else ck.OFFSET_END
        consumer.assign(parts)

    def revoked(consumer, parts):
        facts.append(places(consumer.commit(asynchronous=False)))

    consumer = ck.Consumer({"bootstrap.servers": where, "group.id": name})
    with consumer:
        consumer.subscribe(["^" + name + "$"], on_assign=assigned, on_revoke=revoked)
        facts.append([one.offset() for one in consumer.consume(2, LIMIT_S)])
    again = ck.Consumer({"bootstrap.servers": where, "group.id": name})
    facts.append(places(again.committed([ck.TopicPartition(name, 0)], LIMIT_S)))
    again.close()
    return facts


def in_between(ck, where, name):
    """Verbs between polls of single messages: what was given counts, and nothing else."""
    produced(ck, where, name, 60)
    consumer = ck.Consumer({
        "bootstrap.servers": where, "group.id": name, "enable.auto.commit": False,
    })  # fmt: skip
    first = ck.TopicPartition(name, 0)
    consumer.assign([ck.TopicPartition(name, 0, 0)])

    def offsets(count):
        return [consumer.poll(LIMIT_S).offset() for _ in range(count)]

    facts = [offsets(12), places(consumer.commit(asynchronous=False))]
    consumer.pause([first])
    facts.append(consumer.poll(0.1))
    consumer.resume([first])
    facts += [offsets(5), [one.offset() for one in consumer.consume(3, LIMIT_S)], offsets(3)]
    consumer.seek(ck.TopicPartition(name, 0, 5))
    facts += [offsets(4), places(consumer.position([first]))]
    consumer.assign([first])
    facts += [offsets(2), places(consumer.committed([first], LIMIT_S))]
    consumer.incremental_assign([ck.TopicPartition(name, 1, 0)])
    facts.append(offsets(2))
    consumer.close()
    return facts


def transactions(ck, where, name):
    """A producer that reads, writes and commits at once; and one that is fenced."""
    produced(ck, where, name, 2)
    facts = []
    conf = {"bootstrap.servers": where, "transactional.id": name}
    producer = ck.Producer(conf)
    facts.append(raises(ck, producer.begin_transaction))
    producer.init_transactions(LIMIT_S)
    facts.append(raises(ck, producer.commit_transaction))
    reader = ck.Consumer({
        "bootstrap.servers": where, "group.id": name, "auto.offset.reset": "earliest",
    })  # fmt: skip
    reader.subscribe([name])
    read = reader.consume(2, LIMIT_S)
    producer.begin_transaction()
    for message in read:
        producer.produce(name, b"again " + message.value(), partition=1)
    producer.send_offsets_to_transaction(
        [ck.TopicPartition(name, 0, read[-1].offset() + 1)], reader.consumer_group_metadata()
    )
    producer.commit_transaction(LIMIT_S)
    producer.begin_transaction()
    producer.produce(name, b"never seen", partition=1)
    producer.flush(LIMIT_S)
    producer.abort_transaction(LIMIT_S)
    facts.append([one.value() for one in reader.consume(2, LIMIT_S)])
    facts.append(places(reader.committed([ck.TopicPartition(name, 0)], LIMIT_S)))
    facts.append(reader.poll(0.5))
    second = [ck.TopicPartition(name, 1)]
    facts.append(places(reader.position(second)))  # markers are behind it
    reader.close()
    after = ck.Consumer({"bootstrap.servers": where, "group.id": name})
    facts.append(places(after.committed(second, LIMIT_S)))
    after.close()
    return facts


def looking(ck, where, name):
    """What a program can see of the cluster."""
    with ck.Consumer({"bootstrap.servers": where, "group.id": name}) as consumer:
        found = consumer.list_topics(name, LIMIT_S)
        topic = found.topics[name]
        return [
            len(found.brokers) > 0,
            topic.topic == name,
            topic.error,
            {number: len(part.replicas) for number, part in topic.partitions.items()},
            name in consumer.list_topics(timeout=LIMIT_S).topics,
            bool(consumer.cluster_id()),
            consumer.get_watermark_offsets(ck.TopicPartition(name, 2)),
            raises(ck, lambda: consumer.get_watermark_offsets(ck.TopicPartition(name, 7))),
            raises(ck, lambda: consumer.get_watermark_offsets(ck.TopicPartition("nowhere", 0))),
        ]


def strangers(ck, where, name):
    """What is said of topics and partitions that are not there, and of what is no time."""
    produced(ck, where, name)
    here, part, nowhere = (
        ck.TopicPartition(name, 0, 3), ck.TopicPartition(name, 7, 3),
        ck.TopicPartition(f"{name}-no", 0, 3),
    )  # fmt: skip
    seen = []

    def heard(error, partitions):
        seen.append((error and error.name(), [one.offset for one in partitions]))

    def times(*partitions):
        found = consumer.offsets_for_times(list(partitions), timeout=LIMIT_S)
        return [(one.partition, one.offset, one.error and one.error.name()) for one in found]

    with ck.Consumer({
        "bootstrap.servers": where, "group.id": name, "auto.offset.reset": "earliest",
        "enable.auto.commit": False, "allow.auto.create.topics": False, "on_commit": heard,
    }) as consumer:  # fmt: skip
        facts = [
            raises(ck, lambda one=one: consumer.commit(offsets=one, asynchronous=False))
            for one in ([nowhere], [part], [nowhere, here, part])
        ]
        facts.append(places(consumer.committed([here], LIMIT_S)))
        consumer.commit(offsets=[nowhere])
        until = time.monotonic() + LIMIT_S
        while not seen and time.monotonic() < until:
            consumer.poll(0.1)
        facts.append(seen)
        facts += [raises(ck, lambda one=one: times(*one)) for one in ([nowhere], [part], [])]
        facts.append(times(nowhere, here, part))
        facts.append(times(here, ck.TopicPartition(name, 0, 1 << 50)))
        for special in (ck.OFFSET_BEGINNING, ck.OFFSET_END):
            facts.append(times(ck.TopicPartition(name, 0, special)))
        for special in (ck.OFFSET_INVALID, ck.OFFSET_STORED, -77):
            one = ck.TopicPartition(name, 0, special)
            facts.append(raises(ck, lambda one=one: times(one)))
        facts.append(raises(ck, lambda: consumer.seek(nowhere)))
        consumer.assign([ck.TopicPartition(name, 0, 0)])
        facts.append(raises(ck, lambda: consumer.seek(ck.TopicPartition(name, 1, 0))))
        facts.append(told(consumer.poll(LIMIT_S))[1])  # and none of what nobody reads
        return facts


def statistics(ck, where, name):
    """What stats_cb is given, of what programs read."""
    produced(ck, where, name)
    told_last = []
    consumer = ck.Consumer({
        "bootstrap.servers": where,
        "group.id": name,
        "auto.offset.reset": "earliest",
        "statistics.interval.ms": 300,
        "stats_cb": told_last.append,
    })  # fmt: skip
    consumer.subscribe([name])
    assert len(consumer.consume(10, LIMIT_S)) == 10
    told_last.clear()
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        consumer.poll(0.1)
        found = json.loads(told_last[-1]) if told_last else {}
        part = found.get("topics", {}).get(name, {}).get("partitions", {}).get("0", {})
        if part.get("hi_offset") == 10:
            break
    consumer.close()
    return [
        found["type"],
        found["rxmsgs"],
        {key: part[key] for key in ("partition", "hi_offset", "lo_offset", "app_offset")},
        found["cgrp"]["assignment_size"],
        sorted({"rx", "tx", "rx_bytes", "tx_bytes", "brokers", "ts"} - found.keys()),
    ]


SCENARIOS = {
    call.__name__: call
    for call in (
        deliveries,
        partitioners,
        a_member,
        leaving,
        ends,
        ends_behind_what_is_taken,
        by_hand,
        its_own_way,
        in_between,
        transactions,
        looking,
        strangers,
        statistics,
    )
}
