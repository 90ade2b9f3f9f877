"""How `kcore.Workers` end: errors, Ctrl-C, `stop` and `close`; and with what they do not begin."""

import signal
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
    consumer,
    embedded,
    fill,
    options,
    until,
)

import kcore
from kcore import errors


@pytest.fixture
def broker():
    with embedded() as broker:
        yield broker


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    assert not at_work()


# Errors ----------------------------------------------------------------------------------------


def test_an_error_ends_all_and_nothing_behind_it_is_committed(broker):
    fill(broker, 200)
    fill(broker, 10, partition=1)

    def handle(record):
        if record.partition == 0 and record.offset == 57:
            raise ValueError("57")

    with consumer(broker) as one:
        with pytest.raises(errors.HandlerError, match="57 of t-0") as caught:
            kcore.Workers(one, handle).run()
        assert isinstance(caught.value.__cause__, ValueError)
        assert (caught.value.partition, caught.value.offset) == (T0, 57)
        assert caught.value.record.offset == 57
        done = one.committed(T0) or 0  # a thread may come to 57 before another is through with 0
        assert done <= 57
        assert one.position(T0) == done


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, ValueError])
def test_whatever_is_raised_is_an_error(broker, error):
    fill(broker, 1)

    def handle(record):
        raise error

    with consumer(broker) as one:
        with pytest.raises(errors.HandlerError) as caught:
            kcore.Workers(one, handle).run()
        assert isinstance(caught.value.__cause__, error)
        assert one.committed(T0) is None


class Name:
    """A key that a program may change."""

    def __init__(self, name):
        self.name = name

    def __eq__(self, other):
        return self.name == other.name

    def __hash__(self):
        return hash(self.name)


def test_a_key_that_is_changed_while_its_record_is_handled_ends_all(broker):
    """Nobody would come to the others of that key, and the thread would be gone."""
    fill(broker, 20, keys=1)

    def named(data):
        return Name(data)

    def handle(record):
        record.key.name += b" changed"

    with consumer(broker, key_deserializer=named) as one:
        workers = kcore.Workers(one, handle, threads=1)
        ends = threading.Timer(LIMIT_S, workers.stop)
        ends.start()
        with pytest.raises(errors.HandlerError, match="its key is another") as caught:
            workers.run()
        ends.cancel()
        ends.join()
        assert (one.committed(T0) or 0) == caught.value.offset


def test_who_decides_to_go_on_has_finished_the_record(broker):
    fill(broker, 20)
    told, handler = [], Handler(19)

    def handle(record):
        if record.offset == 7:
            raise ValueError("7")
        handler(record)

    with consumer(broker) as one:
        workers = kcore.Workers(
            one, handle, on_error=lambda record, error: told.append((record.offset, str(error)))
        )
        handler.workers = workers
        workers.run()
        assert told == [(7, "7")]
        assert one.committed(T0) == 20


def test_who_decides_to_stop_raises(broker):
    fill(broker, 20, keys=1)

    def handle(record):
        if record.offset == 7:
            raise ValueError("7")

    def judge(record, error):
        raise OSError("stop") from error

    with consumer(broker) as one:
        with pytest.raises(errors.HandlerError) as caught:
            kcore.Workers(one, handle, on_error=judge).run()
        assert isinstance(caught.value.__cause__, OSError)
        assert one.committed(T0) == 7


def test_what_a_poll_raises_goes_on_to_the_caller(broker):
    fill(broker, 10, keys=1)
    handler = Handler()

    def deserialize(data):
        if data == b"7":
            raise ValueError(data)
        return data

    with consumer(broker, value_deserializer=deserialize, max_poll_records=3) as one:
        with pytest.raises(errors.DeserializationError):
            kcore.Workers(one, handler).run()
        assert (one.committed(T0) or 0) == len(handler.done)
        assert one.position(T0) == len(handler.done)


# The end ---------------------------------------------------------------------------------------


def test_ctrl_c_commits_what_is_finished_and_goes_on(broker):
    fill(broker, 100, keys=1)
    main = threading.get_ident()
    done = []

    def handle(record):
        if record.offset == 20:
            signal.pthread_kill(main, signal.SIGINT)
            time.sleep(0.05)
        done.append(record.offset)

    with consumer(broker) as one, kcore.Workers(one, handle) as workers:
        with pytest.raises(KeyboardInterrupt):
            workers.run()
        assert done == list(range(len(done)))
        assert len(done) >= 21
        assert one.committed(T0) == one.position(T0) == len(done)
        workers.close()
        workers.close()


def test_ctrl_c_while_partitions_go_commits_what_is_finished(broker):
    fill(broker, 10, keys=1)
    main, handler = threading.get_ident(), Handler()
    handler.gates[3] = gate = threading.Event()

    def ask_for_some():
        until(lambda: 3 in handler.begun)
        other.subscribe(["t"])
        while workers._hands.in_flight:  # given up
            other.poll(timeout_ms=5)
        signal.pthread_kill(main, signal.SIGINT)
        until(lambda: other.poll(timeout_ms=5) is not None and other.committed(T0) == 3)
        gate.set()

    with consumer(broker) as one, kcore.Consumer(**options(broker)) as other:
        workers = kcore.Workers(one, handler)
        asking = threading.Thread(target=ask_for_some)
        asking.start()
        with pytest.raises(KeyboardInterrupt):
            workers.run()
        asking.join(LIMIT_S)
        assert gate.is_set()
        assert other.committed(T0) == 3


def test_the_last_commit_waits_for_the_end_of_a_rebalance(broker):
    fill(broker, 10)
    handler = Handler(10)
    with consumer(broker) as one:
        handler.workers = workers = kcore.Workers(one, handler)
        broker.refuse("OffsetCommit", "REBALANCE_IN_PROGRESS")
        workers.run()
        assert one.committed(T0) == 10
        assert not one.paused()


def test_stopped_before_it_runs_it_ends_at_once(broker):
    with consumer(broker) as one:
        workers = kcore.Workers(one, print)
        workers.stop()
        workers.run()
        with pytest.raises(errors.IllegalStateError, match="have run"):
            workers.run()
        assert one.poll(timeout_ms=0) == {}  # no wake-up is left


def test_closed_from_a_handler_it_ends(broker):
    fill(broker, 1)
    with consumer(broker) as one:
        workers = kcore.Workers(one, lambda record: workers.close())
        workers.run()
        assert one.committed(T0) == 1


def test_closing_waits_for_the_end_of_the_run(broker):
    fill(broker, 1)
    handler = Handler()
    handler.gates[0] = gate = threading.Event()
    with consumer(broker) as one, Running(one, handler) as running:
        until(lambda: handler.begun)
        threading.Timer(0.05, gate.set).start()
        running.workers.close()
        assert handler.done == [0]
        assert running.workers._hands._over


def test_a_wakeup_ends_it_as_it_ends_a_poll(broker):
    fill(broker, 10)
    handler = Handler()
    with consumer(broker) as one:
        threading.Thread(
            target=lambda: [until(lambda: len(handler.done) == 10), one.wakeup()]
        ).start()
        with pytest.raises(errors.WakeupError):
            kcore.Workers(one, handler).run()
        assert one.committed(T0) == 10


def test_closing_what_never_ran_is_harmless(broker):
    with consumer(broker) as one:
        kcore.Workers(one, print).close()


def test_two_at_once_are_refused(broker):
    with consumer(broker) as one, Running(one, print) as running:
        until(lambda: one._bridge.attendant is running.workers)
        with pytest.raises(errors.KafkaError):
            kcore.Workers(one, print).run()
        assert one._bridge.attendant is running.workers


def test_a_consumer_that_is_closed_meanwhile(broker):
    fill(broker, 10)

    class Listener(kcore.ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned):
            one.close()

    with consumer(broker) as one:
        one.subscribe(["t"], listener=Listener())
        with pytest.raises(errors.ConsumerStoppedError):
            kcore.Workers(one, print).run()


# What is refused -------------------------------------------------------------------------------


def refused(broker, error, match, more=(), **arguments):
    with consumer(broker, **dict(more)) as one, pytest.raises(error, match=match) as caught:
        kcore.Workers(one, **{"handle": print} | arguments)
    return caught.value


def test_a_consumer_that_commits_by_itself_is_refused(broker):
    error = refused(
        broker,
        errors.KafkaConfigurationError,
        "enable_auto_commit=False",
        {"enable_auto_commit": True},
    )
    assert error.option == "enable_auto_commit"


def test_a_consumer_without_a_group_is_refused(broker):
    refused(broker, errors.NoGroupIdError, "group_id", {"group_id": None})


def test_greenlets_are_refused(broker):
    pytest.importorskip("gevent")
    error = refused(broker, errors.KafkaConfigurationError, "gevent", {"transport": "gevent"})
    assert error.option == "transport"


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        (errors.IllegalArgumentError, {"threads": 0}),
        (errors.IllegalArgumentError, {"max_in_flight": 0}),
        (errors.IllegalArgumentError, {"commit_interval_ms": 0}),
        (errors.IllegalArgumentError, {"drain_timeout_ms": -1}),
        (errors.IllegalArgumentError, {"on_error": "go on"}),
        (TypeError, {"threads": "8"}),
        (TypeError, {"handle": None}),
        (TypeError, {"on_error": 3}),
    ],
)
def test_arguments_that_cannot_be_right(broker, error, arguments):
    refused(broker, error, next(iter(arguments)), **arguments)


def test_coroutines_are_refused(broker):
    async def handle(record):
        pass

    refused(broker, TypeError, "coroutine", handle=handle)


def test_only_a_consumer_will_do():
    with pytest.raises(TypeError, match="not for object"):
        kcore.Workers(object(), print)


# Where nothing has come ---------------------------------------------------------------------------


def test_what_comes_between_two_runs_is_behind_a_position_that_is_committed(broker):
    """Also of a partition that nothing was read of: "latest" would look for its end anew."""
    for expected in ([], [b"between"]):
        found = []
        with (
            consumer(broker) as looks,
            consumer(broker, auto_offset_reset="latest") as reads,
            Running(reads, found.append, commit_interval_ms=10),
        ):
            until(lambda looks=looks: None not in {looks.committed(tp) for tp in (T0, T1)})
            until(lambda expected=expected, found=found: len(found) == len(expected))
        assert [record.value for record in found] == expected
        broker.produce("t", [(None, b"between")], partition=1)
