"""How long a link may take to be set up, whoever drives it and whenever."""

from test_link import Peer

from kcore.errors import RequestTimedOutError
from kcore.limits import MOMENT_MS
from kcore.timers import NEVER
from kcore.wire.messages import ApiVersionsResponse


def test_the_time_of_an_attempt_counts_from_its_begin():
    """A client that was made long before its loop runs has lost no time."""
    peer = Peer()
    peer.send(timeout=5_000)
    peer.link.begin(20_000)
    peer.send(now=20_000, timeout=50_000)
    assert peer.link.deadline() == 25_000
    peer.link.handle_deadline(24_999)
    assert peer.answers() == []
    peer.link.handle_deadline(25_000)
    (late,) = peer.answers()
    assert isinstance(late.error, RequestTimedOutError)
    peer.link.handle_deadline(29_999)
    assert peer.answers() == []
    peer.link.handle_deadline(30_000)
    (overdue,) = peer.answers()
    assert "did not connect" in str(overdue.error)


def test_an_attempt_that_was_made_already_does_not_begin():
    peer = Peer()
    peer.link.handle_connected(0)
    peer.link.begin(5_000)
    assert peer.link.deadline() == 10_000


def test_a_peer_is_not_late_whose_driver_was_away():
    """What has come by then is read before anybody looks at the clock."""
    peer = Peer()
    peer.link.handle_connected(60_000)
    peer.link.handle_deadline(60_000)
    assert peer.link.deadline() == 70_000
    (request,) = peer.requests()
    peer.link.handle_deadline(69_999)
    assert not peer.link.ended
    peer.answer(request, ApiVersionsResponse(error_code=35), 90_000, version=0)
    (second,) = peer.requests()
    assert peer.link.deadline() == 100_000
    keys = [ApiVersionsResponse.ApiVersion(api_key=3, min_version=0, max_version=7)]
    peer.answer(second, ApiVersionsResponse(api_keys=keys), 99_999)
    assert peer.link.ready
    assert peer.link.deadline() == NEVER


def test_what_may_be_wrong_with_a_peer_that_does_not_answer_the_greeting():
    peer = Peer()
    peer.send(timeout=50_000)
    peer.link.handle_connected(0)
    peer.link.handle_deadline(10_000)
    assert peer.link.ended
    why = "did not answer the greeting within the set-up timeout (does it want TLS, or is it no"
    assert why in str(peer.link.error)


def greeted():
    peer = Peer()
    peer.link.handle_connected(0)
    (request,) = peer.requests()
    keys = [ApiVersionsResponse.ApiVersion(api_key=3, min_version=0, max_version=7)]
    peer.answer(request, ApiVersionsResponse(api_keys=keys), 0)
    assert peer.link.ready
    return peer


def test_who_was_away_leaves_a_moment_once_to_what_is_not_answered():
    """It may have been written a moment ago. Who is away all the time does not wait for ever."""
    peer = greeted()
    peer.send(now=0, timeout=5_000)
    peer.link.handle_deadline(60_000, late=True)
    assert not peer.link.ended
    assert peer.link.deadline() == 60_000 + MOMENT_MS
    peer.link.handle_deadline(90_000, late=True)
    assert peer.link.ended


def test_who_was_not_away_leaves_none():
    peer = greeted()
    peer.send(now=0, timeout=5_000)
    peer.link.handle_deadline(5_000)
    assert peer.link.ended


def test_a_connection_that_is_being_made_has_a_moment_too():
    peer = Peer()
    peer.link.handle_deadline(60_000, late=True)
    assert not peer.link.ended
    peer.link.handle_deadline(60_000 + MOMENT_MS, late=True)
    assert peer.link.ended
