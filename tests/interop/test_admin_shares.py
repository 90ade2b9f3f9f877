"""Share groups of a real Kafka, seen and changed by kcore's admin clients, with confluent's share
consumers in them.
"""

import time
from contextlib import closing

import pytest
from admins import ADMINS, PATIENCE_S, until
from click.testing import CliRunner
from real_kafka import missing
from sharer import Sharer

from kcore import errors
from kcore.admin import ConfigResource, OffsetShift, SharePartitionOffset
from kcore.cli.commands import kcore
from kcore.structs import OffsetAndMetadata, TopicPartition

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]


@pytest.fixture(params=list(ADMINS))
def admin(request, kafka):
    client = ADMINS[request.param](bootstrap_servers=kafka.bootstrap)
    yield client
    client.close()


@pytest.fixture
def parts(kafka, names, records):
    kafka.create_topic(names.topic, 2)
    for number in range(2):
        kafka.produce(names.topic, records(20), number)
    return [TopicPartition(names.topic, number) for number in range(2)]


def member(kafka, names, client_id="sharer"):
    return closing(Sharer(kafka.bootstrap, names.group, names.topic, client_id))


def read(consumer, count):
    seen, end = 0, time.monotonic() + PATIENCE_S
    while seen < count and time.monotonic() < end:
        seen += len(consumer.poll(0.5))
    assert seen == count
    consumer.commit_sync()


@pytest.fixture
def group(names, parts, admin):
    """An empty share group that begins half way."""
    group = names.group
    quick = {"share.auto.offset.reset": "earliest", "share.heartbeat.interval.ms": "200"}
    assert admin.alter_configs([ConfigResource("group", group, quick)]) == {"group": {group: "OK"}}
    assert admin.alter_share_group_offsets(group, dict.fromkeys(parts, 10)) == dict.fromkeys(
        parts, errors.NoError
    )
    until(lambda: started(admin, group), dict.fromkeys(parts, 10))
    return group


def started(admin, group):
    return {tp: at.start_offset for tp, at in admin.list_share_group_offsets(group)[group].items()}


def test_configurations_of_groups(admin, group):
    resource = ConfigResource("group", group)

    def found():  # brokers hear of it a little behind the controller's answer
        return admin.describe_configs([resource])["group"][group]

    until(lambda: set(found()), {"share.auto.offset.reset", "share.heartbeat.interval.ms"})
    row = found()["share.auto.offset.reset"]
    assert (row["value"], row["config_source"]) == ("earliest", "DYNAMIC_GROUP_CONFIG")
    known = admin.describe_configs([resource], config_filter="all")["group"][group]
    assert "share.record.lock.duration.ms" in known
    wrong = ConfigResource("group", group, {"share.auto.offset.reset": "sometime"})
    assert "INVALID_CONFIG" in admin.alter_configs([wrong])["group"][group]
    with pytest.raises(ValueError, match=r"no entry share\.wrong"):
        admin.alter_configs([ConfigResource("group", group, {"share.wrong": "1"})])
    assert admin.reset_configs([resource]) == {"group": {group: "OK"}}
    until(found, {})


def test_a_share_group_is_listed_and_described(kafka, admin, group, names):
    rows = {row["group_id"]: row for row in admin.list_groups(types_filter=["share"])}
    assert rows[group]["group_state"] == "Empty"
    assert (rows[group]["group_type"], rows[group]["protocol_type"]) == ("share", "share")
    row = admin.describe_groups([group])[group]
    assert (row["error"], row["group_state"], row["members"]) == (None, "Empty", [])
    with member(kafka, names) as one:
        read(one, 20)
        row = admin.describe_groups([group, "nope"], include_authorized_operations=True)[group]
        assert (row["group_state"], row["group_type"]) == ("Stable", "share")
        assert (row["protocol_data"], row["assignment_epoch"]) == ("simple", row["group_epoch"])
        assert "READ" in row["authorized_operations"]
        (told,) = row["members"]
        assert (told["client_id"], told["client_host"]) == ("sharer", "/127.0.0.1")
        assert told["member_metadata"]["topics"] == [names.topic]
        assert told["member_assignment"]["assigned_partitions"] == [
            {"topic": names.topic, "partitions": [0, 1]}
        ]
        stable = admin.list_groups(states_filter=["stable"], types_filter=["share"])
        assert group in {row["group_id"] for row in stable}


def test_start_offsets(kafka, admin, group, names, parts):
    first, second = parts
    found = admin.list_share_group_offsets({group: [first], "nobody": None})
    assert found == {group: {first: SharePartitionOffset(10, 0, 10)}, "nobody": {}}
    altered = admin.alter_share_group_offsets(group, {first: 3, TopicPartition("nope", 0): 1})
    assert altered == {
        first: errors.NoError,
        TopicPartition("nope", 0): errors.UnknownTopicOrPartitionError,
    }
    until(lambda: started(admin, group), {first: 3, second: 10})
    assert admin.list_share_group_offsets([group])[group][first].lag == 17
    found = admin.delete_share_group_offsets(group, [names.topic, "nope"])
    assert found == {names.topic: errors.NoError, "nope": errors.UnknownTopicOrPartitionError}
    assert admin.list_share_group_offsets(group) == {group: {}}
    with pytest.raises(errors.UnknownTopicOrPartitionError, match="no offset information"):
        admin.delete_share_group_offsets(group, [names.topic], raise_errors=True)
    with pytest.raises(errors.GroupIdNotFoundError):
        admin.delete_share_group_offsets("nobody", [names.topic])
    with pytest.raises(errors.UnknownTopicOrPartitionError, match="partitions 0 to 1"):
        admin.list_share_group_offsets({group: [TopicPartition(names.topic, 2)]})


def test_a_group_with_members_stays_as_it_is(kafka, admin, group, names, parts):
    with member(kafka, names) as one:
        read(one, 20)
        found = admin.alter_share_group_offsets(group, dict.fromkeys(parts, 0))
        assert found == dict.fromkeys(parts, errors.NonEmptyGroupError)
        with pytest.raises(errors.NonEmptyGroupError, match="stop them"):
            admin.delete_share_group_offsets(group, [names.topic])
        with pytest.raises(errors.NonEmptyGroupError):
            admin.reset_group_offsets(group, "earliest", raise_errors=True)
        assert admin.delete_groups([group]) == {group: "NonEmptyGroupError"}
    until(lambda: admin.describe_groups([group])[group]["group_state"], "Empty")
    assert admin.delete_groups([group]) == {group: "OK"}
    assert admin.describe_groups([group])[group]["group_state"] == "Dead"


def test_what_is_meant_for_groups_of_consumers(kafka, admin, group, names, parts):
    wanted = {parts[0]: OffsetAndMetadata(1, "", -1)}
    assert admin.alter_group_offsets(group, wanted) == {parts[0]: errors.GroupIdNotFoundError}
    assert admin.list_group_offsets(group) == {group: {}}
    plain = f"{group}-plain"
    admin.alter_group_offsets(plain, wanted, raise_errors=True)
    with pytest.raises(errors.GroupIdNotFoundError, match="only share groups"):
        admin.alter_share_group_offsets(plain, {parts[0]: 1}, raise_errors=True)


@pytest.mark.parametrize(
    ("where", "there"), [("earliest", 0), ("latest", 20), (5, 5), (99, 20), (OffsetShift(-4), 6)]
)
def test_resets(admin, group, parts, where, there):
    """Kafka itself takes any number; a reset keeps it within the partition."""
    wanted = {tp: {"error": errors.NoError, "offset": there} for tp in parts}
    assert admin.reset_group_offsets(group, where, validate_only=True) == wanted
    assert started(admin, group) == dict.fromkeys(parts, 10)
    assert admin.reset_group_offsets(group, where) == wanted
    until(lambda: started(admin, group), dict.fromkeys(parts, there))


def test_a_group_goes_on_where_it_was_put(kafka, admin, group, names, parts):
    admin.reset_group_offsets(group, {parts[0]: 4, parts[1]: "latest"}, raise_errors=True)
    with member(kafka, names) as one:
        read(one, 16)


def test_lag(kafka, admin, group, names, parts):
    found = admin.lag(group)
    assert {tp: (one.committed, one.end, one.lag) for tp, one in found.items()} == dict.fromkeys(
        parts, (10, 20, 10)
    )
    assert {one.members for one in found.values()} == {()}
    with member(kafka, names, "one") as one:
        read(one, 20)  # all of it, while no other member has a share
        with member(kafka, names, "two"):

            def known():
                members = {name for row in admin.lag(group).values() for name in row.members}
                told = admin.describe_groups([group])[group]["members"]
                return len(told), members == {row["member_id"] for row in told}

            until(known, (2, True))
            until(lambda: {row.lag for row in admin.lag(group).values()}, {0})


def run(kafka, *line):
    return CliRunner().invoke(kcore, [*line, "-b", kafka.bootstrap])


@pytest.mark.parametrize("admin", ["blocking"], indirect=True)
def test_the_command_line(kafka, admin, group, names, parts):
    done = run(kafka, "lag", group)
    assert done.exit_code == 0, done.output
    assert [row.split()[1:] for row in done.stdout.splitlines()] == [
        ["20", "behind", "in", "2", "partitions"],
        ["partition", "start", "end", "lag", "member"],
        ["0", "10", "20", "10", "-"],
        ["1", "10", "20", "10", "-"],
    ]
    done = run(kafka, "groups", group)
    assert done.stdout == f"{group}: Empty, share, simple, no members\n"
    with member(kafka, names) as one:
        read(one, 20)
        _, head, row = run(kafka, "groups", group).stdout.splitlines()
        assert head.split() == ["member", "client", "host", "instance", "partitions"]
        assert row.split()[1:] == ["sharer", "/127.0.0.1", "-", names.topic, "0-1"]
        assert "sharer at /127.0.0.1" in run(kafka, "lag", group).stdout
        refused = run(kafka, "groups", group, "--reset-to", "earliest", "--execute")
        assert refused.exit_code == 1
        assert "NonEmptyGroupError" in refused.stderr
    until(lambda: admin.describe_groups([group])[group]["group_state"], "Empty")
    admin.reset_group_offsets(group, "latest")
    until(lambda: started(admin, group), dict.fromkeys(parts, 20))
    done = run(kafka, "groups", group, "--reset-to", "-5")
    rows = [["0", "20", "15"], ["1", "20", "15"]]
    assert done.stdout.splitlines()[0] == f"{group}: nothing is reset without --execute"
    assert [row.split()[1:] for row in done.stdout.splitlines()[1:]] == [
        ["partition", "start", "reset", "to"],
        *rows,
    ]
    done = run(kafka, "groups", group, "--reset-to", "-5", "--execute")
    assert [row.split()[1:] for row in done.stdout.splitlines()[2:]] == rows
    until(lambda: started(admin, group), dict.fromkeys(parts, 15))
    listed = run(kafka, "groups", "--type", "share").stdout
    assert group in listed
    assert run(kafka, "groups", group, "--delete").exit_code == 0
    assert group not in run(kafka, "groups").stdout
