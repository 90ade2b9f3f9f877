"""Quotas of clients on a virtual clock: what counts for whom, how long one waits, and for what."""

import pytest
from broker_world import World, batch, fetch, only, produce

from kcore.broker import BrokerConfig, RefusedError
from kcore.broker.quotas.rates import Bucket, Rate, Windows
from kcore.broker.quotas.table import Table, entity_of
from kcore.errors import KafkaConfigurationError
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

WINDOWS = Windows(11, 1_000)
SLOW = (("client-id", "test"),)  # as the clients of this world call themselves


@pytest.fixture
def world():
    made = World()
    made.topic("t")
    yield made
    assert not made.faults


def limit(world, entity=SLOW, **rates):
    world.cluster.with_quotas().set(entity_of(entity), rates)


# Rates --------------------------------------------------------------------------------------------


def test_a_rate_is_over_ten_windows_at_least():
    rate = Rate(WINDOWS)
    assert (rate.value(5), rate.window_ms(5)) == (0, 10_000)
    rate.record(20_000, 1_000)
    assert rate.value(1_000) == 2_000
    assert rate.excess_ms(1_000, 1_000) == 10_000
    assert rate.excess_ms(2_000, 1_000) == 0
    assert rate.window_ms(1_999) == 10_999  # one of them has begun only
    assert rate.window_ms(11_999) == 10_999
    assert rate.value(11_999) == pytest.approx(20_000 / 10.999)
    assert (rate.value(12_000), rate.window_ms(12_000)) == (0, 10_000)  # eleven later it is over


def test_a_window_is_forgotten_when_its_last_record_is_old():
    rate = Rate(WINDOWS)
    rate.record(100, 0)
    rate.record(100, 900)
    assert rate.value(11_500) == pytest.approx(200 * 1_000 / 11_500)
    rate.record(100, 1_800)  # of the next: windows are as long from when they began
    assert rate.value(11_950) == pytest.approx(100 * 1_000 / 10_150)
    rate = Rate(WINDOWS)
    rate.record(100, 0)
    rate.record(100, 1_000)  # the first ms of the next
    assert rate.value(11_500) == pytest.approx(100 * 1_000 / 10_500)


def test_what_is_taken_back_was_never_there():
    rate = Rate(WINDOWS)
    rate.record(5_000, 0)
    rate.record(-5_000, 10)
    assert rate.value(20) == 0


def test_a_rate_remembers_no_more_windows_than_there_are():
    rate = Rate(WINDOWS)
    for second in range(1_000):
        rate.record(100, 1_000 * second)
    assert len(rate._samples) <= 12
    assert rate.value(999_500) == pytest.approx(100, rel=0.15)


def test_a_bucket_is_full_and_may_be_overdrawn_once():
    bucket = Bucket(WINDOWS, 2.0, 0)
    bucket.take(22, 2.0, 0)
    assert bucket.excess_ms(2.0, 0) == 0
    bucket.take(4, 2.0, 0)
    assert bucket.excess_ms(2.0, 0) == 2_000
    assert bucket.excess_ms(2.0, 1_500) == 500
    assert bucket.tokens(2.0, 1_000_000) == 22


# Who ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "found"),
    [
        (8, ("u", "c", 1)), (7, ("u", "c", 2)), (6, ("u", "", 3)), (5, ("u", "c", 4)),
        (4, ("u", "c", 5)), (3, ("u", "", 6)), (2, ("", "c", 7)), (1, ("", "c", 8)), (0, None),
    ],
)  # fmt: skip
def test_the_order_of_precedence(left, found):
    order = [
        {"user": "u", "client-id": "c"}, {"user": "u", "client-id": None}, {"user": "u"},
        {"user": None, "client-id": "c"}, {"user": None, "client-id": None}, {"user": None},
        {"client-id": "c"}, {"client-id": None},
    ]  # fmt: skip
    table = Table()
    for rank, entity in list(enumerate(order, 1))[8 - left :]:
        table.alter(entity_of(entity.items()), {"producer_byte_rate": rank})
    table.alter(entity_of([("user", "other")]), {"producer_byte_rate": 99})
    table.alter(entity_of([("user", "u")]), {"consumer_byte_rate": 99})
    assert table.limit("producer_byte_rate", "u", "c") == found


def test_a_quota_that_is_no_number_limits_nobody():
    table = Table()
    table.alter(SLOW, {"consumer_byte_rate": float("nan")})
    assert table.limit("consumer_byte_rate", "u", "test") is None


def test_names_and_entities_are_bounded(world):
    with pytest.raises(RefusedError, match="more than 1000 characters"):
        limit(world, (("user", "x" * 1_001),), producer_byte_rate=1)
    for number in range(10_000):
        limit(world, (("user", str(number)),), producer_byte_rate=1)
    with pytest.raises(RefusedError, match="10000 entities are most"):
        limit(world, (("user", "one more"),), producer_byte_rate=1)


# Producing ----------------------------------------------------------------------------------------


def put(client, size=1, acks=-1, version=9):
    return client.ask(produce(batch(b"x" * size), acks=acks), version)


def ping(client):
    client.send(m.MetadataRequest(topics=[]), 12)
    return client.answer()


def test_who_writes_too_much_is_answered_at_once_and_then_not_heard(world):
    limit(world, producer_byte_rate=1_000)
    client = world.client()
    assert put(client, 5_000).throttle_time_ms == 0
    throttled = put(client, 6_000)
    assert only(throttled).error_code == 0
    wait_ms = throttled.throttle_time_ms
    assert 1_000 < wait_ms < 1_300
    assert ping(client) is None
    assert world.client().ask(m.MetadataRequest(topics=[]), 12)  # another connection is heard
    world.run(wait_ms - 1)
    assert client.answer() is None
    world.run(1)
    assert client.answer()
    assert put(client).throttle_time_ms > 0  # it is still above it: the windows are the same


def test_it_is_over_when_the_windows_are(world):
    limit(world, producer_byte_rate=1_000)
    client = world.client()
    assert put(client, 30_000).throttle_time_ms > 20_000
    world.run(25_000)
    assert put(client).throttle_time_ms == 0


def test_who_wants_no_answer_waits_too(world):
    limit(world, producer_byte_rate=1_000)
    client = world.client()
    client.send(produce(batch(b"x" * 12_000), acks=0), 9)
    assert ping(client) is None
    world.run(3_000)
    assert client.answer()


def test_all_connections_of_a_client_count_together_and_those_of_others_do_not(world):
    limit(world, (("client-id", None),), producer_byte_rate=1_000)
    assert put(world.client(), 6_000).throttle_time_ms == 0
    assert put(world.client(), 6_000).throttle_time_ms > 0
    limit(world, (("client-id", "test"),), producer_byte_rate=1_000_000)
    assert put(world.client(), 6_000).throttle_time_ms == 0


def test_old_versions_are_throttled_likewise(world):
    limit(world, producer_byte_rate=1_000)
    client = world.client()
    assert put(client, 20_000, version=3).throttle_time_ms > 0
    assert ping(client) is None


def test_a_muted_connection_may_be_closed_and_a_node_stop(world):
    limit(world, producer_byte_rate=1_000)
    client = world.client()
    put(client, 20_000)
    ping(client)
    client.close()
    world.run(60_000)
    other = world.client()
    put(other, 20_000)
    world.cluster.stop_node(1, world.now_ms)
    world.drain()
    assert other.closed
    world.run(60_000)


def test_who_is_gone_is_not_kept_until_his_time_is_over(world):
    limit(world, producer_byte_rate=10)
    waiting = world.client()
    wait_ms = put(waiting, 5_000).throttle_time_ms
    assert wait_ms > 400_000
    for _ in range(300):
        client = world.client()
        put(client)
        client.close()
    assert len(world.nodes[1].throttle._muted) < 100
    assert ping(waiting) is None
    world.run(wait_ms)
    assert waiting.answer()


@pytest.mark.parametrize("count", [1, 11])
@pytest.mark.parametrize("rate", [5e-324, 1e308])
def test_rates_at_their_extremes(count, rate):
    world = World(config=BrokerConfig(quota_window_num=count))
    world.topic("t")
    limit(world, request_percentage=rate)
    assert put(world.client()).throttle_time_ms == (1_000 if rate < 1 < count else 0)
    assert not world.faults


def test_a_quota_that_is_taken_away_counts_no_more(world):
    limit(world, producer_byte_rate=1_000)
    put(world.client(), 20_000)
    limit(world, producer_byte_rate=None)
    assert put(world.client(), 20_000).throttle_time_ms == 0
    assert world.cluster.quotas.entries == {}


def test_windows_are_options():
    config = BrokerConfig(quota_window_num=2, quota_window_size_seconds=3)
    world = World(config=config)
    world.topic("t")
    limit(world, producer_byte_rate=1_000)
    assert 9_000 < put(world.client(), 12_000).throttle_time_ms < 9_300  # of 3 s, 12 s are too much
    for wrong in ({"quota_window_num": 0}, {"controller_quota_window_size_seconds": -1}):
        with pytest.raises(KafkaConfigurationError, match="is not within"):
            BrokerConfig(**wrong)


# Fetching -----------------------------------------------------------------------------------------


def fill(world, *sizes):
    client = world.client()
    for size in sizes:
        put(client, size)


def test_who_reads_too_much_gets_nothing_and_waits(world):
    fill(world, 20_000)
    limit(world, consumer_byte_rate=1_000)
    client = world.client()
    answer = client.ask(fetch(), 12)
    assert 10_000 < answer.throttle_time_ms < 10_300
    assert (answer.responses, answer.error_code, answer.session_id) == ([], 0, 0)
    assert ping(client) is None
    world.run(answer.throttle_time_ms)
    assert client.answer()
    # What was not given was not counted: it is the same again, over a window as much longer.
    again = client.ask(fetch(), 12).throttle_time_ms
    assert 0 <= answer.throttle_time_ms - again <= 1_000


def test_no_more_is_given_than_can_be_had_without_waiting(world):
    fill(world, 6_000, 6_000)
    limit(world, consumer_byte_rate=1_000)
    answer = world.client().ask(fetch(), 12)
    assert answer.throttle_time_ms == 0
    assert len(only(answer).records) < 7_000


def test_a_session_goes_on_after_it_was_throttled(world):
    client = world.client()
    full = client.ask(fetch(session_epoch=0), 12)
    fill(world, 20_000)
    limit(world, consumer_byte_rate=1_000)
    asked = fetch()
    asked.session_id, asked.session_epoch = full.session_id, 1
    answer = client.ask(asked, 12)
    assert answer.throttle_time_ms > 0
    assert (answer.session_id, answer.responses) == (full.session_id, [])
    limit(world, consumer_byte_rate=None)
    world.run(answer.throttle_time_ms)
    asked = fetch()
    asked.topics, asked.session_id, asked.session_epoch = [], full.session_id, 2
    assert only(client.ask(asked, 12)).records


def test_a_new_session_is_not_made_for_who_is_throttled(world):
    fill(world, 20_000)
    limit(world, consumer_byte_rate=1_000)
    answer = world.client().ask(fetch(session_epoch=0), 12)
    assert (answer.throttle_time_ms > 0, answer.session_id) == (True, 0)


def test_who_waits_for_records_is_throttled_when_they_come(world):
    limit(world, consumer_byte_rate=1_000)
    client = world.client()
    client.send(fetch(max_wait_ms=60_000), 12)
    assert client.answer() is None
    fill(world, 20_000)
    assert client.answer().throttle_time_ms > 0


# Requests, topics, connections --------------------------------------------------------------------


def test_requests_are_a_share_of_time(world):
    limit(world, request_percentage=1)
    client = world.client()
    waits = []
    for _ in range(110):
        waits.append(client.ask(m.MetadataRequest(topics=[]), 12).throttle_time_ms)
        if waits[-1]:
            break
    assert len(waits) == 101  # a ms each: 100 are 1 % of ten seconds
    assert 0 < waits[-1] <= 1_000
    limit(world, request_percentage=0.000_01)
    assert world.client().ask(m.MetadataRequest(topics=[]), 12).throttle_time_ms == 1_000
    assert world.client().ask(fetch(), 12).throttle_time_ms == 1_000


def create(client, name, partitions, version=7):
    topic = m.CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1
    )
    answer = client.ask(m.CreateTopicsRequest(topics=[topic], timeout_ms=1_000), version)
    return answer.throttle_time_ms, answer.topics[0].error_code


def test_topics_are_made_as_fast_as_a_bucket_fills(world):
    limit(world, controller_mutation_rate=1)
    assert create(world.client(), "one", 14) == (0, 0)  # 11 there were
    client = world.client()
    assert create(client, "two", 1) == (3_000, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
    assert world.cluster.topics.get("two") is None
    assert create(world.client(), "three", 1, version=5) == (4_000, 0)
    world.run(4_000)
    assert create(client, "two", 1) == (0, 0)
    gone = m.DeleteTopicsRequest(topic_names=["one"], timeout_ms=1_000)
    assert world.client().ask(gone, 5).throttle_time_ms == 1_000


def test_connections_that_are_too_many_are_closed_after_a_while(world):
    limit(world, (("ip", None),), connection_creation_rate=1)
    made = [world.client() for _ in range(12)]
    assert [ping(client) is not None for client in made] == [True] * 10 + [False] * 2
    assert not made[-1].closed
    world.run(1_000)
    assert [client.closed for client in made] == [False] * 10 + [True] * 2
    limit(world, (("ip", "10.0.0.1"),), connection_creation_rate=100)
    assert ping(world.client())


def test_an_address_may_be_named_in_other_ways():
    table = Table()
    for name, host in (("localhost", "127.0.0.1"), ("::0001", "::1"), ("10.0.0.1", "10.0.0.1")):
        entity = (("ip", name),)
        table.check(entity, {"connection_creation_rate": 5})
        table.alter(entity, {"connection_creation_rate": 5})
        assert table.connections_of(host) == 5
        table.alter(entity, {"connection_creation_rate": None})
        assert table.connections_of(host) is None


def test_a_node_whose_clients_have_no_quotas_counts_nothing(world):
    assert world.nodes[1].throttle is None
    put(world.client(), 1_000)
    world.client().ask(m.DescribeClientQuotasRequest(), 1)
    assert world.nodes[1].throttle is world.cluster.quotas is None
