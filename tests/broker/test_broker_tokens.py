"""Delegation tokens of a broker: who gets them, how long they are good, what is kept and shown."""

import base64
import random

import pytest

from kcore.broker.batches import RefusedError
from kcore.broker.config import BrokerConfig
from kcore.broker.delegation import tokens as module
from kcore.broker.delegation.config import DelegationTokenConfig
from kcore.broker.delegation.tokens import Principal, Tokens, principal_of
from kcore.broker.sasl.mechanisms import MisfitError, Proven
from kcore.broker.sasl.scram import Scram
from kcore.broker.sasl.users import Users
from kcore.connection import sasl as client_side
from kcore.connection.credentials import DELEGATED, Credentials
from kcore.errors import KafkaConfigurationError
from kcore.wire.codes import ErrorCode as E

KEY = "very-secret"
ALICE, BOB, CAROL = (Principal("User", name) for name in ("alice", "bob", "carol"))
NOW = 1_700_000_000_000
CONFIG = DelegationTokenConfig(
    KEY, max_lifetime_ms=1_000, expiry_time_ms=400, expiry_check_interval_ms=300
)


class Kept:
    """A store."""

    def __init__(self):
        self.tokens, self.told = {}, 0

    def token_changed(self, token_id, token):
        self.told += 1
        if token is None:
            del self.tokens[token_id]
        else:
            self.tokens[token_id] = token


def made(config=CONFIG, seed=1):
    tokens = Tokens(config, random.Random(seed))
    tokens.store = Kept()
    return tokens


def create(tokens, *, owner=ALICE, renewers=(BOB,), lifetime_ms=-1, now=NOW):
    token = tokens.create(owner, ALICE, tuple(renewers), lifetime_ms, now)
    return token, tokens.code_of(token.token_id)


def refused(code, call, *args):
    with pytest.raises(RefusedError) as caught:
        call(*args)
    assert caught.value.code is code


def entered(tokens, token_id, code, mechanism="SCRAM-SHA-256", now=NOW, extensions=None):
    """What the broker makes of a client of ours."""
    given = DELEGATED if extensions is None else extensions
    password = base64.b64encode(code).decode()
    credentials = Credentials(mechanism, token_id, password, given)
    client = client_side.MECHANISMS[mechanism](credentials, random.Random(4))
    users = Users(random.Random(5), {"alice": "secret"})
    server = Scram(users, mechanism, random.Random(3), tokens, now)
    message = client.first()
    while message is not None:
        message = client.step(server.step(message))
    return server.outcome


@pytest.mark.parametrize(
    ("lifetime_ms", "expires", "ends"),
    [(-1, 400, 1_000), (0, 400, 1_000), (5_000, 400, 1_000), (700, 400, 700), (300, 300, 300)],
)
def test_how_long_a_new_one_is_good(lifetime_ms, expires, ends):
    token, _ = create(made(), lifetime_ms=lifetime_ms)
    assert (token.issued_ms, token.expires_ms, token.ends_ms) == (NOW, NOW + expires, NOW + ends)


def test_who_renews_and_who_lets_expire():
    tokens = made()
    token, code = create(tokens)
    for somebody in (ALICE, BOB):
        assert tokens.renew(code, somebody, -1, NOW + 300) == NOW + 700
        assert tokens.renew(code, somebody, 10_000, NOW + 300) == NOW + 700
        assert tokens.renew(code, somebody, 5, NOW + 300) == NOW + 305
        assert tokens.renew(code, somebody, 1, NOW + 300) == NOW + 301
        assert tokens.expire(code, somebody, 10_000, NOW + 300) == NOW + 1_000
    for call in (tokens.renew, tokens.expire):
        refused(E.DELEGATION_TOKEN_OWNER_MISMATCH, call, code, CAROL, 1, NOW)
        refused(E.DELEGATION_TOKEN_OWNER_MISMATCH, call, code, CAROL, -1, NOW)
        refused(E.DELEGATION_TOKEN_NOT_FOUND, call, code[:-1] + b"\0", ALICE, 1, NOW)
        refused(E.DELEGATION_TOKEN_NOT_FOUND, call, b"", ALICE, 1, NOW)
        refused(E.DELEGATION_TOKEN_NOT_FOUND, call, token.token_id.encode(), ALICE, 1, NOW)
    assert tokens.expire(code, BOB, -1, NOW + 300) == NOW + 300
    refused(E.DELEGATION_TOKEN_NOT_FOUND, tokens.renew, code, ALICE, -1, NOW + 300)
    assert tokens.get(token.token_id, NOW) is None
    assert not tokens.store.tokens


def test_who_asked_for_it_is_not_its_owner():
    tokens = made()
    _, code = create(tokens, owner=BOB, renewers=())
    for call in (tokens.renew, tokens.expire):
        refused(E.DELEGATION_TOKEN_OWNER_MISMATCH, call, code, ALICE, -1, NOW)
    assert tokens.renew(code, BOB, -1, NOW) == NOW + 400


def test_one_that_is_over_is_there_until_it_is_swept_away():
    tokens = made()
    token, code = create(tokens)
    assert tokens.get(token.token_id, NOW + 400) == token
    assert tokens.renew(code, ALICE, -1, NOW + 400) == NOW + 800  # to the last ms
    assert tokens.expire(code, ALICE, 400, NOW) == NOW + 400
    for call in (tokens.renew, tokens.expire):
        refused(E.DELEGATION_TOKEN_EXPIRED, call, code, ALICE, 1, NOW + 401)
    assert tokens.get(token.token_id, NOW + 599) == token
    assert not tokens.all(NOW + 600)
    refused(E.DELEGATION_TOKEN_NOT_FOUND, tokens.renew, code, ALICE, 1, NOW + 600)
    assert not tokens.store.tokens
    _, code = create(tokens, now=NOW + 700)
    _, other = create(tokens, now=NOW + 700)
    assert tokens.expire(code, ALICE, -1, NOW + 1_150) == NOW + 1_150  # over, and let go of
    refused(E.DELEGATION_TOKEN_NOT_FOUND, tokens.renew, other, ALICE, 1, NOW + 1_200)


def test_nothing_is_left_of_one_that_has_gone():
    tokens = made()
    for number in range(10):
        token, code = create(tokens)
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            assert entered(tokens, token.token_id, code, mechanism).user == "alice"
        if number % 2:
            tokens.expire(code, ALICE, -1, NOW)
    assert not tokens.all(NOW + 1_000_000)
    assert [name for name, value in vars(tokens).items() if isinstance(value, dict) and value] == []


def test_what_is_kept_goes_without_a_key_too():
    tokens, keyless = made(), made(DelegationTokenConfig(None, expiry_check_interval_ms=300))
    token, _ = create(tokens)
    keyless.load(dict(tokens.store.tokens))
    keyless.store.tokens.update(tokens.store.tokens)
    assert keyless.all(NOW) == [token]
    assert keyless.all(NOW + 1_000) == []
    assert not keyless.store.tokens


def test_a_renewed_one_is_swept_away_later():
    tokens = made()
    token, code = create(tokens)
    tokens.renew(code, ALICE, -1, NOW + 399)
    assert tokens.get(token.token_id, NOW + 700).expires_ms == NOW + 799
    assert tokens.get(token.token_id, NOW + 899)
    assert tokens.get(token.token_id, NOW + 900) is None


def test_without_a_key_nobody_gets_one():
    for key in (None, ""):
        tokens = made(DelegationTokenConfig(key))
        assert not tokens.enabled
        disabled = E.DELEGATION_TOKEN_AUTH_DISABLED
        refused(disabled, tokens.create, ALICE, ALICE, (), -1, NOW)
        refused(disabled, tokens.renew, b"", ALICE, -1, NOW)
        refused(disabled, tokens.expire, b"", ALICE, -1, NOW)
        with pytest.raises(MisfitError):
            entered(tokens, "x", b"")


def test_what_is_kept_makes_the_same_tokens_with_the_same_key():
    tokens = made()
    token, code = create(tokens)
    again, other = made(seed=2), made(DelegationTokenConfig("another key"))
    for one in (again, other):
        one.load(dict(tokens.store.tokens))
    assert again.renew(code, ALICE, -1, NOW) == NOW + 400
    assert entered(again, token.token_id, code).user == "alice"
    refused(E.DELEGATION_TOKEN_NOT_FOUND, other.renew, code, ALICE, -1, NOW)
    with pytest.raises(MisfitError):
        entered(other, token.token_id, code)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_who_has_one_is_its_owner(mechanism):
    tokens = made()
    token, code = create(tokens, owner=BOB)
    proven = entered(tokens, token.token_id, code, mechanism)
    assert proven == Proven("bob", NOW + 400, delegated=True)


def test_who_is_not_let_in():
    tokens = made()
    token, code = create(tokens)
    other, other_code = create(tokens)
    for token_id, shown in (
        (token.token_id, other_code),
        (other.token_id, code),
        ("alice", code),
        ("alice", b"secret"),
        ("nobody", code),
    ):
        with pytest.raises(MisfitError):
            entered(tokens, token_id, shown)
    for extensions in ({}, {"tokenauth": "false"}, {"Tokenauth": "true"}):
        with pytest.raises(MisfitError):
            entered(tokens, token.token_id, code, extensions=extensions)
    assert entered(tokens, token.token_id, code, extensions={"tokenauth": "TRUE"})


def test_one_that_goes_while_somebody_logs_in_lets_nobody_in():
    tokens = made()
    token, code = create(tokens)
    scram = Scram(Users(random.Random(1), {}), "SCRAM-SHA-256", random.Random(3), tokens, NOW)
    password = base64.b64encode(code).decode()
    credentials = Credentials("SCRAM-SHA-256", token.token_id, password, DELEGATED)
    client = client_side.MECHANISMS["SCRAM-SHA-256"](credentials, random.Random(4))
    final = client.step(scram.step(client.first()))
    tokens.expire(code, ALICE, -1, NOW)
    with pytest.raises(MisfitError):
        scram.step(final)
    assert scram.outcome is None


def test_ids_are_kafkas_and_differ():
    tokens = made()
    ids = {create(tokens)[0].token_id for _ in range(200)}
    assert len(ids) == 200
    assert {len(one) for one in ids} == {22}
    assert not any(one.startswith("-") or set("+/=") & set(one) for one in ids)


def test_what_clients_can_have_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "TOKENS_MAX", 2)
    tokens = made()
    create(tokens)
    many = [Principal("User", str(number)) for number in range(module.RENEWERS_MAX + 1)]
    long = Principal("User", "x" * 1_001)
    for renewers in (many, [long]):
        refused(E.POLICY_VIOLATION, tokens.create, ALICE, ALICE, tuple(renewers), -1, NOW)
    refused(E.POLICY_VIOLATION, tokens.create, long, ALICE, (), -1, NOW)
    create(tokens, renewers=[*many[2:], Principal("User", "x" * 1_000)])  # as many, as long
    refused(E.POLICY_VIOLATION, tokens.create, ALICE, ALICE, (), -1, NOW)
    create(tokens, now=NOW + 10_000)  # those before are over


def test_groups_renew_nothing():
    code = E.INVALID_PRINCIPAL_TYPE
    refused(code, made().create, ALICE, ALICE, (BOB, Principal("Group", "b")), -1, NOW)


def test_principals_are_read_to_the_first_colon():
    assert principal_of("User:CN=a:b") == Principal("User", "CN=a:b")
    assert str(principal_of("User:CN=a:b")) == "User:CN=a:b"


def test_neither_key_nor_code_is_shown_or_kept():
    tokens = made()
    token, code = create(tokens)
    shown = [CONFIG, BrokerConfig(delegation_tokens=CONFIG), tokens, token, tokens.store.tokens]
    for text in map(repr, shown):
        assert KEY not in text
        assert repr(code)[2:-1] not in text
        assert code.hex() not in text
    assert code not in repr(tokens.__dict__["_ids"]).encode()


@pytest.mark.parametrize("name", ["max_lifetime_ms", "expiry_time_ms", "expiry_check_interval_ms"])
@pytest.mark.parametrize("value", [0, -1, 1 << 62])
def test_times_that_are_none(name, value):
    with pytest.raises(KafkaConfigurationError, match=name):
        DelegationTokenConfig(KEY, **{name: value})
