"""`kcore.Workers` on an embedded broker: order, commits, bounds, what comes and goes."""

import threading
import time

import pytest
from at_work import (
    LIMIT_S,
    T0,
    T1,
    Handler,
    Running,
    at_work,
    committed_now,
    consumer,
    embedded,
    fill,
    options,
    until,
)

import kcore


@pytest.fixture
def broker():
    with embedded() as broker:
        yield broker


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert not at_work()


# Order and commits -----------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["blocking", "selectors"])
def test_all_is_handled_in_the_order_of_keys_and_committed(broker, transport):
    fill(broker, 300)
    handler = Handler(300)
    with consumer(broker, transport=transport) as one:
        handler.workers = workers = kcore.Workers(one, handler, threads=4)
        workers.run()
        assert one.committed(T0) == 300
        assert sorted(handler.done) == list(range(300))
        for key in range(5):
            mine = [offset for offset in handler.done if offset % 5 == key]
            assert mine == sorted(mine)


def test_a_key_waits_for_its_record_and_others_go_on(broker):
    fill(broker, 100)
    handler = Handler()
    handler.gates[0] = gate = threading.Event()
    with consumer(broker) as one, Running(one, handler, threads=3):
        until(lambda: len(handler.done) == 80)
        assert [offset for offset in handler.begun if offset % 5 == 0] == [0]
        gate.set()
        until(lambda: len(handler.done) == 100)


def test_behind_an_unfinished_record_nothing_is_committed(broker):
    fill(broker, 100)
    handler = Handler()
    handler.gates[7] = gate = threading.Event()
    with consumer(broker) as one, Running(one, handler, threads=3, commit_interval_ms=10):
        until(lambda: len(handler.done) == 81)  # 7 and all of its key behind it are not
        until(lambda: committed_now(broker) == 7)
        time.sleep(0.05)  # more commits, if there were anything to commit
        assert committed_now(broker) == 7
        gate.set()
        until(lambda: committed_now(broker) == 100)


def test_the_end_commits_what_is_finished_and_goes_back_to_it(broker):
    fill(broker, 60, keys=60)
    handler = Handler()
    with consumer(broker) as one:
        handler.gates[30] = gate = threading.Event()
        with Running(one, handler, threads=2, max_in_flight=40, drain_timeout_ms=50) as running:
            until(lambda: len(handler.done) == 59)
            running.workers.close()
            running.thread.join()
            assert running.error is None
            assert one.committed(T0) == 30
            assert one.position(T0) == 30
            gate.set()
        until(lambda: not at_work())
        again = Handler(30)
        again.workers = kcore.Workers(one, again)
        again.workers.run()
        assert sorted(again.done) == list(range(30, 60))
        assert one.committed(T0) == 60


def transactions(broker, count):
    """One record each, every second one aborted; behind each is its marker."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    theirs = confluent_kafka.Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": "x", "linger.ms": 0}
    )
    theirs.init_transactions()
    for number in range(count):
        theirs.begin_transaction()
        theirs.produce("t", b"%d" % number, partition=0)
        theirs.flush()
        if number % 2:
            theirs.abort_transaction()
        else:
            theirs.commit_transaction()


def test_gaps_of_the_log_are_no_gaps(broker):
    transactions(broker, 6)
    handler = Handler(3)
    with consumer(broker, isolation_level="read_committed") as one:
        handler.workers = workers = kcore.Workers(one, handler)
        workers.run()
        assert handler.done == [0, 4, 8]
        assert one.committed(T0) in range(9, 13)  # how far the last poll came


def test_what_no_record_follows_is_committed_with_the_last_record(broker):
    """A marker, and an aborted transaction with its own: no lag is left."""
    transactions(broker, 6)
    handler = Handler()
    handler.gates[8] = gate = threading.Event()
    more = {"isolation_level": "read_committed"}
    with consumer(broker, **more) as one, Running(one, handler, commit_interval_ms=10):
        until(lambda: 8 in handler.begun and committed_now(broker) is not None)
        assert committed_now(broker) <= 8  # as long as the last record is in hand
        gate.set()
        until(lambda: committed_now(broker) == 12)
    assert broker.end_offsets("t")[0] == 12


def test_a_refused_commit_is_made_good(broker):
    fill(broker, 10)
    handler = Handler()
    broker.refuse("OffsetCommit", "UNKNOWN_SERVER_ERROR", times=2)
    with consumer(broker) as one, Running(one, handler, commit_interval_ms=10):
        until(lambda: committed_now(broker) == 10)


# Bounds ----------------------------------------------------------------------------------------


def test_no_more_are_taken_than_may_be_in_flight(broker):
    fill(broker, 400, keys=400)
    fill(broker, 400, keys=400, partition=1)
    gate = threading.Event()
    most = []

    def handle(record):
        gate.wait(LIMIT_S)
        most.append(running.workers._hands.in_flight)

    with consumer(broker) as one, Running(one, handle, threads=2, max_in_flight=30) as running:
        until(lambda: one.paused() == {T0, T1})
        taken = running.workers._hands.in_flight
        assert 28 <= taken <= 30
        gate.set()
        until(lambda: len(most) == 800)
        until(lambda: not one.paused())
    assert max(most) <= 30


def test_what_comes_while_there_is_no_room_waits_too(broker):
    for partition in (0, 1):
        fill(broker, 40, keys=40, partition=partition)
    gate = threading.Event()
    more = {"partition_assignment_strategy": ["cooperative-sticky"]}
    with consumer(broker, **more) as one, consumer(broker, **more) as other:
        while not other.assignment():
            other.poll(timeout_ms=10)
        with Running(one, lambda record: gate.wait(LIMIT_S), max_in_flight=10) as running:
            until(lambda: other.poll(timeout_ms=10) is not None and len(one.paused()) == 1)
            assert len(one.assignment()) == 1
            other.close()
            until(lambda: one.paused() == {T0, T1})
            assert running.workers._hands.in_flight == 10
            gate.set()


def test_who_waits_for_room_stays_in_its_group(broker):
    fill(broker, 50)
    gate = threading.Event()
    lost = []

    class Listener(kcore.ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked):
            lost.append(revoked)

    with consumer(broker, max_poll_interval_ms=400) as one:
        one.subscribe(["t"], listener=Listener())
        with Running(one, lambda record: gate.wait(LIMIT_S), max_in_flight=10) as running:
            until(one.paused)
            time.sleep(0.6)
            assert running.error is None
            assert not [some for some in lost if some]
            gate.set()


def test_pauses_of_the_user_stay(broker):
    fill(broker, 100)
    fill(broker, 100, partition=1)
    handler = Handler()

    class Listener(kcore.ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked):
            pass

        def on_partitions_assigned(self, assigned):
            one.pause(T1)

    with consumer(broker) as one:
        one.subscribe(["t"], listener=Listener())
        with Running(one, handler, threads=1, max_in_flight=5):
            until(lambda: len(handler.done) == 100)
            until(lambda: one.paused() == {T1})


# What comes and goes ---------------------------------------------------------------------------


class Noting(kcore.ConsumerRebalanceListener):
    def __init__(self, hook=lambda: None):
        self.heard = []
        self.hook = hook

    def on_partitions_revoked(self, revoked):
        self.heard.append(("revoked", revoked))
        if revoked:
            self.hook()

    def on_partitions_assigned(self, assigned):
        self.heard.append(("assigned", assigned))

    def on_partitions_lost(self, lost):
        self.heard.append(("lost", lost))


@pytest.mark.parametrize("how", ["range", "cooperative-sticky", "consumer"])
def test_what_goes_is_waited_for_committed_and_not_begun(broker, how):
    """All that is not begun stays behind a record in the middle of its handling."""
    if how == "consumer":
        more = {"group_protocol": "consumer"}
        del_ = ("heartbeat_interval_ms",)
    else:
        more, del_ = {"partition_assignment_strategy": [how]}, ()
    given = {key: value for key, value in options(broker, **more).items() if key not in del_}
    for partition in (0, 1):
        fill(broker, 40, keys=1, partition=partition)
    gate, handler = threading.Event(), Handler()
    for offset in range(10, 40):
        handler.gates[offset] = gate
    told, beyond = [], []

    def hook():
        told.append(running.workers._hands.running())
        one.commit()  # as many listeners do
        found = [(tp, one.committed(tp)) for tp in (T0, T1)]
        at_most = running.workers.unfinished()
        beyond.extend(tp for tp, at in found if tp in at_most and at > at_most[tp].offset)

    def handle(record):
        handler(record)
        time.sleep(0.01 if record.offset > 10 else 0)

    listener = Noting(hook)
    with kcore.Consumer(**given) as one, kcore.Consumer(**given) as other:
        one.subscribe(["t"], listener=listener)
        with Running(one, handle, threads=2) as running:
            until(lambda: handler.begun.count(10) == 2)
            other.subscribe(["t"])
            end = time.monotonic() + LIMIT_S
            while not other.assignment():
                other.poll(timeout_ms=10)
                if running.workers._hands.in_flight < 60:  # what goes is not in hand any more
                    gate.set()
                assert time.monotonic() < end
            went = next(iter(other.assignment()))
            assert other.committed(went) == 11
            gone = [tp for what, tps in listener.heard if what == "revoked" for tp in tps]
            assert went in gone
            still = {slot.share.partition for slots in told for slot in slots}
            assert not still & set(gone)
            running.workers.stop()
    assert not beyond
    assert "lost" not in [what for what, _ in listener.heard]


def test_what_takes_too_long_is_left_to_who_comes(broker):
    fill(broker, 20, keys=1)
    gate, handler = threading.Event(), Handler()
    handler.gates[3] = gate
    with (
        consumer(broker) as one,
        kcore.Consumer(**options(broker)) as other,
        Running(one, handler, drain_timeout_ms=30),
    ):
        until(lambda: 3 in handler.begun)
        other.subscribe(["t"])
        end = time.monotonic() + LIMIT_S
        while not other.assignment():
            other.poll(timeout_ms=10)
            assert time.monotonic() < end
        assert other.committed(T0) == 3
        gate.set()
        until(lambda: 3 in handler.done)


def test_what_is_lost_is_not_committed(broker):
    fill(broker, 20, keys=1)
    gate, handler = threading.Event(), Handler()
    handler.gates[3] = gate
    listener = Noting()
    with consumer(broker) as one:
        one.subscribe(["t"], listener=listener)
        with Running(one, handler, commit_interval_ms=60_000):
            until(lambda: 3 in handler.begun)
            broker.let_time_pass(60_000)  # its session is over
            until(lambda: "lost" in [what for what, _ in listener.heard])
            assert committed_now(broker) is None
            gate.set()
            until(lambda: len(handler.done) >= 24)  # four are handled twice
    assert handler.done[:4] == [0, 1, 2, 3]
    assert handler.done[4:] == list(range(20))
