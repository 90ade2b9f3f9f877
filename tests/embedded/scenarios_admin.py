"""Scenarios of options, leaders and replicas; on one node, so most elections have nothing to do."""

import struct

import crc32c
from scenarios_data import batch, fetch, produce, scenario

from kcore.records import encode_batch
from kcore.wire import messages as m
from kcore.wire.message import ZERO_UUID

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
SEEN = ["retention.ms", "cleanup.policy", "segment.bytes", "segment.jitter.ms"]


def altered(kind, name, *operations, **more):
    Alter = m.IncrementalAlterConfigsRequest
    configs = [
        Alter.AlterableConfig(name=key, config_operation=operation, value=text)
        for key, operation, text in operations
    ]
    entry = Alter.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    return Alter(resources=[entry], **more)


def described(kind, name, keys):
    Describe = m.DescribeConfigsRequest
    entry = Describe.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys
    )
    return Describe(resources=[entry])


def see(peer, topic, keys, note):
    """What a topic's options are. A Kafka's nodes hear of them a little later, in their order: a
    node that knows a topic that was made after them knows them.
    """
    peer.topic(f"after-{len(peer.said)}")
    peer.ask(described(TOPIC, topic, keys), 4, note=note)


@scenario
def incremental_alter_configs(peer):
    topic = peer.topic("t")
    operations = [
        ("retention.ms", SET, "5"), ("retention.ms", SET, "abc"), ("retention.ms", SET, "-2"),
        ("retention.ms", SET, " 7 "), ("retention.ms", SET, "+8"), ("retention.ms", SET, ""),
        ("retention.ms", SET, None), ("retention.ms", APPEND, "5"), ("nope", SET, "1"),
        ("nope", DELETE, None), ("retention.ms", DELETE, None),
        ("cleanup.policy", APPEND, "compact"), ("cleanup.policy", SUBTRACT, "delete"),
        ("cleanup.policy", APPEND, "compact"), ("cleanup.policy", APPEND, "bogus"),
        ("cleanup.policy", SET, "delete,delete"), ("cleanup.policy", SET, "compact, delete"),
        ("compression.type", SET, "bogus"), ("compression.type", SET, "zstd"),
        ("compression.zstd.level", SET, "99"), ("min.insync.replicas", SET, "0"),
        ("min.insync.replicas", SET, "3"), ("segment.bytes", SET, "100"),
        ("segment.bytes", SET, "99999999999"), ("segment.ms", SET, "0"),
        ("max.message.bytes", SET, "-1"), ("flush.messages", SET, "0"),
        ("message.timestamp.type", SET, "X"), ("min.cleanable.dirty.ratio", SET, "1.5"),
        ("min.cleanable.dirty.ratio", SET, "x"), ("max.compaction.lag.ms", SET, "0"),
        ("unclean.leader.election.enable", SET, "maybe"), ("preallocate", SET, "TRUE"),
        ("delete.retention.ms", SET, "-1"), ("retention.bytes", SET, "-5"),
    ]  # fmt: skip
    shown = [operations[number] for number in (3, 4, 10, 11, 12, 15, 16)]
    for operation in operations:
        peer.ask(altered(TOPIC, topic, operation), 1, note=f"{operation}")
        if operation in shown:
            see(peer, topic, SEEN, f"after {operation}")
    peer.ask(altered(TOPIC, topic, ("retention.ms", SET, "9"), validate_only=True), 1)
    peer.ask(altered(TOPIC, topic, ("retention.ms", SET, "9"), ("nope", SET, "1")), 1, note="both")
    lags = (("min.compaction.lag.ms", SET, "10"), ("max.compaction.lag.ms", SET, "5"))
    peer.ask(altered(TOPIC, topic, *lags), 1, note="lags")
    twice = [("retention.ms", SET, "9"), ("retention.ms", SET, "8")]
    peer.ask(altered(TOPIC, topic, *twice), 1, note="twice")
    see(peer, topic, SEEN, "at the end")
    for kind, name in ((TOPIC, peer.name("none")), (TOPIC, ""), (BROKER, "9"), (3, "x")):
        peer.ask(altered(kind, name, ("retention.ms", SET, "5")), 0, note=f"{kind} {name}")
    peer.ask(altered(BROKER, "1", ("node.id", SET, "2")), 1, note="node id")


@scenario
def what_is_wrong_with_options_first(peer):
    topic = peer.topic()
    no_list, unknown = ("retention.ms", APPEND, "5"), ("nope", SET, "1")
    for others in (
        [("retention.ms", SET, "6")],
        [("segment.ms", SET, None)],
        [("segment.ms", SET, "1"), ("segment.ms", SET, "1")],
        [("segment.ms", DELETE, None), ("segment.ms", DELETE, None)],
    ):
        for first in (no_list, unknown):
            peer.ask(altered(TOPIC, topic, first, *others), 1, note=f"{first} and {others}")


@scenario
def alter_configs(peer):
    topic = peer.topic("t", retention_ms="5", segment_ms="7")
    Alter = m.AlterConfigsRequest
    for version in range(3):
        for configs in ([("retention.ms", "6")], [("retention.ms", "x")], [("retention.ms", None)],
                        [("nope", "1")], []):  # fmt: skip
            entry = Alter.AlterConfigsResource(
                resource_type=TOPIC,
                resource_name=topic,
                configs=[Alter.AlterableConfig(name=key, value=text) for key, text in configs],
            )
            for dry_run in (True, False):
                request = Alter(resources=[entry], validate_only=dry_run)
                peer.ask(request, version, note=f"{configs} v{version} {dry_run}")
            if version == 2:
                see(peer, topic, ["retention.ms", "segment.ms"], f"after {configs}")


@scenario
def describe_topic_partitions(peer):
    names = [peer.topic("a", 3), peer.topic("b", 2), peer.topic("c", 1)]
    Describe = m.DescribeTopicPartitionsRequest

    def ask(asked, limit=2_000, cursor=None):
        at = cursor and Describe.Cursor(topic_name=cursor[0], partition_index=cursor[1])
        topics = [Describe.TopicRequest(name=name) for name in asked]
        request = Describe(topics=topics, response_partition_limit=limit, cursor=at)
        peer.ask(request, 0, note=f"{asked} {limit} {cursor}")

    ask(names)
    ask([*names[::-1], peer.name("aa-none"), peer.name("none")])
    for limit in (1, 2, 3, 4, 5, 6):
        ask(names, limit)
    ask(names, 4, (names[1], 1))
    ask(names, 4, (names[0], 3))
    ask(names, 4, (names[2], 7))
    ask(names, 4, (peer.name("az"), 0))
    ask(names, 4, (peer.name("zz"), 0))


@scenario
def elect_leaders(peer):
    topic = peer.topic("t", 2)
    Elect = m.ElectLeadersRequest
    for version in range(3):
        for kind in (0, 1) if version else (0,):
            for name, numbers in ((topic, [0, 1, 7]), (peer.name("none"), [0])):
                wanted = [Elect.TopicPartitions(topic=name, partitions=numbers)]
                request = Elect(election_type=kind, topic_partitions=wanted)
                peer.ask(request, version, note=f"{kind} {name} v{version}")


@scenario
def reassignments(peer):
    topic = peer.topic("t", 2)
    Alter, List = m.AlterPartitionReassignmentsRequest, m.ListPartitionReassignmentsRequest
    for version in range(2):
        for nodes, number in (([1], 0), (None, 0), ([], 0), ([1, 1], 0), ([99], 0), ([1], 7)):
            part = Alter.ReassignablePartition(partition_index=number, replicas=nodes)
            entry = Alter.ReassignableTopic(name=topic, partitions=[part])
            peer.ask(Alter(topics=[entry]), version, note=f"{nodes} {number} v{version}")
    for name in (topic, peer.name("none")):
        entry = List.ListPartitionReassignmentsTopics(name=name, partition_indexes=[0, 7])
        peer.ask(List(topics=[entry]), 0, note=f"list {name}")


@scenario
def times_of_records(peer):
    """Bounds of timestamps, and what a header may say of them."""
    bounded = peer.topic("bounded", message_timestamp_before_max_ms="1000")
    plain = peer.topic("plain")
    for note, told in (("old", 1), ("none", -1), ("negative", -2)):
        data = encode_batch([(told, None, b"v")])
        for topic in (bounded, plain):
            peer.ask(produce(topic, data), 9, note=f"{note} to {topic}")
    lying = bytearray(batch(b"x", b"y"))
    lying[35:43] = struct.pack(">q", 5)
    lying[17:21] = struct.pack(">I", crc32c.crc32c(memoryview(lying)[21:]))
    peer.ask(produce(plain, bytes(lying)), 9, note="a header that lies")
    peer.ask(fetch(plain, 3), 12, note="what is kept")
    Lookup = m.ListOffsetsRequest
    for timestamp in (0, 2, 1_700_000_000_000, 1_700_000_000_001, 1_800_000_000_000, -3):
        part = Lookup.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        entry = Lookup.ListOffsetsTopic(name=plain, partitions=[part])
        peer.ask(Lookup(topics=[entry]), 8, note=f"at {timestamp}")


@scenario
def compacted_topics(peer):
    """What they take; not what is left of it."""
    name = peer.topic("c", cleanup_policy="compact")
    mixed = encode_batch([(5, b"k", b"1"), (6, None, b"2"), (7, b"k", None), (8, None, None)])
    peer.ask(produce(name, mixed), 9, note="without keys")
    peer.ask(produce(name, mixed, topic_id=ZERO_UUID), 8, note="without keys, and no errors each")
    peer.ask(produce(name, batch(b"a", b"b")), 9, note="with keys")
    Delete = m.DeleteRecordsRequest
    part = Delete.DeleteRecordsPartition(partition_index=0, offset=1)
    entry = Delete.DeleteRecordsTopic(name=name, partitions=[part])
    peer.ask(Delete(topics=[entry], timeout_ms=5_000), 2, note="delete")


@scenario
def describe_quorum(peer):
    Describe = m.DescribeQuorumRequest
    the_log = "__cluster_metadata"

    def ask(version, *topics):
        asked = [
            Describe.TopicData(
                topic_name=name,
                partitions=[Describe.PartitionData(partition_index=number) for number in numbers],
            )
            for name, numbers in topics
        ]
        answer = peer.link().ask(Describe(topics=asked), version)
        for topic in answer.topics:
            for part in topic.partitions:
                # How long its log is, and when it was looked at.
                part.high_watermark = min(part.high_watermark, 1)
                for voter in part.current_voters:
                    voter.log_end_offset = min(voter.log_end_offset, 1)
                    voter.last_fetch_timestamp = min(voter.last_fetch_timestamp, 1)
                    voter.last_caught_up_timestamp = min(voter.last_caught_up_timestamp, 1)
        peer.said.append((f"v{version} {topics}", peer.plain(answer)))

    for version in range(3):
        ask(version, (the_log, [0]))
        ask(version)
        for numbers in ([], [1], [0, 1], [0, 0]):
            ask(version, (the_log, numbers))
        for other in (the_log, "nope"):
            ask(version, (the_log, [0]), (other, [0]))
        ask(version, ("nope", [0]))
