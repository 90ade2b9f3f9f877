"""Options of Java's client in our client's terms, as far as they can be said so.

`sasl.jaas.config` of the PLAIN and SCRAM modules has a user and a password, or a delegation token's
(`tokenauth`), that of OAUTHBEARER who asks for tokens, that of Kerberos whose keytab it is; PEM
stores are files that OpenSSL reads, or
texts. Key stores of Java's own kinds have to be turned into PEM first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kcore.pipeline.errors import OptionError
from kcore.pipeline.jaas import JaasError, read_jaas

_MODULES: Final = ("Plain", "Scram", "OAuthBearer", "Krb5")
_LOGIN_MODULE: Final = "LoginModule"

_OPTION: Final = "kafka.sasl.jaas.config"
_CLIENT_CREDENTIALS: Final[Mapping[str, str]] = {
    "clientId": "sasl_oauthbearer_client_credentials_client_id",
    "clientSecret": "sasl_oauthbearer_client_credentials_client_secret",
    "scope": "sasl_oauthbearer_scope",
}
_EXTENSION: Final = "extension_"
_KERBEROS: Final[Mapping[str, str]] = {
    "keyTab": "sasl_kerberos_keytab",
    "principal": "sasl_kerberos_principal",
    "serviceName": "sasl_kerberos_service_name",
}
_BY_KEYTAB, _BY_CACHE = "useKeyTab", "useTicketCache"
# The rest is said to a JVM's own keeping of tickets.
_KERBEROS_TRUTHS: Final = (
    _BY_KEYTAB,
    _BY_CACHE,
    "storeKey",
    "doNotPrompt",
    "refreshKrb5Config",
    "debug",
)
# What has to be said, if anything, and why.
_NOT_IN_KERBEROS: Final[Mapping[str, tuple[str, str]]] = {
    "ticketCache": ("", "set KRB5CCNAME where the driver and the executors run"),
    "renewTGT": ("false", "a ticket cache is renewed by whoever made it (kinit -R, k5start)"),
    "isInitiator": ("true", "a client is the one that begins"),
}
# What asks an endpoint in Java; here nothing else does.
_CALLBACK_HANDLERS: Final = ("OAuthBearerLoginCallbackHandler",)
_PEM: Final = "only PEM is available (ssl.{}.type=PEM); keytool and openssl turn others into it"
_RENAMED: Final[Mapping[str, str]] = {
    "ssl.truststore.location": "ssl_cafile",
    "ssl.keystore.location": "ssl_certfile",
    "ssl.key.password": "ssl_password",
    "ssl.truststore.certificates": "ssl_cadata",
    "ssl.keystore.certificate.chain": "ssl_certdata",
    "ssl.keystore.key": "ssl_keydata",
}


def client_options(kafka: Mapping[str, str]) -> dict[str, Any]:
    """Options of a kcore client; `kafka` has Java's names without the prefix."""
    found: dict[str, Any] = {}
    for name, value in kafka.items():
        if name == "sasl.jaas.config":
            found |= _jaas(value)
            _check_service(found, kafka)
        elif name == "sasl.login.callback.handler.class":
            if value.strip().rpartition(".")[2] not in _CALLBACK_HANDLERS:
                raise OptionError(
                    f"kafka.{name}",
                    "is a class of Java; kafka.sasl.oauth.token.provider names one of Python, as "
                    "module:Name, with a method token()",
                )
        elif name in ("ssl.truststore.type", "ssl.keystore.type"):
            if value.strip().upper() != "PEM":
                raise OptionError(f"kafka.{name}", _PEM.format(name.split(".")[1]))
        elif name in _RENAMED:
            store = name.split(".")[1]
            implied = "JKS" if name.endswith(".location") else "PEM"
            kind = kafka.get(f"ssl.{store}.type", implied)
            if kind.strip().upper() != "PEM":
                raise OptionError(f"kafka.{name}", _PEM.format(store))
            found[_RENAMED[name]] = value
        elif name == "ssl.endpoint.identification.algorithm":
            found["ssl_check_hostname"] = bool(value.strip())
        else:
            found[name.replace(".", "_")] = value
    return found


def _jaas(text: str) -> dict[str, Any]:
    try:
        login = read_jaas(text)
    except JaasError as error:
        raise OptionError(_OPTION, str(error)) from None
    name = login.module.rpartition(".")[2]
    module, values = name.removesuffix(_LOGIN_MODULE), login.options
    if module not in _MODULES or module == name:
        known = [each + _LOGIN_MODULE for each in _MODULES]
        raise OptionError(
            _OPTION, f"only {', '.join(known[:-1])} and {known[-1]} can be read, not {name}"
        )
    if module == "OAuthBearer":
        return _of_tokens(values)
    if module == "Krb5":
        return _of_kerberos(values)
    for name in ("username", "password"):
        if name not in values:
            raise OptionError(_OPTION, f"has no {name}")
    found: dict[str, Any] = {
        "sasl_plain_username": values["username"],
        "sasl_plain_password": values["password"],
    }
    # Java reads it in this module alone, and takes all but "true" for false.
    if module == "Scram" and values.get("tokenauth", "").lower() == "true":
        found["sasl_delegation_token"] = True
    return found


def _of_tokens(values: Mapping[str, str]) -> dict[str, str]:
    """What Java's OAuthBearerLoginModule takes where it asks an endpoint (KIP-768). It may be
    empty, with all of that in options of their own (KIP-1139).
    """
    found: dict[str, str] = {}
    extensions: list[str] = []
    for name, value in values.items():
        if name in _CLIENT_CREDENTIALS:
            found[_CLIENT_CREDENTIALS[name]] = value
        elif name.startswith(_EXTENSION):
            extensions.append(f"{name.removeprefix(_EXTENSION)}={value}")
        else:
            raise OptionError(
                _OPTION,
                f"{name} is not known: an OAuthBearerLoginModule has clientId, clientSecret, scope "
                "and extension_NAME here",
            )
    if extensions:
        found["sasl_oauthbearer_extensions"] = ",".join(extensions)
    return found


def _of_kerberos(values: Mapping[str, str]) -> dict[str, str]:
    """What Java's Krb5LoginModule takes: a keytab, which is asked first here, or a ticket cache."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if name in _KERBEROS:
            found[_KERBEROS[name]] = value
        elif name in _KERBEROS_TRUTHS:
            if value.lower() not in {"true", "false"}:
                raise OptionError(_OPTION, f"{name} must be true or false")
        elif name not in _NOT_IN_KERBEROS:
            raise OptionError(
                _OPTION,
                f"{name} is not known: a Krb5LoginModule has {_BY_KEYTAB}, {_BY_CACHE} and "
                f"{', '.join(_KERBEROS)} here",
            )
        elif value.lower() != _NOT_IN_KERBEROS[name][0]:
            raise OptionError(_OPTION, f"{name} is not available: {_NOT_IN_KERBEROS[name][1]}")
    by = {name for name in (_BY_KEYTAB, _BY_CACHE) if values.get(name, "").lower() == "true"}
    if not by:
        raise OptionError(_OPTION, f"tickets come by {_BY_KEYTAB}=true or {_BY_CACHE}=true")
    if _BY_KEYTAB not in by:  # Java reads no keytab then, either
        found.pop(_KERBEROS["keyTab"], None)
    elif "keyTab" not in values:
        raise OptionError(_OPTION, f"{_BY_KEYTAB}=true needs keyTab")
    return found


def _check_service(found: Mapping[str, str], kafka: Mapping[str, str]) -> None:
    """Java refuses two names of the service, too."""
    option = "sasl.kerberos.service.name"
    in_jaas = found.get("sasl_kerberos_service_name")
    if in_jaas is not None and kafka.get(option, in_jaas) != in_jaas:
        raise OptionError(f"kafka.{option}", "kafka.sasl.jaas.config has another serviceName")
