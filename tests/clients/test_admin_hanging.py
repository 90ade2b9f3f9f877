"""Admin and AsyncAdmin over the embedded broker: transactions, what hangs of them, and its end."""

import asyncio

import pytest
from admins import ADMINS
from kafka import KafkaAdminClient
from kafka.admin import AbortTransactionSpec as TheirSpec
from kafka.admin import TransactionState as TheirState
from late_writes import LONG_AGO_MS, write_late
from leftovers import KAFKA_PYTHON

import kcore
from kcore import errors
from kcore.admin import AbortTransactionSpec, TransactionListing, TransactionState
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker
from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode

pytestmark = KAFKA_PYTHON
T0, T1 = (TopicPartition("t", number) for number in range(2))
# One that takes what is written outside a transaction (before KIP-890).
older = pytest.mark.parametrize("broker", [(3, 5)], indirect=True, ids=["3.5"])


@pytest.fixture
def broker(request):
    config = BrokerConfig(release=getattr(request, "param", (3, 9)))
    with EmbeddedBroker(nodes=1, config=config) as broker:
        broker.create_topic("t", 2)
        yield broker
        assert broker.faults == []


@pytest.fixture(params=list(ADMINS))
def admin(request, broker):
    made = ADMINS[request.param](bootstrap_servers=broker.bootstrap, retry_backoff_ms=10)
    yield made
    made.close()


@pytest.fixture
def opened(broker):
    """Producer "x", with a transaction open in t-0; nobody ends it."""
    options = {"bootstrap_servers": broker.bootstrap, "retry_backoff_ms": 10}
    made = kcore.Producer(transactional_id="x", transaction_timeout_ms=600_000, **options)
    made.init_transactions()
    made.begin_transaction()
    made.send("t", b"open", partition=0).get()
    yield made
    made.close(timeout=0)


def stable(admin, tp):
    return admin.list_partition_offsets({tp: "latest"}, "read_committed")[tp].offset


def rows_of(admin, **filters):
    return [row for rows in admin.list_transactions(**filters).values() for row in rows]


# Asking -------------------------------------------------------------------------------------------


def test_transactions_are_listed_by_states_producers_durations_and_patterns(admin, opened):
    other = admin.fence_producers(["y"])["y"]
    (one, two) = sorted(rows_of(admin))
    assert one == TransactionListing("x", one.producer_id, TransactionState.ONGOING)
    assert two == TransactionListing("y", other.producer_id, TransactionState.EMPTY)
    for words in (["ongoing"], [TransactionState.ONGOING], [TheirState.ONGOING], ("Ongoing",)):
        assert rows_of(admin, state_filters=words) == [one]
    assert rows_of(admin, state_filters=["prepare_commit"]) == []
    assert rows_of(admin, producer_id_filters=[other.producer_id]) == [two]
    assert rows_of(admin, duration_filter_ms=60_000, state_filters=["ongoing"]) == []
    assert admin.list_transactions([1])[1] == admin.list_transactions()[1]
    with pytest.raises(errors.UnsupportedVersionError, match=r"before 4\.1"):
        admin.list_transactions(transactional_id_pattern="x")


def test_a_transaction_is_described(admin, opened):
    found = admin.describe_transactions(["x"])["x"]
    assert (found.coordinator_id, found.state) == (1, TransactionState.ONGOING)
    assert (found.producer_epoch, found.transaction_timeout_ms) == (0, 600_000)
    assert found.transaction_start_time_ms > LONG_AGO_MS
    assert found.topic_partitions == {T0}
    with pytest.raises(errors.TransactionalIdNotFoundError, match="transactional id z") as caught:
        admin.describe_transactions(["x", "z"])
    assert caught.value.done["x"].state is TransactionState.ONGOING


def test_kafka_python_is_told_the_same(admin, opened, broker):
    theirs = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    (found,) = theirs.describe_transactions(["x"]).values()
    assert found._asdict() == admin.describe_transactions(["x"])["x"]._asdict()
    filters = {"state_filters": ["Ongoing"], "producer_id_filters": [found.producer_id]}
    (row,) = rows_of(admin, **filters)
    assert [tuple(one) for one in theirs.list_transactions(**filters)[1]] == [tuple(row)]
    theirs.abort_transaction(TheirSpec(T0, found.producer_id, found.producer_epoch))
    theirs.close()
    assert stable(admin, T0) == 2


def test_ids_by_a_pattern(opened_by_newer):
    admin = opened_by_newer
    assert [row.transactional_id for row in rows_of(admin, transactional_id_pattern="a.*")] == [
        "ab"
    ]
    assert len(rows_of(admin, transactional_id_pattern="")) == 2
    with pytest.raises(errors.InvalidRegularExpressionError):
        admin.list_transactions(transactional_id_pattern="[")


@pytest.fixture
def opened_by_newer():
    with EmbeddedBroker() as broker, kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.fence_producers(["ab", "b"])
        yield admin


# What hangs ---------------------------------------------------------------------------------------


def test_a_transaction_that_its_coordinator_knows_is_ended_by_fencing(admin, opened, broker):
    assert stable(admin, T0) == 0
    assert admin.find_hanging_transactions(max_transaction_timeout_ms=0) == []
    found = admin.fence_producers(["x"])
    state = admin.describe_transactions(["x"])["x"]
    assert (state.producer_id, state.producer_epoch) == found["x"]
    assert stable(admin, T0) == 2
    with pytest.raises((errors.ProducerFencedError, errors.InvalidProducerEpochError)):
        opened.commit_transaction()


@older
def test_a_transaction_that_hangs_is_found_and_aborted(admin, broker):
    broker.produce("t", [(None, b"v")] * 3, partition=1)
    number, epoch = admin.fence_producers(["x"])["x"]
    assert write_late(broker.bootstrap, "x", T1, number, epoch) == ErrorCode.NONE
    assert stable(admin, T1) == 3
    for where in (None, ["t"], [T1], {"t": [1]}):
        (row,) = admin.find_hanging_transactions(topic_partitions=where)
    assert admin.find_hanging_transactions([1]) != []
    assert admin.find_hanging_transactions(topic_partitions=[T0]) == []
    age_ms = row.pop("age_ms")
    assert row == {
        "transactional_id": "x",
        "producer_id": number,
        "producer_epoch": epoch,
        "coordinator_epoch": -1,
        "start_offset": 3,
        "last_timestamp": LONG_AGO_MS,
        "state": "Empty",
        "coordinator_id": 1,
        "topic_partitions": [T1],
        "spec": AbortTransactionSpec(T1, number, epoch),
    }
    assert admin.find_hanging_transactions(max_transaction_timeout_ms=2 * age_ms) == []
    admin.abort_transaction(row["spec"])
    assert stable(admin, T1) == 5
    assert admin.find_hanging_transactions() == []
    with pytest.raises(errors.InvalidTxnStateError, match="t-1: producer"):
        admin.abort_transaction(row["spec"])


@older
def test_what_users_of_kafka_python_hold_is_taken(admin, broker):
    number, epoch = admin.fence_producers(["x"])["x"]
    write_late(broker.bootstrap, "x", T0, number, epoch)
    admin.abort_transaction(TheirSpec(T0, number, epoch, 7))
    assert stable(admin, T0) == 2
    write_late(broker.bootstrap, "x", T0, number, epoch, sequence=1)
    with pytest.raises(errors.TransactionCoordinatorFencedError, match="or -1"):
        admin.abort_transaction(TheirSpec(T0, number, epoch, 3))
    assert stable(admin, T0) == 2
    admin.abort_transaction(TheirSpec(T0, number, epoch))
    assert stable(admin, T0) == 4


# What is refused before anything is sent ----------------------------------------------------------

BAD = [
    ("list_transactions", ("1",), TypeError),
    ("list_transactions", (None, [-1]), ValueError),
    ("list_transactions", (None, None, ["asleep"]), ValueError),
    ("list_transactions", (None, None, "Ongoing"), TypeError),
    ("list_transactions", (None, None, None, -1), ValueError),
    ("list_transactions", (None, None, None, None, b"x"), TypeError),
    ("describe_transactions", ("x",), TypeError),
    ("describe_transactions", ([7],), TypeError),
    ("describe_transactions", ([""],), ValueError),
    ("fence_producers", ("x",), TypeError),
    ("fence_producers", ([""],), ValueError),
    ("abort_transaction", ("x",), TypeError),
    ("abort_transaction", (AbortTransactionSpec(("t", 0), -1, 0),), ValueError),
    ("abort_transaction", (AbortTransactionSpec(("t", 0), 1, 1 << 15),), ValueError),
    ("abort_transaction", (AbortTransactionSpec(("t", 0), 1, 0, -2),), ValueError),
    ("abort_transaction", (AbortTransactionSpec("t", 1, 0),), TypeError),
    ("find_hanging_transactions", ("1",), TypeError),
    ("find_hanging_transactions", (None, -1), ValueError),
    ("find_hanging_transactions", (None, 0, "t"), TypeError),
    ("find_hanging_transactions", (None, 0, ["t", T0]), TypeError),
    ("find_hanging_transactions", (None, 0, {"t": [-1]}), ValueError),
]


@pytest.mark.parametrize(("method", "args", "kind"), BAD, ids=[str(at) for at in range(len(BAD))])
def test_wrong_arguments_are_refused_before_anything_is_asked(method, args, kind):
    nowhere = {"bootstrap_servers": "127.0.0.1:1", "api_version": (4, 0)}
    with kcore.Admin(**nowhere) as admin, pytest.raises(kind):
        getattr(admin, method)(*args)
    with pytest.raises(kind):  # it is not started
        asyncio.run(getattr(kcore.AsyncAdmin(**nowhere), method)(*args))


@pytest.mark.parametrize(
    ("method", "args", "result"),
    [
        ("describe_transactions", ([],), {}),
        ("fence_producers", ([],), {}),
        ("find_hanging_transactions", (None, 0, []), []),
        ("find_hanging_transactions", (None, 0, {}), []),
    ],
)
def test_who_asks_for_nothing_is_given_nothing(method, args, result):
    with kcore.Admin(bootstrap_servers="127.0.0.1:1", api_version=(4, 0)) as admin:
        assert getattr(admin, method)(*args) == result
