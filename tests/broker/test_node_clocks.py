"""Nodes whose clocks differ: each coordinator goes by its own."""

import pytest
from broker_world import WALL_MS, World
from samples import sample

from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig, partition_for
from kcore.coordinator.journal import read_entry
from kcore.sim.clock import Clock
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E
from kcore.wire.messages import OffsetCommitValue

SESSION_MS = 10_000
# One loses a tenth and began long ago; the other gains a fifth, and its time of day is an hour off.
SLOW = Clock(86_400_000, -100_000, WALL_MS - 86_400_000)
FAST = Clock(0, 200_000, WALL_MS + 3_600_000)
TIMES = {"slow": SESSION_MS * 10 // 9, "fast": SESSION_MS * 10 // 12}  # of the inputs


@pytest.fixture
def world():
    config = BrokerConfig(
        coordinator=CoordinatorConfig(
            group_initial_rebalance_delay_ms=0, offsets_topic_num_partitions=1
        )
    )
    made = World(2, config, clocks={1: SLOW, 2: FAST})
    made.topic()
    yield made
    assert not made.faults


def move_to(world, node_id):
    world.cluster.move_coordinator(partition_for("g", 1), node_id, world.now_ms)


def join(client):
    Protocol = m.JoinGroupRequest.JoinGroupRequestProtocol
    request = m.JoinGroupRequest(
        group_id="g", protocol_type="consumer", protocols=[Protocol(name="range", metadata=b"")],
        session_timeout_ms=SESSION_MS, rebalance_timeout_ms=SESSION_MS,
    )  # fmt: skip
    joined = client.ask(request, 3)
    sync = m.SyncGroupRequest(
        group_id="g", generation_id=joined.generation_id, member_id=joined.member_id,
        assignments=[m.SyncGroupRequest.SyncGroupRequestAssignment(
            member_id=joined.member_id, assignment=b"plan")],
    )  # fmt: skip
    assert not client.ask(sync, 3).error_code
    return joined


def beat(client, joined):
    request = m.HeartbeatRequest(
        group_id="g", generation_id=joined.generation_id, member_id=joined.member_id
    )
    return client.ask(request, 3).error_code


@pytest.mark.parametrize(("node_id", "takes_ms"), [(1, TIMES["slow"]), (2, TIMES["fast"])])
def test_a_session_lasts_as_long_as_its_coordinator_thinks(world, node_id, takes_ms):
    move_to(world, node_id)
    client = world.client(node_id)
    joined = join(client)
    world.run(takes_ms - 10)
    assert beat(client, joined) == E.NONE
    world.run(takes_ms + 10)
    assert beat(client, joined) == E.UNKNOWN_MEMBER_ID


def test_a_session_that_moves_goes_on_by_the_other_clock(world):
    move_to(world, 1)
    joined = join(world.client(1))
    world.run(5_000)
    move_to(world, 2)
    world.run(TIMES["fast"] - 10)
    assert beat(world.client(2), joined) == E.NONE
    world.run(TIMES["fast"] + 10)
    assert beat(world.client(2), joined) == E.UNKNOWN_MEMBER_ID


def test_what_is_written_has_the_time_of_day_of_who_writes_it(world):
    dates = []
    for node_id, clock in ((1, SLOW), (2, FAST)):
        move_to(world, node_id)
        request = sample(m.OffsetCommitRequest, 8)
        request.group_id, request.member_id, request.group_instance_id = "g", "", None
        request.generation_id_or_member_epoch = -1
        world.client(node_id).ask(request, 8)
        values = [read_entry(entry)[1] for entry in world.cluster.journal(0).entries()]
        *_, value = (one for one in values if isinstance(one, OffsetCommitValue))
        assert value.commit_timestamp == clock.read(world.now_ms) + clock.wall_offset_ms
        dates.append(value.commit_timestamp)
    assert dates[1] - dates[0] > 3_000_000


def test_a_transaction_times_out_by_the_clock_of_its_coordinator(world):
    node_id = world.cluster.transaction_coordinator_of("x")
    client = world.client(node_id)
    begun = m.InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=SESSION_MS)
    producer = client.ask(begun, 4)
    add = m.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="x",
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[
            m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="t", partitions=[0])
        ],
    )
    assert (
        not client.ask(add, 3)
        .results_by_topic_v3_and_below[0]
        .results_by_partition[0]
        .partition_error_code
    )

    def state():
        asked = m.DescribeTransactionsRequest(transactional_ids=["x"])
        return client.ask(asked, 0).transaction_states[0].transaction_state

    takes_ms = TIMES["slow" if node_id == 1 else "fast"]
    world.run(takes_ms - 10)
    assert state() == "Ongoing"
    world.run(20)
    assert state() == "CompleteAbort"
