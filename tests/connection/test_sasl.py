"""SASL mechanisms against the RFCs' vectors, a server of the test's own, and servers that cheat."""

import base64
import hashlib
import hmac
import random

import pytest

from kcore.connection import sasl
from kcore.connection.credentials import DELEGATED, Credentials
from kcore.connection.sasl import MECHANISMS, Scram
from kcore.errors import AuthenticationFailedError, SaslAuthenticationFailedError

SALT = b"salt"
HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


def begun(mechanism="SCRAM-SHA-256", user="user", password="pencil", seed=1):
    credentials = Credentials(mechanism, user, password)
    return MECHANISMS[mechanism](credentials, random.Random(seed))


class Server:
    """The broker's side of SCRAM, from RFC 5802 alone."""

    def __init__(self, mechanism, password, iterations=4096):
        self.hash = HASHES[mechanism]
        self.salted = hashlib.pbkdf2_hmac(self.hash, password.encode(), SALT, iterations)
        self.iterations = iterations

    def challenge(self, first):
        self.bare = first.removeprefix(b"n,,")
        nonce = self.bare.partition(b"r=")[2].decode() + "more"
        salt = base64.b64encode(SALT).decode()
        self.sent = f"r={nonce},s={salt},i={self.iterations}".encode()
        return self.sent

    def verdict(self, final):
        unproven, _, proof = final.rpartition(b",p=")
        signed = b",".join([self.bare, self.sent, unproven])
        client_key = hmac.digest(self.salted, b"Client Key", self.hash)
        stored = hashlib.new(self.hash, client_key).digest()
        signature = hmac.digest(stored, signed, self.hash)
        shown = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True))
        assert hashlib.new(self.hash, shown).digest() == stored
        server_key = hmac.digest(self.salted, b"Server Key", self.hash)
        return b"v=" + base64.b64encode(hmac.digest(server_key, signed, self.hash))


def test_plain_is_rfc_4616():
    mechanism = begun("PLAIN", "tim", "tanstaaftanstaaf")
    assert mechanism.first() == b"\0tim\0tanstaaftanstaaf"
    assert mechanism.step(b"") is None


def test_rfc_7677_vector():
    mechanism = begun()
    mechanism._nonce = "rOprNGfwEbeRWgbNEkqO"
    mechanism._bare = "n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert mechanism.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    final = mechanism.step(f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert final == f"c=biws,r={nonce},p={proof}".encode()
    assert mechanism.step(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


@pytest.mark.parametrize("mechanism", HASHES)
@pytest.mark.parametrize(("user", "password"), [("a", ""), ("a=b,c", "p=,"), ("ü", "pª\u00ad")])
def test_scram_satisfies_a_server_and_is_satisfied(mechanism, user, password):
    client, server = begun(mechanism, user, password), Server(mechanism, password)
    first = client.first()
    escaped = user.replace("=", "=3D").replace(",", "=2C")
    assert first.startswith(f"n,,n={escaped},r=".encode())
    final = client.step(server.challenge(first))
    assert client.step(server.verdict(final)) is None


@pytest.mark.parametrize("mechanism", HASHES)
def test_a_delegation_token_says_that_it_is_one(mechanism):
    credentials = Credentials(mechanism, "id-_1", "aG1hYw==", DELEGATED)
    client = MECHANISMS[mechanism](credentials, random.Random(1))
    server = Server(mechanism, "aG1hYw==")
    first = client.first()
    assert first.startswith(b"n,,n=id-_1,r=")
    assert first.endswith(b",tokenauth=true")
    server.challenge(first)
    nonce = client._nonce + "more"
    server.sent = f"r={nonce},s={base64.b64encode(SALT).decode()},i=4096".encode()
    assert client.step(server.verdict(client.step(server.sent))) is None  # the proof is of it, too
    assert credentials.delegated
    assert not Credentials(mechanism, "alice", "secret").delegated
    assert not Credentials("OAUTHBEARER", "", "token", DELEGATED).delegated


def test_nonces_differ_and_come_from_the_rng():
    firsts = {begun(seed=seed).first() for seed in range(20)}
    assert len(firsts) == 20
    assert begun(seed=3).first() == begun(seed=3).first()


def test_a_server_without_the_password_is_found_out():
    client, server = begun(), Server("SCRAM-SHA-256", "pencil")
    final = client.step(server.challenge(client.first()))
    server.salted = bytes(32)
    forged = base64.b64encode(hmac.digest(bytes(32), b"x", "sha256"))
    assert final
    with pytest.raises(SaslAuthenticationFailedError, match="impostor"):
        client.step(b"v=" + forged)


@pytest.mark.parametrize(
    "change",
    [
        lambda nonce: f"r={nonce},s=c2FsdA==,i=4096",  # nothing added
        lambda nonce: f"r=x{nonce}y,s=c2FsdA==,i=4096",  # not ours
        lambda nonce: f"r={nonce}y,s=c2FsdA==,i=4095",
        lambda nonce: f"r={nonce}y,s=c2FsdA==,i={sasl.ITERATIONS_MAX + 1}",
        lambda nonce: f"r={nonce}y,s=c2FsdA==,i=99999999999999999999",
        lambda nonce: f"r={nonce}y,s=c2FsdA==,i=-4096",
        lambda nonce: f"r={nonce}y,s=c2FsdA==,i=٤٠٩٦",
        lambda nonce: f"r={nonce}y,s=c2FsdA==,i=",
        lambda nonce: f"r={nonce}y,s=,i=4096",
        lambda nonce: f"r={nonce}y,s=%%%,i=4096",
        lambda nonce: f"r={nonce}y,s=c2FsdA,i=4096",
        lambda nonce: f"m=x,r={nonce}y,s=c2FsdA==,i=4096",
        lambda nonce: f"r={nonce}y,s=c2FsdA==",
        lambda nonce: f"e=other-error,{nonce}",
        lambda _: "",
        lambda _: ",,,",
        lambda nonce: f"r={nonce}{'y' * 10_000},s=c2FsdA==,i=4096",
    ],
)
def test_bad_challenges_are_typed_errors(change):
    client = begun()
    client.first()
    with pytest.raises(SaslAuthenticationFailedError):
        client.step(change(client._nonce).encode())


@pytest.mark.parametrize("final", [b"", b"v=", b"v=%%", b"e=invalid-proof", b"x=1", b"\xff\xfe"])
def test_bad_verdicts_are_typed_errors(final):
    client, server = begun(), Server("SCRAM-SHA-256", "pencil")
    client.step(server.challenge(client.first()))
    with pytest.raises(AuthenticationFailedError):
        client.step(final)


def test_noise_never_escapes_as_anything_else():
    rng = random.Random(5)
    for _ in range(500):
        client = begun()
        client.first()
        noise = rng.choice([b"", f"r={client._nonce}".encode()]) + rng.randbytes(rng.randrange(60))
        with pytest.raises(SaslAuthenticationFailedError):
            client.step(noise)


def bearer(token="abc.DEF-1_2~3+/==", **extensions):
    return MECHANISMS["OAUTHBEARER"](Credentials("OAUTHBEARER", "", token, extensions), None)


def test_a_bearer_token_is_sent_as_rfc_7628_says():
    assert bearer().first() == b"n,,\1auth=Bearer abc.DEF-1_2~3+/==\1\1"
    sent = bearer("t", logicalCluster="lkc-1", pool="a b=c").first()
    assert sent == b"n,,\1auth=Bearer t\1logicalCluster=lkc-1\1pool=a b=c\1\1"
    assert bearer().step(b"") is None


def test_a_refused_token_is_let_go_of_and_never_taken_for_accepted():
    mechanism = bearer()
    assert mechanism.step(b'{"status":"invalid_token"}') == b"\1"
    with pytest.raises(SaslAuthenticationFailedError, match="invalid_token"):
        mechanism.step(b"")


@pytest.mark.parametrize("token", ["", " ", "a b", "a\1b", "a=b", "ü", "a\n", "a" * 262_145])
def test_what_is_no_token_is_not_sent_and_not_shown(token):
    with pytest.raises(SaslAuthenticationFailedError, match=f"{len(token)} characters") as caught:
        bearer(token).first()
    assert repr(token)[1:-1] not in str(caught.value) or len(token) < 2


@pytest.mark.parametrize(
    "extensions", [{"auth": "x"}, {"a1": "x"}, {"a": ""}, {"a": "x\1y"}, {"": "x"}, {"a": "ü"}]
)
def test_extensions_that_cannot_be_sent(extensions):
    with pytest.raises(SaslAuthenticationFailedError, match="extension"):
        bearer("t", **extensions).first()


def test_no_secret_in_a_repr():
    credentials = Credentials("PLAIN", "alice", "very-secret")
    assert "very-secret" not in repr(credentials)
    assert "very-secret" not in repr(Scram(credentials, random.Random(1), "sha256"))
