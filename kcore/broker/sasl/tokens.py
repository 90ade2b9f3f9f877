"""Tokens that nobody has signed (RFC 7519 6: JWT with the algorithm "none"), for tests.

They are what a Kafka takes for OAUTHBEARER if it is not told whom to trust (KIP-255; Java:
OAuthBearerUnsecuredValidatorCallbackHandler): `sub` says who it is, `exp` until when, and `iat`, if
it is there, since when.
"""

from __future__ import annotations

import binascii
import json
from typing import Any

from kcore.broker.sasl.mechanisms import Proven


def read_unsigned(token: str, wall_ms: int) -> Proven:
    """Whose token it is, and until when. ValueError: it is none, or is not good now."""
    parts = token.split(".")
    if len(parts) != 3 or parts[2]:
        raise ValueError("no three parts, of which the last one, the signature, is empty")
    header, claims = _decoded(parts[0]), _decoded(parts[1])
    if header.get("alg") != "none":
        raise ValueError("its algorithm is not none")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.strip():
        raise ValueError("it does not say whose it is")
    expires_s = _seconds(claims.get("exp"))
    issued_s = _seconds(claims.get("iat", 0))
    if issued_s * 1_000 > wall_ms or issued_s >= expires_s:
        raise ValueError("it is not good yet, or never is")
    if expires_s * 1_000 <= wall_ms:
        raise ValueError("it is over")
    return Proven(subject, round(expires_s * 1_000))


def _decoded(part: str) -> dict[str, Any]:
    padded = part.translate(str.maketrans("-_", "+/")) + "=" * (-len(part) % 4)
    try:
        found = json.loads(binascii.a2b_base64(padded.encode(), strict_mode=True))
    except (binascii.Error, ValueError, RecursionError):
        raise ValueError("a part of it is no JSON in base64") from None
    if not isinstance(found, dict):
        raise ValueError("a part of it is no object")
    return found


def _seconds(value: object) -> int | float:
    """A time, within what clocks have."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12:
        return value
    raise ValueError("it does not say until when it is good, or since when")
