"""Scenarios of offsets in transactions, by the names of topics and by their ids (KIP-1319): what a
group of each kind says to members, strangers, and members of another epoch.
"""

import time

from raw_client import DEADLINE_S
from scenarios_consumer_groups import enter, known
from scenarios_data import scenario
from scenarios_groups import ready, stable
from scenarios_transactions import NEW, made, wait_stable

from kcore.wire import messages as m

BY_NAME, BY_ID = 5, 6
UNKNOWN = bytes(15) + b"\x07"
C = m.TxnOffsetCommitRequest


def commit(one, group, topic, version, offset=7, partition=0, **more):
    part = C.TxnOffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata="meta"
    )
    request = C(
        transactional_id=one.name,
        group_id=group,
        producer_id=one.id,
        producer_epoch=more.pop("producer_epoch", one.epoch),
        topics=[C.TxnOffsetCommitRequestTopic(**topic, partitions=[part])],
        **more,
    )
    shown = {name: value for name, value in more.items() if name != "member_id"}
    return one.ask(request, version, f"commit v{version} {sorted(shown.items())}")


def both(peer, name):
    """By which a topic goes: version -> the fields."""
    return {BY_NAME: {"name": name}, BY_ID: {"topic_id": peer.id_of(name)}}


@scenario
def transactional_offsets_by_id(peer):
    """Of a group that nobody is in, and of topics that are not there."""
    topic, group = peer.topic("t", 2), ready(peer, peer.name("g"))
    ways, others = both(peer, topic), both(peer, peer.topic("u"))
    one = made(peer, "x", NEW)
    for version, way in ways.items():
        commit(one, group, way, version)
        commit(one, group, way, version, partition=1)
        commit(one, group, way, version, partition=2)
        commit(one, group, way, version, producer_epoch=one.epoch + 1)
        commit(one, group, way, version, generation_id_or_member_epoch=1)
        commit(one, group, way, version, generation_id_or_member_epoch=0)
        commit(one, group, way, version, member_id="m")
        commit(one, group, way, version, group_instance_id="i")
        commit(one, "", way, version)
        new = peer.name(f"new-{version}")
        commit(one, new, way, version, generation_id_or_member_epoch=1, member_id="m")
        commit(one, new, way, version, member_id="m")
        commit(one, new, way, version)
        one.end(True)
        wait_stable(peer, group, topic)
    commit(one, group, {"name": peer.name("none")}, BY_NAME)
    commit(one, group, {"topic_id": UNKNOWN}, BY_ID)
    commit(one, group, {"topic_id": bytes(16)}, BY_ID)
    commit(one, group, {"name": topic, "topic_id": bytes(16)}, BY_ID)
    for version in (BY_NAME, BY_ID):
        none = {BY_NAME: {"name": peer.name("none")}, BY_ID: {"topic_id": UNKNOWN}}[version]
        several = [
            C.TxnOffsetCommitRequestTopic(
                **way,
                partitions=[
                    C.TxnOffsetCommitRequestPartition(
                        partition_index=number, committed_metadata=text
                    )
                    for number in numbers
                ],
            )
            for way, numbers, text in (
                (none, (0,), ""),
                (ways[version], (1, 5), ""),
                (others[version], (0, 4), "x" * 9_999),
            )
        ]
        request = C(
            transactional_id=one.name, group_id=group, producer_id=one.id,
            producer_epoch=one.epoch, topics=several,
        )  # fmt: skip
        one.ask(request, version, "several")
    one.end(False)


@scenario
def transactional_offsets_of_a_classic_group(peer):
    topic, group = peer.topic("t"), ready(peer, peer.name("g"))
    member, generation = stable(peer, group)
    one = made(peer, "x", NEW)
    for version, way in both(peer, topic).items():
        for given in (
            {"member_id": member, "generation_id_or_member_epoch": generation},
            {"member_id": member, "generation_id_or_member_epoch": generation - 1},
            {"member_id": member, "generation_id_or_member_epoch": generation + 1},
            {"member_id": member},
            {"member_id": "other", "generation_id_or_member_epoch": generation},
            {"generation_id_or_member_epoch": generation},
            {"member_id": member, "group_instance_id": "i"},
            {},
        ):
            commit(one, group, way, version, **given)
    one.end(True)
    wait_stable(peer, group, topic)


@scenario
def transactional_offsets_of_a_consumer_group(peer):
    topic, group = peer.topic("t"), ready(peer, peer.name("g"))
    known(peer, group, topic)
    epoch = peer.ask(enter(group, "m", [topic]), 1).member_epoch
    one = made(peer, "x", NEW)
    for version, way in both(peer, topic).items():
        for given in (
            {"member_id": "m", "generation_id_or_member_epoch": epoch},
            {"member_id": "m", "generation_id_or_member_epoch": epoch - 1},
            {"member_id": "m", "generation_id_or_member_epoch": epoch + 1},
            {"member_id": "m"},
            {"member_id": "other", "generation_id_or_member_epoch": epoch},
            {"generation_id_or_member_epoch": epoch},
            {"member_id": "m", "group_instance_id": "i"},
            {},
        ):
            commit(one, group, way, version, **given)
    one.end(True)
    wait_stable(peer, group, topic)


@scenario
def transactional_offsets_of_a_topic_made_anew(peer):
    """The id says of which topic of that name they are."""
    topic, group = peer.topic("t"), ready(peer, peer.name("g"))
    way = both(peer, topic)[BY_ID]
    one = made(peer, "x", NEW)
    commit(one, group, way, BY_ID)
    gone = m.DeleteTopicsRequest.DeleteTopicState(name=topic)
    peer.ask(m.DeleteTopicsRequest(topics=[gone], timeout_ms=9_000), 6)
    peer.topic("t")
    end = time.monotonic() + DEADLINE_S
    while peer.id_of(topic) == way["topic_id"]:
        assert time.monotonic() < end
        time.sleep(0.02)
    one.end(True)
    wait_stable(peer, group, topic)
    fetch_by_id(peer, group, topic)


def fetch_by_id(peer, group, topic):
    F = m.OffsetFetchRequest
    asked = F.OffsetFetchRequestTopics(topic_id=peer.id_of(topic), partition_indexes=[0])
    one = F.OffsetFetchRequestGroup(group_id=group, topics=[asked])
    peer.ask(F(groups=[one], require_stable=True), 10, note="fetch by id")
