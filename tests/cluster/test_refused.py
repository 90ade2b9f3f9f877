"""Nodes that refuse our credentials or our certificate, and those whose certificate we refuse."""

from dataclasses import replace

from test_links import CONFIG, World

from kcore.actions import Send
from kcore.cluster.lookup import TopicLookup
from kcore.cluster.refresh import RefreshConfig
from kcore.connection.calls import Reach
from kcore.connection.credentials import Credentials
from kcore.errors import (
    DisconnectedError,
    SaslAuthenticationFailedError,
    SslAuthenticationError,
)
from kcore.events import ErrorRaised, LinkClosed, LinkOpened
from kcore.structs import Node
from kcore.wire import frames
from kcore.wire.messages import (
    ApiVersionsResponse,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)

BOOT = -1
SASL = replace(CONFIG, credentials=Credentials("PLAIN", "alice", "secret"))
KEYS = [
    ApiVersionsResponse.ApiVersion(api_key=key, min_version=0, max_version=version)
    for key, version in ((3, 12), (17, 1), (36, 2))
]


def authenticate(world, now, **said):
    """Connect to the bootstrap node and play the broker's side until it has decided."""
    (connect,) = world.connects()
    world.links.handle_connected(connect.link, now)
    replies = (
        ApiVersionsResponse(api_keys=KEYS),
        SaslHandshakeResponse(),
        SaslAuthenticateResponse(**said),
    )
    for reply in replies:
        (send,) = [action for action in world.actions() if isinstance(action, Send)]
        request = frames.decode_request(memoryview(send.data)[4:])
        world.answer(connect.link, request, reply, now)
    world.settle(now)


def raised(world):
    return [event.error for event in world.events if isinstance(event, ErrorRaised)]


def test_a_refusal_fails_the_calls_and_reaches_the_application():
    world = World(config=SASL)
    answers = world.ask(BOOT)
    authenticate(world, 0, error_code=58, error_message="go away")
    assert isinstance(answers[0].error, SaslAuthenticationFailedError)
    assert raised(world) == [answers[0].error]
    kinds = [type(event) for event in world.events]
    assert kinds.index(LinkClosed) < kinds.index(ErrorRaised)
    assert LinkOpened not in kinds


def test_a_refusal_says_whose_it_is():
    world = World(config=SASL)
    answers = world.ask(BOOT)
    authenticate(world, 0, error_code=58, error_message="go away")
    assert "] boot:1: go away" in str(answers[0].error)
    world = World(config=SASL)
    world.links.set_nodes([Node(3, "host3", 9094)], 0)
    answers = world.ask(world.links.add_coordinator(3, "host3", 9094))
    authenticate(world, 0, error_code=58, error_message="go away")
    assert "] node 3 at host3:9094: go away" in str(answers[0].error)


def test_during_the_backoff_calls_fail_with_the_refusal_and_afterwards_it_is_tried_again():
    world = World(config=SASL)
    world.ask(BOOT)
    authenticate(world, 0, error_code=58)
    assert world.links.reach(BOOT, 1) is Reach.BACKOFF
    answers = world.ask(BOOT, 1)
    world.settle(1)
    assert isinstance(answers[0].error, SaslAuthenticationFailedError)
    later = world.links.retry_at(BOOT)
    assert 0 < later < 100
    world.actions()
    world.ask(BOOT, later)
    authenticate(world, later)  # the user was made meanwhile
    assert world.links.reach(BOOT, later) is Reach.READY
    assert len(raised(world)) == 1


def test_a_refusal_is_forgotten_when_the_next_failure_is_another():
    world = World()
    world.ask(BOOT)
    (connect,) = world.connects()
    world.links.handle_closed(connect.link, "bad", 0, more_addresses=False, untrusted=True)
    later = world.links.retry_at(BOOT)
    world.ask(BOOT, later)
    (connect,) = world.connects()
    world.links.handle_closed(connect.link, "reset", later, more_addresses=False)
    answers = world.ask(BOOT, later)
    world.settle(later)
    assert answers
    assert all(isinstance(answer.error, DisconnectedError) for answer in answers)


def test_tls_that_failed_for_good_walks_no_further_addresses():
    world = World()
    answers = world.ask(BOOT)
    (connect,) = world.connects()
    world.links.handle_closed(connect.link, "bad", 0, more_addresses=True, untrusted=True)
    world.settle()
    assert world.connects() == []
    assert isinstance(answers[0].error, SslAuthenticationError)
    assert raised(world) == [answers[0].error]


def test_a_look_up_ends_with_the_refusal_at_once():
    world = World(config=SASL)
    found = []
    lookup = TopicLookup(RefreshConfig(), world.links, world.links._rng)
    lookup.ask({"t"}, 0, lambda result, error: found.append((result, error)), deadline_ms=60_000)
    lookup.handle_tick(0)
    authenticate(world, 0, error_code=58)
    [(result, error)] = found
    assert result is None
    assert isinstance(error, SaslAuthenticationFailedError)
