"""What an identity provider is asked for a token with: headers of the request, and its form.

by_secret            a client's id and secret (RFC 6749 4.4; KIP-768)
by_client_assertion  an assertion in the secret's place (RFC 7523 2.2; KIP-1258)
by_bearer_assertion  an assertion that is exchanged for a token (RFC 7523 2.1; KIP-1139)
"""

from __future__ import annotations

import base64
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Final

Question = Callable[[], tuple[dict[str, str], dict[str, str]]]
Assertion = Callable[[], str]

_BASIC: Final = "Basic "
_ASSERTION_TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_BEARER_GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def by_secret(client_id: str, secret: str, scope: str | None, *, urlencode: bool) -> Question:
    """urlencode: id and secret are encoded as a form's before they are put together, as RFC 6749
    2.3.1 has it and few providers want it (KIP-1025).
    """
    if urlencode:
        client_id, secret = _as_java(client_id), _as_java(secret)
    login = _BASIC + base64.b64encode(f"{client_id}:{secret}".encode()).decode()

    def question() -> tuple[dict[str, str], dict[str, str]]:
        fields = {"grant_type": "client_credentials", **_scoped(scope)}
        return {"Authorization": login}, fields

    return question


def by_client_assertion(client_id: str | None, assertion: Assertion, scope: str | None) -> Question:
    """client_id: for who wants it beside the assertion, which says it, too."""

    def question() -> tuple[dict[str, str], dict[str, str]]:
        fields = {
            "client_assertion_type": _ASSERTION_TYPE,
            "client_assertion": assertion(),
            "grant_type": "client_credentials",
        }
        if client_id:
            fields["client_id"] = client_id
        return {}, {**fields, **_scoped(scope)}

    return question


def by_bearer_assertion(assertion: Assertion, scope: str | None) -> Question:
    """The assertion says who is to have the token."""

    def question() -> tuple[dict[str, str], dict[str, str]]:
        return {}, {"grant_type": _BEARER_GRANT, "assertion": assertion(), **_scoped(scope)}

    return question


def secrets_of(headers: Mapping[str, str], fields: Mapping[str, str]) -> list[str]:
    """What nobody is to see of a question."""
    found = [fields[name] for name in ("client_assertion", "assertion") if name in fields]
    login = headers.get("Authorization", "").removeprefix(_BASIC)
    if login:
        secret = base64.b64decode(login).decode().partition(":")[2]
        found += [login, secret, urllib.parse.unquote_plus(secret)]
    return [one for one in found if one]


def _scoped(scope: str | None) -> dict[str, str]:
    scope = (scope or "").strip()
    return {"scope": scope} if scope else {}


def _as_java(text: str) -> str:
    """As Java's URLEncoder, which keeps * and no ~."""
    return urllib.parse.quote_plus(text, safe="*").replace("~", "%7E")
