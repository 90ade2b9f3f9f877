"""The life of a consumer group, heartbeat by heartbeat (vectors K; rules C)."""

import pytest
from consumer_groups_world import RT, ConsumerWorld, decide, id_of, kept_group, parts
from coordinator_world import of_journal

from kcore.coordinator import CoordinatorConfig
from kcore.coordinator.consumer.member import ConsumerMember
from kcore.coordinator.consumer.states import ConsumerGroupState, MemberState
from kcore.coordinator.consumer.topics import metadata_hash
from kcore.errors import KafkaConfigurationError
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

BOTH = frozenset({"foo", "bar"})
EVERYTHING = {"foo": [0, 1, 2, 3, 4, 5], "bar": [0, 1, 2]}
HELLO = {"rebalance_timeout_ms": RT}


def member(member_id, epoch, assigned=None, pending=None, state="STABLE", **more):
    owned = dict.fromkeys(assigned or {}, epoch)
    return ConsumerMember(
        member_id,
        epoch,
        more.pop("previous", epoch - 1),
        MemberState[state],
        rebalance_timeout_ms=RT,
        topics=more.pop("topics", BOTH),
        assigned=owned,
        pending=dict.fromkeys(pending or {}, epoch),
        client_id="c",
        client_host="/c-host",
        **more,
    )


def world(members, targets, epoch, **options):
    """A group that was loaded as it stands here."""
    topics = ConsumerWorld().sizes
    value = metadata_hash(topics, BOTH)
    return ConsumerWorld(loaded=kept_group(members, targets, epoch, sizes_hash=value), **options)


@pytest.fixture
def two_at_ten(monkeypatch):
    """K02: two members at epoch 10, and what the assignor will say when a third one comes."""
    one, two = parts(foo=[0, 1, 2], bar=[0, 1]), parts(foo=[3, 4, 5], bar=[2])
    w = world([member("m1", 10, one), member("m2", 10, two)], {"m1": one, "m2": two}, 10)
    decide(
        monkeypatch,
        {
            "m1": parts(foo=[0, 1], bar=[0]),
            "m2": parts(foo=[2, 3], bar=[2]),
            "m3": parts(foo=[4, 5], bar=[1]),
        },
    )
    return w


def test_k01_the_first_member_gets_everything():
    w = ConsumerWorld()
    token = w.put_beat("m1", 0, ["foo", "bar"], {}, **HELLO)
    answer = w.replies[token]
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "m1", 2)
    assert answer.heartbeat_interval_ms == 5_000
    assert w.state_of("m1") == ("STABLE", 2, {*parts(**EVERYTHING)}, set())
    group = w.consumers
    assert (group.epoch, group.target_epoch, group.state) == (2, 2, ConsumerGroupState.STABLE)
    kinds = [type(key).__name__ for key, _ in of_journal(w.journal)]
    assert kinds == [
        "ConsumerGroupMemberMetadataKey",
        "ConsumerGroupMetadataKey",
        "ConsumerGroupTargetAssignmentMemberKey",
        "ConsumerGroupTargetAssignmentMetadataKey",
        "ConsumerGroupCurrentMemberAssignmentKey",
    ]


def test_k02_a_third_member_waits_for_what_others_have(two_at_ten):
    w = two_at_ten
    assert w.enter("m3") == (11, {})
    assert w.state_of("m3") == ("UNRELEASED_PARTITIONS", 11, set(), set())
    assert w.consumers.state is ConsumerGroupState.RECONCILING


def test_k03_to_k06_a_rebalance_of_three(two_at_ten):
    w = two_at_ten
    w.enter("m3")
    # K03: the first two are told what to keep, and stay in their epoch until they have done so.
    assert w.beat("m1", 10) == (10, {"foo": [0, 1], "bar": [0]})
    assert w.state_of("m1")[3] == {*parts(foo=[2], bar=[1])}
    assert w.beat("m2", 10) == (10, {"foo": [3], "bar": [2]})
    # K04
    assert w.beat("m1", 10, owned=parts(foo=[0, 1], bar=[0])) == (11, None)
    assert w.state_of("m1")[0] == "STABLE"
    # K05: the second one does not say; the third one gets what the first has let go of.
    length = len(w.journal)
    assert w.beat("m2", 10) == (10, None)
    assert len(w.journal) == length
    assert w.beat("m3", 11) == (11, {"bar": [1]})
    assert w.state_of("m3")[0] == "UNRELEASED_PARTITIONS"
    length = len(w.journal)
    assert w.beat("m3", 11) == (11, None)
    assert len(w.journal) == length
    # K06
    assert w.beat("m2", 10, owned=parts(foo=[3], bar=[2])) == (11, {"foo": [2, 3], "bar": [2]})
    assert w.beat("m3", 11) == (11, {"foo": [4, 5], "bar": [1]})
    assert w.consumers.state is ConsumerGroupState.STABLE


def test_k07_epochs_fence_but_for_a_lost_answer():
    mine = parts(foo=[1, 2, 3])
    w = world([member("m1", 100, mine)], {"m1": mine}, 100)
    for epoch, owned in ((101, None), (50, mine), (99, None), (99, parts(foo=[1, 4]))):
        assert w.beat("m1", epoch, owned=owned) == ErrorCode.FENCED_MEMBER_EPOCH
    assert w.beat("m1", 99, owned=parts(foo=[1, 2])) == (100, None)
    # A member that was fenced begins again; what it had is still its own.
    assert w.enter("m1") == (100, {"foo": [1, 2, 3]})
    assert w.beat("m2", 5) == ErrorCode.UNKNOWN_MEMBER_ID


def static(w, member_id, epoch, **more):
    return w.beat(member_id, epoch, instance_id="b", **more)


@pytest.fixture
def with_static():
    """K12: m2 is static."""
    one, two = parts(foo=[0, 1, 2], bar=[0, 1]), parts(foo=[3, 4, 5], bar=[2])
    members = [member("m1", 10, one), member("m2", 10, two, instance_id="b")]
    return world(members, {"m1": one, "m2": two}, 10)


def test_k12_a_static_member_comes_back_to_what_it_had(with_static):
    w = with_static
    assert static(w, "m2", -2) == (-2, None)
    assert w.consumers.epoch == 10
    assert w.member("m2").assigned == parts(foo=[3, 4, 5], bar=[2])  # since epoch 0
    assert w.enter("m2b", instance_id="b") == (10, {"foo": [3, 4, 5], "bar": [2]})
    assert (w.consumers.epoch, w.consumers.target_epoch) == (10, 10)
    assert set(w.consumers.members) == {"m1", "m2b"}
    assert w.consumers.state is ConsumerGroupState.STABLE
    w.after(44_999)
    assert w.beat("m2b", 10) == (10, None)


def test_k12_under_the_same_id(with_static):
    w = with_static
    static(w, "m2", -2)
    assert w.enter("m2", instance_id="b") == (10, {"foo": [3, 4, 5], "bar": [2]})


def test_k12_a_static_member_that_does_not_come_back_loses_its_place(with_static):
    w = with_static
    w.after(40_000)
    assert w.beat("m1", 10) == (10, None)
    static(w, "m2", -2)
    w.after(5_000)  # its session began with its last sign of life that was none of leaving
    assert set(w.consumers.members) == {"m1"}
    assert w.consumers.epoch == 11


def test_k13_an_instance_that_is_there_is_not_replaced(with_static):
    w = with_static
    assert w.enter("m9", instance_id="b") == ErrorCode.UNRELEASED_INSTANCE_ID
    assert static(w, "m9", 10) == ErrorCode.FENCED_INSTANCE_ID
    assert w.beat("m2", 10, instance_id="c") == ErrorCode.UNKNOWN_MEMBER_ID
    assert static(w, "m9", -1) == ErrorCode.FENCED_INSTANCE_ID
    assert w.beat("m2", -2, instance_id="c") == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("how", ["leaves", "is silent"])
def test_k14_a_member_that_goes_is_not_missed_before_the_next_heartbeat(how):
    one, two = parts(foo=[0, 1, 2], bar=[0, 1]), parts(foo=[3, 4, 5], bar=[2])
    w = world([member("m1", 10, one), member("m2", 10, two)], {"m1": one, "m2": two}, 10)
    w.after(44_999)
    assert w.beat("m1", 10) == (10, None)
    if how == "leaves":
        assert w.beat("m2", -1) == (-1, None)
        assert w.beat("m2", -1) == ErrorCode.UNKNOWN_MEMBER_ID
    else:
        assert set(w.consumers.members) == {"m1", "m2"}
        w.after(1)
    group = w.consumers
    assert set(group.members) == {"m1"}
    assert (group.epoch, group.target_epoch, group.state) == (
        11, 10, ConsumerGroupState.ASSIGNING,
    )  # fmt: skip
    assert w.beat("m1", 10) == (11, EVERYTHING)


def test_k15_what_is_not_given_up_in_time_costs_the_membership(two_at_ten):
    w = two_at_ten
    w.enter("m3")
    assert w.beat("m1", 10) == (10, {"foo": [0, 1], "bar": [0]})
    assert w.beat("m2", 10) == (10, {"foo": [3], "bar": [2]})
    w.after(RT - 1)
    assert w.beat("m2", 10, owned=parts(foo=[3], bar=[2])) == (11, None)
    epoch = w.consumers.epoch
    w.after(1)
    assert set(w.consumers.members) == {"m2", "m3"}
    assert w.consumers.epoch == epoch + 1
    w.after(10 * RT // 10)
    assert "m2" in w.consumers.members


def test_k16_groups_that_are_not_there_and_groups_that_are_full():
    w = ConsumerWorld(group_consumer_max_size=1)
    assert w.beat("m1", 6) == ErrorCode.GROUP_ID_NOT_FOUND
    assert w.beat("m1", -1) == ErrorCode.GROUP_ID_NOT_FOUND
    assert w.coordinator.consumer_group("g") is None
    assert w.enter("m1")[0] == 2
    assert w.enter("m2") == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert w.enter("m1")[0] == 2


INVALID = {
    "no group": {"group": ""},
    "a blank group": {"group": "  "},
    "no timeout": {"rebalance_timeout_ms": -1},
    "owned is null": {"owned": None},
    "owned is not empty": {"owned": parts(foo=[0])},
    "no subscription": {"topics": None},
    "a blank instance": {"instance_id": " "},
    "a blank rack": {"rack_id": ""},
    "no id": {"member_id": ""},
    "no epoch": {"epoch": -3},
    "away without an instance": {"epoch": -2},
    "goes without an id": {"epoch": -1, "member_id": "", "version": 0},
    "stays without an id": {"epoch": 3, "member_id": "", "version": 0},
}


@pytest.mark.parametrize("name", INVALID)
def test_k17_requests_that_make_no_sense(name):
    w = ConsumerWorld()
    given = {"member_id": "m1", "epoch": 0, "topics": ["foo"], "owned": {}} | HELLO | INVALID[name]
    assert w.beat(given.pop("member_id"), given.pop("epoch"), **given) == ErrorCode.INVALID_REQUEST
    assert not w.journal


def test_c2_before_version_1_the_coordinator_makes_ids():
    w = ConsumerWorld()
    answer = w.replies[w.put_beat("", 0, ["foo"], {}, version=0, **HELLO)]
    assert answer.member_epoch == 2
    assert w.beat(answer.member_id, 2) == (2, None)
    assert len(answer.member_id) == 36


def test_c2_a_member_may_want_nothing():
    w = ConsumerWorld()
    assert w.enter("m1", []) == (1, {})
    assert w.consumers.state is ConsumerGroupState.STABLE


def test_c3_an_assignor_that_is_not_known():
    w = ConsumerWorld()
    assert w.enter("m1", server_assignor="mine") == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert w.enter("m1", server_assignor="range")[0] == 2
    only = ConsumerWorld(group_consumer_assignors=("range",))
    assert only.enter("m1", server_assignor="uniform") == ErrorCode.UNSUPPORTED_ASSIGNOR


def test_c11_another_subscription_is_another_epoch():
    w = ConsumerWorld()
    w.enter("m1")
    length = len(w.journal)
    assert w.beat("m1", 2, ["bar", "foo"]) == (2, None)
    assert len(w.journal) == length
    # What is not wanted any more goes at once, in the epoch it was in.
    assert w.beat("m1", 2, ["foo"]) == (2, {"foo": [0, 1, 2, 3, 4, 5]})
    assert w.consumers.epoch == w.consumers.target_epoch == 3
    assert w.beat("m1", 2, owned=parts(foo=range(6))) == (3, None)
    # Anything else about it is only kept.
    assert w.beat("m1", 3, rack_id="r") == (3, None)
    assert (w.member("m1").rack_id, w.consumers.epoch) == ("r", 3)


def test_c12_a_topic_that_grows_comes_or_goes_is_another_epoch():
    w = ConsumerWorld(sizes={"foo": 1})
    assert w.enter("m1") == (2, {"foo": [0]})
    w.sizes.resize(other=4)
    assert w.beat("m1", 2) == (2, None)
    w.sizes.resize(foo=2)
    assert w.beat("m1", 2) == (3, {"foo": [0, 1]})
    w.sizes.resize(bar=1)
    assert w.beat("m1", 3) == (4, {"foo": [0, 1], "bar": [0]})
    w.sizes.delete("foo")
    assert w.beat("m1", 4) == (4, {"bar": [0]})
    assert w.beat("m1", 4, owned=parts(bar=[0])) == (5, None)


def test_c13_who_wants_what_assignor_and_who_has_most():
    w = ConsumerWorld(sizes={"foo": 4, "bar": 4})
    w.enter("m1", server_assignor="range")
    w.enter("m2", server_assignor="uniform")
    w.enter("m3", server_assignor="range")
    assert w.consumers.target["m1"] == {*parts(foo=[0, 1], bar=[0, 1])}
    (told,) = w.ask(m.ConsumerGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert told.assignor_name == "range"


def test_kip_1263_assignments_come_no_faster_than_allowed():
    w = ConsumerWorld(group_consumer_assignment_interval_ms=1_000)
    assert w.enter("m1")[0] == 2
    w.after(999)
    assert w.enter("m2") == (2, {})
    assert (w.consumers.epoch, w.consumers.target_epoch) == (3, 2)
    assert w.beat("m2", 2) == (2, None)
    w.after(1)
    assert w.beat("m2", 2) == (3, None)
    assert w.consumers.target_epoch == 3


def test_c4_a_classic_group_without_members_gives_way():
    w = ConsumerWorld()
    w.commit({("foo", 0): 5})
    assert w.coordinator.group("g") is not None
    assert w.enter("m1")[0] == 2
    assert w.coordinator.group("g") is None
    assert w.fetch(("foo", 0)) == {("foo", 0): (5, 0)}


def test_c4_a_classic_group_that_was_used_gives_way():
    w = ConsumerWorld(group_initial_rebalance_delay_ms=0)
    (one,) = w.form(1)
    assert w.beat("m1", 6) == ErrorCode.GROUP_ID_NOT_FOUND
    w.leave((one, None))
    assert w.enter("m1")[0] == 2
    assert w.heartbeat(one, 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_m6_a_consumer_group_without_members_gives_way():
    w = ConsumerWorld(group_initial_rebalance_delay_ms=0)
    w.enter("m1")
    w.commit({("foo", 0): 5}, "m1", 2)
    assert w.beat("m1", -1) == (-1, None)
    w.form(1)
    assert w.coordinator.consumer_group("g") is None
    assert w.fetch(("foo", 0)) == {("foo", 0): (5, 0)}


def test_c22_a_group_is_deleted_when_it_is_empty():
    w = ConsumerWorld()
    w.enter("m1")
    w.commit({("foo", 0): 5}, "m1", 2)

    def delete():
        (result,) = w.ask(m.DeleteGroupsRequest(groups_names=["g"]), 2).results
        return result.error_code

    assert delete() == ErrorCode.NON_EMPTY_GROUP
    w.beat("m1", -1)
    length = len(w.journal)
    assert delete() == 0
    assert w.coordinator.consumer_group("g") is None
    assert [(type(key).__name__, value) for key, value in of_journal(w.journal[length:])] == [
        ("OffsetCommitKey", None),
        ("ConsumerGroupTargetAssignmentMetadataKey", None),
        ("ConsumerGroupPartitionMetadataKey", None),
        ("ConsumerGroupMetadataKey", None),
    ]
    assert delete() == ErrorCode.GROUP_ID_NOT_FOUND


def test_o18_what_is_not_subscribed_expires_by_its_age():
    w = ConsumerWorld(offsets_retention_minutes=1, offsets_retention_check_interval_ms=10_000)
    w.enter("m1", ["foo"])
    w.commit({("foo", 0): 5, ("bar", 0): 6}, "m1", 2)
    for _ in range(7):
        w.after(10_000)
        assert w.beat("m1", 2) == (2, None)
    assert w.fetch(("foo", 0), ("bar", 0)) == {("foo", 0): (5, 0), ("bar", 0): (-1, 0)}
    w.beat("m1", -1)
    w.after(60_000)
    assert w.coordinator.consumer_group("g") is None


def test_what_is_loaded_is_what_was_there(two_at_ten):
    w = two_at_ten
    w.enter("m3", instance_id="three", rack_id="r")
    w.beat("m1", 10)
    again = ConsumerWorld(loaded=w.journal)
    for name in ("epoch", "target_epoch", "target", "members", "static_members", "holders"):
        assert getattr(again.consumers, name) == getattr(w.consumers, name), name
    # Sessions and what is to be given up begin anew.
    again.after(RT)
    assert set(again.consumers.members) == {"m2", "m3"}
    again.after(45_000 - RT)
    assert not again.consumers.members


def test_heartbeats_wait_for_what_was_said_before_them():
    w = ConsumerWorld(appending=False)
    first = w.put_beat("m1", 0, ["foo"], {}, **HELLO)
    second = w.put_beat("m2", 0, ["foo"], {}, **HELLO)
    third = w.put_beat("m1", 2)
    assert w.parked(first, second, third)
    while w.waiting:
        w.settle(count=1)
    assert [w.replies[token].member_epoch for token in (first, second, third)] == [2, 3, 2]
    assert w.state_of("m1")[0] == "UNREVOKED_PARTITIONS"


def test_what_could_not_be_written_never_was():
    w = ConsumerWorld(appending=False)
    token = w.put_beat("m1", 0, ["foo"], {}, **HELLO)
    w.settle(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert w.error(token) == ErrorCode.NOT_COORDINATOR
    assert w.coordinator.consumer_group("g") is None
    w.put_beat("m1", 0, ["foo"], {}, **HELLO)
    w.settle()
    assert w.consumers.epoch == 2
    w.after(45_000)
    w.settle(ErrorCode.NOT_ENOUGH_REPLICAS)  # the member is still there, and its session runs again
    assert set(w.consumers.members) == {"m1"}
    w.after(45_000)
    w.settle()
    assert not w.consumers.members


@pytest.mark.parametrize(
    "options",
    [
        {"group_consumer_heartbeat_interval_ms": 0},
        {"group_consumer_session_timeout_ms": 5_000},
        {"group_consumer_max_size": 0},
        {"group_consumer_assignors": ()},
        {"group_consumer_assignors": ("range", "range")},
        {"group_consumer_assignors": ("mine",)},
        {"group_consumer_assignment_interval_ms": -1},
        {"group_consumer_regex_refresh_interval_ms": 9_999},
        {"group_consumer_migration_policy": "never"},
    ],
    ids=str,
)
def test_options_that_cannot_work(options):
    with pytest.raises(KafkaConfigurationError):
        CoordinatorConfig(**options)


# Offsets ------------------------------------------------------------------------------------------


def test_c20_who_may_commit():
    w = ConsumerWorld()
    w.enter("m1")
    at = {("foo", 0): 5}
    assert w.committed(at, "m1", 2) == 0
    assert w.committed(at, "m1", 3) == ErrorCode.STALE_MEMBER_EPOCH
    assert w.committed(at, "m1", 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert w.committed(at, "m1", 2, version=8) == ErrorCode.UNSUPPORTED_VERSION
    assert w.committed(at, "m2", 2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert w.committed(at) == ErrorCode.UNKNOWN_MEMBER_ID
    w.beat("m1", -1)
    assert w.committed(at) == 0
    assert w.committed(at, "m1", 2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_kip_1251_an_earlier_epoch_may_commit_what_was_its_own_then(two_at_ten):
    w = two_at_ten
    w.enter("m3")
    w.beat("m1", 10)
    assert w.beat("m1", 10, owned=parts(foo=[0, 1], bar=[0]))[0] == 11
    assert w.committed({("foo", 0): 5, ("bar", 0): 5}, "m1", 10) == 0
    # One that has gone takes the others with it.
    assert w.committed({("foo", 0): 5, ("foo", 2): 5}, "m1", 10) == ErrorCode.STALE_MEMBER_EPOCH
    w.beat("m3", 11)
    assert w.committed({("bar", 1): 5}, "m3", 10) == ErrorCode.STALE_MEMBER_EPOCH
    # What is to be given up is still the member's.
    w.beat("m2", 10)
    assert w.committed({("foo", 4): 5}, "m2", 10) == 0


def test_c20_in_transactions():
    w = ConsumerWorld()
    w.enter("m1")

    def commit(**more):
        answer = w.replies[w.txn_commit({("foo", 0): 5}, 7, **more)]
        return answer.topics[0].partitions[0].error_code

    assert commit() == 0  # nobody says who it is
    assert commit(member_id="m1", generation=2) == 0
    assert commit(member_id="m1", generation=1) == ErrorCode.ILLEGAL_GENERATION
    assert commit(member_id="m2", generation=2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_c21_who_may_ask():
    w = ConsumerWorld()
    w.enter("m1")
    Ask = m.OffsetFetchRequest

    def ask(member_id, epoch):
        one = Ask.OffsetFetchRequestGroup(
            group_id="g", member_id=member_id, member_epoch=epoch, topics=None
        )
        return w.ask(Ask(groups=[one]), 9).groups[0].error_code

    assert (ask(None, -1), ask("m1", 2)) == (0, 0)
    assert ask("m1", 1) == ErrorCode.STALE_MEMBER_EPOCH
    assert ask("m2", 2) == ErrorCode.UNKNOWN_MEMBER_ID


# Regular expressions ------------------------------------------------------------------------------


def test_a_regular_expression_is_resolved_behind_the_first_answer():
    w = ConsumerWorld(sizes={"foo": 2, "fox": 1, "bar": 1})
    assert w.enter("m1", None, subscribed_topic_regex="fo.") == (1, {})
    assert w.consumers.subscribed() == {"foo", "fox"}
    hello = {"owned": {}, "subscribed_topic_regex": "fo."} | HELLO
    assert w.beat("m1", 0, **hello) == (2, {"foo": [0, 1], "fox": [0]})
    # A topic that comes is seen, but not at once: names are gone through every 10 s at most.
    w.sizes.resize(foe=1)
    w.after(10_000)
    assert w.beat("m1", 2) == (2, None)
    w.after(1)
    assert w.beat("m1", 2) == (2, None)
    assert w.beat("m1", 2) == (3, {"foe": [0], "foo": [0, 1], "fox": [0]})
    assert w.beat("m1", 3, subscribed_topic_regex="") == (3, {})
    assert w.consumers.regexes == {}


def test_regular_expressions_that_are_none():
    w = ConsumerWorld()
    code = ErrorCode.INVALID_REGULAR_EXPRESSION
    assert w.enter("m1", None, subscribed_topic_regex="(") == code
    assert w.coordinator.consumer_group("g") is None


def test_the_last_member_takes_its_regular_expression_along():
    w = ConsumerWorld()
    w.enter("m1", None, subscribed_topic_regex="f.*")
    w.enter("m2", None, subscribed_topic_regex="f.*")
    assert set(w.consumers.regexes) == {"f.*"}
    w.beat("m1", -1)
    assert set(w.consumers.regexes) == {"f.*"}
    w.beat("m2", -1)
    assert w.consumers.regexes == {}


# What others see ----------------------------------------------------------------------------------


def test_groups_are_listed_by_type_and_state():
    w = ConsumerWorld()
    w.enter("m1")
    w.join(group="classic")

    def names(types=(), states=()):
        request = m.ListGroupsRequest(types_filter=list(types), states_filter=list(states))
        return {one.group_id: one for one in w.ask(request, 5).groups}

    assert set(names()) == {"g", "classic"}
    assert set(names(["Consumer"])) == {"g"}
    assert set(names(["classic"])) == {"classic"}
    assert set(names([], ["stable"])) == {"g"}
    shown = names()["g"]
    assert (shown.protocol_type, shown.group_type, shown.group_state) == (
        "consumer", "consumer", "Stable",
    )  # fmt: skip


def test_a_group_is_described(two_at_ten):
    w = two_at_ten
    w.enter("m3", instance_id="three", rack_id="r")
    w.beat("m1", 10)
    (told,) = w.ask(m.ConsumerGroupDescribeRequest(group_ids=["g"]), 1).groups
    assert (told.group_state, told.group_epoch, told.assignment_epoch) == ("Reconciling", 11, 11)
    assert told.assignor_name == "uniform"
    one, _, three = told.members
    assert (one.member_id, one.member_epoch, one.member_type) == ("m1", 10, 1)
    assert [(p.topic_name, p.partitions) for p in one.assignment.topic_partitions] == [
        ("bar", [0, 1]), ("foo", [0, 1, 2]),
    ]  # fmt: skip
    assert [(p.topic_id, p.partitions) for p in one.target_assignment.topic_partitions] == [
        (id_of("bar"), [0]), (id_of("foo"), [0, 1]),
    ]  # fmt: skip
    assert (three.instance_id, three.rack_id, three.assignment.topic_partitions) == (
        "three",
        "r",
        [],
    )
    # The classic question finds no classic group.
    assert w.describe().group_state == "Dead"
    (missing, empty) = w.ask(m.ConsumerGroupDescribeRequest(group_ids=["x", ""]), 0).groups
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert empty.error_code == ErrorCode.INVALID_GROUP_ID
