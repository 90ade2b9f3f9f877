"""`ShareConsumer` on a scripted cluster: polls, loops, commits, the end, and being struck."""

import os
import pickle

import pytest
from scripted import World
from scripted_share import ShareCluster, share_consumer
from strikes import Strike

import kcore
from kcore import AcknowledgeType, errors

T0 = kcore.TopicPartition("t", 0)
EXPLICIT = {"share_acknowledgement_mode": "explicit"}


@pytest.fixture
def cluster():
    found = ShareCluster({"t": 1})
    found.fill(10)
    return found


@pytest.fixture
def consume(cluster):
    made = []

    def make(**options):
        made.append(share_consumer(World(cluster), "t", **options))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


def offsets(found):
    return [record.offset for records in found.values() for record in records]


# Polls --------------------------------------------------------------------------------------------


def test_a_poll_accepts_what_the_one_before_returned(cluster, consume):
    consumer = consume()
    assert offsets(consumer.poll(2_000, max_records=4)) == [0, 1, 2, 3]
    assert cluster.done() == []
    assert offsets(consumer.poll(2_000)) == [4, 5, 6, 7, 8, 9]
    assert consumer.poll(1_000) == {}
    assert cluster.done() == list(range(10))


def test_commits_tell_at_once_and_a_callback_hears_it(cluster, consume):
    consumer, heard = consume(), []
    consumer.set_acknowledgement_commit_callback(lambda *outcome: heard.append(outcome))
    consumer.poll(2_000, max_records=4)
    assert consumer.commit() == {T0: None}
    assert cluster.done() == [0, 1, 2, 3]
    assert heard == [({T0: {0, 1, 2, 3}}, None)]
    assert consumer.commit_sync() == {}
    consumer.poll(2_000)
    consumer.commit_async()
    assert consumer.poll(500) == {}
    assert heard[1:] == [({T0: set(range(4, 10))}, None)]


def test_a_callback_may_call_the_consumer_but_for_what_it_is_in(cluster, consume):
    consumer, seen = consume(), []
    consumer.set_acknowledgement_commit_callback(lambda *_: seen.append(consumer.subscription()))
    consumer.poll(2_000)
    consumer.commit()
    assert seen == [{"t"}]


def test_explicitly_acknowledgements_are_the_callers(cluster, consume):
    consumer = consume(**EXPLICIT)
    records = consumer.poll(2_000)[T0]
    for record in records[:9]:
        consumer.acknowledge(record)
    with pytest.raises(errors.IllegalStateError, match="1 records of the last poll"):
        consumer.poll()
    consumer.acknowledge_offset("t", 0, 9, AcknowledgeType.RELEASE)
    ((again,),) = consumer.poll(2_000).values()
    assert (again.offset, again.delivery_count) == (9, 2)
    consumer.acknowledge(again, 3)
    assert consumer.commit() == {T0: None}
    assert cluster.done() == list(range(10))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("t", 0, 3, 0), errors.IllegalArgumentError),
        (("t", 0, 3, 5), errors.IllegalArgumentError),
        (("t", 0, 3, "ACCEPT"), TypeError),
        (("t", 0, 3, True), TypeError),
        (("t", -1, 3), errors.IllegalArgumentError),
        (("t", 0, -3), errors.IllegalArgumentError),
        ((7, 0, 3), TypeError),
        (("t", 0, 99), errors.IllegalStateError),
        (("u", 0, 3), errors.IllegalStateError),
    ],
    ids=str,
)
def test_what_cannot_be_acknowledged(consume, arguments, error):
    consumer = consume(**EXPLICIT)
    for record in consumer.poll(2_000)[T0]:
        consumer.acknowledge(record)
    with pytest.raises(error):
        consumer.acknowledge_offset(*arguments)


def test_nothing_subscribed_is_nothing_to_poll(consume):
    consumer = consume()
    consumer.unsubscribe()
    with pytest.raises(errors.IllegalStateError, match="nothing is subscribed"):
        consumer.poll()


def test_what_was_returned_before_unsubscribe_can_be_committed(cluster, consume):
    consumer = consume()
    consumer.poll(2_000, max_records=4)
    consumer.unsubscribe()
    assert consumer.commit() == {T0: None}
    assert cluster.done() == [0, 1, 2, 3]
    assert cluster.held() == []


# Loops --------------------------------------------------------------------------------------------


def test_a_commit_within_a_loop_accepts_what_it_has_yielded(cluster, consume):
    consumer = consume()
    for record in consumer:
        if record.offset == 3:
            assert consumer.commit() == {T0: None}
            assert cluster.done() == [0, 1, 2, 3]
        if record.offset == 5:
            break
    assert offsets(consumer.poll(500)) == [6, 7, 8, 9]
    consumer.poll(500)
    assert cluster.done() == list(range(10))


def test_closing_behind_a_loop_releases_the_record_in_hand_and_the_rest(cluster, consume):
    consumer = consume()
    for record in consumer:
        if record.offset == 5:
            break
    consumer.close()
    assert cluster.done() == [0, 1, 2, 3, 4]
    assert cluster.held() == []


def test_closing_behind_a_poll_accepts_nothing(cluster, consume):
    consumer = consume()
    consumer.poll(2_000)
    consumer.close()
    assert cluster.done() == []
    assert cluster.held() == []


def test_a_loop_ends_when_nothing_comes_for_so_long(cluster, consume):
    seen = [record.offset for record in consume(consumer_timeout_ms=700)]
    assert seen == list(range(10))
    assert cluster.done() == list(range(10))


def test_explicitly_a_loop_goes_on_when_all_is_acknowledged(cluster, consume):
    consumer = consume(consumer_timeout_ms=700, **EXPLICIT)
    for record in consumer:
        again = record.delivery_count > 1
        consumer.acknowledge(record, AcknowledgeType.ACCEPT if again else AcknowledgeType.RELEASE)
    consumer.commit()
    assert cluster.done() == list(range(10))


# The end ------------------------------------------------------------------------------------------


def test_close_twice_and_then_every_call_is_refused(consume):
    consumer = consume()
    consumer.close()
    consumer.close()
    calls = (consumer.poll, consumer.commit, consumer.commit_async, consumer.unsubscribe)
    for call in (*calls, consumer.wakeup, lambda: consumer.subscribe(["t"])):
        with pytest.raises(errors.ConsumerStoppedError):
            call()


def test_wakeup_ends_the_next_poll_and_that_alone(consume):
    consumer = consume()
    consumer.wakeup()
    with pytest.raises(errors.WakeupError):
        consumer.poll(1_000)
    assert len(offsets(consumer.poll(2_000))) == 10


def test_a_refusal_of_the_group_is_raised_by_every_poll(cluster, consume):
    from kcore.wire import messages as m  # noqa: PLC0415
    from kcore.wire.apis import ApiKey  # noqa: PLC0415

    answer = m.ShareGroupHeartbeatResponse(error_code=30, error_message="not you")
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: answer
    consumer = consume()
    for _ in range(3):
        with pytest.raises(errors.GroupAuthorizationFailedError, match="not you"):
            consumer.poll(2_000)


def test_it_cannot_be_pickled(consume):
    with pytest.raises(TypeError, match="holds connections"):
        pickle.dumps(consume())


def test_after_a_fork_every_call_is_refused(consume):
    consumer = consume()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        outcome = b"nothing"
        try:
            consumer.poll()
        except errors.ForkedError:
            outcome = b"forked"
        except BaseException as error:  # noqa: BLE001
            outcome = repr(error).encode()
        os.write(writer, outcome)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 100) == b"forked"
    os.close(reader)
    os.close(writer)


# Struck -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["poll", "close"])
def test_struck_behind_a_loop_that_was_left_nothing_is_accepted_unseen(cluster, verb):
    """At every place where the loop is left."""
    for at in range(1, 90):
        cluster.__init__({"t": 1})
        cluster.fill(10)
        consumer = share_consumer(World(cluster), "t")
        seen = {next(consumer).offset}
        try:
            with Strike(at):
                found = consumer.close() if verb == "close" else consumer.poll(2_000)
            seen |= {*offsets(found or {})}
        except KeyboardInterrupt:
            pass
        cluster.forget_sessions()  # its links have ended
        if verb == "poll":
            seen |= set(offsets(consumer.poll(600)))
            seen |= set(offsets(consumer.poll(600)))
            assert seen == set(range(10)), at
        consumer.close()
        assert set(cluster.done()) <= seen, at


@pytest.mark.parametrize("verb", ["poll", "loop", "commit"])
@pytest.mark.parametrize(
    "start",
    [1, 287, *(pytest.param(at, marks=pytest.mark.slow) for at in range(14, 390, 13) if at != 287)],
)
def test_struck_anywhere_nothing_is_accepted_unseen_and_nothing_is_lost(cluster, verb, start):
    """All over three polls, at places that lie apart; the slow ones strike between them."""
    for at in range(start, 3_000, 390):
        cluster.__init__({"t": 1})
        cluster.fill(10)
        consumer = share_consumer(World(cluster), "t", max_poll_records=4)
        seen, strike = set(), Strike(at)
        try:
            for _ in range(3):
                with strike:
                    found = [next(consumer)] if verb == "loop" else consumer.poll(2_000, 4)
                    if verb == "commit":
                        consumer.commit()
                seen |= {record.offset for record in found} if verb == "loop" else {*offsets(found)}
        except KeyboardInterrupt:
            pass
        cluster.forget_sessions()  # its links have ended
        if verb != "commit":  # which accepts what the poll of the same call returned
            assert set(cluster.done()) <= seen
        for _ in range(8):
            seen |= set(offsets(consumer.poll(600)))
        if verb != "commit":
            assert seen == set(range(10))
        assert cluster.done() == list(range(10))
        consumer.close()
        if strike.left > 0:
            break
