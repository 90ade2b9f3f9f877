"""What a share consumer measures, against a scripted cluster: counted by hand."""

from scripted_share import ShareClient

from kcore.errors import ShareSessionNotFoundError
from kcore.structs import AcknowledgeType, TopicPartition

T0 = TopicPartition("t", 0)
EXPLICIT = {"share_acknowledgement_mode": "explicit"}
CONSUMER, POLLS = "consumer-metrics", "consumer-share-metrics"
COORDINATOR = "consumer-share-coordinator-metrics"
FETCHING = "consumer-share-fetch-manager-metrics"
ACCEPT, RENEW = AcknowledgeType.ACCEPT, AcknowledgeType.RENEW


def told(client, group):
    return client.core.metrics(client.world.now)[group]


def acknowledge(client, records, kind=ACCEPT):
    for record in records:
        client.core.acknowledge(T0, record.offset, kind)


def test_nothing_has_happened_yet(world):
    client = ShareClient(world, {})
    assert set(client.core.metrics(world.now)) == {CONSUMER, POLLS, COORDINATOR, FETCHING}
    assert told(client, POLLS)["last-poll-seconds-ago"] == -1
    assert told(client, COORDINATOR)["last-heartbeat-seconds-ago"] == -1
    assert not any(told(client, FETCHING).values())


def test_records_count_once_and_acknowledgements_each_time(cluster, world):
    client = ShareClient(world, EXPLICIT).subscribe("t")
    records = client.polled(max_records=4)
    assert told(client, FETCHING)["records-consumed-total"] == 0  # more of the answer is to come
    acknowledge(client, records)
    *others, last = client.polled()
    found = told(client, FETCHING)
    assert found["records-consumed-total"] == found["records-per-request-max"] == 10
    ((_, _, batch),) = cluster.logs["t", 0]
    assert found["bytes-consumed-total"] == found["fetch-size-avg"] == len(batch)
    assert found["acknowledgements-send-total"] == 4  # along with the poll
    acknowledge(client, others)
    acknowledge(client, [last], RENEW)
    assert client.commit() == {T0: None}
    assert told(client, FETCHING)["acknowledgements-send-total"] == 10
    again = client.polled()
    assert [record.offset for record in again] == [last.offset]
    acknowledge(client, again)
    assert client.commit() == {T0: None}
    found = told(client, FETCHING)
    assert found["records-consumed-total"] == 10
    assert found["acknowledgements-send-total"] == 11
    assert found["acknowledgements-error-total"] == 0
    assert found["fetch-total"] >= 1
    assert found["fetch-latency-max"] > 0


def test_what_is_dropped_counts_as_far_as_it_came(world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled(max_records=4)
    client.core.unsubscribe(world.now)
    assert told(client, FETCHING)["records-consumed-total"] == 4


def test_acknowledgements_that_are_not_taken_in(cluster, world):
    client = ShareClient(world, EXPLICIT).subscribe("t")
    acknowledge(client, client.polled())
    cluster.forget_sessions()
    (error,) = client.commit().values()
    assert type(error) is ShareSessionNotFoundError
    found = told(client, FETCHING)
    assert found["acknowledgements-send-total"] == found["acknowledgements-error-total"] == 10


def test_polls_heartbeats_and_rebalances(world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    world.run(3_000)
    client.core.idle_ms += 1_500
    client.polled(500)
    world.run(2_500)
    found = told(client, POLLS)
    assert 2 <= found["last-poll-seconds-ago"] <= 3
    assert 3_000 <= found["time-between-poll-avg"] == found["time-between-poll-max"] < 4_000
    assert 0 < found["poll-idle-ratio-avg"] < 1
    found = told(client, COORDINATOR)
    assert found["heartbeat-total"] >= 2
    assert found["rebalance-total"] == 1
    assert found["heartbeat-response-time-max"] > 0
    assert 0 <= found["last-heartbeat-seconds-ago"] <= 6
    found = told(client, CONSUMER)
    assert found["connection-count"] >= 1
    assert found["request-total"] >= found["response-total"] > 0
