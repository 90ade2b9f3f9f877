"""SASL/GSSAPI on one link: what is called when, against a scripted GSSAPI and a broker that may
lie, whole and cut short at every step.
"""

import pytest
from test_link_sasl import Peer

from kcore.actions import CallGssapi, GssapiCall
from kcore.connection.gssapi import ROUNDS_MAX, TOKEN_BYTES_MAX
from kcore.connection.states import LinkState
from kcore.errors import (
    DisconnectedError,
    RequestTimedOutError,
    SaslAuthenticationFailedError,
)
from kcore.wire.messages import MetadataResponse

STEP, UNWRAP, WRAP = GssapiCall
CONTEXT = object()
OFFER = b"\1\0\0\0"


class Exchange(Peer):
    """Both sides of a link, and a GSSAPI of which each call is answered by hand."""

    def __init__(self, **options):
        super().__init__(mechanism="GSSAPI", **options)

    def called(self):
        """The one call that is asked for, and nothing else."""
        (action,) = self.actions
        self.actions.clear()
        assert type(action) is CallGssapi
        assert (action.link, action.host) == (7, "host")
        return action.call, action.data, action.context

    def give(self, result, complete=False, now=0, context=CONTEXT, why=""):
        self.link.handle_gssapi(result, context, complete, why, now)

    # A step each, in order: a broker's word, or what GSSAPI gives. -----------------------------

    def shake(self, now=0):
        self.greet(now)
        assert self.handshake(now).message.mechanism == "GSSAPI"

    def begin(self, now=0):
        assert self.called() == (STEP, b"", None)
        self.give(b"ap-req", now=now)

    def reply(self, now=0):
        assert self.authenticate(now, auth_bytes=b"ap-rep").message.auth_bytes == b"ap-req"

    def establish(self, now=0):
        assert self.called() == (STEP, b"ap-rep", CONTEXT)
        self.give(b"", True, now)

    def offer(self, now=0):
        assert self.authenticate(now, auth_bytes=b"[offer]").message.auth_bytes == b""

    def unwrap(self, now=0, offered=OFFER):
        assert self.called() == (UNWRAP, b"[offer]", CONTEXT)
        self.give(offered, now=now)

    def wrap(self, now=0):
        assert self.called() == (WRAP, OFFER, CONTEXT)
        self.give(b"[choice]", now=now)

    def accept(self, now=0, **said):
        assert self.authenticate(now, **said).message.auth_bytes == b"[choice]"

    STEPS = (shake, begin, reply, establish, offer, unwrap, wrap, accept)

    def run(self, until=None):
        for step in self.STEPS[:until]:
            step(self)


def refusal(peer):
    """Why the link has ended, to whoever had asked something of it."""
    assert peer.link.ended
    assert isinstance(peer.link.error, SaslAuthenticationFailedError)
    assert not peer.link.error.retriable
    return str(peer.link.error)


def test_a_whole_exchange():
    peer = Exchange()
    peer.send()
    peer.run()
    assert peer.link.ready
    assert [call.api_key for call in peer.requests()] == [3]


def test_a_last_token_of_ours_goes_out_with_the_context_established():
    peer = Exchange()
    peer.run(3)
    assert peer.called()[0] is STEP
    peer.give(b"last", True)
    assert peer.authenticate(auth_bytes=b"[offer]").message.auth_bytes == b"last"
    for step in Exchange.STEPS[5:]:
        step(peer)
    assert peer.link.ready


def test_contexts_of_many_rounds():
    peer = Exchange()
    peer.run(2)
    for number in range(ROUNDS_MAX - 1):
        peer.authenticate(auth_bytes=b"%d" % number)
        assert peer.called() == (STEP, b"%d" % number, CONTEXT)
        peer.give(b"more")
    peer.authenticate(auth_bytes=b"ap-rep")
    for step in Exchange.STEPS[3:]:
        step(peer)
    assert peer.link.ready


# By what it is that has to come next.
BROKERS = (2, 4, 7)
GSSAPIS = (1, 3, 5, 6)


@pytest.mark.parametrize("at", GSSAPIS)
def test_gssapi_fails_at_any_step(at):
    peer = Exchange()
    peer.send()
    peer.run(at)
    peer.called()
    peer.give(None, why="no ticket: kinit")
    assert "node 1 at host:9092: no ticket: kinit" in refusal(peer)
    (answer,) = peer.answers()
    assert answer.error is peer.link.error
    peer.give(b"late")
    assert not peer.requests()


@pytest.mark.parametrize("at", GSSAPIS)
def test_gssapi_gives_nothing_in_time(at):
    peer = Exchange()
    peer.run(at)
    peer.called()
    assert peer.link.deadline() == 10_000
    peer.link.handle_deadline(10_000)
    assert isinstance(peer.link.error, RequestTimedOutError)
    assert "is its KDC there?" in str(peer.link.error)
    peer.actions.clear()
    peer.give(b"late", now=10_001)
    assert not peer.actions


@pytest.mark.parametrize("at", GSSAPIS)
def test_the_broker_hangs_up_while_gssapi_is_asked(at):
    peer = Exchange()
    peer.run(at)
    peer.called()
    peer.link.handle_closed("reset")
    assert isinstance(peer.link.error, DisconnectedError)
    peer.give(b"late")
    assert not peer.actions


@pytest.mark.parametrize("at", BROKERS)
def test_the_broker_refuses_at_any_step(at):
    peer = Exchange()
    peer.run(at)
    peer.authenticate(error_code=58, error_message="who are you")
    assert "who are you (its log says why" in refusal(peer)


@pytest.mark.parametrize("at", BROKERS)
def test_the_broker_says_nothing_at_any_step(at):
    peer = Exchange()
    peer.run(at)
    peer.link.handle_deadline(10_000)
    assert "did not answer the authentication" in str(peer.link.error)


@pytest.mark.parametrize("at", BROKERS[:-1])
@pytest.mark.parametrize(
    ("token", "said"),
    [(b"", "nothing where it owes"), (bytes(TOKEN_BYTES_MAX + 1), f"{TOKEN_BYTES_MAX + 1} bytes")],
)
def test_tokens_that_are_none(at, token, said):
    peer = Exchange()
    peer.run(at)
    peer.authenticate(auth_bytes=token)
    assert said in refusal(peer)


def test_tokens_for_ever():
    peer = Exchange()
    peer.run(2)
    for _ in range(ROUNDS_MAX):
        peer.authenticate(auth_bytes=b"more")
        peer.called()
        peer.give(b"more")
    peer.authenticate(auth_bytes=b"more")
    assert "the context is not established" in refusal(peer)


def test_more_after_the_last_word():
    peer = Exchange()
    peer.run(7)
    peer.accept(auth_bytes=b"and another thing")
    assert "more after its last word" in refusal(peer)


@pytest.mark.parametrize("offered", [b"", b"\1", b"\1\0\0", b"\1\0\0\0\0", bytes(70_000)])
def test_offers_of_another_size(offered):
    peer = Exchange()
    peer.run(5)
    peer.unwrap(offered=offered)
    assert f"an offer of {len(offered)} bytes" in refusal(peer)


@pytest.mark.parametrize("layers", [0, 2, 4, 6, 0xFE])
def test_a_broker_that_insists_on_a_layer(layers):
    peer = Exchange()
    peer.run(5)
    peer.unwrap(offered=bytes((layers, 0, 0, 0)))
    assert "insists on a security layer" in refusal(peer)


@pytest.mark.parametrize("offered", [b"\1\0\0\0", b"\1\xff\xff\xff", b"\7\0\0\1", b"\xff" * 4])
def test_whatever_else_is_offered_none_is_chosen(offered):
    peer = Exchange()
    peer.run(5)
    peer.unwrap(offered=offered)
    peer.wrap()
    peer.accept()
    assert peer.link.ready


def test_a_gssapi_that_has_nothing_to_say():
    peer = Exchange()
    peer.run(1)
    peer.called()
    peer.give(b"")
    assert "gave no token" in refusal(peer)


def test_what_nobody_asked_for_is_dropped():
    peer = Exchange()
    peer.give(b"token")
    peer.link.handle_token("token", {}, "", 0)
    peer.run(1)
    peer.link.handle_token("token", {}, "", 0)  # it is a call that is asked for
    assert peer.called() == (STEP, b"", None)
    peer.give(b"ap-req")
    peer.give(b"ap-req")
    (request,) = peer.requests()
    assert request.message.auth_bytes == b"ap-req"


def test_what_gssapi_took_is_not_the_brokers_time():
    peer = Exchange()
    peer.run(1)
    peer.begin(9_000)
    assert peer.link.deadline() == 19_000
    peer.reply(9_100)
    peer.establish(18_000)
    assert peer.link.deadline() == 19_000 + 8_900


def renewing(**options):
    peer = Exchange(**options)
    peer.send()
    peer.run(7)
    peer.accept(session_lifetime_ms=10_000)
    (call,) = peer.requests()
    peer.answer(call, MetadataResponse(), 0)
    peer.answers()
    peer.send(now=9_600, timeout=60_000)
    assert peer.link.state is LinkState.RENEWING
    return peer


def test_sessions_are_renewed_with_a_context_of_their_own():
    peer = renewing()
    peer.handshake(9_600)
    for step in Exchange.STEPS[1:-1]:
        step(peer, 9_700)
    peer.accept(9_800, session_lifetime_ms=10_000)
    assert peer.link.state is LinkState.READY
    assert [call.api_key for call in peer.requests()] == [3]
    assert peer.link.deadline() == 69_800


def test_a_renewal_for_which_there_is_no_ticket():
    peer = renewing(request_timeout_ms=1_000)
    peer.handshake(9_600)
    peer.called()
    assert peer.link.deadline() == 10_600
    peer.give(None, why="Ticket expired", now=9_700)
    assert "Ticket expired" in refusal(peer)
    (answer,) = peer.answers()
    assert answer.error is peer.link.error


def test_a_renewal_that_gssapi_holds_up():
    peer = renewing(request_timeout_ms=1_000)
    peer.handshake(9_600)
    peer.called()
    peer.link.handle_deadline(10_600)
    (answer,) = peer.answers()
    assert isinstance(answer.error, RequestTimedOutError)


def test_what_is_asked_for_shows_no_token():
    action = CallGssapi(7, "host", STEP, b"s3cret", CONTEXT)
    assert "s3cret" not in repr(action)
