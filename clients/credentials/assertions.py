"""Assertions: JWTs by which a client says who it is, or for whom it wants a token (RFC 7523;
KIP-1139, KIP-1258).

What is said in one comes in three layers, as in Java (LayeredAssertionJwtTemplate): the claims of
options, over them the template file's, over these what only the moment knows. Keys and templates
are read for each assertion, so they may be replaced at any time; the first time is when the client
opens, so that what can never work is known then.

Signing is PyJWT's and cryptography's (the extra `oauth`), loaded where it is wanted.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kcore.clients.credentials.jwt_files import read_jwt, read_text
from kcore.errors import KafkaConfigurationError, SaslAuthenticationFailedError
from kcore.settings.tokens import ASSERTION_FILE, KEY_FILE, KEY_PEM, TEMPLATE_FILE

if TYPE_CHECKING:
    from kcore.clients.credentials.grants import Assertion
    from kcore.settings.client import ClientConfig

_RSA_BITS_MIN: Final = 2_048  # RFC 7518 3.3
_CURVE: Final = "secp256r1"  # of ES256


def assertion_of(settings: ClientConfig) -> Assertion:
    """What gives the assertion of each question. KafkaConfigurationError: it never could.

    It raises SaslAuthenticationFailedError, without what is secret.
    """
    path = settings.sasl_oauthbearer_assertion_file
    if path is not None:
        _now(ASSERTION_FILE, path)
        return lambda: read_jwt(path)
    return Signed(settings)


def _now(option: str, path: str) -> str:
    try:
        return read_text(path)
    except SaslAuthenticationFailedError as error:
        raise KafkaConfigurationError(f"{option}: {error}", option=option) from None


class Signed:
    """Makes and signs assertions by the options of a client. KafkaConfigurationError."""

    def __init__(self, settings: ClientConfig) -> None:
        try:
            import jwt  # noqa: PLC0415 - few sign
            from cryptography.hazmat.primitives import serialization  # noqa: PLC0415
        except ImportError as missing:
            raise KafkaConfigurationError(
                f"{missing.name} is not installed, which signs assertions: "
                "pip install 'kcore[oauth]'",
                option=KEY_FILE,
            ) from missing
        self._encode: Callable[..., str] = jwt.encode
        self._refusals = (TypeError, ValueError, jwt.PyJWTError)
        self._load_key = serialization.load_pem_private_key
        self._settings = settings
        for option, attempt in ((KEY_FILE, self._key), (TEMPLATE_FILE, self._template)):
            try:
                attempt()
            except SaslAuthenticationFailedError as error:
                raise KafkaConfigurationError(f"{option}: {error}", option=option) from None

    def __repr__(self) -> str:
        return f"Signed({self._settings.sasl_oauthbearer_assertion_algorithm!r})"

    def __call__(self) -> str:
        """One for this moment. SaslAuthenticationFailedError."""
        header, claims = self._template()
        settings, now_s = self._settings, int(time.time())
        said = {
            "aud": settings.sasl_oauthbearer_assertion_claim_aud,
            "iss": settings.sasl_oauthbearer_assertion_claim_iss,
            "sub": settings.sasl_oauthbearer_assertion_claim_sub,
        }
        claims = {name: value for name, value in said.items() if value is not None} | claims
        claims |= {
            "iat": now_s,
            "exp": now_s + settings.sasl_oauthbearer_assertion_claim_exp_seconds,
            "nbf": now_s - settings.sasl_oauthbearer_assertion_claim_nbf_seconds,
        }
        if settings.sasl_oauthbearer_assertion_claim_jti_include:
            claims["jti"] = str(uuid.uuid4())
        algorithm = settings.sasl_oauthbearer_assertion_algorithm
        try:
            return self._encode(
                claims, self._key(), algorithm, {**header, "alg": algorithm, "typ": "JWT"}
            )
        except self._refusals as error:  # of what a template brings
            raise _failed(f"it cannot be signed ({type(error).__name__}: {error})") from None

    def _key(self) -> Any:
        """The private key, if it is one for the algorithm."""
        settings = self._settings
        path, text = (
            settings.sasl_oauthbearer_assertion_private_key_file,
            settings.sasl_oauthbearer_assertion_private_key_pem,
        )
        where = KEY_PEM if path is None else path
        pem = (text or "") if path is None else read_text(path)
        passphrase = settings.sasl_oauthbearer_assertion_private_key_passphrase
        try:
            key: Any = self._load_key(pem.encode(), passphrase.encode() if passphrase else None)
        except (TypeError, ValueError) as error:
            # Of TypeErrors there are two: no passphrase for a key that has one, one for a key that
            # has none. What is wrong beyond that is not said: it could be a part of the key.
            why = f": {error}" if isinstance(error, TypeError) else ", or not by this passphrase"
            raise _failed(f"{where} holds no private key in PEM that can be read{why}") from None
        algorithm = settings.sasl_oauthbearer_assertion_algorithm
        if not _suits(key, algorithm):
            wanted = f"an RSA key of {_RSA_BITS_MIN} bits" if algorithm == "RS256" else _CURVE
            raise _failed(f"the key in {where} is not for {algorithm}, which takes {wanted}")
        return key

    def _template(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Header and claims of the template file; empty without one."""
        path = self._settings.sasl_oauthbearer_assertion_template_file
        if path is None:
            return {}, {}
        try:
            found = json.loads(read_text(path))
            header, payload = found.get("header", {}), found.get("payload", {})
        except (ValueError, AttributeError, RecursionError):
            header = payload = None
        if not isinstance(header, dict) or not isinstance(payload, dict):
            raise _failed(f'{path} is no JSON object of a "header" and a "payload", objects each')
        return header, payload


def _suits(key: Any, algorithm: str) -> bool:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa  # noqa: PLC0415 - as above

    if algorithm == "RS256":
        return isinstance(key, rsa.RSAPrivateKey) and bool(key.key_size >= _RSA_BITS_MIN)
    return isinstance(key, ec.EllipticCurvePrivateKey) and bool(key.curve.name == _CURVE)


def _failed(why: str) -> SaslAuthenticationFailedError:
    return SaslAuthenticationFailedError(f"no assertion: {why}")
