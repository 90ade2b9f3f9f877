"""What share groups give up, at a real Kafka and at our node: the same dead letters (KIP-1191)."""

import itertools
import time

import pytest
from broker_world import fetch
from share_sides import GROUP, alter, configure, hold_both, release_at
from share_world import ACCEPT, GAP, REJECT, RELEASE

from kcore.records import RecordReader, encode_batch
from kcore.wire import messages as m

pytestmark = pytest.mark.kafka

T = ("t", 0)
TOPIC, BROKER = 2, 4
NAME = "errors.deadletterqueue.topic.name"
COPY = "errors.deadletterqueue.copy.record.enable"
ENABLE = "errors.deadletterqueue.group.enable"
MAKE = "errors.deadletterqueue.auto.create.topics.enable"
PREFIX = "errors.deadletterqueue.topic.name.prefix"
PATIENCE_S = 20


class Case:
    """A side with a group, its member, and a topic for dead letters."""

    def __init__(self, seen, **options):
        self.seen, self.world = seen, seen.world
        self.client = self.world.client()
        self.group = self.world.group
        self.real = not hasattr(self.world, "cluster")
        self.queue = f"dlq.{self.group}"
        self.make(self.queue)
        self.set(NAME, self.queue)
        for name, value in options.items():
            self.set(f"share.{name.replace('_', '.')}", value)
        self.one = seen.member(1)
        self.world.ready(self.one)
        self.settle()

    def make(self, name, partitions=1, **options):
        R = m.CreateTopicsRequest
        settings = {ENABLE: "true"} | {key.replace("_", "."): value
                                       for key, value in options.items()}  # fmt: skip
        topic = R.CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=1,
            configs=[R.CreatableTopicConfig(name=key, value=value)
                     for key, value in settings.items() if value],
        )  # fmt: skip
        (result,) = self.client.ask(R(topics=[topic], timeout_ms=10_000), 7).topics
        assert result.error_code == 0, result
        self.settle()

    def set(self, name, value):
        configure(self.client, self.group, name, value)

    def settle(self):
        """A Kafka's brokers hear of it."""
        if self.real:
            time.sleep(0.4)

    def fetch(self, *parts, **more):
        return self.seen.fetch(self.one, *parts, max_wait_ms=1_000, **more)

    def say(self, *said):
        self.seen.acknowledge(self.one, {T: list(said)})

    def letters(self, count, queue=None, partition=0, *, ordered=True):
        """Note what the queue has, as soon as there is so much, and what it says."""
        end_s = time.monotonic() + PATIENCE_S
        while len(found := self._read(queue or self.queue, partition)) < count:
            assert time.monotonic() < end_s, found
            assert self.real, found
            time.sleep(0.05)
        if not ordered:  # as where one request cannot take them all
            found = sorted(one[1:] for one in found)
        self.seen.note(found)

    def _read(self, queue, partition):
        self._records = []
        answer = self.client.ask(fetch(0, queue, partition), 12)
        (found,) = answer.responses[0].partitions
        if found.error_code:
            return []
        reader = RecordReader(queue, 0, bytes(found.records or b""), 0)
        while not reader.exhausted:
            self._records += reader.take(100)
        return [
            (one.offset, [(name, self.cut(name, value)) for name, value in one.headers],
             one.timestamp_type, one.key, one.value)
            for one in self._records
        ]  # fmt: skip

    def cut(self, name, value):
        known = name == "__dlq.errors.topic" and value == self.world.topic_name.encode()
        return b"TOPIC" if known else value

    def write(self, *records, **options):
        """(key, value, headers) each, in one batch."""
        now = int(time.time() * 1_000) if self.real else 1_000_000_000_000
        R = m.ProduceRequest
        data = encode_batch([(now, *record) for record in records], **options)
        part = R.PartitionProduceData(index=0, records=data)
        topic = R.TopicProduceData(name=self.world.topic_name, partition_data=[part])
        answer = self.client.ask(R(acks=-1, timeout_ms=10_000, topic_data=[topic]), 9)
        assert answer.responses[0].partition_responses[0].error_code == 0


def rejected(seen):
    case = Case(seen)
    for texts in ("abcde", "fgh", "ij"):
        case.world.put(*texts)
    case.fetch(T)
    case.say((0, 4, REJECT, ACCEPT, REJECT, GAP, RELEASE))
    case.letters(2)
    case.say((5, 7, REJECT))
    case.letters(5)
    case.fetch()
    case.say((4, 4, REJECT))
    case.letters(6)
    case.say((8, 9, REJECT))
    case.letters(8)
    case.fetch()


def released(seen):
    case = Case(seen, delivery_count_limit="2")
    case.world.put(*"abc")
    case.fetch(T)
    case.say((0, 2, RELEASE))
    case.fetch()
    case.say((0, 0, RELEASE))
    case.fetch()
    case.say((1, 1, RELEASE))
    case.fetch()
    case.say((2, 2, REJECT))
    case.letters(3)


def gone(seen):
    """With a session, and with a lock."""
    case = Case(seen, delivery_count_limit="2", record_lock_duration_ms="1000")
    case.world.put(*"abcd")
    case.fetch(T)
    case.say((0, 3, RELEASE))
    case.fetch(max_records=1, share_acquire_mode=1)
    case.seen.acknowledge(case.one, {}, epoch=-1)
    case.letters(1)
    case.one.epoch = 0
    case.fetch(T)
    case.world.wait(1_700)
    case.letters(2)
    case.fetch()


def copied(seen):
    case = Case(seen)
    case.set(COPY, "true")
    case.settle()
    many = [("h", b"x"), ("n", None), ("__dlq.errors.topic", b"mine")]
    case.write((b"k0", b"v0", many), (None, b"v1"), (b"k2", None), (None, None), codec="gzip")
    case.write((b"k4", b"v4", many))
    case.fetch(T)
    case.say((0, 3, REJECT))
    case.letters(4)
    case.say((4, 4, REJECT))
    case.letters(5)


def narrow(seen):
    """With copies, and a topic for them that takes small ones."""
    case = Case(seen)
    case.set(COPY, "true")
    case.settle()
    case.make(f"{case.queue}.2", max_message_bytes="600")
    case.set(NAME, f"{case.queue}.2")
    case.settle()
    return case


def large(seen):
    """What is too large to be a letter is not copied; a letter that is cannot be written."""
    case = narrow(seen)
    for size, codec in ((100, "none"), (590, "none"), (700, "none"), (590, "gzip"), (100, "gzip")):
        case.write((b"a", b"v" * size), (b"b", b"w"), codec=codec)
    case.fetch(T)
    case.say((0, 1, REJECT))
    case.letters(2, f"{case.queue}.2")
    case.say((2, 3, REJECT))
    case.letters(3, f"{case.queue}.2")
    case.say((4, 5, REJECT))
    case.letters(5, f"{case.queue}.2")
    case.say((6, 9, REJECT))
    case.letters(9, f"{case.queue}.2", ordered=False)


def whole(seen):
    """One letter that cannot be written ends those of its range."""
    case = narrow(seen)
    case.write((b"a", b"v"), (b"b", b"v" * 590), (b"c", b"v"))
    case.fetch(T)
    case.say((0, 2, REJECT))
    case.letters(1, f"{case.queue}.2")
    case.write((b"d", b"v"))
    case.fetch()
    case.say((3, 3, REJECT))
    case.letters(2, f"{case.queue}.2")


def nowhere(seen):
    """Where letters cannot be written, records are archived all the same."""
    case = Case(seen)
    case.world.put(*"abcdefgh")
    case.fetch(T)
    case.make(f"dlq.off-{case.group}", **{ENABLE: None})
    case.make(f"other-{case.group}")
    case.make(f"dlq.keys-{case.group}", cleanup_policy="compact")
    for offset, name in enumerate(
        (f"dlq.off-{case.group}", f"other-{case.group}", f"dlq.keys-{case.group}", "dlq.none",
         "dlq.a/b", "")
    ):  # fmt: skip
        case.set(NAME, name)
        case.settle()
        case.say((offset, offset, REJECT))
    case.set(NAME, case.queue)
    case.settle()
    case.say((6, 6, REJECT))
    case.letters(1)
    case.say((7, 7, ACCEPT))
    for name in (f"dlq.off-{case.group}", f"other-{case.group}", f"dlq.keys-{case.group}"):
        case.letters(0, name)


def made(seen):
    """The topic is made where brokers may, as others are, but for its own options."""
    case = Case(seen)
    new = f"dlq.new-{case.group}"
    case.world.put(*"abc")
    case.fetch(T)
    case.set(NAME, new)
    for value in ("true", "maybe", "false"):
        answer = alter(case.client, BROKER, "1", MAKE, value)
        seen.note((answer.error_code, answer.error_message))
        case.settle()
        if value == "true":
            case.say((0, 0, REJECT))
            case.letters(1, new)
    seen.note([(one.name, one.value, one.config_source) for one in described(case, TOPIC, new)
               if one.config_source == 1])  # fmt: skip
    case.set(NAME, f"{new}-2")
    case.settle()
    case.say((1, 1, REJECT))
    case.set(NAME, new)
    alter(case.client, BROKER, "1", PREFIX, "zz")
    case.settle()
    case.say((2, 2, REJECT))
    alter(case.client, BROKER, "1", PREFIX, "")
    case.settle()
    case.world.put("d")
    case.fetch()
    case.say((3, 3, REJECT))
    case.letters(2, new)
    for name in (MAKE, PREFIX):
        alter(case.client, BROKER, "1", name, None, 1)


def described(case, kind, name):
    D = m.DescribeConfigsRequest
    entry = D.DescribeConfigsResource(resource_type=kind, resource_name=name)
    (answer,) = case.client.ask(D(resources=[entry], include_synonyms=True), 4).results
    assert answer.error_code == 0, answer
    return sorted(answer.configs, key=lambda one: one.name)


def options(seen):
    case = Case(seen)
    for kind, resource, name, value in (
        *((GROUP, case.group, NAME, value)
          for value in ("dlq.a", "nope", " dlq.b ", "__a", " __a", "_a", "dlq.a/b", "", " ")),
        *((GROUP, case.group, COPY, value) for value in ("true", " TRUE ", "yes", "")),
        (GROUP, case.group, "errors.deadletterqueue.other", "1"),
        (TOPIC, case.queue, ENABLE, "false"),
        (TOPIC, case.queue, ENABLE, "maybe"),
        (TOPIC, "nope", ENABLE, "true"),
        *((BROKER, node, name, value) for node in ("1", "")
          for name, value in ((MAKE, "True"), (MAKE, "x"), (PREFIX, " p "), (PREFIX, ""))),
    ):  # fmt: skip
        answer = alter(case.client, kind, resource, name, value)
        why = (answer.error_message or "").replace(case.group, "GROUP")
        seen.note((kind, name, value, answer.error_code, why))
        case.settle()
        for one in described(case, kind, resource) if answer.error_code == 0 else ():
            if one.name.startswith("errors."):
                seen.note(
                    (one.name, one.value, one.config_source, one.read_only, one.config_type,
                     [(x.name, x.value, x.source) for x in one.synonyms])
                )  # fmt: skip
    for name in (MAKE, PREFIX):
        for node in ("1", ""):
            alter(case.client, BROKER, node, name, None, 1)


def markers(seen):
    """What is no record of a producer's is one here."""
    case = Case(seen, delivery_count_limit="2")
    case.set(COPY, "true")
    case.settle()
    case.world.put("a")
    case.world.in_transaction(f"{case.group}-1", *"bc", committed=True)
    case.world.put("d")
    case.fetch(T)
    case.say((0, 4, RELEASE))
    case.fetch()
    case.say((0, 4, RELEASE))
    case.letters(5)


def levels(seen):
    """They are written from level 2 of share.version on."""
    case = Case(seen)
    R = m.UpdateFeaturesRequest
    case.world.put(*"abc")
    case.fetch(T)
    try:
        for offset, level, kind in ((0, 1, 2), (1, 2, 1)):
            update = R.FeatureUpdateKey(
                feature="share.version", max_version_level=level, upgrade_type=kind
            )
            seen.note(case.client.ask(R(feature_updates=[update]), 2).error_code)
            case.settle()
            case.say((offset, offset, REJECT))
    finally:
        update = R.FeatureUpdateKey(feature="share.version", max_version_level=2, upgrade_type=1)
        case.client.ask(R(feature_updates=[update]), 2)
    case.letters(1)


_numbers = itertools.count(1)


@pytest.mark.parametrize(
    "scenario",
    [rejected, released, gone, copied, large, whole, nowhere, made, options, markers, levels],
)
def test_kafka_writes_the_same(scenario, kafka):
    release = release_at(kafka)
    if release < (4, 4):
        pytest.skip("dead letter queues are of Kafka 4.4")
    name = f"dead-{scenario.__name__}-{next(_numbers)}"
    hold_both(scenario, name, kafka, release)
