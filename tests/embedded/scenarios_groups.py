"""Scenarios of groups: joining in every way, and everything that is said to a coordinator."""

from scenarios_data import scenario

from kcore.wire import messages as m
from kcore.wire.codec import encode
from kcore.wire.message import ZERO_UUID

NOBODY = "nobody-1"
# A subscription to topic `t`. A Kafka does not answer a JoinGroup if it cannot read it.
SUBSCRIPTION = b"\0\1" + encode(m.ConsumerProtocolSubscription(topics=["t"]), 1)


def joining(group, member="", *, names=("range",), kind="consumer", instance=None, **more):
    Protocol = m.JoinGroupRequest.JoinGroupRequestProtocol
    return m.JoinGroupRequest(
        group_id=group,
        member_id=member,
        group_instance_id=instance,
        protocol_type=kind,
        protocols=[Protocol(name=name, metadata=SUBSCRIPTION) for name in names],
        **{"session_timeout_ms": 10_000, "rebalance_timeout_ms": 5_000} | more,
    )


def syncing(group, generation, member, assignments=(), **more):
    Assignment = m.SyncGroupRequest.SyncGroupRequestAssignment
    return m.SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        assignments=[Assignment(member_id=one, assignment=data) for one, data in assignments],
        **more,
    )


def beating(group, generation, member, **more):
    return m.HeartbeatRequest(group_id=group, generation_id=generation, member_id=member, **more)


def leaving(group, *members):
    Identity = m.LeaveGroupRequest.MemberIdentity
    return m.LeaveGroupRequest(
        group_id=group,
        members=[Identity(member_id=one, group_instance_id=name) for one, name in members],
    )


def committing(group, topic, offset=5, generation=-1, member="", partition=0, **more):
    Commit = m.OffsetCommitRequest
    part = Commit.OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata="note"
    )
    entry = Commit.OffsetCommitRequestTopic(name=topic, partitions=[part])
    return Commit(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[entry],
        **more,
    )


def ready(peer, group):
    """Wait until the group's coordinator serves."""
    peer.ready(m.FindCoordinatorRequest(key=group), 2)
    peer.ready(beating(group, 1, NOBODY), 3)
    return group


def alone(peer, group, version=5, *, link="a", **more):
    """Join as the only member; its id and generation."""
    answer = peer.ask(joining(group, **more), version, link)
    if answer.error_code:
        answer = peer.ask(joining(group, answer.member_id, **more), version, link)
    return answer.member_id, answer.generation_id


def stable(peer, group, data=b"plan", **more):
    """A group of one that is stable."""
    member, generation = alone(peer, group, **more)
    peer.ask(syncing(group, generation, member, [(member, data)]), 3)
    return member, generation


@scenario
def find_coordinator(peer):
    group = ready(peer, peer.name("g"))
    for version in range(4):
        peer.ask(m.FindCoordinatorRequest(key=group), version)
    for version in range(4, 7):
        for keys in ([group], [group, ""], []):
            peer.ask(m.FindCoordinatorRequest(coordinator_keys=keys), version, note=f"{keys}")
        peer.ask(m.FindCoordinatorRequest(coordinator_keys=[group], key_type=7), version)
    peer.ask(m.FindCoordinatorRequest(key=""), 2)
    peer.ask(m.FindCoordinatorRequest(key=group, key_type=7), 2)


@scenario
def join_versions(peer):
    for version in range(10):
        group = ready(peer, peer.name(f"g{version}"))
        member, generation = alone(peer, group, version)
        peer.ask(syncing(group, generation, member, [(member, b"plan")]), min(version, 5))
        peer.ask(beating(group, generation, member), min(version, 4))
        peer.ask(joining(group, member), version, note="again, as the leader")


@scenario
def join_refused(peer):
    group = ready(peer, peer.name("g"))
    for version in (3, 4, 5, 9):
        peer.ask(joining(group, NOBODY), version, note="an id that is not known")
        for timeout in (999, 1_800_001):
            peer.ask(joining(group, session_timeout_ms=timeout), version, note=f"{timeout} ms")
        peer.ask(joining(group, names=()), version, note="no protocols")
        peer.ask(joining(group, kind=""), version, note="no type")
        peer.ask(joining(""), version, note="no group")
    member, _ = stable(peer, group)
    peer.ask(joining(group, NOBODY), 5)
    peer.ask(joining(group, names=("other",)), 5, note="no protocol in common")
    peer.ask(joining(group, kind="connect"), 5, note="another type")
    peer.ask(joining(group, member, names=("other",)), 5, note="the member changes protocols")
    peer.ask(joining(group, member, kind="connect"), 5, note="the member changes type")
    peer.ask(joining(group, NOBODY, instance="i"), 5, note="an instance and an unknown id")


@scenario
def two_members(peer):
    group = ready(peer, peer.name("g"))
    first, generation = stable(peer, group, names=("range", "roundrobin"))
    asked = peer.ask(joining(group, names=("roundrobin", "range")), 5, "b")
    second = asked.member_id
    peer.send(joining(group, second, names=("roundrobin", "range")), 5, "b")
    while not peer.link().ask(beating(group, generation, first), 3).error_code:
        pass
    peer.ask(beating(group, generation, first), 3, note="while it rebalances")
    peer.ask(syncing(group, generation, first), 3, note="while it rebalances")
    peer.ask(committing(group, "never-made", 1, generation, first), 7, note="while it rebalances")
    peer.ask(m.DescribeGroupsRequest(groups=[group]), 5)
    joined = peer.ask(joining(group, first, names=("range", "roundrobin")), 5)
    peer.receive("b", "the second's join")
    generation = joined.generation_id
    peer.ask(beating(group, generation, first), 3, note="before it syncs")
    peer.ask(committing(group, "never-made", 1, generation, first), 7, note="before it syncs")
    peer.ask(beating(group, generation - 1, first), 3)
    peer.send(syncing(group, generation, second), 3, "b")
    peer.ask(m.DescribeGroupsRequest(groups=[group]), 5, note="before the leader's plan")
    peer.ask(joining(group, first, names=("range", "roundrobin")), 5, note="again, the same")
    plan = [(first, b"one"), (second, b"two")]
    peer.ask(syncing(group, generation, first, plan), 3)
    peer.receive("b", "the second's plan")
    peer.ask(m.DescribeGroupsRequest(groups=[group]), 5)
    peer.ask(m.DescribeGroupsRequest(groups=[group]), 6)
    peer.ask(joining(group, second, names=("roundrobin", "range")), 5, "b", "as before, a follower")
    peer.ask(syncing(group, generation, second), 3, "b", "the plan again")
    peer.ask(syncing(group, generation - 1, second), 3)
    peer.ask(syncing(group, generation, NOBODY), 3)
    peer.ask(syncing(group, generation, first, protocol_type="x", protocol_name="range"), 5)
    peer.ask(syncing(group, generation, first, protocol_type="consumer", protocol_name="other"), 5)
    peer.ask(leaving(group, (second, None), (NOBODY, None)), 3)
    peer.ask(beating(group, generation, first), 3)
    peer.ask(joining(group, first, names=("range", "roundrobin")), 5)


@scenario
def protocols_with_as_many_votes(peer):
    pairs = [("roundrobin", "range"), ("range", "cooperative-sticky"), ("range", "sticky")]
    for names in [*pairs, *(pair[::-1] for pair in pairs)]:
        group = ready(peer, peer.name("-".join(names)))
        first, generation = stable(peer, group, names=names)
        second = peer.ask(joining(group, names=names[::-1]), 5, "b").member_id
        peer.send(joining(group, second, names=names[::-1]), 5, "b")
        while not peer.link().ask(beating(group, generation, first), 3).error_code:
            pass
        peer.ask(joining(group, first, names=names), 5)
        peer.receive("b", "the second's join")


@scenario
def static_members(peer):
    group = ready(peer, peer.name("g"))
    first, generation = stable(peer, group, instance="one")
    again = peer.ask(joining(group, instance="one"), 9, note="the same instance, skipping")
    peer.ask(beating(group, generation, first, group_instance_id="one"), 3, note="the old id")
    peer.ask(beating(group, generation, first), 3, note="the old id, no instance")
    member, generation = again.member_id, again.generation_id
    peer.ask(beating(group, generation, member, group_instance_id="one"), 3)
    peer.ask(beating(group, generation, member, group_instance_id="two"), 3)
    peer.ask(syncing(group, generation, member, [(member, b"p")], group_instance_id="one"), 3)
    peer.ask(syncing(group, generation, first, group_instance_id="one"), 3)
    peer.ask(committing(group, "never-made", 1, generation, first, group_instance_id="one"), 7)
    peer.ask(joining(group, first, instance="one"), 5, note="the old id")
    peer.ask(joining(group, instance="one"), 5, note="the same instance, once more")
    peer.ask(m.DescribeGroupsRequest(groups=[group]), 5)
    peer.ask(leaving(group, ("", "nope"), (NOBODY, "one"), (NOBODY, None)), 4)
    peer.ask(leaving(group, ("", "one")), 4)
    peer.ask(m.DescribeGroupsRequest(groups=[group]), 5)


@scenario
def heartbeat_and_leave(peer):
    group = ready(peer, peer.name("g"))
    none = ready(peer, peer.name("none"))
    for version in range(5):
        peer.ask(beating(none, 1, NOBODY), version)
        peer.ask(beating("", 1, NOBODY), version)
    member, generation = stable(peer, group)
    for number, who in ((generation, NOBODY), (generation + 1, member), (-1, member), (0, "")):
        peer.ask(beating(group, number, who), 3, note=f"generation {number}")
        peer.ask(syncing(group, number, who), 3, note=f"generation {number}")
    for version in range(3):
        peer.ask(m.LeaveGroupRequest(group_id=none, member_id=NOBODY), version)
        peer.ask(m.LeaveGroupRequest(group_id=group, member_id=NOBODY), version)
        peer.ask(m.LeaveGroupRequest(group_id="", member_id=NOBODY), version)
    for version in range(3, 6):
        peer.ask(leaving(none, (NOBODY, None)), version)
        peer.ask(leaving(group), version, note="nobody")
    peer.ask(m.LeaveGroupRequest(group_id=group, member_id=member), 2)
    peer.ask(beating(group, generation, member), 3)
    pending = peer.ask(joining(group), 5).member_id
    peer.ask(leaving(group, (pending, None)), 4, note="a member to be")
    peer.ask(joining(group, pending), 5)
    peer.ask(syncing("", 1, NOBODY), 3)
    peer.ask(syncing(none, 1, NOBODY), 3)


@scenario
def commits(peer):
    topic = peer.topic("t", 2)
    topic_id = peer.id_of(topic)
    group, simple = ready(peer, peer.name("g")), ready(peer, peer.name("simple"))
    member, generation = stable(peer, group)
    for version in range(2, 10):
        peer.ask(committing(simple, topic, version), version)
        peer.ask(committing(group, topic, version, generation, member), version)
        peer.ask(committing(group, topic, 99), version, note="without a member")
        peer.ask(committing(group, topic, 99, generation, NOBODY), version)
        peer.ask(committing(group, topic, 99, generation + 1, member), version)
        peer.ask(committing(peer.name("none"), topic, 99, 3, NOBODY), version, note="no group")
    by_id = committing(simple, "", 10)
    by_id.topics[0].topic_id = topic_id
    peer.ask(by_id, 10)
    by_id.topics[0].topic_id = b"\7" * 16
    peer.ask(by_id, 10)
    large = committing(simple, topic)
    large.topics[0].partitions[0].committed_metadata = "x" * 4_097
    peer.ask(large, 8)
    empty = committing(simple, topic)
    empty.topics[0].partitions[0].committed_metadata = None
    peer.ask(empty, 8)
    peer.ask(committing(simple, peer.name("none")), 8, note="no topic")
    peer.ask(committing(simple, topic, partition=7), 8, note="no partition")
    peer.ask(committing(simple, topic, -1), 8, note="a negative offset")
    peer.ask(committing("", topic, 3), 8, note="an empty group id")
    peer.ask(m.DeleteGroupsRequest(groups_names=[""]), 2)  # others look whether it is there
    fetch_offsets(peer, group, simple, topic, topic_id)


def fetch_offsets(peer, group, simple, topic, topic_id):
    Fetch = m.OffsetFetchRequest
    for version in range(1, 8):
        for name in (group, simple, peer.name("none")):
            asked = Fetch.OffsetFetchRequestTopic(name=topic, partition_indexes=[0, 1, 9])
            other = Fetch.OffsetFetchRequestTopic(name="none", partition_indexes=[0])
            request = Fetch(group_id=name, topics=[asked, other])
            peer.ask(request, version, note=f"offsets of {name} v{version}")
            if version >= 2:
                peer.ask(Fetch(group_id=name, topics=None), version, note=f"all of {name}")
    for version in (8, 9):
        groups = [
            Fetch.OffsetFetchRequestGroup(group_id=name, topics=[
                Fetch.OffsetFetchRequestTopics(name=topic, partition_indexes=[0, 1])])
            for name in (group, peer.name("none"))
        ]  # fmt: skip
        peer.ask(Fetch(groups=groups), version)
        peer.ask(
            Fetch(groups=[Fetch.OffsetFetchRequestGroup(group_id=simple, topics=None)]), version
        )
        peer.ask(Fetch(groups=[]), version)
    named = Fetch.OffsetFetchRequestGroup(group_id=group, member_id=NOBODY, member_epoch=3)
    peer.ask(Fetch(groups=[named]), 9)
    for known in (topic_id, b"\7" * 16, ZERO_UUID):
        asked = Fetch.OffsetFetchRequestTopics(topic_id=known, partition_indexes=[0])
        entry = Fetch.OffsetFetchRequestGroup(group_id=simple, topics=[asked])
        peer.ask(Fetch(groups=[entry]), 10)


@scenario
def delete_offsets(peer):
    topic, other = peer.topic("t", 2), peer.topic("u")
    group, simple = ready(peer, peer.name("g")), ready(peer, peer.name("simple"))
    Delete = m.OffsetDeleteRequest

    def ask(name, of=topic, partition=0):
        part = Delete.OffsetDeleteRequestPartition(partition_index=partition)
        entry = Delete.OffsetDeleteRequestTopic(name=of, partitions=[part])
        peer.ask(Delete(group_id=name, topics=[entry]), 0, note=f"{name} {of}-{partition}")

    for name in (peer.name("none"), ""):
        ask(name)
    for of in (topic, other):
        peer.ask(committing(simple, of), 8)
    ask(simple)
    ask(simple, topic, 1)
    ask(simple, peer.name("none"))
    stable(peer, group)
    ask(group)
    Fetch = m.OffsetFetchRequest
    peer.ask(Fetch(group_id=simple, topics=None), 7)


@scenario
def describe_and_list(peer):
    group = ready(peer, peer.name("g"))
    none, simple = ready(peer, peer.name("none")), ready(peer, peer.name("simple"))
    topic = peer.topic("t")
    peer.ask(committing(simple, topic), 8)
    member, generation = alone(peer, group)

    def describe(version):
        for name in (group, simple, none, ""):
            asked = m.DescribeGroupsRequest(groups=[name])
            peer.ask(asked, version, note=f"describe {name} v{version}")

    def listed(version, **filters):
        answer = peer.link().ask(m.ListGroupsRequest(**filters), version)
        answer.groups = [one for one in answer.groups if one.group_id.startswith(peer.tag)]
        peer.said.append((f"list v{version} {filters}", peer.plain(answer)))

    describe(5)
    listed(4)
    peer.ask(syncing(group, generation, member, [(member, b"plan")]), 3)
    for version in range(7):
        describe(version)
    for version in range(6):
        listed(version)
    for states in (
        ["Stable"],
        ["stable"],
        [" Empty "],
        ["Dead"],
        ["Nonsense"],
        ["Stable", "Empty"],
    ):
        listed(4, states_filter=states)
    for types in (["classic"], ["Classic"], ["consumer"], ["nonsense"]):
        listed(5, types_filter=types)
    listed(5, types_filter=["classic"], states_filter=["Empty"])
    peer.ask(m.DescribeGroupsRequest(groups=[]), 5)


@scenario
def delete_groups(peer):
    group, simple = ready(peer, peer.name("g")), ready(peer, peer.name("simple"))
    topic = peer.topic("t")
    member, _ = stable(peer, group)
    for version in range(3):
        peer.ask(committing(simple, topic), 8)
        names = [group, simple, peer.name("none"), ""]
        peer.ask(m.DeleteGroupsRequest(groups_names=names), version)
    peer.ask(m.DescribeGroupsRequest(groups=[simple]), 5)
    peer.ask(leaving(group, (member, None)), 4)
    peer.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
    peer.ask(m.DescribeGroupsRequest(groups=[group]), 5)
    peer.ask(m.DeleteGroupsRequest(groups_names=[]), 2)
