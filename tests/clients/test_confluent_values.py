"""Errors, partitions and numbers under confluent-kafka's names, beside its own."""

import operator
import pickle

import confluent_kafka
import pytest
from confluent_kafka import cimpl

from kcore import errors as ours
from kcore.clients.stand_in.confluent import constants, errors, options, structures
from kcore.clients.stand_in.confluent.names import MODULES
from kcore.clients.stand_in.confluent.options import Configuration
from kcore.structs import TopicPartition

CODES = [
    name
    for name in dir(confluent_kafka.KafkaError)
    if isinstance(getattr(confluent_kafka.KafkaError, name), int)
]


def test_codes_and_numbers():
    assert len(CODES) > 180
    for name in CODES:
        code = getattr(confluent_kafka.KafkaError, name)
        assert getattr(errors.KafkaError, name) == code
        theirs, mine = confluent_kafka.KafkaError(code), errors.KafkaError(code)
        assert (mine.code(), mine.name()) == (theirs.code(), theirs.name()) == (code, name)
        assert mine.str().partition(":")[0] == theirs.str().partition(":")[0]
    held = MODULES["confluent_kafka.cimpl"]
    numbers = {name for name in dir(cimpl) if isinstance(getattr(cimpl, name), int)}
    assert {name: held[name] for name in numbers} == {
        name: getattr(cimpl, name) for name in numbers
    }
    assert confluent_kafka.libversion() == constants.LIBRDKAFKA


def test_an_error():
    for kind in (errors.KafkaError, confluent_kafka.KafkaError):
        error = kind(-185, "why", fatal=True, retriable=True)
        assert str(error) == 'KafkaError{FATAL,code=_TIMED_OUT,val=-185,str="why"}'
        assert (error.fatal(), error.retriable(), error.txn_requires_abort()) == (True, True, False)
        assert error == kind._TIMED_OUT
        assert error == kind(-185)
        assert error != kind._TRANSPORT
        assert error < 0
        assert bool(kind(0))
        assert hash(error) == hash(-185)
        assert kind(-12345).name() == "ERR_-12345?"
        assert kind(0).str() == "Success"
    assert errors.KafkaError(3) != None  # noqa: E711 - as programs have it; theirs breaks there
    assert errors.KafkaError(3) not in ("3", None)
    again = pickle.loads(pickle.dumps(errors.KafkaError(-185, "why", retriable=True)))
    assert (again.code(), again.str(), again.retriable()) == (-185, "why", True)


@pytest.mark.parametrize(
    ("error", "name", "retriable"),
    [
        (ours.KafkaTimeoutError("late"), "_TIMED_OUT", True),
        (ours.NoBrokersAvailable("gone"), "_TRANSPORT", True),
        (ours.SslAuthenticationError("untrusted"), "_SSL", False),
        (ours.SaslAuthenticationFailedError("no"), "SASL_AUTHENTICATION_FAILED", False),
        (ours.for_code(3)("t"), "UNKNOWN_TOPIC_OR_PART", True),
        (ours.for_code(36)(), "TOPIC_ALREADY_EXISTS", False),
        (
            ours.NoOffsetForPartitionError("none", partitions={TopicPartition("t", 0)}),
            "_AUTO_OFFSET_RESET",
            False,
        ),
        (ours.KafkaConfigurationError("what"), "_INVALID_ARG", False),
        (ours.IllegalStateError("when"), "_STATE", False),
        (ours.for_code(9999)(), "_FAIL", False),
    ],
)
def test_ours_become_theirs(error, name, retriable):
    told = errors.raised(error).args[0]
    assert (told.name(), told.retriable(), told.fatal()) == (name, retriable, False)
    assert str(error) in told.str()


@pytest.mark.parametrize("kind", [structures.TopicPartition, confluent_kafka.TopicPartition])
@pytest.mark.parametrize(
    ("given", "error"),
    [
        (("t", 0, 1, b"text"), TypeError),
        (("t", 0, 1, 5), TypeError),
        (("t", 0, 1, "a\0b"), ValueError),
        (("t\0",), ValueError),
        (("t", 1 << 31), OverflowError),
        (("t", 0, 1 << 63), OverflowError),
    ],
)
def test_what_no_partition_can_be_made_of(kind, given, error):
    with pytest.raises(error):
        kind(*given)


def test_partitions():
    for kind in (structures.TopicPartition, confluent_kafka.TopicPartition):
        one = kind("t", 1, constants.OFFSET_END)
        assert str(one) == (
            "TopicPartition{topic=t,partition=1,offset=-1,leader_epoch=None,error=None}"
        )
        assert (one.metadata, one.error, one.leader_epoch) == (None, None, None)
        assert (kind("t").partition, kind("t").offset) == (-1, -1001)
        assert kind("t", 1, 5, "m", 7).leader_epoch == 7
        assert one == kind("t", 1, 8)
        assert hash(one) == hash("t") ^ 1
        two = kind("u", 0)
        for compare in (operator.lt, operator.le, operator.ne):
            assert compare(one, two)
            assert compare(two, one) is (compare is operator.ne)
        assert sorted([two, kind("t", 2), one]) == [one, kind("t", 2), two]
        for wrong in ((3,), ("t", "0"), ("t", 0, "0")):
            with pytest.raises(TypeError):
                kind(*wrong)


def test_other_values():
    for mine, theirs in (
        (structures.Uuid(1, 2), confluent_kafka.Uuid(1, 2)),
        (structures.Uuid(-1, -2), confluent_kafka.Uuid(-1, -2)),
    ):
        assert str(mine) == str(theirs)
        assert mine.get_most_significant_bits() == theirs.get_most_significant_bits()
        assert mine.get_least_significant_bits() == theirs.get_least_significant_bits()
    assert {structures.Uuid(1, 2)} == {structures.Uuid(1, 2)} != {structures.Uuid(2, 1)}
    for module in (structures, confluent_kafka):
        assert str(module.Node(1, "h", 2, "r")) == "(1) h:2 (Rack - r)"
        assert str(module.ThrottleEvent("b", 1, 0.5)) == "b/1 throttled for 500 ms"
        assert module.ConsumerGroupState.DEAD < module.ConsumerGroupState.EMPTY
        some = module.Messages([1, 2, 3])
        assert (len(some), some.count(), some.is_empty(), some[0]) == (3, 3, False, 1)
        assert (some[1:].records(), repr(some)) == ([2, 3], "Messages([1, 2, 3])")
    for name in ("ConsumerGroupState", "ConsumerGroupType", "ElectionType", "IsolationLevel"):
        mine, theirs = getattr(structures, name), getattr(confluent_kafka, name)
        assert {each.name: each.value for each in mine} == {
            each.name: each.value for each in theirs
        }


@pytest.mark.parametrize(("given", "kept"), [("probe", None), ("", None), ("/ca.pem", "/ca.pem")])
def test_places_of_authorities(given, kept):
    """What librdkafka probes for is what the system has."""
    conf = Configuration(
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "ssl.ca.location": given,
                "https.ca.location": given,
            },
        ),
        {},
    )
    found = options.common(conf)
    assert found.get("ssl_cafile") == kept
    assert found.get("sasl_oauthbearer_ssl_cafile") == kept


@pytest.mark.parametrize("place", [None, "", "probe", "/ca.pem"])
def test_authorities_of_an_endpoint_as_text(place):
    """A text and a place shut each other out, whatever is made of them."""
    theirs = {"https.ca.pem": "-----BEGIN", "bootstrap.servers": "127.0.0.1:1"}
    theirs |= {} if place is None else {"https.ca.location": place}
    oidc = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
    }
    if place:
        with pytest.raises(confluent_kafka.KafkaException, match="mutually exclusive"):
            confluent_kafka.Producer(theirs)
        for more in ({}, oidc):
            with pytest.raises(errors.KafkaException, match="are mutually exclusive"):
                Configuration((theirs | more,), {})
        return
    confluent_kafka.Producer(theirs)
    found = options.common(Configuration((theirs | oidc,), {}))
    assert found["sasl_oauthbearer_ssl_cadata"] == "-----BEGIN"
    assert "sasl_oauthbearer_ssl_cafile" not in found
    empty = theirs | oidc | {"https.ca.pem": ""}
    assert "sasl_oauthbearer_ssl_cadata" not in options.common(Configuration((empty,), {}))
