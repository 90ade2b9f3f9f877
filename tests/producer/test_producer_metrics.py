"""What a producer measures of itself, against what leaders were sent."""

import math

from scripted_producer import NOT_LEADER, first_times, produce_world, send_all, values

WHOLE = "producer-metrics"


def told(client):
    groups = client.core.metrics(client.world.now)
    for group, numbers in groups.items():
        for name, number in numbers.items():
            assert type(number) is float, (group, name)
            assert math.isfinite(number), (group, name)
    return groups


def test_everything_is_there_from_the_beginning():
    _, _, client = produce_world(buffer_memory=100_000)
    (whole,) = told(client).values()
    assert whole["buffer-total-bytes"] == whole["buffer-available-bytes"] == 100_000
    assert sum(whole.values()) == 200_000  # nothing else has happened


def test_what_was_sent_is_counted():
    world, cluster, client = produce_world(linger_ms=10, topics={"t": 1, "u": 1})
    send_all(client, values(100))
    send_all(client, values(50), topic="u")
    waiting = told(client)[WHOLE]
    assert waiting["buffer-available-bytes"] < waiting["buffer-total-bytes"]
    client.flush()
    logs = cluster.log(), cluster.log(topic="u")
    sizes = [info.size_bytes for log in logs for info in log.batches]
    groups = told(client)
    whole = groups[WHOLE]
    assert whole["record-send-total"] == 150
    assert whole["record-send-rate"] == 150 / 30
    assert whole["byte-total"] == sum(sizes)
    assert whole["batch-size-avg"] == sum(sizes) / len(sizes)
    assert whole["batch-size-max"] == max(sizes)
    assert whole["compression-rate-avg"] == 1
    assert whole["request-total"] >= 1
    assert whole["records-per-request-avg"] == 150 / whole["request-total"]
    assert whole["request-latency-max"] >= whole["request-latency-avg"]
    assert whole["requests-in-flight"] == 0
    assert whole["buffer-available-bytes"] == whole["buffer-total-bytes"]
    assert groups["producer-topic-metrics.u"]["record-send-total"] == 50
    assert groups["producer-topic-metrics.t"]["byte-total"] == sum(
        info.size_bytes for info in logs[0].batches
    )
    (node,) = [group for group in groups if group.startswith("producer-node-metrics.node-")]
    assert groups[node]["request-total"] == whole["request-total"]
    world.run(70_000)
    later = told(client)[WHOLE]
    assert later["record-send-rate"] == later["batch-size-max"] == 0
    assert later["record-send-total"] == 150


def test_lingering_is_time_in_the_queue():
    world, _, client = produce_world(linger_ms=200)
    send_all(client, values(1))
    client.flush()  # metadata and the producer id are there
    send_all(client, values(1, 1))
    world.run(1_000)
    assert 200 <= told(client)[WHOLE]["record-queue-time-max"] < 300


def test_retries_and_errors_are_counted_by_records():
    _, cluster, client = produce_world(retries=2, linger_ms=10)
    cluster.fault = first_times(2, NOT_LEADER)
    send_all(client, values(3))
    client.flush()
    groups = told(client)
    assert groups[WHOLE]["record-retry-total"] == 6
    assert groups[WHOLE]["record-send-total"] == 9
    assert groups[WHOLE]["record-error-total"] == 0
    cluster.fault = lambda *_: NOT_LEADER
    send_all(client, values(2))
    client.flush()
    groups = told(client)
    assert groups[WHOLE]["record-error-total"] == 2
    assert groups["producer-topic-metrics.t"]["record-error-total"] == 2


def test_splits_and_packing():
    _, cluster, client = produce_world(linger_ms=50, compression_type="gzip")
    send_all(client, [b"first"])
    client.flush()
    cluster.max_batch = 120
    send_all(client, [bytes(100)] * 100)
    client.flush()
    whole = told(client)[WHOLE]
    assert whole["batch-split-total"] >= 1
    assert 0 < whole["compression-rate-avg"] < 1
    assert whole["record-error-total"] == 0
