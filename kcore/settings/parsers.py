"""How the value of an option is read, checked and converted.

A parser takes the option's name and the value given, and returns the value kept; it raises
KafkaConfigurationError. Strings are converted where a number or a truth value is meant, because a
mapping with Java's dotted names often comes from a properties file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from math import isnan

from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_INT32, MAX_NAME_CHARS, MAX_STRING_BYTES, MAX_TIMEOUT_MS, NAME_CHARS
from kcore.settings.addresses import parse_servers

Parser = Callable[[str, object], object]

_FOLDERS = frozenset({".", ".."})
_RELEASE_PART = r"[0-9]{1,9}"
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def refuse(option: str, value: object, wanted: str) -> KafkaConfigurationError:
    """The error for a value that the option cannot have."""
    return KafkaConfigurationError(f"{option}={value!r}: must be {wanted}", option=option)


# Parsers -----------------------------------------------------------------------------------------


def integer(minimum: int, maximum: int = MAX_INT32, *, at_least: int | None = None) -> Parser:
    """A whole number within both bounds; also as a string, or as a float without a fraction.

    at_least: what a smaller one within the bounds stands for.
    """

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
        return number if at_least is None else max(number, at_least)

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
    if not _is_utf8(value):
        raise refuse(option, value, "text that UTF-8 has (there is half of a surrogate pair)")
    return value


def _is_utf8(value: str) -> bool:
    """Whether it can be written: a lone surrogate (of a file's name, say) cannot."""
    return value == value.encode("utf-8", "replace").decode()


def transactional_id(option: str, value: object) -> str:
    """Any string but the empty one, which brokers refuse."""
    name = text(option, value)
    if not name:
        raise refuse(option, value, "a name, or None for a producer without transactions")
    return name


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
    return 0 < len(name) <= MAX_NAME_CHARS and NAME_CHARS.issuperset(name) and name not in _FOLDERS


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
    except OverflowError:  # an int of hundreds of digits
        number = float("inf")
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
        int(part) if isinstance(part, str) and re.fullmatch(_RELEASE_PART, part) else part
        for part in parts
    )
    whole = tuple(part for part in numbers if isinstance(part, int) and part >= 0)
    if not 1 <= len(whole) <= 4 or len(whole) != len(numbers):
        raise refuse(option, value, "a release such as (4, 3), or None to find it out")
    return whole


def socket_options(option: str, value: object) -> tuple[tuple[int, int, int | bytes], ...]:
    """A list of (level, name, value) for setsockopt; whether there is such an option, the system
    says.
    """
    if not isinstance(value, (list, tuple)):
        raise refuse(option, value, "a list of (level, name, value)")
    return tuple(_socket_option(option, entry) for entry in value)


def _socket_option(option: str, entry: object) -> tuple[int, int, int | bytes]:
    if not isinstance(entry, (list, tuple)) or len(entry) != 3:
        raise refuse(option, entry, "made of (level, name, value)")
    level, name, setting = entry
    if not (_is_c_int(level) and _is_c_int(name)):
        raise refuse(option, entry, "(level, name, value), level and name numbers of socket")
    if isinstance(setting, (bytes, bytearray, memoryview)):
        setting = bytes(setting)
    elif not _is_c_int(setting) and not isinstance(setting, bool):
        raise refuse(option, entry, "(level, name, value), the value 32 bits of a number, or bytes")
    return level, name, setting


def _is_c_int(value: object) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return -MAX_INT32 - 1 <= value <= MAX_INT32


def proxy(option: str, value: object) -> object:
    """Where a proxy is, as a URL."""
    from kcore.settings.proxies import parse_proxy  # noqa: PLC0415 - few need it

    return parse_proxy(option, value)


def transport(option: str, value: object) -> object:
    """A driver's name or a driver; `kcore.transports` says which names there are."""
    if value is None or isinstance(value, (int, float)) or value == "":
        raise refuse(option, value, "'blocking', 'selectors', 'gevent' or a transport")
    return value


# Security ---------------------------------------------------------------------------------------


def path(option: str, value: object) -> str:
    """The name of a file; whether it is there is seen when it is read."""
    return _file_name(option, value, "the name of a PEM file")


def _file_name(option: str, value: object, wanted: str) -> str:
    if not isinstance(value, str) and hasattr(value, "__fspath__"):
        value = value.__fspath__()
    if not isinstance(value, str) or not value:
        raise refuse(option, value, wanted)
    return value


def pem(option: str, value: object) -> str:
    """What would be in a PEM file; the error does not say it."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if not isinstance(text, str) or "-----BEGIN " not in text:
        raise KafkaConfigurationError(
            f"{option}: must be the text of a PEM file, from -----BEGIN on", option=option
        )
    # Where only one line has room (an environment variable, a property) they are often written so.
    return text if "\n" in text.strip() else text.replace("\\n", "\n")


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
    # NUL separates the parts of PLAIN.
    return (
        isinstance(value, str)
        and "\0" not in value
        and _is_utf8(value)
        and len(value.encode()) <= MAX_STRING_BYTES
    )


def keytab(option: str, value: object) -> str:
    """The name of a file with keys of Kerberos, maybe as MIT and Java say it, with `FILE:`."""
    return _file_name(option, value, "the name of a keytab").removeprefix("FILE:")


def kerberos_name(option: str, value: object) -> object:
    """Who the brokers are: `service@host`, a principal, or a gssapi.Name."""
    if isinstance(value, str):
        return username(option, value)
    if not callable(getattr(value, "canonicalize", None)):
        raise refuse(option, value, "text as 'kafka@host', or a gssapi.Name")
    return value


def token_provider(option: str, value: object) -> object:
    """What has a `token()`; or where that is, as `module:name`, to be called if it is a class."""
    has_it = "what has a method token()"
    if isinstance(value, str):
        value = _found_at(option, value, has_it, made=True)
    if isinstance(value, type) or not callable(getattr(value, "token", None)):
        raise refuse(option, type(value).__name__, "an object with a method token()")
    return value


def interceptors(*methods: str) -> Parser:
    """Classes or objects with any of these methods, or where such are, as `module:name`: one, or a
    list, or names with commas between.
    """
    has_it = f"a class or an object with {' or '.join(f'{name}()' for name in methods)}"

    def parse(option: str, value: object) -> tuple[object, ...]:
        if isinstance(value, str):
            value = [name for name in value.split(",") if name.strip()]
        entries = value if isinstance(value, (list, tuple)) else () if value is None else (value,)
        found = [
            _found_at(option, entry, has_it, made=False) if isinstance(entry, str) else entry
            for entry in entries
        ]
        for entry in found:
            if not any(callable(getattr(entry, name, None)) for name in methods):
                raise refuse(option, entry, has_it)
        return tuple(found)

    return parse


def _found_at(option: str, where: str, wanted: str, *, made: bool) -> object:
    """What is there; made: an object of it, if it is a class."""
    from importlib import import_module  # noqa: PLC0415 - few need it

    module, _, name = where.strip().partition(":")
    try:
        found = getattr(import_module(module), name)
        return found() if made and isinstance(found, type) else found
    except Exception as error:
        why = f"module:name of {wanted} ({type(error).__name__}: {error})"
        raise refuse(option, where, why) from error


def web_address(option: str, value: object) -> str:
    """Where HTTP is spoken."""
    from urllib.parse import urlsplit  # noqa: PLC0415 - few need it

    address = value.strip() if isinstance(value, str) else ""
    if "@" in address.partition("//")[2].partition("/")[0]:
        why = f"{option}: must not hold a name or a password, which are options of their own"
        raise KafkaConfigurationError(why, option=option)
    try:
        parts = urlsplit(address)
        right = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        right = False
    if not right or not address.isascii() or not address.isprintable() or " " in address:
        raise refuse(option, value, "an address as https://host/path")
    return address


def token_address(option: str, value: object) -> str:
    """Where tokens are: an endpoint that speaks HTTP, or a file on this machine."""
    if not isinstance(value, str) or value.strip()[:5].lower() != "file:":
        return web_address(option, value)
    from urllib.parse import urlsplit  # noqa: PLC0415 - few need it

    try:
        parts = urlsplit(value.strip())
        right = parts.hostname in {None, "localhost"} and parts.path.startswith("/")
    except ValueError:
        right = False
    if not right or parts.query or parts.fragment or not value.isprintable():
        raise refuse(option, value, "an address as https://host/path, or file:///path")
    return f"file://{parts.path}"


def token_retriever(option: str, value: object) -> str:
    """Java's name of a JwtRetriever, with its package or without; or librdkafka's grant type."""
    said = value.strip() if isinstance(value, str) else ""
    package, _, name = said.rpartition(".")
    from kcore.settings.tokens import OAUTH_PACKAGE, RETRIEVERS  # noqa: PLC0415 - few name one

    if package in {"", OAUTH_PACKAGE} and name in RETRIEVERS:
        return RETRIEVERS[name]
    wanted = f"one of {', '.join(RETRIEVERS)} (a class of yours: give a sasl_oauth_token_provider)"
    raise refuse(option, value, wanted)


def extensions(option: str, value: object) -> dict[str, str]:
    """Pairs: a mapping, or `a=b,c=d`."""
    found: dict[str, str] = {}
    if isinstance(value, Mapping):
        found = {str(name): str(text) for name, text in value.items()}
    elif isinstance(value, str):
        for part in filter(None, map(str.strip, value.split(","))):
            name, _, text = part.partition("=")
            found[name.strip()] = text.strip()
    elif value is not None:
        raise refuse(option, value, "a mapping, or text as a=b,c=d")
    if not all(name.isascii() and name.isalpha() and text for name, text in found.items()):
        raise refuse(option, value, "names of letters with a value each, as a=b,c=d")
    return found


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
