"""Every public method with values that it cannot mean: each call works, or says what is wrong with
which argument; none hangs, and the client is of use behind it.
"""

import asyncio
import inspect
import re
import warnings
from contextlib import suppress

import pyarrow
import pytest

from kcore import (
    Admin,
    AsyncConsumer,
    AsyncProducer,
    AsyncShareConsumer,
    Consumer,
    OffsetAndMetadata,
    Producer,
    ShareConsumer,
    TopicPartition,
    Workers,
    errors,
)
from kcore.admin import ACLFilter
from kcore.broker import AuthorizerConfig
from kcore.broker.batches import RefusedError
from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaError

T0 = TopicPartition("t", 0)
HUGE = 10**30
NAN, INF = float("nan"), float("inf")
PLAIN = [None, "x", b"x", -1, 0, 1.5, NAN, INF, -INF, HUGE, -HUGE, True, object()]
SEVERAL = [[], {}, (), set(), [None], ["x", 1], [1.5], {"x": 1}, {1: 2}, (1, 2), ("t", 0)]
TEXTS = ["", "\ud800", "t\0", "a" * 70_000]
PARTITIONS = [
    TopicPartition("t", "0"),
    TopicPartition(1, 0),
    TopicPartition(None, None),
    TopicPartition("t", -1),
    TopicPartition("t", HUGE),
    TopicPartition("", 0),
    TopicPartition("t", 1.5),
]
OFFSETS = [None, "x", NAN, INF, HUGE, -1, (), (1, ""), OffsetAndMetadata("x", 1)]
OFFSETS += [OffsetAndMetadata(HUGE, ""), OffsetAndMetadata(1, b"x")]
HEADERS = [[("a",)], [("a", 1)], [(1, b"")], [("\ud800", b"")]]
VALUES = [*PLAIN, *SEVERAL, *TEXTS, *PARTITIONS, *([one] for one in PARTITIONS)]
VALUES += [*({T0: one} for one in OFFSETS), *HEADERS]

FINE = {
    "partition": T0,
    "offset": 0,
    "offsets": {T0: OffsetAndMetadata(1, "")},
    "timestamps": {T0: 0},
    "partitions": [T0],
    "topic": "t",
    "topics": ["t"],
    "ends": {T0: 1},
    "group_metadata": "g",
    "group_id": "g",
    "data": pyarrow.table({"value": [b"x"]}),
    "group": "app",
    "name": "things",
    "read": lambda: 1.0,
}
OF_PRODUCERS = FINE | {"partition": 0, "value": b"v"}
OF_BROKERS = FINE | {
    "principal": "User:alice",
    "operations": "READ",
    "partition": 0,
    "password": "secret",
    "name": "t",
    "records": [],
    "ms": 1,
    "api": "FETCH",
    "error": "NOT_LEADER_OR_FOLLOWER",
    "node": 1,
    "other": 1,
    "delay_ms": 0,
}
QUICK_MS = 60
NOT_TRIED = {"start", "stop", "close", "forked", "reins", "wakeup", "observe", "transport"}
NOT_TRIED |= {"getone"}  # it waits for records that do not come

# What says what an argument should have been. An EmbeddedBroker has a LookupError for a node or a
# topic that there is not, a RefusedError for what Kafka refuses.
TYPED = (TypeError, ValueError, KafkaError)
FROM_INSIDE = (AttributeError, IndexError, KeyError, OverflowError, UnicodeError)
VAGUE = r"' object |object of type|unhashable|not supported between|to unpack|has no attribute"


def trials(kind, fine):
    """(method, parameter, how it is called) for each that can be given."""
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if name.startswith("_") or name in NOT_TRIED:
            continue
        given = list(inspect.signature(method).parameters.values())[1:]
        needed = {one.name: fine[one.name] for one in given if one.default is one.empty
                  and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)}  # fmt: skip
        quick = {
            one.name: QUICK_MS if one.name == "timeout_ms" else QUICK_MS / 1_000
            for one in given
            if one.name in ("timeout_ms", "timeout")
        }
        for one in given:
            yield name, one, quick | needed


def judge(error, what):
    if error is None or type(error) in (LookupError, RefusedError):
        return
    assert not isinstance(error, FROM_INSIDE), what
    assert isinstance(error, TYPED), what
    if type(error) is TypeError and " must " not in str(error):  # not one of Python's own
        assert not re.search(VAGUE, str(error)), what


def is_struck(client):
    """Whether what was raised looked like a signal that strikes: it costs every connection."""
    engine, courier = getattr(client, "_engine", None), getattr(client, "_courier", None)
    if engine is not None:
        return engine.guard.struck
    if courier is None:
        return False  # a broker
    return (courier.lock if hasattr(courier, "lock") else courier.work).struck


def count_anew(core):
    """A list as long as often the core has had to begin anew."""
    begin_anew, counted = core.handle_interrupted, []
    core.handle_interrupted = lambda now_ms: (counted.append(now_ms), begin_anew(now_ms))
    return counted


def try_all(client, fine, prepare, run):
    count = 0
    for name, parameter, given in trials(type(client), fine):
        for value in VALUES:
            what = f"{name}({parameter.name}={value!r:.60})"
            prepare(name)
            positional, named = (), dict(given)
            if parameter.kind is parameter.VAR_POSITIONAL:
                positional = (value,)
            else:
                named[parameter.name] = value
            error = None
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    run(lambda name=name, a=positional, k=named: getattr(client, name)(*a, **k))
            except Exception as raised:  # noqa: BLE001 - judged
                error = raised
            judge(error, f"{what}: {error!r:.300}")
            assert not is_struck(client), what
            count += 1
    assert count > 300


@pytest.fixture
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 1)
        running.produce("t", [(b"k", b"v")] * 5)
        yield running
        assert running.faults == []


def options(broker):
    return {"bootstrap_servers": broker.bootstrap, "api_version": (4, 0)}


def read_a_little(call):
    found = call()
    if inspect.isgenerator(found):
        next(found, None)
    if hasattr(found, "close") and not isinstance(found, Consumer):
        found.close()


@pytest.mark.slow
def test_a_consumer(broker):
    made = {"group_id": "g", "consumer_timeout_ms": QUICK_MS, "default_api_timeout_ms": QUICK_MS}
    with Consumer(auto_offset_reset="earliest", **options(broker), **made) as consumer:

        def prepare(name):
            consumer.unsubscribe()
            if name not in ("subscribe", "assign"):
                consumer.assign([T0])

        try_all(consumer, FINE, prepare, read_a_little)
        prepare("")
        consumer.seek(T0, 0)
        assert sum(map(len, consumer.poll(timeout_ms=5_000).values())) == 5


def wait_a_little(call):
    found = call()
    if hasattr(found, "get"):
        found.get(5)


def test_a_producer(broker):
    with Producer(max_block_ms=QUICK_MS, **options(broker)) as producer:
        try_all(producer, OF_PRODUCERS, lambda _: None, wait_a_little)
        producer.send("t", b"v").get(5)
        for value in [*PLAIN, *SEVERAL, *TEXTS]:
            error = None
            try:
                producer.send("t", b"v").get(value)
            except Exception as raised:  # noqa: BLE001 - judged
                error = raised
            judge(error, f"get({value!r})")


@pytest.mark.parametrize("value", ["x", b"x", [], object(), NAN])
def test_a_producer_is_not_closed_by_what_is_no_time(broker, value):
    with Producer(**options(broker)) as producer:
        with pytest.raises((TypeError, ValueError), match="timeout must be a number of seconds"):
            producer.close(value)
        producer.send("t", b"v").get(5)


def test_transactions(broker):
    with Producer(transactional_id="x", max_block_ms=5_000, **options(broker)) as producer:
        producer.init_transactions()

        def prepare(name):
            for end in (producer.abort_transaction, producer.commit_transaction):
                with suppress(errors.IllegalStateError):  # the other one is to be heard of
                    end()
            if name not in ("begin_transaction", "transaction"):
                producer.begin_transaction()

        verbs = {name for name in OF_TRANSACTIONS if name not in NOT_TRIED}
        for name, parameter, given in trials(Producer, OF_PRODUCERS):
            if name not in verbs:
                continue
            for value in VALUES:
                prepare(name)
                error = None
                try:
                    getattr(producer, name)(**(given | {parameter.name: value}))
                except Exception as raised:  # noqa: BLE001 - judged
                    error = raised
                judge(error, f"{name}({parameter.name}={value!r:.60}): {error!r:.300}")
        prepare("")
        producer.send("t", b"v")
        producer.commit_transaction()


OF_TRANSACTIONS = ["send_offsets_to_transaction", "commit_transaction", "abort_transaction"]


async def make(kind, **given):
    client = kind(**given)
    await client.start()
    return client


async def ended(call):
    found = call()
    while inspect.isawaitable(found):
        found = await asyncio.wait_for(found, 5)
    if hasattr(found, "__anext__") and not isinstance(found, AsyncConsumer):
        with suppress(StopAsyncIteration, TimeoutError):
            await asyncio.wait_for(anext(found), QUICK_MS / 1_000)


def test_an_async_producer(broker):
    with asyncio.Runner() as runner:
        given = options(broker) | {"max_block_ms": QUICK_MS}
        producer = runner.run(make(AsyncProducer, **given))
        struck = count_anew(producer._core)  # by the next turn, perhaps within the same run
        batch = producer.create_batch()
        batch.append(timestamp=None, key=None, value=b"v")
        fine = OF_PRODUCERS | {"batch": batch}
        try_all(producer, fine, lambda _: None, lambda call: runner.run(ended(call)))
        runner.run(ended(lambda: producer.send_and_wait("t", b"v")))
        assert not struck
        runner.run(producer.stop())


@pytest.mark.slow  # of time, which some of its methods wait for
def test_an_async_consumer(broker):
    given = options(broker) | {"group_id": "g", "default_api_timeout_ms": QUICK_MS}
    with asyncio.Runner() as runner:
        consumer = runner.run(make(AsyncConsumer, **given))
        struck = count_anew(consumer._engine.core)

        async def begin(name):
            consumer.unsubscribe()
            if name not in ("subscribe", "assign"):
                consumer.assign([T0])

        async def call_one(call):
            with suppress(TimeoutError):  # some wait for a record that never comes
                await asyncio.wait_for(ended(call), 1)

        try_all(
            consumer,
            FINE,
            lambda name: runner.run(begin(name)),
            lambda call: runner.run(call_one(call)),
        )
        runner.run(begin(""))
        consumer.seek(T0, 0)
        found = runner.run(consumer.getmany(timeout_ms=5_000))
        assert len(found[T0]) == 5
        assert not struck
        runner.run(consumer.stop())


OF_SHARERS = FINE | {"partition": 0, "record": None, "callback": print}


def sharing(broker):
    made = {"group_id": "g", "default_api_timeout_ms": QUICK_MS}
    # Without share groups in (4, 0): a poll that is to wait for ever says so at once.
    made |= {"share_acknowledgement_mode": "explicit"}
    return options(broker) | made


def test_a_share_consumer(broker):
    with ShareConsumer("t", consumer_timeout_ms=QUICK_MS, **sharing(broker)) as consumer:

        def prepare(_):
            consumer.subscribe(["t"])
            consumer.set_acknowledgement_commit_callback(None)

        try_all(consumer, OF_SHARERS, prepare, lambda call: call())


def test_an_async_share_consumer(broker):
    with asyncio.Runner() as runner:
        consumer = runner.run(make(AsyncShareConsumer, **sharing(broker)))
        struck = count_anew(consumer._engine.core)

        async def begin():
            consumer.subscribe(["t"])
            consumer.set_acknowledgement_commit_callback(None)

        async def call_one(call):
            with suppress(TimeoutError):  # some wait for a record that never comes
                await asyncio.wait_for(ended(call), 0.2)

        try_all(
            consumer,
            OF_SHARERS,
            lambda _: runner.run(begin()),
            lambda call: runner.run(call_one(call)),
        )
        assert not struck
        runner.run(consumer.stop())


def test_an_embedded_broker(broker):
    def prepare(_):
        broker.no_mishaps()

    try_all(broker, OF_BROKERS, prepare, lambda call: call())
    broker.no_mishaps()
    broker.create_topic("behind", 1)
    with Producer(**options(broker)) as producer:
        producer.send("behind", b"v").get(5)


def test_access_to_an_embedded_broker():
    """What is taken can be told to an administrator, too."""
    everybody = AuthorizerConfig(super_users=("User:ANONYMOUS",))
    tried = 0
    with EmbeddedBroker(authorizer=everybody) as broker, Admin(**options(broker)) as admin:
        for name in ("allow", "deny", "revoke", "acls"):
            fine = {"principal": "User:alice", "operations": "READ", "topic": "t"}
            more = ("group", "transactional_id", "cluster", "prefixed", "host")
            for argument in ("wanted",) if name == "acls" else (*fine, *more):
                for value in VALUES:
                    given = {argument: value} if name == "acls" else fine | {argument: value}
                    error = made(getattr(broker, name), given)
                    judge(error, f"{name}({argument}={value!r:.60}): {error!r:.300}")
                    tried += 1
        assert admin.describe_acls(ACLFilter())[0] == broker.acls()
        assert broker.faults == []
    assert tried > 300


def made(kind, given):
    try:
        kind(**given)
    except Exception as raised:  # noqa: BLE001 - judged
        return raised
    return None


def test_workers(broker):
    with Consumer(group_id="g", enable_auto_commit=False, **options(broker)) as consumer:
        for name in inspect.signature(Workers).parameters:
            for value in VALUES:
                given = {"consumer": consumer, "handle": print, name: value}
                judge(made(Workers, given), f"{name}={value!r:.60}")


@pytest.mark.parametrize("kind", [Consumer, Producer])
def test_a_transport_that_is_none(kind):
    for value in [b"x", 1, None, object(), []]:
        with pytest.raises(errors.KafkaConfigurationError, match=r"transport"):
            kind(transport=value, bootstrap_servers="127.0.0.1:1", api_version=(4, 0))
