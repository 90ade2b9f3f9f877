"""Who comes in by a delegation token, and what is refused to him, at a node on a virtual clock."""

import base64
import random

from broker_world import World
from test_sasl_door import USERS, everything, handshake, link_of, sign_in

from kcore.broker import BrokerConfig
from kcore.broker.delegation.config import DelegationTokenConfig
from kcore.broker.sasl.config import SaslConfig
from kcore.connection.credentials import DELEGATED, Credentials
from kcore.connection.sasl import MECHANISMS
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode


def with_tokens(**options):
    sasl = SaslConfig(users=USERS, **options)
    keyed = DelegationTokenConfig("key", expiry_time_ms=10_000)
    return World(config=BrokerConfig(sasl=sasl, delegation_tokens=keyed))


def by_token(client, token, tokens, mechanism="SCRAM-SHA-256"):
    """The last of the two messages."""
    code = base64.b64encode(tokens.code_of(token.token_id)).decode()
    credentials = Credentials(mechanism, token.token_id, code, DELEGATED)
    scram = MECHANISMS[mechanism](credentials, random.Random(4))
    assert client.ask(handshake(mechanism)).error_code == 0
    first = client.ask(m.SaslAuthenticateRequest(auth_bytes=scram.first()))
    return m.SaslAuthenticateRequest(auth_bytes=scram.step(bytes(first.auth_bytes)))


def token_questions():
    return (
        m.CreateDelegationTokenRequest(),
        m.RenewDelegationTokenRequest(hmac=b"x"),
        m.ExpireDelegationTokenRequest(hmac=b"x"),
        m.DescribeDelegationTokenRequest(owners=None),
    )


def test_who_has_a_token_is_its_owner_for_its_time_and_gets_no_other():
    world = with_tokens()
    owner = world.client()
    sign_in(owner)
    made = owner.ask(m.CreateDelegationTokenRequest())
    assert made.error_code == 0
    (token,) = world.cluster.tokens.all(world.cluster.wall_ms(world.now_ms))
    client = world.client()
    answer = client.ask(by_token(client, token, world.cluster.tokens))
    assert answer.session_lifetime_ms == 10_000
    link = link_of(world, client)
    assert (link.principal, link.sasl.delegated) == ("User:alice", True)
    refused = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    for question in token_questions():
        assert client.ask(question).error_code == refused
    world.run(5_000)
    # Who proves meanwhile that he has the password may ask.
    client.ask(handshake("SCRAM-SHA-256"))
    client.ask(by_password(client))
    assert client.ask(token_questions()[3]).error_code == 0
    assert len(client.ask(token_questions()[3]).tokens) == 1


def by_password(client):
    scram = MECHANISMS["SCRAM-SHA-256"](
        Credentials("SCRAM-SHA-256", "alice", "secret"), random.Random(5)
    )
    first = client.ask(m.SaslAuthenticateRequest(auth_bytes=scram.first()))
    return m.SaslAuthenticateRequest(auth_bytes=scram.step(bytes(first.auth_bytes)))


def test_a_token_that_is_over_buys_not_one_answer():
    world = with_tokens()
    owner = world.client()
    sign_in(owner)
    owner.ask(m.CreateDelegationTokenRequest())
    (token,) = world.cluster.tokens.all(world.cluster.wall_ms(world.now_ms))
    world.run(10_001)
    client = world.client()
    last = by_token(client, token, world.cluster.tokens)
    client.send(last)
    client.send(everything())  # in the same moment
    answer = client.answer()
    assert (answer.error_code, answer.session_lifetime_ms) == (0, 0)
    assert client.answer() is None
    assert client.closed


def test_who_is_nobody_gets_no_token():
    keyed = DelegationTokenConfig("key")
    world = World(config=BrokerConfig(delegation_tokens=keyed))
    refused = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    for question in token_questions():
        assert world.client().ask(question).error_code == refused
    client = world.client()
    world.nodes[1].handle_secured(client.number, "CN=alice", world.now_ms)
    made = client.ask(m.CreateDelegationTokenRequest())
    assert (made.error_code, made.principal_name) == (0, "CN=alice")
    assert made.expiry_timestamp_ms - made.issue_timestamp_ms == 86_400_000
