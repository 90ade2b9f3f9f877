"""Scenarios of features (KIP-584): levels that are set, and what is refused at level 0."""

import time

from raw_client import DEADLINE_S
from scenarios_consumer_groups import describe, enter, listed
from scenarios_data import scenario
from scenarios_groups import alone, ready
from scenarios_share import altering, deleting
from scenarios_transactions import served

from kcore.wire import messages as m

# Those that both have. A Kafka has others, of its log of metadata, besides.
FEATURES = {"group.version": 1, "share.version": 2, "streams.version": 1, "transaction.version": 2}
UPGRADE, SAFE, UNSAFE = 1, 2, 3
MEMBER = "AAAAAAAAAAAAAAAAAAAAAQ"


def updating(*updates, **more):
    """updates: (feature, level, kind)."""
    Update = m.UpdateFeaturesRequest
    rows = [
        Update.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
        for name, level, kind in updates
    ]
    return Update(**{"feature_updates": rows, "timeout_ms": 10_000} | more)


def finalized(peer):
    """The levels in force, and their epoch."""
    asked = m.ApiVersionsRequest(client_software_name="a", client_software_version="1")
    answer = peer.link().ask(asked, 4)
    levels = {one.name: one.max_version_level for one in answer.finalized_features}
    for one in answer.finalized_features:
        assert one.min_version_level == one.max_version_level
    supported = {one.name: (one.min_version, one.max_version) for one in answer.supported_features}
    assert {name: supported[name] for name in FEATURES} == {
        name: (0, highest) for name, highest in FEATURES.items()
    }
    return {name: levels.get(name, 0) for name in FEATURES}, answer.finalized_features_epoch


def use(peer, **levels):
    """Have these levels, by the first word of the feature's name, as soon as brokers know."""
    wanted = {f"{name}.version": level for name, level in levels.items()}
    before, epoch = finalized(peer)
    changed = any(before[name] != level for name, level in wanted.items())
    updates = [
        (name, level, SAFE if level < before[name] else UPGRADE) for name, level in wanted.items()
    ]
    answer = peer.link().ask(updating(*updates), 2)
    assert not answer.error_code, answer
    end = time.monotonic() + DEADLINE_S
    while True:
        found, now = finalized(peer)
        if wanted.items() <= found.items() and (now > epoch or not changed):
            return
        assert time.monotonic() < end
        time.sleep(0.05)


def whole(peer):
    """Everything is on again."""
    use(peer, **{name.split(".")[0]: level for name, level in FEATURES.items()})


@scenario
def update_features(peer):
    share = "share.version"
    wrong = [
        [("nope", 1, UPGRADE)], [("nope", 0, SAFE)], [("", 1, UPGRADE)], [(share, 3, UPGRADE)],
        [(share, 99, UPGRADE)], [(share, 0, UPGRADE)], [(share, -1, UPGRADE)], [(share, -1, SAFE)],
        [(share, 1, UPGRADE)], [(share, 2, 0)], [(share, 2, 4)], [(share, 2, -3)],
        [(share, 2, UPGRADE), ("nope", 1, UPGRADE)], [(share, 0, SAFE), ("nope", 1, UPGRADE)],
        [("group.version", 2, UNSAFE)], [("transaction.version", 3, UPGRADE)],
        [("transaction.version", 1, UPGRADE)],
    ]  # fmt: skip
    right = [
        [], [(share, 2, UPGRADE)], [(share, 2, SAFE)], [(share, 2, UNSAFE)],
        [(share, 2, UPGRADE), ("group.version", 1, UPGRADE)],
        [(share, 2, UPGRADE), (share, 2, SAFE)],
    ]  # fmt: skip
    only_looked_at = [
        [(share, 0, SAFE)], [(share, 1, SAFE)], [(share, 0, UNSAFE)], [("group.version", 0, SAFE)],
        [("streams.version", 0, SAFE)], [("transaction.version", 1, SAFE)],
        [("transaction.version", 0, UNSAFE), (share, 0, SAFE)], [("nope", 1, UPGRADE)],
    ]  # fmt: skip
    for version in (1, 2):
        for updates in wrong + right:
            peer.ask(updating(*updates), version, note=f"v{version} {updates}")
        for updates in only_looked_at:
            request = updating(*updates, validate_only=True)
            peer.ask(request, version, note=f"v{version} looked at: {updates}")
        peer.said.append(("levels", finalized(peer)[0]))
    Update = m.UpdateFeaturesRequest
    for level, allow in ((2, True), (2, False), (1, False), (0, True), (3, True), (-1, True)):
        row = Update.FeatureUpdateKey(feature=share, max_version_level=level, allow_downgrade=allow)
        request = Update(feature_updates=[row], timeout_ms=10_000)
        peer.ask(request, 0, note=f"v0 {level}, downgrade: {allow}")
    peer.ask(updating((share, 2, UPGRADE), timeout_ms=0), 2, note="no time")


@scenario
def levels_of_features(peer):
    """What is set is told, in an epoch that rises. Of one that is named twice the last counts."""
    share = "share.version"
    try:
        for levels in (
            {"share": 0}, {"share": 0}, {"share": 1}, {"share": 2}, {"share": 0, "transaction": 1},
            {"transaction": 0, "group": 0, "streams": 0}, {"transaction": 2},
        ):  # fmt: skip
            before = finalized(peer)[1]
            use(peer, **levels)
            levels_now, epoch = finalized(peer)
            peer.said.append((f"{levels}", [levels_now, epoch >= before]))
        whole(peer)
        twice = [(share, 2, UPGRADE), (share, 0, SAFE)]
        peer.ask(updating(*twice), 2, note="twice")
        use(peer, share=0)
        peer.ask(updating((share, 0, UPGRADE)), 2, note="as it is")
        for kind in (SAFE, UNSAFE):
            peer.ask(updating((share, 1, kind)), 2, note=f"up by {kind}")
    finally:
        whole(peer)


def share_beat(group, epoch, topic=None):
    return m.ShareGroupHeartbeatRequest(
        group_id=group,
        member_id=MEMBER,
        member_epoch=epoch,
        subscribed_topic_names=None if topic is None else [topic],
    )


def assigned(peer, group):
    (found,) = peer.link().ask(m.ShareGroupDescribeRequest(group_ids=[group]), 1).groups
    return [row for member in found.members for row in member.assignment.topic_partitions]


def look(peer, groups, note):
    """All that may be refused, and what is told of groups by others."""
    consumer, share, streams, classic = groups
    describe(peer, consumer, f"{note}: consumers")
    found = peer.link().ask(m.ShareGroupDescribeRequest(group_ids=[share]), 1).groups
    peer.said.append((f"{note}: shares", [(one.error_code, one.group_state) for one in found]))
    peer.ask(m.StreamsGroupDescribeRequest(group_ids=[streams]), 0, note=f"{note}: streams")
    Offsets = m.DescribeShareGroupOffsetsRequest
    asked = Offsets.DescribeShareGroupOffsetsRequestGroup(group_id=share, topics=[])
    peer.ask(Offsets(groups=[asked]), 1, note=f"{note}: offsets")
    peer.ask(altering(share, ("none", (0, 1))), 0, note=f"{note}: altering")
    peer.ask(deleting(share, "none"), 0, note=f"{note}: deleting")
    Fetch, Acknowledge = m.ShareFetchRequest, m.ShareAcknowledgeRequest
    peer.ask(
        Fetch(group_id=share, member_id=MEMBER, share_session_epoch=0, max_wait_ms=0,
              max_bytes=1_000, max_records=10, batch_size=10),
        2, note=f"{note}: fetching",
    )  # fmt: skip
    peer.ask(
        Acknowledge(group_id=share, member_id=MEMBER, share_session_epoch=1),
        2,
        note=f"{note}: acknowledging",
    )
    peer.ask(
        m.StreamsGroupHeartbeatRequest(group_id=streams, member_id=MEMBER, member_epoch=5),
        0,
        note=f"{note}: streams beat",
    )
    for group in (consumer, share, classic):
        listed(peer, group, f"{note}: listed")
    peer.ask(m.DescribeGroupsRequest(groups=[consumer, share]), 5, note=f"{note}: as classic ones")


@scenario
def features_at_level_0(peer):
    topic = peer.topic("t")
    consumer, share, streams, classic = groups = [
        ready(peer, peer.name(base)) for base in ("consumer", "share", "streams", "classic")
    ]
    peer.ready(enter(consumer, MEMBER, [topic]), 1)
    epoch = peer.ready(share_beat(share, 0, topic), 1).member_epoch
    alone(peer, classic)
    end = time.monotonic() + DEADLINE_S  # a Kafka assigns share-partitions on the side
    while not assigned(peer, share):
        assert time.monotonic() < end
        time.sleep(0.05)
        epoch = peer.link().ask(share_beat(share, epoch), 1).member_epoch
    look(peer, groups, "on")
    try:
        use(peer, group=0, share=0, streams=0)
        for epoch in (0, 1, -1):
            peer.ask(share_beat(share, epoch), 1, note=f"off: share beat {epoch}")
        look(peer, groups, "off")
        for version in (0, 1):
            peer.ask(enter(consumer, MEMBER, [topic]), version, note=f"off: beat v{version}")
    finally:
        whole(peer)
    look(peer, groups, "on again")


@scenario
def transactions_at_lower_levels(peer):
    """Requests say by their versions which rules they are for, whatever the level."""
    topic = peer.topic("t")
    Add, End = m.AddPartitionsToTxnRequest, m.EndTxnRequest
    try:
        for level in (2, 1, 0):
            use(peer, transaction=level)
            for version in (5, 4):
                name = peer.name(f"id-{level}-{version}")
                served(peer, name)
                begun = peer.ask(
                    m.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000),
                    4, note=f"{level}: begin",
                )  # fmt: skip
                row = Add.AddPartitionsToTxnTopic(name=topic, partitions=[0])
                who = {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}
                peer.ask(
                    Add(v3_and_below_transactional_id=name,
                        v3_and_below_producer_id=begun.producer_id,
                        v3_and_below_producer_epoch=begun.producer_epoch,
                        v3_and_below_topics=[row]),
                    3, note=f"{level}: add",
                )  # fmt: skip
                peer.ask(End(transactional_id=name, committed=True, **who), version,
                         note=f"{level}: end v{version}")  # fmt: skip
    finally:
        whole(peer)
