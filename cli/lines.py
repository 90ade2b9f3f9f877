"""How `kcore produce` reads a record from a line: what `kcore consume` prints, turned round.

`value`: the line. `key-value`: key, separator (a tab), value; the separator may come again in the
value. `json`: an object a line with the fields that `--format json` prints, all but one of key and
value optional; `offset` and `topic` are passed over, so that a topic can be copied into another,
and so is a `timestamp` of -1: records of old formats have none.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, BinaryIO, Final

from kcore.cli.formats import ESCAPES, PART, FormatError, as_typed
from kcore.tuples import NamedTuple

# A record is no larger than what a request takes, and a line is read whole.
LINE_BYTES_MAX: Final = 64 * 1024 * 1024
TAB: Final = b"\t"
_NO_TIMESTAMP: Final = -1
_DATA: Final = frozenset(["key", "key_base64", "value", "value_base64"])
_FIELDS: Final = _DATA | {"topic", "partition", "offset", "timestamp", "headers"}
_HEADER_FIELDS: Final = frozenset(["name", "value", "value_base64"])


class LineError(ValueError):
    """A line is no record in the format asked for; says why, not which line it is."""


class Line(NamedTuple):
    """What a line says of a record. partition, timestamp_ms: None where it does not."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


Parser = Callable[[bytes], Line]


def parser(text: str, separator: bytes | None = None) -> Parser:
    """The function that reads a line of this format. Raises FormatError.

    separator: of key and value.
    """
    named: dict[str, Parser] = {
        "value": Line,
        "key-value": partial(_key_value, TAB if separator is None else separator),
        "json": _json,
    }
    if text not in named:
        raise FormatError(f"{text!r} is none of {', '.join(named)}")
    if separator is not None and text != "key-value":
        raise FormatError(f"lines of format {text!r} have none; those of key-value have")
    if separator == b"":
        raise FormatError("it is empty")
    return named[text]


def unescaped(text: str) -> bytes:
    r"""A separator as it is typed: `\t`, `\x1f`, or what it is."""
    out = b""
    for match in PART.finditer(text):
        if match["hex"]:
            out += bytes.fromhex(match["hex"])
        else:
            out += ESCAPES[match["escape"]] if match["escape"] else as_typed(match[0])
    return out


def lines(file: BinaryIO) -> Iterator[bytes]:
    """Each line without its newline; the last one may have none. LineError: one without end."""
    while True:
        line = file.readline(LINE_BYTES_MAX + 1)
        if not line:
            return
        if len(line) > LINE_BYTES_MAX:
            raise LineError(f"longer than {LINE_BYTES_MAX} bytes, which is more than a record has")
        yield line.removesuffix(b"\n")


def _key_value(separator: bytes, line: bytes) -> Line:
    key, found, value = line.partition(separator)
    if not found:
        raise LineError(f"there is no {separator!r} between key and value")
    return Line(value, key)


def _json(line: bytes) -> Line:
    try:
        said = json.loads(line)
    except ValueError as wrong:
        raise LineError(f"no JSON: {wrong}") from None
    except RecursionError:
        raise LineError("JSON that is nested too deeply") from None
    _check_fields(said, _FIELDS, "a record")
    if not said.keys() & _DATA:
        raise LineError("neither a key nor a value; null is one, too")
    headers = said.get("headers", [])
    if not isinstance(headers, list):
        raise LineError('"headers" is no list of {"name": ..., "value": ...}')
    timestamp_ms = _number(said, "timestamp")
    return Line(
        _data(said, "value"),
        _data(said, "key"),
        tuple(map(_header, headers)),
        _number(said, "partition"),
        None if timestamp_ms == _NO_TIMESTAMP else timestamp_ms,
    )


def _header(said: Any) -> tuple[str, bytes | None]:
    _check_fields(said, _HEADER_FIELDS, "a header")
    if not isinstance(said.get("name"), str):
        raise LineError('a header has no "name" that is a string')
    return said["name"], _data(said, "value")


def _check_fields(said: Any, known: frozenset[str], what: str) -> None:
    if not isinstance(said, dict):
        raise LineError(f"{what} is an object, and this is {_kind(said)}")
    unknown = sorted(said.keys() - known)
    if unknown:
        raise LineError(f"{unknown[0]!r} is no field of {what}: {', '.join(sorted(known))}")


def _data(said: dict[str, Any], name: str) -> bytes | None:
    """Text, or bytes under the name that says base64; None: null, or not there."""
    coded = f"{name}_base64"
    if coded in said and name in said:
        raise LineError(f"both {name!r} and {coded!r}")
    given = said.get(coded, said.get(name))
    if given is None:
        return None
    if not isinstance(given, str):
        raise LineError(f"{name!r} is {_kind(given)}; it has to be a string, or null")
    try:
        return base64.b64decode(given, validate=True) if coded in said else given.encode()
    except UnicodeEncodeError:  # half a surrogate pair, by its escape
        raise LineError(f"{name!r} is no text that UTF-8 has") from None
    except ValueError as wrong:  # of base64: not always its own
        raise LineError(f"{coded!r} is no base64: {wrong}") from None


def _number(said: dict[str, Any], name: str) -> int | None:
    given = said.get(name)
    if given is not None and (isinstance(given, bool) or not isinstance(given, int)):
        raise LineError(f"{name!r} is {_kind(given)}; it has to be a whole number")
    return given


def _kind(value: Any) -> str:
    """What JSON calls it."""
    kinds = {bool: "true or false", str: "a string", list: "a list", dict: "an object"}
    return "null" if value is None else kinds.get(type(value), "a number")
