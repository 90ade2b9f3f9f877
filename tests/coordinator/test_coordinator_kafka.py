"""Kafka's own classes read our journal, and would write the same bytes."""

import subprocess

import pytest
from consumer_groups_world import ConsumerWorld, parts
from coordinator_world import WALL, World, of_journal
from group_actors import Chaos
from kafka_reading import as_kafka_reads

from kcore.coordinator import Entry
from kcore.coordinator.journal import offset_entry
from kcore.wire import messages as m
from kcore.wire.messages import GroupMetadataKey, OffsetCommitValue

TOPIC = "__consumer_offsets"

pytestmark = pytest.mark.kafka


def journals():
    """Entries of every kind, with names that are not all ASCII."""
    w = World()
    a, _ = w.form(2, instances=["Ä"], client="日本")
    w.commit({("t", 0): 5}, metadata="Grüße")
    w.commit({("t", 1): 6}, group="e", version=4, retention=1_000)
    w.leave((a, "Ä"))
    entries = [x for x in w.journal if isinstance(x, Entry)]
    for seed in range(20):
        chaos = Chaos(seed)
        for _ in range(150):
            chaos.step()
        entries += [x for x in chaos.world.journal if isinstance(x, Entry)]
    return entries


def test_kafka_reads_what_we_write():
    entries = journals()
    assert len(entries) > 100
    for (key, value), said in zip(of_journal(entries), as_kafka_reads(TOPIC, entries), strict=True):
        if isinstance(key, GroupMetadataKey):
            assert said["key"] == {"type": 2, "data": {"group": key.group}}
            if value is not None:
                data = said["value"]["data"]
                assert said["value"]["version"] == 3
                assert data["generation"] == value.generation
                assert data["protocolType"] == value.protocol_type
                assert (data["protocol"], data["leader"]) == (value.protocol, value.leader)
                members = [(x["memberId"], x["groupInstanceId"]) for x in data["members"]]
                assert members == [(x.member_id, x.group_instance_id) for x in value.members]
        else:
            where = {"group": key.group, "topic": key.topic, "partition": key.partition}
            assert said["key"] == {"type": 1, "data": where}
            if value is not None:
                assert said["value"]["data"]["offset"] == value.offset
                assert said["value"]["data"]["metadata"] == value.metadata
        if value is None:
            assert said["value"] is None


def test_kafka_reads_what_we_write_of_consumer_groups():
    w = ConsumerWorld()
    regex = {"subscribed_topic_regex": "f.*", "instance_id": "Ä", "rack_id": "日本"}
    w.enter("m1")
    w.enter("m2", None, server_assignor="range", **regex)
    w.beat("m1", 2)
    w.beat("m1", 2, owned=parts(foo=[0, 1, 2]))
    w.beat("m2", -2, instance_id="Ä")
    w.beat("m2", -1, instance_id="Ä")
    w.beat("m1", -1)
    w.ask(m.DeleteGroupsRequest(groups_names=["g"]), 2)
    read = of_journal(w.journal)
    assert len({type(key) for key, _ in read}) == 7
    assert {type(key) for key, value in read if value is None} >= {
        type(key) for key, value in read if value is not None
    }
    as_kafka_reads(TOPIC, w.journal)


@pytest.mark.slow
def test_a_difference_would_be_seen():
    value = OffsetCommitValue(offset=5, commit_timestamp=WALL)
    good = offset_entry("g", "t", 0, value)
    (said,) = as_kafka_reads(TOPIC, [good])
    assert said["value"]["data"]["commitTimestamp"] == WALL
    with pytest.raises((AssertionError, subprocess.CalledProcessError)):
        as_kafka_reads(TOPIC, [Entry(good.key, good.value[:-1])])
