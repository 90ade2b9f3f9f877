"""How `kcore consume` prints records."""

import json
from types import SimpleNamespace

import pytest

from kcore.cli.formats import FormatError, formatter


def record(**fields):
    given = {
        "topic": "orders",
        "partition": 3,
        "offset": 42,
        "timestamp": 1_700_000_000_123,
        "key": b"k",
        "value": b"some text",
        "headers": [("trace", b"ab"), ("empty", None)],
    }
    return SimpleNamespace(**(given | fields))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("value", b"some text\n"),
        ("key-value", b"k\tsome text\n"),
        (r"%t[%p]@%o %T\n", b"orders[3]@42 1700000000123\n"),
        ("%K:%k %S:%s", b"1:k 9:some text"),
        ("%h", b"trace=ab,empty="),
        (r"100%% %o\t|\x41\\", b"100% 42\t|A\\"),
        (r"%s\q", b"some text\\q"),
    ],
)
def test_text(text, printed):
    assert formatter(text)(record()) == printed


def test_null_prints_as_nothing_and_has_length_minus_one():
    null = record(key=None, value=None)
    assert formatter("%k|%s|%K|%S")(null) == b"||-1|-1"
    assert formatter("value")(null) == b"\n"


def test_bytes_go_out_as_they_are():
    assert formatter("value")(record(value=b"\xff\x00")) == b"\xff\x00\n"


def test_what_is_typed_that_is_no_text_is_printed_as_it_is():
    assert formatter("%s\udcff%%ü")(record(value=b"v")) == b"v\xff%\xc3\xbc"


def test_json_is_one_line_and_tells_text_from_bytes():
    printed = formatter("json")(
        record(key=b"\xff", value="größe\n".encode(), headers=[("h", b"\xfe")])
    )
    assert printed.count(b"\n") == 1
    assert "größe".encode() in printed
    assert json.loads(printed) == {
        "topic": "orders",
        "partition": 3,
        "offset": 42,
        "timestamp": 1_700_000_000_123,
        "key_base64": "/w==",
        "value": "größe\n",
        "headers": [{"name": "h", "value_base64": "/g=="}],
    }


@pytest.mark.parametrize("text", ["", "values", "%q", "%", r"100% \n"])
def test_wrong_format_is_refused(text):
    with pytest.raises(FormatError):
        formatter(text)
