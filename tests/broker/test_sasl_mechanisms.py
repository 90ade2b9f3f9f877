"""The mechanisms of the broker against those of the client, and against anything else."""

import base64
import hashlib
import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from longer import examples
from test_sasl_door import Gullible

from kcore.broker.sasl.bearer import Bearer
from kcore.broker.sasl.gssapi import Gssapi
from kcore.broker.sasl.mechanisms import MisfitError, Plain, Proven, RefusalError
from kcore.broker.sasl.scram import Scram, credential_of, credential_of_salted
from kcore.broker.sasl.tokens import read_unsigned
from kcore.broker.sasl.users import Users, check_user
from kcore.connection import sasl as client_side
from kcore.connection.credentials import Credentials
from kcore.errors import KafkaConfigurationError, SaslAuthenticationFailedError
from kcore.wire.mechanisms import MECHANISMS

WALL_MS = 1_700_000_000_000
# As Kafka has it, names in SCRAM are ASCII.
LETTERS = "aZ09 =,-.@\"'\\\t\x7f"
NAMES = st.text(st.sampled_from(LETTERS), min_size=1, max_size=20)
# With what SASLprep would change, too: a compatibility character, a combining one, a soft hyphen.
PASSWORDS = st.text(
    st.sampled_from(LETTERS + "\u00aa\u0301\u00ad\u6f22\U0001f511"), min_size=1, max_size=20
)


WORDS = [b"n,,n=alice,r=ab", b"c=biws,r=x,p=abcd", b"n,,\1auth=Bearer a\1\1", b"\1", b"\0a\0b"]


def served(mechanism, users):
    if mechanism == "PLAIN":
        return Plain(users)
    if mechanism == "OAUTHBEARER":
        return Bearer(lambda token: (token, None), WALL_MS)
    if mechanism == "GSSAPI":
        return Gssapi(Gullible())
    return Scram(users, mechanism, random.Random(3))


def meet(mechanism, users, user, password):
    """Both sides until one of them has enough; who it is to the broker."""
    credentials = Credentials(mechanism, user, password)
    client = client_side.MECHANISMS[mechanism](credentials, random.Random(4))
    server = served(mechanism, users)
    message = client.first()
    while message is not None:
        message = client.step(server.step(message))
    return server.outcome


@pytest.mark.parametrize("mechanism", MECHANISMS[:3])
@settings(max_examples=5)
@given(user=NAMES, password=PASSWORDS)
def test_both_sides_agree_on_who_knows_the_password(mechanism, user, password):
    users = Users(random.Random(5), {"other": "other", user: password})
    assert meet(mechanism, users, user, password) == Proven(user)
    with pytest.raises((RefusalError, MisfitError)):
        meet(mechanism, users, user, password + "x")
    with pytest.raises((RefusalError, MisfitError)):
        meet(mechanism, users, user + "x", password)


def test_a_broker_that_does_not_know_the_password_is_found_out():
    real = Users(random.Random(1), {"alice": "secret"})
    forged = Users(random.Random(2), {})
    known = real.credential("alice", "SCRAM-SHA-256")
    forged.set_credential("alice", "SCRAM-SHA-256", known._replace(server_key=bytes(32)))
    with pytest.raises(SaslAuthenticationFailedError, match="impostor"):
        meet("SCRAM-SHA-256", forged, "alice", "secret")


def test_salts_and_nonces_differ():
    users = Users(random.Random(1), {"alice": "secret", "bob": "secret"})
    kept = {users.credential(user, name) for user in ("alice", "bob") for name in MECHANISMS[1:3]}
    assert len({one.salt for one in kept}) == len({one.stored_key for one in kept}) == 4
    rng = random.Random(2)
    first = Scram(users, "SCRAM-SHA-256", rng).step(b"n,,n=alice,r=x")
    assert first != Scram(users, "SCRAM-SHA-256", rng).step(b"n,,n=alice,r=x")
    assert users.credential("alice", "PLAIN") is None
    assert users.credential("nobody", "SCRAM-SHA-256") is None


def test_the_example_of_the_rfc():
    """RFC 7677 3: user, pencil."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    users = Users(random.Random(1), {})
    kept = credential_of("SCRAM-SHA-256", "pencil", salt, 4_096)
    users.set_credential("user", "SCRAM-SHA-256", kept)
    server = Scram(users, "SCRAM-SHA-256", random.Random(1))
    server._nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    said = server.step(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert said == b"r=" + nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = b"c=biws,r=" + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert server.step(final) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    assert server.outcome == Proven("user")


def test_a_credential_can_be_made_of_a_salted_password():
    """KIP-554: clients send that, not the password."""
    salted = hashlib.pbkdf2_hmac("sha512", b"secret", b"salt", 5_000)
    made = credential_of_salted("SCRAM-SHA-512", salted, b"salt", 5_000)
    assert made == credential_of("SCRAM-SHA-512", "secret", b"salt", 5_000)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(max_examples=examples(15))
@given(messages=st.lists(st.binary(max_size=60) | st.sampled_from(WORDS), max_size=4))
def test_nothing_that_is_said_breaks_it(mechanism, messages):
    server = served(mechanism, Users(random.Random(1), {"alice": "secret"}))
    for message in messages:
        try:
            server.step(message)
        except (RefusalError, MisfitError):
            break


def test_what_is_wrong_with_a_user_is_said_without_the_password():
    for user, password in (("", "secret"), ("a\0b", "secret"), (None, "secret"), ("x" * 1_001, "s"),
                           ("alice", ""), ("alice", "sec\0ret"), ("alice", b"secret")):  # fmt: skip
        with pytest.raises(KafkaConfigurationError) as caught:
            check_user(user, password)
        assert "sec" not in str(caught.value)
    check_user("alice", "secret")


# Tokens that nobody has signed --------------------------------------------------------------------

NOW_S = WALL_MS / 1_000
GOOD = {"sub": "alice", "exp": NOW_S + 60, "iat": NOW_S}


def token(claims=GOOD, header=None, signature="", encode=base64.urlsafe_b64encode):
    parts = ({"alg": "none"} if header is None else header, claims)
    texts = (encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)
    return ".".join((*texts, signature))


@pytest.mark.parametrize("encode", [base64.urlsafe_b64encode, base64.b64encode])
def test_a_token_that_nobody_has_signed(encode):
    claims = GOOD | {"sub": "\u00ff\u00fe?>~"}
    found = read_unsigned(token(claims, encode=encode), WALL_MS)
    assert found == Proven("\u00ff\u00fe?>~", WALL_MS + 60_000)
    without = {"sub": "alice", "exp": NOW_S + 0.5}
    assert read_unsigned(token(without), WALL_MS) == Proven("alice", WALL_MS + 500)


@pytest.mark.parametrize(
    "wrong",
    [
        "", "abc", "..", "a.b.", token() + "x", token(signature="abcd"), token() + ".",
        token(header={"alg": "HS256"}), token(header={}), token(header=[]), token([1]),
        token(GOOD | {"sub": ""}), token(GOOD | {"sub": 1}), token({"exp": NOW_S + 60}),
        token(GOOD | {"exp": NOW_S}), token(GOOD | {"exp": "x"}), token(GOOD | {"exp": True}),
        token(GOOD | {"exp": float("nan")}), token(GOOD | {"exp": float("inf")}),
        token({"sub": "alice"}), token(GOOD | {"iat": NOW_S + 1}), token(GOOD | {"iat": "x"}),
        token(GOOD | {"iat": NOW_S - 10, "exp": NOW_S - 20}), "[" * 100_000 + ".x.",
    ],
    ids=lambda text: text[-12:],
)  # fmt: skip
def test_a_token_that_is_not_good(wrong):
    with pytest.raises(ValueError, match=r"[a-z]"):
        read_unsigned(wrong, WALL_MS)


def test_the_time_of_day_counts():
    now_ms = time.time_ns() // 1_000_000
    assert read_unsigned(token(GOOD | {"exp": now_ms / 1_000 + 5}), now_ms).expires_ms > now_ms
