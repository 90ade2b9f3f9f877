"""Scenarios of share groups that nobody is in: what is asked and tried of their offsets."""

import time

from raw_client import DEADLINE_S
from scenarios_data import scenario
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
