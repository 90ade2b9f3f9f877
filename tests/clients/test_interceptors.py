"""Interceptors (KIP-42, KIP-512): who is called when and with what, in which order, and that
nothing of it breaks anything.
"""

import sys
import threading
from types import SimpleNamespace

import anyloop
import pytest
from anyloop import EACH_LOOP
from async_consumers import consumer, fill, run
from async_consumers import options as async_options
from scripted_consumer import T0, assigned, records

import kcore
from kcore import (
    AsyncProducer,
    Consumer,
    ConsumerInterceptor,
    OffsetAndMetadata,
    Producer,
    ProducerInterceptor,
    TopicPartition,
    Workers,
    errors,
)
from kcore.embedded import EmbeddedBroker

PARTITIONS, EACH = 2, 40
ALL = PARTITIONS * EACH


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as embedded:
        fill(embedded, "t", PARTITIONS, EACH)
        yield embedded


class Odd(ConsumerInterceptor):
    """Leaves out every other record, and keeps what it is told."""

    def __init__(self):
        self.configs, self.consumed, self.committed, self.closed = None, [], [], 0

    def configure(self, configs):
        self.configs = configs

    def on_consume(self, records):
        self.consumed.append(records)
        return {
            tp: [record for record in found if record.offset % 2] for tp, found in records.items()
        }

    def on_commit(self, offsets):
        self.committed.append(dict(offsets))

    def close(self):
        self.closed += 1


class Failing:
    def on_consume(self, records):
        raise ValueError("no records today")

    def on_commit(self, offsets):
        raise ValueError("no commits today")

    def on_send(self, record):
        raise ValueError("no sends today")

    def on_acknowledgement(self, metadata, exception):
        raise ValueError("no acknowledgements today")

    def close(self):
        raise ValueError("no end today")


class Sent(ProducerInterceptor):
    """Stamps each record, and keeps what became of it."""

    def __init__(self, stamp="stamp"):
        self.stamp, self.configs, self.heard, self.closed = stamp, None, [], 0

    def configure(self, configs):
        self.configs = configs

    def on_send(self, record):
        record.headers.append((self.stamp, b"1"))
        return record._replace(value=record.value + b"!")

    def on_acknowledgement(self, metadata, exception, headers):
        self.heard.append((metadata, exception, headers))

    def close(self):
        self.closed += 1


def options(broker, **more):
    return {
        "bootstrap_servers": broker.bootstrap,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "fetch_max_wait_ms": 50,
    } | more


def reading(broker, *interceptors, **more):
    return Consumer("t", **options(broker, interceptor_classes=list(interceptors), **more))


def odd(found):
    return sorted(record.offset for record in found) == sorted(
        offset for offset in range(EACH) if offset % 2 for _ in range(PARTITIONS)
    )


# What is given ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        Odd,
        [Odd],
        (Odd,),
        f"{__name__}:Odd",
        f" {__name__}:Odd , ",
        [f"{__name__}:Odd"],
    ],
    ids=str,
)
def test_classes_are_made_and_configured_by_each_client(broker, given):
    with Consumer(**options(broker, group_id="g", interceptor_classes=given)) as first:
        (one,) = first._engine.interceptors._all
        assert type(one) is Odd
        assert one.configs["group_id"] == "g"
        assert one.closed == 0
    assert one.closed == 1


def test_objects_are_taken_as_they_are_and_passwords_are_not_shown():
    seen = Sent()
    producer = Producer(
        api_version=(4, 0),
        bootstrap_servers="127.0.0.1:1",
        interceptor_classes=[seen],
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_plain_username="u",
        sasl_plain_password="the secret",
    )
    producer.close(0)
    assert "the secret" not in repr(seen.configs)
    assert seen.configs["interceptor_classes"] == (seen,)
    assert seen.closed == 1


@pytest.mark.parametrize("given", [None, "", [], ()])
def test_none_at_all(broker, given):
    with Consumer("t", **options(broker, interceptor_classes=given)) as reader:
        assert reader._engine.interceptors is None


@pytest.mark.parametrize(
    "given",
    [object(), 7, "nowhere:Odd", f"{__name__}:Nothing", "Odd", [Sent], {"a": Odd}],
    ids=["object", "number", "no module", "not there", "no place", "another's", "mapping"],
)
def test_what_can_be_none_is_refused(given):
    with pytest.raises(errors.KafkaConfigurationError, match="interceptor_classes") as caught:
        Consumer(api_version=(4, 0), interceptor_classes=given)
    assert caught.value.option == "interceptor_classes"


def test_javas_name_is_known(broker):
    given = {"bootstrap.servers": broker.bootstrap, "interceptor.classes": f"{__name__}:Odd"}
    with Consumer(**given) as reader:
        assert reader._engine.interceptors is not None


@pytest.mark.parametrize("kind", ["init", "configure"])
def test_one_that_cannot_be_made_closes_those_before(kind):
    class Broken(ConsumerInterceptor):
        def __init__(self):
            if kind == "init":
                raise RuntimeError("broken")

        def configure(self, configs):
            raise RuntimeError("broken")

    before = Odd()
    with pytest.raises(errors.KafkaConfigurationError, match="broken") as caught:
        Consumer(api_version=(4, 0), interceptor_classes=[before, Broken])
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert before.closed == 1


@pytest.mark.parametrize("kind", [kcore.ShareConsumer, kcore.Admin])
def test_others_have_none(kind):
    more = {"group_id": "g"} if kind is kcore.ShareConsumer else {}
    with pytest.raises(errors.KafkaConfigurationError, match="interceptor_classes"):
        kind(api_version=(4, 0), interceptor_classes=[Odd], **more)


def test_nobody_who_has_none_loads_them():
    import subprocess  # noqa: PLC0415 - of this test alone

    program = (
        "import sys; from kcore import Consumer, Producer;"
        "Consumer(api_version=(3, 9)).close(timeout_ms=0); Producer(api_version=(3, 9)).close(0);"
        "print('kcore.clients.interceptors' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.strip() == b"False"


# Records on their way out of a consumer ----------------------------------------------------------


def by_poll(reader):
    found = []
    while sum(reader.position(tp) or 0 for tp in reader.assignment()) < ALL or not found:
        for taken in reader.poll(timeout_ms=100).values():
            found += taken
    return found


def one_by_one(reader):
    found = []
    while sum(reader.position(tp) or 0 for tp in reader.assignment()) < ALL or not found:
        for taken in reader.poll(timeout_ms=100, max_records=1).values():
            found += taken
    return found


def in_a_loop(reader):
    return [*reader]


def up_to_an_end(reader):
    return [*reader.read_until()]


@pytest.mark.parametrize("read", [by_poll, one_by_one, in_a_loop, up_to_an_end])
def test_every_way_of_reading_goes_past_them(broker, read):
    seen = Odd()
    reader = Consumer(
        **options(broker, interceptor_classes=[seen, Failing()], consumer_timeout_ms=500)
    )
    with reader:
        reader.assign([TopicPartition("t", number) for number in range(PARTITIONS)])
        assert odd(read(reader))
    handed = [record for taken in seen.consumed for found in taken.values() for record in found]
    assert len(handed) == ALL


def test_workers_have_what_is_left(broker):
    seen, found, lock = Odd(), [], threading.Lock()

    def handle(record):
        with lock:
            found.append(record)
            if len(found) == ALL // 2:
                workers.stop()

    reader = reading(broker, seen, group_id="workers")
    with reader, Workers(reader, handle, threads=2) as workers:
        workers.run()
    assert odd(found)
    committed = {tp: at.offset for offsets in seen.committed for tp, at in offsets.items()}
    assert committed == {TopicPartition("t", number): EACH for number in range(PARTITIONS)}


def test_they_are_called_in_their_order_and_one_that_fails_is_passed_over(caplog):
    class Adds:
        def __init__(self, name):
            self.name = name

        def on_consume(self, records):
            return {tp: [*found, self.name] for tp, found in records.items()}

    reader = assigned(interceptor_classes=[Adds("a"), Failing(), Adds("b")])
    reader.core.batches.append(records(T0, 1))
    (found,) = reader.poll().values()
    assert found[1:] == ["a", "b"]
    assert "Failing.on_consume failed" in caplog.text
    assert "no records today" in caplog.text


def test_columns_pass_by_and_the_log_says_so_once(broker, caplog):
    seen = Odd()
    reader = Consumer(**options(broker, interceptor_classes=[seen]))
    with reader:
        reader.assign([TopicPartition("t", 0)])
        for _ in range(3):
            reader.poll_arrow(timeout_ms=50)
        reader.poll_batches(timeout_ms=0)
    assert not seen.consumed
    assert caplog.text.count("poll_arrow() carries no single records") == 1
    assert caplog.text.count("poll_batches() carries no single records") == 1


# Commits ----------------------------------------------------------------------------------------

AT = {T0: OffsetAndMetadata(7, "", -1)}


def test_every_commit_that_was_made_is_told():
    seen = Odd()
    called = []
    reader = assigned(group_id="g", interceptor_classes=[Failing(), seen])
    reader.core.answers["commit"] = dict(AT)
    reader.commit(AT)
    assert seen.committed == [AT]
    reader.commit_async(AT, callback=lambda *_: called.append(len(seen.committed)))
    reader.poll()
    reader.poll()
    assert seen.committed == [AT, AT]
    assert called == [2]  # they are told first


def test_commits_that_failed_and_empty_ones_are_not():
    seen = Odd()
    called = []
    reader = assigned(group_id="g", interceptor_classes=[seen])
    reader.core.answers["commit"] = errors.CommitFailedError("late")
    with pytest.raises(errors.CommitFailedError):
        reader.commit(AT)
    reader.commit_async(AT, callback=lambda _, outcome: called.append(outcome))
    reader.poll()
    reader.poll()
    assert isinstance(called[0], errors.CommitFailedError)
    reader.core.answers["commit"] = {}
    reader.commit({})
    assert seen.committed == []


def test_automatic_commits_are_told_beside_the_default_callback(broker):
    seen, called = Odd(), []
    reader = reading(
        broker,
        seen,
        group_id="auto",
        enable_auto_commit=True,
        auto_commit_interval_ms=10,
        default_offset_commit_callback=lambda offsets, _: called.append(dict(offsets)),
    )
    with reader:
        while not called:
            reader.poll(timeout_ms=20)
        assert seen.committed[: len(called)] == called


def test_the_commit_of_a_loop_that_is_left_is_told(broker):
    seen = Odd()
    reader = reading(broker, seen, group_id="left", enable_auto_commit=True)
    next(reader)
    record = next(reader)
    reader.close()
    tp = TopicPartition(record.topic, record.partition)
    assert seen.committed[-1][tp].offset == record.offset


def test_they_are_closed_though_a_serializer_cannot_be(broker):
    class Text:
        def serialize(self, topic, headers, data):
            return data

        deserialize = serialize

        def close(self):
            raise OSError("no end")

    for kind, one in ((Consumer, Odd()), (Producer, Sent())):
        way = "de" if kind is Consumer else ""
        given = {f"key_{way}serializer": Text(), f"value_{way}serializer": Text()}
        client = kind(bootstrap_servers=broker.bootstrap, interceptor_classes=[one], **given)
        with pytest.raises(OSError, match="no end"):
            client.close()
        assert one.closed == 1
        client.close()
        assert one.closed == 1


# In an event loop -------------------------------------------------------------------------------


def test_tasks_have_what_is_left(broker):
    seen = Odd()

    async def main():
        given = async_options(broker, "tasks", interceptor_classes=[seen, Failing])
        reader = kcore.AsyncConsumer("t", **given)
        found = []
        async with reader:
            async for record in reader:
                found.append(record)
                if len(found) == 10:
                    break
            found.append(await reader.getone())
            while len(found) < ALL // 2:
                for taken in (await reader.getmany(timeout_ms=50, max_records=4)).values():
                    found += taken
            await reader.commit()
        return found

    assert odd(run(main()))
    (committed,) = seen.committed
    assert {at.offset for at in committed.values()} == {EACH}
    assert seen.closed == 1


def test_tasks_read_up_to_an_end_past_them(broker, caplog):
    async def main():
        reader = consumer(broker, interceptor_classes=[Odd])
        async with reader:
            reader.assign([TopicPartition("t", number) for number in range(PARTITIONS)])
            found = [record async for record in reader.read_until()]
            await reader.getmany_arrow()
            return found

    assert odd(run(main()))
    assert "getmany_arrow() carries no single records" in caplog.text


def test_an_async_producer_tells_whatever_becomes_of_futures(broker, caplog):
    seen = Sent()
    broker.create_topic("looped", 1)

    async def main():
        async with AsyncProducer(
            bootstrap_servers=broker.bootstrap, interceptor_classes=[seen], linger_ms=20
        ) as producer:
            given_up = await producer.send("looped", b"one")
            given_up.cancel()
            at = await producer.send_and_wait("looped", b"two", headers=[("own", None)])
            with pytest.raises(TypeError):
                await producer.send("looped", 5)
            batch = producer.create_batch()
            batch.append(key=None, value=b"three", timestamp=None)
            await (await producer.send_batch(batch, "looped", partition=0))
            return at

    at = run(main())
    assert "send_batch() carries no single records" in caplog.text
    *heard, refused = seen.heard
    assert isinstance(refused[1], TypeError)
    assert [metadata.offset for metadata, _, _ in heard] == [0, 1]
    assert heard[1] == (at, None, (("own", None), ("stamp", b"1")))
    assert seen.closed == 1


@EACH_LOOP
def test_a_send_that_is_cancelled_is_told_as_one_that_failed(broker):
    seen = Sent()

    async def main():
        async with AsyncProducer(
            bootstrap_servers=broker.bootstrap,
            interceptor_classes=[seen],
            allow_auto_create_topics=False,
        ) as producer:
            waits = anyloop.create_task(producer.send("not-there", b"v"))
            await anyloop.sleep(0.05)
            waits.cancel()
            with pytest.raises(anyloop.CancelledError):
                await waits

    anyloop.run(main())
    ((metadata, error, headers),) = seen.heard
    assert (metadata.topic, metadata.offset) == ("not-there", -1)
    assert isinstance(error, errors.Cancelled)
    assert headers == (("stamp", b"1"),)


# Records on their way into a producer ------------------------------------------------------------


def read_all(broker, topic):
    with Consumer(topic, **options(broker, consumer_timeout_ms=300)) as reader:
        return [*reader]


def test_what_they_make_of_a_record_is_sent(broker):
    broker.create_topic("stamped", 1)
    seen = [Sent("a"), Failing(), Sent("b")]
    told = []
    with Producer(bootstrap_servers=broker.bootstrap, interceptor_classes=seen) as producer:
        own = [("own", b"0")]
        future = producer.send("stamped", b"v", headers=own)
        future.add_callback(lambda at: told.append((at, len(seen[2].heard))))
        at = future.get(10)
    assert own == [("own", b"0")]  # the user's list stays the user's
    (record,) = read_all(broker, "stamped")
    assert record.value == b"v!!"
    assert record.headers == [("own", b"0"), ("a", b"1"), ("b", b"1")]
    for one in (seen[0], seen[2]):
        assert one.heard == [(at, None, (("own", b"0"), ("a", b"1"), ("b", b"1")))]
        assert one.closed == 1
    assert told == [(at, 1)]  # interceptors come first


def test_they_come_before_serializers_and_partitioner(broker):
    broker.create_topic("typed", 2)

    class Typed:
        def on_send(self, record):
            return record._replace(value={"n": record.value}, partition=1)

    with Producer(
        bootstrap_servers=broker.bootstrap,
        interceptor_classes=[Typed],
        value_serializer=lambda value: repr(value).encode(),
        partitioner=lambda *_: 0,
    ) as producer:
        assert producer.send("typed", 3).get(10).partition == 1
    (record,) = read_all(broker, "typed")
    assert record.value == b"{'n': 3}"


@pytest.mark.parametrize("nothing", [None, 7, ("t",)])
def test_what_gives_no_record_changes_nothing(broker, nothing, caplog):
    with Producer(
        bootstrap_servers=broker.bootstrap,
        interceptor_classes=[SimpleNamespace(on_send=lambda _: nothing)],
    ) as producer:
        producer.send("same", b"v").get(10)
    assert "it is ignored" in caplog.text


def test_a_record_that_is_not_taken_is_told_and_raised(broker):
    seen = Sent()
    with Producer(
        bootstrap_servers=broker.bootstrap, interceptor_classes=[seen], max_request_size=100
    ) as producer:
        with pytest.raises(errors.RecordTooLargeError) as caught:
            producer.send("t", b"v" * 1_000, partition=1)
        with pytest.raises(errors.InvalidTopicError):
            producer.send("no topic?", b"v")
    (large, error, headers), (nowhere, _, _) = seen.heard
    assert (large.topic, large.partition, large.offset, large.timestamp) == ("t", 1, -1, -1)
    assert error is caught.value
    assert headers == (("stamp", b"1"),)
    assert (nowhere.topic, nowhere.partition) == ("no topic?", -1)


def test_a_record_that_is_not_delivered_is_told():
    seen = Sent()
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        broker.refuse("Produce", "TOPIC_AUTHORIZATION_FAILED")
        producer = Producer(bootstrap_servers=broker.bootstrap, interceptor_classes=[seen])
        with producer, pytest.raises(errors.TopicAuthorizationFailedError):
            producer.send("t", b"v").get(10)
    ((metadata, error, _),) = seen.heard
    assert isinstance(error, errors.TopicAuthorizationFailedError)
    assert (metadata.topic_partition, metadata.offset) == (T0, -1)


def test_methods_of_two_parameters_are_not_given_headers(broker):
    heard = []

    class Old:
        def on_acknowledgement(self, metadata, exception):
            heard.append(("old", exception))

    class Any:
        def on_acknowledgement(self, *given):
            heard.append(("any", len(given)))

    given = [
        Old,
        Any,
        SimpleNamespace(on_acknowledgement=lambda m, e, headers=(): heard.append(len(headers))),
    ]
    with Producer(bootstrap_servers=broker.bootstrap, interceptor_classes=given) as producer:
        producer.send("t", b"v", headers=[("a", b"")]).get(10)
    assert heard == [("old", None), ("any", 3), 1]


def test_tables_pass_by_and_the_log_says_so(broker, caplog):
    import pyarrow  # noqa: PLC0415 - of this test alone

    seen = Sent()
    broker.create_topic("rows", 1)
    with Producer(bootstrap_servers=broker.bootstrap, interceptor_classes=[seen]) as producer:
        producer.send_arrow(pyarrow.table({"value": [b"a", b"b"]}), "rows").get(10)
    assert not seen.heard
    assert "send_arrow() carries no single records" in caplog.text
