"""Groups that share with the sticky assignors, on a real Kafka, with members of other makes."""

import pytest
from leftovers import KAFKA_PYTHON

pytestmark = KAFKA_PYTHON
PARTITIONS = 6
OURS = {"partition_assignment_strategy": ["cooperative-sticky"]}
THEIRS = {"partition.assignment.strategy": "cooperative-sticky"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("kcore", "kcore", marks=pytest.mark.slow),
        ("kcore", "confluent"),
        pytest.param("confluent", "kcore", marks=pytest.mark.slow),
    ],
)
def test_only_what_moves_is_given_up(kafka, names, group_on, writer, first, second):
    """The first leads, and goes on reading what it keeps while a second one comes and goes."""
    options = {"kcore": OURS, "confluent": THEIRS}
    kafka.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka)
    with writer(kafka, names.topic) as writing:
        makes = [*((client, options[client]) for client in (first, second)), ("kcore", OURS)]
        leader, other, third = group.share_by_three(PARTITIONS, *makes)
        group.leave(other)
        group.wait_shared([leader, third], PARTITIONS)
        assert len(group.taken_away(leader)) == PARTITIONS // 2 + 1
        assert group.taken_away(third) == []
        writing.stop()
        ends = kafka.end_offsets(names.topic)
        group.wait_read(lambda: ends)
    group.stop()
    group.sessions.check(ends)


@pytest.mark.slow
@pytest.mark.parametrize("way", [pytest.param(1, id="there"), pytest.param(-1, id="back")])
def test_between_range_and_cooperative_sticky_one_member_after_the_other(
    kafka, names, group_on, writer, way
):
    """As docs/GROUPS.md has it: first all get both, then one of them is taken away."""
    kafka.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka)
    lists = [["range"], ["cooperative-sticky", "range"], ["cooperative-sticky"]][::way]
    with writer(kafka, names.topic) as writing:
        members = [group.add(partition_assignment_strategy=lists[0]) for _ in range(2)]
        group.wait_shared(members, PARTITIONS)
        for names_ in lists[1:]:
            for _ in range(2):
                group.leave(members.pop(0))
                members.append(group.add(partition_assignment_strategy=names_))
                group.wait_shared(members, PARTITIONS)
        before = {member: len(group.taken_away(member)) for member in members}
        third = group.add(partition_assignment_strategy=lists[2])
        group.wait_shared([*members, third], PARTITIONS)
        # Each gives one of three, or all of them and gets two back.
        less = 1 if lists[-1] == OURS["partition_assignment_strategy"] else PARTITIONS // 2
        assert all(len(group.taken_away(one)) == count + less for one, count in before.items())
        writing.stop()
        ends = kafka.end_offsets(names.topic)
        group.wait_read(lambda: ends)
    group.stop()
    group.sessions.check(ends)


@pytest.mark.slow
def test_the_eager_one_with_kafka_python(kafka, names, group_on, writer):
    """Everything is given up, and nearly all comes back to whom it was, if we lead. kafka-python
    cannot read what others than itself say they had: then it is shared evenly, no more.
    """
    kafka.create_topic(names.topic, PARTITIONS)
    group = group_on(kafka)
    sticky = {"partition_assignment_strategy": ["sticky"]}
    with writer(kafka, names.topic) as writing:
        ours = group.add(**sticky)
        group.wait_shared([ours], PARTITIONS)
        theirs = group.add("kafka-python", **sticky)
        group.wait_shared([ours, theirs], PARTITIONS)
        held = {one: group.sessions.held(one) for one in (ours, theirs)}
        third = group.add(**sticky)
        group.wait_shared([ours, theirs, third], PARTITIONS)
        now = {one: group.sessions.held(one) for one in (ours, theirs, third)}
        assert all(now[one] < held[one] for one in held), (held, now)
        group.leave(ours)
        group.wait_shared([theirs, third], PARTITIONS)
        writing.stop()
        ends = kafka.end_offsets(names.topic)
        group.wait_read(lambda: ends)
    group.stop()
    group.sessions.check(ends)
