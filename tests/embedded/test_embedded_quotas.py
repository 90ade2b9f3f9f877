"""Clients that are throttled: the words of tests, a directory, ours and other people's clients."""

import asyncio
import subprocess
import time

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest
from foreign_members import DEADLINE_S, until
from leftovers import ALSO_AIOKAFKA

import kcore
from kcore.admin import ClientQuotaMatch, NewTopic
from kcore.broker import apis
from kcore.cli.demo.java import TOOLS
from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaTimeoutError, NoError, UsageError
from kcore.wire.apis import ApiKey

pytestmark = ALSO_AIOKAFKA

slow = pytest.mark.slow


@pytest.fixture
def asked(monkeypatch):
    """(client id, API, when) of each request."""
    seen = []

    def noting(handle, key):
        def serve(call, request):
            seen.append((call.client_id, key, time.monotonic()))
            return handle(call, request)

        return serve

    for key in (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA):
        monkeypatch.setitem(apis.HANDLERS, key, noting(apis.HANDLERS[key], key))
    return seen


# The words ----------------------------------------------------------------------------------------


def test_quotas_are_set_and_taken_away(kcore_broker):
    broker = kcore_broker
    assert broker.quotas() == []
    broker.throttle(client_id="billing", producer_byte_rate=1_000, consumer_byte_rate=2_000)
    broker.throttle(request_percentage=0.5)
    broker.throttle(user="alice", client_id="", controller_mutation_rate=2)
    broker.throttle(host="127.0.0.1", connection_creation_rate=100)
    billing = {"entity": {"client-id": "billing"}}
    assert broker.quotas() == [
        billing | {"quotas": {"producer_byte_rate": 1_000.0, "consumer_byte_rate": 2_000.0}},
        {"entity": {"client-id": None}, "quotas": {"request_percentage": 0.5}},
        {"entity": {"client-id": None, "user": "alice"}, "quotas": {"controller_mutation_rate": 2}},
        {"entity": {"ip": "127.0.0.1"}, "quotas": {"connection_creation_rate": 100.0}},
    ]
    broker.throttle(client_id="billing", producer_byte_rate=None)
    assert broker.quotas()[0] == billing | {"quotas": {"consumer_byte_rate": 2_000.0}}
    broker.unthrottle(client_id="billing")
    assert len(broker.quotas()) == 3
    broker.unthrottle()
    assert broker.quotas() == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "no rate"),
        ({"client_id": 3, "producer_byte_rate": 1}, "client_id=3"),
        ({"producer_byte_rate": "1"}, "producer_byte_rate='1'"),
        ({"producer_byte_rate": True}, "producer_byte_rate=True"),
        ({"producer_byte_rate": 0}, "must be greater than 0"),
        ({"producer_byte_rate": 10**400}, "producer_byte_rate is more than"),
        ({"producer_byte_rate": 1.5}, "cannot be a fractional value"),
        ({"nope": 1}, "'nope' is no rate: these are producer_byte_rate, consumer_byte_rate, req"),
        ({"host": "10.0.0.1", "user": "a", "connection_creation_rate": 1}, "combination"),
        ({"host": "nowhere", "connection_creation_rate": 1}, "not a valid IP"),
    ],
)
def test_what_cannot_be_is_refused(kcore_broker, arguments, why):
    with pytest.raises(UsageError, match=why):
        kcore_broker.throttle(**arguments)
    assert kcore_broker.quotas() == []


def test_a_directory_keeps_them(tmp_path):
    with EmbeddedBroker(directory=tmp_path) as broker:
        broker.throttle(client_id="a", producer_byte_rate=1_000)
        broker.throttle(client_id="b", producer_byte_rate=1_000)
        broker.throttle(user="", consumer_byte_rate=7)
        broker.unthrottle(client_id="b")
        kept = broker.quotas()
    for _ in range(2):  # the second time from what the first one has written
        with EmbeddedBroker(directory=tmp_path) as broker:
            assert broker.quotas() == kept
            broker.create_topic("t" * (1 + len(broker.topics())))
            with kcore.Producer(bootstrap_servers=broker.bootstrap, client_id="a") as producer:
                producer.send(min(broker.topics()), b"x" * 10_100).get(DEADLINE_S)


# Our clients --------------------------------------------------------------------------------------


def test_our_producer_is_held_back_and_loses_nothing(kcore_broker, asked):
    kcore_broker.create_topic("t")
    kcore_broker.throttle(client_id="slow", producer_byte_rate=100_000)
    options = {"bootstrap_servers": kcore_broker.bootstrap, "client_id": "slow", "batch_size": 1}
    with kcore.Producer(**options) as producer:
        producer.send("t", b"x" * 1_030_000).get(DEADLINE_S)  # 300 ms too much
        for future in [producer.send("t", b"y") for _ in range(3)]:
            future.get(DEADLINE_S)
    assert gap(asked, ApiKey.PRODUCE) > 0.25
    assert kcore_broker.end_offsets("t") == [4]
    assert not kcore_broker.faults


def gap(asked, key):
    """Between the first two requests of an API, in s."""
    first, second, *_ = [when for who, api, when in asked if who == "slow" and api is key]
    return second - first


# A broker whose own time is over would hear them: it is the client that waits (KIP-219).


def test_our_producer_waits_by_itself(kcore_broker, asked):
    kcore_broker.create_topic("t")
    kcore_broker.throttle(client_id="slow", producer_byte_rate=100_000)
    options = {"bootstrap_servers": kcore_broker.bootstrap, "client_id": "slow"}
    with kcore.Producer(max_request_size=2_000_000, **options) as producer:
        producer.send("t", b"x" * 1_040_000).get(DEADLINE_S)
        kcore_broker.let_time_pass(60_000)
        producer.send("t", b"y").get(DEADLINE_S)
    assert gap(asked, ApiKey.PRODUCE) > 0.35


def test_our_consumer_waits_by_itself_and_gets_everything(kcore_broker, asked):
    kcore_broker.create_topic("t")
    kcore_broker.produce("t", [(None, b"x" * 1_040_000)])
    kcore_broker.throttle(client_id="slow", consumer_byte_rate=100_000)
    taken = []
    options = {"bootstrap_servers": kcore_broker.bootstrap, "client_id": "slow"}
    with kcore.Consumer("t", auto_offset_reset="earliest", **options) as consumer:
        until(
            lambda: any(api is ApiKey.FETCH for _, api, _ in asked),
            lambda: taken.extend(consumer.poll(timeout_ms=10)),
        )
        assert not taken
        kcore_broker.unthrottle()
        kcore_broker.let_time_pass(60_000)
        until(lambda: taken, lambda: taken.extend(consumer.poll(timeout_ms=50)))
    assert gap(asked, ApiKey.FETCH) > 0.35
    assert not kcore_broker.faults


def test_our_admin_client_is_told_that_topics_have_to_wait(kcore_broker):
    kcore_broker.throttle(controller_mutation_rate=10)
    with kcore.Admin(bootstrap_servers=kcore_broker.bootstrap, client_id="slow") as admin:
        admin.create_topics([NewTopic("one", 112, 1)])
        with pytest.raises(KafkaTimeoutError, match="THROTTLING_QUOTA_EXCEEDED"):
            admin.create_topics([NewTopic("two", 1, 1)], timeout_ms=100)
        kcore_broker.let_time_pass(10_000)
        admin.create_topics([NewTopic("two", 1, 1)])
    assert kcore_broker.topics() == {"one": 112, "two": 1}


def test_our_admin_client_sets_and_finds_quotas(kcore_broker):
    with kcore.Admin(bootstrap_servers=kcore_broker.bootstrap) as admin:
        whose = [{"user": "alice"}, {"user": "alice", "client-id": None}, {"ip": "10.0.0.1"}]
        rates = [{"producer_byte_rate": 1_024}, {"request_percentage": 12.5}]
        rates.append({"connection_creation_rate": 7})
        changes = list(zip(whose, rates, strict=True))
        wanted = [(entity, NoError) for entity in whose]
        assert admin.alter_client_quotas(changes, validate_only=True) == wanted
        assert kcore_broker.quotas() == admin.describe_client_quotas() == []
        assert admin.alter_client_quotas(changes) == wanted
        assert admin.describe_client_quotas() == kcore_broker.quotas()
        found = admin.describe_client_quotas({"user": ClientQuotaMatch.ANY}, strict=True)
        assert found == [{"entity": whose[0], "quotas": rates[0]}]


# Other people's -----------------------------------------------------------------------------------


@slow
def test_librdkafka_says_that_it_is_throttled(kcore_broker):
    kcore_broker.create_topic("t")
    kcore_broker.throttle(client_id="slow", producer_byte_rate=1_000)
    said = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": kcore_broker.bootstrap,
            "client.id": "slow",
            "throttle_cb": said.append,
        }
    )
    producer.produce("t", b"x" * 10_500)
    until(lambda: said, lambda: producer.poll(0.05))
    assert producer.flush(DEADLINE_S) == 0
    assert 0.5 < said[0].throttle_time < 1.0


@slow
def test_kafka_python_says_that_it_is_throttled(kcore_broker, caplog):
    kcore_broker.create_topic("t")
    kcore_broker.throttle(client_id="slow", producer_byte_rate=1_000)
    producer = kafka_python.KafkaProducer(
        bootstrap_servers=kcore_broker.bootstrap, client_id="slow"
    )
    producer.send("t", b"x" * 10_500).get(DEADLINE_S)
    producer.close()
    assert "ProduceResponse throttled by broker" in caplog.text


@slow
def test_aiokafka_waits_for_the_broker_and_gets_everything(kcore_broker):
    kcore_broker.create_topic("t")
    kcore_broker.throttle(client_id="slow", producer_byte_rate=10_000)

    async def main():
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=kcore_broker.bootstrap, client_id="slow"
        )
        await producer.start()
        began = time.monotonic()
        await producer.send_and_wait("t", b"x" * 105_000)
        await producer.send_and_wait("t", b"y")
        took = time.monotonic() - began
        await producer.stop()
        return took

    assert asyncio.run(main()) > 0.4
    assert kcore_broker.end_offsets("t") == [2]


@slow
@pytest.mark.kafka
@pytest.mark.timeout(200)
def test_java_is_throttled_and_its_tools_set_quotas(installation, kcore_broker, tmp_path):
    def tool(name, *args):
        command = installation.command(
            TOOLS[name], "--bootstrap-server", kcore_broker.bootstrap, *args
        )
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def config(*args):
        return tool("kafka-configs", *args)

    billing = ("--entity-type", "clients", "--entity-name", "billing")
    config("--alter", *billing, "--add-config", "producer_byte_rate=50000,consumer_byte_rate=7")
    config("--alter", *billing, "--delete-config", "consumer_byte_rate")
    config("--alter", "--entity-type", "users", "--entity-default", "--add-config",
           "request_percentage=200")  # fmt: skip
    config("--alter", "--entity-type", "ips", "--entity-name", "127.0.0.1", "--add-config",
           "connection_creation_rate=100")  # fmt: skip
    assert kcore_broker.quotas() == [
        {"entity": {"client-id": "billing"}, "quotas": {"producer_byte_rate": 50_000.0}},
        {"entity": {"user": None}, "quotas": {"request_percentage": 200.0}},
        {"entity": {"ip": "127.0.0.1"}, "quotas": {"connection_creation_rate": 100.0}},
    ]
    assert "producer_byte_rate=50000.0" in config("--describe", *billing)
    assert "connection_creation_rate=100.0" in config("--describe", "--entity-type", "ips")
    assert "request_percentage=200.0" in config("--describe", "--entity-type", "users")
    kcore_broker.create_topic("t")
    said = tool(
        *("kafka-producer-perf-test", "--topic", "t", "--num-records", "520", "--throughput", "-1"),
        *("--record-size", "1000", "--print-metrics", "--command-property", "client.id=billing"),
    )
    (line,) = [one for one in said.splitlines() if "produce-throttle-time-max" in one]
    assert float(line.rsplit(":", 1)[1]) > 0, line
    assert kcore_broker.end_offsets("t") == [520]
    assert not kcore_broker.faults
