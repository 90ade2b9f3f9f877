"""Scenarios of the topics that coordinators keep groups and transactions in: what is said of them,
and what is written into them.
"""

import time

from raw_client import DEADLINE_S
from scenarios_admin import TOPIC, described
from scenarios_consumer_groups import JOURNAL_PARTITIONS, beat, enter, known, renamed
from scenarios_data import batch, creating, fetch, produce, scenario
from scenarios_groups import committing, leaving, ready, stable
from scenarios_transactions import NEW, made

from kcore.coordinator import Entry, partition_for
from kcore.coordinator.journal import OFFSETS_TOPIC, read_entry
from kcore.records import RecordReader
from kcore.wire import messages as m

# Times of day, and the hash of what a topic was like (see kcore/coordinator/consumer/topics.py).
_PASSING = {"commit_timestamp", "current_state_timestamp", "metadata_hash", "assignment_timestamp"}


@scenario
def internal_topics(peer):
    group, topic = renamed(peer, "g"), peer.topic()
    ready(peer, group)
    named = m.MetadataRequest.MetadataRequestTopic(name=OFFSETS_TOPIC)
    peer.ask(m.MetadataRequest(topics=[named]), 12)
    Describe = m.DescribeTopicPartitionsRequest
    peer.ask(Describe(topics=[Describe.TopicRequest(name=OFFSETS_TOPIC)]), 0)
    for keys in (["cleanup.policy"], ["compression.type"]):
        peer.ask(described(TOPIC, OFFSETS_TOPIC, keys), 4)
    for acks in (1, -1):
        peer.ask(produce(OFFSETS_TOPIC, batch(b"x"), acks=acks), 9)
    peer.ask(creating(OFFSETS_TOPIC, JOURNAL_PARTITIONS), 5)
    More = m.CreatePartitionsRequest
    for count in (JOURNAL_PARTITIONS, JOURNAL_PARTITIONS - 1):
        entry = More.CreatePartitionsTopic(name=OFFSETS_TOPIC, count=count, assignments=None)
        peer.ask(More(topics=[entry], timeout_ms=10_000), 1)
    Delete = m.DeleteRecordsRequest
    part = Delete.DeleteRecordsPartition(partition_index=0, offset=0)
    entry = Delete.DeleteRecordsTopic(name=OFFSETS_TOPIC, partitions=[part])
    peer.ask(Delete(topics=[entry], timeout_ms=10_000), 2)
    peer.ask(committing(group, OFFSETS_TOPIC), 7, note="offsets of it")
    peer.ask(committing(group, topic), 7, note="of another")


@scenario
def internal_topics_by_regex(peer):
    """A group that asks for every topic of such a name is given the brokers' own, too, or not."""
    group, topic = renamed(peer, "g"), peer.topic("x", 1)
    known(peer, group, topic)
    hello = {"owned": {}, "rebalance_timeout_ms": 30_000}
    hello["subscribed_topic_regex"] = "__consumer_offset.*"
    for _ in range(2):  # a Kafka resolves them on the side
        answer = peer.link().ask(beat(group, "m1", 0, **hello), 1)
        time.sleep(0.5)
    assigned = answer.assignment.topic_partitions if answer.assignment else []
    peer.said.append(("again", [len(one.partitions) for one in assigned]))
    peer.ask(beat(group, "m1", -1), 1, note="leaves")


class Reader:
    """What is written about a group from now on."""

    def __init__(self, peer, group):
        self._peer = peer
        self._group = group
        self._number = partition_for(group, JOURNAL_PARTITIONS)
        self._at = self._end()

    def _end(self):
        Offsets = m.ListOffsetsRequest
        part = Offsets.ListOffsetsPartition(partition_index=self._number, timestamp=-1)
        entry = Offsets.ListOffsetsTopic(name=OFFSETS_TOPIC, partitions=[part])
        answer = self._peer.link().ask(Offsets(topics=[entry]), 4)
        return answer.topics[0].partitions[0].offset

    def note(self, about):
        """What has come since the last time: of each batch its records."""
        end, deadline = self._end(), time.monotonic() + DEADLINE_S
        while self._at < end:
            assert time.monotonic() < deadline
            request = fetch(OFFSETS_TOPIC, self._at, self._number)
            part = self._peer.link().ask(request, 11).responses[0].partitions[0]
            assert not part.error_code
            for data in _batches(bytes(part.records)):
                base_offset, last = int.from_bytes(data[:8], "big"), data[23:27]
                self._at = base_offset + int.from_bytes(last, "big") + 1
                self._note_batch(about, data, base_offset)

    def _note_batch(self, about, data, base_offset):
        attributes = int.from_bytes(data[21:23], "big")
        said = []
        reader = RecordReader("", 0, data, base_offset, keep_control=True)
        while not reader.exhausted:
            for record in reader.take(100):
                assert record.timestamp > 1_600_000_000_000
                value = None if record.value is None else bytes(record.value)
                key, value = read_entry(Entry(bytes(record.key), value))
                if self._group in {getattr(key, "group_id", ""), getattr(key, "group", "")}:
                    said.append([type(key).__name__, self._plain(key), self._plain(value)])
        said += [["marker", one.kind] for one in reader.control_records or ()]
        if said:
            self._peer.said.append((about, [attributes, *said]))

    def _plain(self, message):
        found = self._peer.plain(message)
        if found is not None:
            found.update((name, "*") for name in _PASSING.intersection(found))
        return found


def _batches(data):
    while len(data) > 12:
        size = 12 + int.from_bytes(data[8:12], "big")
        yield data[:size]
        data = data[size:]


@scenario
def journal_of_a_classic_group(peer):
    group, topic = renamed(peer, "g"), peer.topic(partitions=2)
    ready(peer, group)
    reader = Reader(peer, group)
    peer.ask(committing(group, topic, 3), 7)
    reader.note("a simple consumer")
    delete = m.DeleteGroupsRequest(groups_names=[group])
    peer.ask(delete, 2)
    reader.note("deleted")
    member, generation = stable(peer, group)
    reader.note("one member")
    peer.ask(committing(group, topic, 5, generation, member, partition=1), 7)
    reader.note("its offset")
    peer.ask(leaving(group, (member, None)), 3)
    reader.note("it leaves")
    Delete = m.OffsetDeleteRequest
    part = Delete.OffsetDeleteRequestPartition(partition_index=1)
    wanted = [Delete.OffsetDeleteRequestTopic(name=topic, partitions=[part])]
    peer.ask(Delete(group_id=group, topics=wanted), 0)
    reader.note("offsets deleted")
    peer.ask(delete, 2)
    reader.note("deleted again")


@scenario
def journal_of_a_consumer_group(peer):
    group, topic = renamed(peer, "g"), peer.topic(partitions=2)
    known(peer, group, topic)
    reader = Reader(peer, group)
    peer.ask(enter(group, "m1", [topic]), 1)
    reader.note("joins")
    peer.ask(committing(group, topic, 5, 2, "m1"), 9)
    reader.note("its offset")
    peer.ask(enter(group, "m2", [topic]), 1)
    reader.note("another one")
    peer.ask(beat(group, "m1", 2, owned={peer.id_of(topic): [0, 1]}), 1)
    reader.note("is to give up")
    peer.ask(beat(group, "m1", 2, owned={peer.id_of(topic): [0]}), 1)
    reader.note("gave up")
    peer.ask(beat(group, "m2", -1), 1)
    reader.note("the other one leaves")
    peer.ask(beat(group, "m1", -1), 1)
    reader.note("all have left")
    peer.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
    reader.note("deleted")


@scenario
def journal_of_a_transaction(peer):
    group, topic = renamed(peer, "g"), peer.topic()
    ready(peer, group)
    reader = Reader(peer, group)
    for committed in (True, False):
        maker = made(peer, f"x{committed}", NEW)
        maker.commit_offset(group, topic, 7, 5)
        reader.note("pending")
        maker.end(committed)
        reader.note("decided")
