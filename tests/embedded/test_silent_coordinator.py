"""A coordinator that says nothing costs nothing of groups that have others."""

import pytest

from kcore import Admin, OffsetAndMetadata, TopicPartition
from kcore.errors import KafkaTimeoutError

GROUPS = [f"g{number}" for number in range(6)]


@pytest.fixture
def admin(kcore_cluster):
    kcore_cluster.create_topic("t", 1)
    at = {TopicPartition("t", 0): OffsetAndMetadata(0, "")}
    # Whoever is asked for coordinators may be the silent one.
    with Admin(bootstrap_servers=kcore_cluster.bootstrap, request_timeout_ms=400) as admin:
        for group in GROUPS:
            admin.alter_group_offsets(group, at, raise_errors=True)
        yield admin


def test_classic_groups_of_other_coordinators_are_described(kcore_cluster, admin):
    of = {group: admin.find_coordinator(group) for group in GROUPS}
    silent = of[GROUPS[0]]
    assert len({*of.values()}) > 1
    kcore_cluster.pause(silent)
    with pytest.raises(KafkaTimeoutError) as caught:
        admin.describe_groups(GROUPS, timeout_ms=4_000)
    assert {*caught.value.failed} == {group for group in GROUPS if of[group] == silent}
    assert {group: row["group_type"] for group, row in caught.value.done.items()} == {
        group: "classic" for group in GROUPS if of[group] != silent
    }


def test_each_is_asked_for_once(kcore_cluster, admin):
    found = admin.describe_groups([*GROUPS, GROUPS[0]])
    assert [*found] == GROUPS
    assert {row["group_type"] for row in found.values()} == {"classic"}
