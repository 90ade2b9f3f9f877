"""A link that says whom it means to talk to (KIP-1242), and brokers that are it, are not, or do not
look.
"""

import pytest
from test_link import RANGES
from test_link import Peer as PlainPeer
from test_link_sasl import Peer as SaslPeer

from kcore.connection.greeting import Meant
from kcore.connection.states import LinkState
from kcore.errors import DisconnectedError
from kcore.wire.messages import ApiVersionsResponse

MEANT = Meant("ours", 1)
NEW = {**RANGES, 18: (0, 5)}
NOT_THEM = ApiVersionsResponse(error_code=129)


def plain(ranges=NEW, **options):
    peer = PlainPeer(ranges, **options)
    peer.link._meant = MEANT
    return peer


def sasl(ranges=None):
    peer = SaslPeer({**SaslPeer().ranges, **NEW, **(ranges or {})})
    peer.link._meant = MEANT
    return peer


def told(request):
    return request.api_version, request.message.cluster_id, request.message.node_id


def test_a_broker_is_told_who_it_is_thought_to_be():
    peer = plain()
    peer.send()
    request = peer.greet()
    assert told(request) == (5, "ours", 1)
    assert request.message.client_software_name == "kcore"
    assert [x.api_key for x in peer.requests()] == [3]


def test_nobody_in_particular_is_meant_at_a_bootstrap_server():
    peer = PlainPeer(NEW)
    assert told(peer.greet()) == (3, None, -1)


def test_who_is_somebody_else_is_asked_nothing():
    peer = plain()
    peer.send()
    peer.link.handle_connected(0)
    (request,) = peer.requests()
    peer.answer(request, NOT_THEM)
    assert peer.link.ended
    assert peer.requests() == []
    (answer,) = peer.answers()
    assert isinstance(answer.error, DisconnectedError)
    assert "host:9092 is not node 1 of the cluster 'ours'" in str(answer.error)
    assert "has its address passed" in str(answer.error)


def test_an_older_broker_of_the_cluster_is_greeted_as_before():
    """During an upgrade: others have looked, this one cannot."""
    peer = plain()
    peer.send()
    peer.link.handle_connected(0)
    (first,) = peer.requests()
    own = ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=4)
    peer.answer(first, ApiVersionsResponse(error_code=35, api_keys=[own]), version=0)
    (second,) = peer.requests()
    assert told(second) == (4, None, -1)
    keys = [ApiVersionsResponse.ApiVersion(api_key=3, min_version=0, max_version=12)]
    peer.answer(second, ApiVersionsResponse(api_keys=keys))
    assert peer.link.ready
    assert len(peer.requests()) == 1


def test_that_somebody_else_is_there_is_no_answer_to_who_asked_nothing():
    peer = PlainPeer(NEW)
    peer.link.handle_connected(0)
    (request,) = peer.requests()
    peer.send()
    peer.answer(request, NOT_THEM)
    (answer,) = peer.answers()
    assert "refused ApiVersions with error 129" in str(answer.error)


def test_with_sasl_it_is_asked_once_the_broker_knows_who_we_are():
    """Before, brokers answer ApiVersions without looking."""
    peer = sasl()
    peer.send()
    request = peer.greet()
    assert told(request) == (3, None, -1)
    peer.handshake()
    peer.authenticate()
    assert peer.link.state is LinkState.AUTHENTICATING
    assert not peer.link.ready
    (again,) = peer.requests()
    assert told(again) == (5, "ours", 1)
    keys = [ApiVersionsResponse.ApiVersion(api_key=3, min_version=0, max_version=12)]
    peer.answer(again, ApiVersionsResponse(api_keys=keys))
    assert peer.link.ready
    assert [x.api_key for x in peer.requests()] == [3]


@pytest.mark.parametrize("error", [129, 42])
def test_with_sasl_who_is_somebody_else_is_asked_nothing(error):
    peer = sasl()
    peer.send()
    peer.greet()
    peer.handshake()
    peer.authenticate()
    (again,) = peer.requests()
    peer.answer(again, ApiVersionsResponse(error_code=error))
    assert peer.link.ended
    assert peer.requests() == []
    assert len(peer.answers()) == 1


def test_with_sasl_an_older_broker_is_not_asked():
    peer = sasl({18: (0, 4)})
    peer.send()
    peer.greet()
    peer.handshake()
    peer.authenticate()
    assert peer.link.ready
    assert [x.api_key for x in peer.requests()] == [3]


def test_it_is_not_asked_again_when_a_session_is_renewed():
    peer = sasl()
    peer.greet()
    peer.handshake()
    peer.authenticate(session_lifetime_ms=10_000)
    (again,) = peer.requests()
    keys = [
        ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high)
        for key, (low, high) in peer.ranges.items()
    ]
    peer.answer(again, ApiVersionsResponse(api_keys=keys))
    assert peer.link.ready
    peer.send(now=9_800)
    peer.handshake(9_800)
    peer.authenticate(9_800, session_lifetime_ms=10_000)
    assert [x.api_key for x in peer.requests()] == [3]


def test_the_set_up_ends_in_time_where_it_is_not_answered():
    peer = sasl()
    peer.send()
    peer.greet()
    peer.handshake()
    peer.authenticate()
    assert peer.link.deadline() == 10_000
    peer.link.handle_deadline(10_000)
    assert peer.link.ended
