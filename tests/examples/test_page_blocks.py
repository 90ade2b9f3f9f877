"""The examples in Python of the README and of docs/ run as they stand, on an embedded broker.

What a fragment leaves to its reader is given here. Those of docs/EMBEDDED*.md run in a pytest of
their own (tests/embedded/test_embedded_docs.py), those with Spark in tests/pipeline/, those of
docs/SHARE.md on a real Kafka (tests/interop/test_share_page.py), those of docs/RECIPES.md in
`test_recipes.py`.
"""

import asyncio
import builtins
import itertools
import select
import socket
import subprocess
import sys
import time
from textwrap import indent
from types import SimpleNamespace
from urllib.request import urlopen

import pages
import pyarrow
import pytest
from late_writes import write_late
from told import EnoughError, Told

import kcore
from kcore.actions import Connect, Send
from kcore.admin import DelegationToken
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker
from kcore.settings.tokens import Source, source_of

EMBEDDED = {page for page in pages.names() if page.startswith("docs/EMBEDDED")}
ELSEWHERE = {*EMBEDDED, "docs/RECIPES.md", "docs/SHARE.md", "docs/spark.md"}
FLIGHTS = kcore.TopicPartition("flights", 0)
RECORDS = [(b"key", b"value-%d" % number) for number in range(30)]


@pytest.fixture
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("flights")
        broker.create_topic("orders", 4)
        broker.produce("flights", RECORDS)
        yield broker
        assert not broker.faults


def at(code, broker):
    for address in ("localhost:9092", "127.0.0.1:9092"):
        code = code.replace(address, broker.bootstrap)
    return code


def run(code, broker, **names):
    exec(at(code, broker), names)
    return names


def run_coroutine(code, broker, **names):
    """A fragment that awaits."""
    exec(f"async def main():\n{indent(at(code, broker), '    ')}", names)
    asyncio.run(names["main"]())


def committed(broker, group):
    with kcore.Consumer(bootstrap_servers=broker.bootstrap, group_id=group) as consumer:
        return consumer.committed(FLIGHTS)


def commit(broker, group, offset):
    """Where examples go on that would begin at the end."""
    with kcore.Consumer(bootstrap_servers=broker.bootstrap, group_id=group) as consumer:
        consumer.commit({FLIGHTS: kcore.OffsetAndMetadata(offset, "", -1)})


def readme_first_minute(code, _broker):
    # As a file of its own: nothing is given here.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "greetings 0 b'from me' b'hello'\n"


def readme_consumer(code, broker):
    told = Told()

    def until_told(most):
        return itertools.takewhile(lambda _: len(told.calls) < len(RECORDS), builtins.range(most))

    run(code, broker, print=told, range=until_told)
    assert told.calls == [(0, offset, *record) for offset, record in enumerate(RECORDS)]
    assert committed(broker, "g") == len(RECORDS)


def readme_async_consumer(code, broker):
    commit(broker, "g", 10)
    seen = Told(enough=20)

    async def handle(record):
        seen(record.value)

    with pytest.raises(EnoughError):
        run_coroutine(code, broker, handle=handle)
    assert seen.calls == [(value,) for _, value in RECORDS[10:]]


def readme_async_producer(code, broker):
    told = Told()
    run_coroutine(code, broker, kcore=kcore, print=told)
    assert told.calls == [(len(RECORDS),)]


class Sockets:
    """What the reader of the README's bare core brings along: sockets that block while they
    connect, and a clock.
    """

    def __init__(self):
        self.socks = {}
        self.standing = []

    def perform(self, action):
        if isinstance(action, Connect):
            self.socks[action.link] = socket.create_connection((action.host, action.port))
            self.standing.append(action.link)
        elif not isinstance(action, Send):
            self.close(action.link)
        elif action.link in self.socks:
            self.socks[action.link].sendall(action.data)

    def wait_until(self, deadline):
        standing, self.standing = self.standing, []
        if standing:
            return [(link, None) for link in standing]
        wait_s = max(0, min(deadline - now_ms(), 200)) / 1000
        ready = select.select(self.socks.values(), [], [], wait_s)[0]
        return [(link, sock.recv(65536)) for link, sock in self.socks.items() if sock in ready]

    def close(self, *links):
        for link in links:
            self.socks.pop(link).close()


def now_ms():
    return time.monotonic_ns() // 1_000_000


def readme_bare_core(code, broker):
    commit(broker, "g", 10)
    sockets, seen = Sockets(), Told(enough=2)

    def handle(partition, records):
        assert partition.topic == "flights"
        assert [record.value for record in records] == [value for _, value in RECORDS[10:]]
        broker.produce("flights", RECORDS[10:])
        seen()

    theirs = {"perform": sockets.perform, "wait_until": sockets.wait_until, "handle": handle}
    with pytest.raises(EnoughError):
        run(code, broker, now_ms=now_ms, **theirs)
    sockets.close(*list(sockets.socks))


def readme_fixture(code, broker):
    names = {}

    def run_my_service(bootstrap_servers):
        names["told"] = bootstrap_servers
        commit(broker, "g", 3)

    run(code, broker, run_my_service=run_my_service)["test_what_my_service_does_when_commits_fail"](
        FreshTopics(broker)
    )
    assert names["told"] == broker.bootstrap
    assert not broker.mishaps_to_come


class FreshTopics:
    """The broker of a test that makes its topics itself."""

    def __init__(self, broker):
        self.broker = broker

    def create_topic(self, name, partitions):
        assert self.broker.topics()[name] == partitions

    def __getattr__(self, name):
        return getattr(self.broker, name)


def arrow_tables(code, broker):
    names = run(code, broker)
    assert names["frame"]["value"].to_list() == [value for _, value in RECORDS]
    assert committed(broker, "g") == len(RECORDS)


def arrow_batches(code, broker):
    with kcore.Consumer(
        "flights", bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        names = run(code, broker, consumer=consumer, pyarrow=pyarrow)
    assert names["batch"].values.tolist() == [value for _, value in RECORDS]


def async_consumer(code, broker):
    told = Told(enough=len(RECORDS))
    with pytest.raises(EnoughError):
        run(code, broker, print=told)
    assert told.calls == [(0, offset, *record) for offset, record in enumerate(RECORDS)]
    assert committed(broker, "g") == len(RECORDS) - 1


def async_producer(code, broker):
    told = Told()
    run(code, broker, print=told)
    assert told.calls == [(0, len(RECORDS))]
    assert broker.end_offsets("flights") == [len(RECORDS) + 1001]


def admin_topics_and_groups(code, broker):
    commit(broker, "printers", 10)
    told = Told()
    run(code, broker, print=told)
    assert told.calls == [(0, 10, len(RECORDS), 20, None)]
    assert broker.topics()["trains"] == 6
    assert committed(broker, "printers") == 0


def admin_on_a_loop(code, broker):
    told = Told()
    run(code, broker, print=told)
    assert told.calls == [(2, [])]


def admin_of_controllers(code, broker):
    told = Told()
    run(code, broker, print=told)
    assert told.calls == [(1, "leads")]


def admin_and_what_hangs(code, _broker):
    told = Told()
    # The default one takes nothing that could hang.
    with EmbeddedBroker(config=BrokerConfig(release=(3, 5))) as broker:
        broker.create_topic("trains", 2)
        tp = kcore.TopicPartition("trains", 1)
        with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
            number, epoch = admin.fence_producers(["x"])["x"]
            assert write_late(broker.bootstrap, "x", tp, number, epoch) == 0
            run(code, broker, print=told)
            assert admin.find_hanging_transactions() == []
    ((where, who, offset, age_ms),) = told.calls
    assert (where, who, offset) == ([tp], number, 0)
    assert age_ms > 900_000


def one_record(code, broker):
    told = Told()
    run(code, broker, print=told)
    assert told.calls == [(len(RECORDS),)]


def a_processor(code, broker):
    class Polled(kcore.Consumer):
        polls = 0

        def poll(self, *args, **options):
            found = super().poll(*args, **options)
            self.polls += bool(found)
            if self.polls and not found:
                raise EnoughError
            return found

    with pytest.MonkeyPatch.context() as patch, pytest.raises(EnoughError):  # noqa: PT012
        patch.setattr(kcore, "Consumer", Polled)
        run(code.replace("timeout_ms=1000", "timeout_ms=200"), broker)
    assert read_committed(broker, "orders") == sorted(value for _, value in RECORDS)
    assert committed(broker, "copy") == len(RECORDS)


def under_trio(code, broker):
    commit(broker, "g", 0)
    broker.create_topic("copies", 1)
    run(code, broker)
    copies = sorted(read_committed(broker, "copies"))
    assert copies == sorted(value for _, value in RECORDS)


def transaction_on_a_loop(code, broker):
    run(code, broker)
    assert read_committed(broker, "flights")[:2] == [b"first", b"second"]


def read_committed(broker, topic):
    with kcore.Consumer(
        bootstrap_servers=broker.bootstrap, isolation_level="read_committed"
    ) as consumer:
        consumer.assign([kcore.TopicPartition(topic, n) for n in range(broker.topics()[topic])])
        consumer.seek_to_beginning()
        return sorted(record.value for record in consumer.read_until())


def a_table(code, broker):
    table = pyarrow.table({"value": [b"a", b"b"]})
    with kcore.Producer(bootstrap_servers=broker.bootstrap) as producer:
        run(code, broker, producer=producer, table=table)
    assert broker.end_offsets("flights") == [len(RECORDS) + 2]


def up_to_an_end(code, broker):
    told = Told()
    run(code, broker, print=told)
    assert told.calls == [(offset, value) for offset, (_, value) in enumerate(RECORDS)]


def a_member_of_the_next_protocol(code, broker):
    made = []

    def consumer(*topics, **options):
        made.append(kcore.Consumer(*topics, **options))

    run(code, broker, Consumer=consumer)
    with made.pop() as member:
        while len(member.assignment()) < 4:
            member.poll(timeout_ms=50)


def options_read(*_topics, **options):
    """In place of a consumer that would have to reach a broker by TLS."""
    return kcore.ConsumerConfig.from_options(options)


def options_alone(code, broker):
    given = SimpleNamespace(environ={"CLIENT_SECRET": "secret"})
    names = {"kcore": SimpleNamespace(Consumer=options_read), "os": given}
    return run(code, broker, **names)["consumer"]


def a_delegation_token(code, broker):
    made = DelegationToken("id", b"hmac", "User:a", "User:a", (), 0, 1, 2)
    admin = SimpleNamespace(create_delegation_token=lambda **_: made)
    names = {"kcore": SimpleNamespace(Consumer=options_read), "admin": admin}
    config = run(code, broker, **names)["worker"]
    assert (config.sasl_plain_username, config.sasl_plain_password) == ("id", "aG1hYw==")
    assert config.credentials.delegated


def tokens_of_ones_own(code, broker):
    config = options_alone("def ask_for_a_token():\n    return 'token'\n" + code, broker)
    assert config.sasl_oauth_token_provider.token() == "token"


def tokens_of_an_identity_provider(code, broker):
    config = options_alone(code, broker)
    assert config.sasl_oauthbearer_client_credentials_client_secret == "secret"
    extensions = {"logicalCluster": "lkc-1", "identityPoolId": "pool-2"}
    assert config.sasl_oauthbearer_extensions == extensions


def through_a_proxy(code, broker):
    proxy = options_alone(code, broker).proxy_url
    assert (proxy.name, proxy.username) == ("socks5h://proxy.example:1080", "me")


def an_assertion(code, broker):
    config = options_alone(code, broker)
    assert source_of(config) is Source.BEARER_ASSERTION
    assert config.sasl_oauthbearer_assertion_algorithm == "ES256"


def tickets_by_a_keytab(code, broker):
    config = options_alone(code, broker)
    assert config.links().credentials.mechanism == "GSSAPI"
    assert config.sasl_kerberos_principal == "orders@EXAMPLE"


def interceptors(code, broker):
    told = Told()
    run(code, broker, print=told)
    (record, committed) = told.calls
    assert record == (len(RECORDS), [("source", b"till 7")])
    assert committed == ("committed", {FLIGHTS: kcore.OffsetAndMetadata(len(RECORDS) + 1, "", 0)})


def traces(code, broker):
    pytest.importorskip("opentelemetry.sdk.trace")  # of the extra "test"
    from opentelemetry import trace  # noqa: PLC0415 - if it is there
    from opentelemetry.sdk.trace import TracerProvider, export  # noqa: PLC0415
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import (  # noqa: PLC0415
        InMemorySpanExporter,
    )

    exporter, told = InMemorySpanExporter(), Told()
    provider = TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "get_tracer", provider.get_tracer)
        run(code, broker, print=told)
        spans = {span.name: span for span in exporter.get_finished_spans()}
        assert told.calls == [("pack", b"three apples")]
    assert set(spans) == {"checkout", "send orders", "receive orders", "process orders"}
    checkout, sent = spans["checkout"], spans["send orders"]
    assert sent.parent.span_id == checkout.context.span_id
    assert sent.attributes["messaging.kafka.offset"] == 0
    assert spans["process orders"].parent.span_id == sent.context.span_id
    assert len({span.context.trace_id for span in (checkout, sent, spans["process orders"])}) == 1
    (link,) = spans["receive orders"].links
    assert link.context.span_id == sent.context.span_id


def how_far_behind(code, broker):
    told = Told()
    run(code, broker, print=told)
    (said,) = told.calls
    assert said[0].endswith(" records behind")


def for_prometheus(code, broker):
    where = {"bootstrap_servers": broker.bootstrap}
    with kcore.Consumer(**where) as consumer, kcore.Producer(**where) as producer:
        free = code.replace("9400", "0")
        server = run(free, broker, consumer=consumer, producer=producer)["server"]
        try:
            url = f"http://127.0.0.1:{server.server_port}/metrics"
            with urlopen(url, timeout=10) as answer:
                assert b"\nkafka_consumer_connection_count{" in answer.read()
        finally:
            server.shutdown()
            server.server_close()


def a_metric_of_ones_own(code, broker):
    with kcore.Consumer(bootstrap_servers=broker.bootstrap) as consumer:
        run(code, broker, consumer=consumer)


def workers(code, broker):
    seen = []

    def handle(record):
        seen.append(record.offset)
        if len(seen) == len(RECORDS):
            raise EnoughError

    with pytest.raises(kcore.errors.HandlerError) as caught:
        run(code, broker, handle=handle)
    assert isinstance(caught.value.__cause__, EnoughError)
    assert seen == [*range(len(RECORDS))]
    assert committed(broker, "g") == len(RECORDS) - 1


def another_clients_names(code, _broker):
    # In a process of its own: here aiokafka may be loaded.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "<class 'kcore.clients.consumer.async_consumer.AsyncConsumer'>\n"


def confluents_names(code, _broker):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "0\nb'Dear Ada'\n"


RUN = {
    "README.md": [
        readme_first_minute,
        readme_consumer,
        readme_async_consumer,
        readme_async_producer,
        readme_fixture,
        None,  # needs Spark
        readme_bare_core,
    ],
    "docs/ADMIN.md": [
        admin_topics_and_groups,
        admin_on_a_loop,
        None,  # of access and of quotas: on a real Kafka (tests/interop/test_admin_security.py)
        None,
        admin_and_what_hangs,
        admin_of_controllers,
    ],
    "docs/ARROW.md": [arrow_tables, arrow_batches],
    "docs/ASYNC.md": [async_consumer, async_producer, transaction_on_a_loop, under_trio],
    "docs/GROUPS.md": [up_to_an_end, a_member_of_the_next_protocol],
    "docs/INTERCEPTORS.md": [interceptors, traces],
    "docs/METRICS.md": [how_far_behind, for_prometheus, a_metric_of_ones_own],
    "docs/MOVING.md": [another_clients_names, confluents_names],
    "docs/PRODUCER.md": [one_record, one_record, a_table, a_processor],
    "docs/PROXIES.md": [through_a_proxy],
    "docs/SECURITY.md": [
        a_delegation_token,
        tokens_of_ones_own,
        tokens_of_an_identity_provider,
        an_assertion,
        tickets_by_a_keytab,
    ],
    "docs/WORKERS.md": [workers],
}


@pytest.mark.parametrize(
    ("page", "number"),
    [(page, n) for page, runs in RUN.items() for n, how in enumerate(runs) if how],
)
def test_an_example_runs(page, number, broker):
    RUN[page][number](pages.python(page)[number], broker)


def test_every_example_is_run():
    found = {page: len(pages.python(page)) for page in pages.names() if page not in ELSEWHERE}
    assert {page: count for page, count in found.items() if count} == {
        page: len(runs) for page, runs in RUN.items()
    }
