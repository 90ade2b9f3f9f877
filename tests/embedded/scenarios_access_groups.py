"""Scenarios of access to groups: what alice may see of them, and be in."""

import time

from raw_client import DEADLINE_S
from scenarios_access import (
    CREATE,
    DELETE,
    DESCRIBE,
    GROUP,
    PREFIXED,
    READ,
    TOPIC,
    four_topics,
    scenario,
)
from scenarios_groups import committing, ready, stable

from kcore.wire import messages as m


@scenario
def groups(side):
    topics = four_topics(side)
    ids = [side.root.id_of(name) for name in topics]
    names = [ready(side.root, side.root.name(f"g{n}")) for n in range(4)]
    mine = ready(side.root, side.root.name("mine"))
    for name in names:
        member, _ = stable(side.root, name)
        side.alice.number("member", member)
    for topic in topics:
        side.root.ask(committing(mine, topic), 8)
    side.allow(READ, GROUP, names[0])
    side.allow(DESCRIBE, GROUP, names[1])
    side.allow(DELETE, GROUP, names[2])
    side.allow(READ, GROUP, mine)
    for version in range(2, 11):
        request = committing(mine, topics[0])
        request.topics = [one for topic in topics for one in committing(mine, topic).topics]
        for one, topic_id in zip(request.topics, ids, strict=True):
            one.topic_id = topic_id
        side.alice.ask(request, version, note=f"commit v{version}")
    Fetch = m.OffsetFetchRequest
    for version in range(1, 8):
        asked = [Fetch.OffsetFetchRequestTopic(name=name, partition_indexes=[0]) for name in topics]
        for group in (mine, names[3]):
            side.alice.ask(Fetch(group_id=group, topics=asked), version, note=f"fetch v{version}")
            if version > 1:
                request = Fetch(group_id=group, topics=None)
                side.alice.ask(request, version, note=f"all v{version}")
    for version in range(8, 11):
        asked = [
            Fetch.OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=[0])
            for name, topic_id in sorted(zip(topics, ids, strict=True))
        ]
        Group = Fetch.OffsetFetchRequestGroup
        found = [Group(group_id=group, topics=list(asked)) for group in (mine, names[3])]
        side.alice.ask(Fetch(groups=found), version, note=f"fetch v{version}")
        found = [Group(group_id=group, topics=None) for group in (mine, names[3])]
        side.alice.ask(Fetch(groups=found), version, note=f"all v{version}")
    seen_groups(side, names, mine, topics)


def seen_groups(side, names, mine, topics):
    for version in (2, 3, 6):
        request = m.DescribeGroupsRequest(groups=names, include_authorized_operations=version > 2)
        answer = side.alice.ask(request, version, note=f"describe v{version}")
        assert {one.error_code for one in answer.groups} == {0, 30}
    asked = m.FindCoordinatorRequest(coordinator_keys=names)
    side.alice.ask(asked, 4, note="coordinators")
    asked = m.FindCoordinatorRequest(coordinator_keys=names, key_type=1)
    side.alice.ask(asked, 4, note="of transactions")
    for name in (names[0], names[1]):
        side.alice.ask(m.HeartbeatRequest(group_id=name, generation_id=1, member_id="x"), 4)
    Gone = m.OffsetDeleteRequest
    part = Gone.OffsetDeleteRequestPartition(partition_index=0)
    asked = [Gone.OffsetDeleteRequestTopic(name=name, partitions=[part]) for name in topics]
    side.allow(DELETE, GROUP, mine)
    side.alice.ask(Gone(group_id=mine, topics=asked), 0, note="offsets deleted")
    side.alice.ask(m.DeleteGroupsRequest(groups_names=names), 2, note="deleted")


@scenario
def listed_groups(side):
    names = [ready(side.root, side.root.name(f"g{n}")) for n in range(3)]
    for name in names:
        stable(side.root, name)
    side.allow(DESCRIBE, GROUP, names[0])
    side.allow(READ, GROUP, side.root.name("g1"), pattern=PREFIXED)
    for version in range(6):
        side.alice.ask(m.ListGroupsRequest(), version, note=f"v{version}")


def consumer_beat(group, member, epoch, *, names=None, regex=None, **more):
    return m.ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=epoch, rebalance_timeout_ms=5_000,
        subscribed_topic_names=names, subscribed_topic_regex=regex, topic_partitions=[], **more,
    )  # fmt: skip


@scenario
def consumer_groups(side):
    topics = four_topics(side)
    group = ready(side.root, side.root.name("g"))
    side.allow(READ, GROUP, group)
    for names in (topics[:3], topics, topics[3:], [side.root.name("gone")]):
        request = consumer_beat(group, "m1", 0, names=names)
        side.alice.ask(request, 1, note=f"{len(names)} topics")
    side.root.ask(consumer_beat(group, "m2", 0, names=[topics[3]]), 1)
    request = m.ConsumerGroupDescribeRequest(group_ids=[group, side.root.name("other")])
    request.include_authorized_operations = True
    side.alice.ask(request, 1, note="described, with a topic that is hidden")
    side.allow(DESCRIBE, TOPIC, topics[3])
    side.alice.ask(request, 1, note="described")


def share_beat(group, member, epoch, names=None):
    return m.ShareGroupHeartbeatRequest(
        group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=names
    )


MEMBER, OTHER = "AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"


def only_codes(side, request, version, note):
    """Of groups whose epochs go on at their own pace: what alice is told of access."""
    answer = side.alice.link().ask(request, version)
    shown = [
        (one.group_id, one.error_code, one.error_message, len(one.members),
         one.authorized_operations)
        for one in getattr(answer, "groups", ())
    ]  # fmt: skip
    side.alice.said.append((note, (getattr(answer, "error_code", 0), sorted(shown))))


def assigned(peer, group, member, topics):
    """A member that has its topics: a Kafka gives them some seconds later."""
    epoch, end = 0, time.monotonic() + DEADLINE_S
    while True:
        request = share_beat(group, member, epoch, None if epoch else topics)
        answer = peer.link().ask(request, 1)
        assert not answer.error_code, answer
        assert time.monotonic() < end
        if answer.assignment is not None and answer.assignment.topic_partitions:
            return
        epoch = answer.member_epoch
        time.sleep(0.1)


@scenario
def share_groups(side):
    topics = four_topics(side)
    ids = [side.root.id_of(name) for name in topics]
    group, other = (ready(side.root, side.root.name(base)) for base in ("g", "other"))
    side.allow(READ, GROUP, group)
    for names in (topics, topics[:3]):
        only_codes(side, share_beat(group, MEMBER, 0, names), 1, f"{len(names)} topics")
    only_codes(side, share_beat(other, MEMBER, 0, topics[:1]), 1, "another group")
    described = m.ShareGroupDescribeRequest(group_ids=[group, other])
    described.include_authorized_operations = True
    only_codes(side, described, 1, "described")
    assigned(side.alice, group, MEMBER, topics[:3])
    Fetch, Offsets = m.ShareFetchRequest, m.DescribeShareGroupOffsetsRequest
    for member_epoch in (0, 1):
        asked = [
            Fetch.FetchTopic(topic_id=one, partitions=[Fetch.FetchPartition(partition_index=0)])
            for one in ids[:1] + ids[3:]
        ]
        request = Fetch(
            group_id=group, member_id=MEMBER, share_session_epoch=member_epoch, max_wait_ms=100,
            min_bytes=1, max_bytes=1_000, max_records=10, batch_size=10,
            topics=asked if member_epoch == 0 else [],
        )  # fmt: skip
        answer = side.alice.link().ask(request, 2)  # a Kafka speaks of empty partitions, too
        errors = {
            one.topic_id: part.error_code for one in answer.responses for part in one.partitions
        }
        noted = [errors.get(ids[0], 0), errors.get(ids[3], 0), answer.error_code]
        side.alice.said.append((f"fetch {member_epoch}", noted))
    Told = m.ShareAcknowledgeRequest
    word = Told.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    part = Told.AcknowledgePartition(partition_index=0, acknowledgement_batches=[word])
    asked = [Told.AcknowledgeTopic(topic_id=one, partitions=[part]) for one in ids[:1] + ids[3:]]
    request = Told(group_id=group, member_id=MEMBER, share_session_epoch=2, topics=asked)
    side.alice.ask(request, 2, note="acknowledged")
    assigned(side.root, group, OTHER, topics[3:])
    only_codes(side, described, 1, "with a topic that is hidden")
    only_codes(side, share_beat(group, MEMBER, -1), 1, "gone")
    side.root.link().ask(share_beat(group, OTHER, -1), 1)
    one = Offsets.DescribeShareGroupOffsetsRequestTopic
    Group = Offsets.DescribeShareGroupOffsetsRequestGroup
    asked = [one(topic_name=name, partitions=[0]) for name in topics]
    found = [Group(group_id=name, topics=asked) for name in (group, other)]
    side.alice.ask(Offsets(groups=found), 1, note="offsets of some")
    found = [Group(group_id=name, topics=None) for name in (group, other)]
    answer = side.alice.link().ask(Offsets(groups=found), 1)  # a Kafka has more of them by and by
    seen = {part.topic_name for entry in answer.groups for part in entry.topics}
    errors = [(entry.group_id, entry.error_code) for entry in answer.groups]
    side.alice.said.append(("offsets of all", [topics[0] in seen, topics[3] in seen, errors]))
    Alter, Drop = m.AlterShareGroupOffsetsRequest, m.DeleteShareGroupOffsetsRequest
    part = Alter.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    for named in (topics, topics[3:]):
        asked = [
            Alter.AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=[part])
            for name in (*named, side.root.name("gone"))
        ]
        side.alice.ask(Alter(group_id=group, topics=asked), 0, note="altered")
    side.allow(DELETE, GROUP, group)
    for named in (topics, topics[3:]):
        asked = [Drop.DeleteShareGroupOffsetsRequestTopic(topic_name=name)
                 for name in (*named, side.root.name("gone"))]  # fmt: skip
        side.alice.ask(Drop(group_id=group, topics=asked), 0, note="dropped")


@scenario
def regular_expressions(side):
    """They stand for what the member may describe; a Kafka looks them up on the side."""
    topics = four_topics(side)
    group = ready(side.root, side.root.name("g"))
    side.allow(READ, GROUP, group)
    request = consumer_beat(group, "m1", 0, regex=f"{side.tag}-.*")
    end, known = time.monotonic() + DEADLINE_S, {side.root.id_of(name): name for name in topics}
    names = []
    while not names:
        answer = side.alice.link().ask(request, 1)
        assert not answer.error_code, answer
        assert time.monotonic() < end
        if answer.assignment is not None:
            names = sorted(known[one.topic_id] for one in answer.assignment.topic_partitions)
        request = consumer_beat(group, "m1", answer.member_epoch)
        request.topic_partitions = None
        request.rebalance_timeout_ms = -1
        time.sleep(0.1)
    side.alice.said.append(("assigned", names))
    side.root.link().ask(consumer_beat(group, "m1", -1), 1)


def streams_beat(group, sources, changelogs=(), sinks=(), **more):
    R = m.StreamsGroupHeartbeatRequest
    stores = [R.TopicInfo(name=name, replication_factor=1) for name in changelogs]
    part = R.Subtopology(
        subtopology_id="0", source_topics=list(sources), repartition_sink_topics=list(sinks),
        state_changelog_topics=stores,
    )  # fmt: skip
    return R(**{
        "group_id": group, "member_id": MEMBER, "process_id": "p", "rebalance_timeout_ms": 5_000,
        "topology": R.Topology(subtopologies=[part]),
        "active_tasks": [], "standby_tasks": [], "warmup_tasks": [],
    } | more)  # fmt: skip


@scenario
def streams_groups(side):
    topics = four_topics(side)
    group, other = (ready(side.root, side.root.name(base)) for base in ("g", "other"))
    stores = [side.root.name(base) for base in ("store", "table")]
    side.allow(READ, GROUP, group)

    def say(note, request):
        answer = side.alice.link().ask(request, 0)
        told = [(one.status_code, one.status_detail) for one in answer.status]
        side.alice.said.append((note, (answer.error_code, answer.error_message, told)))

    say("another group", streams_beat(other, topics[:1]))
    say("a topic that is hidden", streams_beat(group, topics))
    say("a sink that is hidden", streams_beat(group, topics[:1], sinks=topics[3:]))
    say("a changelog that is hidden", streams_beat(group, topics[:1], stores))
    for store in stores:
        side.allow(DESCRIBE, TOPIC, store)
    wanted = streams_beat(group, topics[:1], stores)
    say("changelogs that may not be made", wanted)
    side.allow(CREATE, TOPIC, stores[0])
    say("one of them", wanted)
    side.allow(CREATE, TOPIC, stores[1])
    say("none of them", wanted)
    described = m.StreamsGroupDescribeRequest(group_ids=[group, other])
    described.include_authorized_operations = True
    only_codes(side, described, 0, "described")
    hidden = ready(side.root, side.root.name("hidden"))
    side.allow(DESCRIBE, GROUP, hidden)
    side.root.link().ask(streams_beat(hidden, topics), 0)
    described = m.StreamsGroupDescribeRequest(group_ids=[hidden])
    only_codes(side, described, 0, "described with a topic that is hidden")
    say("gone", streams_beat(group, [], member_epoch=-1, topology=None, active_tasks=None,
                             standby_tasks=None, warmup_tasks=None))  # fmt: skip
