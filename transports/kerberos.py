"""The library that Kerberos goes by, and keytabs: what clients and brokers both begin with."""

from __future__ import annotations

import os
from typing import Any, Final

from kcore.errors import KafkaConfigurationError

_KEYTAB_BEGINS: Final = b"\x05"


def load(option: str = "sasl_mechanism") -> Any:
    """The library. KafkaConfigurationError; option: what asks for it."""
    try:
        import gssapi  # noqa: PLC0415 - few have it
    except (ImportError, OSError) as error:  # OSError: no libgssapi_krb5
        raise KafkaConfigurationError(
            "GSSAPI needs the library gssapi: pip install 'kcore[kerberos]' (it is built with "
            f"libkrb5-dev and a C compiler): {error}",
            option=option,
        ) from error
    return gssapi


def checked_keytab(keytab: str) -> str:
    """KafkaConfigurationError: it cannot be read, or is something else."""
    option = "sasl_kerberos_keytab"
    try:
        with open(keytab, "rb") as file:
            begins = file.read(1)
    except OSError as error:
        why = f"{option}={keytab!r} cannot be read: {error.strerror or error}"
        raise KafkaConfigurationError(why, option=option) from error
    if begins != _KEYTAB_BEGINS:
        raise KafkaConfigurationError(f"{option}={keytab!r} is no keytab", option=option)
    return os.path.abspath(keytab)
