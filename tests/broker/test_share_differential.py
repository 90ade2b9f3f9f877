"""The same requests of share group members to a real Kafka and to our node: the same answers."""

import itertools
import time

import pytest
from share_sides import GROUP, beat, configure, hold_both, release_at
from share_world import ACCEPT, GAP, REJECT, RELEASE, RENEW

from kcore.wire import messages as m

pytestmark = pytest.mark.kafka

T = ("t", 0)


def heartbeats(seen):
    client = seen.world.client()
    for fields in (
        {"member_id": ""}, {"group_id": ""}, {"rack_id": ""}, {"topics": None}, {"topics": []},
        {"epoch": -2}, {"epoch": 1}, {"epoch": -1},
    ):  # fmt: skip
        wanted = {"member_id": "m1", "epoch": 0, "topics": ["t"]} | fields
        member, epoch, topics = (wanted.pop(name) for name in ("member_id", "epoch", "topics"))
        seen.beat(client, member, epoch, topics, **wanted)
    epoch = seen.beat(client, "m1", 0, ["t"]).member_epoch
    seen.beat(client, "m1", epoch + 7)
    seen.beat(client, "m2", epoch)
    seen.beat(client, "m2", -1)
    seen.beat(client, "m1", -1)
    seen.beat(client, "m1", epoch)
    seen.beat(client, "m1", -1)


def other_protocols(seen):
    client = seen.world.client()
    seen.beat(client, "m1", 0, ["t"])
    group = seen.world.group
    P = m.JoinGroupRequest.JoinGroupRequestProtocol
    join = m.JoinGroupRequest(
        group_id=group, session_timeout_ms=10_000, rebalance_timeout_ms=10_000,
        protocol_type="consumer", protocols=[P(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")],
    )  # fmt: skip
    R = m.OffsetCommitRequest
    topic = R.OffsetCommitRequestTopic(
        name=seen.world.topic_name,
        partitions=[R.OffsetCommitRequestPartition(committed_offset=1)],
    )
    commit = R(group_id=group, generation_id_or_member_epoch=-1, topics=[topic])
    F = m.OffsetFetchRequest
    for message, version in (
        (join, 5),
        (m.SyncGroupRequest(group_id=group, member_id="m1", protocol_type="consumer",
                            protocol_name="range"), 5),
        (m.HeartbeatRequest(group_id=group, member_id="m1"), 4),
        (m.ConsumerGroupHeartbeatRequest(group_id=group, member_id="m1",
                                         rebalance_timeout_ms=1_000, topic_partitions=[],
                                         subscribed_topic_names=["t"]), 1),
        (m.OffsetDeleteRequest(group_id=group), 0),
    ):  # fmt: skip
        seen.note(client.ask(message, version).error_code)
    seen.note(client.ask(commit, 9).topics[0].partitions[0].error_code)
    found = client.ask(F(groups=[F.OffsetFetchRequestGroup(group_id=group)]), 9).groups[0]
    seen.note((found.error_code, found.topics))
    topics = [F.OffsetFetchRequestTopics(name=seen.world.topic_name, partition_indexes=[0])]
    asked = F.OffsetFetchRequestGroup(group_id=group, topics=topics)
    found = client.ask(F(groups=[asked]), 9).groups[0]
    seen.note((found.error_code, found.topics[0].partitions))
    (one,) = client.ask(m.DescribeGroupsRequest(groups=[group]), 6).groups
    seen.note((one.error_code, one.group_state))
    (one,) = client.ask(m.ConsumerGroupDescribeRequest(group_ids=[group]), 1).groups
    seen.note(one.error_code)
    (one,) = client.ask(m.ShareGroupDescribeRequest(group_ids=[group]), 1).groups
    seen.note((one.error_code, one.group_state, one.assignor_name, len(one.members)))
    (one,) = client.ask(m.ShareGroupDescribeRequest(group_ids=["nobody"]), 1).groups
    seen.note((one.error_code, one.group_state, one.error_message))
    listed = client.ask(m.ListGroupsRequest(types_filter=["share"]), 5).groups
    seen.note([(x.protocol_type, x.group_state, x.group_type) for x in listed
               if x.group_id == group])  # fmt: skip
    for _ in range(2):
        (one,) = client.ask(m.DeleteGroupsRequest(groups_names=[group]), 2).results
        seen.note(one.error_code)
        seen.beat(client, "m1", -1)


def sessions(seen):
    one = seen.member(1)
    seen.world.ready(one)
    seen.world.put("a", "b", "c")
    seen.fetch(one, T, epoch=5)
    seen.fetch(one, epoch=-1)
    seen.acknowledge(one, {}, epoch=3)
    seen.acknowledge(one, {}, epoch=0)
    seen.acknowledge(one, {}, epoch=-1)
    seen.fetch(one, T, said={T: [(0, 0, ACCEPT)]}, epoch=0)
    seen.fetch(one, T, ("t", 7), max_wait_ms=1_000)
    seen.fetch(one, T, epoch=7)
    seen.acknowledge(one, {}, epoch=7)
    seen.acknowledge(one, {T: [(0, 0, ACCEPT)], ("unknown", 0): [(0, 0, ACCEPT)]})
    seen.acknowledge(one, {("t", 7): [(0, 0, ACCEPT)]})
    seen.fetch(one, forget=[("unknown", 0), ("t", 7)])
    seen.acknowledge(one, {T: [(1, 1, RELEASE)]})
    seen.fetch(one, max_wait_ms=1_000)
    two = seen.member(2)
    seen.fetch(two, T)
    seen.acknowledge(one, {T: [(1, 1, ACCEPT)]}, epoch=-1)
    seen.fetch(two, max_wait_ms=1_000)
    seen.fetch(two, said={T: [(2, 2, ACCEPT)]}, epoch=-1)
    seen.fetch(two)
    two.epoch = 0
    seen.fetch(two, T)


def states(seen):
    one, two = seen.member(1), seen.member(2)
    seen.world.ready(one)
    for texts in ("abcde", "fgh", "ij", "klmnop"):
        seen.world.put(*texts)
    seen.fetch(one, T, max_wait_ms=1_000, max_records=6)
    seen.fetch(two, T, max_wait_ms=1_000, max_records=1)
    # Of two things that are wrong, the first.
    seen.acknowledge(two, {T: [(4, 4, ACCEPT), (99, 99, ACCEPT)]})
    for who, said in (
        (one, (0, 3, ACCEPT)),
        (one, (0, 3, RELEASE)),
        (two, (4, 4, ACCEPT)),
        (one, (4, 8, ACCEPT)),
        (one, (4, 99, ACCEPT)),
        (one, (99, 99, ACCEPT)),
        (one, (16, 17, ACCEPT)),
        (one, (5, 4, ACCEPT)),
        (one, (4, 5)),
        (one, (4, 6, ACCEPT, ACCEPT)),
        (one, (4, 4, 9)),
        (one, (4, 4, -1)),
        (one, (4, 4, RENEW)),
        (one, (4, 7, RELEASE, REJECT, GAP, ACCEPT)),
        (two, (8, 9, RELEASE)),
    ):
        seen.acknowledge(who, {T: [said]})
    seen.acknowledge(one, {T: [(6, 6, ACCEPT), (4, 4, ACCEPT)]})
    seen.fetch(one, max_wait_ms=1_000, max_records=1)
    seen.fetch(two, max_wait_ms=1_000)
    seen.acknowledge(one, {T: [(4, 4, ACCEPT)]})
    seen.fetch(two, said={T: [(8, 9, ACCEPT), (10, 15, REJECT)]})
    seen.fetch(two, max_wait_ms=200)


def deliveries(seen):
    one = seen.member(1)
    seen.world.ready(one)
    seen.world.put(*"abcdefgh")
    answer = seen.fetch(one, T, max_wait_ms=1_000)
    for _ in range(30):
        held = [
            (got.first_offset, got.last_offset, RELEASE)
            for topic in answer.responses
            for part in topic.partitions
            for got in part.acquired_records
        ]
        if not held:
            return
        seen.acknowledge(one, {T: held})
        answer = seen.fetch(one, max_wait_ms=300)
    raise AssertionError("some record is delivered for ever")


def words(seen):
    """What is said of records that are others', of batches that are not whole, or record by record:
    what is refused leaves a batch in parts, which come back on their own.
    """
    one, two = seen.member(1), seen.member(2)
    seen.world.ready(one)
    client, group = seen.world.client(), seen.world.group
    configure(client, group, "share.renew.acknowledge.enable", "false")
    seen.world.wait(400)
    seen.world.put(*"abcde")
    seen.acknowledge(one, {T: [(0, 0, RENEW)]}, epoch=0, is_renew_ack=True)
    seen.fetch(one, T, max_wait_ms=1_000)
    seen.fetch(two, T, max_wait_ms=300)
    for said in (
        [(0, 4, RENEW)], [(0, 9, RENEW)], [(7, 9, RENEW)], [(0, 0, ACCEPT), (1, 4, RENEW)],
        [(0, 1, RENEW, ACCEPT)],
    ):  # fmt: skip
        seen.acknowledge(one, {T: said}, is_renew_ack=True)
    seen.acknowledge(two, {T: [(0, 4, ACCEPT)]})
    seen.world.put(*"fghij")
    seen.fetch(one, max_wait_ms=1_000)
    seen.acknowledge(two, {T: [(5, 9, ACCEPT)]})
    seen.acknowledge(two, {T: [(6, 7, ACCEPT)]})
    seen.acknowledge(one, {T: [(5, 5, ACCEPT), (6, 11, ACCEPT)]})
    seen.acknowledge(two, {T: [(5, 9, ACCEPT)]})
    seen.acknowledge(one, {T: [(0, 4, RELEASE, RELEASE, RELEASE, RELEASE, RELEASE)]})
    for said in ([(1, 2, ACCEPT)], [(0, 4, ACCEPT)], [(4, 5, ACCEPT)], [(5, 6, ACCEPT), (6, 6, 1)]):
        seen.acknowledge(one, {T: said})
    seen.acknowledge(one, {T: [(5, 9, *[RELEASE] * 5)]})
    seen.fetch(two, max_wait_ms=1_000)
    seen.acknowledge(two, {T: [(0, 9, RELEASE)]})
    seen.acknowledge(two, {T: [(0, 9, RELEASE)]})
    seen.fetch(one, max_wait_ms=1_000, max_records=3)
    seen.fetch(two, max_wait_ms=1_000)


def by_count(seen):
    one, two = seen.member(1), seen.member(2)
    seen.world.ready(one)
    for texts in ("abcde", "fgh", "ijklmnop"):
        seen.world.put(*texts)
    exact = {"share_acquire_mode": 1, "max_wait_ms": 1_000}
    seen.fetch(one, T, max_records=3, **exact)
    seen.fetch(two, T, max_records=4, **exact)
    seen.acknowledge(one, {T: [(0, 2, RELEASE, ACCEPT, RELEASE)]})
    seen.fetch(one, max_records=4, **exact)
    seen.fetch(two, max_records=1, **exact)
    seen.fetch(two, max_records=100, **exact)
    seen.fetch(one, epoch=-1)
    seen.fetch(two, max_records=100, **exact)


def locks(seen):
    """What is done behind a record that is not yet is remembered, and counts."""
    one, two = seen.member(1), seen.member(2)
    client, group = seen.world.client(), seen.world.group
    configure(client, group, "share.partition.max.record.locks", "100")
    seen.world.ready(one)
    for _ in range(5):
        seen.world.put(*"x" * 40)
    seen.fetch(one, T, max_wait_ms=1_000, max_records=80)
    seen.acknowledge(one, {T: [(1, 79, ACCEPT)]})
    seen.fetch(two, T, max_wait_ms=1_000, share_acquire_mode=1)
    seen.fetch(two, max_wait_ms=300)
    seen.acknowledge(two, {T: [(80, 85, RELEASE)]})
    seen.fetch(one, max_wait_ms=1_000)
    seen.acknowledge(one, {T: [(0, 0, ACCEPT)]})
    seen.fetch(two, max_wait_ms=1_000)
    seen.fetch(two, max_wait_ms=300)


def renewals(seen):
    one = seen.member(1)
    seen.world.ready(one)
    seen.world.put(*"abc")
    seen.fetch(one, T, max_wait_ms=1_000)
    zero = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 0, "max_records": 0}
    renew = {T: [(0, 1, RENEW)]}
    seen.acknowledge(one, renew, is_renew_ack=True)
    seen.fetch(one, said=renew, is_renew_ack=True, **zero)
    seen.fetch(one, said=renew, is_renew_ack=True, epoch=one.epoch)
    seen.fetch(one, said=renew, max_wait_ms=0)
    seen.acknowledge(one, {T: [(0, 2, ACCEPT, RENEW, RELEASE)]}, is_renew_ack=True)
    seen.fetch(one, max_wait_ms=1_000)


def quota(client, value):
    R = m.AlterClientQuotasRequest
    change = R.OpData(key="consumer_byte_rate", value=value or 0.0, remove=value is None)
    entity = [R.EntityData(entity_type="client-id", entity_name="test")]
    (answer,) = client.ask(R(entries=[R.EntryData(entity=entity, ops=[change])]), 1).entries
    assert not answer.error_code, answer
    time.sleep(0.5)  # a Kafka's brokers hear of it


def quotas(seen):
    """What is acquired and not given, as the member is above his quota, stays locked."""
    one, two = seen.member(1), seen.member(2)
    seen.world.ready(one)
    for text in "abcde":
        seen.world.put(text * 3_000)
    admin = seen.world.client()
    quota(admin, 1_000.0)
    try:
        seen.fetch(one, T, max_wait_ms=2_000)  # as much as can be had without waiting
        answer = seen.fetch(one, max_wait_ms=1_000)
        seen.note(4_500 < answer.throttle_time_ms < 5_510)
    finally:
        quota(admin, None)
    seen.world.put("f")
    seen.fetch(two, T, max_wait_ms=2_000)
    one.send(said={T: [(0, 2, ACCEPT), (3, 4, RELEASE)]}, max_wait_ms=100)
    if hasattr(seen.world, "run"):
        seen.world.run(6_000)
    assert one.client.answer()
    seen.fetch(two, max_wait_ms=1_000)


def transactions(seen):
    """Those that are aborted are not read, where a group reads what is committed only."""
    one = seen.member(1)
    client, group = seen.world.client(), seen.world.group
    configure(client, group, "share.isolation.level", "read_committed")
    seen.world.ready(one)
    seen.world.put(*"ab")
    for number, committed in enumerate((False, True, False)):
        seen.world.in_transaction(f"{seen.world.group}-{number}", *"cde", committed=committed)
        seen.world.put("f")
    seen.fetch(one, T, max_wait_ms=2_000, max_records=4)
    seen.fetch(one, max_wait_ms=1_000)
    seen.acknowledge(one, {T: [(0, 1, RELEASE)]})
    seen.fetch(one, max_wait_ms=1_000)
    seen.fetch(one, max_wait_ms=100)


def deleted_records(seen):
    one, two = seen.member(1), seen.member(2)
    seen.world.ready(one)
    for texts in ("abcde", "fgh", "ij", "klmn"):
        seen.world.put(*texts)
    seen.fetch(one, T, max_wait_ms=1_000, max_records=8)
    seen.acknowledge(one, {T: [(0, 1, RELEASE)]})
    client = seen.world.client()
    R = m.DeleteRecordsRequest
    part = R.DeleteRecordsPartition(partition_index=0, offset=6)
    topic = R.DeleteRecordsTopic(name=seen.world.topic_name, partitions=[part])
    answer = client.ask(R(topics=[topic], timeout_ms=10_000), 2)
    seen.note(answer.topics[0].partitions[0].low_watermark)
    seen.world.find_start(two)
    seen.fetch(two, T, max_wait_ms=1_000, max_records=1)
    seen.acknowledge(one, {T: [(2, 3, ACCEPT)]})
    seen.acknowledge(one, {T: [(4, 7, ACCEPT)]})
    seen.fetch(two, max_wait_ms=1_000)
    seen.acknowledge(two, {T: [(8, 13, ACCEPT)]})


def closed_connections(seen):
    """With a connection its session ends, and what was acquired is free."""
    one, two = seen.member(1), seen.member(2)
    seen.world.ready(one)
    seen.world.put(*"abc")
    seen.fetch(one, T, max_wait_ms=1_000)
    seen.fetch(two, T)
    one.client.close()
    seen.fetch(two, max_wait_ms=5_000)
    again = seen.member(1)
    seen.fetch(again, epoch=2)
    seen.fetch(again, T)


def deleted_topic(seen):
    """Of a topic that was there is said that it is gone; of an id that never was one, that."""
    one = seen.member(1)
    seen.world.ready(one)
    seen.world.put(*"abc")
    seen.fetch(one, T, ("unknown", 0), max_wait_ms=1_000)
    R = m.DeleteTopicsRequest
    name = seen.world.topic_name
    wanted = R(topics=[R.DeleteTopicState(name=name)], timeout_ms=10_000)
    (answer,) = seen.world.client().ask(wanted, 6).responses
    assert answer.error_code == 0
    seen.world.wait(1_000)
    for _ in range(2):
        answer = one.fetch(max_wait_ms=1_000)
        found = {
            (topic.topic_id.startswith(b"?"), part.error_code)
            for topic in answer.responses for part in topic.partitions
        }  # fmt: skip
        seen.note((answer.error_code, sorted(found)))
    seen.note(len(one.acknowledge({}).responses))
    seen.note(one.fetch(epoch=-1).error_code)
    seen.note(one.fetch().error_code)


def offsets_of(seen, client, group=None, *, named=True):
    """Kafka keeps the start from before the acknowledgements that moved it, and counts what is done
    behind it; so what is compared is the lag, and whether there is a start.
    """
    R = m.DescribeShareGroupOffsetsRequest
    topics = None
    if named:
        topics = [
            R.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=[0])
            for name in (seen.world.topic_name, "unknown")
        ]
    asked = R.DescribeShareGroupOffsetsRequestGroup(
        group_id=group or seen.world.group, topics=topics
    )
    (found,) = client.ask(R(groups=[asked]), 1).groups
    seen.note(
        (
            found.error_code,
            (found.error_message or "").replace(seen.world.group, "GROUP"),
            sorted(
                (topic.topic_name == "unknown", one.partition_index, min(one.start_offset, 0),
                 one.lag, one.error_code)
                for topic in found.topics for one in topic.partitions
            ),
        )
    )  # fmt: skip


def alter(seen, client, offset, group=None, topic=None, partition=0):
    R = m.AlterShareGroupOffsetsRequest
    Partition = R.AlterShareGroupOffsetsRequestPartition
    parts = [Partition(partition_index=partition, start_offset=offset)]
    name = topic or seen.world.topic_name
    topics = [R.AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=parts)]
    answer = client.ask(R(group_id=group or seen.world.group, topics=topics), 0)
    found = [one for entry in answer.responses for one in entry.partitions]
    codes = [(one.partition_index, one.error_code) for one in found]
    seen.note((answer.error_code, codes))


def delete(seen, client, *topics, group=None):
    R = m.DeleteShareGroupOffsetsRequest
    named = [R.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics]
    answer = client.ask(R(group_id=group or seen.world.group, topics=named), 0)
    codes = sorted((one.topic_name == "unknown", one.error_code) for one in answer.responses)
    seen.note((answer.error_code, codes))


def offsets(seen):
    client, one = seen.world.client(), seen.member(1)
    topic = seen.world.topic_name
    for named in (True, False):
        offsets_of(seen, client, "nobody", named=named)
    delete(seen, client, topic, group="nobody")
    seen.world.ready(one)
    seen.world.put(*"abcdef")
    offsets_of(seen, client)
    seen.fetch(one, T, max_wait_ms=1_000)
    offsets_of(seen, client)
    seen.acknowledge(one, {T: [(0, 1, ACCEPT), (3, 3, ACCEPT)]})
    offsets_of(seen, client)
    offsets_of(seen, client, named=False)
    alter(seen, client, 4)
    delete(seen, client, topic)
    seen.beat(client, one.name, -1)
    seen.fetch(one, epoch=-1)
    alter(seen, client, 4, topic="unknown")
    alter(seen, client, 4, partition=9)
    alter(seen, client, 4)
    offsets_of(seen, client)
    delete(seen, client, topic, "unknown")
    offsets_of(seen, client)
    offsets_of(seen, client, named=False)
    delete(seen, client, topic)
    alter(seen, client, 2, group=seen.world.group + "-new")


def options(seen):
    client, group = seen.world.client(), seen.world.group
    R, D = m.IncrementalAlterConfigsRequest, m.DescribeConfigsRequest
    for name, value in (
        ("share.auto.offset.reset", "latest"),
        ("share.auto.offset.reset", "by_duration:PT1H"),
        ("share.auto.offset.reset", "sometime"),
        ("share.auto.offset.reset", "by_duration:1H"),
        ("share.record.lock.duration.ms", "15000"),
        ("share.record.lock.duration.ms", "14999"),
        ("share.record.lock.duration.ms", "60001"),
        ("share.record.lock.duration.ms", "999"),
        ("share.record.lock.duration.ms", "soon"),
        ("share.heartbeat.interval.ms", "15000"),
        ("share.heartbeat.interval.ms", "1"),
        ("share.session.timeout.ms", "60000"),
        ("share.session.timeout.ms", "60001"),
        ("share.isolation.level", "read_committed"),
        ("share.isolation.level", "READ_COMMITTED"),
        ("share.delivery.count.limit", "10"),
        ("share.delivery.count.limit", "11"),
        ("share.delivery.count.limit", "1"),
        ("share.partition.max.record.locks", "100"),
        ("share.partition.max.record.locks", "99"),
        ("share.renew.acknowledge.enable", "false"),
        ("share.renew.acknowledge.enable", "no"),
        ("share.assignment.interval.ms", "-1"),
        ("share.assignment.interval.ms", "15000"),
        ("share.assignment.interval.ms", "15001"),
        ("share.assignment.interval.ms", "0"),
        ("share.nothing", "1"),
    ):
        option = R.AlterableConfig(name=name, value=value)
        entry = R.AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=[option])
        (answer,) = client.ask(R(resources=[entry], validate_only=False), 1).responses
        seen.note((name, value, answer.error_code, answer.error_message))
        time.sleep(0 if answer.error_code else 0.05)
    entry = R.AlterConfigsResource(resource_type=GROUP, resource_name="", configs=[])
    (answer,) = client.ask(R(resources=[entry]), 1).responses
    seen.note((answer.error_code, answer.error_message))
    time.sleep(0.3)
    for name in (group, "nobody", ""):
        entry = D.DescribeConfigsResource(resource_type=GROUP, resource_name=name)
        (answer,) = client.ask(D(resources=[entry], include_synonyms=True), 4).results
        seen.note((answer.error_code, answer.error_message))
        seen.note(
            sorted(
                (one.name, one.value, one.config_source, one.read_only, one.config_type,
                 [(x.name, x.value, x.source) for x in one.synonyms])
                for one in answer.configs
                if one.name.startswith("share.")
            )
        )  # fmt: skip


def grow(client, topic, count):
    R = m.CreatePartitionsRequest
    entry = R.CreatePartitionsTopic(name=topic, count=count, assignments=None)
    (answer,) = client.ask(R(topics=[entry], timeout_ms=10_000), 3).results
    assert not answer.error_code


def starts(client, world):
    """Where the group begins in each partition whose state is kept for it."""
    R = m.DescribeShareGroupOffsetsRequest
    asked = R.DescribeShareGroupOffsetsRequestGroup(group_id=world.group, topics=None)
    (found,) = client.ask(R(groups=[asked]), 0).groups
    parts = [one for topic in found.topics for one in topic.partitions]
    return sorted((one.partition_index, one.start_offset) for one in parts)


def intervals(seen):
    """How soon a target follows another (KIP-1263): who comes meanwhile waits for a part in it."""
    world, client = seen.world, seen.world.client()
    configure(client, world.group, "share.assignment.interval.ms", "0")
    world.wait(300)
    world.ready(seen.member(1))
    name = seen.member(1).name
    configure(client, world.group, "share.assignment.interval.ms", "4000")
    world.wait(300)
    answer = seen.beat(client, "m2", 0, ["t"])
    first = seen.beat(client, name, answer.member_epoch)
    seen.note([bool(answer.assignment.topic_partitions), first.member_epoch - answer.member_epoch])
    world.wait(4_500)
    later = seen.beat(client, "m2", answer.member_epoch)
    seen.note([bool(later.assignment), later.member_epoch - answer.member_epoch])
    configure(client, world.group, "share.assignment.interval.ms", "0")
    world.wait(300)
    third = seen.beat(client, "m3", 0, ["t"])
    seen.note([bool(third.assignment.topic_partitions), third.member_epoch - later.member_epoch])
    configure(client, world.group, "share.assignment.interval.ms", "15000")
    world.wait(300)
    grow(client, world.topic_name, 3)
    epoch, waiting = third.member_epoch, True
    while waiting:  # a Kafka's members hear of new partitions a moment later
        world.wait(100)
        answer = client.ask(beat(world, "m3", epoch), 1)
        assert (answer.error_code, answer.assignment) == (0, None)
        waiting = len(starts(client, world)) < 3
    seen.note(starts(client, world))


def first_targets(seen):
    """Nothing can be given out yet with the first one: members who come together share the next."""
    world, client = seen.world, seen.world.client()
    configure(client, world.group, "share.assignment.interval.ms", "15000")
    world.wait(300)
    joined = {name: seen.beat(client, name, 0, ["t"]) for name in ("m1", "m2")}
    seen.note([answer.assignment.topic_partitions for answer in joined.values()])
    for ms in (500, 15_000, 500):
        world.wait(ms)
        for name, answer in joined.items():
            later = seen.beat(client, name, answer.member_epoch)
            given = later.assignment and later.assignment.topic_partitions
            parts = given and [one.partitions for one in given]
            seen.note([later.member_epoch - answer.member_epoch, parts])


_numbers = itertools.count(1)


@pytest.mark.parametrize(
    "scenario",
    [
        heartbeats,
        other_protocols,
        sessions,
        states,
        deliveries,
        words,
        by_count,
        locks,
        renewals,
        options,
        deleted_records,
        deleted_topic,
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in (intervals, first_targets, offsets, transactions, closed_connections, quotas)
        ),
    ],
)
def test_kafka_says_the_same(scenario, kafka):
    name = f"share-{scenario.__name__}-{next(_numbers)}"
    release = release_at(kafka)
    if scenario is deleted_topic and release < (4, 4):
        pytest.skip("a Kafka 4.3 refuses the whole session")
    hold_both(scenario, name, kafka, release)
