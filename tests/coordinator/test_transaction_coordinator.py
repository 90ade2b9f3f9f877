"""Rules of the transaction coordinator beyond its tables: epochs, time, fencing, retries."""

import pytest
from transaction_world import T0, T1, WALL_MS, World, add, end, init

from kcore.coordinator import Caller
from kcore.coordinator.transactions import TransactionConfig
from kcore.coordinator.transactions.journal import transaction_entry
from kcore.coordinator.transactions.transaction import Transaction
from kcore.errors import KafkaConfigurationError, UsageError
from kcore.structs import TopicPartition
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

EPOCH_LAST = 32_766


def test_each_producer_of_an_id_has_the_next_epoch():
    world = World()
    assert [world.init()[:2] for _ in range(2)] == [(0, 1000), (0, 1000)]
    assert world.init() == (0, 1000, 2)
    assert world.init("other") == (0, 1001, 0)


def test_without_an_id_everybody_is_somebody_else():
    world = World()
    assert world.init(None) == (0, 1000, 0)
    assert world.init(None, producer=(1000, 0)) == (0, 1001, 0)


@pytest.mark.parametrize("producer", [(5, -1), (-1, 5)])
def test_half_a_producer_is_none(producer):
    assert World().init(producer=producer) == (E.INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_timeouts_are_bounded(timeout_ms):
    world = World()
    assert world.init(timeout_ms=timeout_ms)[0] == E.INVALID_TRANSACTION_TIMEOUT
    assert world.init(timeout_ms=900_000)[0] == 0
    assert world.init("")[0] == E.INVALID_REQUEST


def test_who_says_what_it_had_gets_the_next_epoch_once():
    world = World()
    world.init()
    assert world.init(producer=(1000, 0)) == (0, 1000, 1)
    assert world.init(producer=(1000, 0)) == (0, 1000, 1)  # the answer was lost
    assert world.init(producer=(1000, 1)) == (0, 1000, 2)
    assert world.init(producer=(1000, 0)) == (E.PRODUCER_FENCED, -1, -1)
    assert world.init(producer=(1, 1)) == (E.PRODUCER_FENCED, -1, -1)
    assert world.ask(init(producer=(1, 1)), 3).error_code == E.INVALID_PRODUCER_EPOCH


def test_a_new_producer_fences_the_old_one_and_aborts_what_it_did():
    for version, bumped in ((0, 2), (2, 2)):
        world = World(version)
        _, *old = world.init()
        world.add(old, T0, T1)
        assert world.init() == (E.CONCURRENT_TRANSACTIONS, -1, -1)
        assert world.written == [(1000, 1, False, T0), (1000, 1, False, T1)]
        assert world.init() == (0, 1000, bumped)
        assert world.add(old, T0) == E.PRODUCER_FENCED
        assert world.end(old)[0] == E.PRODUCER_FENCED


def test_the_epoch_of_each_transaction_is_its_own_from_v5_on():
    world = World()
    _, *producer = world.init()
    for epoch in range(1, 4):
        world.add(producer, T0)
        error, *after = world.end(producer)
        assert (error, after) == (0, [1000, epoch])
        assert world.written.pop() == (1000, epoch, True, T0)
        assert world.end(producer) == (0, 1000, epoch)  # again: the answer was lost
        assert world.end(producer, False)[0] == E.INVALID_TXN_STATE
        assert world.add(producer, T0) == E.PRODUCER_FENCED
        producer = after


def exhausted(version):
    """A world whose producer is at the last epoch there is."""
    world = World(version)
    last = Transaction("x", world.ids.new_producer_id(), 60_000, WALL_MS, epoch=EPOCH_LAST)
    entry = transaction_entry(last, min(version, 1))
    world.journals[world.coordinator.partition_for("x")].append(entry)
    for partition in world.journals:
        world.coordinator.handle_resigned(partition, world.now_ms)
    world.load()
    return world, (last.producer_id, EPOCH_LAST)


def test_a_producer_whose_epochs_are_used_up_gets_a_new_id():
    world, producer = exhausted(0)
    assert world.init() == (0, 1001, 0)
    world, producer = exhausted(0)
    assert world.init(producer=producer) == (0, 1001, 0)
    assert world.init(producer=producer) == (0, 1001, 0)  # again
    assert world.init(producer=(1000, 5)) == (E.PRODUCER_FENCED, -1, -1)


def test_a_transaction_at_the_last_epoch_ends_with_a_new_id():
    world, producer = exhausted(2)
    world.add(producer, T0)
    assert world.end(producer) == (0, 1001, 0)
    assert world.written == [(1000, EPOCH_LAST + 1, True, T0)]
    assert world.end(producer) == (0, 1001, 0)  # again
    assert world.end(producer, False)[0] == E.INVALID_TXN_STATE
    assert world.add((1001, 0), T0) == 0
    assert world.end((1001, 0)) == (0, 1001, 1)
    # That was of the next transaction: nobody can still be waiting for the first one's end.
    assert world.end(producer)[0] == E.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize("version", [0, 2])
def test_fencing_works_at_the_last_epoch(version):
    world, producer = exhausted(version)
    world.add(producer, T0)
    assert world.init() == (E.CONCURRENT_TRANSACTIONS, -1, -1)
    assert world.written == [(1000, EPOCH_LAST + 1, False, T0)]
    error, producer_id, epoch = world.init()
    assert (error, producer_id) == (0, 1001)
    assert epoch == (1 if version else 0)


@pytest.mark.parametrize("version", [0, 2])
def test_a_transaction_that_takes_too_long_is_aborted(version):
    world = World(version)
    _, *producer = world.init(timeout_ms=10_000)
    world.add(producer, T0)
    world.run(5_000)
    world.add(producer, T1)  # does not make it longer
    world.run(5_000)
    assert world.state() == "Ongoing"
    world.run(1)
    assert world.state() == "CompleteAbort"
    assert sorted(world.written) == [(1000, 1, False, T0), (1000, 1, False, T1)]
    assert world.end(producer, version=4)[0] == E.PRODUCER_FENCED
    world.run(100_000)
    assert len(world.written) == 2


def test_an_abort_by_time_that_cannot_be_written_is_tried_again():
    world = World()
    _, *producer = world.init(timeout_ms=10_000)
    world.add(producer, T0)
    world.held = True
    world.run(10_001)
    world.append(E.NOT_ENOUGH_REPLICAS)
    assert not world.waiting
    world.run(99)
    assert not world.waiting
    world.run(1)
    world.held = False
    world.drain()
    assert world.state() == "CompleteAbort"


def test_ids_that_nobody_uses_are_forgotten():
    world = World()
    world.init()
    world.init("y")
    world.add((1001, 0), T0, name="y")
    ended = {"z": True, "u": False}
    for name, committed in ended.items():
        _, *producer = world.init(name)
        world.add(producer, T0, name=name)
        world.end(producer, committed, name=name)
    world.run(604_800_000 - 3_600_000)
    assert world.state() == "Empty"
    world.run(2 * 3_600_000)
    for name in ("x", *ended):
        assert world.state(name) == E.TRANSACTIONAL_ID_NOT_FOUND
    assert world.journals[world.coordinator.partition_for("x")][-1].value is None
    assert world.init()[1:] == (1004, 0)  # nobody knows that it was there


def test_while_an_entry_is_on_its_way_others_wait_and_a_failure_leaves_nothing():
    world = World(held=True)
    first = world.send(init())
    assert world.init()[0] == E.CONCURRENT_TRANSACTIONS
    assert world.add((1000, 0), T0) == E.CONCURRENT_TRANSACTIONS
    assert world.end((1000, 0))[0] == E.CONCURRENT_TRANSACTIONS
    world.append(E.NOT_ENOUGH_REPLICAS)
    told = world.answers[first]
    assert told.error_code == E.COORDINATOR_NOT_AVAILABLE
    assert (told.producer_id, told.producer_epoch) == (-1, -1)
    assert world.state() == E.TRANSACTIONAL_ID_NOT_FOUND
    world.send(init())
    world.append()
    adding = world.send(add((1001, 0), [T0]))
    assert world.state() == "Empty"
    assert world.end((1001, 0))[0] == E.CONCURRENT_TRANSACTIONS
    world.append(E.NOT_LEADER_OR_FOLLOWER)
    (result,) = world.answers[adding].results_by_transaction
    code = result.topic_results[0].results_by_partition[0].partition_error_code
    assert code == E.NOT_COORDINATOR
    assert world.state() == "Empty"


def test_markers_come_one_by_one():
    world = World(marks=False)
    _, *producer = world.init()
    world.add(producer, T0, T1)
    assert world.end(producer)[0] == 0
    (markers,) = world.markers
    world.coordinator.handle_marked(markers, [T0], world.now_ms)
    world.drain()
    assert world.state() == "PrepareCommit"
    (found,) = world.ask(m.DescribeTransactionsRequest(transactional_ids=["x"])).transaction_states
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("t", [1])]
    world.coordinator.handle_marked(markers, [T1, T0], world.now_ms)
    world.drain()
    assert world.state() == "CompleteCommit"
    world.coordinator.handle_marked(markers, [T1], world.now_ms)  # late: nothing happens
    assert world.state() == "CompleteCommit"


def test_a_completion_that_cannot_be_written_is_tried_again():
    world = World(marks=False)
    _, *producer = world.init()
    world.add(producer, T0)
    world.end(producer)
    world.held = True
    world.mark()
    world.append(E.REQUEST_TIMED_OUT)
    assert world.state() == "PrepareCommit"
    world.held = False
    world.run(100)
    assert world.state() == "CompleteCommit"


def test_offsets_take_part_as_the_partition_of_their_group():
    world = World()
    _, *producer = world.init()
    assert world.add_offsets(producer) == 0
    assert world.end(producer)[0] == 0
    (written,) = world.written
    assert written[3].topic == "__consumer_offsets"
    assert 0 <= written[3].partition < 50


def test_partitions_that_are_not_there_keep_the_others_out():
    world = World()
    _, *producer = world.init()
    nowhere = TopicPartition("t", 2)
    assert world.add(producer, T0, nowhere) == [
        E.OPERATION_NOT_ATTEMPTED, E.UNKNOWN_TOPIC_OR_PARTITION,
    ]  # fmt: skip
    inner = TopicPartition("__consumer_offsets", 0)
    assert world.add(producer, inner, version=3) == E.TOPIC_AUTHORIZATION_FAILED
    assert world.add(producer, inner, version=4) == 0
    assert world.add(producer) == []


def test_who_keeps_an_id():
    world = World()
    world.init()
    partition = world.coordinator.partition_for("x")
    world.coordinator.handle_resigned(partition, world.now_ms)
    assert world.init()[0] == E.NOT_COORDINATOR
    assert world.state() == E.NOT_COORDINATOR
    assert world.add((1000, 0), T0) == E.NOT_COORDINATOR
    world.coordinator.handle_elected(partition, 9)
    assert world.init()[0] == E.COORDINATOR_LOAD_IN_PROGRESS
    assert world.end((1000, 0))[0] == E.COORDINATOR_LOAD_IN_PROGRESS
    assert world.listed().error_code == E.COORDINATOR_LOAD_IN_PROGRESS
    world.coordinator.handle_loaded(partition, world.now_ms)
    assert world.init()[0] == 0
    with pytest.raises(UsageError):
        world.coordinator.handle_loaded(partition, world.now_ms)
    with pytest.raises(UsageError):
        world.coordinator.handle_elected(partition, 10)
    with pytest.raises(UsageError):
        world.send(m.HeartbeatRequest())


def test_who_waits_when_the_partition_goes_is_told():
    world = World(held=True)
    token = world.send(init())
    world.coordinator.handle_resigned(world.coordinator.partition_for("x"), world.now_ms)
    world.drain()
    assert world.answers[token].error_code == E.NOT_COORDINATOR


def test_a_closed_connection_gets_no_answer():
    world = World(held=True)
    world.coordinator.handle_request(Caller("token", "link"), 5, init(), world.now_ms)
    world.drain()
    world.coordinator.handle_closed("link")
    world.append()
    assert "token" not in world.answers
    assert world.state() == "Empty"


def test_listing_and_describing():
    world = World()
    _, *producer = world.init("a-1")
    world.add(producer, T0, T1, name="a-1")
    world.init("b-1")
    world.run(1_000)

    def names(version=2, **filters):
        answer = world.listed(version, **filters)
        return answer.error_code or sorted(
            (one.transactional_id, one.transaction_state) for one in answer.transaction_states
        )

    assert names() == [("a-1", "Ongoing"), ("b-1", "Empty")]
    assert names(state_filters=["Ongoing", "None"]) == [("a-1", "Ongoing")]
    assert world.listed(state_filters=["Odd"]).unknown_state_filters == ["Odd"]
    assert names(state_filters=["Odd"]) == []
    assert names(producer_id_filters=[1001]) == [("b-1", "Empty")]
    assert names(duration_filter=999, state_filters=["Ongoing"]) == [("a-1", "Ongoing")]
    assert names(duration_filter=1_000, state_filters=["Ongoing"]) == []
    assert names(transactional_id_pattern="a.*") == [("a-1", "Ongoing")]
    assert names(transactional_id_pattern="a") == []
    for bad in ("[", "(?=a)", "a{600}", "a" * 300):
        assert names(transactional_id_pattern=bad) == E.INVALID_REGULAR_EXPRESSION
    (found,) = world.ask(
        m.DescribeTransactionsRequest(transactional_ids=["a-1"])
    ).transaction_states
    assert (found.producer_id, found.producer_epoch) == (1000, 0)
    assert found.transaction_timeout_ms == 60_000
    assert found.transaction_start_time_ms == WALL_MS + 1_000
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("t", [0, 1])]


def test_partitions_that_take_part_already_are_not_written_again():
    world = World()
    _, *producer = world.init()
    world.add(producer, T0, T1)
    journal = world.journals[world.coordinator.partition_for("x")]
    written = len(journal)
    for again in ((T0,), (T0, T1)):
        assert world.add(producer, *again) == 0
    assert len(journal) == written


def test_a_transaction_that_is_being_ended_is_as_old_as_it_is():
    world = World(marks=False)
    _, *producer = world.init()
    world.run(1_000)
    world.add(producer, T0, T1)
    world.run(2_000)
    world.end(producer)
    request = m.DescribeTransactionsRequest(transactional_ids=["x"])
    (found,) = world.ask(request).transaction_states
    assert found.transaction_state == "PrepareCommit"
    assert found.transaction_start_time_ms == WALL_MS + 2_000
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("t", [0, 1])]


def test_an_id_that_is_being_forgotten_is_not_there_any_more():
    world = World(held=True)
    world.send(init())
    world.append()
    assert world.state() == "Empty"
    world.run(604_800_000 + 3_600_000)
    assert world.state() == E.TRANSACTIONAL_ID_NOT_FOUND
    world.append(E.NOT_ENOUGH_REPLICAS)
    assert world.state() == "Empty"


def test_many_transactions_in_one_request():
    world = World()
    world.init("a")
    world.init("b")
    request = add((1000, 0), [T0], "a")
    request.transactions += add((1001, 7), [T1], "b").transactions
    answer = world.ask(request, 5)
    codes = [
        (one.transactional_id, one.topic_results[0].results_by_partition[0].partition_error_code)
        for one in answer.results_by_transaction
    ]
    assert codes == [("a", 0), ("b", E.PRODUCER_FENCED)]
    assert world.ask(m.AddPartitionsToTxnRequest(), 5).results_by_transaction == []


def test_ids_are_bounded(monkeypatch):
    monkeypatch.setattr("kcore.coordinator.transactions.shard.TRANSACTIONS_MAX", 2)
    world = World()
    answers = [world.init(f"id-{n}")[0] for n in range(10)]
    assert answers.count(E.POLICY_VIOLATION) == 6
    assert world.init("id-0")[0] == 0


def test_v1_and_v2_can_take_turns():
    """A client that is updated goes on with what the old one left."""
    world = World()
    _, *producer = world.init()
    world.add(producer, T0, version=3)
    assert world.end(producer, version=4)[0] == 0
    world.add(producer, T0)
    error, *producer = world.end(producer)
    assert (error, producer) == (0, [1000, 1])
    world.add(producer, T0, version=3)
    assert world.ask(end(producer), 4).error_code == 0


def test_at_level_0_who_goes_by_the_rules_of_level_2_is_refused_and_nothing_has_happened():
    """A Kafka 4.3.1 says the same, and CONCURRENT_TRANSACTIONS of the id for ever after it."""
    world = World(0)
    _, *producer = world.init()
    assert world.add(producer, T0, version=5) == E.UNSUPPORTED_VERSION
    assert world.state() == "Empty"
    assert world.add(producer, T0, version=3) == 0
    assert world.end(producer, version=5) == (E.UNSUPPORTED_VERSION, -1, -1)
    assert world.state() == "Ongoing"
    assert world.end(producer, version=4)[0] == 0
    assert world.written == [(1000, 0, True, T0)]


@pytest.mark.parametrize("ended", [4, None])
def test_a_transaction_that_began_at_level_2_goes_on_at_level_0(ended):
    """By the versions that are left, by its time, and in another coordinator."""
    world = World(2)
    _, *producer = world.init(timeout_ms=10_000)
    assert world.add(producer, T0) == 0
    world.coordinator.handle_finalized(0)
    assert world.end(producer, version=5)[0] == E.UNSUPPORTED_VERSION
    if ended:
        assert world.end(producer, version=ended)[0] == 0
        assert world.written == [(1000, 0, True, T0)]
    else:
        world.run(10_001)
        assert world.state() == "CompleteAbort"
        assert world.written == [(1000, 1, False, T0)]
    state = world.state()
    world.load()
    assert world.state() == state
    world.coordinator.handle_finalized(2)
    error, *producer = world.init()
    assert error == 0
    assert world.add(producer, T1) == 0
    assert world.end(producer) == (0, producer[0], producer[1] + 1)


@pytest.mark.parametrize(
    "options",
    [{"transaction_version": 3}, {"transaction_max_timeout_ms": 0},
     {"transaction_state_log_num_partitions": 0}],
)  # fmt: skip
def test_what_cannot_work_is_refused(options):
    with pytest.raises(KafkaConfigurationError):
        TransactionConfig(**options)
