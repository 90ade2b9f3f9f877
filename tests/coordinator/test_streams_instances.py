"""Members of streams groups with instance ids (Kafka 4.4): who goes for a while, and comes back."""

import pytest
from kafka_reading import as_kafka_reads
from streams_groups_world import STATELESS, StreamsWorld, owning

from kcore.coordinator.streams.states import StreamsGroupState
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

AWAY = -2
SESSION = 45_000


def two():
    """Two members, each an instance, and what they have."""
    w = StreamsWorld(release=(4, 4))
    w.enter("m1", instance_id="i1")
    w.enter("m2", instance_id="i2")
    w.beat("m1", 2)
    w.beat("m1", 2, **owning(["0_0", "0_1"]))
    assert w.beat("m2", 3) == (3, ["0_2", "0_3"], [])
    assert w.streams.state is StreamsGroupState.STABLE
    return w


def away():
    w = two()
    answer = w.replies[w.put_beat("m1", AWAY, instance_id="i1")]
    assert (answer.error_code, answer.member_epoch) == (E.NONE, AWAY)
    return w


def test_who_is_away_keeps_its_tasks():
    w = away()
    assert w.state_of("m1") == ("STABLE", AWAY, (["0_0", "0_1"], []), ([], []))
    assert w.beat("m2", 3) == (3, None, None)
    assert w.enter("m3", process_id="p-m1", instance_id="i1") == (3, ["0_0", "0_1"], [])
    assert w.streams.epoch == 3
    assert set(w.streams.members) == {"m2", "m3"}
    w.check()


def test_who_comes_back_elsewhere_makes_a_new_target():
    w = away()
    assert w.enter("m3", process_id="other", instance_id="i1") == (4, ["0_0", "0_1"], [])
    w.check()


def test_who_does_not_come_back_is_taken_out():
    w = away()
    w.until(SESSION - 1)
    w.beat("m2", 3)
    w.until(SESSION)
    assert set(w.streams.members) == {"m2"}
    assert w.streams.static_members == {"i2": "m2"}
    assert w.enter("m3", instance_id="i1")[0] == 5


def test_nobody_else_is_the_instance():
    w = two()
    for request, code in (
        (w.put_beat("m3", 3, instance_id="i1"), E.FENCED_INSTANCE_ID),
        (w.put_beat("m3", 3, instance_id="i3"), E.UNKNOWN_MEMBER_ID),
        (w.put_beat("m3", AWAY, instance_id="i1"), E.FENCED_INSTANCE_ID),
        (w.put_beat("m3", -1, instance_id="i3"), E.UNKNOWN_MEMBER_ID),
        (w.put_enter("m3", instance_id="i1"), E.UNRELEASED_INSTANCE_ID),
        (w.put_enter("m1", instance_id="i1"), E.UNRELEASED_INSTANCE_ID),
    ):
        assert w.replies[request].error_code == code
    assert w.streams.epoch == 3


def test_an_instance_that_goes_for_good():
    w = two()
    assert w.beat("m1", -1, instance_id="i1") == (-1, None, None)
    assert w.streams.static_members == {"i2": "m2"}
    assert w.enter("m3", instance_id="i1")[0] == 5


def test_a_group_that_is_full_lets_its_instances_come_back():
    w = StreamsWorld(release=(4, 4), group_streams_max_size=1)
    w.enter("m1", instance_id="i1")
    assert w.enter("m2") == E.GROUP_MAX_SIZE_REACHED
    assert w.enter("m2", instance_id="i2") == E.GROUP_MAX_SIZE_REACHED
    w.beat("m1", AWAY, instance_id="i1")
    assert w.enter("m2", instance_id="i1")[0] == 3


def test_a_group_that_is_full_lets_its_members_begin_again():
    """Until Kafka 4.3 it did not."""
    for release, begun in (((4, 4), 3), ((4, 3), None)):
        w = StreamsWorld(release=release, group_streams_max_size=1)
        w.enter("m1")
        again = w.enter("m1", rack_id="r")
        assert again == E.GROUP_MAX_SIZE_REACHED if begun is None else again[0] == begun


def test_who_is_away_when_the_coordinator_moves():
    w = away()
    later = StreamsWorld(release=(4, 4), loaded=w.journal)
    assert later.streams.static_members == {"i1": "m1", "i2": "m2"}
    assert later.enter("m3", process_id="p-m1", instance_id="i1") == (3, ["0_0", "0_1"], [])
    later.check()


def test_offsets_of_tasks_are_not_kept():
    w = two()
    offset = m.StreamsGroupHeartbeatRequest.TaskOffset(subtopology_id="0", partition=1, offset=7)
    w.beat("m1", 3, instance_id="i1", task_offsets=[offset])
    (told,) = [one for one in w.described().members if one.member_id == "m1"]
    assert [(one.partition, one.offset) for one in told.task_offsets] == [(1, 7)]
    later = StreamsWorld(release=(4, 4), loaded=w.journal)
    assert not any(one.task_offsets for one in later.described().members)


def test_until_kafka_4_3_there_are_no_instances():
    w = StreamsWorld(release=(4, 3))
    for token in (
        w.put_enter("m1", instance_id="i1"),
        w.put_beat("m1", AWAY, instance_id="i1"),
        w.put_enter("m1", STATELESS, task_offsets=[]),
    ):
        assert w.replies[token].error_code == E.INVALID_REQUEST
    assert w.coordinator.streams_group("g") is None


@pytest.mark.slow
@pytest.mark.kafka
def test_kafka_reads_what_we_write():
    w = away()
    w.enter("m3", process_id="p-m1", instance_id="i1")
    as_kafka_reads("__consumer_offsets", w.journal)
