"""Options of Java's client in our client's terms, as far as they can be said so.

`sasl.jaas.config` of the PLAIN and SCRAM modules has a user and a password; PEM stores are files
that OpenSSL reads. Key stores of Java's own kinds have to be turned into PEM first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kcore.pipeline.errors import OptionError

_JAAS = re.compile(
    r"\s*[\w.]+\.(PlainLoginModule|ScramLoginModule)\s+required\s+(.*);\s*", re.DOTALL
)
_JAAS_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s;"']+))""")

_PEM: Final = "only PEM is available (ssl.{}.type=PEM); keytool and openssl turn others into it"
_RENAMED: Final[Mapping[str, str]] = {
    "ssl.truststore.location": "ssl_cafile",
    "ssl.keystore.location": "ssl_certfile",
    "ssl.key.password": "ssl_password",
}


def client_options(kafka: Mapping[str, str]) -> dict[str, Any]:
    """Options of a kcore client; `kafka` has Java's names without the prefix."""
    found: dict[str, Any] = {}
    for name, value in kafka.items():
        if name == "sasl.jaas.config":
            found |= _jaas(value)
        elif name in ("ssl.truststore.type", "ssl.keystore.type"):
            if value.strip().upper() != "PEM":
                raise OptionError(f"kafka.{name}", _PEM.format(name.split(".")[1]))
        elif name in _RENAMED:
            store = name.split(".")[1]
            kind = kafka.get(f"ssl.{store}.type", "JKS" if store != "key" else "PEM")
            if kind.strip().upper() != "PEM":
                raise OptionError(f"kafka.{name}", _PEM.format(store))
            found[_RENAMED[name]] = value
        elif name == "ssl.endpoint.identification.algorithm":
            found["ssl_check_hostname"] = bool(value.strip())
        else:
            found[name.replace(".", "_")] = value
    return found


def _jaas(text: str) -> dict[str, str]:
    match = _JAAS.fullmatch(text)
    option = "kafka.sasl.jaas.config"
    if match is None:
        raise OptionError(
            option,
            "only PlainLoginModule and ScramLoginModule can be read, with `required` and `;`",
        )
    values = {
        item[1]: re.sub(r"\\(.)", r"\1", item[2]) if item[2] is not None else item[3] or item[4]
        for item in _JAAS_OPTION.finditer(match[2])
    }
    for name in ("username", "password"):
        if name not in values:
            raise OptionError(option, f"has no {name}")
    return {
        "sasl_plain_username": values["username"],
        "sasl_plain_password": values["password"],
    }
