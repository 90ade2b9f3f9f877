"""Names, signatures and shapes that code written for kafka-python relies on."""

import inspect
import pickle

import pytest
from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata as TheirOffset
from kafka.structs import TopicPartition as TheirPartition
from scripted_consumer import T0, T1, assigned, make

import kcore
from kcore import errors
from kcore.clients import arguments
from kcore.clients.consumer.consumer import Consumer
from kcore.structs import MemberState, OffsetAndMetadata, OffsetAndTimestamp

# NEEDS.txt, [Consumer: methods]: name -> keywords that users pass.
METHODS = {
    "assign": ["partitions"],
    "assignment": [],
    "beginning_offsets": ["partitions"],
    "bootstrap": ["timeout_ms"],
    "close": ["autocommit", "timeout_ms"],
    "end_offsets": ["partitions"],
    "group_metadata": [],
    "offsets_for_times": ["timestamps"],
    "partitions_for_topic": ["topic"],
    "pause": [],
    "paused": [],
    "poll": ["timeout_ms", "max_records"],
    "position": ["partition", "timeout_ms"],
    "resume": [],
    "seek_to_end": [],
    "subscribe": ["topics"],
    "subscription": [],
    "topics": [],
    "unsubscribe": [],
    "__enter__": [],
    "__exit__": [],
    "__iter__": [],
    "__next__": [],
}
# Beside NEEDS.txt: the rest of kafka-python's, and ours.
MORE = ["bootstrap_connected", "commit", "commit_async", "committed", "highwater", "seek"]
MORE += ["seek_to_beginning", "wakeup", "health", "read_until"]


@pytest.mark.parametrize("name", [*METHODS, *MORE])
def test_methods(name):
    method = getattr(Consumer, name)
    parameters = inspect.signature(method).parameters
    assert set(METHODS.get(name, [])) <= set(parameters)
    assert inspect.getdoc(method) or name.startswith("__")


def test_parameters_of_kafka_python_come_in_the_same_order():
    for name, theirs in vars(KafkaConsumer).items():
        ours = getattr(Consumer, name, None)
        if name.startswith("_") or not callable(theirs) or ours is None:
            continue
        expected = list(inspect.signature(theirs).parameters)
        assert list(inspect.signature(ours).parameters)[: len(expected)] == expected, name


def test_nothing_is_missing():
    theirs = {name for name, thing in vars(KafkaConsumer).items() if callable(thing)}
    public = {name for name in theirs if not name.startswith("_")}
    assert public <= set(dir(Consumer))


def test_public_names_are_lazy_and_complete():
    for name in kcore.__all__:
        assert name in dir(kcore)
    assert kcore.Consumer is Consumer
    with pytest.raises(AttributeError, match="nothing"):
        _ = kcore.nothing


def test_config_is_readable():
    consumer = make(group_id="g", max_poll_records=7, bootstrap_servers="a:1")
    assert consumer.config["max_poll_records"] == 7
    assert consumer.config["group_id"] == "g"
    assert consumer.config["bootstrap_servers"] == ["a:1"]
    assert consumer.config["api_version"] == (4, 0)


def test_wrong_options_need_no_broker():
    for bad in ({"colour": 1}, {"fetch_min_bytes": -1}, {"security_protocol": "TLS"}):
        with pytest.raises(errors.KafkaConfigurationError):
            Consumer("t", **bad)
    with pytest.raises(errors.InvalidTopicError):
        Consumer("a topic")
    with pytest.raises(TypeError):
        Consumer(7)


def test_auto_commit_without_a_group_is_warned_of(caplog):
    consumer = make(enable_auto_commit=True, bootstrap_servers="a:1")
    assert consumer.config["enable_auto_commit"] is False
    (said,) = (one.getMessage() for one in caplog.records)
    assert said == "enable_auto_commit has no effect without a group_id: nothing is committed"


def test_constructor_finds_the_release():
    consumer = make(api_version=None)
    assert consumer.config["api_version"] == (4, 4)
    assert consumer.core.log == [("fetch_metadata", ())]


def test_constructor_with_api_version_does_not_connect():
    consumer = make()
    assert consumer.pump.steps == []


def test_bootstrap_fails_clearly():
    consumer = make(bootstrap_servers="a:1,b:2")
    consumer.core.answers["fetch_metadata"] = errors.KafkaTimeoutError("no")
    consumer._engine.reporter.attempts["a:1"] = "refused"
    with pytest.raises(errors.NoBrokersAvailable, match=r"a:1, b:2 \(a:1: refused\)") as caught:
        consumer.bootstrap(timeout_ms=5, refresh=True)
    assert isinstance(caught.value, errors.KafkaTimeoutError)
    assert isinstance(caught.value, errors.KafkaConnectionError)
    assert caught.value.attempts == {"a:1": "refused"}


def test_foreign_partitions_and_offsets_are_taken():
    consumer = assigned(TheirPartition("t", 0), group_id="g")
    consumer.commit({TheirPartition("t", 0): TheirOffset(5, "x", -1)})
    ((_, offsets, _),) = consumer.core.verbs("commit")
    assert offsets == {T0: OffsetAndMetadata(5, "x", -1)}
    assert type(next(iter(offsets))) is kcore.TopicPartition
    assert consumer.position(("t", 0), timeout_ms=0) is None


@pytest.mark.parametrize(
    ("offsets", "error"),
    [
        ({T0: 5}, TypeError),
        ({"t": OffsetAndMetadata(5)}, TypeError),
        ({T0: OffsetAndMetadata(-1)}, ValueError),
        ({T0: ("5", "")}, ValueError),
        ({T0: (5, b"")}, TypeError),
        ({T0: OffsetAndMetadata(5, "x" * 40_000)}, ValueError),
        ({T0: OffsetAndMetadata(5, "\N{SNOWMAN}" * 11_000)}, ValueError),
        ({T0: OffsetAndMetadata(5, "caf\udce9")}, ValueError),
        ({T0: OffsetAndMetadata(5, "", 1 << 31)}, ValueError),
        ({kcore.TopicPartition("no topic", 0): OffsetAndMetadata(5)}, errors.InvalidTopicError),
        ([T0], TypeError),
    ],
)
def test_offsets_that_cannot_be_committed(offsets, error):
    consumer = assigned(group_id="g")
    for commit in (consumer.commit, consumer.commit_async):
        with pytest.raises(error):
            commit(offsets)
    assert consumer.core.verbs("commit") == []


def test_group_calls_without_a_group():
    consumer = assigned()
    for call in (consumer.commit, consumer.commit_async, lambda: consumer.committed(T0)):
        with pytest.raises(errors.NoGroupIdError) as caught:
            call()
        assert isinstance(caught.value, errors.IllegalStateError)  # kafka-python
        assert isinstance(caught.value, errors.InvalidGroupIdError)  # rule X1
    metadata = consumer.group_metadata()
    assert metadata == (None, -1, "", None, MemberState.UNJOINED)


def test_committed_shapes():
    consumer = assigned(group_id="g")
    consumer.core.answers["committed"] = {T0: OffsetAndMetadata(7, "note", 2)}
    assert consumer.committed(T0) == 7
    assert consumer.committed(T0, metadata=True) == OffsetAndMetadata(7, "note", 2)
    consumer.core.answers["committed"] = {T0: None}
    assert consumer.committed(T0) is None


def test_look_ups_of_names_that_no_topic_can_have_are_refused_at_once():
    consumer = assigned(group_id="g")
    for name in ("no topic", "caf\udce9", "x" * 40_000):
        tp = kcore.TopicPartition(name, 0)
        for ask in (consumer.beginning_offsets, consumer.end_offsets):
            with pytest.raises(errors.InvalidTopicError):
                ask([tp])
        with pytest.raises(errors.InvalidTopicError):
            consumer.offsets_for_times({tp: 0})
        with pytest.raises(errors.InvalidTopicError):
            consumer.committed(tp)
    assert consumer.core.verbs("list_offsets", "committed") == []


def test_limits_may_be_as_large_as_one_likes():
    assert arguments.record_count(1 << 70) == (1 << 63) - 1


def test_offset_look_ups():
    consumer = assigned()
    consumer.core.answers["list_offsets"] = {T0: OffsetAndTimestamp(5, 1000), T1: None}
    assert consumer.beginning_offsets([T0, T1]) == {T0: 5}
    assert consumer.end_offsets([T0]) == {T0: 5}
    assert consumer.offsets_for_times({T0: 7.0, T1: 8}) == {
        T0: OffsetAndTimestamp(5, 1000, -1),
        T1: None,
    }
    assert [entry[1] for entry in consumer.core.log] == [{T0: -2, T1: -2}, {T0: -1}, {T0: 7, T1: 8}]
    assert consumer.offsets_for_times({}) == {}
    assert consumer.end_offsets([]) == {}
    with pytest.raises(ValueError, match="negative"):
        consumer.offsets_for_times({T0: -1})


def test_topics_and_partitions():
    consumer = make()
    consumer.core.answers["fetch_metadata"] = {"a": [0, 1], "__consumer_offsets": [0]}
    assert consumer.topics() == {"a"}
    assert consumer.partitions_for_topic("a") == {0, 1}
    assert consumer.partitions_for_topic("none") == set()
    consumer.core.topics["known"] = [3]
    asked = len(consumer.core.log)
    assert consumer.partitions_for_topic("known") == {3}
    assert len(consumer.core.log) == asked


def test_an_operation_that_fails_raises_its_error():
    consumer = assigned(group_id="g")
    consumer.core.answers["commit"] = errors.CommitFailedError("too late")
    with pytest.raises(errors.CommitFailedError, match="too late"):
        consumer.commit()


def test_an_operation_that_never_ends_times_out_all_the_same():
    consumer = assigned(group_id="g")
    consumer.core.answers["commit"] = None
    before = consumer.pump.now
    with pytest.raises(errors.KafkaTimeoutError):
        consumer.commit(timeout_ms=50)
    assert consumer.pump.now - before < 5_000
    assert consumer._engine._results == {}
    assert consumer._engine._expected == set()


def test_position_waits_until_it_is_known():
    consumer = assigned()
    consumer.pump.on_step = lambda _: consumer.core.positions.update({T0: 42})
    assert consumer.position(T0) == 42
    with pytest.raises(errors.IllegalStateError, match="t-1"):
        consumer.position(T1)


def test_position_unknown():
    consumer = assigned()
    assert consumer.position(T0, timeout_ms=10) is None
    with pytest.raises(errors.KafkaTimeoutError, match="waiting for the broker"):
        consumer.position(T0)


def test_seek_pause_resume():
    consumer = assigned(T0, T1)
    consumer.seek(T0, 5)
    consumer.seek_to_beginning()
    consumer.seek_to_end(T1)
    consumer.pause(T0)
    assert consumer.paused() == {T0}
    consumer.resume(T0)
    assert consumer.paused() == set()
    assert consumer.highwater(T0) == 99
    assert consumer.health() == {T0: "waiting for the broker", T1: "waiting for the broker"}
    assert consumer.core.log == [
        ("seek", T0, 5, -1),
        ("seek_to_beginning", [T0, T1]),
        ("seek_to_end", [T1]),
        ("pause", [T0]),
        ("resume", [T0]),
    ]


def test_misuse_of_positions():
    consumer = assigned(T0)
    for call in (
        lambda: consumer.seek(T1, 5),
        lambda: consumer.seek_to_end(T1),
        lambda: consumer.pause(T1),
        lambda: consumer.resume(T1),
        lambda: consumer.highwater(T1),
        lambda: make().seek_to_end(),
    ):
        with pytest.raises(errors.IllegalStateError) as caught:
            call()
        assert isinstance(caught.value, ValueError)  # kafka-python
    for offset in (-1, "5", None, True, 2**63):
        with pytest.raises(ValueError, match="offset"):
            consumer.seek(T0, offset)
    for bad in ("t", ("t", "0"), ("t", 0, 0), None, ["t", 0]):
        with pytest.raises(TypeError):
            consumer.seek(bad, 5)


def test_pickling_is_refused():
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(make())
