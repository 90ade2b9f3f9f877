"""What options of the command line say, read: callbacks of click. BadParameter: what is wrong."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any, Final, TextIO

import click
from click.core import ParameterSource

from kcore.limits import MAX_INT64

# Options of clients that have one here.
_OWN: Final = {
    "bootstrap_servers": "-b",
    "bootstrap_controllers": "--bootstrap-controllers (kcore configs)",
    "group_id": "-g (kcore consume)",
    "compression_type": "-z (kcore produce)",
}


# Of a file these are verbs' own.
_PARAMETERS: Final = {"bootstrap_servers": "bootstrap", "group_id": "group"}
# A year alone is an offset.
_MOMENT: Final = re.compile(r"[0-9]{4}-")
_KEPT: Final = f"{__name__}.kept"


def settings(
    context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, object]:
    """Options of a client, under the names that verbs give theirs. Values are texts, of which
    clients make what they need: a password may be all digits, a policy may be called `none`.
    """
    found: dict[str, object] = dict(context.meta.get(_KEPT, {}))
    for text in given:
        name, sign, value = text.partition("=")
        if not (name and sign):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE")
        name = _underscored(name)
        if name in _OWN:
            raise click.BadParameter(f"{name} is given by {_OWN[name]}")
        found[name] = value
    return found


def config(context: click.Context, _parameter: click.Parameter, file: TextIO | None) -> None:
    """What a file says, such as one of a Java client: passwords, too, which others would see on a
    command line. No message shows a line of it.
    """
    try:
        with file or StringIO() as kept:
            texts = kept.read().splitlines()
    except (OSError, UnicodeDecodeError) as wrong:
        raise click.BadParameter(f"it cannot be read: {type(wrong).__name__}") from wrong
    said: dict[str, str] = {}
    begun = ""
    for number, text in enumerate([*texts, ""], 1):
        row = begun + text.strip()
        if not row or row[0] in "#!":
            continue
        begun = row[:-1] if row.endswith("\\") else ""
        if begun:
            continue
        name, sign, value = map(str.strip, row.partition("="))
        if not (name and sign):
            raise click.BadParameter(f"line {number} is not NAME=VALUE")
        said[name] = value
    found = _of_java(said) if said else {}
    own = {_PARAMETERS[name]: found.pop(name) for name in _PARAMETERS.keys() & found}
    context.default_map = own
    context.meta[_KEPT] = found


def _of_java(said: dict[str, str]) -> dict[str, Any]:
    from kcore.pipeline.errors import OptionError  # noqa: PLC0415 (not for --help)
    from kcore.pipeline.security import client_options  # noqa: PLC0415

    try:
        return client_options(said)
    except OptionError as wrong:
        text = f"{wrong.option}: {wrong.text}"
        raise click.BadParameter(text.replace("kafka.", "")) from wrong


def bootstrap(context: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    """Passwords of a file do not go to the brokers of the environment."""
    source = context.get_parameter_source(str(parameter.name))
    kept: str | None = (context.default_map or {}).get("bootstrap")
    return kept if kept is not None and source is ParameterSource.ENVIRONMENT else given


def _underscored(name: str) -> str:
    from kcore.settings.names import underscored  # noqa: PLC0415 (not for --help)

    return underscored(name)


def is_number(text: str) -> bool:
    """Whether `int` reads it: str.isdigit is true of superscripts, too."""
    return text.isascii() and text.isdigit()


def is_place(text: str) -> bool:
    """An offset, -N: the last N, or @MS: from that time on."""
    return is_number(text[1:] if text[:1] in {"-", "@"} else text)


def moment(text: str) -> str | None:
    """A date, maybe with a time (ISO 8601; of UTC, if it names no other), as @MS. None: it is none.

    ValueError: there is no such day, or none that records have.
    """
    if not _MOMENT.match(text):
        return None
    when = datetime.fromisoformat(text)
    since = when.replace(tzinfo=when.tzinfo or UTC) - datetime.fromtimestamp(0, UTC)
    if since < timedelta():
        raise ValueError("it is before 1970")
    return f"@{since // timedelta(milliseconds=1)}"


def start(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    """Where to begin: earliest, latest, an offset, so many before the end, a time, or how long
    ago.
    """
    if text in {"earliest", "latest"} or (is_place(text) and int(text.strip("@")) <= MAX_INT64):
        return text
    try:
        found = moment(text)
    except ValueError as wrong:
        raise click.BadParameter(f"{text!r}: {wrong}") from wrong
    if found is not None:
        return found
    from kcore.fetch.config import BY_DURATION, ResetStrategy  # noqa: PLC0415

    if text.lower().startswith(BY_DURATION):
        try:
            return ResetStrategy.of(text).value
        except ValueError as wrong:
            raise click.BadParameter(f"{text!r}: {wrong}") from wrong
    why = f"{text!r} is neither earliest, latest nor an offset, -N, nor as by_duration:PT1H30M"
    raise click.BadParameter(f"{why}, 2026-01-31T12:00 or @1769860800000 (ms)")


def stop(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """Where to end: an offset or a time."""
    if text is None or (is_place(text) and text[0] != "-" and int(text.strip("@")) <= MAX_INT64):
        return text
    try:
        found = moment(text)
    except ValueError as wrong:
        raise click.BadParameter(f"{text!r}: {wrong}") from wrong
    if found is None:
        why = f"{text!r} is no offset, nor as 2026-01-31T12:00 or @1769860800000 (ms)"
        raise click.BadParameter(why)
    return found


def patterns(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Names of topics, and regular expressions."""
    for text in given:
        try:
            re.compile(text if text.startswith("^") else "")
        except re.error as wrong:
            raise click.BadParameter(f"{text!r} is no regular expression: {wrong}") from wrong
    return tuple(dict.fromkeys(given))


def reset(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """Where a group is put: the same, or so many records on or back."""
    if text is None or (text[:1] in {"+", "-"} and is_number(text[1:])):
        return text
    try:
        return start(_context, _parameter, text)
    except click.BadParameter as wrong:
        raise click.BadParameter(f"{wrong.message} or +N") from wrong


def listen(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[str, int]:
    """A host, which may be an IPv6 address in brackets, and a port."""
    host, _, port = text.rpartition(":")
    try:
        host.encode("idna")
    except UnicodeError as wrong:
        raise click.BadParameter(f"{host!r} is no name of a host: {wrong}") from wrong
    if host and is_number(port) and int(port) <= 65_535:
        return host.strip("[]"), int(port)
    raise click.BadParameter(f"{text!r} is not HOST:PORT")


def flush(_context: click.Context, _parameter: click.Parameter, text: str) -> str | int:
    """When to sync: a word, or every so many ms."""
    if text in {"never", "always"}:
        return text
    if is_number(text) and int(text) > 0:
        return int(text)
    raise click.BadParameter(f"{text!r} is neither never, always nor a number of ms")


def release(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> tuple[int, int] | None:
    """Of Kafka: major and minor."""
    if text is None:
        return None
    major, _, minor = text.partition(".")
    if is_number(major) and is_number(minor) and (int(major), int(minor)) >= (2, 1):
        return int(major), int(minor)
    raise click.BadParameter(f"{text!r} is no release such as 2.8, from 2.1 on")


def users(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """Names and passwords, which no message shows."""
    found = {}
    for text in given:
        name, colon, password = text.partition(":")
        if not (name and colon and password):
            raise click.BadParameter("it is not NAME:PASSWORD")  # which may be all password
        found[name] = password
    return found


def pairs(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """Names and values."""
    found = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not (name and sign):
            raise click.BadParameter(f"{text!r} is not NAME=VALUE")
        found[name] = value
    return found


def topics(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[tuple[str, int | None, int | None], ...]:
    """Names, numbers of partitions and of replicas; None: as brokers have it by themselves."""
    found = []
    for text in given:
        name, *counts = text.split(":")
        if not name or len(counts) > 2 or not all(map(is_number, counts)):
            raise click.BadParameter(f"{text!r} is not NAME[:PARTITIONS[:REPLICAS]]")
        partitions, replicas, *_ = (*map(int, counts), None, None)
        found.append((name, partitions, replicas))
    return tuple(found)


def racks(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> tuple[str, ...]:
    """Names of racks."""
    found = tuple(part.strip() for part in text.split(",")) if text is not None else ()
    if not all(found):
        raise click.BadParameter(f"{text!r} is not NAME,NAME,...")
    return found


def check_either(context: click.Context) -> None:
    """Brokers or controllers to begin with. What the environment says is for those who say
    nothing. UsageError.
    """
    typed = context.get_parameter_source("bootstrap") is ParameterSource.COMMANDLINE
    given = context.params
    if given["controllers"] is not None and typed:
        raise click.UsageError("--bootstrap or --bootstrap-controllers, not both")
    if given["controllers"] is given["bootstrap"] is None:
        raise click.UsageError("Missing option '-b' / '--bootstrap', or '--bootstrap-controllers'")
