"""Share groups: what seldom happens, and has to go as Kafka's rules say nevertheless."""

import pytest
from consumer_groups_world import id_of
from coordinator_world import WALL, of_journal
from share_groups_world import ShareWorld
from test_share_coordinator import OTHERS
from test_share_offsets import alter, delete, initialized

from kcore.coordinator.share.assignor import assign
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E


def kinds(w, written):
    return {type(key) for key, _ in of_journal(w.journal[written:])}


def test_a_group_of_offsets_alone_outlives_a_heartbeat_that_is_not_written():
    w = ShareWorld()
    w.ask(alter(), 0)
    w.appending = False
    token = w.put_beat("m1", 0, ["foo"])
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert w.replies[token].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert initialized(w) == {"foo": [1]}
    assert w.described().error_code == E.NONE


def test_a_group_that_is_being_written_is_there_for_others():
    w = ShareWorld(appending=False)
    token, other = w.put_beat("m1", 0, ["foo"]), w.send(*OTHERS[ApiKey.JOIN_GROUP][:2])
    w.settle()
    assert w.replies[token].member_epoch == 2
    assert w.replies[other].error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert w.coordinator.group("g") is None


@pytest.mark.parametrize(("release", "begun"), [((4, 3), {}), ((4, 4), {4: 0})])
def test_what_is_read_first_is_kept_before_the_target_is_made(release, begun):
    """Whatever a target waits for: how far a group is in it can be asked, as at a Kafka."""
    w = ShareWorld({"foo": 4, "bar": 1}, release=release, group_share_assignment_interval_ms=1_000)
    w.enter("m1", ["foo"])
    w.sizes.resize(foo=5)
    assert w.enter("m2", ["bar"]) == (2, {})
    assert initialized(w) == {"foo": [0, 1, 2, 3, 4], "bar": [0]}
    assert {key[2]: one.start for key, one in w.read.items()} == begun
    written = len(w.journal)
    assert w.beat("m1", 2) == w.beat("m2", 2) == (2, None)
    assert len(w.journal) == written
    w.after(1_000)
    assert w.beat("m2", 2) == (3, {"bar": [0]})
    assert w.beat("m1", 2) == (3, {"foo": [0, 1, 2, 3, 4]})
    assert m.ShareGroupStatePartitionMetadataKey not in kinds(w, written)


def test_what_was_kept_before_anybody_came_is_given_out_at_once():
    w = ShareWorld(group_share_assignment_interval_ms=1_000)
    w.ask(alter(), 0)
    assert w.enter("m1", ["foo"]) == (2, {"foo": [1]})
    w.after(1_000)
    assert w.beat("m1", 2) == (3, {"foo": [0, 1, 2, 3]})


def test_a_target_of_a_clock_that_was_ahead_keeps_nobody_waiting():
    w = ShareWorld(group_share_assignment_interval_ms=1_000)
    w.enter("m1")
    w.coordinator.set_wall_offset(WALL - 3_600_000)
    epoch, parts = w.enter("m2")
    assert (epoch, bool(parts)) == (3, True)


def test_who_cannot_be_taken_out_stays():
    w = ShareWorld(appending=False)
    w.put_beat("m1", 0, ["foo"])
    w.settle()
    token = w.put_beat("m1", -1)
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert w.replies[token].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert w.beat("m1", 2) == (2, None)


def test_who_goes_from_no_group():
    w = ShareWorld()
    answer = w.replies[w.put_beat("m1", -1)]
    assert (answer.error_code, answer.error_message) == (E.GROUP_ID_NOT_FOUND, "Group g not found.")


def test_what_is_described_is_no_share_group():
    w = ShareWorld()
    assert w.described().error_message == "Group g not found."
    w.commit({("foo", 0): 1})
    assert w.described().error_message == "Group g is not a share group."


def test_names_of_members_are_so_long():
    w = ShareWorld()
    assert w.enter("m" * 36)[0] == 2
    assert w.enter("m" * 37) == E.INVALID_REQUEST


def test_topics_of_who_is_gone_are_no_news():
    """The others' topics are what the group goes by from then on."""
    w = ShareWorld()
    w.enter("m1", ["foo"])
    w.enter("m2", ["bar"])
    w.beat("m2", -1)
    assert w.beat("m1", 2)[0] == 4
    w.sizes.resize(other=1)
    assert w.beat("m1", 4) == (4, None)
    w.sizes.resize(bar=3)
    assert w.beat("m1", 4) == (4, None)


def test_members_take_their_turns_by_name():
    w = ShareWorld({"foo": 3})
    assert w.enter("m2", ["foo"]) == (2, {"foo": [0, 1, 2]})
    assert len(w.enter("m1", ["foo"])[1]["foo"]) == 2


def test_what_is_read_is_written_once():
    w = ShareWorld()
    w.enter("m1", ["foo"])
    written = len(w.journal)
    w.enter("m2", ["foo"])
    assert m.ShareGroupStatePartitionMetadataKey not in kinds(w, written)
    w.sizes.delete("foo")
    w.enter("m2", ["bar"])
    assert m.ShareGroupStatePartitionMetadataKey in kinds(w, written)
    assert initialized(w) == {"bar": [0, 1]}


def test_topics_are_told_with_their_ids():
    w = ShareWorld()
    R = m.DescribeShareGroupOffsetsRequest

    def described():
        topics = [
            R.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=[0, 1])
            for name in ("foo", "nothing")
        ]
        asked = R.DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=topics)
        (group,) = w.ask(R(groups=[asked]), 1).groups
        return [
            (one.topic_id, [part.start_offset for part in one.partitions]) for one in group.topics
        ]

    none = bytes(16)
    assert [one.topic_id for one in w.ask(alter(), 0).responses] == [id_of("foo")]
    assert [one.topic_id for one in w.ask(alter(topic="nothing"), 0).responses] == [none]
    assert described() == [(id_of("foo"), [-1, 5]), (none, [-1, -1])]
    answer = w.ask(delete("foo", "nothing"), 0)
    assert [one.topic_id for one in answer.responses] == [id_of("foo"), none]
    texts = [one.error_message for one in answer.responses]
    assert texts[0] is None
    assert texts[1]


def test_a_group_is_written_before_its_offsets():
    w = ShareWorld()
    w.ask(alter(), 0)
    assert m.ShareGroupMetadataKey in kinds(w, 0)
    written = len(w.journal)
    w.ask(alter(topic="bar"), 0)
    assert m.ShareGroupMetadataKey not in kinds(w, written)


# The assignor ------------------------------------------------------------------------------------

T = [bytes([number]) for number in range(6)]


def plan(wanted, before, partitions):
    found = assign(
        {member: frozenset(topics) for member, topics in wanted.items()},
        {member: frozenset(parts) for member, parts in before.items()},
        partitions,
    )
    return {member: sorted(parts) for member, parts in found.items()}


@pytest.mark.parametrize(
    ("before", "count", "after"),
    [
        # One each from now on: both cannot keep the one they shared.
        ({"a": [0], "b": [0]}, 2, {"a": [0], "b": [1]}),
        ({"a": [0], "b": []}, 4, {"a": [0, 1], "b": [2, 3]}),
        ({"a": [0, 1], "b": []}, 5, {"a": [0, 1, 2], "b": [3, 4]}),
        ({"a": [0, 1, 2, 3], "b": []}, 4, {"a": [0, 1], "b": [2, 3]}),
        ({"a": [], "b": [], "c": []}, 2, {"a": [0, 1], "b": [0], "c": [1]}),
        ({"a": [7], "b": [1]}, 2, {"a": [0], "b": [1]}),
    ],
)
def test_what_members_have_stays_theirs_as_far_as_that_goes(before, count, after):
    topic = T[0]
    found = plan(
        {member: [topic] for member in before},
        {member: [(topic, number) for number in numbers] for member, numbers in before.items()},
        {topic: range(count)},
    )
    assert found == {
        member: [(topic, number) for number in parts] for member, parts in after.items()
    }


def test_topics_are_given_out_in_the_order_of_their_ids():
    found = plan({"a": T, "b": T}, {}, {topic: [0] for topic in T})
    assert found == {"a": [(T[0], 0), (T[2], 0), (T[4], 0)], "b": [(T[1], 0), (T[3], 0), (T[5], 0)]}
