"""Options of SASL/OAUTHBEARER against each other: where tokens come from, and what that takes.

    a provider of the user's
    a file                        FileJwtRetriever, or DefaultJwtRetriever with a file: address
    an endpoint, by a secret      DefaultJwtRetriever, ClientCredentialsJwtRetriever (KIP-768)
    an endpoint, by an assertion  the same two, in place of the secret (KIP-1258)
    an endpoint, for an assertion JwtBearerJwtRetriever (KIP-1139)

What one of them has no use for is an error, as elsewhere. Source: SaslConfigs, JwtRetriever and
ClientCredentialsRequestFormatterFactory of Kafka 4.3; librdkafka's sasl.oauthbearer.grant.type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kcore.enums import Enum
from kcore.hints import Any, Final

PROVIDER: Final = "sasl_oauth_token_provider"
ENDPOINT: Final = "sasl_oauthbearer_token_endpoint_url"
RETRIEVER: Final = "sasl_oauthbearer_jwt_retriever_class"
_CLIENT_ID: Final = "sasl_oauthbearer_client_credentials_client_id"
_CLIENT_SECRET: Final = "sasl_oauthbearer_client_credentials_client_secret"  # noqa: S105 - a name
_SCOPE: Final = "sasl_oauthbearer_scope"
_URLENCODE: Final = "sasl_oauthbearer_header_urlencode"
CAFILE: Final = "sasl_oauthbearer_ssl_cafile"
CADATA: Final = "sasl_oauthbearer_ssl_cadata"
_ASSERTION: Final = "sasl_oauthbearer_assertion_"
ASSERTION_FILE: Final = f"{_ASSERTION}file"
TEMPLATE_FILE: Final = f"{_ASSERTION}template_file"
KEY_FILE: Final = f"{_ASSERTION}private_key_file"
KEY_PEM: Final = f"{_ASSERTION}private_key_pem"
KEY_PASSPHRASE: Final = f"{_ASSERTION}private_key_passphrase"
_SIGNED_DEFAULTS: Final[Mapping[str, object]] = {
    KEY_FILE: None,
    KEY_PEM: None,
    KEY_PASSPHRASE: None,
    TEMPLATE_FILE: None,
    f"{_ASSERTION}algorithm": "RS256",
    f"{_ASSERTION}claim_aud": None,
    f"{_ASSERTION}claim_exp_seconds": 300,
    f"{_ASSERTION}claim_iss": None,
    f"{_ASSERTION}claim_jti_include": False,
    f"{_ASSERTION}claim_nbf_seconds": 60,
    f"{_ASSERTION}claim_sub": None,
}
_ASSERTED_DEFAULTS: Final[Mapping[str, object]] = {ASSERTION_FILE: None, **_SIGNED_DEFAULTS}
ALGORITHMS: Final = ("RS256", "ES256")

OAUTH_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
DEFAULT: Final = "DefaultJwtRetriever"
_OF_CREDENTIALS: Final = "ClientCredentialsJwtRetriever"
_OF_BEARER: Final = "JwtBearerJwtRetriever"
_OF_FILE: Final = "FileJwtRetriever"
# Java's classes, by their last words, and librdkafka's words for what those do.
RETRIEVERS: Final[Mapping[str, str]] = {
    **{name: name for name in (DEFAULT, _OF_CREDENTIALS, _OF_BEARER, _OF_FILE)},
    "client_credentials": _OF_CREDENTIALS,
    "urn:ietf:params:oauth:grant-type:jwt-bearer": _OF_BEARER,
}
TOKEN_SECRETS: Final = (_CLIENT_SECRET, KEY_PEM, KEY_PASSPHRASE)
TOKEN_DEFAULTS: Final[Mapping[str, object]] = {
    PROVIDER: None,
    ENDPOINT: None,
    RETRIEVER: DEFAULT,
    _CLIENT_ID: None,
    _CLIENT_SECRET: None,
    _SCOPE: None,
    "sasl_oauthbearer_extensions": {},
    _URLENCODE: False,
    CAFILE: None,
    CADATA: None,
    **_ASSERTED_DEFAULTS,
}


class Source(Enum):
    """Where tokens come from, and what that is called in errors."""

    PROVIDER = PROVIDER
    FILE = "a file with a token"
    SECRET = "an endpoint asked with a client's secret"  # noqa: S105 - no secret
    CLIENT_ASSERTION = "an endpoint asked with an assertion in place of a secret"
    BEARER_ASSERTION = "JwtBearerJwtRetriever"


_BY_FILE: Final = frozenset({ENDPOINT, RETRIEVER, "sasl_oauthbearer_extensions"})
_BY_ASSERTION: Final = _BY_FILE | {_SCOPE, CAFILE, CADATA} | _ASSERTED_DEFAULTS.keys()
_USED: Final[Mapping[Source, frozenset[str]]] = {
    Source.PROVIDER: frozenset({PROVIDER}),
    Source.FILE: _BY_FILE,
    Source.SECRET: _BY_FILE | {_SCOPE, CAFILE, CADATA, _CLIENT_ID, _CLIENT_SECRET, _URLENCODE},
    Source.CLIENT_ASSERTION: _BY_ASSERTION | {_CLIENT_ID},
    Source.BEARER_ASSERTION: _BY_ASSERTION,
}


def source_of(config: Any) -> Source:
    """Where the tokens of a ClientConfig come from."""
    if config.sasl_oauth_token_provider is not None:
        return Source.PROVIDER
    if config.sasl_oauthbearer_jwt_retriever_class == _OF_BEARER:
        return Source.BEARER_ASSERTION
    if config.sasl_oauthbearer_jwt_retriever_class == _OF_FILE or (
        config.sasl_oauthbearer_jwt_retriever_class == DEFAULT
        and _is_file(config.sasl_oauthbearer_token_endpoint_url)
    ):
        return Source.FILE
    if any(getattr(config, name) != default for name, default in _ASSERTED_DEFAULTS.items()):
        return Source.CLIENT_ASSERTION
    return Source.SECRET


def token_contradictions(config: Any, given: list[str]) -> Iterator[tuple[str, str]]:
    """(option, what is wrong). given: the options that are not as they are by default."""
    source = source_of(config)
    if source is not Source.PROVIDER and ENDPOINT not in given:
        yield PROVIDER, f"OAUTHBEARER needs {PROVIDER}, or {ENDPOINT} to ask for tokens"
        return
    for name in given:
        if name in TOKEN_DEFAULTS and name not in _USED[source]:
            yield name, f"{name} and {source.value}: one of them gets the tokens"
    if source is not Source.PROVIDER:
        yield from _of_address(source, config.sasl_oauthbearer_token_endpoint_url)
    if source is Source.SECRET:
        for name in (_CLIENT_ID, _CLIENT_SECRET):
            if name not in given:
                yield name, f"{ENDPOINT} needs {name}"
    elif source in {Source.CLIENT_ASSERTION, Source.BEARER_ASSERTION}:
        yield from _of_assertion(given)


def _of_address(source: Source, url: str) -> Iterator[tuple[str, str]]:
    """A file is read, and an endpoint is asked."""
    if source is Source.FILE and not _is_file(url):
        yield ENDPOINT, f"{RETRIEVER}={_OF_FILE} reads file:///path, not {ENDPOINT}={url!r}"
    if source is not Source.FILE and _is_file(url):
        yield ENDPOINT, f"{ENDPOINT}={url!r} is a file, which {DEFAULT} and {_OF_FILE} read"


def _of_assertion(given: list[str]) -> Iterator[tuple[str, str]]:
    """It is in a file, or made and signed here."""
    if ASSERTION_FILE in given:
        for name in given:
            if name in _SIGNED_DEFAULTS:
                yield name, f"{name} and {ASSERTION_FILE}: the file is the whole assertion"
    elif KEY_FILE in given and KEY_PEM in given:
        yield KEY_PEM, f"{KEY_PEM} and {KEY_FILE}: one of them says it"
    elif KEY_FILE not in given and KEY_PEM not in given:
        yield KEY_FILE, f"an assertion needs {KEY_FILE} to sign it, or {ASSERTION_FILE}"


def _is_file(url: str | None) -> bool:
    return url is not None and url.startswith("file:")
