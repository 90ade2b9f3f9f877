"""Names of Java's clients that have no counterpart here: their defaults, which change nothing, and
what to give in place of anything else.

Source: ConsumerConfig, ProducerConfig, CommonClientConfigs, SslConfigs and SaslConfigs of Kafka 4.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcore.hints import Final
from kcore.settings.tokens import OAUTH_PACKAGE

Foreign = Mapping[str, tuple[object, str]]
"""By name, with underscores: the default, and what to do."""

OF_THE_JVM: Final = "it is an option of the JVM"
_CERTIFICATE: Final = (
    "give ssl_certfile and ssl_keyfile (PEM; `openssl pkcs12 -in FILE -nodes -out client.pem` makes"
    " one of a PKCS12 store that is both)"
)
_AUTHORITIES: Final = (
    "give ssl_cafile (PEM; `keytool -list -rfc -keystore FILE > ca.pem` makes one of a store)"
)
_STORES_ARE_PEM: Final = "PEM files have none of their own"
_VERSIONS: Final = "it is for OpenSSL to say (openssl.cnf), or for an ssl_context"
_CLASS: Final = "it is a class of Java; sasl_oauth_token_provider takes an object of Python"
_TICKETS: Final = (
    "the Kerberos library gets tickets, and new ones in time, from a sasl_kerberos_keytab; those "
    "of a ticket cache are renewed by whoever made it (kinit, k5start)"
)
_TOKENS_IN_TIME: Final = "when tokens are asked for, and for how long, is not an option"
_TOKENS_JUDGED: Final = "tokens are not looked into: brokers judge them"
_INTERNAL: Final = "it is internal to Java's client"

COMMON: Final[Foreign] = {
    "bootstrap_resolve_timeout_ms": (0, "give bootstrap_timeout_ms"),
    "ssl_protocol": ("TLSv1.3", _VERSIONS),
    "ssl_enabled_protocols": ("TLSv1.2,TLSv1.3", _VERSIONS),
    "ssl_provider": (None, OF_THE_JVM),
    "ssl_cipher_suites": (None, "give ssl_ciphers, in OpenSSL's names"),
    "ssl_keystore_type": ("PEM", _CERTIFICATE),
    "ssl_keystore_location": (None, _CERTIFICATE),
    "ssl_keystore_password": (None, f"{_STORES_ARE_PEM}: {_CERTIFICATE}, and ssl_password"),
    "ssl_truststore_type": ("PEM", _AUTHORITIES),
    "ssl_truststore_location": (None, _AUTHORITIES),
    "ssl_truststore_password": (None, f"{_STORES_ARE_PEM}: {_AUTHORITIES}"),
    "ssl_keymanager_algorithm": ("SunX509", OF_THE_JVM),
    "ssl_trustmanager_algorithm": ("PKIX", OF_THE_JVM),
    "ssl_endpoint_identification_algorithm": ("https", "give ssl_check_hostname"),
    "ssl_secure_random_implementation": (None, OF_THE_JVM),
    "ssl_engine_factory_class": (None, "it is a class of Java; give an ssl_context"),
    "sasl_jaas_config": (
        None,
        "give sasl_plain_username and sasl_plain_password, or sasl_kerberos_keytab",
    ),
    "sasl_client_callback_handler_class": (None, _CLASS),
    "sasl_login_callback_handler_class": (None, _CLASS),
    "sasl_login_class": (None, _CLASS),
    "sasl_kerberos_kinit_cmd": ("/usr/bin/kinit", _TICKETS),
    "sasl_kerberos_ticket_renew_window_factor": (0.8, _TICKETS),
    "sasl_kerberos_ticket_renew_jitter": (0.05, _TICKETS),
    "sasl_kerberos_min_time_before_relogin": (60_000, _TICKETS),
    "sasl_login_refresh_window_factor": (0.8, _TOKENS_IN_TIME),
    "sasl_login_refresh_window_jitter": (0.05, _TOKENS_IN_TIME),
    "sasl_login_refresh_min_period_seconds": (60, _TOKENS_IN_TIME),
    "sasl_login_refresh_buffer_seconds": (300, _TOKENS_IN_TIME),
    "sasl_login_connect_timeout_ms": (None, _TOKENS_IN_TIME),
    "sasl_login_read_timeout_ms": (None, _TOKENS_IN_TIME),
    "sasl_login_retry_backoff_ms": (100, _TOKENS_IN_TIME),
    "sasl_login_retry_backoff_max_ms": (10_000, _TOKENS_IN_TIME),
    "sasl_oauthbearer_scope_claim_name": ("scope", _TOKENS_JUDGED),
    "sasl_oauthbearer_sub_claim_name": ("sub", _TOKENS_JUDGED),
    "sasl_oauthbearer_jwks_endpoint_url": (None, _TOKENS_JUDGED),
    "sasl_oauthbearer_jwks_endpoint_refresh_ms": (3_600_000, _TOKENS_JUDGED),
    "sasl_oauthbearer_jwks_endpoint_retry_backoff_ms": (100, _TOKENS_JUDGED),
    "sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms": (10_000, _TOKENS_JUDGED),
    "sasl_oauthbearer_clock_skew_seconds": (30, _TOKENS_JUDGED),
    "sasl_oauthbearer_expected_audience": (None, _TOKENS_JUDGED),
    "sasl_oauthbearer_expected_issuer": (None, _TOKENS_JUDGED),
    "sasl_oauthbearer_allow_unverified_audience": (False, _TOKENS_JUDGED),
    "sasl_oauthbearer_allow_unverified_issuer": (False, _TOKENS_JUDGED),
    "sasl_oauthbearer_jwt_validator_class": (f"{OAUTH_PACKAGE}.DefaultJwtValidator", _CLASS),
}
CONSUMER: Final[Foreign] = {
    **COMMON,
    "internal_leave_group_on_close": (True, _INTERNAL),
    "internal_throw_on_fetch_stable_offset_unsupported": (False, _INTERNAL),
    "share_acknowledgement_mode": ("implicit", "it is an option of ShareConsumer"),
    "share_acquire_mode": ("batch_optimized", "it is an option of ShareConsumer"),
}


def is_default(value: object, default: object) -> bool:
    """Whether it is the default, maybe as text, or in a list."""
    if isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    if default is None or isinstance(value, bool) or not isinstance(value, str):
        return value == default or (default is None and value == "")
    said = "".join(value.split())
    if isinstance(default, bool):
        return said.lower() == str(default).lower()
    if isinstance(default, float):
        return said.replace(".", "", 1).isdigit() and float(said) == default
    return said == str(default)
