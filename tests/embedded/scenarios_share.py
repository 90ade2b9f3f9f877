"""Scenarios of share groups: what is asked and tried of their offsets, and reads of nothing."""

import itertools
import time

from raw_client import DEADLINE_S
from scenarios_data import batch, produce, scenario
from scenarios_groups import committing, ready

from kcore.wire import messages as m

Alter, Delete = m.AlterShareGroupOffsetsRequest, m.DeleteShareGroupOffsetsRequest


def altering(group, *topics):
    """topics: (name, (partition, offset) ...)."""
    Part = Alter.AlterShareGroupOffsetsRequestPartition
    return Alter(
        group_id=group,
        topics=[
            Alter.AlterShareGroupOffsetsRequestTopic(
                topic_name=name,
                partitions=[
                    Part(partition_index=number, start_offset=offset) for number, offset in parts
                ],
            )
            for name, *parts in topics
        ],
    )


def deleting(group, *names):
    topics = [Delete.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in names]
    return Delete(group_id=group, topics=topics)


def kinds(peer, group):
    answer = peer.link().ask(m.ListGroupsRequest(), 5)
    return [one.group_type for one in answer.groups if one.group_id == group]


@scenario
def share_offsets_of_groups_that_are_none(peer):
    """A group is made if one of the topics is there, whatever is said of it."""
    topic, none = peer.topic("t", 2), peer.name("none")
    for number, topics in enumerate((
        [], [(none, (0, 1))], [("", (0, 1))], [(topic,)], [(topic, (7, 1))], [(topic, (0, 1))],
        [(topic, (0, 1), (7, 1)), (none, (0, 3))],
    )):  # fmt: skip
        group = ready(peer, peer.name(f"g{number}"))
        peer.ask(altering(group, *topics), 0, note=f"{topics}")
        made = any(name == topic for name, *_ in topics)
        end = time.monotonic() + DEADLINE_S
        while made and not kinds(peer, group):
            assert time.monotonic() < end
        peer.said.append(("there", kinds(peer, group)))
        peer.ask(m.ShareGroupDescribeRequest(group_ids=[group]), 1, note="described")
        for names in ([], [none], [topic, none], [topic], [topic, topic]):
            peer.ask(deleting(group, *names), 0, note=f"{topics} without {names}")
    group = ready(peer, peer.name("classic"))
    peer.ask(committing(group, topic), 7)
    peer.ask(altering(group, (topic, (0, 1))), 0, note="of another kind")
    peer.ask(deleting(group, topic), 0, note="of another kind")


def fetching(group, member, epoch, topic_id, *partitions, **more):
    R = m.ShareFetchRequest
    parts = [R.FetchPartition(partition_index=number) for number in partitions]
    topics = [R.FetchTopic(topic_id=topic_id, partitions=parts)] if parts else []
    said = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20}
    said |= {"max_records": 10, "batch_size": 10} | more
    return R(group_id=group, member_id=member, share_session_epoch=epoch, topics=topics, **said)


def set_option(peer, group, name, value):
    A = m.IncrementalAlterConfigsRequest
    entry = A.AlterableConfig(name=name, value=value)
    resource = A.AlterConfigsResource(resource_type=32, resource_name=group, configs=[entry])
    peer.ask(A(resources=[resource]), 1)


def join(peer, group, member, topic):
    """Until the member has a partition."""
    epoch, names, end = 0, [topic], time.monotonic() + DEADLINE_S
    beat = m.ShareGroupHeartbeatRequest
    while True:
        answer = peer.link().ask(
            beat(
                group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=names
            ),
            1,
        )
        epoch, names = answer.member_epoch, None
        if answer.assignment is not None and answer.assignment.topic_partitions:
            return
        assert time.monotonic() < end
        time.sleep(0.05)


@scenario
def share_fetches_that_have_room_for_nothing(peer):
    """They are answered at once, with errors if there are any."""
    topic, group, member = peer.topic("t"), ready(peer, peer.name("g")), "m" * 22
    set_option(peer, group, "share.auto.offset.reset", "earliest")
    join(peer, group, member, topic)
    peer.ask(produce(topic, batch(b"a")), 11)
    epochs = itertools.count()

    def fetch(*partitions, note, **more):
        request = fetching(group, member, next(epochs), peer.id_of(topic), *partitions, **more)
        peer.ask(request, 2, note=note)

    hour = {"max_wait_ms": 3_600_000}  # for which nobody waits here
    fetch(0, note="no bytes", max_bytes=0, **hour)
    fetch(note="no records", max_records=0, **hour)
    fetch(note="all that is there", **hour)
    fetch(note="no bytes, where no more is", max_bytes=0, **hour)
    fetch(7, note="one that is not there", max_bytes=0, **hour)
