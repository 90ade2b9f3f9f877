"""What a Kafka wrote into `__consumer_offsets`, read by our coordinator: it goes on from there."""

import random

import confluent_kafka
import pytest
from raw_client import Peer
from scenarios_consumer_groups import beat, enter
from scenarios_groups import committing, ready

from kcore.coordinator import Caller, CoordinatorConfig, Entry, GroupCoordinator, partition_for
from kcore.wire import messages as m

PARTITIONS = 4  # of the journal: tests/support/real_kafka.py


class Topics:
    """The one topic there is."""

    version = 1

    def __init__(self, name, topic_id, size):
        self._name, self._id, self._size = name, topic_id, size

    def names(self):
        return [self._name]

    def partition_count(self, name):
        return self._size if name == self._name else 0

    def name_of(self, topic_id):
        return self._name if topic_id == self._id else None

    def id_of(self, name):
        return self._id if name == self._name else None

    def has_partition(self, name, partition):
        return 0 <= partition < self.partition_count(name)


def journal(kafka, partition):
    """All entries of a partition of the journal."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": kafka.bootstrap, "group.id": "reads-the-journal",
         "enable.auto.commit": False, "enable.partition.eof": True}
    )  # fmt: skip
    consumer.assign([confluent_kafka.TopicPartition("__consumer_offsets", partition, 0)])
    entries = []
    while True:
        message = consumer.poll(10)
        assert message is not None
        if message.error():
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
            consumer.close()
            return entries
        entries.append(Entry(message.key(), message.value()))


@pytest.mark.kafka
def test_we_go_on_where_a_kafka_was(kafka):
    peer = Peer(kafka.bootstrap, "journal")
    group, topic = ready(peer, peer.name("g")), peer.topic(partitions=4)
    topic_id = peer.id_of(topic)
    peer.ask(enter(group, "m1", [topic]))
    peer.ask(enter(group, "m2", [topic], instance_id="i", server_assignor="uniform"))
    peer.ask(beat(group, "m1", 2))
    peer.ask(committing(group, topic, 5, 2, "m1", 0), 9)
    peer.ask(enter(group, "m3", None, subscribed_topic_regex=peer.name(".*")))
    question = m.ConsumerGroupDescribeRequest(group_ids=[group])
    theirs = peer.plain(peer.ask(question, 1))
    partition = partition_for(group, PARTITIONS)

    config = CoordinatorConfig(
        offsets_topic_num_partitions=PARTITIONS, group_consumer_assignment_interval_ms=0
    )
    ours = GroupCoordinator(config, random.Random(1), Topics(topic, topic_id, 4), immediate=True)
    ours.handle_elected(partition)
    ours.handle_entries(partition, journal(kafka, partition), 0)
    ours.handle_loaded(partition, 0)

    def ask(message, version=1):
        ours.handle_request(Caller(1, 1, "scenario", "/127.0.0.1"), version, message, 1_000)
        return ours.next_reply().message

    # The regular expression may have been resolved there since.
    asked = ask(question)
    epoch, shown = asked.groups[0].group_epoch, peer.plain(asked)
    for one in (shown, theirs):
        (described,) = one["groups"]
        assert described.pop("group_epoch") in {3, 4}
        described.pop("group_state")
    assert shown == theirs
    # Our hash of the topics is another one, so there is a new epoch; nothing moves for that.
    answer = ask(beat(group, "m1", 2, owned={topic_id: [0, 1]}))
    assert (answer.error_code, answer.member_epoch) == (0, epoch + 1)
    peer.close()
