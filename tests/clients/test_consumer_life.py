"""Close, the keeper, threads, forks, commits with callbacks."""

import gc
import os
import threading
import time
import weakref

import pytest
from scripted_consumer import T0, assigned, make, records

from kcore import errors
from kcore.clients.consumer import keeper
from kcore.clients.futures import OperationFuture
from kcore.events import Closed, ErrorRaised, OffsetsCommitted, PartitionsRevoked
from kcore.structs import OffsetAndMetadata
from kcore.timers import NEVER

# Close ------------------------------------------------------------------------------------------


def test_close_twice_and_then_every_call_is_refused():
    consumer = assigned(group_id="g")
    consumer.close()
    consumer.close()
    assert len(consumer.core.verbs("close")) == 1
    assert consumer.pump.closed
    for call in (
        consumer.poll,
        consumer.commit,
        consumer.topics,
        consumer.wakeup,
        consumer.unsubscribe,
        lambda: consumer.subscribe(["t"]),
        lambda: consumer.seek(T0, 1),
    ):
        with pytest.raises(errors.ConsumerStoppedError) as caught:
            call()
        assert isinstance(caught.value, errors.IllegalStateError)


def test_close_keeps_its_time():
    consumer = assigned(group_id="g")
    consumer.core.answers["close"] = False
    before = consumer.pump.now
    consumer.close(timeout_ms=70)
    assert consumer.pump.now - before == 70
    assert consumer.core.verbs("close") == [("close", 70, True)]


def test_close_is_never_longer_than_a_request():
    consumer = assigned(request_timeout_ms=2_000)
    consumer.close(timeout_ms=99_999)
    assert consumer.core.verbs("close") == [("close", 2_000, False)]


def test_the_commit_at_close_may_fail(caplog):
    consumer = assigned(group_id="g")
    consumer.core.batches.append(records(T0, 1, 2))
    next(consumer)
    consumer.core.answers["commit"] = errors.CommitFailedError("late")
    consumer.close()
    assert "late" in caplog.text
    assert consumer.pump.closed


def test_the_commit_at_close_may_come_too_late(caplog):
    consumer = assigned(group_id="g")
    consumer.core.batches.append(records(T0, 1, 2))
    next(consumer)
    consumer.core.answers["commit"] = None
    consumer.close(timeout_ms=70)
    assert "not answered in time" in caplog.text
    assert consumer.core.verbs("commit", "close")[-1] == ("close", 0, False)
    assert consumer.pump.closed


def test_a_commit_at_close_that_is_answered_is_no_news(caplog):
    consumer = assigned(group_id="g")
    consumer.core.batches.append(records(T0, 1, 2))
    next(consumer)
    consumer.close()
    assert len(consumer.core.verbs("commit")) == 1
    assert not caplog.text


def test_a_wakeup_keeps_no_close_from_its_words():
    consumer = assigned(group_id="g")
    consumer.core.batches.append(records(T0, 1, 2))
    next(consumer)
    consumer.wakeup()
    consumer.close()
    assert len(consumer.core.verbs("commit")) == 1
    assert consumer.core.verbs("close") == [("close", 30000, False)]
    assert consumer._engine.closing is not None
    assert consumer.pump.closed


def test_close_without_autocommit_commits_nothing():
    consumer = assigned(group_id="g")
    consumer.core.batches.append(records(T0, 1, 2))
    next(consumer)
    consumer.close(autocommit=False)
    assert consumer.core.verbs("commit", "close") == [("close", 30000, False)]


def test_context_manager_commits_only_without_an_error():
    with assigned(group_id="g") as consumer:
        pass
    assert consumer.core.verbs("close")[0][2] is True
    with pytest.raises(ZeroDivisionError), assigned(group_id="g") as consumer:
        _ = 1 / 0
    assert consumer.core.verbs("close")[0][2] is False


def test_what_the_core_could_not_do_is_logged(caplog):
    consumer = assigned()
    consumer.core.answers["close"] = False
    consumer.core.pending.append(Closed((errors.CommitFailedError("no time"),)))
    consumer.close()
    assert "no time" in caplog.text


def test_deserializers_are_closed():
    class Closing:
        closed = False

        def deserialize(self, topic, headers, data):
            return data

        def close(self):
            self.closed = True

    deserializer = Closing()
    make(value_deserializer=deserializer).close()
    assert deserializer.closed


@pytest.mark.parametrize("by", ["listener", "callback"])
def test_what_is_the_users_is_closed_once(by):
    """Also where a listener, or a callback, of a close closes once more."""

    class Closing:
        closed = 0

        def deserialize(self, topic, headers, data):
            return data

        def close(self):
            self.closed += 1

    class Listener:
        def on_partitions_revoked(self, revoked):
            consumer.close()

        def on_partitions_assigned(self, assigned):
            pass

    deserializer = Closing()
    consumer = make(value_deserializer=deserializer, group_id="g")
    if by == "listener":
        consumer.subscribe(["t"], listener=Listener())
        consumer.core.pending.append(PartitionsRevoked((T0,)))
        consumer.core.answers["close"] = False
    else:
        consumer.assign([T0])
        consumer.commit_async({T0: OffsetAndMetadata(1)}, lambda *_: consumer.close())
    consumer.close(timeout_ms=100)
    assert deserializer.closed == 1
    assert consumer.pump.closed


def test_a_pump_that_fails_in_close_is_closed_all_the_same():
    consumer = assigned()

    def fail(_):
        raise ZeroDivisionError

    consumer.pump.on_step = fail
    with pytest.raises(ZeroDivisionError):
        consumer.close()
    assert consumer.pump.closed
    consumer.close()


def test_a_close_that_ctrl_c_strikes_is_called_again():
    """Until then nobody else comes in, and nothing is closed that it needs."""
    consumer = assigned()

    def strike(_):
        raise KeyboardInterrupt

    consumer.pump.on_step = strike
    with pytest.raises(KeyboardInterrupt):
        consumer.close()
    assert not consumer.pump.closed
    with pytest.raises(errors.ConsumerStoppedError):
        consumer.poll()
    consumer.pump.on_step = None
    consumer.close()
    assert consumer.pump.closed


@pytest.mark.parametrize("verb", ["close", "commit", "commit_async"])
def test_what_follows_a_struck_call_is_asked_on_links_that_stay(verb):
    """On those before it would be sent, and its answer thrown away with the link."""
    consumer = assigned(group_id="g", enable_auto_commit=False)

    def strike(_):
        consumer.pump.on_step = None
        raise KeyboardInterrupt

    consumer.pump.on_step = strike
    with pytest.raises(KeyboardInterrupt):
        consumer.poll(timeout_ms=10_000)
    getattr(consumer, verb)()
    asked = consumer.core.verbs("handle_interrupted", "commit", "close")
    assert [name for name, *_ in asked] == ["handle_interrupted", verb.removesuffix("_async")]


# Keeper -----------------------------------------------------------------------------------------


def test_tick():
    assert keeper.Pace(3_000).tick_ms == 100
    assert keeper.Pace(90).tick_ms == 30
    assert keeper.Pace(1).tick_ms == 1


@pytest.mark.parametrize(
    ("interval_ms", "rests"),
    [(3_000, [200, 400, 800, 1_000, 1_000]), (600, [200, 200]), (90, [30]), (1, [1])],
)
def test_the_keeper_looks_seldom_while_the_user_is_there(interval_ms, rests):
    pace = keeper.Pace(interval_ms)
    for rest in rests:
        pace.looked(away=False)
        assert pace.rest_ms == rest
    pace.looked(away=True)
    assert pace.rest_ms == pace.tick_ms


def test_the_keeper_rests_until_something_is_due_while_the_user_is_there():
    pace = keeper.Pace(3_000)
    for rest in (200, 400, 800, 1_600, 1_900):
        pace.looked(away=False, due_in_ms=1_800)
        assert pace.rest_ms == rest
    pace.looked(away=False, due_in_ms=600)
    assert pace.rest_ms == 1_000
    for rest in (2_000, 3_000, 3_000):  # not for longer, whatever it may be
        pace.looked(away=False, due_in_ms=NEVER)
        assert pace.rest_ms == rest
    pace.looked(away=False, due_in_ms=-5_000)
    assert pace.rest_ms == 1_000


def test_the_keeper_rests_as_its_looks_have_found():
    class Stop:
        def wait(self, rest_s):
            rests.append(rest_s)
            if len(rests) == 3:
                consumer.pump.now += 100  # the user goes
            return len(rests) == 5

    rests = []
    consumer = assigned(group_id="g")
    consumer._engine.due_at = consumer.pump.now
    keeper._run(Stop(), weakref.ref(consumer._engine), keeper.Pace(3_000))
    assert rests == [0.1, 0.2, 0.4, 0.1, 0.2]


def test_the_keeper_knows_when_the_core_is_due():
    consumer = assigned(group_id="g")
    consumer.core.deadline = lambda: consumer.pump.now + 70
    consumer.poll(timeout_ms=10)
    assert consumer._engine.due_at == consumer.pump.now + 70


def test_the_keeper_ends_with_its_consumer():
    class Stop:
        def wait(self, _rest_s):
            rests.append(consumer)
            if len(rests) == 2:
                consumer._engine.guard.bar()
            assert len(rests) < 3
            return False

    rests = []
    consumer = assigned(group_id="g")
    keeper._run(Stop(), weakref.ref(consumer._engine), keeper.Pace(3_000))
    assert len(rests) == 2


def test_the_keeper_steps_only_if_the_user_is_away():
    consumer = assigned(group_id="g")
    engine = consumer._engine
    assert not keeper.turn(engine, 100)
    assert consumer.pump.steps == []
    consumer.pump.now += 100
    assert keeper.turn(engine, 100)
    assert consumer.pump.steps == [0]
    assert not keeper.turn(engine, 100)
    assert consumer.pump.steps == [0]


def test_a_turn_of_the_keeper_is_bounded():
    consumer = assigned(group_id="g")
    consumer.pump.now += 100
    consumer.pump.on_step = lambda _: consumer.core.pending.append(
        ErrorRaised(errors.KafkaError("x"))
    )
    keeper.turn(consumer._engine, 100)
    assert 1 < len(consumer.pump.steps) <= 4


def test_the_keeper_stays_out_while_a_call_is_under_way():
    consumer = assigned(group_id="g")
    steps = []

    def visit(_):
        consumer.pump.now += 1000
        other = threading.Thread(target=keeper.turn, args=(consumer._engine, 1))
        other.start()
        other.join()
        steps.append(len(consumer.pump.steps))

    consumer.pump.on_step = visit
    consumer.poll()
    assert steps == [1]


@pytest.mark.parametrize("error", [errors.KafkaTimeoutError("x"), ZeroDivisionError("x")])
def test_what_fails_in_the_keeper_is_raised_by_poll(error, caplog):
    consumer = assigned(group_id="g")
    consumer.pump.now += 100

    def strike(_):
        consumer.pump.on_step = None
        raise error

    consumer.pump.on_step = strike
    keeper.turn(consumer._engine, 100)
    with pytest.raises(errors.KafkaError) as caught:
        consumer.poll()
    assert error in (caught.value, caught.value.__cause__)
    assert consumer.poll() == {}


def keepers():
    """Those that run; of consumers of other tests some may be about to end."""
    return {t for t in threading.enumerate() if t.name == "kcore-keeper"}


def until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_the_keeper_begins_with_a_subscription_and_ends_with_close():
    before = keepers()
    consumer = make(group_id="g", heartbeat_interval_ms=15)
    assert keepers() <= before
    consumer.subscribe(["t"])
    consumer.subscribe(["t", "u"])
    assert len(keepers() - before) == 1
    consumer.pump.now += 1_000_000
    until(lambda: consumer.pump.steps)
    consumer.close()
    until(lambda: keepers() <= before)


def test_dropping_a_consumer_ends_its_keeper():
    before = keepers()
    consumer = make("t", group_id="g", heartbeat_interval_ms=15)
    gone = weakref.ref(consumer._engine)
    assert len(keepers() - before) == 1
    del consumer
    gc.collect()
    until(lambda: gone() is None and keepers() <= before)


def test_a_manual_assignment_needs_no_keeper():
    assert not assigned(group_id="g")._keeper.running


# Threads ----------------------------------------------------------------------------------------


def in_another_thread(call):
    outcome = []

    def run():
        try:
            outcome.append(call())
        except BaseException as error:  # noqa: BLE001
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return outcome[0]


def test_a_second_thread_is_told_so():
    consumer = assigned(group_id="g")
    outcomes = []

    def meanwhile(_):
        consumer.pump.on_step = None
        outcomes.extend(
            in_another_thread(call)
            for call in (
                consumer.poll,
                consumer.commit,
                consumer.close,
                consumer.assignment,
                consumer.group_metadata,
                consumer.subscription,
                consumer.paused,
            )
        )

    consumer.pump.on_step = meanwhile
    consumer.poll()
    assert [type(o) for o in outcomes[:3]] == [errors.ConcurrentUseError] * 3
    assert outcomes[3] == {T0}
    assert outcomes[4].generation_id == 5
    assert outcomes[5] is None
    assert outcomes[6] == set()


def test_a_second_thread_may_have_its_turn_afterwards():
    consumer = assigned()
    assert in_another_thread(consumer.poll) == {}
    assert consumer.poll() == {}


def test_a_call_waits_for_the_keepers_turn():
    consumer = assigned()
    result = []
    thread = threading.Thread(target=lambda: result.append(consumer.poll()))
    with consumer._engine.guard.visit() as let_in:
        assert let_in
        thread.start()
        thread.join(0.1)
        assert result == []
    thread.join()
    assert result == [{}]


# Forks ------------------------------------------------------------------------------------------


def test_after_a_fork_every_call_is_refused():
    consumer = make("t", group_id="g", heartbeat_interval_ms=15)
    with consumer._engine.guard.visit() as let_in:  # as if the keeper were inside when it forks
        assert let_in
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            outcome = b"nothing"
            try:
                for call in (consumer.metrics, consumer.poll):
                    with pytest.raises(errors.ForkedError):
                        call()
                outcome = b"forked"
            except BaseException as error:  # noqa: BLE001
                outcome = repr(error).encode()
            consumer.close()  # harmless
            del consumer
            os.write(writer, outcome)
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(reader, 100) == b"forked"
        os.close(reader)
        os.close(writer)
    consumer.close()


def test_the_child_of_a_fork_has_nothing_left_of_the_parents_loop():
    consumer = assigned(group_id="g")
    consumer.core.batches.append(records(T0, 10, 11, 12))
    assert next(consumer).offset == 10
    consumer.forked()
    with pytest.raises(errors.ForkedError):
        next(consumer)


# Asynchronous commits ---------------------------------------------------------------------------


def test_commit_async_tells_later_in_the_users_thread():
    consumer = assigned(group_id="g")
    told = []
    consumer.core.answers["commit"] = {T0: OffsetAndMetadata(5)}
    future = consumer.commit_async(
        {T0: OffsetAndMetadata(5)},
        callback=lambda offsets, error: told.append((offsets, error)),
    )
    assert (future.is_done, told) == (False, [])
    consumer._engine.step(0)  # as the keeper does
    assert (future.succeeded(), told) == (True, [])
    consumer.poll()
    assert told == [({T0: OffsetAndMetadata(5)}, None)]


def test_commit_async_failures_are_told():
    told = []
    consumer = assigned(
        group_id="g", default_offset_commit_callback=lambda offsets, error: told.append(error)
    )
    consumer.core.answers["commit"] = errors.RetriableCommitFailedError("later")
    future = consumer.commit_async()
    consumer.poll()
    consumer.poll()
    assert future.failed()
    assert future.retriable()
    assert future.exception is told[0]


def test_auto_commits_are_told_to_the_default_callback():
    told = []
    consumer = assigned(
        group_id="g", default_offset_commit_callback=lambda *args: told.append(args)
    )
    offsets = {T0: OffsetAndMetadata(5)}
    consumer.core.events.append(OffsetsCommitted(None, offsets))
    consumer.poll()
    assert told == [(offsets, None)]
    late = errors.RetriableCommitFailedError("later")
    consumer.core.events.append(OffsetsCommitted(None, offsets, late))
    consumer.poll()
    assert told[1:] == [(offsets, late)]


def test_auto_commits_need_nobody_to_be_told():
    consumer = assigned(group_id="g")
    consumer.core.events.append(OffsetsCommitted(None, {T0: OffsetAndMetadata(5)}))
    assert consumer.poll() == {}


def test_callbacks_of_earlier_commits_run_before_commit_returns():
    consumer = assigned(group_id="g")
    told = []
    consumer.commit_async(callback=lambda offsets, outcome: told.append("async"))
    consumer.commit()
    assert told == ["async"]


def test_futures_call_back():
    told = []
    future = OperationFuture()
    future.add_callback(told.append).add_errback(told.append)
    future.add_both(lambda tag, outcome: told.append((tag, outcome)), "both")
    for call in future.finish(7, None):
        call()
    assert told == [7, ("both", 7)]
    future.add_callback(told.append)
    future.add_errback(told.append)
    assert told[-1] == 7
    assert len(told) == 3
    failed = OperationFuture()
    error = errors.CommitFailedError("x")
    failed.add_both(told.append)
    for call in failed.finish(None, error):
        call()
    failed.add_both(told.append)
    assert told[3:] == [error, error]
    assert not failed.retriable()
