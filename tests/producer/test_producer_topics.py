"""Topics and partitions that are not there, not yet there, new, refused, or not used any more."""

import pytest
from scripted_producer import produce_world

from kcore import errors
from kcore.errors import IllegalArgumentError
from kcore.events import ErrorRaised
from kcore.producer.unlisted import ANSWERS
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode


def test_a_topic_that_is_made_later_is_found():
    world, cluster, client = produce_world()
    assert not client.send(b"x", topic="new")
    assert client.core.held_up == "metadata"
    world.run(3_000)
    cluster.topics["new"] = 2
    client.send_soon(b"x", 3_000, topic="new")
    client.flush()
    assert cluster.values("new") == [b"x"]


def test_a_topic_that_is_refused_is_told_each_time_it_is_asked_for():
    world, cluster, client = produce_world()

    def refuse(node, request):
        answer = []
        cluster._metadata(node, request, answer.append)
        for topic in answer[0].topics:
            topic.error_code = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return answer[0]

    cluster.script[ApiKey.METADATA] = refuse
    for _ in range(2):
        client.events.clear()
        assert not client.send(b"x")
        world.run(2_000)
        kinds = {type(event.error) for event in client.of(ErrorRaised)}
        assert kinds == {errors.TopicAuthorizationFailedError}


def test_a_partition_that_does_not_exist_is_refused_once_brokers_were_asked_for_it():
    world, cluster, client = produce_world(topics={"t": 3})
    client.send_soon(b"x")
    with pytest.raises(IllegalArgumentError, match="partition -1"):
        client.send(b"x", partition=-1)
    for _ in range(2):  # asked for anew each time: it may be there by now
        before = cluster.count(ApiKey.METADATA)
        with pytest.raises(IllegalArgumentError, match="no partition 3: it has 3"):
            client.send_soon(b"x", partition=3, within_ms=10_000)
        assert before + ANSWERS <= cluster.count(ApiKey.METADATA) <= before + ANSWERS + 1
        world.run(1_000)
    asked = cluster.count(ApiKey.METADATA)
    world.run(20_000)
    assert cluster.count(ApiKey.METADATA) == asked, "nobody waits for it any more"


def test_who_waits_for_the_same_partition_waits_for_the_same_answer():
    world, cluster, client = produce_world(topics={"t": 3})
    client.send_soon(b"x")
    since, before, left = world.now, cluster.count(ApiKey.METADATA), 5
    while left:
        world.run(5)
        for _ in range(left):
            try:
                assert not client.send(b"x", partition=3, since_ms=since)
            except IllegalArgumentError:
                left -= 1
    assert cluster.count(ApiKey.METADATA) <= before + ANSWERS + 1
    assert not client.send(b"x", partition=3)  # who comes now has it looked for anew


def test_a_partition_that_is_new_is_waited_for():
    world, cluster, client = produce_world(topics={"t": 1})
    client.send_soon(b"x")
    cluster.topics["t"] = 4
    client.send_soon(b"y", partition=3, within_ms=1_000)
    client.flush()
    assert cluster.log(3).values == [b"y"]


def test_a_broker_that_lags_behind_may_tell_of_a_new_partition_a_little_later():
    world, cluster, client = produce_world(topics={"t": 1})
    client.send_soon(b"x")
    before = cluster.count(ApiKey.METADATA)
    assert not client.send(b"y", partition=3)
    while cluster.count(ApiKey.METADATA) == before:
        world.run(5)
    cluster.topics["t"] = 4
    client.send_soon(b"y", partition=3, within_ms=1_000)


def test_what_was_asked_for_a_record_long_gone_refuses_no_other():
    world, cluster, client = produce_world(topics={"t": 1}, max_block_ms=5_000)
    client.send_soon(b"x")
    assert not client.send(b"y", partition=3)
    assert client.core.held_up == "partition"
    world.run(60_000)
    cluster.topics["t"] = 4
    client.send_soon(b"y", partition=3, within_ms=1_000)


def test_what_was_answered_to_a_record_long_gone_refuses_no_other():
    world, cluster, client = produce_world(topics={"t": 1}, max_block_ms=5_000)
    client.send_soon(b"x")
    before = cluster.count(ApiKey.METADATA)
    while cluster.count(ApiKey.METADATA) < before + ANSWERS - 1:
        assert not client.send(b"y", partition=3)
        world.run(5)
    world.run(60_000)
    before = cluster.count(ApiKey.METADATA)
    with pytest.raises(IllegalArgumentError):
        client.send_soon(b"y", partition=3, within_ms=5_000)
    assert cluster.count(ApiKey.METADATA) >= before + ANSWERS


def test_a_topic_that_is_not_used_for_long_is_asked_for_no_more_until_it_is():
    world, cluster, client = produce_world(
        topics={"t": 1, "u": 1}, metadata_max_idle_ms=5_000, metadata_max_age_ms=500
    )

    def asked_for():
        requests = [message for _, api, message in cluster.asked if api is ApiKey.METADATA]
        return {topic.name for topic in requests[-1].topics}

    client.send_soon(b"first", topic="u")
    for second in range(10):
        client.send_soon(b"x")
        world.run(1_000)
        assert asked_for() == ({"t", "u"} if second < 4 else {"t"}) or second == 4
    client.send_soon(b"second", topic="u")
    client.flush()
    assert cluster.log(topic="u").values == [b"first", b"second"]
    assert asked_for() == {"u"}  # alone, as one that is new
    world.run(1_000)
    assert asked_for() == {"t", "u"}


def test_a_topic_that_was_deleted_is_not_made_anew_by_the_next_one():
    """Brokers that make what is missing would, if it were asked for along with others."""
    world, cluster, client = produce_world(topics=dict.fromkeys("abc", 1))
    for name in "abc":
        before = len(cluster.asked)
        client.send_soon(b"x", topic=name)
        client.flush()
        requests = [m for _, api, m in cluster.asked[before:] if api is ApiKey.METADATA]
        if name != "a":  # the first connection is behind a request of its own
            assert [[topic.name for topic in one.topics] for one in requests] == [[name]]
        del cluster.topics[name]


def test_a_topic_with_records_under_way_is_not_forgotten():
    world, cluster, client = produce_world(
        nodes=2, topics={"t": 2}, metadata_max_idle_ms=5_000, delivery_timeout_ms=60_000
    )
    client.send_soon(b"first", partition=1)
    client.flush()
    world.kill_node(2)
    client.send_soon(b"x", partition=1)
    world.run(20_000)
    world.revive_node(2)
    client.flush()
    assert client.errors() == []
    assert cluster.log(1).values == [b"first", b"x"]
