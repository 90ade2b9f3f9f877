"""OAUTHBEARER (RFC 7628; KIP-255): a token that somebody else answers for.

A token that is refused is answered with a status in JSON, and the exchange fails with the client's
next message, whatever it is. Extensions (KIP-342) are passed over.
"""

from __future__ import annotations

import re
from typing import Final

from kcore.broker.sasl.config import TokenValidator
from kcore.broker.sasl.mechanisms import MisfitError, Proven, RefusalError
from kcore.broker.sasl.tokens import read_unsigned

_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_MESSAGE: Final = re.compile(
    rf"n,(?:a=(?P<wanted>{_NAME}))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_AUTH: Final = re.compile(r"bearer +([-_~+/.a-zA-Z0-9]+=*)", re.IGNORECASE)
REFUSED: Final = '{"status":"invalid_token"}'
_GO_ON: Final = b"\x01"


class Bearer:
    """One exchange. validator: None: tokens that nobody has signed. wall_ms: now."""

    def __init__(self, validator: TokenValidator | None, wall_ms: int) -> None:
        self._validator = validator
        self._wall_ms = wall_ms
        self._refused = False
        self.outcome: Proven | None = None

    def step(self, message: bytes) -> bytes:
        """Nothing, if the token is good. TypeError: its validator gives what it should not."""
        if self._refused and message == _GO_ON:
            raise RefusalError(REFUSED)
        found = _MESSAGE.fullmatch(message.decode("utf-8", "replace"))
        if found is None:
            raise MisfitError
        pairs = [pair.partition("=") for pair in found["pairs"].split("\x01")[:-1]]
        auth = _AUTH.fullmatch(next((value for name, _, value in pairs if name == "auth"), ""))
        if auth is None:
            raise MisfitError
        proven = self._validated(auth[1])
        self._refused = proven is None
        if proven is None:
            return REFUSED.encode()
        wanted = found["wanted"]
        if wanted and wanted != proven.user:
            raise RefusalError(
                f"Authentication failed: Client requested an authorization id ({wanted}) that is "
                f"different from the token's principal name ({proven.user})"
            )
        self.outcome = proven
        return b""

    def _validated(self, token: str) -> Proven | None:
        """None: it is not good."""
        if self._validator is None:
            try:
                return read_unsigned(token, self._wall_ms)
            except ValueError:
                return None
        try:
            given = self._validator(token)
        except Exception:  # noqa: BLE001 - that is how it refuses, and libraries' errors differ
            return None
        return _proven(given, self._wall_ms)


def _proven(given: object, wall_ms: int) -> Proven:
    match given:
        case (str() as user, None) if user:
            return Proven(user)
        case (str() as user, int() as lasts_ms) if user and not isinstance(lasts_ms, bool):
            return Proven(user, wall_ms + lasts_ms)
    raise TypeError(
        "a validator of tokens gives (user, for how many ms it is good, or None), "
        f"not a {type(given).__name__} of other things"
    )
