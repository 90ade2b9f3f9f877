"""Lines of `kcore produce`: what each format makes of one, and what is wrong with others."""

import io
import json

import pytest

from kcore import ConsumerRecord
from kcore.cli import lines as module
from kcore.cli.formats import NAMED, FormatError
from kcore.cli.lines import Line, LineError, lines, parser, unescaped


def test_a_line_is_a_value():
    assert parser("value")(b"a\tb") == Line(b"a\tb")
    assert parser("value")(b"") == Line(b"")


@pytest.mark.parametrize(
    ("separator", "line", "key", "value"),
    [
        (None, b"k\tv", b"k", b"v"),
        (None, b"k\tv\tw", b"k", b"v\tw"),
        (None, b"\t", b"", b""),
        (b"::", b"a:b::c::d", b"a:b", b"c::d"),
    ],
)
def test_the_first_separator_counts(separator, line, key, value):
    assert parser("key-value", separator)(line) == Line(value, key)


@pytest.mark.parametrize(
    ("text", "separator"),
    [("values", None), ("%k %s", None), ("value", b":"), ("json", b":"), ("key-value", b"")],
)
def test_what_is_no_format(text, separator):
    with pytest.raises(FormatError):
        parser(text, separator)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (r"\t", b"\t"),
        (":", b":"),
        (r"\x1f", b"\x1f"),
        (r"\\", b"\\"),
        ("%", b"%"),
        ("é", b"\xc3\xa9"),
        ("\udcff", b"\xff"),  # so the command line has what is no UTF-8
    ],
)
def test_separators_as_they_are_typed(typed, meant):
    assert unescaped(typed) == meant


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"value": "v"}, Line(b"v")),
        ({"value": None}, Line(None)),
        ({"key": "k"}, Line(None, b"k")),
        ({"value": "", "key": "é"}, Line(b"", "é".encode())),
        ({"value_base64": "/wA="}, Line(b"\xff\x00")),
        ({"value": "v", "partition": 3, "timestamp": 7}, Line(b"v", None, (), 3, 7)),
        (
            {"value": "v", "headers": [{"name": "a", "value": None}, {"name": "a", "value": "b"}]},
            Line(b"v", None, (("a", None), ("a", b"b"))),
        ),
    ],
)
def test_json(said, line):
    assert parser("json")(json.dumps(said).encode()) == line


def test_what_consume_prints_is_read_again():
    headers = [("a", b"\xff"), ("b", None), ("", b"")]
    record = ConsumerRecord("t", 3, None, 12, 1700, 0, b"\x80", None, headers, None, 0, 0, 0)
    printed = NAMED["json"](record)
    assert parser("json")(printed) == Line(None, b"\x80", tuple(headers), 3, 1700)


def test_a_record_of_an_old_format_has_no_timestamp():
    """It was refused: a topic that had one could not be copied."""
    record = ConsumerRecord("t", 3, None, 12, -1, None, None, b"v", [], None, 0, 0, 0)
    assert parser("json")(NAMED["json"](record)) == Line(b"v", None, (), 3)
    assert parser("json")(b'{"value": "v", "timestamp": -2}').timestamp_ms == -2


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "no JSON"),
        (b"{", "no JSON"),
        (b"\xff", "no JSON"),
        (b"[" * 100_000, "too deep"),
        (b"[1]", "this is a list"),
        (b"7", "this is a number"),
        (b"null", "this is null"),
        (b"{}", "neither a key nor a value"),
        (b'{"topic": "t"}', "neither a key nor a value"),
        (b'{"vlaue": "v"}', "'vlaue' is no field"),
        (b'{"value": 7}', "'value' is a number"),
        (b'{"value": {}}', "'value' is an object"),
        (b'{"value": "v", "value_base64": "aa=="}', "both 'value' and 'value_base64'"),
        (b'{"value_base64": "a"}', "no base64"),
        (b'{"value_base64": "aa=!"}', "no base64"),
        (b'{"value_base64": "a!a=="}', "no base64"),
        ('{"value_base64": "ä"}'.encode(), "no base64"),
        (b'{"value": "\\ud800"}', "no text that UTF-8 has"),
        (b'{"value": "v", "partition": "1"}', "'partition' is a string"),
        (b'{"value": "v", "partition": true}', "'partition' is true or false"),
        (b'{"value": "v", "timestamp": 1.5}', "'timestamp' is a number; it has to be a whole"),
        (b'{"value": "v", "headers": {"a": "b"}}', "is no list"),
        (b'{"value": "v", "headers": ["a"]}', "a header is an object, and this is a string"),
        (b'{"value": "v", "headers": [{"value": "b"}]}', 'has no "name"'),
        (b'{"value": "v", "headers": [{"name": "a", "v": "b"}]}', "'v' is no field of a header"),
    ],
)
def test_what_is_no_record(line, why):
    with pytest.raises(LineError, match=why):
        parser("json")(line)


def test_newlines_are_between_lines():
    assert [*lines(io.BytesIO(b"a\n\nb\r\nc"))] == [b"a", b"", b"b\r", b"c"]
    assert [*lines(io.BytesIO(b"a\n"))] == [b"a"]
    assert [*lines(io.BytesIO(b""))] == []


def test_a_line_without_end_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(module, "LINE_BYTES_MAX", 8)
    assert [*lines(io.BytesIO(b"12345678"))] == [b"12345678"]
    file = io.BytesIO(b"x" * 100)
    with pytest.raises(LineError, match="longer than 8 bytes"):
        next(lines(file))
    assert file.tell() <= 10
