"""throttle_cb, and stats_cb of an AdminClient: what a program hears of brokers' quotas, and of what
is measured, over both libraries.
"""

import gc
import itertools
import json
import threading
import time
import types
import weakref

import confluent_kafka
import confluent_kafka.admin
import pytest

from kcore.clients.stand_in.confluent.names import MODULES
from kcore.embedded import EmbeddedBroker

OURS = types.SimpleNamespace(**MODULES["confluent_kafka"])
OURS.admin = types.SimpleNamespace(**MODULES["confluent_kafka.admin"])
BOTH = pytest.mark.parametrize("library", [OURS, confluent_kafka], ids=["ours", "theirs"])


@pytest.fixture
def broker():
    with EmbeddedBroker() as one:
        one.create_topic("t", 1)
        yield one


def check(told, broker):
    assert told
    for event in told:
        assert event.broker_name == broker.bootstrap
        assert event.broker_id in {-1, 0, 1}  # -1: of the first connection, there
    assert 0 < told[0].throttle_time < 60
    assert f"{told[0].broker_name}/{told[0].broker_id} throttled for" in str(told[0])


@BOTH
def test_a_producer_hears_that_it_is_throttled_and_when_that_is_over(library, broker):
    told = []
    producer = library.Producer(
        {"bootstrap.servers": broker.bootstrap, "client.id": "p", "throttle_cb": told.append}
    )
    producer.produce("t", bytes(1_000))
    assert producer.flush(20) == 0
    assert told == []
    broker.throttle(client_id="p", producer_byte_rate=10_000)
    for _ in range(2):
        producer.produce("t", bytes(60_000))
        assert producer.flush(20) == 0
    until = time.monotonic() + 20
    while not told and time.monotonic() < until:
        producer.poll(0.1)
    check(told, broker)
    broker.unthrottle(client_id="p")
    while told[-1].throttle_time and time.monotonic() < until:
        producer.produce("t", b"x")
        producer.flush(5)
    assert told[-1].throttle_time == 0
    count = len(told)
    producer.produce("t", b"x")
    assert producer.flush(20) == 0
    assert len(told) == count


@BOTH
def test_a_consumer_hears_it_too(library, broker):
    producer = library.Producer({"bootstrap.servers": broker.bootstrap})
    for _ in range(20):
        producer.produce("t", bytes(20_000))
    assert producer.flush(20) == 0
    broker.throttle(client_id="c", consumer_byte_rate=10_000)
    told = []
    consumer = library.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "client.id": "c",
            "auto.offset.reset": "earliest",
            "throttle_cb": told.append,
        }
    )
    consumer.assign([library.TopicPartition("t", 0, 0)])
    until = time.monotonic() + 20
    while not told and time.monotonic() < until:
        consumer.poll(0.1)
    consumer.close()
    check(told, broker)


@BOTH
def test_an_admin_client_hears_it_of_every_call(library, broker):
    broker.throttle(client_id="a", request_percentage=0.01)
    told, threads = [], set()

    def hear(event):
        told.append(event)
        threads.add(threading.current_thread())

    admin = library.admin.AdminClient(
        {"bootstrap.servers": broker.bootstrap, "client.id": "a", "throttle_cb": hear}
    )
    assert admin.describe_cluster().result(20).nodes
    assert told == []
    assert admin.poll(20) == len(told) > 0
    check(told, broker)
    broker.unthrottle(client_id="a")
    config = library.admin.ConfigResource("broker", "1")
    (options,) = admin.describe_configs([config]).values()
    assert options.result(20)
    while told[-1].throttle_time:
        assert admin.poll(20) >= 1
    for one, other in itertools.pairwise(told):
        assert one.throttle_time or other.throttle_time
    assert threads == {threading.current_thread()}


@BOTH
def test_an_admin_client_tells_what_is_measured(library, broker):
    told = []
    admin = library.admin.AdminClient(
        {
            "bootstrap.servers": broker.bootstrap,
            "client.id": "a",
            "statistics.interval.ms": 100,
            "stats_cb": told.append,
        }
    )
    begin = time.monotonic()
    assert admin.poll(0) == 0
    assert admin.poll(20) == 1
    assert admin.poll(20) == 1
    assert 0.1 < time.monotonic() - begin < 10
    assert admin.describe_cluster().result(20).nodes
    until = time.monotonic() + 20
    while time.monotonic() < until:
        admin.poll(20)
        last = json.loads(told[-1])
        if last["rx"]:
            break
    assert (last["type"], last["client_id"]) == ("producer", "a")
    assert last["name"].startswith("a#producer-")
    assert last["tx"] > 0
    assert last["rx_bytes"] > 0
    assert last["time"] == pytest.approx(time.time(), abs=60)
    assert last["topics"] == {}
    (node,) = [one for one in last["brokers"].values() if one["nodeid"] == 1]
    assert node["nodename"] == broker.bootstrap
    assert node["name"] == f"{broker.bootstrap}/1" in last["brokers"]
    assert f"{broker.bootstrap}/bootstrap" not in last["brokers"]  # the same one
    assert last["ts"] > json.loads(told[0])["ts"]


@BOTH
def test_without_a_callback_poll_counts_what_is_measured(library, broker):
    conf = {"bootstrap.servers": broker.bootstrap, "statistics.interval.ms": 100}
    assert library.admin.AdminClient(conf).poll(20) == 1
    admin = library.admin.AdminClient(
        {"bootstrap.servers": broker.bootstrap, "stats_cb": lambda _text: None}
    )
    assert admin.poll(0.2) == 0


@BOTH
def test_what_stats_cb_raises_comes_out_of_poll(library, broker):
    def strike(_text):
        raise ValueError("struck")

    # Theirs, once this has raised, is never freed: it would say for good, once a second, that its
    # broker is gone.
    quiet = {"log_level": 0}
    admin = library.admin.AdminClient(
        {"bootstrap.servers": broker.bootstrap, "statistics.interval.ms": 50, "stats_cb": strike}
        | quiet
    )
    for _ in range(2):
        with pytest.raises(ValueError, match="struck"):
            admin.poll(20)
    assert admin.list_topics(timeout=20).brokers


@BOTH
def test_poll_of_less_than_no_time_looks_and_goes_on(library, broker):
    admin = library.admin.AdminClient({"bootstrap.servers": broker.bootstrap})
    assert admin.poll(-1) == 0


def test_callbacks_that_hold_their_client_do_not_keep_it(broker):
    class Owner:
        def __init__(self):
            conf = {"bootstrap.servers": broker.bootstrap, "statistics.interval.ms": 50}
            calls = {"stats_cb": self.hear, "throttle_cb": self.hear}
            self.admin = OURS.admin.AdminClient(conf | calls)
            self.told = 0

        def hear(self, _told):
            self.told += 1

    owner = Owner()
    assert owner.admin.poll(20) == 1
    held = weakref.ref(owner.admin)
    del owner
    gc.collect()
    assert held() is None
