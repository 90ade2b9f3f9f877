"""Tokens and assertions that somebody else puts into a file, as an orchestrator or a sidecar does.

A file is read each time that one is needed, which is seldom, so who replaces it needs to tell
nobody. What is in it is shown to nobody.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Final

from kcore.errors import SaslAuthenticationFailedError

FILE_BYTES_MAX: Final = 262_144


class TokenFile:
    """Gives the token in the file at `path` (Java: FileJwtRetriever)."""

    def __init__(self, path: str, extensions: Mapping[str, str] | None = None) -> None:
        self._path = path
        self._extensions = dict(extensions or {})

    def __repr__(self) -> str:
        return f"TokenFile({self._path!r})"

    def extensions(self) -> Mapping[str, str]:
        """What goes beside each token (KIP-342)."""
        return self._extensions

    def token(self) -> str:
        """What is in the file now. SaslAuthenticationFailedError: that is no token."""
        return read_jwt(self._path)


def read_jwt(path: str) -> str:
    """The JWT in a file, if it looks like one. SaslAuthenticationFailedError."""
    text = read_text(path).strip()
    parts = text.split(".")
    if len(parts) != 3 or not all(parts) or not all(map(_is_object, parts[:2])):
        raise SaslAuthenticationFailedError(
            f"{path} holds no JWT: header, payload and signature in base64, with dots between them"
        )
    return text


def read_text(path: str) -> str:
    """A small file. SaslAuthenticationFailedError."""
    try:
        with open(path, "rb") as file:
            text = file.read(FILE_BYTES_MAX + 1).decode()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise SaslAuthenticationFailedError(f"{path} cannot be read: {why}") from None
    if len(text) > FILE_BYTES_MAX:
        raise SaslAuthenticationFailedError(f"{path} has more than {FILE_BYTES_MAX} bytes")
    return text


def _is_object(part: str) -> bool:
    padded = part + "=" * (-len(part) % 4)
    try:
        return isinstance(json.loads(base64.b64decode(padded, b"-_", validate=True)), dict)
    except (binascii.Error, ValueError, RecursionError):
        return False
