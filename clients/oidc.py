"""Tokens of an identity provider, by OAuth 2's client credentials (RFC 6749 4.4; KIP-768).

A token is kept until four fifths of its time are over. If there is no other one then, it is used
until its end.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from typing import Any, Final

from kcore.errors import SaslAuthenticationFailedError

_TIMEOUT_S: Final = 10
_ANSWER_BYTES_MAX: Final = 262_144
_SHOWN_CHARS: Final = 200
_REFRESH_AT: Final = 0.8
# A token that says nothing of its time is good for one authentication.
_UNKNOWN_S: Final = 0


class ClientCredentials:
    """Asks `url` for tokens in the name of a client. May be used by many threads.

    SaslAuthenticationFailedError: no token is to be had, and why; the secret is not in it.
    """

    def __init__(
        self,
        url: str,
        client_id: str,
        client_secret: str,
        scope: str | None = None,
        extensions: Mapping[str, str] | None = None,
    ) -> None:
        self._url = url
        self._client = f"{client_id}:{client_secret}"
        self._scope = scope
        self._extensions = dict(extensions or {})
        self._lock = threading.Lock()
        self._token = ""
        self._refresh_at = self._ends_at = float("-inf")
        # No redirection: what goes along with the question is a password.
        self._opener = urllib.request.build_opener(_Stay())

    def __repr__(self) -> str:
        return f"ClientCredentials({self._url!r})"

    def extensions(self) -> Mapping[str, str]:
        """What goes beside each token (KIP-342)."""
        return self._extensions

    def token(self) -> str:
        """One that is good still; it may take ten seconds to get another."""
        with self._lock:
            if time.monotonic() >= self._refresh_at:
                try:
                    self._fetch()
                except SaslAuthenticationFailedError:
                    if time.monotonic() >= self._ends_at:
                        raise
            return self._token

    def _fetch(self) -> None:
        asked_at = time.monotonic()
        answer = self._ask()
        token = answer.get("access_token")
        if not isinstance(token, str) or not token:
            raise self._failed("its answer has no access_token")
        lasts_s = answer.get("expires_in", _UNKNOWN_S)
        try:
            lasts = max(float(lasts_s), 0.0)
        except (TypeError, ValueError):
            raise self._failed("its expires_in is no number") from None
        self._token = token
        self._refresh_at = asked_at + lasts * _REFRESH_AT
        self._ends_at = asked_at + lasts

    def _ask(self) -> dict[str, Any]:
        fields = {"grant_type": "client_credentials"}
        if self._scope:
            fields["scope"] = self._scope
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked with the option
            self._url,
            data=urllib.parse.urlencode(fields).encode(),
            headers={
                "Accept": "application/json",
                "Authorization": "Basic " + base64.b64encode(self._client.encode()).decode(),
            },
        )
        try:
            with self._opener.open(request, timeout=_TIMEOUT_S) as reply:
                said = reply.read(_ANSWER_BYTES_MAX)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read(_SHOWN_CHARS * 4).decode("utf-8", "replace")[:_SHOWN_CHARS]
            raise self._failed(f"HTTP {error.code} {error.reason}: {text!r}") from None
        except (OSError, ValueError) as error:  # urllib's and http.client's are among them
            reason = getattr(error, "reason", None) or error
            raise self._failed(str(reason)) from None
        try:
            answer = json.loads(said)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._failed("its answer is no JSON object")
        return answer

    def _failed(self, why: str) -> SaslAuthenticationFailedError:
        return SaslAuthenticationFailedError(f"{self._url} gave no token: {why}")


class _Stay(urllib.request.HTTPRedirectHandler):
    """An answer that sends us elsewhere is an error."""

    def redirect_request(self, *_: Any) -> None:
        """Nowhere."""
