"""SCRAM (RFC 5802, RFC 7677): what a broker keeps of a password, and the exchange that proves it.

Who has the credential cannot log in with it, and a client learns that the broker has it. As in a
Kafka, users and passwords are taken as they are, without SASLprep (Java: ScramFormatter), channels
are not bound, and extensions are passed over, but for the one that says that it is a delegation
token (KIP-48).
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
from typing import Final

from kcore.broker.delegation.tokens import Token, Tokens
from kcore.broker.sasl.credentials import Credential
from kcore.broker.sasl.mechanisms import MisfitError, Proven, RefusalError
from kcore.broker.sasl.users import Users
from kcore.structs import Rng
from kcore.wire.mechanisms import SCRAM_SHA_256, SCRAM_SHA_512

NONCE_BITS: Final = 130  # as many as Kafka's
_HASHES: Final = {SCRAM_SHA_256: "sha256", SCRAM_SHA_512: "sha512"}

_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS: Final = rf"(?:,[A-Za-z]+={_VALUE})*"
_BASE64: Final = "(?:[a-zA-Z0-9/+]{4})*(?:[a-zA-Z0-9/+]{3}=|[a-zA-Z0-9/+]{2}==)?"
_FIRST: Final = re.compile(
    rf"n,(?:a=(?P<wanted>{_NAME}))?,"
    rf"(?P<bare>(?:m={_VALUE},)?n=(?P<user>{_NAME}),r=(?P<nonce>{_PRINTABLE})"
    rf"(?P<more>{_EXTENSIONS}))"
)
_FINAL: Final = re.compile(
    rf"(?P<unproven>c={_BASE64},r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS}),p=(?P<proof>{_BASE64})"
)
_DELEGATED: Final = "tokenauth"


def credential_of(mechanism: str, password: str, salt: bytes, iterations: int) -> Credential:
    """Of a password in the clear."""
    name = _HASHES[mechanism]
    salted = hashlib.pbkdf2_hmac(name, password.encode(), salt, iterations)
    return credential_of_salted(mechanism, salted, salt, iterations)


def credential_of_salted(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> Credential:
    """Of a password that its owner has salted (RFC 5802: SaltedPassword)."""
    name = _HASHES[mechanism]
    client_key = hmac.digest(salted, b"Client Key", name)
    stored_key = hashlib.new(name, client_key).digest()
    return Credential(salt, stored_key, hmac.digest(salted, b"Server Key", name), iterations)


class Scram:
    """One exchange: two messages of the client. rng: one of the system's, if not simulated.
    tokens: delegation tokens; None: there are none. wall_ms: now.
    """

    def __init__(
        self,
        users: Users,
        mechanism: str,
        rng: Rng,
        tokens: Tokens | None = None,
        wall_ms: int = 0,
    ) -> None:
        self._users = users
        self._tokens = tokens
        self._wall_ms = wall_ms
        self._token: Token | None = None
        self._mechanism = mechanism
        self._hash_name = _HASHES[mechanism]
        self._nonce = f"{rng.getrandbits(NONCE_BITS):x}"
        self._user = ""
        self._said = ""  # what both sides said first
        self._credential: Credential | None = None
        self.outcome: Proven | None = None

    def step(self, message: bytes) -> bytes:
        """Salt and count for a name; then our signature for a proof."""
        text = message.decode("utf-8", "replace")
        if self._credential is None:
            return self._challenge(text)
        return self._verify(text, self._credential)

    def _challenge(self, text: str) -> bytes:
        found = _FIRST.fullmatch(text)
        if found is None:
            raise MisfitError
        self._user = found["user"].replace("=2C", ",").replace("=3D", "=")
        extensions = dict(part.split("=", 1) for part in found["more"].split(",")[1:])
        if extensions.get(_DELEGATED, "").lower() == "true":
            credential = self._of_token()
        else:
            credential = self._users.credential(self._user, self._mechanism)
        if credential is None:
            raise MisfitError
        if found["wanted"] and found["wanted"] != self._user:
            raise RefusalError(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        self._credential = credential
        self._nonce = found["nonce"] + self._nonce
        salt = binascii.b2a_base64(credential.salt, newline=False).decode()
        challenge = f"r={self._nonce},s={salt},i={credential.iterations}"
        self._said = f"{found['bare']},{challenge}"
        return challenge.encode()

    def _of_token(self) -> Credential | None:
        """What a delegation token goes by, whose id is the name; None if there is no such token."""
        if self._tokens is None or not self._tokens.enabled:
            return None
        self._token = self._tokens.get(self._user, self._wall_ms)
        if self._token is None:
            return None
        return self._tokens.credential(self._user, self._mechanism)

    def _verify(self, text: str, credential: Credential) -> bytes:
        found = _FINAL.fullmatch(text)
        if found is None or found["nonce"] != self._nonce:
            raise MisfitError
        signed = f"{self._said},{found['unproven']}".encode()
        signature = hmac.digest(credential.stored_key, signed, self._hash_name)
        proof = binascii.a2b_base64(found["proof"])
        if len(proof) != len(signature):
            raise MisfitError
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        stored_key = hashlib.new(self._hash_name, client_key).digest()
        if not hmac.compare_digest(stored_key, credential.stored_key):
            raise MisfitError
        self.outcome = self._proven()
        ours = hmac.digest(credential.server_key, signed, self._hash_name)
        return b"v=" + binascii.b2a_base64(ours, newline=False)

    def _proven(self) -> Proven:
        """The user; or the owner of the token, if it is there still."""
        if self._tokens is None or self._token is None:
            return Proven(self._user)
        if self._tokens.get(self._user, self._wall_ms) is None:
            raise MisfitError
        return Proven(self._token.owner.name, self._token.expires_ms, delegated=True)
