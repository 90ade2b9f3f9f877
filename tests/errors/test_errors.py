"""kcore.errors against kafka-python, aiokafka and our own table of codes."""

import ast
import copy
import pickle
from pathlib import Path

import aiokafka.errors
import kafka.errors
import pytest

from kcore import errors
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.wire import codes

TP = TopicPartition("flights", 3)


def exceptions_of(module):
    return {
        name: thing
        for name, thing in vars(module).items()
        if isinstance(thing, type) and issubclass(thing, BaseException)
    }


def all_errors():
    return {
        name: thing for name, thing in exceptions_of(errors).items() if issubclass(thing, Exception)
    }


@pytest.mark.parametrize("module", [kafka.errors, aiokafka.errors], ids=lambda m: m.__name__)
def test_every_name_of_the_other_clients_exists(module):
    theirs = exceptions_of(module)
    assert len(theirs) > 100  # so that an emptied module cannot pass
    missing = [name for name in theirs if name not in all_errors()]
    assert missing == []


@pytest.mark.parametrize("module", [kafka.errors, aiokafka.errors], ids=lambda m: m.__name__)
def test_base_relations_hold_under_the_same_names(module):
    theirs = exceptions_of(module)
    for name, cls in theirs.items():
        ours = getattr(errors, name)
        assert issubclass(ours, errors.KafkaError)
        for base in cls.__mro__[1:]:
            if base.__module__ == module.__name__ and base.__name__ in theirs:
                assert issubclass(ours, getattr(errors, base.__name__)), (name, base.__name__)


@pytest.mark.parametrize("module", [kafka.errors, aiokafka.errors], ids=lambda m: m.__name__)
def test_codes_agree_under_the_same_names(module):
    for name, cls in exceptions_of(module).items():
        if issubclass(cls, module.BrokerResponseError) and getattr(cls, "errno", None) is not None:
            assert getattr(errors, name).errno == cls.errno, name


def test_what_kafka_python_retries_is_retriable_here():
    for name, cls in exceptions_of(kafka.errors).items():
        ours = getattr(errors, name)
        assert not cls.retriable or ours.retriable, name
        assert not cls.invalid_metadata or ours.invalid_metadata, name


def test_one_class_per_code_from_minus_one_to_136():
    assert sorted(errors.BrokerResponseError.by_code) == list(range(-1, 137))
    for code, cls in errors.BrokerResponseError.by_code.items():
        assert errors.for_code(code) is cls
        assert cls.errno == code
        assert cls.name.isupper()
        assert cls.description.endswith("."), cls


def test_codes_agree_with_the_wire_table():
    table = {int(code): code for code in codes.ErrorCode}
    assert sorted(table) == sorted(errors.BrokerResponseError.by_code)
    for code, entry in table.items():
        ours = errors.for_code(code)
        assert ours.name == entry.name
        assert ours.retriable is (entry in codes.RETRIABLE), ours
        # kafka-python refreshes metadata for one more: UNKNOWN_LEADER_EPOCH.
        if entry is not codes.ErrorCode.UNKNOWN_LEADER_EPOCH:
            assert ours.invalid_metadata is (entry in codes.INVALID_METADATA), ours


def test_a_code_from_the_future_is_carried():
    cls = errors.for_code(4321)
    assert issubclass(cls, errors.UnknownBrokerError)
    error = cls("join group")
    assert error.errno == 4321
    assert "4321" in str(error)
    assert not error.retriable


@pytest.mark.parametrize(
    ("cls", "refresh"),
    [
        (errors.NotCoordinatorError, errors.Refresh.COORDINATOR),
        (errors.CoordinatorNotAvailableError, errors.Refresh.COORDINATOR),
        (errors.CoordinatorLoadInProgressError, errors.Refresh.NONE),
        (errors.NotLeaderForPartitionError, errors.Refresh.METADATA),
        (errors.UnknownTopicIdError, errors.Refresh.METADATA),
        (errors.RebootstrapRequiredError, errors.Refresh.METADATA),
        (errors.IllegalGenerationError, errors.Refresh.NONE),
    ],
)
def test_what_to_refresh(cls, refresh):
    assert cls.refresh is refresh


def test_needs_aliases_are_the_same_class():
    assert errors.CorruptRecordError is errors.CorruptRecordException is errors.Corrupt
    assert errors.KcoreError is errors.KafkaError
    assert errors.ProtocolError is errors.KafkaProtocolError
    assert issubclass(errors.Truncated, errors.ProtocolError)
    assert issubclass(errors.KafkaConfigurationError, ValueError)


SAMPLES = [
    errors.KafkaError("plain"),
    errors.CommitFailedError("late", timer="max_poll_interval_ms", partitions=frozenset({TP})),
    errors.OffsetOutOfRangeError({TP: 7}, offsets={TP: 7}, partition=TP, offset=7, log_start=9),
    errors.LogTruncationError({TP: OffsetAndMetadata(5)}, "cut off"),
    errors.LogTruncationError({TP: None}),
    errors.NoBrokersAvailable("none", attempts={"a:1": "refused"}),
    errors.for_code(999)("strange"),
    errors.Truncated("short", api="FETCH", version=4, at=12),
]


@pytest.mark.parametrize("error", SAMPLES, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))]
)
def test_copy_and_pickle_keep_everything(error, clone):
    other = clone(error)
    assert type(other) is type(error)
    assert other.args == error.args
    assert other.__dict__ == error.__dict__
    assert str(other) == str(error)


def test_every_class_can_be_made_and_pickled():
    for name, cls in all_errors().items():
        error = cls({}) if cls is errors.LogTruncationError else cls()
        assert pickle.loads(pickle.dumps(error)).args == error.args, name
        assert isinstance(str(error), str)


def test_a_detail_that_the_class_does_not_declare_is_refused():
    with pytest.raises(TypeError, match="no attribute 'colour'"):
        errors.KafkaError("x", colour="red")


def test_messages_say_what_and_where():
    assert str(errors.NotCoordinatorError()).startswith("[16 NOT_COORDINATOR] ")
    assert "max_poll_interval_ms" in str(errors.CommitFailedError())
    truncated = str(errors.LogTruncationError({TP: OffsetAndMetadata(5)}))
    assert "flights-3 at 5" in truncated
    assert "seek" in truncated


def test_type_checkers_take_no_class_for_a_private_one():
    """In a package with py.typed, what is imported by its name is exported only `as` that name: a
    star before that changes nothing, and editors marked `from kcore.errors import KafkaError`.
    """
    tree = ast.parse(Path(errors.__file__).read_text())
    imported = [
        alias
        for statement in ast.walk(tree)
        if isinstance(statement, ast.ImportFrom) and statement.module.startswith("kcore.errors")
        for alias in statement.names
    ]
    assert imported
    private = [one.name for one in imported if one.name in all_errors() and one.asname != one.name]
    assert private == []
