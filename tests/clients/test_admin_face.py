"""Admin and AsyncAdmin over the embedded broker: every method, what it gives, what it raises."""

import asyncio
import uuid

import pytest
from admins import ADMINS
from aiokafka import admin as their_admin
from aiokafka.admin import config_resource as their_resources

import kcore
from kcore import errors
from kcore.admin import (
    ConfigResource,
    ElectionType,
    GroupState,
    GroupType,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetDuration,
    OffsetShift,
    OffsetSpec,
    OffsetTimestamp,
    RecordsToDelete,
)
from kcore.embedded import EmbeddedBroker
from kcore.structs import OffsetAndMetadata, TopicPartition

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
HOUR_MS = 3_600_000


@pytest.fixture
def broker():
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t", 3)
        yield broker


@pytest.fixture(params=list(ADMINS))
def admin(request, broker):
    made = ADMINS[request.param](bootstrap_servers=broker.bootstrap, retry_backoff_ms=10)
    yield made
    made.close()


def fill(broker, count=30, topic="t"):
    parts = broker.topics()[topic]
    for number in range(count):
        broker.produce(topic, [(None, b"x")], partition=number % parts)


def commit(broker, group="g", offset=4, partitions=(T0, T1, T2)):
    options = {"bootstrap_servers": broker.bootstrap, "enable_auto_commit": False}
    with kcore.Consumer(group_id=group, **options) as consumer:
        consumer.assign(list(partitions))
        consumer.commit({tp: OffsetAndMetadata(offset, "m", -1) for tp in partitions})


@pytest.fixture(params=["classic", "consumer"])
def member(request, broker):
    """A member of group "g" that reads "t", by either protocol."""
    options = {"group_protocol": request.param, "auto_offset_reset": "earliest"}
    consumer = kcore.Consumer(
        "t", group_id="g", client_id="reader", bootstrap_servers=broker.bootstrap, **options
    )
    while not consumer.assignment():
        consumer.poll(100)
    consumer.protocol = request.param
    yield consumer
    consumer.close(autocommit=False)


# Topics -------------------------------------------------------------------------------------------


def test_topics_are_made_listed_described_and_deleted(admin, broker):
    options = {"num_partitions": 2, "replication_factor": 3, "configs": {"retention.ms": 1000}}
    (made,) = admin.create_topics({"a": options}, wait_for_metadata=True)["topics"]
    assert made["name"] == "a"
    assert (made["num_partitions"], made["replication_factor"]) == (2, 3)
    assert made["configs"]["retention.ms"]["value"] == "1000"
    assert sorted(admin.list_topics()) == ["a", "t"]
    (told,) = admin.describe_topics(["a"])
    assert told["topic_id"] == made["topic_id"]
    assert [part["partition_index"] for part in told["partitions"]] == [0, 1]
    assert admin.describe_topics([uuid.UUID(told["topic_id"])])[0]["name"] == "a"
    (gone,) = admin.delete_topics(["a"])["topics"]
    assert (gone["name"], gone["error_code"]) == ("a", 0)
    assert broker.topics() == {"t": 3}


def test_topics_by_name_alone_by_objects_and_by_id(admin, broker):
    class TheirTopic:
        name, num_partitions, replication_factor = "theirs", 4, 1
        replica_assignments, topic_configs = {}, {"cleanup.policy": "compact"}

    admin.create_topics(["plain"])
    admin.create_topics([NewTopic("ours", 2, 1), TheirTopic()])
    admin.create_topics({"placed": {"assignments": {0: [1, 2], 1: [2, 3]}}})
    assert broker.topics() == {"t": 3, "plain": 1, "ours": 2, "theirs": 4, "placed": 2}
    (row,) = admin.describe_topics(["placed"])
    assert [part["replica_nodes"] for part in row["partitions"]] == [[1, 2], [2, 3]]
    admin.delete_topics([uuid.UUID(row["topic_id"]), "ours"])
    assert "placed" not in broker.topics()
    assert "ours" not in broker.topics()


def test_what_users_of_aiokafka_hold_is_taken(admin, broker):
    admin.create_topics([their_admin.NewTopic("theirs", 2, 1)])
    admin.create_partitions({"theirs": their_admin.NewPartitions(3)})
    assert broker.topics()["theirs"] == 3
    found = admin.delete_records({("theirs", 0): their_admin.RecordsToDelete(0)})
    assert found[TopicPartition("theirs", 0)]["low_watermark"] == 0
    kind = their_resources.ConfigResourceType.TOPIC
    admin.alter_configs([their_resources.ConfigResource(kind, "theirs", {"retention.ms": "5"})])
    told = admin.describe_configs([their_resources.ConfigResource(kind, "theirs")])
    assert told["topic"]["theirs"]["retention.ms"]["value"] == "5"


def test_parts_that_fail_say_which_were_done(admin, broker):
    with pytest.raises(errors.TopicAlreadyExistsError) as caught:
        admin.create_topics(["new", "t", "newer"])
    assert "creating topic t" in str(caught.value)
    assert "done: new, newer" in str(caught.value)
    assert list(caught.value.done) == ["new", "newer"]
    assert list(caught.value.failed) == ["t"]
    assert broker.topics().keys() == {"t", "new", "newer"}
    rows = admin.create_topics(["last", "t"], raise_errors=False)["topics"]
    assert [(row["name"], row["error_code"]) for row in rows] == [("last", 0), ("t", 36)]


def test_nothing_is_made_when_it_is_only_looked_at(admin, broker):
    admin.create_topics({"a": {"num_partitions": 2}}, validate_only=True)
    with pytest.raises(errors.InvalidReplicationFactorError, match="at most one copy a broker"):
        admin.create_topics({"a": {"replication_factor": 9}}, validate_only=True)
    admin.create_partitions({"t": 9}, validate_only=True)
    assert broker.topics() == {"t": 3}


def test_topics_that_are_not_there(admin):
    with pytest.raises(errors.UnknownTopicOrPartitionError, match="deleting topic nope"):
        admin.delete_topics(["nope"])
    (row,) = admin.describe_topics(["nope"])
    assert (row["name"], row["error_code"], row["partitions"]) == ("nope", 3, [])
    with pytest.raises(errors.KafkaTimeoutError, match="waiting for topic nope"):
        admin.wait_for_topics(["nope"], timeout_ms=100)
    for call in (
        lambda: admin.list_partition_offsets({TopicPartition("nope", 0): OffsetSpec.LATEST}),
        lambda: admin.delete_records({TopicPartition("t", 7): 1}),
        lambda: admin.create_partitions({"nope": 4}),
        lambda: admin.elect_leaders(0, ["nope"]),
    ):
        with pytest.raises(errors.UnknownTopicOrPartitionError):
            call()


def test_partitions_are_added(admin, broker):
    answer = admin.create_partitions({"t": 4})
    assert [(row.name, row.error_code) for row in answer.results] == [("t", 0)]
    admin.create_partitions({"t": NewPartitions(5, [[2]])})
    admin.create_partitions({"t": {"count": 6, "assignments": [[3]]}})
    assert broker.topics() == {"t": 6}
    with pytest.raises(errors.InvalidPartitionsError, match="only ever added"):
        admin.create_partitions({"t": 2})
    answer = admin.create_partitions({"t": 2}, raise_errors=False)
    assert answer.results[0].error_code == 37


# The cluster --------------------------------------------------------------------------------------


def test_the_cluster(admin):
    told = admin.describe_cluster()
    assert [row["broker_id"] for row in told["brokers"]] == [1, 2, 3]
    assert told["controller_id"] in (1, 2, 3)
    assert told["cluster_id"]


def test_the_cluster_as_older_brokers_tell_it(broker):
    with kcore.Admin(bootstrap_servers=broker.bootstrap, api_version=(2, 7)) as admin:
        told = admin.describe_cluster()
    assert [row["broker_id"] for row in told["brokers"]] == [1, 2, 3]
    assert set(told) == {"brokers", "cluster_id", "controller_id", "authorized_operations"}


def test_disks(admin, broker):
    fill(broker)
    found = admin.describe_log_dirs()
    assert [row["broker"] for row in found] == [1, 2, 3]
    sizes = [
        part["partition_size"]
        for row in admin.describe_log_dirs({"t": [0]})
        for folder in row["log_dirs"]
        for topic in folder["topics"]
        for part in topic["partitions"]
    ]
    assert sizes
    assert all(size > 0 for size in sizes)
    with pytest.raises(errors.BrokerNotAvailableError, match="has brokers 1, 2, 3"):
        admin.describe_log_dirs(brokers=[9])


def test_leaders_are_elected(admin, broker):
    admin.create_topics({"r": {"assignments": {0: [1, 2, 3]}}})
    assert admin.elect_leaders(0).error_code == 0
    broker.move_leader("r", 0, 2)
    answer = admin.elect_leaders(ElectionType.PREFERRED, {"r": [0]})
    (topic,) = answer.replica_election_results
    assert (topic.topic, topic.partition_result[0].error_code) == ("r", 0)
    assert admin.describe_topics(["r"])[0]["partitions"][0]["leader_id"] == 1
    again = admin.elect_leaders("preferred", ["r"])
    assert again.replica_election_results[0].partition_result[0].error_code == 84


# Groups -------------------------------------------------------------------------------------------


def test_groups_are_listed(admin, broker, member):
    commit(broker, "other")
    rows = {row["group_id"]: row for row in admin.list_groups()}
    assert rows.keys() == {"g", "other"}
    assert rows["g"]["group_type"] == member.protocol
    assert rows["g"]["group_state"] == "Stable"
    assert [row["group_id"] for row in admin.list_groups(states_filter=["empty"])] == ["other"]
    stable = admin.list_groups(states_filter=[GroupState.STABLE], types_filter=[member.protocol])
    assert [row["group_id"] for row in stable] == ["g"]
    assert admin.list_groups(types_filter=[GroupType.SHARE]) == []
    assert sum(len(admin.list_groups([node])) for node in (1, 2, 3)) == 2
    assert ("g", "consumer") in admin.list_consumer_groups()


def test_groups_of_either_protocol_are_described(admin, broker, member):
    commit(broker, "other")
    found = admin.describe_groups(["g", "other", "nope"])
    row = found["g"]
    assert (row["error"], row["group_state"], row["group_type"]) == (
        None,
        "Stable",
        member.protocol,
    )
    (one,) = row["members"]
    assert (one["client_id"], one["client_host"]) == ("reader", "/127.0.0.1")
    assert one["member_metadata"]["topics"] == ["t"]
    assert one["member_assignment"]["assigned_partitions"] == [
        {"topic": "t", "partitions": [0, 1, 2]}
    ]
    assert (found["other"]["group_state"], found["other"]["members"]) == ("Empty", [])
    assert found["nope"]["group_state"] == "Dead"
    assert "GROUP_ID_NOT_FOUND" in found["nope"]["error"]
    assert admin.describe_consumer_groups(["g"]) == [admin.describe_groups(["g"])["g"]]


def test_coordinators(admin, broker):
    commit(broker)
    node = admin.find_coordinator("g")
    assert [row["group_id"] for row in admin.list_groups([node])] == ["g"]
    assert admin.find_coordinator("t", 1) in (1, 2, 3)


def test_groups_are_deleted(admin, broker, member):
    commit(broker, "a")
    commit(broker, "b")
    assert admin.delete_groups(["a", "g", "nope"]) == {
        "a": "OK",
        "g": "NonEmptyGroupError",
        "nope": "GroupIdNotFoundError",
    }
    with pytest.raises(errors.NonEmptyGroupError, match="stop its members"):
        admin.delete_groups(["b", "g"], raise_errors=True)
    assert admin.delete_consumer_groups(["b"]) == [("b", errors.GroupIdNotFoundError)]
    assert [row["group_id"] for row in admin.list_groups()] == ["g"]


def test_members_are_removed(admin, broker):
    options = {"bootstrap_servers": broker.bootstrap, "heartbeat_interval_ms": 100}
    with (
        kcore.Consumer("t", group_id="g", **options) as dynamic,
        kcore.Consumer("t", group_id="g", group_instance_id="i", **options) as static,
    ):
        while not (dynamic.assignment() and static.assignment()):
            dynamic.poll(50)
            static.poll(50)
        member_id = dynamic.group_metadata().member_id
        gone = [
            MemberToRemove(member_id, reason="maintenance"),
            MemberToRemove(group_instance_id="i"),
            MemberToRemove("nobody"),
        ]
        assert admin.remove_group_members("g", gone) == {
            member_id: errors.NoError,
            "i": errors.NoError,
            "nobody": errors.UnknownMemberIdError,
        }
        assert admin.describe_groups(["g"])["g"]["members"] == []
        with pytest.raises(errors.UnknownMemberIdError, match="no such member"):
            admin.remove_group_members("g", gone[2:], raise_errors=True)


# Offsets ------------------------------------------------------------------------------------------


def test_committed_offsets(admin, broker):
    fill(broker)
    commit(broker, "a", partitions=[T0])
    commit(broker, "b", 6)
    found = admin.list_group_offsets({"a": None, "b": [T0], "nobody": [T1]})
    assert found == {
        "a": {T0: OffsetAndMetadata(4, "m", -1)},
        "b": {T0: OffsetAndMetadata(6, "m", -1)},
        "nobody": {T1: OffsetAndMetadata(-1, "", -1)},
    }
    assert admin.list_group_offsets("a") == {"a": found["a"]}
    assert admin.list_group_offsets(["a", "b"])["b"].keys() == {T0, T1, T2}
    assert admin.list_consumer_group_offsets("a") == found["a"]
    assert admin.list_consumer_group_offsets("b", partitions=[T0]) == found["b"]
    wanted = {T0: OffsetAndMetadata(9, "by hand", 0), T2: (2, "")}
    assert admin.alter_group_offsets("a", wanted) == dict.fromkeys(wanted, errors.NoError)
    after = admin.list_group_offsets("a")["a"]
    assert (after[T0].offset, after[T0].metadata, after[T2].offset) == (9, "by hand", 2)
    assert admin.delete_group_offsets("a", [T0]) == {T0: errors.NoError}
    assert admin.list_group_offsets("a")["a"].keys() == {T2}


def test_committed_offsets_from_brokers_that_take_one_group_at_a_time(broker):
    commit(broker, "a", partitions=[T0])
    commit(broker, "b", 6, partitions=[T0])
    with kcore.Admin(bootstrap_servers=broker.bootstrap, api_version=(2, 8)) as admin:
        found = admin.list_group_offsets(["a", "b", "c"])
    assert {group: {tp: at.offset for tp, at in has.items()} for group, has in found.items()} == {
        "a": {T0: 4},
        "b": {T0: 6},
        "c": {},
    }


def test_offsets_of_a_group_with_members_stay(admin, member):
    found = admin.alter_group_offsets("g", {T0: OffsetAndMetadata(1, "", -1)})
    assert found[T0] is errors.UnknownMemberIdError
    with pytest.raises(errors.UnknownMemberIdError, match="stop them"):
        admin.reset_group_offsets("g", {T0: 1}, raise_errors=True)
    assert admin.delete_group_offsets("g", [T0]) == {T0: errors.GroupSubscribedToTopicError}
    with pytest.raises(errors.GroupIdNotFoundError):
        admin.delete_group_offsets("nobody", [T0])


def test_offsets_are_reset(admin, broker):
    fill(broker)
    commit(broker)
    admin.delete_records({T0: 2})
    admin.delete_records({T1: RecordsToDelete(3)})

    def reset(spec, tp=T0):
        (found,) = admin.reset_group_offsets("g", {tp: spec}).values()
        assert found["error"] is errors.NoError
        assert admin.list_group_offsets("g")["g"][tp].offset == found["offset"]
        assert admin.list_group_offsets("g")["g"][tp].metadata == "m"
        return found["offset"]

    assert reset("earliest") == 2
    assert reset(OffsetSpec.LATEST) == 10
    assert reset(OffsetShift(-3)) == 7
    assert reset(OffsetShift(2)) == 9
    assert reset(OffsetShift(-100)) == 2
    assert reset(5) == 5
    assert reset(0) == 2
    assert reset(1_000) == 10
    assert reset(OffsetTimestamp(0)) == 2
    assert reset(OffsetTimestamp(1 << 50)) == 10
    assert reset(OffsetDuration("PT1H")) == 2
    broker.let_time_pass(2 * HOUR_MS)
    whole = admin.reset_group_offsets("g", OffsetSpec.EARLIEST)
    assert {tp: row["offset"] for tp, row in whole.items()} == {T0: 2, T1: 3, T2: 0}


def test_offsets_of_partitions(admin, broker):
    fill(broker)
    admin.delete_records({T0: 4})
    found = admin.list_partition_offsets({T0: OffsetSpec.EARLIEST, T1: "latest", T2: 1 << 50})
    assert [at.offset for at in found.values()] == [4, 10, -1]
    assert admin.list_offsets({T0: -1}, isolation_level="read_committed")[T0].offset == 10
    newest = admin.list_partition_offsets({T1: OffsetSpec.MAX_TIMESTAMP})[T1]
    assert newest.offset >= 0
    assert newest.timestamp > 0
    assert admin.list_partition_offsets({}) == {}


def test_records_are_deleted(admin, broker):
    fill(broker)
    found = admin.delete_records({T0: 4, T1: -1})
    assert found[T0] == {"partition_index": 0, "low_watermark": 4, "error_code": 0}
    assert found[T1]["low_watermark"] == 10
    with pytest.raises(errors.OffsetOutOfRangeError, match="high watermark") as caught:
        admin.delete_records({T0: 99, T2: 1})
    assert list(caught.value.done) == [T2]


def test_how_far_a_group_is_behind(admin, broker, member):
    fill(broker)
    taken = 0
    while taken < 30:
        taken += sum(map(len, member.poll(100).values()))
    member.commit({T0: OffsetAndMetadata(10, "", -1), T1: OffsetAndMetadata(4, "", -1)})
    found = admin.lag("g")
    assert [(found[tp].committed, found[tp].end, found[tp].lag) for tp in (T0, T1, T2)] == [
        (10, 10, 0),
        (4, 10, 6),
        (None, 10, None),
    ]
    me = member.group_metadata().member_id
    assert {row.member_id for row in found.values()} == {me}
    assert (found[T0].client_id, found[T0].client_host) == ("reader", "/127.0.0.1")
    assert admin.lag("g", [T1]) == {T1: found[T1]}
    assert admin.lag("nobody") == {}


# What is refused before anything is sent ----------------------------------------------------------

BAD = [
    ("create_topics", ("t",), TypeError),
    ("create_topics", ([],), ValueError),
    ("create_topics", ([7],), TypeError),
    ("create_topics", (["a b"],), errors.InvalidTopicError),
    ("create_topics", (["a", "a"],), ValueError),
    ("create_topics", ({"a": {"partitions": 1}},), ValueError),
    ("create_topics", ({"a": {"num_partitions": 0}},), ValueError),
    ("create_topics", ({"a": {"num_partitions": "1"}},), TypeError),
    ("create_topics", ({"a": {"replication_factor": 1 << 20}},), ValueError),
    ("create_topics", ({"a": {"configs": {"x": object()}}},), TypeError),
    ("create_topics", ({"a": {"num_partitions": 3, "assignments": {0: [1]}}},), ValueError),
    ("create_topics", (["a"], None, True, True, True), ValueError),
    ("create_topics", (["a"], -1), ValueError),
    ("delete_topics", ([None],), TypeError),
    ("describe_topics", ("t",), TypeError),
    ("create_partitions", ({"t": 0},), ValueError),
    ("create_partitions", ({"t": {"total": 4}},), ValueError),
    ("create_partitions", (["t"],), TypeError),
    ("create_partitions", ({"t": None},), TypeError),
    ("delete_records", ({T0: -2},), ValueError),
    ("delete_records", ({"t": 1},), TypeError),
    ("describe_configs", (["t"],), TypeError),
    ("describe_configs", ([ConfigResource("broker", "one")],), ValueError),
    ("describe_configs", ([ConfigResource("topic", "t")] * 2,), ValueError),
    ("describe_configs", ([ConfigResource("topic", "t")], False, "some"), ValueError),
    ("alter_configs", ([ConfigResource("topic", "t")],), TypeError),
    ("alter_configs", ([ConfigResource("topic", "t", {})],), ValueError),
    ("alter_configs", ([ConfigResource("topic", "t", {"a": None})],), ValueError),
    ("alter_configs", ([ConfigResource("topic", "t", {"a": ("add", 1)})],), ValueError),
    ("alter_configs", ([ConfigResource("topic", "t", {"a": 1})], False, True, False), ValueError),
    ("elect_leaders", (2,), ValueError),
    ("list_groups", ([-1],), ValueError),
    ("list_groups", (None, ["asleep"]), ValueError),
    ("describe_groups", ("g",), TypeError),
    ("delete_groups", ([None],), TypeError),
    ("remove_group_members", ("g", [MemberToRemove()]), ValueError),
    ("remove_group_members", ("g", ["me"]), TypeError),
    ("list_group_offsets", ({"g": ["t"]},), TypeError),
    ("alter_group_offsets", ("g", {T0: 3}), TypeError),
    ("reset_group_offsets", ("g", {T0: None}), TypeError),
    ("reset_group_offsets", ("g", {T0: -1}), ValueError),
    ("reset_group_offsets", ("g", {T0: "soon"}), ValueError),
    ("reset_group_offsets", ("g", {T0: OffsetDuration("1 day")}), ValueError),
    ("delete_group_offsets", ("g", [("t", -1)]), ValueError),
    ("list_share_group_offsets", ({"g": ["t"]},), TypeError),
    ("alter_share_group_offsets", ("g", {T0: -1}), ValueError),
    ("alter_share_group_offsets", ("g", {T0: OffsetAndMetadata(1, "", -1)}), TypeError),
    ("alter_share_group_offsets", ("g", [T0]), TypeError),
    ("delete_share_group_offsets", ("g", "t"), TypeError),
    ("delete_share_group_offsets", ("g", [T0]), TypeError),
    ("list_partition_offsets", ({T0: -9},), ValueError),
    ("list_partition_offsets", ({T0: OffsetSpec.LATEST}, "committed"), ValueError),
    ("find_coordinator", ("g", 2), ValueError),
    ("lag", (7,), TypeError),
]


@pytest.mark.parametrize(("method", "args", "kind"), BAD, ids=[str(at) for at in range(len(BAD))])
def test_wrong_arguments_are_refused_before_anything_is_asked(method, args, kind):
    nowhere = {"bootstrap_servers": "127.0.0.1:1", "api_version": (4, 0)}
    with kcore.Admin(**nowhere) as admin, pytest.raises(kind):
        getattr(admin, method)(*args)
    with pytest.raises(kind):  # it is not started
        asyncio.run(getattr(kcore.AsyncAdmin(**nowhere), method)(*args))


NOTHING = [
    ("delete_topics", ([],), {"topics": []}),
    ("delete_records", ({},), {}),
    ("alter_configs", ([],), {}),
    ("describe_configs", ([],), {}),
    ("describe_groups", ([],), {}),
    ("delete_groups", ([],), {}),
    ("remove_group_members", ("g", []), {}),
    ("list_group_offsets", ([],), {}),
    ("list_group_offsets", ({},), {}),
    ("alter_group_offsets", ("g", {}), {}),
    ("reset_group_offsets", ("g", {}), {}),
    ("delete_group_offsets", ("g", []), {}),
    ("list_share_group_offsets", ([],), {}),
    ("alter_share_group_offsets", ("g", {}), {}),
    ("delete_share_group_offsets", ("g", []), {}),
    ("list_partition_offsets", ({},), {}),
]


@pytest.mark.parametrize(
    ("method", "args", "result"), NOTHING, ids=[f"{one[0]}{one[1]}" for one in NOTHING]
)
def test_who_asks_for_nothing_is_given_nothing(method, args, result):
    """As with kafka-python; and nobody needs to be there to say so."""
    with kcore.Admin(bootstrap_servers="127.0.0.1:1", api_version=(4, 0)) as admin:
        assert getattr(admin, method)(*args) == result


def test_topics_and_partitions_may_be_none_at_all(broker):
    with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
        assert admin.describe_topics([]) == []
        assert admin.create_partitions({}).results == []


def test_a_code_stands_once_before_each_part_that_failed(broker):
    with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.create_topics(["x", "y"])
        with pytest.raises(errors.TopicAlreadyExistsError) as raised:
            admin.create_topics(["x", "y", "z"])
    said = str(raised.value)
    assert said.startswith("[36 TOPIC_ALREADY_EXISTS] creating topic x: ")
    assert said.count("[36 TOPIC_ALREADY_EXISTS]") == 2
