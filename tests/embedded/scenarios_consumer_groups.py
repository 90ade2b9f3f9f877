"""Scenarios of consumer groups (KIP-848): what members say, and what others ask and try."""

import itertools
import time

from raw_client import DEADLINE_S
from scenarios_data import scenario
from scenarios_groups import beating, committing, joining, leaving, ready, stable, syncing

from kcore.coordinator import partition_for
from kcore.wire import messages as m
from kcore.wire.codec import encode

Heartbeat = m.ConsumerGroupHeartbeatRequest

# A Kafka resolves regular expressions on the side.
PAUSE_S = 0.5
JOURNAL_PARTITIONS = 4  # of __consumer_offsets, at both


def beat(group, member, epoch, topics=None, owned=None, **more):
    """owned: {topic id: partitions}."""
    request = Heartbeat(
        group_id=group,
        member_id=member,
        member_epoch=epoch,
        subscribed_topic_names=topics,
        **more,
    )
    if owned is not None:
        request.topic_partitions = [
            Heartbeat.TopicPartitions(topic_id=topic_id, partitions=numbers)
            for topic_id, numbers in owned.items()
        ]
    return request


def enter(group, member, topics, **more):
    return beat(group, member, 0, topics, {}, **{"rebalance_timeout_ms": 30_000} | more)


def describe(peer, group, note, version=1):
    """What is drawn by hash is left out: who of the members comes first."""
    return peer.ask(m.ConsumerGroupDescribeRequest(group_ids=[group]), version, note=note)


def listed(peer, group, note, **more):
    answer = peer.link().ask(m.ListGroupsRequest(**more), 5)
    found = [one for one in answer.groups if one.group_id == group]
    peer.said.append((note, [peer.plain(one) for one in found]))


def renamed(peer, base):
    return ready(peer, peer.name(base))


def known(peer, group, *topics):
    """Wait until the group's coordinator knows of new topics, as a member of another group sees
    that it keeps: in a Kafka it hears of them behind their leaders.
    """
    where = partition_for(group, JOURNAL_PARTITIONS)
    names = (f"{group}-before-{number}" for number in itertools.count())
    other = next(name for name in names if partition_for(name, JOURNAL_PARTITIONS) == where)
    end = time.monotonic() + DEADLINE_S
    while True:
        answer = peer.link().ask(enter(other, "m", [*topics]), 1)
        assigned = answer.assignment.topic_partitions if answer.assignment else []
        if len(assigned) == len(topics):
            break
        assert time.monotonic() < end, answer
        time.sleep(0.02)
    peer.link().ask(beat(other, "m", -1), 1)


@scenario
def consumer_heartbeats_refused(peer):
    group, topic = renamed(peer, "g"), peer.topic()
    known(peer, group, topic)
    topic_id = peer.id_of(topic)
    for version in (0, 1):
        for note, more in {
            "no member id": {"member_id": ""},
            "blank": {"member_id": "  "},
            "no timeout": {"rebalance_timeout_ms": -1},
            "no topics": {"subscribed_topic_names": None},
            "owned": {"topic_partitions": [Heartbeat.TopicPartitions(topic_id=topic_id)]},
            "owned null": {"topic_partitions": None},
            "instance": {"instance_id": ""},
            "rack": {"rack_id": ""},
            "assignor": {"server_assignor": "mine"},
            "epoch": {"member_epoch": -3},
            "away": {"member_epoch": -2},
            "no group": {"group_id": ""},
        }.items():
            request = enter(peer.name(f"r{version}{note}".replace(" ", "")), "m1", [topic])
            for name, value in more.items():
                setattr(request, name, value)
            ready(peer, request.group_id or group)
            peer.ask(request, version, note=f"{note} v{version}")
    for epoch in (-1, 3):
        peer.ask(beat(group, "m1", epoch), note="no group yet")
        peer.ask(beat(group, "", epoch), 0, note="nobody")
    peer.ask(enter(group, "m1", [topic]))
    peer.ask(beat(group, "m2", 1), note="unknown")
    peer.ask(beat(group, "m2", -1), note="unknown leaves")
    peer.ask(beat(group, "m1", 7), note="from the future")
    peer.ask(beat(group, "m1", 2, instance_id="i"), note="an instance that is not there")
    peer.ask(enter(group, "m3", None, subscribed_topic_regex="("), note="no regex")


@scenario
def consumer_rebalance(peer):
    group, topic = renamed(peer, "g"), peer.topic(partitions=4)
    known(peer, group, topic)
    topic_id = peer.id_of(topic)
    peer.ask(enter(group, "m1", [topic]), note="first")
    peer.ask(beat(group, "m1", 2), note="nothing new")
    peer.ask(beat(group, "m1", 2, [topic], {topic_id: [0, 1, 2, 3]}, rebalance_timeout_ms=30_000),
             note="all said again")  # fmt: skip
    describe(peer, group, "one")
    peer.ask(enter(group, "m2", [topic]), note="second")
    describe(peer, group, "reconciling", 0)
    listed(peer, group, "listed", states_filter=["reconciling"])
    first = peer.ask(beat(group, "m1", 2), note="to give up")
    kept = {part.topic_id: part.partitions for part in first.assignment.topic_partitions}
    describe(peer, group, "giving up")
    peer.ask(beat(group, "m1", 2), note="does not say")
    peer.ask(beat(group, "m2", 3), note="waits")
    peer.ask(committing(group, topic, 5, 2, "m1", 0), 9, note="commits")
    peer.ask(beat(group, "m1", 2, owned={topic_id: [0, 1, 2, 3]}), note="has not yet")
    peer.ask(beat(group, "m1", 2, owned=kept), note="gave up")
    peer.ask(beat(group, "m1", 2, owned=kept), note="the answer was lost")
    peer.ask(beat(group, "m1", 2), note="an old epoch")
    for version in (9, 10):
        for number in range(5):
            late = committing(group, topic, 7, 2, "m1", number)
            if version == 10:
                late.topics[0].name, late.topics[0].topic_id = "", topic_id
            peer.ask(late, version, note=f"commits {number} late, v{version}")
    peer.ask(beat(group, "m2", 3), note="gets")
    describe(peer, group, "stable")
    peer.ask(beat(group, "m1", 0), 1, note="joins without saying much")
    peer.ask(enter(group, "m1", [topic]), note="joins again")
    peer.ask(beat(group, "m2", -1), note="leaves")
    describe(peer, group, "left")
    peer.ask(beat(group, "m1", 3), note="gets it back")
    peer.ask(beat(group, "m1", -1), note="leaves, too")
    describe(peer, group, "empty")
    listed(peer, group, "empty")


@scenario
def consumer_assignors_with_as_many_votes(peer):
    topic = peer.topic(partitions=4)
    for names in (("range", "uniform"), ("uniform", "range"), ("uniform", "range", "range")):
        group = renamed(peer, "-".join(names))
        known(peer, group, topic)
        for number, name in enumerate(names):
            peer.ask(enter(group, f"m{number}", [topic], server_assignor=name))
            describe(peer, group, "-".join(names[: number + 1]))


@scenario
def consumer_assignors_changed(peer):
    """Another assignor that most want is a reason for a new target; one that few want is none."""
    group, topic = renamed(peer, "g"), peer.topic(partitions=3)
    known(peer, group, topic)
    peer.ask(enter(group, "m1", [topic]), note="who names none")
    for name in ("uniform", "range", None, "range"):
        epoch = described_epoch(peer, group)
        peer.ask(beat(group, "m1", epoch, server_assignor=name), note=f"alone with {name}")
        describe(peer, group, f"alone with {name}")
    peer.ask(enter(group, "m2", [topic], server_assignor="uniform"), note="one for another")
    describe(peer, group, "as many for each")
    for number, name in ((3, "uniform"), (4, "range")):
        peer.ask(enter(group, f"m{number}", [topic], server_assignor=name), note=f"m{number}")
        describe(peer, group, f"with m{number}")
    static = {"instance_id": "i", "server_assignor": "range"}
    peer.ask(enter(group, "m5", [topic], **static), note="a static one")
    peer.ask(beat(group, "m5", -2, instance_id="i"), note="it goes away")
    peer.ask(enter(group, "m6", [topic], **static), note="and is back")
    describe(peer, group, "with it")
    for member in ("m1", "m2", "m3", "m4"):
        peer.ask(beat(group, member, -1), note=f"{member} leaves")
        describe(peer, group, f"without {member}")
    peer.ask(beat(group, "m6", -1, instance_id="i"), note="the last one leaves")
    describe(peer, group, "nobody")
    peer.ask(enter(group, "m1", [topic]), note="a first one again")


@scenario
def consumer_assignors_tied(peer):
    """Of as many votes, those of an assignor that nobody has named before count in the target of
    who names it, and not in what is told of the group. Which partitions somebody gets is a matter
    of the ids of topics; how many, one of the assignor.
    """
    topics = [peer.topic(base, partitions=3) for base in ("one", "other")]
    for before, now in (("uniform", "range"), ("range", "uniform")):
        group = renamed(peer, f"{before}-{now}")
        known(peer, group, *topics)
        for note, request in (
            (f"{before} first", enter(group, "m1", topics, server_assignor=before)),
            (f"then {now}", enter(group, "m2", topics, server_assignor=now)),
            ("as the other", beat(group, "m2", 3, server_assignor=before)),
            ("and back", beat(group, "m2", 4, server_assignor=now)),
            ("as before", beat(group, "m2", 4, server_assignor=now)),
        ):
            answer = peer.link().ask(request, 1)
            asked = m.ConsumerGroupDescribeRequest(group_ids=[group])
            (told,) = peer.link().ask(asked, 1).groups
            shares = sorted((one.member_id, share_of(one)) for one in told.members)
            epochs = [answer.error_code, answer.member_epoch, told.group_epoch]
            peer.said.append((f"{note} of {before}, {now}", [*epochs, told.assignor_name, shares]))


def share_of(member):
    """How many partitions a member is to get."""
    return sum(len(one.partitions) for one in member.target_assignment.topic_partitions)


def described_epoch(peer, group):
    asked = m.ConsumerGroupDescribeRequest(group_ids=[group])
    return peer.link().ask(asked, 1).groups[0].members[0].member_epoch


@scenario
def consumer_subscriptions(peer):
    group, one, two = renamed(peer, "g"), peer.topic("one", 2), peer.topic("two", 2)
    known(peer, group, one, two)
    peer.ask(enter(group, "m1", []), note="nothing")
    describe(peer, group, "nothing")
    peer.ask(beat(group, "m1", 0, [one], {}, rebalance_timeout_ms=30_000), note="one")
    peer.ask(beat(group, "m1", 2, [one, two]), note="both")
    peer.ask(beat(group, "m1", 3, [two]), note="two")
    describe(peer, group, "two")
    peer.ask(beat(group, "m1", 3, owned={peer.id_of(two): [0, 1]}), note="gave up")
    peer.ask(beat(group, "m1", 4, ["gone"]), note="a topic that is not there")
    peer.ask(beat(group, "m1", 4, owned={}), note="has nothing")
    describe(peer, group, "gone")


@scenario
def consumer_topic_that_comes_later(peer):
    group, name = renamed(peer, "g"), peer.name("later")
    for member in ("A", "B", "C"):
        peer.ask(enter(group, member, [name]), note=f"{member} joins")
    peer.topic("later", 2)
    time.sleep(PAUSE_S)
    for member, epoch in (("A", 2), ("B", 3), ("C", 4)):
        answer = peer.ask(beat(group, member, epoch), note=f"{member} in {epoch}")
        assert answer.member_epoch == 5
    describe(peer, group, "two of three")


@scenario
def consumer_regexes(peer):
    group, topic = renamed(peer, "g"), peer.topic("x1", 2)
    known(peer, group, topic)
    regex = peer.name("x.*")
    hello = {"owned": {}, "rebalance_timeout_ms": 30_000, "subscribed_topic_regex": regex}
    peer.ask(beat(group, "m1", 0, **hello), note="joins")
    time.sleep(PAUSE_S)
    peer.ask(beat(group, "m1", 0, **hello), note="joins again")
    describe(peer, group, "regex")
    peer.ask(beat(group, "m1", 2, [topic], subscribed_topic_regex=""), note="by name")
    peer.ask(beat(group, "m1", 2, owned={peer.id_of(topic): [0, 1]}), note="by name, again")
    describe(peer, group, "names")


@scenario
def consumer_static(peer):
    group, topic = renamed(peer, "g"), peer.topic(partitions=2)
    known(peer, group, topic)
    i = {"instance_id": "i"}
    peer.ask(enter(group, "m1", [topic], **i), note="joins")
    peer.ask(enter(group, "m2", [topic], **i), note="not released")
    peer.ask(beat(group, "m2", 2, **i), note="fenced")
    peer.ask(beat(group, "m2", -1, **i), note="fenced leaves")
    peer.ask(beat(group, "m1", 2), note="without its name")
    peer.ask(beat(group, "m1", -2, **i), note="away")
    describe(peer, group, "away")
    peer.ask(committing(group, topic, 5, 2, "m1", 0), 9, note="commits late")
    peer.ask(enter(group, "m2", [topic], **i), note="back")
    describe(peer, group, "back")
    peer.ask(beat(group, "m1", 2, **i), note="the former one")
    peer.ask(beat(group, "m2", 2, **i), note="goes on")
    peer.ask(leaving(group, ("", "j"), ("m1", "i"), ("", "i")), 5, note="an administrator")
    describe(peer, group, "empty")


@scenario
def consumer_offsets(peer):
    group, topic, other = renamed(peer, "g"), peer.topic(partitions=2), peer.topic("o")
    known(peer, group, topic, other)
    peer.ask(enter(group, "m1", [topic]), note="joins")
    for version in (8, 9):
        for epoch, member in ((2, "m1"), (3, "m1"), (1, "m1"), (2, "m2"), (-1, ""), (-1, "m1")):
            peer.ask(committing(group, topic, 5, epoch, member), version,
                     note=f"{epoch} {member} v{version}")  # fmt: skip
    by_id = committing(group, "", 6, 2, "m1")
    by_id.topics[0].topic_id = peer.id_of(topic)
    peer.ask(by_id, 10, note="by id")
    peer.ask(committing(group, other, 7, 2, "m1"), 9, note="a topic it has not")
    Ask = m.OffsetFetchRequest
    for version, epoch, member in (
        (8, -1, None), (9, -1, None), (9, 2, "m1"), (9, 1, "m1"), (9, 3, "m1"), (9, 2, "m2"),
        (9, -1, ""),
    ):  # fmt: skip
        one = Ask.OffsetFetchRequestGroup(group_id=group, member_id=member, member_epoch=epoch)
        one.topics = [Ask.OffsetFetchRequestTopics(name=topic, partition_indexes=[0, 1])]
        peer.ask(Ask(groups=[one]), version, note=f"fetch {epoch} {member} v{version}")
    Delete = m.OffsetDeleteRequest
    wanted = [
        Delete.OffsetDeleteRequestTopic(
            name=name,
            partitions=[Delete.OffsetDeleteRequestPartition(partition_index=0)],
        )
        for name in (topic, other)
    ]
    peer.ask(Delete(group_id=group, topics=wanted), 0, note="deletes offsets")
    peer.ask(m.DeleteGroupsRequest(groups_names=[group]), 2, note="not empty")
    peer.ask(beat(group, "m1", -1), note="leaves")
    peer.ask(committing(group, topic, 8, -1, ""), 9, note="an administrator commits")
    peer.ask(committing(group, topic, 8, 2, "m1"), 9, note="who left commits")
    peer.ask(m.DeleteGroupsRequest(groups_names=[group]), 2, note="empty")
    peer.ask(beat(group, "m1", 2), note="gone")
    describe(peer, group, "gone")


@scenario
def consumer_and_classic(peer):
    group, topic = renamed(peer, "g"), peer.topic(partitions=2)
    known(peer, group, topic)
    peer.ask(enter(group, "m1", [topic]), note="joins")
    peer.ask(m.DescribeGroupsRequest(groups=[group]), 5, note="classic question")
    peer.ask(m.DescribeGroupsRequest(groups=[group]), 6, note="classic question")
    peer.ask(beating(group, 2, "m1"), 4, note="classic heartbeat")
    peer.ask(syncing(group, 2, "m1"), 3, note="classic sync")
    peer.ask(joining(group, kind="other"), 3, note="another type")
    listed(peer, group, "listed", types_filter=["consumer"])
    listed(peer, group, "not listed", types_filter=["classic"])
    peer.ask(leaving(group, ("m1", None)), 5, note="classic leave")
    member, generation = stable(peer, group)
    describe(peer, group, "classic now")
    peer.ask(beating(group, generation, member), 4, note="classic heartbeat")
    peer.ask(beat(group, "m1", 2), note="no consumer group")
    peer.ask(beat(group, "m1", -1), note="no consumer group")
    peer.ask(leaving(group, (member, None)), 5, note="classic leave")
    peer.ask(enter(group, "m1", [topic]), note="a consumer group again")
    listed(peer, group, "listed", types_filter=["consumer"])


def classic(peer, group, topic, member="", owned=(), *, version=7, note="classic join", **more):
    """Join by the classic protocol, with what the member has; twice, if it needs an id first."""
    request = joining(group, member, **more)
    said = m.ConsumerProtocolSubscription(topics=[topic])
    if owned:
        Owned = m.ConsumerProtocolSubscription.TopicPartition
        said.owned_partitions = [Owned(topic=topic, partitions=list(owned))]
    for protocol in request.protocols:
        protocol.metadata = b"\0\1" + encode(said, 1)
    answer = peer.ask(request, version, note=note)
    if answer.error_code == 79:
        request.member_id = answer.member_id
        answer = peer.ask(request, version, note=f"{note} with an id")
    return answer.member_id, answer.generation_id


def plan(topic, *numbers):
    Part = m.ConsumerProtocolAssignment.TopicPartition
    message = m.ConsumerProtocolAssignment(
        assigned_partitions=[Part(topic=topic, partitions=list(numbers))]
    )
    return b"\0\1" + encode(message, 1)


@scenario
def classic_group_upgraded(peer):
    group, topic = renamed(peer, "g"), peer.topic(partitions=4)
    known(peer, group, topic)
    topic_id = peer.id_of(topic)
    old, generation = classic(peer, group, topic)
    peer.ask(syncing(group, generation, old, [(old, plan(topic, 0, 1, 2, 3))]), 3, note="sync")
    peer.ask(enter(group, "m1", [topic]), note="upgrades")
    describe(peer, group, "upgraded")
    listed(peer, group, "upgraded")
    peer.ask(m.DescribeGroupsRequest(groups=[group]), 6, note="no classic group")
    peer.ask(beating(group, generation, old), 4, note="to join again")
    peer.ask(beating(group, generation, "m1"), 4, note="a native heartbeats classically")
    peer.ask(beating(group, generation + 5, old), 4, note="another generation")
    peer.ask(syncing(group, generation, old), 3, note="sync, too soon")
    peer.ask(committing(group, topic, 5, generation, old), 7, note="commits")
    _, generation = classic(peer, group, topic, old, [0, 1, 2, 3], note="joins again")
    describe(peer, group, "giving up")
    peer.ask(syncing(group, generation, old), 3, note="what to keep")
    peer.ask(syncing(group, generation, old, protocol_type="consumer", protocol_name="other"), 5,
             note="another protocol")  # fmt: skip
    peer.ask(beating(group, generation, old), 4, note="to say what is left")
    mine = peer.link().ask(m.ConsumerGroupDescribeRequest(group_ids=[group]), 1).groups[0]
    kept = next(one for one in mine.members if one.member_id == old).target_assignment
    numbers = kept.topic_partitions[0].partitions
    _, generation = classic(peer, group, topic, old, numbers, note="gave up")
    peer.ask(syncing(group, generation, old), 3, note="sync")
    peer.ask(beating(group, generation, old), 4, note="stable")
    peer.ask(beat(group, "m1", generation), note="gets the rest")
    describe(peer, group, "stable")
    newer, generation = classic(peer, group, topic, note="one more", version=5)
    peer.ask(syncing(group, generation, newer), 3, note="nothing yet")
    peer.ask(beating(group, generation, newer), 4, note="waits")
    classic(peer, group, topic, note="no common protocol", names=("other",))
    classic(peer, group, topic, "nobody", note="an id that is not known")
    peer.ask(leaving(group, ("nobody", None)), 5, note="it leaves")
    peer.ask(leaving(group, (newer, None)), 5, note="leaves")
    peer.ask(beat(group, "m1", -1), note="downgrades")
    listed(peer, group, "downgraded")
    peer.ask(beating(group, generation, old), 4, note="of the old group")
    _, generation = classic(peer, group, topic, old, numbers, note="joins the classic group")
    peer.ask(syncing(group, generation, old, [(old, plan(topic, 0, 1))]), 3, note="sync")
    peer.ask(beating(group, generation, old), 4, note="stable")
    assert topic_id


@scenario
def classic_group_not_upgraded(peer):
    group, topic = renamed(peer, "g"), peer.topic(partitions=2)
    known(peer, group, topic)
    stable(peer, group, kind="other")
    peer.ask(enter(group, "m1", [topic]), note="of another type")
    group = renamed(peer, "h")
    member, generation = classic(peer, group, topic)
    peer.ask(syncing(group, generation, member, [(member, b"plan")]), 3, note="sync")
    peer.ask(enter(group, "m1", [topic]), note="a plan that cannot be read")
    peer.ask(beating(group, generation, member), 4, note="still classic")


@scenario
def classic_joins_refused_elsewhere(peer):
    """Who is refused where the group is no classic one is not told his own id."""
    topic = peer.topic(partitions=2)
    native, shared = renamed(peer, "g"), renamed(peer, "s")
    known(peer, native, topic)
    peer.ask(enter(native, "m1", [topic], instance_id="i1"), note="native")
    share = m.ShareGroupHeartbeatRequest(
        group_id=shared, member_id="s" * 22, subscribed_topic_names=[topic]
    )
    peer.link().ask(share, 1)
    for group in (native, shared):
        for member, instance in (
            ("x", None), ("x", "i1"), ("m1", None), ("m1", "i2"), ("x", "i2"), ("m1", "i1"),
        ):  # fmt: skip
            for more in ({"names": ("other",)}, {"names": ()}, {"kind": "other"}, {"kind": ""}):
                request = joining(group, member, instance=instance, **more)
                peer.ask(request, 9, note=f"{group} {member} {instance} {more}")
        for member, instance in (("x", None), ("x", "i1"), ("m1", "i2")):
            request = joining(group, member, instance=instance)
            peer.ask(request, 5, note=f"{group} {member} {instance}")


@scenario
def classic_member_takes_a_static_place(peer):
    group, topic = renamed(peer, "g"), peer.topic(partitions=2)
    known(peer, group, topic)
    peer.ask(enter(group, "m1", [topic], instance_id="i"), note="native")
    member, generation = classic(peer, group, topic, instance="i", note="takes its place")
    listed(peer, group, "classic")
    peer.ask(syncing(group, generation, member, group_instance_id="i"), 3, note="sync")
    peer.ask(beating(group, generation, member, group_instance_id="i"), 4, note="heartbeat")
    peer.ask(beat(group, "m1", 2, instance_id="i"), note="the former one")


def set_option(peer, group, name, value):
    cls = m.IncrementalAlterConfigsRequest
    options = [cls.AlterableConfig(name=f"consumer.{name}", value=value)]
    entry = cls.AlterConfigsResource(resource_type=32, resource_name=group, configs=options)
    answer = peer.ask(cls(resources=[entry], validate_only=False), 1, note=f"{name}={value}")
    time.sleep(0 if answer.responses[0].error_code else 0.1)  # a Kafka's brokers hear of it


def shown_options(peer, group, note):
    cls = m.DescribeConfigsRequest
    entry = cls.DescribeConfigsResource(resource_type=32, resource_name=group)
    (found,) = peer.link().ask(cls(resources=[entry], include_synonyms=True), 4).results
    shown = [peer.plain(one) for one in found.configs if one.name.startswith("consumer.")]
    peer.said.append((note, sorted(shown, key=str)))


@scenario
def consumer_group_options(peer):
    group, topic = renamed(peer, "g"), peer.topic(partitions=2)
    known(peer, group, topic)
    shown_options(peer, group, "nothing set")
    for name, value in (
        ("session.timeout.ms", "abc"),
        ("session.timeout.ms", "0"),
        ("session.timeout.ms", "999"),
        ("session.timeout.ms", "60001"),
        ("session.timeout.ms", "5000"),
        ("session.timeout.ms", "6000"),
        ("heartbeat.interval.ms", "99"),
        ("heartbeat.interval.ms", "15001"),
        ("heartbeat.interval.ms", "6000"),
        ("heartbeat.interval.ms", "100"),
        ("session.timeout.ms", "1000"),
        ("assignment.interval.ms", "-1"),
        ("assignment.interval.ms", "15001"),
        ("assignment.interval.ms", "15000"),
        ("assignor.offload.enable", "true"),
        ("nope", "1"),
    ):
        set_option(peer, group, name, value)
    shown_options(peer, group, "all set")
    peer.ask(enter(group, "m1", [topic]), note="is told how often")
    peer.ask(enter(group, "m2", [topic]), note="no target so soon")
    set_option(peer, group, "assignment.interval.ms", "0")
    peer.ask(beat(group, "m2", 2), note="a target now")


@scenario
def consumer_session_options(peer):
    group, topic = renamed(peer, "g"), peer.topic(partitions=2)
    known(peer, group, topic)
    set_option(peer, group, "heartbeat.interval.ms", "500")
    set_option(peer, group, "session.timeout.ms", "1000")
    peer.ask(enter(group, "m1", [topic]), note="joins")
    time.sleep(2)
    peer.ask(beat(group, "m1", 2), note="its session is over")
    describe(peer, group, "nobody")
    set_option(peer, group, "session.timeout.ms", "60000")
    peer.ask(enter(group, "m1", [topic]), note="again")
    time.sleep(2)
    peer.ask(beat(group, "m1", 4), note="it goes on")
