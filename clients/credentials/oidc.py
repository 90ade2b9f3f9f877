"""Tokens of an identity provider's endpoint, by whatever OAuth 2 has for that (see grants.py).

A token is kept until four fifths of its time are over. If there is no other one then, it is used
until its end. Who asks while nothing is to be had is told so for a second, without a question: else
each connection that wants a token would wait for the endpoint's silence anew, one after the other,
in the thread that drives or in those of the loop's executor.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from http.client import HTTPException
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from kcore.clients.credentials.grants import Question, secrets_of
from kcore.errors import KafkaConfigurationError, SaslAuthenticationFailedError
from kcore.settings.security import HIDDEN
from kcore.settings.tokens import CAFILE

if TYPE_CHECKING:
    from ssl import SSLContext

_TIMEOUT_S: Final = 10
_ANSWER_BYTES_MAX: Final = 262_144
_PART_BYTES: Final = 65_536
_SHOWN_CHARS: Final = 200
_REFRESH_AT: Final = 0.8
_QUIET_S: Final = 1.0
# A token that says nothing of its time is good for one authentication.
_UNKNOWN_S: Final = 0
_UNTRUSTED: Final = f" ({CAFILE} names authorities that the system does not have)"


class Endpoint:
    """Asks `url` for tokens with what `question` gives for each attempt. May be used by many
    threads. trusting: makes what it is asked with by https; None: the system's.

    SaslAuthenticationFailedError: no token is to be had, and why; what was asked with is not in it.
    """

    def __init__(
        self,
        url: str,
        question: Question,
        extensions: Mapping[str, str] | None = None,
        trusting: Callable[[], SSLContext] | None = None,
    ) -> None:
        self._url = url
        self._trusting = trusting
        self._question = question
        self._extensions = dict(extensions or {})
        self._lock = threading.Lock()
        self._token = ""
        self._lasts_s = 0.0
        self._asked_at = float("-inf"), float("-inf")  # by both clocks
        self._quiet_until = float("-inf")
        self._fault = ""  # why there was none, last
        self._opener = urllib.request.build_opener(_Stay())

    def __repr__(self) -> str:
        return f"Endpoint({self._url!r})"

    def extensions(self) -> Mapping[str, str]:
        """What goes beside each token (KIP-342)."""
        return self._extensions

    def token(self) -> str:
        """One that is good still; it may take ten seconds to get another."""
        with self._lock:
            due = self._age_s() >= self._lasts_s * _REFRESH_AT
            if due and time.monotonic() >= self._quiet_until:
                try:
                    self._fetch()
                except SaslAuthenticationFailedError as error:
                    self._fault = str(error.args[0])
                    self._quiet_until = time.monotonic() + _QUIET_S
            if self._fault and self._age_s() >= self._lasts_s:
                raise SaslAuthenticationFailedError(self._fault)
            return self._token

    def _age_s(self) -> float:
        """How old the token is, by whichever clock says more: one stands still while the machine
        sleeps, the other may be set back.
        """
        monotonic_s, wall_s = self._asked_at
        return max(time.monotonic() - monotonic_s, time.time() - wall_s)

    def _fetch(self) -> None:
        asked_at = time.monotonic(), time.time()
        answer = self._ask()
        token = answer.get("access_token") or answer.get("id_token")  # Java takes either, too
        if not isinstance(token, str) or not token:
            raise self._failed("its answer has no access_token")
        lasts_s = answer.get("expires_in", _UNKNOWN_S)
        try:
            lasts = max(float(lasts_s), 0.0)
        except (TypeError, ValueError, OverflowError):
            lasts = float("nan")
        if not isfinite(lasts):  # what JSON has no word for, Python reads
            raise self._failed("its expires_in is no number")
        self._token, self._fault = token, ""
        self._asked_at, self._lasts_s = asked_at, lasts

    def _ask(self) -> dict[str, Any]:
        headers, fields = self._question()
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked with the option
            self._url,
            data=urllib.parse.urlencode(fields).encode(),
            headers={
                "Accept": "application/json",
                "Cache-Control": "no-cache",
                "Content-Type": "application/x-www-form-urlencoded",
                **headers,
            },
        )
        try:
            until = time.monotonic() + _TIMEOUT_S  # a socket's own time begins anew with each byte
            with self._open()(request, timeout=_TIMEOUT_S) as reply:
                said = b""
                while len(said) < _ANSWER_BYTES_MAX and (part := reply.read1(_PART_BYTES)):
                    said += part
                    if time.monotonic() > until:
                        raise TimeoutError("the rest of its answer does not come")
        except urllib.error.HTTPError as error:
            secrets = secrets_of(headers, fields)
            reason = _shown(error.reason, secrets)
            raise self._failed(
                f"HTTP {error.code} {reason}: {_shown(_body_of(error), secrets)!r}"
            ) from None
        except KafkaConfigurationError as error:
            raise self._failed(str(error.args[0])) from None
        except (OSError, ValueError) as error:  # urllib's are among them
            reason = str(getattr(error, "reason", None) or error)
            words = _shown(reason, secrets_of(headers, fields))
            raise self._failed(words + _UNTRUSTED * ("CERTIFICATE_VERIFY" in reason)) from None
        except HTTPException as error:  # its text may be what the endpoint has said
            raise self._failed(f"its answer is no HTTP ({type(error).__name__})") from None
        try:
            answer = json.loads(said)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise self._failed("its answer is no JSON object")
        return answer

    def _open(self) -> Callable[..., Any]:
        """How it is asked. Without redirection: what goes along with the question is a password."""
        if self._trusting is None:
            return self._opener.open
        tls = urllib.request.HTTPSHandler(context=self._trusting())
        return urllib.request.build_opener(_Stay(), tls).open

    def _failed(self, why: str) -> SaslAuthenticationFailedError:
        return SaslAuthenticationFailedError(f"{self._url} gave no token: {why}")


def _body_of(error: urllib.error.HTTPError) -> str:
    """What an answer says that is a refusal, as far as it can be read."""
    try:
        with error:
            return error.read(_ANSWER_BYTES_MAX).decode("utf-8", "replace")
    except (OSError, HTTPException):
        return ""


def _shown(text: str, secrets: Iterable[str]) -> str:
    """For people: who repeats what it was asked with does not have us say it."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text[:_SHOWN_CHARS]


class _Stay(urllib.request.HTTPRedirectHandler):
    """An answer that sends us elsewhere is an error."""

    def redirect_request(self, *_: Any) -> None:
        """Nowhere."""
