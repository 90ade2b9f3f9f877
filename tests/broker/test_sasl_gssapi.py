"""GSSAPI seen from the broker, over scripted contexts: every state and what may be said in it."""

import pytest

from kcore.broker.sasl.config import SaslConfig
from kcore.broker.sasl.gssapi import Gssapi, local_name
from kcore.broker.sasl.mechanisms import MisfitError, Proven
from kcore.errors import KafkaConfigurationError

OFFER = b"\1\1\0\0"


class Context:
    """Answers tokens in order; a message is wrapped by a mark, and nothing else unwraps."""

    def __init__(self, *answers, initiator="alice@REALM"):
        self.answers = list(answers)
        self.complete = False
        self.initiator, self.realm = initiator, "REALM"
        self.seen = []

    def step(self, token):
        self.seen.append(token)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        self.complete = not self.answers
        return answer

    def wrap(self, message):
        return b"W" + message

    def unwrap(self, message):
        if message[:1] != b"W":
            raise ValueError("not wrapped")
        return message[1:]


def begun(*steps, context=None):
    exchange = Gssapi(context or Context(b"ap-rep"))
    for step in steps:
        exchange.step(step)
    return exchange


WHOLE = (b"ap-req", b"", b"W\1\0\0\0")


def test_a_whole_exchange():
    exchange = begun()
    assert exchange.step(b"ap-req") == b"ap-rep"
    assert exchange.step(b"") == b"W" + OFFER
    assert exchange.outcome is None
    assert exchange.step(b"W\1\0\0\0") is None
    assert exchange.outcome == Proven("alice")


def test_tokens_of_several_rounds():
    context = Context(b"1", b"2", b"3")
    exchange = begun(context=context)
    assert [exchange.step(token) for token in (b"a", b"b", b"c")] == [b"1", b"2", b"3"]
    assert exchange.step(b"") == b"W" + OFFER
    assert context.seen == [b"a", b"b", b"c"]


def test_the_offer_goes_out_at_once_where_no_token_does():
    exchange = begun(context=Context(b""))
    assert exchange.step(b"ap-req") == b"W" + OFFER
    assert exchange.step(b"W\1\0\0\0") is None


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((b"ap-req",), b"x"),
        ((b"ap-req",), b"W\1\0\0\0"),
        ((b"ap-req", b""), b""),
        ((b"ap-req", b""), b"\1\0\0\0"),
        ((b"ap-req", b""), b"W"),
        ((b"ap-req", b""), b"W\1\0\0"),
        ((b"ap-req", b""), b"W\0\0\0\0"),
        ((b"ap-req", b""), b"W\2\0\0\0"),
        ((b"ap-req", b""), b"W\6\0\0\0"),
    ],
)
def test_what_is_refused(steps, message):
    exchange = begun(*steps)
    with pytest.raises(MisfitError):
        exchange.step(message)
    assert exchange.outcome is None


def test_a_context_that_refuses_tells_nobody_why():
    exchange = begun(context=Context(ValueError("very-secret")))
    with pytest.raises(MisfitError) as caught:
        exchange.step(b"x")
    assert not caught.value.args


@pytest.mark.parametrize("more", [b"", b"bob", b"\xff"])
def test_another_identity_is_passed_over(more):
    exchange = begun(*WHOLE[:2])
    exchange.step(WHOLE[2] + more)
    assert exchange.outcome == Proven("alice")


@pytest.mark.parametrize(
    ("principal", "user"),
    [
        ("alice@REALM", "alice"),
        ("kafka/host.name@REALM", "kafka"),
        ("kafka/@REALM", "kafka"),
        ("alice@OTHER", None),
        ("alice@realm", None),
        ("alice", None),
        ("@REALM", None),
        ("alice@REALM@REALM", None),
        ("a/b/c@REALM", None),
        ("", None),
    ],
)
def test_who_a_principal_is(principal, user):
    if user is None:
        with pytest.raises(MisfitError):
            local_name(principal, "REALM")
        exchange = begun(*WHOLE[:2], context=Context(b"ap-rep", initiator=principal))
        with pytest.raises(MisfitError):
            exchange.step(WHOLE[2])
    else:
        assert local_name(principal, "REALM") == user


def test_an_acceptor_is_needed():
    with pytest.raises(KafkaConfigurationError, match="needs an acceptor"):
        SaslConfig(mechanisms=("GSSAPI",))
    assert SaslConfig(mechanisms=("GSSAPI",), acceptor=Context).acceptor is Context
