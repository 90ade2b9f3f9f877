"""bootstrap_servers: host[:port] entries, as a list or as one string with commas."""

from __future__ import annotations

import re

from kcore.errors import KafkaConfigurationError
from kcore.hints import Final

DEFAULT_PORT: Final = 9092
# What client_dns_lookup may be (KIP-302, KIP-235).
ALL_ADDRESSES: Final = "use_all_dns_ips"
CANONICAL_NAMES: Final = "resolve_canonical_bootstrap_servers_only"

# [v6]:port and [v6]; scheme-like prefixes are refused by the host rule below.
_BRACKETED = r"\[([0-9A-Fa-f:.]+(?:%[\w.-]+)?)\](?::(.*))?"
# Letters of any script (the resolver decides about names), digits, dots, dashes, underscores.
_HOST = r"[^\W_][\w.-]*"
_HOST_CHARS_MAX = 255


def parse_servers(option: str, value: object) -> tuple[tuple[str, int], ...]:
    """((host, port), ...) in the order given, each once.

    KafkaConfigurationError names the entry that cannot be read.
    """
    if isinstance(value, str):
        entries: list[object] = list(value.split(","))
    elif isinstance(value, (list, tuple, set, frozenset)):
        entries = [part for entry in value for part in _split(entry)]
    else:
        raise KafkaConfigurationError(
            f"{option}={value!r}: must be 'host:port' or a list of them", option=option
        )
    # Java drops what is between two commas, too.
    given = [entry for entry in entries if not isinstance(entry, str) or entry.strip()]
    found = [parse_address(option, entry) for entry in given]
    if not found:
        raise KafkaConfigurationError(
            f"{option}={value!r} is empty: name at least one broker, as host:port", option=option
        )
    return tuple(dict.fromkeys(found))


def format_server(host: str, port: int) -> str:
    """host:port, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _split(entry: object) -> list[object]:
    return list(entry.split(",")) if isinstance(entry, str) else [entry]


def parse_address(
    option: str, entry: object, default_port: int | None = DEFAULT_PORT
) -> tuple[str, int]:
    """One (host, port). default_port: if there is none; None: there has to be one.

    KafkaConfigurationError shows the entry.
    """
    if isinstance(entry, tuple) and len(entry) == 2:
        host, port = entry
        text = f"{host}:{port}" if ":" not in str(host) else f"[{host}]:{port}"
    elif isinstance(entry, str):
        text = entry.strip()
    else:
        raise _bad(option, entry, "must be a string")
    # Kafka's own listener notation in front of an address is a common slip, and harmless.
    scheme, separator, rest = text.partition("://")
    if separator:
        if scheme.upper() != "PLAINTEXT":
            raise _bad(option, entry, "must be host:port, without a scheme")
        text = rest
    bracketed = re.fullmatch(_BRACKETED, text) if text.startswith("[") else None
    if bracketed is not None:
        return bracketed[1], _port(option, entry, bracketed[2], default_port)
    if text.count(":") > 1:
        raise _bad(option, entry, "an IPv6 address needs brackets: [::1]:9092")
    host, separator, port_text = text.partition(":")
    if re.fullmatch(_HOST, host) is None or len(host) > _HOST_CHARS_MAX:
        raise _bad(option, entry, "the host is not a name or an address")
    return host, _port(option, entry, port_text if separator else None, default_port)


def _port(option: str, entry: object, text: str | None, default: int | None) -> int:
    if text is None and default is not None:
        return default
    if text is None or not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= 65535:
        raise _bad(option, entry, "the port must be between 1 and 65535")
    return int(text)


def _bad(option: str, entry: object, why: str) -> KafkaConfigurationError:
    if isinstance(entry, str) and "@" in entry:  # as in URLs, and errors are logged
        from kcore.settings.security import HIDDEN  # noqa: PLC0415 - not for a start

        entry = re.sub(r"^(.*?://)?.*@", rf"\1{HIDDEN}@", entry, flags=re.DOTALL)
    return KafkaConfigurationError(f"{option}: entry {entry!r}: {why}", option=option)
