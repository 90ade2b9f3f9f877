"""Who may come in: a node that wants SASL, on a virtual clock. What a Kafka does in each case is
compared in tests/embedded/test_sasl_differential.py.
"""

import random
import struct

import pytest
from broker_world import World

from kcore.broker import BrokerConfig
from kcore.broker.crowd import CrowdLimits
from kcore.broker.mishaps import Kind, Mishap
from kcore.broker.sasl.config import SaslConfig
from kcore.broker.sasl.states import MOVES, TAKEN, Asked, Outcome, State, Taken
from kcore.errors import KafkaConfigurationError
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.mechanisms import MECHANISMS, WITH_PASSWORDS

DELAY_MS = 100
USERS = {"alice": "secret", "bob": "secret"}


def guarded(crowd=None, **options):
    sasl = SaslConfig(users=USERS, **options)
    config = BrokerConfig(sasl=sasl, crowd=crowd or CrowdLimits(), max_request_bytes=2_000_000)
    return World(config=config)


def plain(user="alice", password="secret"):
    return m.SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{password}".encode())


def handshake(mechanism="PLAIN"):
    return m.SaslHandshakeRequest(mechanism=mechanism)


def everything():
    return m.MetadataRequest(topics=None)


def sign_in(client, user="alice", mechanism="PLAIN"):
    assert client.ask(handshake(mechanism)).error_code == 0
    answer = client.ask(plain(user))
    assert answer.error_code == 0, answer
    return answer


def link_of(world, client):
    return world.nodes[1]._links.get(client.number)


def bare(data):
    return struct.pack(">i", len(data)) + data


# The tables ---------------------------------------------------------------------------------------


def test_the_tables_have_every_cell():
    assert set(TAKEN) == {(state, asked) for state in State for asked in Asked}
    assert set(MOVES.values()) == set(State) - {State.GREETING}
    assert {(state, Outcome.REFUSED) for state in State} <= set(MOVES)


def in_state(state):
    """A node's client that has come so far."""
    world = guarded(connections_max_reauth_ms=60_000)
    client = world.client()
    if state is State.HANDSHAKE:
        client.ask(m.ApiVersionsRequest(client_software_name="x", client_software_version="1"))
    elif state is State.AUTHENTICATE:
        client.ask(handshake())
    elif state is State.TOKENS:
        client.ask(handshake(), 0)
    elif state is not State.GREETING:
        sign_in(client)
    if state is State.MISFIT:
        client.ask(handshake("SCRAM-SHA-256"))
    sasl = link_of(world, client).sasl
    if state in {State.RENEWING, State.REFUSED}:  # in which nothing is asked from outside
        sasl.state = state
    assert sasl.state is state
    return world, client


SENT = {
    Asked.VERSIONS: lambda client: client.send(m.ApiVersionsRequest(), 2),
    Asked.HANDSHAKE: lambda client: client.send(handshake()),
    Asked.AUTHENTICATE: lambda client: client.send(plain()),
    Asked.OTHER: lambda client: client.send(everything()),
    Asked.UNREADABLE: lambda client: client.raw(bare(b"\x7f\xff\0\0\0\0\0\0")),
}


@pytest.mark.parametrize("asked", Asked, ids=lambda asked: asked.name)
@pytest.mark.parametrize("state", State, ids=lambda state: state.name)
def test_every_request_in_every_state(state, asked):
    world, client = in_state(state)
    SENT[asked](client)
    taken = TAKEN[state, asked]
    at_once = client.closed
    answer = client.answer() if client.frames else None
    world.run(DELAY_MS - 1)
    assert client.closed == at_once
    world.run(1)
    late = client.closed and not at_once
    if taken is Taken.CLOSED:
        assert at_once
        assert answer is None
    elif taken is Taken.FAILED:
        assert late
        assert not client.frames
    elif taken is Taken.WRONG_TIME:
        assert answer is None
        assert late
        (answer,) = [client.answer()]
        codes = {getattr(answer, "error_code", None)}
        codes |= {topic.error_code for topic in getattr(answer, "topics", ())}
        assert ErrorCode.ILLEGAL_SASL_STATE in codes or asked is Asked.OTHER
    elif taken is Taken.SERVED and asked is not Asked.UNREADABLE:
        assert answer is not None
        assert not client.closed
    else:  # a token that is none, or no request
        assert client.closed
    assert not world.faults


# In and out ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 1, 2])
def test_who_has_the_password_is_served(version):
    world = guarded()
    client = world.client()
    assert client.ask(m.ApiVersionsRequest(), 2).error_code == 0
    assert link_of(world, client).principal == "User:ANONYMOUS"
    answer = client.ask(handshake())
    assert answer.mechanisms == list(WITH_PASSWORDS)
    answer = client.ask(plain(), version)
    assert (answer.error_code, answer.error_message, answer.session_lifetime_ms) == (0, "", 0)
    assert link_of(world, client).principal == "User:alice"
    assert client.ask(everything()).controller_id == 1
    assert client.ask(handshake()).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.ask(plain()).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.ask(everything()).controller_id == 1


def test_who_has_not_is_told_so_later_and_turned_away():
    world = guarded()
    client = world.client()
    client.ask(handshake())
    client.send(plain(password="wrong"))
    client.send(plain())  # that he has it after all is not looked at
    world.run(DELAY_MS - 1)
    assert not client.frames
    assert not world.nodes[1].reads(client.number)
    world.run(1)
    answer = client.answer()
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"
    assert client.closed
    assert not client.frames
    assert world.nodes[1].link_count == 0


def test_without_a_delay_it_is_told_so_at_once():
    world = guarded(connection_failed_authentication_delay_ms=0)
    client = world.client()
    client.ask(handshake())
    assert client.ask(plain("nobody")).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.closed


def test_who_goes_before_he_is_turned_away_is_forgotten():
    world = guarded()
    client, other = world.client(), world.client()
    for one in (client, other):
        one.ask(handshake())
        one.send(plain("nobody"))
    client.close()
    world.run(DELAY_MS)
    assert not client.frames
    assert other.closed
    assert not world.faults


def test_a_node_that_goes_down_forgets_those_who_wait():
    world = guarded()
    client = world.client()
    client.ask(handshake())
    client.send(plain("nobody"))
    world.cluster.stop_node(1, world.now_ms)
    world.drain()
    assert client.closed
    assert not client.frames
    world.cluster.start_node(1, world.now_ms)
    world.run(DELAY_MS)
    sign_in(world.client())


def test_a_mechanism_that_is_not_offered():
    world = guarded(mechanisms=("SCRAM-SHA-512",))
    client = world.client()
    client.send(handshake())
    world.run(DELAY_MS)
    answer = client.answer()
    assert answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert answer.mechanisms == ["SCRAM-SHA-512"]
    assert client.closed


def test_nodes_that_ask_nobody_say_so():
    world = World()
    client = world.client()
    assert client.ask(handshake()).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert client.ask(plain()).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert link_of(world, client).principal == "User:ANONYMOUS"
    world.nodes[1].handle_secured(client.number, "CN=alice", 0)
    assert link_of(world, client).principal == "User:CN=alice"
    world.nodes[1].handle_secured(99, "CN=alice", 0)


def test_a_certificate_does_not_stand_for_a_password():
    world = guarded()
    client = world.client()
    world.nodes[1].handle_secured(client.number, "CN=bob", 0)
    assert link_of(world, client).principal == "User:ANONYMOUS"
    sign_in(client)
    assert link_of(world, client).principal == "User:alice"


# Strangers are bounded ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [524_288, 524_289, 3_000_000, -1])
def test_frames_of_strangers_are_bounded(size):
    world = guarded()
    client = world.client()
    client.raw(struct.pack(">i", size) + b"x" * 100)
    world.run(DELAY_MS - 1)
    assert not client.closed
    world.run(1)
    assert client.closed == (size != 524_288)
    assert not client.frames


def test_a_whole_frame_of_a_stranger_too():
    world = guarded(sasl_server_max_receive_size=1_000)
    client = world.client()
    client.raw(bare(b"\0\x11\0\1" + bytes(997)))
    world.run(DELAY_MS)
    assert client.closed


def test_who_is_known_may_send_more():
    world = guarded(sasl_server_max_receive_size=1_000)
    client = world.client()
    sign_in(client)
    topics = [m.MetadataRequest.MetadataRequestTopic(name=f"t{n:03}") for n in range(500)]
    asked = m.MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    assert len(client.ask(asked).topics) == 500
    client.raw(struct.pack(">i", 3_000_000))
    assert client.closed


def test_strangers_who_stand_still_go_after_their_time():
    world = guarded(crowd=CrowdLimits(connections_max_idle_ms=60_000))
    silent, begun, known = (world.client() for _ in range(3))
    begun.ask(handshake())
    world.run(30_000)
    sign_in(known)
    world.run(30_000)
    assert (silent.closed, begun.closed, known.closed) == (True, True, False)


def test_there_are_no_more_of_them_than_of_anybody():
    world = guarded(crowd=CrowdLimits(max_connections=2))
    clients = [world.client() for _ in range(3)]
    world.drain()
    assert [client.closed for client in clients] == [False, False, True]


# Sessions -----------------------------------------------------------------------------------------


def test_a_session_that_is_over_ends_with_the_next_request():
    world = guarded(connections_max_reauth_ms=5_000)
    client = world.client()
    assert sign_in(client).session_lifetime_ms == 5_000
    world.run(5_000)
    assert client.ask(everything()).controller_id == 1
    world.run(1)
    assert not client.closed
    client.send(everything())
    assert client.closed
    assert not client.frames


def test_a_session_is_renewed_however_late():
    world = guarded(connections_max_reauth_ms=5_000)
    client = world.client()
    sign_in(client)
    for wait_ms in (4_000, 4_000, 9_000):
        world.run(wait_ms)
        assert sign_in(client).session_lifetime_ms == 5_000
        assert client.ask(everything()).controller_id == 1
        assert link_of(world, client).principal == "User:alice"


def test_not_twice_in_a_second():
    world = guarded(connections_max_reauth_ms=5_000)
    client = world.client()
    sign_in(client)
    sign_in(client)
    world.run(999)
    assert client.ask(handshake()).error_code == ErrorCode.ILLEGAL_SASL_STATE
    world.run(1)
    sign_in(client)


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ("bob", "Cannot change principals during re-authentication from User.alice: User.bob"),
        ("nobody", "Authentication failed: Invalid username or password"),
    ],
)
def test_who_somebody_is_does_not_change(user, why):
    world = guarded(connections_max_reauth_ms=5_000)
    client = world.client()
    sign_in(client)
    client.ask(handshake())
    client.send(plain(user))
    world.run(DELAY_MS)
    assert client.answer().error_message == why
    assert client.closed


def test_a_user_who_is_removed_stays_until_the_session_is_over():
    world = guarded(connections_max_reauth_ms=5_000)
    client = world.client()
    sign_in(client)
    assert world.cluster.users.remove("alice")
    assert not world.cluster.users.remove("alice")
    assert client.ask(everything()).controller_id == 1
    client.ask(handshake())
    client.send(plain())
    world.run(DELAY_MS)
    assert client.answer().error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert client.closed


def test_a_password_that_was_changed_counts_from_the_next_time_on():
    world = guarded()
    old = world.client()
    sign_in(old)
    world.cluster.users.set_password("alice", "other")
    assert old.ask(everything()).controller_id == 1
    client = world.client()
    client.ask(handshake())
    assert client.ask(plain(password="other")).error_code == 0


# Tokens -------------------------------------------------------------------------------------------


def bearer(token="t"):
    data = f"n,,\1auth=Bearer {token}\1\1".encode()
    return m.SaslAuthenticateRequest(auth_bytes=data)


@pytest.mark.parametrize(
    ("lasts_ms", "most_ms", "told_ms"),
    [(None, 0, 0), (None, 7_000, 7_000), (5_000, 0, 5_000), (5_000, 7_000, 5_000),
     (9_000, 7_000, 7_000), (-1, 0, 0), (-1, 7_000, 0)],
)  # fmt: skip
def test_a_session_lasts_no_longer_than_its_token(lasts_ms, most_ms, told_ms):
    world = guarded(
        mechanisms=("OAUTHBEARER", "PLAIN"),
        token_validator=lambda token: (f"user of {token}", lasts_ms),
        connections_max_reauth_ms=most_ms,
    )
    client = world.client()
    client.ask(handshake("OAUTHBEARER"))
    answer = client.ask(bearer())
    assert (answer.error_code, answer.session_lifetime_ms) == (0, told_ms)
    assert link_of(world, client).principal == "User:user of t"
    world.run(8_000)
    client.send(everything())
    assert client.closed == (lasts_ms is not None or most_ms > 0)


def test_a_token_that_is_refused():
    def validate(token):
        raise LookupError(token)

    world = guarded(mechanisms=("OAUTHBEARER",), token_validator=validate)
    client = world.client()
    client.ask(handshake("OAUTHBEARER"))
    assert client.ask(bearer()).auth_bytes == b'{"status":"invalid_token"}'
    client.send(m.SaslAuthenticateRequest(auth_bytes=b"\1"))
    world.run(DELAY_MS)
    assert client.answer().error_message == '{"status":"invalid_token"}'
    assert client.closed
    assert not world.faults


@pytest.mark.parametrize("given", [None, "alice", ("alice",), ("", None), ("a", "1"), ("a", True)])
def test_a_validator_that_gives_nonsense_is_a_fault(given):
    world = guarded(mechanisms=("OAUTHBEARER",), token_validator=lambda _token: given)
    for version, send in ((1, lambda c: c.send(bearer())), (0, lambda c: c.raw(
        bare(bearer().auth_bytes)
    ))):  # fmt: skip
        client = world.client()
        client.ask(handshake("OAUTHBEARER"), version)
        send(client)
        assert client.closed
    assert [type(fault) for fault in world.faults] == [TypeError, TypeError]


# Whatever they say -------------------------------------------------------------------------------


def strangers_words(rng):
    """What comes next: something that is right somewhere, spoilt or not."""
    message, version = rng.choice(
        [(m.ApiVersionsRequest(), 2), (handshake(), 1), (handshake("SCRAM-SHA-256"), 1),
         (handshake("OAUTHBEARER"), 1), (handshake(), 0), (plain("nobody"), 2),
         (plain("nobody"), 0), (everything(), 9), (bearer("x"), 2),
         (m.SaslAuthenticateRequest(auth_bytes=b"\1"), 2),
         (m.SaslAuthenticateRequest(auth_bytes=b"n,,n=alice,r=x"), 2),
         (handshake("GSSAPI"), 1), (handshake("GSSAPI"), 0),
         (m.SaslAuthenticateRequest(auth_bytes=b""), 2)]
    )  # fmt: skip
    frame = bytearray(frames.encode_request(message, version, 1, "x"))
    for _ in range(rng.choice((0, 0, 0, 1, 3))):
        frame[rng.randrange(4, len(frame))] = rng.randrange(256)
    return bytes(frame)


class Gullible:
    """A context that takes any ticket, and then believes nothing."""

    complete = False

    def step(self, _token):
        self.complete = True
        return b"token"

    def wrap(self, message):
        return message

    def unwrap(self, message):
        raise ValueError(message)


@pytest.mark.parametrize("seed", range(20))
def test_nobody_gets_in_by_nonsense(seed):
    rng = random.Random(seed)
    world = guarded(
        mechanisms=MECHANISMS,
        acceptor=Gullible,
        connection_failed_authentication_delay_ms=seed % 2 * 50,
    )
    for _ in range(30):
        client = world.client()
        data = b"".join(strangers_words(rng) for _ in range(rng.randrange(1, 8)))
        while data and not client.closed:
            size = rng.choice((1, 10, 100, 10_000))
            client.raw(data[:size])
            data = data[size:]
            world.run(rng.choice((0, 0, 30)))
            link = link_of(world, client)
            assert link is None or (link.principal == "User:ANONYMOUS" and not link.sasl.known)
    assert not world.faults


# With the rest ------------------------------------------------------------------------------------


def test_mishaps_happen_to_strangers_too():
    world = guarded()
    error = ErrorCode.SASL_AUTHENTICATION_FAILED
    for key in (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE):
        world.cluster.mishaps.add(Mishap(key, Kind.REFUSED, error=error))
    client = world.client()
    assert client.ask(handshake()).error_code == error
    assert client.ask(handshake()).error_code == 0
    assert client.ask(plain()).error_code == error
    assert client.ask(plain()).error_code == 0
    world.cluster.mishaps.add(Mishap(ApiKey.SASL_AUTHENTICATE, Kind.DELAYED, delay_ms=50))
    late = world.client()
    late.ask(handshake())
    late.send(plain())
    world.run(49)
    assert not late.frames
    world.run(1)
    assert late.answer().error_code == 0


def test_a_node_that_stands_still_turns_nobody_away_meanwhile():
    world = guarded()
    client = world.client()
    client.ask(handshake())
    client.send(plain("nobody"))
    world.nodes[1].pause()
    world.run(10 * DELAY_MS)
    assert not client.closed
    world.nodes[1].resume(world.now_ms)
    world.run(1)
    assert client.closed


@pytest.mark.parametrize("release", [(2, 1), (2, 8), (4, 4)], ids=str)
def test_each_release_has_the_versions_that_it_had(release):
    world = World(config=BrokerConfig(release=release, sasl=SaslConfig(users=USERS)))
    client = world.client()
    answer = client.ask(m.ApiVersionsRequest(), 2)
    highest = {ApiKey(key.api_key): key.max_version for key in answer.api_keys}
    assert highest[ApiKey.SASL_HANDSHAKE] == 1
    assert highest[ApiKey.SASL_AUTHENTICATE] == (0 if release == (2, 1) else 2)
    assert (ApiKey.ALTER_USER_SCRAM_CREDENTIALS in highest) == (release >= (2, 7))
    client.ask(handshake())
    assert client.ask(plain(), highest[ApiKey.SASL_AUTHENTICATE]).error_code == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"mechanisms": ()},
        {"mechanisms": ("GSSAPI",)},
        {"connections_max_reauth_ms": -1},
        {"connection_failed_authentication_delay_ms": 1 << 31},
        {"sasl_server_max_receive_size": 0},
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(KafkaConfigurationError, match=next(iter(wrong))):
        SaslConfig(**wrong)


def test_passwords_are_not_shown():
    world = guarded()
    credential = world.cluster.users.credential("alice", "SCRAM-SHA-256")
    for one in (world.cluster.config, world.cluster.users, credential):
        assert "secret" not in repr(one)
    assert credential.stored_key.hex() not in repr(credential)
    assert repr(credential.stored_key) not in repr(credential)
