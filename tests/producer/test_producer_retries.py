"""When a batch is sent again, and as what; how topics are named to leaders."""

from itertools import pairwise

import pytest
from scripted_producer import (
    NOT_LEADER,
    OUT_OF_ORDER,
    TOO_LARGE,
    first_times,
    produce_world,
    send_all,
    small_batches,
    values,
)

from kcore.errors import KafkaTimeoutError, TopicAuthorizationFailedError
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

ID = b"i" * 16


@pytest.mark.parametrize("code", [NOT_LEADER, OUT_OF_ORDER, int(ErrorCode.NOT_ENOUGH_REPLICAS)])
def test_each_wait_is_twice_the_one_before_up_to_a_bound(code):
    world, cluster, client = produce_world()
    sent_at = []
    fault = first_times(6, code)

    def watched(*batch):
        sent_at.append(world.now)
        return fault(*batch)

    cluster.fault = watched
    send_all(client, values(1))
    client.flush()
    waits = [after - before for before, after in pairwise(sent_at)]
    for wait_ms, expected_ms in zip(waits, (100, 200, 400, 800, 1_000, 1_000), strict=True):
        assert 0.8 * expected_ms <= wait_ms <= 1.2 * expected_ms + 20
    # And the next one begins with the shortest again.
    sent_at.clear()
    fault = first_times(1, code)
    send_all(client, values(1, 1))
    client.flush()
    assert sent_at[1] - sent_at[0] <= 140
    assert cluster.log().values == values(2)


def test_what_is_behind_a_refused_batch_needs_no_other_epoch():
    """It comes out of order only because of that, and is sent again behind it."""
    _, cluster, client = small_batches()
    send_all(client, values(2))
    client.flush()
    cluster.fault = first_times(1, int(ErrorCode.NOT_ENOUGH_REPLICAS))
    send_all(client, values(5, 2))
    client.flush()
    assert cluster.log().values == values(7)
    assert {info.producer_epoch for info in cluster.log().batches} == {0}


def test_numbers_of_what_was_written_and_refused_are_used_by_nothing_else():
    """Where what follows had them, a leader would take it for what it has already."""
    _, cluster, client = small_batches(retries=1)
    send_all(client, values(1))
    client.flush()
    tries = []

    def fault(*batch):
        tries.append(cluster.log().append(batch[-1]))
        if len(tries) == 2:
            cluster.fault = lambda *_: None
        return int(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)

    cluster.fault = fault
    send_all(client, values(1, 1))
    client.flush()
    assert len(client.errors()) == 1
    send_all(client, values(2, 2))
    client.flush()
    assert cluster.log().values == values(4)
    client.check_offsets()


def test_a_batch_that_is_a_request_too_many_goes_alone():
    _, cluster, client = produce_world(
        topics={"t": 2}, linger_ms=20, batch_size=4_000, max_request_size=2_000
    )
    for partition in (0, 1):
        send_all(client, [b"x" * 900] * 4, partition=partition)
    client.flush()
    assert client.errors() == []
    assert cluster.values() == [b"x" * 900] * 8


def test_without_idempotence_several_are_under_way_unless_the_order_counts():
    for max_in_flight, most in ((1, 1), (5, 5)):
        world, cluster, client = small_batches(
            enable_idempotence=False, max_in_flight_requests_per_connection=max_in_flight
        )
        send_all(client, values(1))
        client.flush()
        send_all(client, values(9, 1))
        world.run(1)
        assert client.core._sender.requests_in_flight == most
        client.flush()
        assert cluster.log().values == values(10)


def test_a_topic_that_may_not_be_written_to_is_named():
    _, cluster, client = produce_world()
    cluster.fault = first_times(1, int(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    send_all(client, values(1))
    client.flush()
    (error,) = client.errors()
    assert isinstance(error, TopicAuthorizationFailedError)
    assert error.topics == {"t"}


@pytest.mark.parametrize(
    ("ids", "named"),
    [({}, {"t", "u"}), ({"t": ID}, {"t", "u"}), ({"t": ID, "u": b"u" * 16}, {""})],
)
def test_topics_go_by_their_ids_where_all_of_a_request_have_one(ids, named):
    world, cluster, client = produce_world(topics={"t": 1, "u": 1}, linger_ms=20)
    cluster.apis |= {ApiKey.PRODUCE: (3, 13)}
    cluster.topic_ids = dict(ids)
    seen = set()
    produce = cluster._produce

    def watched(node, request, reply):
        seen.update(topic.name for topic in request.message.topic_data)
        produce(node, request, reply)

    cluster._produce = watched
    for topic in ("t", "u"):
        client.send_soon(b"x", topic=topic)
        world.run(2)
    client.flush()
    assert client.errors() == []
    assert (cluster.values("t"), cluster.values("u")) == ([b"x"], [b"x"])
    assert seen == named


def test_the_first_producer_id_of_a_cluster_is_one():
    world, cluster, client = small_batches(retries=3)
    cluster.ids = -1001
    send_all(client, values(3))
    client.flush(within_ms=5_000)
    assert {info.producer_id for info in cluster.log().batches} == {0}
    assert cluster.log().values == values(3)


def test_who_sent_a_record_is_told_where_it_is():
    _, cluster, client = small_batches()
    send_all(client, values(4))
    client.flush()
    assert [outcome.offset for outcome in client.outcomes()] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "code", [NOT_LEADER, OUT_OF_ORDER, TOO_LARGE, int(ErrorCode.INVALID_RECORD)]
)
def test_what_was_given_up_is_not_sent_again_whatever_the_answer_is(code):
    """Its sender was told that it failed, and may have sent it again."""
    world, cluster, client = produce_world(
        linger_ms=20, delivery_timeout_ms=600, request_timeout_ms=500
    )
    send_all(client, values(1))
    client.flush()
    sent = []
    produce = cluster._produce

    def slow(node, request, reply):
        sent.append(world.now)
        produce(node, request, lambda answer: reply(answer, 300))

    cluster._produce = slow
    cluster.fault = lambda *_: code if len(sent) > 1 else int(ErrorCode.NOT_ENOUGH_REPLICAS)
    began = world.now
    send_all(client, [b"late", b"late"])
    client.flush()
    assert 600 <= world.now - began < sent[1] + 300 - began  # before the second answer
    world.run(5_000)
    assert len(sent) == 2
    assert [type(error) for error in client.errors()] == [KafkaTimeoutError] * 2
    cluster._produce = produce
    cluster.fault = lambda *_: None
    send_all(client, values(2, 1))
    client.flush()
    assert cluster.log().values == values(3)
    client.check_offsets()
