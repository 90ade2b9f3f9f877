r"""How `kcore consume` prints a record: `value`, `key-value`, `json`, `journal` (of the topics that
coordinators write, see journal.py), or a template.

A template is anything with a `%`, in kcat's letters: `%t` topic, `%p` partition, `%o` offset, `%T`
timestamp (ms), `%k` key, `%K` its length, `%s` value, `%S` its length (-1 for null), `%h` headers,
`%%`; and the escapes `\n \r \t \\ \xHH`. It adds no newline of its own, the other formats do.
Key and value are printed as the bytes they are, except by `json`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kcore.cli.journal import line

if TYPE_CHECKING:
    from kcore import ConsumerRecord

Formatter = Callable[["ConsumerRecord"], bytes]

ESCAPES: Final = {"n": b"\n", "r": b"\r", "t": b"\t", "\\": b"\\"}
PART = re.compile(r"%(?P<letter>.?)|\\x(?P<hex>[0-9a-fA-F]{2})|\\(?P<escape>[nrt\\])|[^%\\]+|\\")


class FormatError(ValueError):
    """The text is no format; says which part of it is wrong."""


def as_typed(text: str) -> bytes:
    """UTF-8; what is none, in an argument of the command line, as the bytes it was."""
    return text.encode("utf-8", "surrogateescape")


def formatter(text: str) -> Formatter:
    """The function that prints a record in this format. Raises FormatError."""
    named = NAMED.get(text)
    if named is not None:
        return named
    if "%" not in text:
        known = ", ".join(NAMED)
        raise FormatError(f"{text!r} is none of {known}, nor a template with %-letters")
    return _template(text)


def _value(record: ConsumerRecord) -> bytes:
    return _bytes(record.value) + b"\n"


def _key_value(record: ConsumerRecord) -> bytes:
    return _bytes(record.key) + b"\t" + _bytes(record.value) + b"\n"


def _json(record: ConsumerRecord) -> bytes:
    said = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        **_text_field("key", record.key),
        **_text_field("value", record.value),
        "headers": [{"name": name, **_text_field("value", data)} for name, data in record.headers],
    }
    return json.dumps(said, ensure_ascii=False).encode() + b"\n"


def _text_field(name: str, value: bytes | None) -> dict[str, str | None]:
    """Text as text; what is not UTF-8 under a name that says that it is base64."""
    if value is None:
        return {name: None}
    try:
        return {name: _bytes(value).decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(value).decode()}


def _headers(record: ConsumerRecord) -> bytes:
    return b",".join(name.encode() + b"=" + _bytes(value) for name, value in record.headers)


def _bytes(value: bytes | None) -> bytes:
    return b"" if value is None else bytes(value)


def _length(value: bytes | None) -> bytes:
    return b"-1" if value is None else b"%d" % len(value)


NAMED: Final[dict[str, Formatter]] = {
    "value": _value,
    "key-value": _key_value,
    "json": _json,
    "journal": line,
}

LETTERS: Final[dict[str, Formatter]] = {
    "t": lambda record: record.topic.encode(),
    "p": lambda record: b"%d" % record.partition,
    "o": lambda record: b"%d" % record.offset,
    "T": lambda record: b"%d" % record.timestamp,
    "k": lambda record: _bytes(record.key),
    "K": lambda record: _length(record.key),
    "s": lambda record: _bytes(record.value),
    "S": lambda record: _length(record.value),
    "h": _headers,
    "%": lambda _: b"%",
}


def _template(text: str) -> Formatter:
    parts: list[Formatter | bytes] = []
    for match in PART.finditer(text):
        if match["letter"] is not None:
            if match["letter"] not in LETTERS:
                raise FormatError(f"unknown letter %{match['letter']} in {text!r}")
            parts.append(LETTERS[match["letter"]])
        elif match["hex"]:
            parts.append(bytes.fromhex(match["hex"]))
        elif match["escape"]:
            parts.append(ESCAPES[match["escape"]])
        else:
            parts.append(as_typed(match[0]))
    return lambda record: b"".join(
        part if isinstance(part, bytes) else part(record) for part in parts
    )
