"""An Admin's life: options, threads, signals, forks, idle links; and a cluster that has mishaps."""

import asyncio
import gc
import inspect
import os
import pickle
import signal
import socket
import threading
import time

import pytest
from admins import ADMINS
from alarms import alarm

import kcore
from kcore import errors
from kcore.admin import MemberToRemove, OffsetSpec
from kcore.embedded import EmbeddedBroker
from kcore.structs import OffsetAndMetadata, TopicPartition

T0 = TopicPartition("t", 0)
NOWHERE = {"bootstrap_servers": "127.0.0.1:1", "api_version": (4, 0)}


@pytest.fixture
def broker():
    with EmbeddedBroker(nodes=3) as broker:
        broker.create_topic("t", 3)
        yield broker


@pytest.fixture(params=list(ADMINS))
def admin(request, broker):
    made = ADMINS[request.param](
        bootstrap_servers=broker.bootstrap, retry_backoff_ms=10, reconnect_backoff_ms=10
    )
    yield made
    made.close()


@pytest.fixture
def blocking(broker):
    with kcore.Admin(bootstrap_servers=broker.bootstrap, retry_backoff_ms=10) as admin:
        yield admin


# Options ------------------------------------------------------------------------------------------


def test_options_are_read_and_checked():
    with kcore.Admin(**{"bootstrap.servers": "h:1", "api.version": "4.0"}) as admin:
        assert admin.config["default_api_timeout_ms"] == 60_000
        assert admin.config["bootstrap_servers"] == ["h:1"]
    for options, words in (
        ({"group_id": "g"}, "group_id"),
        ({"default_api_timeout_ms": 0}, "between 1"),
        ({"retry_backoff_mss": 1}, "did you mean 'retry_backoff_ms'"),
        ({"bootstrap.controllers": "h:1", "bootstrap.servers": "h:2"}, "it is either"),
        ({"bootstrap.controllers": ""}, "bootstrap_controllers='' is empty"),
        ({"request_timeout_ms": 9, "connections_max_idle_ms": 5}, "must be above"),
    ):
        for kind in (kcore.Admin, kcore.AsyncAdmin):
            with pytest.raises(errors.KafkaConfigurationError, match=words):
                kind(**options)
    with pytest.raises(errors.KafkaConfigurationError, match="running event loop"):
        kcore.AsyncAdmin(transport="selectors")
    assert kcore.AdminConfig.from_options({"retries": 3}).extras["retries"] == 3


@pytest.mark.parametrize("kind", list(ADMINS))
@pytest.mark.parametrize(
    ("option", "words"),
    [("bootstrap_servers", "that a Kafka broker listens"),
     ("bootstrap_controllers", "that a controller of a Kafka listens")],
)  # fmt: skip
def test_nobody_is_there(kind, option, words):
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(errors.NoBrokersAvailable, match=where) as nobody:
            ADMINS[kind](**{option: where}, bootstrap_timeout_ms=200)
        assert f"check {option}, and {words}" in str(nobody.value)


def test_the_release_is_found(admin):
    config = admin.config if isinstance(admin, kcore.Admin) else admin.admin.config
    assert config["api_version"] >= (4, 0)


def test_nothing_is_pickled():
    for made in (kcore.Admin(**NOWHERE), kcore.AsyncAdmin(**NOWHERE)):
        with pytest.raises(TypeError, match="holds connections"):
            pickle.dumps(made)


@pytest.mark.parametrize("transport", ["selectors", "gevent"])
def test_other_transports(broker, transport):
    if transport == "gevent":
        pytest.importorskip("gevent")
    with kcore.Admin(bootstrap_servers=broker.bootstrap, transport=transport) as admin:
        assert admin.list_topics() == ["t"]
        assert admin.bootstrap_connected()


# Ends ---------------------------------------------------------------------------------------------


def test_behind_the_end_every_call_is_refused(admin):
    admin.close()
    admin.close()
    blocking = admin if isinstance(admin, kcore.Admin) else None
    if blocking is not None:
        for call in (blocking.list_topics, blocking.wakeup, lambda: blocking.lag("g")):
            with pytest.raises(errors.IllegalStateError, match="closed"):
                call()


def test_what_an_event_loop_has_closed_is_refused(broker):
    async def main():
        admin = kcore.AsyncAdmin(bootstrap_servers=broker.bootstrap)
        with pytest.raises(errors.IllegalStateError, match="not started"):
            await admin.list_topics()
        async with admin:
            with pytest.raises(errors.IllegalStateError, match="started already"):
                await admin.start()
            waiting = asyncio.ensure_future(admin.wait_for_topics(["nope"]))
            await asyncio.sleep(0.02)
        with pytest.raises(errors.IllegalStateError, match="closed"):
            await waiting
        with pytest.raises(errors.IllegalStateError, match="closed"):
            await admin.list_topics()

    asyncio.run(main())


def test_tasks_ask_side_by_side_and_are_cancelled(broker):
    async def main():
        async with kcore.AsyncAdmin(bootstrap_servers=broker.bootstrap) as admin:
            slow = asyncio.ensure_future(admin.wait_for_topics(["later"]))
            found = await asyncio.gather(*(admin.list_topics() for _ in range(5)))
            assert found == [["t"]] * 5
            cancelled = asyncio.ensure_future(admin.wait_for_topics(["never"], timeout_ms=60_000))
            await asyncio.sleep(0.02)
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            await admin.create_topics(["later"])
            await slow
            assert not admin._engine._futures
            assert not admin._engine.core._operations

    asyncio.run(main())


def test_a_call_from_elsewhere_is_refused(broker):
    loop = asyncio.new_event_loop()
    admin = kcore.AsyncAdmin(bootstrap_servers=broker.bootstrap)
    loop.run_until_complete(admin.start())
    with pytest.raises(errors.ConcurrentUseError, match="admin client belongs to the event loop"):
        asyncio.run(admin.list_topics())
    loop.run_until_complete(admin.close())
    loop.close()


def test_who_is_dropped_without_an_end_says_so(broker):
    async def main():
        await kcore.AsyncAdmin(bootstrap_servers=broker.bootstrap).start()

    def drop():
        asyncio.run(main())
        gc.collect()

    with pytest.warns(ResourceWarning, match="never closed"):
        drop()


# Threads ------------------------------------------------------------------------------------------


def in_thread(call):
    found = []

    def run():
        try:
            found.append(call())
        except errors.KafkaError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def test_threads_are_served_one_after_the_other(blocking):
    calls = [in_thread(lambda: [blocking.list_topics() for _ in range(20)]) for _ in range(4)]
    for thread, found in calls:
        thread.join(20)
        assert found == [[["t"]] * 20]


def test_greenlets_are_served_one_after_the_other(broker):
    gevent = pytest.importorskip("gevent")
    with kcore.Admin(bootstrap_servers=broker.bootstrap, transport="gevent") as admin:
        calls = [gevent.spawn(lambda: [admin.list_topics() for _ in range(5)]) for _ in range(4)]
        with pytest.raises(errors.KafkaTimeoutError):
            admin.wait_for_topics(["nope"], timeout_ms=300)
        gevent.joinall(calls, timeout=10)
        assert [call.value for call in calls] == [[["t"]] * 5] * 4


def test_who_waits_for_others_waits_no_longer_than_it_may(blocking):
    thread, found = in_thread(lambda: blocking.wait_for_topics(["nope"], timeout_ms=1_000))
    while not blocking._guard.inside:
        time.sleep(0.001)
    before = time.monotonic()
    with pytest.raises(errors.KafkaTimeoutError, match="other threads"):
        blocking.list_topics(timeout_ms=100)
    assert time.monotonic() - before < 0.9
    thread.join(5)
    assert isinstance(found[0], errors.KafkaTimeoutError)
    assert blocking.list_topics() == ["t"]


def test_a_call_is_woken(blocking):
    thread, found = in_thread(lambda: blocking.wait_for_topics(["nope"], timeout_ms=60_000))
    while not blocking._guard.inside:
        time.sleep(0.001)
    blocking.wakeup()
    thread.join(5)
    assert isinstance(found[0], errors.WakeupError)
    assert blocking.list_topics() == ["t"]
    blocking.wakeup()
    with pytest.raises(errors.WakeupError):
        blocking.list_topics()
    assert not blocking._engine.core._operations


def test_the_end_does_not_wait_for_calls_of_others(blocking):
    thread, found = in_thread(lambda: blocking.wait_for_topics(["nope"], timeout_ms=60_000))
    while not blocking._guard.inside:
        time.sleep(0.001)
    later, refused = in_thread(blocking.list_topics)
    blocking.close()
    thread.join(5)
    later.join(5)
    assert isinstance(found[0], errors.WakeupError)
    assert "close() was called" in str(found[0])
    assert isinstance(refused[0], errors.IllegalStateError)


def test_no_thread_is_there(blocking):
    before = threading.active_count()
    blocking.list_topics()
    assert threading.active_count() == before


# Signals and forks --------------------------------------------------------------------------------


@pytest.mark.parametrize("delay_s", [0.005, 0.02, 0.05])
def test_ctrl_c_in_the_middle_of_a_call(blocking, delay_s):
    def strike():
        time.sleep(delay_s)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=strike)

    def call():
        thread.start()  # here: on a busy machine it may strike before what it is meant for
        blocking.wait_for_topics(["nope"], timeout_ms=10_000)

    with pytest.raises(KeyboardInterrupt):
        call()
    thread.join()
    assert blocking.list_topics() == ["t"]
    assert not blocking._engine.core._operations


def test_a_handler_that_calls_in_the_middle_of_a_call_is_refused(blocking):
    said = []

    def handler(*_):
        try:
            blocking.list_topics()
        except errors.ConcurrentUseError as error:
            said.append(str(error))
        blocking.wakeup()

    with alarm(handler, 0.03), pytest.raises(errors.WakeupError):
        blocking.wait_for_topics(["nope"], timeout_ms=10_000)
    assert "in the middle of another call" in said[0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_is_refused_and_leaves_the_parent_alone(blocking):
    child = os.fork()
    if child == 0:
        try:
            blocking.list_topics()
        except errors.ForkedError:
            blocking.close()
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert blocking.list_topics() == ["t"]


# Links --------------------------------------------------------------------------------------------


def test_links_that_brokers_have_closed_are_opened_again(admin, broker):
    admin.create_topics(["a"])
    for node in (1, 2, 3):
        broker.kill(node)
        broker.revive(node)
    # Seen before anything is asked: nothing is in doubt.
    with pytest.raises(errors.TopicAlreadyExistsError) as caught:
        admin.create_topics(["a"])
    assert "earlier attempt" not in str(caught.value)


def test_idle_links_are_closed(broker):
    options = {"connections_max_idle_ms": 150, "request_timeout_ms": 100}
    with kcore.Admin(bootstrap_servers=broker.bootstrap, **options) as admin:
        assert admin.bootstrap_connected()
        time.sleep(0.2)
        admin._engine.step(0)
        assert not admin.bootstrap_connected()
        assert admin.list_topics() == ["t"]


# Mishaps ------------------------------------------------------------------------------------------

CALLS = {
    "CreateTopics": lambda admin: admin.create_topics({"new": {}}, validate_only=True),
    "CreatePartitions": lambda admin: admin.create_partitions({"t": 4}, validate_only=True),
    "DeleteRecords": lambda admin: admin.delete_records({T0: -1}),
    "ListOffsets": lambda admin: admin.list_partition_offsets({T0: OffsetSpec.LATEST}),
    "DescribeCluster": lambda admin: admin.describe_cluster(),
    "Metadata": lambda admin: admin.list_topics(),
    "FindCoordinator": lambda admin: admin.list_group_offsets("g"),
    "OffsetFetch": lambda admin: admin.list_group_offsets({"g": [T0]}),
    "OffsetCommit": lambda admin: admin.alter_group_offsets(
        "g", {T0: OffsetAndMetadata(0, "", -1)}, raise_errors=True
    ),
    "ListGroups": lambda admin: admin.list_groups(),
    "DescribeLogDirs": lambda admin: admin.describe_log_dirs(),
}


@pytest.mark.parametrize("api", CALLS)
def test_a_mishap_or_two_are_gone_through(api, admin, broker):
    CALLS["OffsetCommit"](admin)
    code = "COORDINATOR_LOAD_IN_PROGRESS" if api != "Metadata" else "LEADER_NOT_AVAILABLE"
    broker.cut(api, 2)
    CALLS[api](admin)
    if api != "Metadata":  # whose rows have codes
        broker.refuse(api, code, 2)
        CALLS[api](admin)
    assert not broker.mishaps_to_come


@pytest.mark.parametrize("api", CALLS)
def test_a_call_ends_in_its_time(api, admin, broker):
    CALLS["OffsetCommit"](admin)
    broker.delay(api, 3_000, 100)
    before = time.monotonic()
    call = CALLS[api]
    short = Short(admin, 300)
    with pytest.raises(errors.KafkaTimeoutError):
        call(short)
    assert 0.25 < time.monotonic() - before < 1.5
    broker.no_mishaps()
    call(admin)


class Short:
    """An admin client whose calls have little time."""

    def __init__(self, admin, timeout_ms):
        self.admin, self.timeout_ms = admin, timeout_ms

    def __getattr__(self, name):
        def call(*args, **options):
            return getattr(self.admin, name)(*args, timeout_ms=self.timeout_ms, **options)

        return call


def test_a_group_whose_coordinator_dies(admin, broker):
    admin.create_topics({"r": {"num_partitions": 1, "replication_factor": 3}})
    tp = TopicPartition("r", 0)
    wanted = {tp: OffsetAndMetadata(0, "", -1)}
    admin.alter_group_offsets("g", wanted, raise_errors=True)
    for node in (1, 2, 3):
        broker.kill(node)
        found = admin.alter_group_offsets("g", wanted, raise_errors=True, timeout_ms=20_000)
        assert found == {tp: errors.NoError}
        assert admin.list_groups(timeout_ms=20_000)[0]["group_id"] == "g"
        assert admin.lag("g", timeout_ms=20_000)[tp].lag == 0
        broker.revive(node)


def test_a_node_dies_in_the_middle_of_a_call(admin, broker):
    admin.create_topics({"r": {"num_partitions": 6, "replication_factor": 3}})
    parts = {TopicPartition("r", number): OffsetSpec.LATEST for number in range(6)}
    broker.delay("ListOffsets", 200, 3)
    thread, _ = in_thread(lambda: (time.sleep(0.05), broker.kill(2)))
    found = admin.list_partition_offsets(parts, timeout_ms=20_000)
    thread.join()
    assert {at.offset for at in found.values()} == {0}


def test_static_members_are_known_by_their_instance(admin, broker):
    options = {"group_id": "g", "bootstrap_servers": broker.bootstrap}
    with kcore.Consumer("t", group_instance_id="i", **options) as member:
        while not member.assignment():
            member.poll(50)
        assert {row.group_instance_id for row in admin.lag("g").values()} == {"i"}
        gone = [MemberToRemove(group_instance_id="i", reason="moved")]
        assert admin.remove_group_members("g", gone) == {"i": errors.NoError}


def test_both_clients_have_the_same_methods():
    def face(kind):
        found = inspect.getmembers(kind, inspect.isfunction)
        return {name: one for name, one in found if not name.startswith("_")}

    ours, theirs = face(kcore.Admin), face(kcore.AsyncAdmin)
    assert ours.keys() - theirs.keys() == {"wakeup", "bootstrap_connected"}
    assert theirs.keys() - ours.keys() == {"start"}
    for name in ours.keys() & theirs.keys():
        assert inspect.signature(ours[name]) == inspect.signature(theirs[name]), name
