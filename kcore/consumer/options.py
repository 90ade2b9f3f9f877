"""Options one by one: how each value is read, checked and converted, and what each name may be.

A parser takes the option's name and the value given, and returns the value kept; it raises
KafkaConfigurationError. Strings are converted where a number or a truth value is meant, because a
mapping with Java's dotted names often comes from a properties file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from enum import Enum
from math import isnan
from typing import Final

from kcore.connection.sasl import MECHANISMS
from kcore.consumer.addresses import parse_servers
from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_INT32, MAX_NAME_CHARS, MAX_STRING_BYTES, MAX_TIMEOUT_MS

Parser = Callable[[str, object], object]

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def refuse(option: str, value: object, wanted: str) -> KafkaConfigurationError:
    """The error for a value that the option cannot have."""
    return KafkaConfigurationError(f"{option}={value!r}: must be {wanted}", option=option)


# Parsers -----------------------------------------------------------------------------------------


def integer(minimum: int, maximum: int = MAX_INT32) -> Parser:
    """A whole number within both bounds; also as a string, or as a float without a fraction."""

    def parse(option: str, value: object) -> int:
        number: object = value
        if isinstance(value, str):
            try:
                number = int(value.strip())
            except ValueError:
                number = None
        elif isinstance(value, float) and value.is_integer():
            number = int(value)
        if not isinstance(number, int) or isinstance(number, bool):
            raise refuse(option, value, "a whole number")
        if not minimum <= number <= maximum:
            raise refuse(option, value, f"between {minimum} and {maximum}")
        return number

    return parse


def optional(parse_value: Parser) -> Parser:
    """None, or what `parse_value` takes."""

    def parse(option: str, value: object) -> object:
        return None if value is None else parse_value(option, value)

    return parse


def truth(option: str, value: object) -> bool:
    """True or False; also as a string."""
    found = _TRUTH.get(value.strip().lower()) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise refuse(option, value, "True or False")
    return found


def text(option: str, value: object) -> str:
    """A string that fits the wire."""
    if not isinstance(value, str):
        raise refuse(option, value, "a string")
    if len(value.encode("utf-8", "replace")) > MAX_STRING_BYTES:
        raise refuse(option, f"{value[:40]}...", f"at most {MAX_STRING_BYTES} bytes long")
    return value


def group_id(option: str, value: object) -> str:
    """Any string but the empty one: Kafka sets no other rule."""
    name = text(option, value)
    if not name.strip():
        raise refuse(option, value, "a name, or None for no group")
    return name


def instance_id(option: str, value: object) -> str:
    """What Kafka allows as a static member's id: the rules of topic names (KIP-345)."""
    name = text(option, value)
    if not is_legal_name(name):
        raise refuse(
            option,
            value,
            f"1 to {MAX_NAME_CHARS} of the characters a-z A-Z 0-9 . _ -, and neither '.' nor '..'",
        )
    return name


def is_legal_name(name: str) -> bool:
    """Whether Kafka takes `name` for a topic (or a static member)."""
    return (
        len(name) <= MAX_NAME_CHARS
        and _LEGAL_NAME.fullmatch(name) is not None
        and name not in {".", ".."}
    )


def choice(*values: str, aliases: Mapping[str, str] | None = None) -> Parser:
    """One of the strings, in any case; an enum member counts by its name."""
    known = {value.lower(): value for value in values} | dict(aliases or {})

    def parse(option: str, value: object) -> str:
        name = value.name if isinstance(value, Enum) else value
        found = known.get(name.strip().lower()) if isinstance(name, str) else None
        if found is None:
            raise refuse(option, value, "one of " + ", ".join(repr(one) for one in values))
        return found

    return parse


def wait_ms(option: str, value: object) -> float:
    """Milliseconds, whole or not; infinity and negative numbers mean for ever."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) else float("nan")
    except ValueError:
        number = float("nan")
    if isinstance(value, bool) or isnan(number):
        raise refuse(option, value, "a number of milliseconds")
    return float("inf") if number < 0 or number > MAX_TIMEOUT_MS else number


def callback(option: str, value: object) -> object:
    """Something that can be called."""
    if not callable(value):
        raise refuse(option, value, "a callable")
    return value


def deserializer(option: str, value: object) -> object:
    """A callable of the bytes, or an object with `deserialize(topic, headers, data)`."""
    if isinstance(value, type):
        raise refuse(option, value, "an instance or a function, not a class")
    if not callable(value) and not callable(getattr(value, "deserialize", None)):
        raise refuse(option, value, "a callable, or an object with deserialize()")
    return value


def servers(option: str, value: object) -> tuple[tuple[str, int], ...]:
    """Addresses: a list, or one string with commas."""
    return parse_servers(option, value)


def version(option: str, value: object) -> tuple[int, ...] | None:
    """A broker release as a tuple, (4, 3), or a string, "4.3"; None or "auto": find it out."""
    if value is None or value == "auto":
        return None
    parts: Iterable[object] = value.split(".") if isinstance(value, str) else ()
    if isinstance(value, (tuple, list)):
        parts = value
    numbers = tuple(
        int(part) if isinstance(part, str) and part.isdigit() else part for part in parts
    )
    whole = tuple(part for part in numbers if isinstance(part, int) and part >= 0)
    if not 1 <= len(whole) <= 4 or len(whole) != len(numbers):
        raise refuse(option, value, "a release such as (4, 3), or None to find it out")
    return whole


def socket_options(option: str, value: object) -> tuple[tuple[int, int, int | bytes], ...]:
    """A list of (level, name, value) for setsockopt."""
    if not isinstance(value, (list, tuple)):
        raise refuse(option, value, "a list of (level, name, value)")
    for entry in value:
        if not isinstance(entry, (list, tuple)) or len(entry) != 3:
            raise refuse(option, entry, "made of (level, name, value)")
    return tuple((level, name, setting) for level, name, setting in value)


_JAVA_ASSIGNORS: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}


def assignors(option: str, value: object) -> tuple[str, ...]:
    """Names in order of preference; also kafka-python's classes and Java's class names."""
    entries = value.split(",") if isinstance(value, str) else value
    if not isinstance(entries, (list, tuple)):
        entries = [entries]
    names: list[str] = []
    for entry in entries:
        name = entry.strip() if isinstance(entry, str) else getattr(entry, "name", None)
        if not isinstance(name, str) or not name:
            raise refuse(option, entry, "the name of an assignor, such as 'range'")
        names.append(_JAVA_ASSIGNORS.get(name.rpartition(".")[2], name))
    if not names or len(set(names)) != len(names):
        raise refuse(option, value, "a list of one or more assignors, each named once")
    return tuple(names)


def transport(option: str, value: object) -> object:
    """A driver's name or a driver; `kcore.transports` says which names there are."""
    if value is None or isinstance(value, (int, float)) or value == "":
        raise refuse(option, value, "'blocking', 'selectors', 'gevent' or a transport")
    return value


# Security ---------------------------------------------------------------------------------------


def path(option: str, value: object) -> str:
    """The name of a file; whether it is there is seen when it is read."""
    if not isinstance(value, str) and hasattr(value, "__fspath__"):
        value = value.__fspath__()
    if not isinstance(value, str) or not value:
        raise refuse(option, value, "the name of a PEM file")
    return value


def username(option: str, value: object) -> str:
    """A name that SASL can carry."""
    if not _is_sasl_text(value) or not value:
        raise refuse(option, value, "a string, not empty and without NUL")
    return str(value)


def password(option: str, value: object) -> str:
    """Like a name; the error does not say it."""
    if not _is_sasl_text(value):
        raise KafkaConfigurationError(f"{option}: must be a string without NUL", option=option)
    return str(value)


def _is_sasl_text(value: object) -> bool:
    # NUL separates the parts of PLAIN; a lone surrogate has no UTF-8.
    return (
        isinstance(value, str)
        and "\0" not in value
        and value == value.encode("utf-8", "replace").decode()
        and len(value.encode()) <= MAX_STRING_BYTES
    )


def key_password(option: str, value: object) -> object:
    """What opens a private key: text, bytes, or a function that gives either."""
    if not isinstance(value, (str, bytes)) and not callable(value):
        raise KafkaConfigurationError(f"{option}: must be a string, bytes or a callable")
    return value


def ssl_context(option: str, value: object) -> object:
    """An ssl.SSLContext, or what can stand for one."""
    if not callable(getattr(value, "wrap_bio", None)):
        raise refuse(option, value, "an ssl.SSLContext")
    return value


# What this version has, and what it knows the name of ------------------------------------------

_ms = integer(0)
_long_ms = integer(0, MAX_TIMEOUT_MS)
_size = integer(0)

PARSERS: Final[Mapping[str, Parser]] = {
    "bootstrap_servers": servers,
    "client_id": text,
    "client_rack": text,
    "group_id": optional(group_id),
    "group_instance_id": optional(instance_id),
    "group_protocol": choice("classic", "consumer"),
    "key_deserializer": optional(deserializer),
    "value_deserializer": optional(deserializer),
    "fetch_min_bytes": _size,
    "fetch_max_wait_ms": _ms,
    "fetch_max_bytes": _size,
    "max_partition_fetch_bytes": _size,
    "max_buffered_bytes": integer(1, 1 << 40),
    "max_batch_bytes": integer(1024),
    "receive_message_max_bytes": integer(1024),
    "check_crcs": truth,
    "include_control_records": truth,
    "isolation_level": choice("read_uncommitted", "read_committed"),
    "enable_incremental_fetch_sessions": truth,
    "auto_offset_reset": choice(
        "earliest", "latest", "none", aliases={"smallest": "earliest", "largest": "latest"}
    ),
    "enable_auto_commit": truth,
    "auto_commit_interval_ms": _ms,
    "default_offset_commit_callback": optional(callback),
    "partition_assignment_strategy": assignors,
    "max_poll_records": integer(1),
    "max_poll_interval_ms": integer(1),
    "session_timeout_ms": integer(1),
    "heartbeat_interval_ms": integer(1),
    "consumer_timeout_ms": wait_ms,
    "request_timeout_ms": integer(1),
    "default_api_timeout_ms": _ms,
    "bootstrap_timeout_ms": _ms,
    "retry_backoff_ms": integer(1, MAX_TIMEOUT_MS),
    "retry_backoff_max_ms": integer(1, MAX_TIMEOUT_MS),
    "reconnect_backoff_ms": _long_ms,
    "reconnect_backoff_max_ms": _long_ms,
    "socket_connection_setup_timeout_ms": integer(1, MAX_TIMEOUT_MS),
    "socket_connection_setup_timeout_max_ms": integer(1, MAX_TIMEOUT_MS),
    "connections_max_idle_ms": integer(-1, MAX_TIMEOUT_MS),
    "max_in_flight_requests_per_connection": integer(1, 1000),
    "metadata_max_age_ms": _long_ms,
    "metadata_recovery_strategy": choice("rebootstrap", "none"),
    "metadata_recovery_rebootstrap_trigger_ms": _long_ms,
    "allow_auto_create_topics": truth,
    "exclude_internal_topics": truth,
    "send_buffer_bytes": optional(integer(-1)),
    "receive_buffer_bytes": optional(integer(-1)),
    "socket_options": socket_options,
    "security_protocol": choice("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "ssl_context": optional(ssl_context),
    "ssl_check_hostname": truth,
    "ssl_cafile": optional(path),
    "ssl_certfile": optional(path),
    "ssl_keyfile": optional(path),
    "ssl_password": optional(key_password),
    "ssl_ciphers": optional(text),
    "ssl_crlfile": optional(path),
    "sasl_mechanism": optional(choice(*MECHANISMS)),
    "sasl_plain_username": optional(username),
    "sasl_plain_password": optional(password),
    "api_version": version,
    "transport": transport,
}

# Other clients' words for options above.
ALIASES: Final[Mapping[str, str]] = {"api_version_auto_timeout_ms": "bootstrap_timeout_ms"}

# Java's ssl.* and sasl.* names say the same in other terms: what to give in their place.
_SASL_USER: Final = "give sasl_plain_username and sasl_plain_password"
_CERTIFICATE: Final = "give ssl_certfile and ssl_keyfile (PEM)"
_AUTHORITIES: Final = "give ssl_cafile (PEM)"
_CONTEXT: Final = "give an ssl_context made as you need it"
_MECHANISMS_ARE: Final = f"the mechanisms are {', '.join(MECHANISMS)}"
JAVA_SECURITY: Final[Mapping[str, str]] = {
    "sasl_jaas_config": _SASL_USER,
    "ssl_truststore_": _AUTHORITIES,
    "ssl_keystore_": _CERTIFICATE,
    "ssl_key_password": "give ssl_password",
    "ssl_endpoint_identification_algorithm": "give ssl_check_hostname",
    "ssl_cipher_suites": "give ssl_ciphers, in OpenSSL's names",
    "ssl_": _CONTEXT,
    "sasl_": _MECHANISMS_ARE,
}

# Known names whose default is taken and anything else refused, with what to do instead.
LATER: Final[Mapping[str, tuple[object, str]]] = {
    "kafka_client": (None, "pass transport= to choose how sockets are driven"),
    "selector": (None, "pass transport= to choose how sockets are driven"),
    "proxy_url": (None, "proxies are not available yet in this version"),
    "socks5_proxy": (None, "proxies are not available yet in this version"),
    "group_remote_assignor": (None, "it needs group_protocol='consumer', not available yet"),
    "interceptor_classes": (None, "interceptors are not available"),
    "client_dns_lookup": ("use_all_dns_ips", "only 'use_all_dns_ips' is available"),
    "security_providers": (None, "it is an option of the JVM"),
    "sasl_kerberos_name": (None, _MECHANISMS_ARE),
    "sasl_kerberos_service_name": ("kafka", _MECHANISMS_ARE),
    "sasl_kerberos_domain_name": (None, _MECHANISMS_ARE),
    "sasl_oauth_token_provider": (None, _MECHANISMS_ARE),
    "config_providers": (None, "it is an option of the JVM"),
}

# Known names that change nothing: there are no metrics yet, so nothing is measured or pushed.
WITHOUT_EFFECT: Final[Mapping[str, object]] = {
    "metric_reporters": (),
    "metrics_enabled": True,
    "metrics_num_samples": 2,
    "metrics_sample_window_ms": 30_000,
    "metrics_recording_level": "INFO",
    "metric_group_prefix": "consumer",
    "enable_metrics_push": False,
}

KNOWN: Final = frozenset({*PARSERS, *ALIASES, *LATER, *WITHOUT_EFFECT})


def canonical(option: object) -> str:
    """kafka-python's name of an option given under it or under Java's dotted name.

    KafkaConfigurationError with the nearest known name if there is none.
    """
    if not isinstance(option, str):
        raise KafkaConfigurationError(f"option names are strings, not {option!r}")
    name = option.replace(".", "_") if "_" not in option else option
    if name in KNOWN:
        return ALIASES.get(name, name)
    for prefix, instead in JAVA_SECURITY.items():
        if "." in option and name.startswith(prefix):
            raise KafkaConfigurationError(f"{option} is not available: {instead}", option=option)
    near = get_close_matches(name, KNOWN, n=1, cutoff=0.6)
    suggestion = near[0] if near else None
    if suggestion is not None and "." in option:
        suggestion = suggestion.replace("_", ".")
    hint = f"; did you mean {suggestion!r}?" if suggestion else ""
    raise KafkaConfigurationError(
        f"unknown option {option!r}{hint}", option=option, suggestion=suggestion
    )
