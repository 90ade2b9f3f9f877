"""SASL mechanisms as pure steps: bytes of the broker in, bytes for the broker out.

A mechanism is good for one exchange: `first()` opens it, each answer of the broker goes into
`step()`, and None means that both sides are satisfied. What it cannot work out itself (GSSAPI, in
`gssapi.py`) is an `Outside`, and the result goes into `take()`. What a broker says is not trusted:
SCRAM demands its proof of the password, refuses iteration counts that are weak or would keep us
busy, and every violation is a SaslAuthenticationFailedError.

Users and passwords are sent as UTF-8 as they are, not passed through SASLprep (RFC 4013): Apache
Kafka stores and compares them so (Java: ScramFormatter), and prepared ones would not match.
Sources: RFC 4616, RFC 5802, RFC 7677, RFC 7628 (OAUTHBEARER; KIP-255, KIP-342).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from kcore.actions import GssapiCall
from kcore.connection.credentials import Credentials
from kcore.errors import SaslAuthenticationFailedError
from kcore.structs import Rng
from kcore.values import Value, field
from kcore.wire.mechanisms import GSSAPI, OAUTHBEARER, PLAIN, SCRAM_SHA_256, SCRAM_SHA_512

# RFC 7677 asks for 4096 at least, which is also Kafka's own minimum; a broker may not lower it to
# make guessing cheap.
ITERATIONS_MIN: Final = 4_096
# Kafka's tools store at most 16384. A million take under a second; more is a broker that wants us
# stuck.
ITERATIONS_MAX: Final = 1_000_000
# The longest honest message is a nonce, a salt and a count: some hundred bytes.
MESSAGE_BYTES_MAX: Final = 8_192
NONCE_BITS: Final = 192

# What a bearer token may be made of (RFC 6750), and the extensions beside it (RFC 7628).
_BEARER: Final = r"[A-Za-z0-9._~+/-]+=*"
_EXTENSION_NAME: Final = r"[A-Za-z]+"
_EXTENSION_VALUE: Final = r"[\x21-\x7e \t\r\n]+"
TOKEN_BYTES_MAX: Final = 262_144  # half of what a broker reads before it knows who speaks


class Outside(Value):
    """What has to be worked out outside of the core first: see kcore.actions.CallGssapi."""

    call: GssapiCall
    data: bytes = field(repr=False)
    context: object = field(default=None, repr=False)


class Mechanism(Protocol):
    """One exchange, seen from the client."""

    def first(self) -> bytes | Outside:
        """What opens the exchange."""

    def step(self, challenge: bytes) -> bytes | Outside | None:
        """What to answer to the broker's message; None: done. SaslAuthenticationFailedError."""


class Plain:
    """The password itself, so only for links that nobody else can read (RFC 4616)."""

    def __init__(self, credentials: Credentials, _rng: Rng) -> None:
        self._credentials = credentials

    def first(self) -> bytes:
        """No authorization identity, the user, the password."""
        return f"\0{self._credentials.username}\0{self._credentials.password}".encode()

    def step(self, challenge: bytes) -> bytes | None:  # noqa: ARG002 - PLAIN has no challenge
        """The broker accepted; there is nothing more to say."""
        return None


class Scram:
    """A proof by salted challenge in both directions (RFC 5802), without channel binding.

    The nonce must not be guessable: the bits of `rng` have to be the system's.
    """

    def __init__(self, credentials: Credentials, rng: Rng, hash_name: str) -> None:
        self._hash_name = hash_name
        self._password = credentials.password.encode()
        self._nonce = f"{rng.getrandbits(NONCE_BITS):048x}"
        user = credentials.username.replace("=", "=3D").replace(",", "=2C")
        more = "".join(f",{name}={value}" for name, value in credentials.extensions.items())
        self._bare = f"n={user},r={self._nonce}{more}"
        self._expected: bytes | None = None  # the broker's signature, once we know what it must be

    def first(self) -> bytes:
        """User, nonce, and that it is a delegation token, if it is."""
        return f"n,,{self._bare}".encode()

    def step(self, challenge: bytes) -> bytes | None:
        """Answer the broker's challenge with our proof, then check the broker's."""
        if len(challenge) > MESSAGE_BYTES_MAX:
            raise _broken(f"a message of {len(challenge)} bytes")
        try:
            message = challenge.decode()
        except UnicodeDecodeError:
            raise _broken("a message that is not UTF-8") from None
        if self._expected is None:
            return self._prove(message)
        self._verify(message, self._expected)
        return None

    def _prove(self, server_first: str) -> bytes:
        import hashlib  # noqa: PLC0415 - OpenSSL, which most consumers need not load
        import hmac  # noqa: PLC0415

        nonce, salt, iterations = _parse_first(server_first)
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise _broken("a nonce that does not begin with ours and add to it")
        name = self._hash_name
        salted = hashlib.pbkdf2_hmac(name, self._password, salt, iterations)
        unproven = f"c=biws,r={nonce}"  # biws: "n,,", no channel binding
        signed = f"{self._bare},{server_first},{unproven}".encode()
        client_key = hmac.digest(salted, b"Client Key", name)
        stored_key = hashlib.new(name, client_key).digest()
        signature = hmac.digest(stored_key, signed, name)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._expected = hmac.digest(hmac.digest(salted, b"Server Key", name), signed, name)
        return f"{unproven},p={_to_base64(proof)}".encode()

    def _verify(self, server_final: str, expected: bytes) -> None:
        from hmac import compare_digest  # noqa: PLC0415 - as above

        kind, _, value = server_final.partition(",")[0].partition("=")
        if kind == "e":
            said = repr(value[:200])
            raise SaslAuthenticationFailedError(f"the broker refused the SCRAM proof: {said}")
        if kind != "v":
            raise _broken("a last message that is neither a signature nor an error")
        if not compare_digest(_from_base64(value), expected):
            raise SaslAuthenticationFailedError(
                "the broker could not prove that it knows the password: it may be an impostor"
            )


def _parse_first(message: str) -> tuple[str, bytes, int]:
    """Nonce, salt and iterations of a server-first message; extensions after them are ignored."""
    parts = message.split(",")
    if [part[:2] for part in parts[:3]] != ["r=", "s=", "i="]:
        raise _broken("a challenge that is not r=,s=,i=")
    nonce, salt, count = (part[2:] for part in parts[:3])
    if not (count.isascii() and count.isdigit() and len(count) <= 7):
        raise _broken("an iteration count that is no number in range")
    if not ITERATIONS_MIN <= int(count) <= ITERATIONS_MAX:
        raise _broken(f"{count} iterations, not between {ITERATIONS_MIN} and {ITERATIONS_MAX}")
    salt_bytes = _from_base64(salt)
    if not salt_bytes:
        raise _broken("an empty salt")
    return nonce, salt_bytes, int(count)


def _from_base64(text: str) -> bytes:
    import binascii  # noqa: PLC0415 - few log in

    try:
        return binascii.a2b_base64(text.encode(), strict_mode=True)
    except binascii.Error:
        raise _broken("bad base64") from None


def _to_base64(data: bytes) -> str:
    import binascii  # noqa: PLC0415 - few log in

    return binascii.b2a_base64(data, newline=False).decode()


def _broken(what: str) -> SaslAuthenticationFailedError:
    return SaslAuthenticationFailedError(f"the broker broke the SCRAM exchange: it sent {what}")


class Bearer:
    """A token that somebody else has signed; whoever has it is believed, so only for links that
    nobody else can read (RFC 7628).

    SaslAuthenticationFailedError: a token or an extension that cannot be sent.
    """

    def __init__(self, credentials: Credentials, _rng: Rng) -> None:
        self._token = credentials.password
        self._extensions = credentials.extensions
        self._said = ""  # why the broker does not believe it

    def first(self) -> bytes:
        """No authorization identity; the token; the extensions."""
        if len(self._token) > TOKEN_BYTES_MAX or not re.fullmatch(_BEARER, self._token):
            raise SaslAuthenticationFailedError(
                f"a token of {len(self._token)} characters that is no bearer token (RFC 6750: "
                f"letters, digits and ._~+/- with = at its end, {TOKEN_BYTES_MAX} at most)"
            )
        parts = [f"auth=Bearer {self._token}"]
        for name, value in self._extensions.items():
            if name == "auth" or not (
                re.fullmatch(_EXTENSION_NAME, name) and re.fullmatch(_EXTENSION_VALUE, value)
            ):
                raise SaslAuthenticationFailedError(
                    f"the extension {name[:40]!r} of the token cannot be sent: names are letters, "
                    "and not 'auth', values are printable ASCII"
                )
            parts.append(f"{name}={value}")
        return ("n,,\1" + "\1".join(parts) + "\1\1").encode()

    def step(self, challenge: bytes) -> bytes | None:
        """Nothing more, or one byte that lets the broker end what it has refused."""
        if self._said:
            raise SaslAuthenticationFailedError(f"the broker refused the token: {self._said}")
        if not challenge:
            return None
        self._said = repr(challenge[:200].decode("utf-8", "replace"))
        return b"\1"


def _scram_sha_256(credentials: Credentials, rng: Rng) -> Mechanism:
    return Scram(credentials, rng, "sha256")


def _scram_sha_512(credentials: Credentials, rng: Rng) -> Mechanism:
    return Scram(credentials, rng, "sha512")


def _gssapi(credentials: Credentials, rng: Rng) -> Mechanism:
    from kcore.connection.gssapi import Gssapi  # noqa: PLC0415 - few speak it

    return Gssapi(credentials, rng)


MECHANISMS: Final[Mapping[str, Callable[[Credentials, Rng], Mechanism]]] = {
    PLAIN: Plain,
    SCRAM_SHA_256: _scram_sha_256,
    SCRAM_SHA_512: _scram_sha_512,
    OAUTHBEARER: Bearer,
    GSSAPI: _gssapi,
}
