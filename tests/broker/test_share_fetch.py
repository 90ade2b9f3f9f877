"""ShareFetch and ShareAcknowledge at the nodes: long polls, errors, locks, leaders."""

import pytest
from broker_world import WALL_MS, batch, produce
from share_world import ACCEPT, GAP, REJECT, RELEASE, RENEW, Member, ShareWorld, values

from kcore.broker import BrokerConfig, Kind, Mishap
from kcore.broker.mishaps import LinkFault
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

T = ("t", 0)
LOCK = 30_000


@pytest.fixture
def world():
    made = ShareWorld()
    yield made
    assert not made.faults


# Long polls --------------------------------------------------------------------------------------


def test_a_fetch_waits_for_records(world):
    member = Member(world)
    member.take(T)
    member.send(max_wait_ms=5_000)
    assert member.client.answer() is None
    world.put("a")
    assert member.taken(member.client.answer()) == {T: [(0, 0, 1)]}


def test_a_fetch_waits_no_longer_than_it_says(world):
    member = Member(world)
    member.send(T, max_wait_ms=500)
    world.run(499)
    assert member.client.answer() is None
    world.run(1)
    assert member.taken(member.client.answer()) == {}


def test_a_fetch_waits_for_so_many_bytes(world):
    member = Member(world)
    member.send(T, max_wait_ms=500, min_bytes=10_000)
    world.put("a")
    assert member.client.answer() is None
    world.put("b" * 10_000)
    assert member.taken(member.client.answer()) == {T: [(0, 1, 1)]}


@pytest.mark.parametrize("bound", ["max_bytes", "max_records"])
def test_who_has_room_for_nothing_is_told_so_at_once(world, bound):
    world.set_for("g", auto_offset_reset="latest")
    member = Member(world)
    assert member.take(T, max_wait_ms=500, **{bound: 0}) == {}
    world.put("a")  # it was not read yet: there the group begins, behind it
    assert member.take() == {}
    world.put("b")
    assert member.take(max_wait_ms=500, **{bound: 0}) == {}
    answer = member.fetch(("t", 7), max_wait_ms=500, **{bound: 0})
    (topic,) = answer.responses
    assert [(one.partition_index, one.error_code) for one in topic.partitions] == [
        (7, E.UNKNOWN_TOPIC_OR_PARTITION)
    ]
    assert member.take(forget=[("t", 7)]) == {T: [(1, 1, 1)]}
    assert member.take(said={T: [(1, 1, RELEASE)]}, max_wait_ms=500, **{bound: 0}) == {}
    assert member.take() == {T: [(1, 1, 2)]}


def test_who_is_above_a_quota_is_given_nothing_and_what_he_was_to_get_stays_locked(world):
    for text in "abcde":
        world.put(text * 3_000)
    entity = (("client-id", "test"),)
    world.cluster.with_quotas().set(entity, {"consumer_byte_rate": 1_000.0})
    first, second = Member(world, "m1"), Member(world, "m2")
    assert first.take(T) == {T: [(0, 2, 1)]}  # ten seconds' worth
    answer = first.fetch()
    assert (answer.responses, answer.acquisition_lock_timeout_ms) == ([], LOCK)
    assert 5_000 < answer.throttle_time_ms < 5_600
    assert second.take(T) == {}
    first.send(said={T: [(0, 2, ACCEPT)]})
    assert first.client.answer() is None  # it is not heard for so long
    world.run(12_000)
    assert first.taken(first.client.answer()) == {}
    assert first.take(said={T: [(3, 4, RELEASE)]}) == {T: [(3, 4, 2)]}


def test_a_share_fetch_is_one_request_to_a_quota(world):
    entity = (("client-id", "test"),)
    world.cluster.with_quotas().set(entity, {"request_percentage": 0.025})
    member = Member(world)
    waits = [member.fetch(T).throttle_time_ms for _ in range(3)]
    assert waits == [0, 0, 1_000]  # 0.01 % of ten seconds each


def test_a_fetch_waits_for_what_others_give_back(world):
    world.put("a", "b")
    first, second = Member(world, "m1"), Member(world, "m2")
    first.take(T)
    second.take(T)
    second.send(max_wait_ms=5_000)
    assert first.say(0, 0, ACCEPT) == E.NONE
    assert second.client.answer() is None
    assert first.say(1, 1, RELEASE) == E.NONE
    assert second.taken(second.client.answer()) == {T: [(1, 1, 2)]}


def test_a_fetch_waits_for_the_end_of_locks(world):
    world.put("a")
    first, second = Member(world, "m1"), Member(world, "m2")
    first.take(T)
    second.take(T)
    second.send(max_wait_ms=60_000)
    world.run(LOCK - 1)
    assert second.client.answer() is None
    world.run(1)
    assert second.taken(second.client.answer()) == {T: [(0, 0, 2)]}
    assert first.say(0, 0, ACCEPT) == E.INVALID_RECORD_STATE


def test_who_waits_at_a_node_that_stands_still_gets_nothing_before_it_goes_on(world):
    world.put("a")
    first, second = Member(world, "m1"), Member(world, "m2")
    first.take(T)
    second.take(T)
    second.send(max_wait_ms=60_000)
    node = world.nodes[1]
    node.pause()
    first.client.close()
    share = node.shares.look(("g", world.id_of("t"), 0))
    assert (share.next_offset, share.runs()[0].count) == (0, 1)
    node.resume(world.now_ms)
    world.drain()
    assert second.taken(second.client.answer()) == {T: [(0, 0, 2)]}


def go_down(world):
    world.cluster.stop_node(2, world.now_ms)


def be_reached(world):
    world.cluster.replication.heal(1, 2, world.now_ms)


@pytest.mark.parametrize("happens", [go_down, be_reached])
def test_a_lock_lasts_from_when_its_record_was_acquired(happens):
    world = ShareWorld(nodes=2, replication_factor=2)
    member = Member(world)
    world.cluster.replication.cut(1, 2, world.now_ms)
    world.client().send(produce(batch(b"a"), acks=1), 9)
    member.send(T, max_wait_ms=60_000)
    world.now_ms += 5_000  # in which nobody says anything
    happens(world)
    world.drain()
    assert member.taken(member.client.answer()) == {T: [(0, 0, 1)]}
    share = world.nodes[1].shares.look(("g", world.id_of("t"), 0))
    assert share.deadline == world.now_ms + LOCK


def test_a_lock_lasts_from_when_its_request_came_through(world):
    world.put("a")
    member = Member(world)
    world.cluster.mishaps.add_link(LinkFault())
    member.send(T)
    world.now_ms += 5_000
    world.cluster.mishaps.mend_links()
    world.nodes[1].release(world.now_ms)
    world.drain()
    assert member.taken(member.client.answer()) == {T: [(0, 0, 1)]}
    assert world.share().deadline == world.now_ms + LOCK


def test_a_lock_lasts_from_when_another_topic_was_deleted(world):
    """Which is what its member is answered for."""
    world.topic("u")
    world.put("a")
    member = Member(world)
    member.send(T, ("u", 0), max_wait_ms=60_000, min_bytes=10_000)
    world.now_ms += 5_000
    world.cluster.delete(world.cluster.topics.get("u"), world.now_ms)
    world.drain()
    errors = {p.error_code for t in member.client.answer().responses for p in t.partitions}
    assert errors == {E.NONE, E.UNKNOWN_TOPIC_OR_PARTITION}
    assert world.share().deadline == world.now_ms + LOCK


def test_only_one_of_those_who_wait_gets_a_record(world):
    members = [Member(world, f"m{number}") for number in range(5)]
    for member in members:
        member.send(T, max_wait_ms=5_000)
    world.put("a")
    answers = [member.client.answer() for member in members]
    (got,) = [one for one in answers if one is not None]
    assert members[0].taken(got) == {T: [(0, 0, 1)]}


def test_how_much_is_taken(world):
    for text in "abcdefgh":
        world.put(text, text)
    member = Member(world)
    assert member.take(T, max_records=3) == {T: [(0, 3, 1)]}
    assert member.take(max_records=3, share_acquire_mode=1) == {T: [(4, 6, 1)]}
    assert member.take(max_bytes=1) == {T: [(7, 7, 1)]}  # one record batch at least
    assert member.take(batch_size=2) == {T: [(8, 9, 1), (10, 11, 1), (12, 13, 1), (14, 15, 1)]}


def sizes(answer):
    """{(topic, partition): bytes} of what an answer has records of."""
    return {
        ("t", one.partition_index): len(bytes(one.records))
        for topic in answer.responses
        for one in topic.partitions
        if one.records
    }


@pytest.mark.parametrize("bound_by", ["the request", "the node"])
def test_an_answer_is_no_larger_than_it_may_be(bound_by):
    """But for its first record batch: the other partitions get their turns later."""
    node = {"fetch_max_bytes": 3_000} if bound_by == "the node" else {}
    world = ShareWorld(config=BrokerConfig(**node), partitions=4)
    parts = [("t", number) for number in range(4)]
    for number in range(4):
        for _ in range(2):
            world.put("x" * 2_000, partition=number)
    member = Member(world)
    more = {} if node else {"max_bytes": 3_000}
    seen = []
    for _ in range(8):
        answer = member.fetch(*(parts if not seen else ()), **more)
        ((part, size),) = sizes(answer).items()
        assert 2_000 < size < 3_000
        seen.append(part)
    assert sorted(seen) == sorted(parts * 2)
    assert sizes(member.fetch(**more)) == {}


def test_only_the_bytes_around_what_was_acquired_are_sent(world):
    for text in "abcdef":
        world.put(text)
    first, second = Member(world, "m1"), Member(world, "m2")
    first.take(T)
    first.say(2, 3, RELEASE)
    answer = second.fetch(T)
    assert second.taken(answer) == {T: [(2, 3, 2)]}
    assert values(answer) == [b"c", b"d"]


def test_partitions_take_turns():
    world = ShareWorld(partitions=3)
    parts = [("t", number) for number in range(3)]
    for number in range(3):
        for _ in range(3):
            world.put("x", partition=number)
    member = Member(world)
    seen = []
    for _ in range(3):
        seen += member.take(*parts, max_records=1)
    assert sorted(seen) == parts


# Acknowledgements --------------------------------------------------------------------------------


def test_they_ride_in_a_fetch(world):
    world.put("a", "b", "c")
    member = Member(world)
    member.take(T)
    assert member.take(said={T: [(0, 0, ACCEPT), (1, 2, RELEASE, REJECT)]}) == {T: [(1, 1, 2)]}
    assert world.share().start_offset == 1


@pytest.mark.parametrize(
    "batches",
    [
        [(1, 0, ACCEPT)],
        [(0, 0)],
        [(0, 2, ACCEPT, ACCEPT)],
        [(0, 0, 5)],
        [(0, 0, -1)],
        [(0, 0, RENEW)],
        [(1, 2, ACCEPT), (0, 0, ACCEPT)],
        [(0, 9, ACCEPT)],
    ],
)
def test_those_that_make_no_sense(world, batches):
    world.put("a", "b", "c")
    member = Member(world)
    member.take(T)
    answer = member.acknowledge({T: batches})
    assert answer.responses[0].partitions[0].error_code == E.INVALID_REQUEST
    answer = member.fetch(said={T: batches})
    one = answer.responses[0].partitions[0]
    assert (one.error_code, one.acknowledge_error_code) == (E.NONE, E.INVALID_REQUEST)
    assert world.share().runs()[0].first == 0
    assert world.share().in_flight == 3


def test_renewal_is_said_in_advance(world):
    world.put("a")
    member = Member(world)
    member.take(T)
    world.run(20_000)
    answer = member.acknowledge({T: [(0, 0, RENEW)]}, is_renew_ack=True)
    assert answer.acquisition_lock_timeout_ms == LOCK
    assert answer.responses[0].partitions[0].error_code == E.NONE
    world.run(20_000)
    nothing = {"max_records": 0, "min_bytes": 0, "max_bytes": 0, "is_renew_ack": True}
    assert member.take(said={T: [(0, 0, RENEW)]}, **nothing) == {}
    world.run(LOCK - 1)
    assert member.say(0, 0, ACCEPT) == E.NONE
    wrong = member.fetch(said={T: [(0, 0, RENEW)]}, is_renew_ack=True)
    assert wrong.error_code == E.INVALID_REQUEST


def test_version_1_knows_no_renewal(world):
    world.put("a")
    member = Member(world)
    assert member.take(T, version=1) == {T: [(0, 0, 1)]}
    assert member.say(0, 0, RENEW, version=1) == E.INVALID_REQUEST
    assert member.say(0, 0, ACCEPT, version=1) == E.NONE


def test_partitions_that_are_not_there(world):
    member = Member(world)
    unknown, beyond = ("unknown", 0), ("t", 7)
    answer = member.fetch(unknown, beyond)
    found = {(world.name_of(t.topic_id), p.partition_index): p.error_code
             for t in answer.responses for p in t.partitions}  # fmt: skip
    assert found == {unknown: E.UNKNOWN_TOPIC_ID, beyond: E.UNKNOWN_TOPIC_OR_PARTITION}
    said = {unknown: [(0, 0, ACCEPT)], beyond: [(0, 0, ACCEPT)], T: [(0, 0, ACCEPT)]}
    answer = member.acknowledge(said)
    found = {(world.name_of(t.topic_id), p.partition_index): p.error_code
             for t in answer.responses for p in t.partitions}  # fmt: skip
    assert found == {
        unknown: E.UNKNOWN_TOPIC_ID,
        beyond: E.UNKNOWN_TOPIC_OR_PARTITION,
        T: E.UNKNOWN_TOPIC_OR_PARTITION,  # nobody has fetched from it
    }


@pytest.mark.parametrize(
    ("release", "code"), [((4, 3), E.UNKNOWN_TOPIC_ID), ((4, 4), E.UNKNOWN_TOPIC_OR_PARTITION)]
)
def test_a_topic_that_is_deleted_while_somebody_waits(release, code):
    world = ShareWorld(config=BrokerConfig(release=release))
    member = Member(world)
    member.send(T, max_wait_ms=5_000)
    world.cluster.delete(world.cluster.topics.get("t"), world.now_ms)
    world.drain()
    answer = member.client.answer()
    assert answer.responses[0].partitions[0].error_code == code


# Where a group begins, and what it may read ------------------------------------------------------


@pytest.mark.parametrize(
    ("reset", "first"),
    [("earliest", 0), ("latest", 3), ("by_duration:PT10S", 1), ("by_duration:PT0S", 3)],
)
def test_where_a_group_begins(world, reset, first):
    for age_ms in (20_000, 10_000, 5_000):
        world.put("x", time=WALL_MS + world.now_ms - age_ms)
    world.set_for("g", auto_offset_reset=reset)
    member = Member(world)
    member.take(T)
    assert world.share().start_offset == first


def test_a_log_that_begins_later(world):
    for text in "abcd":
        world.put(text)
    member = Member(world)
    member.take(T, max_records=2)
    world.cluster.partition("t", 0).delete_before(3, world.now_ms)
    assert member.take() == {T: [(3, 3, 1)]}
    assert member.say(0, 3, ACCEPT) == E.NONE
    assert world.share().start_offset == 4


def end_transaction(world, producer, *, committed):
    R = m.WriteTxnMarkersRequest
    topics = [R.WritableTxnMarkerTopic(name="t", partition_indexes=[0])]
    marker = R.WritableTxnMarker(producer_id=producer, transaction_result=committed, topics=topics)
    world.client().ask(R(markers=[marker]), 1)


def in_transaction(world, *values, producer):
    log = world.cluster.partition("t", 0)
    data = batch(
        *[value.encode() for value in values],
        producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True,
    )  # fmt: skip
    log.append(memoryview(data), world.now_ms)


def test_committed_records_only(world):
    world.set_for("g", isolation_level="read_committed")
    in_transaction(world, "a", "b", producer=1)
    member = Member(world)
    member.send(T, max_wait_ms=5_000)
    assert member.client.answer() is None
    end_transaction(world, 1, committed=False)
    world.put("c")
    in_transaction(world, "d", producer=2)
    # The marker is there, which clients say is a gap.
    assert member.taken(member.client.answer()) == {T: [(2, 2, 1)]}
    assert member.take(said={T: [(2, 2, GAP)]}) == {T: [(3, 3, 1)]}
    end_transaction(world, 2, committed=True)
    assert member.take() == {T: [(4, 5, 1)]}
    assert member.say(3, 5, ACCEPT, ACCEPT, GAP) == E.NONE
    assert (world.share().in_flight, world.share().start_offset) == (0, 6)


def test_uncommitted_records_too(world):
    in_transaction(world, "a", producer=1)
    member = Member(world)
    assert member.take(T) == {T: [(0, 0, 1)]}
    end_transaction(world, 1, committed=False)
    assert member.take() == {T: [(1, 1, 1)]}


# Mishaps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "of_the_whole"),
    [
        (E.SHARE_SESSION_NOT_FOUND, E.SHARE_SESSION_NOT_FOUND),
        (E.GROUP_AUTHORIZATION_FAILED, E.GROUP_AUTHORIZATION_FAILED),
        (E.NOT_LEADER_OR_FOLLOWER, E.NONE),
        (E.KAFKA_STORAGE_ERROR, E.NONE),
    ],
)
def test_refusals_on_purpose(world, error, of_the_whole):
    world.put("a")
    member = Member(world)
    member.take(T)
    for api in (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE):
        world.cluster.mishaps.add(Mishap(api, Kind.REFUSED, error=error))
    said = {T: [(0, 0, ACCEPT)]}
    answer = member.fetch(said=said, epoch=1)
    (one,) = answer.responses[0].partitions
    assert answer.error_code == of_the_whole
    assert (one.error_code, one.acknowledge_error_code) == (error, error)
    answer = member.acknowledge(said, epoch=1)
    assert answer.error_code == of_the_whole
    assert answer.responses[0].partitions[0].error_code == error
    assert member.say(0, 0, ACCEPT) == E.NONE  # nothing was done


# Leaders -----------------------------------------------------------------------------------------


def test_another_leader_goes_on():
    world = ShareWorld(nodes=2, replication_factor=2)
    world.put("a", "b", "c", "d")
    first = world.cluster.partition("t", 0).leader
    second = 3 - first
    old = Member(world, "m1", node_id=first)
    old.take(T)
    assert old.say(0, 2, ACCEPT, RELEASE, REJECT) == E.NONE
    old.take(max_records=1)
    old.send(max_wait_ms=5_000)
    world.cluster.move_leader(world.cluster.topics.get("t"), 0, second, world.now_ms)
    world.drain()
    answer = old.client.answer()
    one = answer.responses[0].partitions[0]
    assert one.error_code == E.NOT_LEADER_OR_FOLLOWER
    assert (one.current_leader.leader_id, one.current_leader.leader_epoch) == (second, 1)
    assert [node.node_id for node in answer.node_endpoints] == [second]
    answer = old.acknowledge({T: [(3, 3, ACCEPT)]})
    assert answer.responses[0].partitions[0].error_code == E.UNKNOWN_TOPIC_OR_PARTITION
    new = Member(world, "m1", node_id=second)
    assert new.take(T) == {T: [(1, 1, 2), (3, 3, 1)]}
    assert new.say(1, 3, ACCEPT, GAP, ACCEPT) == E.INVALID_RECORD_STATE  # 2 was rejected
    assert new.say(1, 1, ACCEPT) == E.NONE
    assert new.say(3, 3, ACCEPT) == E.NONE
    assert world.share(node_id=second).start_offset == 4
    world.cluster.move_leader(world.cluster.topics.get("t"), 0, first, world.now_ms)
    old.epoch = 0
    assert old.take(T) == {}
    assert world.share(node_id=first).start_offset == 4
    assert not world.faults


def test_a_node_that_was_down_has_forgotten_what_was_acquired():
    world = ShareWorld()
    world.put("a", "b")
    member = Member(world)
    member.take(T)
    assert member.say(0, 0, ACCEPT) == E.NONE
    world.cluster.stop_node(1, world.now_ms)
    world.drain()
    world.cluster.start_node(1, world.now_ms)
    again = Member(world)
    assert again.take(T) == {T: [(1, 1, 1)]}
    assert not world.faults


@pytest.mark.parametrize(
    ("said", "again"), [((), {}), (((5, 5, ACCEPT),), {T: [(6, 7, 1)]}),
                        (((5, 5, RELEASE),), {T: [(5, 5, 2), (6, 7, 1)]})],
)  # fmt: skip
def test_where_a_group_begins_is_kept_with_the_first_word_of_a_member(said, again):
    """As by a Kafka 4.4.0 that is stopped, or killed, and started again: before, "latest" is where
    the log ends then.
    """
    world = ShareWorld()
    world.set_for("g", auto_offset_reset="latest")
    world.put(*"abcde")
    member = Member(world)
    member.take(T)
    world.put(*"xyz")
    assert member.take() == {T: [(5, 7, 1)]}
    assert all(member.say(*one) == E.NONE for one in said)
    world.cluster.stop_node(1, world.now_ms)
    world.drain()
    world.cluster.start_node(1, world.now_ms)
    world.producer.clear()
    other = Member(world)
    assert other.take(T) == again
    world.put("late")
    assert other.take() == {T: [(8, 8, 1)]}
    assert not world.faults


def test_groups_do_not_see_each_other(world):
    world.put("a")
    world.set_for("h")
    assert Member(world).take(T) == {T: [(0, 0, 1)]}
    assert Member(world, group="h").take(T) == {T: [(0, 0, 1)]}


def test_what_is_set_for_a_group_counts_at_once(world):
    world.put("a")
    member = Member(world)
    world.set_for("g", record_lock_duration_ms="15000")
    assert member.fetch(T).acquisition_lock_timeout_ms == 15_000
    world.run(15_000)
    assert member.take() == {T: [(0, 0, 2)]}
