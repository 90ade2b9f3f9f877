"""One link whose peer wants SASL: the order of requests, refusals, sessions that end (KIP-368)."""

import base64
import random
from collections import deque

import pytest
from test_link import Peer as PlainPeer

from kcore.actions import FetchToken
from kcore.connection.authentication import RENEW_MS_MIN, Authentication
from kcore.connection.credentials import DELEGATED, Credentials
from kcore.connection.link import Link
from kcore.connection.options import LinkOptions
from kcore.connection.states import LinkState
from kcore.errors import (
    AuthenticationMethodNotSupported,
    DisconnectedError,
    IllegalSaslStateError,
    ProtocolError,
    RequestTimedOutError,
    SaslAuthenticationFailedError,
    SslAuthenticationError,
    UnsupportedSaslMechanismError,
)
from kcore.timers import NEVER
from kcore.wire.messages import (
    MetadataResponse,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)

RANGES = {18: (0, 4), 3: (0, 12), 17: (0, 1), 36: (0, 2)}


class Peer(PlainPeer):
    def __init__(self, ranges=None, mechanism="PLAIN", **options):
        self.actions = deque()
        self.completed = deque()
        self.ranges = RANGES if ranges is None else ranges
        self.authentication = Authentication(
            Credentials(mechanism, "alice", "secret"), random.Random(1)
        )
        self.link = Link(
            7,
            1,
            ("host", 9092),
            LinkOptions(client_id="me", **options),
            10_000,
            0,
            self.completed,
            self.actions,
            self.authentication,
        )

    def handshake(self, now=0, **said):
        (request,) = self.requests()
        assert (request.api_key, request.api_version) == (17, 1)
        self.answer(request, SaslHandshakeResponse(**said), now)
        return request

    def authenticate(self, now=0, **said):
        (request,) = self.requests()
        assert request.api_key == 36
        self.answer(request, SaslAuthenticateResponse(**said), now)
        return request

    def set_up(self, now=0, **said):
        self.greet(now)
        self.handshake(now)
        return self.authenticate(now, **said)


def test_greeting_handshake_and_authentication_come_before_calls():
    peer = Peer()
    peer.send()
    peer.greet()
    assert peer.link.state is LinkState.AUTHENTICATING
    assert not peer.link.ready
    assert peer.handshake().message.mechanism == "PLAIN"
    request = peer.authenticate()
    assert request.api_version == 2
    assert request.message.auth_bytes == b"\0alice\0secret"
    assert peer.link.ready
    (call,) = peer.requests()
    assert call.api_key == 3
    assert peer.link.deadline() != 10_000


def test_the_highest_common_version_of_sasl_authenticate():
    peer = Peer({**RANGES, 36: (0, 0)})
    assert peer.set_up().api_version == 0
    assert peer.link.ready


def test_a_refused_password_is_final_and_tells_what_the_broker_said():
    peer = Peer()
    peer.send()
    peer.greet()
    peer.handshake()
    peer.authenticate(error_code=58, error_message="go away")
    assert peer.link.ended
    (answer,) = peer.answers()
    assert isinstance(answer.error, SaslAuthenticationFailedError)
    assert not answer.error.retriable
    assert "node 1 at host:9092: go away" in str(answer.error)
    assert "secret" not in str(answer.error)


def test_an_unknown_mechanism_names_what_is_offered():
    peer = Peer()
    peer.greet()
    peer.handshake(error_code=33, mechanisms=["GSSAPI", "SCRAM-SHA-512"])
    assert isinstance(peer.link.error, UnsupportedSaslMechanismError)
    assert peer.link.error.offered == ("GSSAPI", "SCRAM-SHA-512")
    assert "SCRAM-SHA-512" in str(peer.link.error)


def test_a_listener_without_sasl():
    peer = Peer()
    peer.greet()
    peer.handshake(error_code=34)
    assert isinstance(peer.link.error, IllegalSaslStateError)
    assert "check security_protocol" in str(peer.link.error)


@pytest.mark.parametrize("code", [-1, 29, 74, 12345])
def test_any_other_error_is_an_authentication_failure_too(code):
    for step in ("handshake", "authenticate"):
        peer = Peer()
        peer.greet()
        if step == "authenticate":
            peer.handshake()
        getattr(peer, step)(error_code=code)
        assert isinstance(peer.link.error, SaslAuthenticationFailedError)


@pytest.mark.parametrize("missing", [{17: (0, 0)}, {17: None}, {36: None}])
def test_brokers_before_1_0(missing):
    ranges = {key: span for key, span in {**RANGES, **missing}.items() if span}
    peer = Peer(ranges)
    peer.greet()
    assert isinstance(peer.link.error, AuthenticationMethodNotSupported)


def test_a_cheating_scram_server_ends_the_link():
    peer = Peer(mechanism="SCRAM-SHA-256")
    peer.greet()
    peer.handshake()
    peer.authenticate(auth_bytes=b"r=x,s=c2FsdA==,i=4096")
    assert isinstance(peer.link.error, SaslAuthenticationFailedError)


def test_success_without_the_servers_proof_is_not_believed():
    peer = Peer(mechanism="SCRAM-SHA-256")
    peer.greet()
    peer.handshake()
    peer.authenticate(auth_bytes=b"")
    assert isinstance(peer.link.error, SaslAuthenticationFailedError)


def test_answers_that_do_not_parse_are_protocol_errors():
    peer = Peer()
    peer.greet()
    (request,) = peer.requests()
    peer.link.handle_data(b"\0\0\0\5" + request.correlation_id.to_bytes(4) + b"\0", 0)
    assert isinstance(peer.link.error, ProtocolError)


def test_silence_during_authentication_ends_with_the_set_up():
    peer = Peer()
    peer.greet()
    assert peer.link.deadline() == 10_000
    peer.link.handle_deadline(10_000)
    assert isinstance(peer.link.error, RequestTimedOutError)
    assert "authentication" in str(peer.link.error)


def test_a_closure_during_authentication_says_so_and_may_be_retried():
    peer = Peer()
    peer.greet()
    peer.link.handle_closed("reset")
    assert isinstance(peer.link.error, DisconnectedError)
    assert "authentication" in str(peer.link.error)


def test_tls_that_failed_for_good_is_an_authentication_failure():
    peer = Peer()
    peer.send()
    peer.link.handle_closed("not trusted", untrusted=True)
    (answer,) = peer.answers()
    assert isinstance(answer.error, SslAuthenticationError)
    assert "not trusted" in str(answer.error)


@pytest.mark.parametrize(
    ("sasl_versions", "delegated", "let_in"),
    [((0, 2), True, False), ((0, 2), False, True), ((0, 0), True, True)],
)
def test_a_session_of_a_delegation_token_that_has_no_end_is_of_one_that_is_over(
    sasl_versions, delegated, let_in
):
    peer = Peer({**RANGES, 36: sasl_versions}, mechanism="SCRAM-SHA-256")
    extensions = DELEGATED if delegated else {}
    credentials = Credentials("SCRAM-SHA-256", "id", "very-secret", extensions)
    peer.authentication._credentials = credentials
    peer.send()
    peer.greet()
    peer.handshake()
    scram = peer.authentication._exchange
    peer.authenticate(auth_bytes=f"r={scram._nonce}x,s=c2FsdA==,i=4096".encode())
    peer.authenticate(auth_bytes=b"v=" + base64.b64encode(scram._expected))
    assert peer.link.ready is let_in
    if not let_in:
        (answer,) = peer.answers()
        assert isinstance(answer.error, SaslAuthenticationFailedError)
        assert "the delegation token id has expired" in str(answer.error)
        assert "very-secret" not in str(answer.error)


# Tokens ------------------------------------------------------------------------------------------


def bearer(**options):
    peer = Peer(mechanism="OAUTHBEARER", **options)
    peer.send()
    peer.greet()
    return peer


def wanted(peer):
    """Whether a token was asked for, and nothing else."""
    asked = [peer.actions.popleft() for _ in range(len(peer.actions))]
    return asked == [FetchToken(7)]


def test_a_token_is_asked_for_before_the_handshake():
    peer = bearer()
    assert wanted(peer)
    assert peer.link.state is LinkState.AUTHENTICATING
    peer.link.handle_token("abc", {"pool": "p"}, "", 100)
    assert peer.handshake(100).message.mechanism == "OAUTHBEARER"
    request = peer.authenticate(100)
    assert request.message.auth_bytes == b"n,,\1auth=Bearer abc\1pool=p\1\1"
    assert peer.link.ready
    assert [call.api_key for call in peer.requests()] == [3]
    peer.link.handle_token("again", {}, "", 200)  # nobody asked
    assert not peer.actions


def test_what_the_token_took_is_not_the_brokers_time():
    peer = bearer()
    peer.link.handle_token("abc", {}, "", 9_000)
    assert peer.link.deadline() == 19_000


def test_a_token_that_does_not_come():
    peer = bearer()
    peer.link.handle_deadline(10_000)
    assert isinstance(peer.link.error, RequestTimedOutError)
    assert "no token" in str(peer.link.error)
    peer.actions.clear()
    peer.link.handle_token("late", {}, "", 10_001)
    assert not peer.actions


def test_why_there_is_no_token_is_told():
    peer = bearer()
    peer.link.handle_token(None, {}, "HTTP 503", 10)
    (answer,) = peer.answers()
    assert isinstance(answer.error, SaslAuthenticationFailedError)
    assert "HTTP 503" in str(answer.error)


def test_a_token_that_cannot_be_sent_ends_the_link():
    peer = bearer()
    peer.actions.clear()
    peer.link.handle_token("not a token", {}, "", 10)
    peer.handshake(10)
    assert isinstance(peer.link.error, SaslAuthenticationFailedError)
    assert "not a token" not in str(peer.link.error)


def test_a_refused_token_says_what_the_broker_said():
    peer = bearer()
    peer.actions.clear()
    peer.link.handle_token("abc", {}, "", 10)
    peer.handshake(10)
    peer.authenticate(10, auth_bytes=b'{"status":"invalid_token"}')
    request = peer.authenticate(10, error_code=58, error_message='{"status":"invalid_token"}')
    assert request.message.auth_bytes == b"\1"
    assert isinstance(peer.link.error, SaslAuthenticationFailedError)
    assert "invalid_token" in str(peer.link.error)


def renewing(**options):
    peer = bearer(**options)
    peer.actions.clear()
    peer.link.handle_token("first", {}, "", 0)
    peer.handshake()
    peer.authenticate(session_lifetime_ms=10_000)
    (call,) = peer.requests()
    peer.answer(call, MetadataResponse(), 0)
    peer.answers()
    peer.send(now=9_600, timeout=60_000)
    assert peer.link.state is LinkState.RENEWING
    assert wanted(peer)
    return peer


def test_each_renewal_takes_a_token_of_its_own():
    peer = renewing()
    peer.link.handle_token("second", {}, "", 9_700)
    peer.handshake(9_700)
    request = peer.authenticate(9_700, session_lifetime_ms=10_000)
    assert request.message.auth_bytes == b"n,,\1auth=Bearer second\1\1"
    assert peer.link.state is LinkState.READY
    assert [call.api_key for call in peer.requests()] == [3]
    assert peer.link.deadline() == 69_700


def test_a_renewal_without_a_token_ends_after_the_request_timeout():
    peer = renewing(request_timeout_ms=1_000)
    assert peer.link.deadline() == 10_600
    peer.link.handle_deadline(10_600)
    assert isinstance(peer.link.error, RequestTimedOutError)
    (answer,) = peer.answers()
    assert "no token" in str(answer.error)


# Sessions that end -------------------------------------------------------------------------------


@pytest.mark.parametrize("lifetime", [0, -1, -(2**63)])
def test_a_session_without_an_end_is_not_renewed(lifetime):
    peer = Peer()
    peer.set_up(session_lifetime_ms=lifetime)
    assert peer.authentication.renew_at == NEVER


@pytest.mark.parametrize("lifetime", [10_000, 2**63 - 1])
def test_renewal_is_due_at_85_to_95_percent(lifetime):
    shares = set()
    for seed in range(50):
        peer = Peer()
        peer.authentication._rng = random.Random(seed)
        peer.set_up(now=500, session_lifetime_ms=lifetime)
        shares.add((peer.authentication.renew_at - 500) / min(lifetime, 31_536_000_000))
    assert 0.85 <= min(shares) < 0.87
    assert 0.93 < max(shares) <= 0.95


def test_a_second_handshake_never_comes_within_a_second():
    peer = Peer()
    peer.set_up(session_lifetime_ms=1)
    assert peer.authentication.renew_at == RENEW_MS_MIN > 1_000


def test_renewal_goes_behind_what_is_in_flight_and_before_what_waits():
    peer = Peer()
    peer.set_up(session_lifetime_ms=10_000)
    peer.send()
    (before,) = peer.requests()
    due = peer.authentication.renew_at
    peer.send(now=due)
    peer.send(now=due)
    assert peer.link.state is LinkState.RENEWING
    assert peer.link.ready  # for the rooms above nothing has changed
    (handshake,) = peer.requests()
    assert handshake.api_key == 17
    peer.answer(before, MetadataResponse(), due)
    assert len(peer.answers()) == 1
    assert peer.requests() == []
    peer.answer(handshake, SaslHandshakeResponse(), due)
    peer.authenticate(due, session_lifetime_ms=10_000)
    assert peer.link.state is LinkState.READY
    assert [request.api_key for request in peer.requests()] == [3, 3]
    assert peer.authentication.renew_at > due + 8_000


def test_a_link_with_nothing_to_say_is_left_alone():
    peer = Peer()
    peer.set_up(session_lifetime_ms=10_000)
    assert peer.link.deadline() == NEVER
    peer.link.handle_deadline(20_000)
    assert peer.requests() == []


def test_a_renewal_refused_fails_what_waits():
    peer = Peer()
    peer.set_up(session_lifetime_ms=10_000)
    peer.send(now=9_600)
    peer.handshake(9_600)
    peer.authenticate(9_600, error_code=58, error_message="revoked")
    (answer,) = peer.answers()
    assert isinstance(answer.error, SaslAuthenticationFailedError)


def test_a_renewal_unanswered_ends_the_link_after_the_request_timeout():
    peer = Peer(request_timeout_ms=1_000)
    peer.set_up(session_lifetime_ms=10_000)
    peer.send(timeout=60_000)  # a parked JoinGroup, say
    peer.requests()
    peer.send(now=9_600, timeout=10**9)
    assert peer.link.deadline() == 60_000
    peer.link._in_flight[0].expires_at = 10**8  # it goes on; the renewal is behind it
    peer.link.handle_deadline(60_999)
    assert not peer.link.ended
    peer.link.handle_deadline(61_000)
    assert isinstance(peer.link.error, RequestTimedOutError)


def test_a_renewal_has_the_time_of_all_that_is_in_flight_before_it():
    peer = Peer(request_timeout_ms=1_000)
    peer.set_up(session_lifetime_ms=10_000)
    peer.send(timeout=12_000)
    peer.send(timeout=60_000)
    first, second = peer.requests()
    peer.send(now=9_600, timeout=10**9)
    peer.answer(first, MetadataResponse(), 11_000)
    peer.answer(second, MetadataResponse(), 59_000)
    (handshake,) = peer.requests()
    peer.link.handle_deadline(60_999)
    assert not peer.link.ended
    peer.answer(handshake, SaslHandshakeResponse(), 60_999)
    peer.authenticate(60_999)
    assert peer.link.state is LinkState.READY
