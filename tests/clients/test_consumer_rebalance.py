"""The listener bridge: who is called when, what the core hears, what poll raises."""

import pytest
from kafka import ConsumerRebalanceListener as TheirListener
from scripted_consumer import T0, T1, make

import kcore
from kcore import errors
from kcore.events import PartitionsAssigned, PartitionsLost, PartitionsRevoked

BOTH = [PartitionsRevoked((T0,)), PartitionsAssigned((T0,), (T0,), 2)]


class Listener:
    def __init__(self, hook=None):
        self.heard = []
        self.hook = hook

    def on_partitions_revoked(self, revoked):
        self._hear("revoked", revoked)

    def on_partitions_assigned(self, assigned):
        self._hear("assigned", assigned)

    def _hear(self, what, partitions):
        self.heard.append((what, partitions))
        if self.hook is not None:
            self.hook()


class LostListener(Listener, kcore.ConsumerRebalanceListener):
    pass


def subscribed(listener):
    consumer = make(group_id="g")
    consumer._keeper.start = lambda: None  # its turns are called by hand
    consumer.subscribe(["t"], listener=listener)
    consumer.core.log.clear()
    return consumer


def acks(consumer):
    return len(consumer.core.verbs("acknowledge_rebalance"))


def test_each_step_is_told_and_acknowledged_in_order():
    listener = Listener()
    consumer = subscribed(listener)
    listener.hook = lambda: told.append(acks(consumer))
    told = []
    consumer.core.begin_rebalance(
        PartitionsRevoked((T0,)), PartitionsAssigned((T1,), (T1,), 2), PartitionsLost((T1,))
    )
    consumer.poll()
    assert listener.heard == [("revoked", {T0}), ("assigned", {T1}), ("revoked", {T1})]
    assert told == [0, 1, 2]
    assert acks(consumer) == 3


def test_lost_partitions_have_a_method_of_their_own():
    class Own(Listener):
        def on_partitions_lost(self, lost):
            self._hear("lost", lost)

    listener = Own()
    consumer = subscribed(listener)
    consumer.core.events.append(PartitionsLost((T0,)))
    consumer.poll()
    assert listener.heard == [("lost", {T0})]


@pytest.mark.parametrize("kind", [LostListener, type("Theirs", (Listener, TheirListener), {})])
def test_lost_goes_to_revoked_by_default(kind):
    listener = kind()
    consumer = subscribed(listener)
    consumer.core.events.append(PartitionsLost((T0,)))
    consumer.poll()
    assert listener.heard == [("revoked", {T0})]


def test_empty_sets_are_told():
    listener = Listener()
    consumer = subscribed(listener)
    consumer.core.begin_rebalance(PartitionsRevoked(()), PartitionsAssigned((), (), 1))
    consumer.poll()
    assert listener.heard == [("revoked", set()), ("assigned", set())]


def test_without_a_listener_steps_are_acknowledged_at_once():
    consumer = subscribed(None)
    consumer.core.events.append(PartitionsRevoked((T0,)))
    consumer._engine.collect()  # as the keeper does
    assert acks(consumer) == 1


def test_with_a_listener_the_keeper_leaves_them_to_poll():
    listener = Listener()
    consumer = subscribed(listener)
    consumer.core.events.append(PartitionsRevoked((T0,)))
    consumer._engine.collect()
    assert (acks(consumer), listener.heard) == (0, [])
    consumer.poll()
    assert (acks(consumer), listener.heard) == (1, [("revoked", {T0})])


def test_iterating_inside_is_refused_as_it_would_never_end():
    def inside():
        with pytest.raises(errors.IllegalStateError, match="inside a rebalance listener"):
            next(consumer)

    consumer = subscribed(Listener(inside))
    consumer.core.begin_rebalance(*BOTH)
    assert consumer.poll() == {}
    assert acks(consumer) == 2


def test_commit_and_other_calls_work_inside():
    def inside():
        consumer.commit()
        assert consumer.committed(T0) is None
        assert consumer.poll() == {}
        consumer.assignment()

    consumer = subscribed(Listener(inside))
    consumer.core.begin_rebalance(*BOTH)
    consumer.poll()
    assert [entry[0] for entry in consumer.core.verbs("commit", "acknowledge_rebalance")] == [
        "commit",
        "acknowledge_rebalance",
        "commit",
        "acknowledge_rebalance",
    ]


def test_a_wakeup_in_the_middle_of_a_listener_is_one_of_the_poll():
    class Waiting(Listener):
        def _hear(self, what, partitions):
            super()._hear(what, partitions)
            if what == "assigned":
                consumer.wakeup()
                consumer.committed(T0)  # whatever waits
            raise ValueError(what)

    listener = Waiting()
    consumer = subscribed(listener)
    steps = [PartitionsRevoked((T0,)), PartitionsAssigned((T1,), (T1,), 2), PartitionsLost((T1,))]
    consumer.core.begin_rebalance(*steps)
    with pytest.raises(errors.WakeupError):
        consumer.poll()
    assert [what for what, _ in listener.heard] == ["revoked", "assigned", "revoked"]
    assert acks(consumer) == 3


def test_the_first_error_is_raised_when_all_steps_are_done():
    class Angry(Listener):
        def _hear(self, what, partitions):
            super()._hear(what, partitions)
            raise ValueError(what)

    listener = Angry()
    consumer = subscribed(listener)
    consumer.core.begin_rebalance(*BOTH)
    with pytest.raises(errors.KafkaError, match="listener") as caught:
        consumer.poll()
    assert isinstance(caught.value.__cause__, ValueError)
    assert str(caught.value.__cause__) == "revoked"
    assert len(listener.heard) == 2
    assert acks(consumer) == 2
    assert consumer.poll() == {}


def test_ctrl_c_inside_comes_through_and_the_rest_is_told_later():
    def strike():
        listener.hook = None
        raise KeyboardInterrupt

    listener = Listener(strike)
    consumer = subscribed(listener)
    consumer.core.begin_rebalance(*BOTH)
    with pytest.raises(KeyboardInterrupt):
        consumer.poll()
    assert acks(consumer) == 1
    consumer.poll()
    assert [what for what, _ in listener.heard] == ["revoked", "assigned"]


def test_steps_that_come_from_the_poll_itself_are_told_in_it():
    listener = Listener()
    consumer = subscribed(listener)

    def joined():
        consumer.core.on_poll = None
        consumer.core.events.append(PartitionsAssigned((T0,), (T0,), 1))

    consumer.core.on_poll = joined
    consumer.poll()
    assert listener.heard == [("assigned", {T0})]


def test_closing_inside_a_listener_keeps_its_bound():
    listener = Listener(lambda: consumer.close(timeout_ms=100))
    consumer = subscribed(listener)
    consumer.core.answers["close"] = False  # the core never says that it has closed
    consumer.core.events.append(PartitionsRevoked((T0,)))
    before = consumer.pump.now
    assert consumer.poll(timeout_ms=60_000) == {}
    assert consumer.pump.now - before <= 200
    assert consumer.pump.closed


def test_closing_inside_a_listener_waits_for_no_listener():
    listener = Listener(lambda: consumer.close(timeout_ms=1_000))
    consumer = subscribed(listener)
    close, noted = consumer.core.close, []

    def closing(*args, **options):
        noted.append(acks(consumer))
        close(*args, **options)

    consumer.core.close = closing
    consumer.core.events += [PartitionsRevoked((T0,)), PartitionsRevoked((T1,))]
    assert consumer.poll(timeout_ms=60_000) == {}
    assert noted == [1]  # what it is being told of is acknowledged, and nobody told of the rest
    assert listener.heard == [("revoked", {T0})]


def test_unsubscribe_tells_what_it_gives_up():
    listener = Listener()
    consumer = subscribed(listener)
    real = consumer.core.unsubscribe

    def leave(now_ms):
        real(now_ms)
        consumer.core.events.append(PartitionsRevoked((T0,)))

    consumer.core.unsubscribe = leave
    consumer.unsubscribe()
    assert listener.heard == [("revoked", {T0})]


def test_a_step_that_was_overtaken_is_not_acknowledged_before_the_one_behind_it_is_told():
    def unsubscribe():
        told.append(acks(consumer))
        listener.hook = lambda: told.append(acks(consumer))
        consumer.core.events.append(PartitionsRevoked((T0, T1)))
        consumer.unsubscribe()

    told = []
    listener = Listener(unsubscribe)
    consumer = subscribed(listener)
    consumer.core.begin_rebalance(PartitionsAssigned((T1,), (T0, T1), 2))
    assert consumer.poll(timeout_ms=60_000) == {}
    assert [what for what, _ in listener.heard] == ["assigned", "revoked"]
    assert told == [0, 0]
    assert acks(consumer) == 1


def test_a_loop_ends_whose_listener_unsubscribes():
    listener = Listener()
    consumer = subscribed(listener)
    listener.hook = consumer.unsubscribe
    consumer.core.begin_rebalance(PartitionsAssigned((T0,), (T0,), 1))
    before = consumer.pump.now
    assert list(consumer) == []
    assert consumer.pump.now == before
    with pytest.raises(errors.IllegalStateError, match="nothing is subscribed"):
        next(consumer)


def test_close_tells_what_it_gives_up_and_raises_afterwards():
    def strike():
        raise ValueError("flush failed")

    listener = Listener(strike)
    consumer = subscribed(listener)
    consumer.core.pending.append(PartitionsRevoked((T0,)))
    with pytest.raises(errors.KafkaError, match="listener"):
        consumer.close()
    assert listener.heard == [("revoked", {T0})]
    assert consumer.pump.closed


@pytest.mark.parametrize("method", ["on_partitions_revoked", "on_partitions_assigned"])
def test_coroutines_are_no_listener_methods(method):
    async def coroutine(partitions):
        raise NotImplementedError

    listener = Listener()
    setattr(listener, method, coroutine)
    with pytest.raises(TypeError, match="coroutine"):
        make(group_id="g").subscribe(["t"], listener=listener)
