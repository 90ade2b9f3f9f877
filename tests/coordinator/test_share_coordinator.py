"""Share groups: who is in one, and what its members get."""

import pytest
from coordinator_world import of_journal
from kafka_reading import as_kafka_reads
from share_groups_world import ShareWorld

from kcore.coordinator import Entry
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.share.member import ShareMember
from kcore.coordinator.share.states import FOREIGN, REFUSED, ShareGroupState
from kcore.timers import NEVER
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

ALL = {"foo": [0, 1, 2, 3], "bar": [0, 1]}
SESSION = 45_000


def test_a_partition_of_the_journal_that_goes_takes_its_sessions_along():
    w = ShareWorld()
    w.enter("m1")
    w.coordinator.handle_resigned(0, w.now)
    w.drain()
    assert w.coordinator.deadline() == NEVER


def test_a_member_gets_everything_with_its_first_heartbeat():
    w = ShareWorld()
    assert w.enter("m1") == (2, ALL)
    assert w.beat("m1", 2) == (2, None)
    assert w.beat("m1", 2, ["foo", "bar"]) == (2, ALL)  # who says everything is told everything


def test_partitions_are_shared_out():
    w = ShareWorld()
    w.enter("m1")
    epoch, second = w.enter("m2")
    assert epoch == 3
    again, first = w.beat("m1", 2)
    assert again == 3
    assert sum(map(len, first.values())) == sum(map(len, second.values())) == 3
    merged = {t: sorted(first.get(t, []) + second.get(t, [])) for t in ALL}
    assert merged == ALL


def test_what_members_have_stays_theirs_and_only_what_changed_is_written():
    w = ShareWorld({"foo": 6})
    w.enter("m1", ["foo"])
    w.enter("m2", ["foo"])
    w.beat("m1", 2)
    before = dict(w.share.target)
    w.enter("m3", ["foo"])
    for member in ("m1", "m2"):
        assert w.share.target[member] < before[member]
    before = dict(w.share.target)
    w.beat("m3", -1)
    assert w.beat("m1", 3)[0] == 5
    for member in ("m1", "m2"):
        assert w.share.target[member] > before[member]
    written = len(w.journal)
    assert w.beat("m1", 5, ["foo", "nothing"])[0] == 6  # which is not there: all stays as it is
    keys = [type(key) for key, _ in of_journal(w.journal[written:])]
    assert m.ShareGroupTargetAssignmentMetadataKey in keys
    assert m.ShareGroupTargetAssignmentMemberKey not in keys


def test_a_topic_that_is_not_there_is_nobodys():
    w = ShareWorld()
    assert w.enter("m1", ["nothing"]) == (2, {})
    assert w.enter("m2", ["nothing"]) == (3, {})


def test_what_a_heartbeat_leaves_out_stays_as_it_was():
    w = ShareWorld()
    w.enter("m1", ["foo"], rack_id="r")
    w.beat("m1", 2, ["bar"])
    (member,) = w.described().members
    assert (member.rack_id, member.subscribed_topic_names) == ("r", ["bar"])


def test_more_members_than_partitions_share_them():
    w = ShareWorld({"foo": 2})
    for number in range(5):
        w.enter(f"m{number}", ["foo"])
    epoch = w.share.epoch
    plans = [w.beat(f"m{number}", number + 2, ["foo"])[1] for number in range(5)]
    assert w.share.epoch == epoch
    holders = {number: sum(number in plan["foo"] for plan in plans) for number in (0, 1)}
    assert all(len(plan["foo"]) >= 1 for plan in plans)
    assert set(holders.values()) <= {2, 3}


def test_a_topic_that_comes_grows_and_goes():
    w = ShareWorld({"foo": 1})
    assert w.enter("m1", ["foo", "later"]) == (2, {"foo": [0]})
    w.sizes.resize(later=1)
    assert w.beat("m1", 2) == (3, {"foo": [0], "later": [0]})
    w.sizes.resize(foo=3)
    assert w.beat("m1", 3) == (4, {"foo": [0, 1, 2], "later": [0]})
    assert {one.name: set(one.partitions) for one in w.share.initialized.values()} == {
        "foo": {0, 1, 2}, "later": {0},
    }  # fmt: skip
    w.sizes.delete("foo")
    assert w.beat("m1", 4) == (5, {"later": [0]})
    assert w.beat("m1", 5) == (5, None)


def test_another_subscription():
    w = ShareWorld()
    w.enter("m1")
    assert w.beat("m1", 2, ["bar"]) == (3, {"bar": [0, 1]})
    assert w.beat("m1", 3, ["bar"]) == (3, {"bar": [0, 1]})


def test_members_of_different_subscriptions():
    w = ShareWorld()
    w.enter("m1", ["foo"])
    w.enter("m2", ["foo", "bar"])
    _, first = w.beat("m1", 2)
    _, second = w.beat("m2", 3, ["foo", "bar"])
    assert set(first) == {"foo"}
    assert second["bar"] == [0, 1]
    assert sorted(first["foo"] + second["foo"]) == [0, 1, 2, 3]


@pytest.mark.parametrize(("release", "begun"), [((4, 3), {}), ((4, 4), {1: 0, 2: 0})])
def test_partitions_that_come_later_are_read_from_their_beginning(release, begun):
    """Since Kafka 4.4, of topics that the group reads."""
    w = ShareWorld({"foo": 1, "bar": 1}, release=release)
    w.enter("m1", ["foo"])
    w.sizes.resize(foo=3, bar=3)
    assert w.beat("m1", 2, ["foo", "bar"]) == (3, {"foo": [0, 1, 2], "bar": [0, 1, 2]})
    topic_id = w.sizes.id_of("foo")
    assert {key: one.start for key, one in w.read.items()} == {
        ("g", topic_id, number): start for number, start in begun.items()
    }


@pytest.mark.parametrize(("release", "epoch"), [((4, 3), 3), ((4, 4), 5)])
def test_when_the_last_member_goes(release, epoch):
    """That nobody is to get anything a Kafka 4.4 knows then."""
    w = ShareWorld(release=release)
    w.enter("m1")
    w.enter("m2")
    w.beat("m1", -1)
    assert w.share.target_epoch < w.share.epoch
    w.beat("m2", -1)
    assert (w.share.epoch, w.share.target_epoch) == (5, epoch)


def test_who_leaves_makes_room():
    w = ShareWorld()
    w.enter("m1")
    w.enter("m2")
    assert w.beat("m1", -1) == (-1, None)
    assert w.beat("m2", 3) == (4, ALL)
    assert w.beat("m1", 2) == E.UNKNOWN_MEMBER_ID
    assert w.beat("m2", -1) == (-1, None)
    assert w.described().group_state == "Empty"


def test_who_is_silent_is_out():
    w = ShareWorld()
    w.enter("m1")
    w.until(SESSION - 1)
    w.enter("m2")
    assert set(w.share.members) == {"m1", "m2"}
    w.until(SESSION)
    assert set(w.share.members) == {"m2"}
    assert w.beat("m1", 2) == E.UNKNOWN_MEMBER_ID
    w.until(2 * SESSION)
    assert w.described().group_state == "Empty"


def test_heartbeats_keep_a_session():
    w = ShareWorld()
    w.enter("m1")
    for _ in range(10):
        w.until(w.now + SESSION - 1)
        assert w.beat("m1", 2) == (2, None)


def test_what_is_set_for_a_group_counts():
    w = ShareWorld()
    w.set_for["g"] = {"session_timeout_ms": 50_000, "heartbeat_interval_ms": 6_000}
    answer = w.replies[w.put_beat("m1", 0, ["foo"])]
    assert answer.heartbeat_interval_ms == 6_000
    w.until(SESSION)
    assert w.share.members
    w.until(50_000)
    assert not w.share.members


def test_kip_1263_assignments_come_no_faster_than_allowed():
    w = ShareWorld(group_share_assignment_interval_ms=1_000)
    assert w.enter("m1") == (2, {})  # from now on it is kept how far the group is
    w.after(999)
    assert w.enter("m2") == (2, {})
    assert (w.share.epoch, w.share.target_epoch) == (3, 2)
    assert w.beat("m2", 2) == (2, None)
    w.after(1)
    moved, second = w.beat("m2", 2)
    again, first = w.beat("m1", 2)
    assert (moved, again) == (3, 3)
    assert sum(map(len, first.values())) == sum(map(len, second.values())) == 3
    w.set_for["g"] = {"assignment_interval_ms": 0}
    assert w.enter("m3")[1]


@pytest.mark.parametrize("soon", [False, True])
def test_what_was_not_kept_when_the_target_was_made_is_in_the_next_one(soon):
    """Which is made by itself, though nothing else changes."""
    w = ShareWorld(group_share_assignment_interval_ms=1_000)
    w.enter("m1")
    if soon:
        w.set_for["g"] = {"assignment_interval_ms": 0}
    else:
        assert w.beat("m1", 2) == w.beat("m1", 2) == (2, None)
        assert (w.share.epoch, w.share.target_epoch) == (3, 2)
        w.after(1_000)
    assert w.beat("m1", 2) == (3, ALL)
    written = len(w.journal)
    w.after(1_000)
    assert w.beat("m1", 3) == (3, None)
    assert len(w.journal) == written


def test_nothing_is_owed_of_what_is_gone_or_nobodys():
    w = ShareWorld(group_share_assignment_interval_ms=1_000)
    w.enter("m1", ["foo", "bar"])
    w.sizes.delete("foo")
    w.after(1_000)
    assert w.beat("m1", 2) == (3, {"bar": [0, 1]})
    w.after(1_000)
    assert w.beat("m1", 3, ["nothing"]) == (4, {})
    w.after(1_000)
    assert w.beat("m1", 4) == (4, None)


def test_epochs():
    w = ShareWorld()
    w.enter("m1")
    w.enter("m2")
    assert w.beat("m1", 2)[0] == 3
    assert w.beat("m1", 2)[0] == 3  # the answer was lost
    assert w.beat("m1", 4) == E.FENCED_MEMBER_EPOCH
    w.enter("m3")
    assert w.beat("m1", 3)[0] == 4
    assert w.beat("m1", 2) == E.FENCED_MEMBER_EPOCH
    assert w.enter("m1")[0] == 4  # begins again, and is the same


def test_a_full_group():
    w = ShareWorld(group_share_max_size=1)
    w.enter("m1")
    assert w.enter("m2") == E.GROUP_MAX_SIZE_REACHED
    assert w.beat("m1", 2) == (2, None)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"member": ""}, None),
        ({"member": "x" * 37}, None),
        ({"member": " "}, "MemberId can't be empty."),
        ({"group": " "}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"topics": None}, "SubscribedTopicNames must be set in first request."),
        ({"topics": []}, "SubscribedTopicNames must be set in first request."),
        ({"epoch": -2}, "MemberEpoch is invalid."),
    ],
)
def test_requests_that_make_no_sense(more, why):
    w = ShareWorld()
    fields = {"member": "m1", "epoch": 0, "topics": ["foo"]} | more
    member, epoch, topics = (fields.pop(name) for name in ("member", "epoch", "topics"))
    answer = w.replies[w.put_beat(member, epoch, topics, **fields)]
    assert (answer.error_code, answer.error_message) == (E.INVALID_REQUEST, why)
    assert w.share is None


def test_groups_that_are_not_there():
    w = ShareWorld()
    assert w.beat("m1", 2) == w.beat("m1", -1) == E.GROUP_ID_NOT_FOUND
    assert w.described().error_code == E.GROUP_ID_NOT_FOUND
    w.enter("m1")
    assert w.beat("m2", 2) == w.beat("m2", -1) == E.UNKNOWN_MEMBER_ID


def test_described_and_listed():
    w = ShareWorld()
    w.enter("m1", ["foo"], rack_id="r")
    one = w.described()
    assert (one.group_state, one.group_epoch, one.assignment_epoch) == ("Stable", 2, 2)
    assert one.assignor_name == "simple"
    (member,) = one.members
    assert (member.member_id, member.rack_id, member.member_epoch) == ("m1", "r", 2)
    assert member.subscribed_topic_names == ["foo"]
    (part,) = member.assignment.topic_partitions
    assert (part.topic_name, part.partitions) == ("foo", [0, 1, 2, 3])
    (listed,) = w.ask(m.ListGroupsRequest(types_filter=["Share"]), 5).groups
    assert (listed.group_id, listed.group_type, listed.protocol_type, listed.group_state) == (
        "g", "share", "share", "Stable",
    )  # fmt: skip
    assert not w.ask(m.ListGroupsRequest(types_filter=["consumer"]), 5).groups


def delete(w):
    (one,) = w.ask(m.DeleteGroupsRequest(groups_names=["g"]), 2).results
    return one.error_code


def test_only_an_empty_group_is_deleted():
    w = ShareWorld()
    w.enter("m1")
    assert delete(w) == E.NON_EMPTY_GROUP
    w.beat("m1", -1)
    assert delete(w) == E.NONE
    assert w.share is None
    assert delete(w) == E.GROUP_ID_NOT_FOUND


def test_an_empty_group_does_not_age():
    w = ShareWorld()
    w.enter("m1")
    w.beat("m1", -1)
    w.until(w.config.offsets_retention_ms * 2)
    assert w.share is not None


# Other protocols ----------------------------------------------------------------------------------


def _code(answer):
    return answer.error_code


def _committed(answer):
    return answer.topics[0].partitions[0].error_code


def _commit():
    R = m.OffsetCommitRequest
    topic = R.OffsetCommitRequestTopic(
        name="foo", partitions=[R.OffsetCommitRequestPartition(committed_offset=1)]
    )
    return R(group_id="g", generation_id_or_member_epoch=-1, topics=[topic])


def _commit_in_transaction():
    R = m.TxnOffsetCommitRequest
    topic = R.TxnOffsetCommitRequestTopic(
        name="foo", partitions=[R.TxnOffsetCommitRequestPartition(committed_offset=1)]
    )
    return R(group_id="g", generation_id_or_member_epoch=-1, topics=[topic])


def _join():
    protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"\0\0")
    return m.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[protocol],
    )


OTHERS = {
    ApiKey.JOIN_GROUP: (_join(), 9, _code),
    ApiKey.SYNC_GROUP: (m.SyncGroupRequest(group_id="g", member_id="m1"), 5, _code),
    ApiKey.HEARTBEAT: (m.HeartbeatRequest(group_id="g", member_id="m1"), 4, _code),
    ApiKey.LEAVE_GROUP: (
        m.LeaveGroupRequest(group_id="g", members=[m.LeaveGroupRequest.MemberIdentity()]),
        5,
        lambda answer: answer.members[0].error_code,
    ),
    ApiKey.OFFSET_COMMIT: (_commit(), 9, _committed),
    ApiKey.TXN_OFFSET_COMMIT: (_commit_in_transaction(), 3, _committed),
    ApiKey.OFFSET_FETCH: (
        m.OffsetFetchRequest(groups=[m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g")]),
        9,
        lambda answer: answer.groups[0].error_code,
    ),
    ApiKey.OFFSET_DELETE: (m.OffsetDeleteRequest(group_id="g"), 0, _code),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (
        m.ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="m1",
            rebalance_timeout_ms=1_000,
            subscribed_topic_names=["foo"],
            topic_partitions=[],
        ),
        1,
        _code,
    ),
}


@pytest.mark.parametrize("members", [0, 1])
@pytest.mark.parametrize("api", FOREIGN, ids=lambda api: api.stem)
def test_other_protocols_are_refused(api, members):
    w = ShareWorld()
    w.enter("m1")
    if not members:
        w.beat("m1", -1)
    epoch = w.share.epoch
    message, version, code_of = OTHERS[api]
    assert code_of(w.ask(message, version)) == FOREIGN[api]
    assert w.share.epoch == epoch
    assert len(w.share.members) == members
    assert not w.coordinator.parked


def test_every_other_protocol_has_its_answer():
    assert OTHERS.keys() == FOREIGN.keys()


def test_others_are_no_share_groups():
    w = ShareWorld()
    w.ask(_commit(), 9)
    answer = w.replies[w.put_beat("m1", 0, ["foo"])]
    assert answer.error_code == E.GROUP_ID_NOT_FOUND
    assert answer.error_message == "Group g is not a share group."
    assert w.described().error_code == E.GROUP_ID_NOT_FOUND
    assert w.beat("m1", -1) == E.GROUP_ID_NOT_FOUND


# States ------------------------------------------------------------------------------------------


def test_the_tables_are_whole():
    assert set(REFUSED) == set(ShareGroupState)


@pytest.mark.parametrize("api", REFUSED[ShareGroupState.STABLE], ids=lambda api: api.stem)
def test_the_state_follows_from_the_members(api):
    group = ShareGroup("g")
    assert group.state is ShareGroupState.EMPTY
    assert group.refusal(api) == E.NONE
    group.members["m"] = ShareMember("m")
    assert group.state is ShareGroupState.STABLE
    assert group.refusal(api) == E.NON_EMPTY_GROUP


# The journal -------------------------------------------------------------------------------------


def lives():
    w = ShareWorld()
    w.enter("m1", rack_id="Ä")
    w.enter("m2", ["foo"])
    w.beat("m1", 2)
    return w


def test_a_group_goes_on_elsewhere():
    w = lives()
    before = w.share
    other = ShareWorld(loaded=w.journal)
    after = other.share
    assert after.members == before.members
    assert (after.epoch, after.target_epoch, after.target) == (
        before.epoch, before.target_epoch, before.target,
    )  # fmt: skip
    assert after.initialized == before.initialized
    assert other.beat("m1", 3) == (3, None)
    other.until(SESSION)
    assert not other.share.members


def test_a_group_under_the_name_of_one_that_only_committed():
    """Its offsets are gone, and nothing else says that there was another group."""
    committed = ShareWorld()
    committed.ask(_commit(), 9)
    (commit,) = committed.journal
    gone = Entry(commit.key, None)
    w = ShareWorld(loaded=[commit, gone, *lives().journal])
    assert w.described().group_state == "Stable"
    assert w.beat("m1", 3) == (3, None)
    assert not w.groups()


def test_nothing_holds_before_it_is_written():
    w = ShareWorld(appending=False)
    token = w.put_beat("m1", 0, ["foo"])
    assert w.parked(token)
    w.settle(E.NOT_ENOUGH_REPLICAS)
    assert w.replies[token].error_code == E.COORDINATOR_NOT_AVAILABLE
    assert w.share is None
    token = w.put_beat("m1", 0, ["foo"])
    w.settle()
    assert w.replies[token].member_epoch == 2


def test_a_group_that_was_deleted_is_not_loaded():
    w = lives()
    w.beat("m1", -1)
    w.beat("m2", -1)
    delete(w)
    assert ShareWorld(loaded=w.journal).share is None


@pytest.mark.kafka
def test_kafka_reads_what_we_write():
    w = lives()
    w.beat("m1", -1)
    w.beat("m2", -1)
    delete(w)
    read = of_journal(w.journal)
    assert len({type(key) for key, _ in read}) == 6
    assert {type(key) for key, value in read if value is None} == {
        type(key) for key, value in read if value is not None
    }
    as_kafka_reads("__consumer_offsets", w.journal)
