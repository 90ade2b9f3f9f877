"""One member of a group under test, a process of its own: `python group_member.py SPEC`.

SPEC is JSON: {"client": "kcore" | "kafka-python" | "confluent", "topic", "options": {...},
"max_records", "handler_s"}. It reads, commits after every poll that brought records (and before it
gives partitions up), and says what it saw, a JSON object a line:

    {"said": "assigned" | "revoked" | "lost", "partitions": [...], "generation"}
    {"said": "read", "runs": [[partition, first offset, last offset, count], ...]}
    {"said": "committed", "offsets": {partition: offset}}
    {"said": "refused", "error"}            a commit that came too late
    {"said": "failed", "error"} | {"said": "left"}

It ends when its standard input does.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from types import SimpleNamespace

POLL_MS = 100
GIVING_UP_S = 10.0  # of librdkafka


def say(said, **more):
    print(json.dumps({"said": said} | more), flush=True)


class Reader:
    """What the three clients have in common: positions behind what was read, committed in time.

    refusals: errors of commits that came too late. later: of commits that are to be tried again.
    """

    later = ()

    def __init__(self):
        self.behind = {}  # partition -> offset behind what was read and is not committed

    def took(self, polled):
        """polled: {partition: [offset, ...]}"""
        runs = []
        for partition, offsets in polled.items():
            runs.append([partition, offsets[0], offsets[-1], len(offsets)])
            assert offsets == sorted(set(offsets)), "offsets go up"
            self.behind[partition] = offsets[-1] + 1
        say("read", runs=runs)

    def commit(self):
        behind, self.behind = self.behind, {}
        if not behind:
            return
        try:
            self.send_commit(behind)
        except self.later:
            self.behind = behind | self.behind
        except self.refusals as error:
            self.behind = behind | self.behind  # tried again, unless they are lost meanwhile
            say("refused", error=repr(error))
        else:
            say("committed", offsets=behind)


def kcore_names():
    """What this script uses of kcore: the same as of kafka-python, which is the point."""
    import kcore  # noqa: PLC0415 (of one client only)
    from kcore import errors  # noqa: PLC0415 (of one client only)

    return SimpleNamespace(
        Consumer=kcore.Consumer,
        Listener=kcore.ConsumerRebalanceListener,
        TopicPartition=kcore.TopicPartition,
        OffsetAndMetadata=kcore.OffsetAndMetadata,
        CommitFailedError=errors.CommitFailedError,
        RebalanceInProgressError=errors.RebalanceInProgressError,
        WakeupError=errors.WakeupError,
    )


def kafka_python_assignors(names):
    """Its classes, which is what it takes."""
    from kafka.coordinator.assignors.range import (  # noqa: PLC0415 (of one client only)
        RangePartitionAssignor,
    )
    from kafka.coordinator.assignors.sticky.sticky_assignor import (  # noqa: PLC0415 (the same)
        StickyPartitionAssignor,
    )

    known = {each.name: each for each in (RangePartitionAssignor, StickyPartitionAssignor)}
    return [known[name] for name in names]


def kafka_python_names():
    import kafka  # noqa: PLC0415 (of one client only)
    from kafka import errors  # noqa: PLC0415 (of one client only)

    return SimpleNamespace(
        Consumer=kafka.KafkaConsumer,
        Listener=kafka.ConsumerRebalanceListener,
        TopicPartition=kafka.TopicPartition,
        OffsetAndMetadata=kafka.OffsetAndMetadata,
        CommitFailedError=errors.CommitFailedError,
        RebalanceInProgressError=(),
        WakeupError=(),
    )


class KafkaPythonLike(Reader):
    """kcore and kafka-python, which have one API."""

    def __init__(self, names, topic, options, max_records):
        super().__init__()
        self.names = names
        self.refusals = names.CommitFailedError
        # While some partitions move, what stays is read on, but cannot be committed.
        self.later = names.RebalanceInProgressError
        self.topic = topic
        self.max_records = max_records
        self.consumer = names.Consumer(**options)
        reader = self

        class Listener(names.Listener):
            def on_partitions_assigned(self, assigned):
                reader.rebalanced("assigned", assigned)

            def on_partitions_revoked(self, revoked):
                reader.commit()
                reader.rebalanced("revoked", revoked)

            def on_partitions_lost(self, lost):
                reader.behind.clear()
                reader.rebalanced("lost", lost)

        self.consumer.subscribe([topic], listener=Listener())

    def rebalanced(self, said, partitions):
        generation = self.consumer.group_metadata().generation_id
        say(said, partitions=sorted(part.partition for part in partitions), generation=generation)

    def poll(self):
        try:
            polled = self.consumer.poll(timeout_ms=POLL_MS, max_records=self.max_records)
        except self.names.WakeupError:
            return {}
        return {part.partition: [rec.offset for rec in recs] for part, recs in polled.items()}

    def send_commit(self, behind):
        offsets = {
            self.names.TopicPartition(self.topic, partition): self.names.OffsetAndMetadata(
                offset, "", -1
            )
            for partition, offset in behind.items()
        }
        try:
            self.consumer.commit(offsets)
        except self.names.WakeupError:  # told to stop in the middle of it: it may or may not be in
            self.consumer.commit(offsets)

    def wakeup(self):
        if self.names.WakeupError:
            self.consumer.wakeup()

    def close(self):
        self.consumer.close()


class Confluent(Reader):
    def __init__(self, topic, options, max_records):
        super().__init__()
        from confluent_kafka import Consumer, KafkaException  # noqa: PLC0415 (of one client only)

        self.refusals = KafkaException
        self.topic = topic
        self.max_records = max_records
        self.consumer = Consumer(options)
        self.consumer.subscribe(
            [topic], on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.lost
        )

    def assigned(self, _consumer, partitions):
        say("assigned", partitions=sorted(part.partition for part in partitions), generation=-1)

    def revoked(self, _consumer, partitions):
        self.commit()
        say("revoked", partitions=sorted(part.partition for part in partitions), generation=-1)

    def lost(self, _consumer, partitions):
        self.behind.clear()
        say("lost", partitions=sorted(part.partition for part in partitions), generation=-1)

    def poll(self):
        polled = {}
        for message in self.consumer.consume(self.max_records, POLL_MS / 1000):
            if message.error() is None:
                polled.setdefault(message.partition(), []).append(message.offset())
        return polled

    def send_commit(self, behind):
        from confluent_kafka import TopicPartition  # noqa: PLC0415 (of one client only)

        offsets = [TopicPartition(self.topic, number, offset) for number, offset in behind.items()]
        for part in self.consumer.commit(offsets=offsets, asynchronous=False):
            assert part.error is None, part.error

    def wakeup(self):
        """It polls in short steps anyway."""

    def close(self):
        # librdkafka never ends if it is closed while a cooperative assignment is on its way to the
        # callback (its issue 4527): first it gives everything up, and then it is closed.
        self.consumer.unsubscribe()
        deadline_s = time.monotonic() + GIVING_UP_S
        while self.consumer.assignment() and time.monotonic() < deadline_s:
            self.consumer.consume(self.max_records, POLL_MS / 1000)
        self.consumer.close()


def reader_of(client, topic, options, max_records):
    if client == "confluent":
        return Confluent(topic, options, max_records)
    if client == "kafka-python":
        wanted = options.pop("partition_assignment_strategy", None)
        if wanted is not None:
            options["partition_assignment_strategy"] = kafka_python_assignors(wanted)
        return KafkaPythonLike(kafka_python_names(), topic, options, max_records)
    return KafkaPythonLike(kcore_names(), topic, options, max_records)


def await_end(reader, stopped):
    sys.stdin.read()
    stopped.set()
    reader.wakeup()


def main(spec):
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    for noisy in ("kafka", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    reader = reader_of(spec["client"], spec["topic"], spec["options"], spec["max_records"])
    stopped = threading.Event()
    threading.Thread(target=await_end, args=(reader, stopped), daemon=True).start()
    while not stopped.is_set():
        polled = reader.poll()
        if polled:
            reader.took(polled)
            time.sleep(spec["handler_s"])
        reader.commit()
    reader.close()
    say("left")


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except Exception as error:
        say("failed", error=repr(error))
        raise
