"""poll, subscribe and assign, wake-ups, errors from the background."""

import re
import threading

import pytest
from scripted_consumer import T0, T1, assigned, make, records

from kcore import SubscriptionPattern, errors
from kcore.events import ErrorRaised, OperationCompleted
from kcore.structs import OffsetAndMetadata


def test_records_at_hand_are_returned_without_a_step():
    consumer = assigned()
    consumer.core.batches.append(records(T0, 1, 2))
    drains = consumer.pump.drains
    got = consumer.poll()
    assert [r.offset for r in got[T0]] == [1, 2]
    assert consumer.pump.steps == []
    assert consumer.pump.drains > drains  # the next fetch has left
    assert [entry[0] for entry in consumer.core.log] == ["poll", "take_records"]


def test_a_second_poll_in_the_same_millisecond_only_hands_over():
    consumer = assigned()
    consumer.core.batches.extend([records(T0, 1), records(T0, 2), records(T0, 3)])
    consumer.poll()
    drains = consumer.pump.drains
    assert [r.offset for r in consumer.poll()[T0]] == [2]
    assert consumer.pump.drains > drains
    assert [entry[0] for entry in consumer.core.log] == ["poll", "take_records", "take_records"]
    consumer.pump.now += 1
    consumer.poll()
    assert len(consumer.core.verbs("poll")) == 2


def test_what_came_meanwhile_is_not_missed_in_the_same_millisecond():
    consumer = assigned()
    consumer.core.batches.extend([records(T0, 1), records(T0, 2)])
    consumer.poll()
    consumer.core.events.append(ErrorRaised(errors.GroupAuthorizationFailedError("no")))
    consumer._engine.collect()
    with pytest.raises(errors.GroupAuthorizationFailedError):
        consumer.poll()
    consumer.poll()
    consumer.wakeup()
    with pytest.raises(errors.WakeupError):
        consumer.poll()


def test_nothing_at_hand_in_the_same_millisecond_is_waited_for():
    consumer = assigned()
    consumer.core.batches.append(records(T0, 1))
    consumer.poll()
    consumer.pump.on_step = lambda _: consumer.core.batches.append(records(T0, 2))
    assert [r.offset for r in consumer.poll(timeout_ms=100)[T0]] == [2]
    assert len(consumer.core.verbs("poll")) >= 2


def test_sockets_are_looked_at_now_and_then():
    consumer = assigned()
    consumer.core.batches.append(records(T0, 1))
    consumer.pump.now += 6
    assert consumer.poll()
    assert consumer.pump.steps == [0]


def test_poll_without_records_looks_once_and_returns():
    consumer = assigned()
    assert consumer.poll() == {}
    assert consumer.pump.steps == [0]


def test_poll_takes_what_its_only_step_brought():
    consumer = assigned()
    consumer.pump.on_step = lambda _: consumer.core.batches.append(records(T0, 1))
    assert list(consumer.poll()) == [T0]


def test_poll_waits_in_pieces_and_keeps_telling_the_core():
    consumer = assigned()
    before = consumer.pump.now
    assert consumer.poll(timeout_ms=2_500) == {}
    assert consumer.pump.now - before == 2_500
    assert len(consumer.core.verbs("poll")) >= 3


def test_poll_goes_on_over_batches_without_records():
    consumer = assigned()
    consumer.core.batches.extend([{}, {}, records(T0, 9)])
    assert [r.offset for r in consumer.poll(timeout_ms=100)[T0]] == [9]
    assert consumer.pump.now == 1_000  # nothing was waited for


def test_poll_limits():
    consumer = assigned(max_poll_records=3)
    consumer.core.batches.extend([records(T0, 1), records(T0, 2)])
    consumer.poll()
    consumer.poll(max_records=1)
    assert [entry[1] for entry in consumer.core.verbs("take_records")] == [3, 1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"timeout_ms": -1}, ValueError),
        ({"timeout_ms": float("nan")}, ValueError),
        ({"timeout_ms": "1"}, TypeError),
        ({"max_records": 0}, ValueError),
        ({"max_records": -5}, ValueError),
        ({"max_records": 1.5}, TypeError),
    ],
)
def test_poll_misuse(arguments, error):
    with pytest.raises(error):
        assigned().poll(**arguments)


def test_x1_poll_without_a_wish():
    with pytest.raises(errors.IllegalStateError, match="nothing is subscribed"):
        make().poll()
    consumer = assigned()
    consumer.assign([])
    with pytest.raises(errors.IllegalStateError):
        consumer.poll()


def test_x1_wishes_exclude_each_other():
    consumer = make(group_id="g")
    consumer.subscribe(["t"])
    consumer.subscribe(["t", "u"])
    for other in (lambda: consumer.assign([T0]), lambda: consumer.subscribe(pattern="t.*")):
        with pytest.raises(errors.IllegalStateError, match="exclude"):
            other()
    consumer.unsubscribe()
    consumer.assign([T0])
    with pytest.raises(errors.IllegalStateError):
        consumer.subscribe(["t"])
    consumer.assign([])
    consumer.subscribe(pattern="t.*")
    assert [entry[0] for entry in consumer.core.log] == [
        "subscribe",
        "subscribe",
        "unsubscribe",
        "assign",
        "unsubscribe",
        "subscribe_pattern",
    ]
    consumer.close()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, ValueError),
        ({"topics": ["t"], "pattern": "t"}, ValueError),
        ({"topics": "t"}, TypeError),
        ({"topics": [7]}, TypeError),
        ({"topics": [None]}, TypeError),
        ({"topics": [""]}, errors.InvalidTopicError),
        ({"topics": ["a b"]}, errors.InvalidTopicError),
        ({"topics": ["x" * 250]}, errors.InvalidTopicError),
        ({"topics": [".."]}, errors.InvalidTopicError),
        ({"pattern": "("}, ValueError),
        ({"pattern": 7}, TypeError),
        ({"topics": ["t"], "listener": object()}, TypeError),
        ({"pattern": SubscriptionPattern("t.*")}, errors.IllegalArgumentError),  # a classic group
        ({"pattern": SubscriptionPattern("")}, errors.IllegalArgumentError),
        ({"topics": ["t"], "pattern": SubscriptionPattern("t")}, ValueError),
    ],
)
def test_subscribe_misuse(arguments, error):
    consumer = make(group_id="g")
    with pytest.raises(error):
        consumer.subscribe(**arguments)
    assert consumer.core.log == []


def test_subscription_is_a_copy_and_none_without():
    consumer = make("t", group_id="g")
    first = consumer.subscription()
    assert first == {"t"}
    assert first is not consumer.subscription()
    consumer.unsubscribe()
    assert consumer.subscription() is None
    consumer.close()


def test_assign_misuse():
    for bad in ("t", 5, [("t",)], [("t", -1)], [(7, 0)]):
        with pytest.raises((TypeError, ValueError)):
            make().assign(bad)
    with pytest.raises(errors.InvalidTopicError):
        make().assign([("a b", 0)])


def test_an_error_from_the_background_is_raised_by_the_next_poll():
    consumer = assigned()
    consumer.core.events.append(ErrorRaised(errors.GroupAuthorizationFailedError("no")))
    with pytest.raises(errors.GroupAuthorizationFailedError):
        consumer.poll()
    assert consumer.poll() == {}


def test_an_error_that_comes_while_poll_waits_ends_the_wait():
    consumer = assigned()
    consumer.core.pending.append(ErrorRaised(errors.FencedInstanceIdError("gone")))
    with pytest.raises(errors.FencedInstanceIdError):
        consumer.poll(timeout_ms=1000)


def test_errors_of_taking_records_come_through():
    consumer = assigned()
    consumer.core.batches.append(errors.OffsetOutOfRangeError({T0: 5}, offsets={T0: 5}))
    drains = consumer.pump.drains
    with pytest.raises(errors.OffsetOutOfRangeError):
        consumer.poll()
    assert consumer.pump.drains > drains


def test_wakeup_ends_a_poll_under_way():
    consumer = assigned()
    consumer.pump.on_step = lambda _: consumer.wakeup()
    with pytest.raises(errors.WakeupError):
        consumer.poll(timeout_ms=10_000)
    assert len(consumer.pump.steps) == 1


def test_wakeup_waits_for_the_next_blocking_call_and_counts_once():
    consumer = assigned(group_id="g")
    consumer.wakeup()
    consumer.wakeup()
    assert consumer.assignment() == {T0}
    with pytest.raises(errors.WakeupError):
        consumer.commit()
    consumer.commit()
    assert consumer.poll() == {}


@pytest.mark.parametrize("verb", ["position", "end_offsets", "topics"])
def test_wakeup_ends_every_blocking_call(verb):
    consumer = assigned()
    consumer.core.answers = {"list_offsets": None, "fetch_metadata": None}
    consumer.pump.on_step = lambda _: consumer.wakeup()
    arguments = {"position": [T0], "end_offsets": [[T0]], "topics": []}[verb]
    with pytest.raises(errors.WakeupError):
        getattr(consumer, verb)(*arguments)


def test_ctrl_c_comes_through_and_the_consumer_goes_on():
    consumer = assigned()

    def strike(_):
        consumer.pump.on_step = None
        raise KeyboardInterrupt

    consumer.pump.on_step = strike
    with pytest.raises(KeyboardInterrupt):
        consumer.poll(timeout_ms=10_000)
    assert consumer.poll() == {}


def test_an_answer_to_an_interrupted_call_is_dropped():
    consumer = assigned(group_id="g")
    consumer.core.answers["commit"] = None
    consumer.pump.on_step = lambda _: consumer.wakeup()
    with pytest.raises(errors.WakeupError):
        consumer.commit()
    consumer.pump.on_step = None
    consumer.core.events.append(OperationCompleted(consumer.core.operations, {}))
    consumer.poll()
    assert consumer._engine._results == {}


# Without a group --------------------------------------------------------------------------------


def test_topics_without_a_group_are_read_whole():
    consumer = make("t")
    consumer.core.answers["fetch_metadata"] = {"t": [0, 1]}
    consumer.poll(timeout_ms=10)
    assert consumer.core.verbs("fetch_metadata", "assign") == [
        ("fetch_metadata", ("t",)),
        ("assign", [T0, T1]),
    ]
    assert consumer.subscription() == {"t"}
    assert not consumer._keeper.running


def test_without_a_group_new_partitions_are_found_when_metadata_is_old():
    consumer = make("t", metadata_max_age_ms=5_000)
    consumer.core.answers["fetch_metadata"] = {"t": [0]}
    consumer.poll(timeout_ms=4_000)
    consumer.core.answers["fetch_metadata"] = {"t": [0, 1]}
    consumer.poll(timeout_ms=4_000)
    assert consumer.core.verbs("assign") == [("assign", [T0]), ("assign", [T0, T1])]


def test_without_a_group_a_missing_topic_is_looked_for_again():
    consumer = make("t")
    consumer.poll(timeout_ms=3_500)
    assert 2 <= len(consumer.core.verbs("fetch_metadata")) <= 5
    assert consumer.core.verbs("assign") == []


def test_without_a_group_a_pattern_matches_from_the_start():
    consumer = make()
    consumer.subscribe(pattern="t")
    consumer.core.answers["fetch_metadata"] = {
        "t": [0],
        "tt": [0],
        "at": [0],
        "__consumer_offsets": [0],
    }
    consumer.poll(timeout_ms=10)
    assert consumer.subscription() == {"t", "tt"}
    assert consumer.core.verbs("fetch_metadata") == [("fetch_metadata", None)]


@pytest.mark.parametrize(
    ("pattern", "topics"),
    [
        (re.compile("T", re.IGNORECASE), {"t", "tt"}),
        (re.compile("t # all", re.VERBOSE), {"t", "tt"}),
        (re.compile("(?i)T # all", re.VERBOSE | re.ASCII), {"t", "tt"}),
        (re.compile("T"), set()),
    ],
)
def test_a_compiled_pattern_is_taken_with_its_flags(pattern, topics):
    consumer = make()
    consumer.subscribe(pattern=pattern)
    consumer.core.answers["fetch_metadata"] = {"t": [0], "tt": [0], "at": [0]}
    consumer.poll(timeout_ms=10)
    assert consumer.subscription() == topics


def test_without_a_group_a_refusal_is_raised():
    consumer = make("t")
    consumer.core.answers["fetch_metadata"] = errors.TopicAuthorizationFailedError("t")
    with pytest.raises(errors.TopicAuthorizationFailedError):
        consumer.poll(timeout_ms=100)


def test_without_a_group_another_wish_lets_go_of_the_old_partitions():
    consumer = make("t")
    consumer.core.answers["fetch_metadata"] = {"t": [0], "u": [0]}
    consumer.poll(timeout_ms=10)
    consumer.subscribe(["u"])
    assert consumer.assignment() == set()
    consumer.poll(timeout_ms=10)
    assert consumer.assignment() == {("u", 0)}


def test_a_pattern_for_the_brokers_is_not_judged_here():
    consumer = make(group_id="g", group_protocol="consumer")
    consumer.subscribe(pattern=SubscriptionPattern(r"\pL("))
    assert consumer.core.log[-1][:2] == ("subscribe_remote_pattern", r"\pL(")
    with pytest.raises(errors.IllegalStateError, match="exclude"):
        consumer.assign([T0])
    consumer.close()


def test_without_a_group_nobody_matches_it():
    with pytest.raises(errors.IllegalArgumentError, match="group_protocol='consumer'"):
        make().subscribe(pattern=SubscriptionPattern("t"))


# Ends of a poll -----------------------------------------------------------------------------------


def waited(consumer, timeout_ms):
    before = consumer.pump.now
    assert consumer.poll(timeout_ms=timeout_ms) == {}
    return consumer.pump.now - before


def test_a_nudge_ends_one_poll():
    consumer = assigned()
    reins = consumer.reins()
    reins.nudge()
    assert (waited(consumer, 500), waited(consumer, 500)) == (0, 500)
    assert consumer.core.idle_ms == 500  # of poll-idle-ratio-avg


def test_who_gives_the_reins_back_leaves_no_nudge():
    consumer = assigned()
    reins, attendant = consumer.reins(), object()
    reins.attend(attendant)
    reins.nudge()
    reins.leave(object())  # somebody else's
    with pytest.raises(errors.IllegalStateError):
        reins.attend(attendant)
    reins.leave(attendant)
    assert waited(consumer, 500) == 500
    reins.attend(attendant)


@pytest.mark.parametrize("timeout_ms", [0, 20])
def test_a_poll_ends_in_time_whatever_comes_all_the_time(timeout_ms):
    consumer = assigned()

    def more(_):
        assert len(consumer.pump.steps) < 100
        consumer.pump.now += 1
        consumer.core.pending.append(OperationCompleted(99, None, None))

    consumer.pump.on_step = more
    assert waited(consumer, timeout_ms) <= timeout_ms + 1


def test_who_is_refused_while_another_thread_takes_costs_that_one_nothing():
    consumer = assigned()
    consumer.core.batches.append(records(T0, 1, 2))
    take, refused = consumer.core.take_records, []

    def poll_elsewhere():
        try:
            consumer.poll()
        except errors.ConcurrentUseError as error:
            refused.append(error)

    def taking(limit, now_ms):
        taken = take(limit, now_ms)
        thread = threading.Thread(target=poll_elsewhere)
        thread.start()
        thread.join()
        if taken:
            raise KeyboardInterrupt
        return taken

    consumer.core.take_records = taking
    with pytest.raises(KeyboardInterrupt):
        consumer.poll()
    assert len(refused) == 1
    assert len(consumer.core.verbs("take_back")) == 1


def test_a_wakeup_ends_no_wait_and_no_commit_of_the_reins():
    consumer = assigned(group_id="g")
    reins = consumer.reins()
    consumer.wakeup()
    assert not reins.wait(lambda: False, 30)
    reins.commit({T0: OffsetAndMetadata(1)}, 500)
    assert len(consumer.core.verbs("commit")) == 1
    with pytest.raises(errors.WakeupError):  # it is still the next poll's
        consumer.poll()


def test_a_commit_of_the_reins_that_is_not_answered_has_failed():
    consumer = assigned(group_id="g")
    reins = consumer.reins()
    consumer.core.answers["commit"] = None
    with pytest.raises(errors.KafkaTimeoutError):
        reins.commit({T0: OffsetAndMetadata(1)}, 500)
    reins.commit({}, 500)
    assert len(consumer.core.verbs("commit")) == 1


def test_what_is_said_again_is_raised_once_and_nothing_else_is_left_out():
    consumer = assigned(group_id="g")
    refused, missing = errors.GroupAuthorizationFailedError("no"), errors.InvalidTopicError("t!")
    consumer.core.events += [ErrorRaised(it) for it in (refused, refused, missing, refused)]
    raised = []
    for _ in range(3):
        with pytest.raises(errors.KafkaError) as caught:
            consumer.poll()
        raised.append(caught.value)
    assert raised == [refused, missing, refused]
    assert consumer.poll() == {}


def test_an_error_that_is_kept_is_the_next_polls_also_in_the_same_millisecond():
    consumer = assigned()
    consumer.core.batches.extend([records(T0, 1), records(T0, 2)])
    consumer.poll()
    consumer._engine.keep(errors.KafkaError("of the keeper's turn"))
    with pytest.raises(errors.KafkaError, match="keeper"):
        consumer.poll()
    assert [r.offset for r in consumer.poll()[T0]] == [2]


# Questions ----------------------------------------------------------------------------------------


def test_who_is_woken_before_a_question_asks_nothing():
    consumer = assigned(group_id="g")
    consumer.wakeup()
    with pytest.raises(errors.WakeupError):
        consumer.commit()
    assert not consumer.core.verbs("commit")
    consumer.commit()


def test_a_question_leaves_nothing_behind_and_is_the_cores_to_give_up():
    consumer = assigned(group_id="g")
    consumer.commit()
    before, consumer.core.answers["commit"] = consumer.pump.now, None
    with pytest.raises(errors.KafkaTimeoutError):
        consumer.commit(timeout_ms=500)
    assert consumer.pump.now - before > 500  # its own word would have come by then
    assert not consumer._engine._results
    assert not consumer._engine._expected
