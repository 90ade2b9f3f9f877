"""bootstrap_servers."""

import pytest

from kcore.errors import KafkaConfigurationError
from kcore.settings.addresses import format_server, parse_servers

GOOD = [
    ("localhost", [("localhost", 9092)]),
    ("a:1,b:2", [("a", 1), ("b", 2)]),
    (" a:1 , b ", [("a", 1), ("b", 9092)]),
    (["a:1", "b:2"], [("a", 1), ("b", 2)]),
    (["a:1,b:2", "c"], [("a", 1), ("b", 2), ("c", 9092)]),
    (("a:1",), [("a", 1)]),
    ([("a", 1)], [("a", 1)]),
    ([("::1", 5)], [("::1", 5)]),
    ("[::1]:9092", [("::1", 9092)]),
    ("[fe80::1%eth0]", [("fe80::1%eth0", 9092)]),
    ("10.0.0.1:65535", [("10.0.0.1", 65535)]),
    ("a:1,a:1,", [("a", 1)]),
    ("a:1,,b:2", [("a", 1), ("b", 2)]),
    (" a:1 , ,\n b:2 ,", [("a", 1), ("b", 2)]),
    (["", "a:1", " ", "b:2 "], [("a", 1), ("b", 2)]),
    ("PLAINTEXT://a:1", [("a", 1)]),
    ("kafka_1.internal-x:9092", [("kafka_1.internal-x", 9092)]),
    ("bücher.example:9092", [("bücher.example", 9092)]),
]


@pytest.mark.parametrize(("given", "expected"), GOOD, ids=str)
def test_good(given, expected):
    assert parse_servers("bootstrap_servers", given) == tuple(expected)


BAD = [
    ("a:0", "a:0"),
    ("a:65536", "a:65536"),
    ("a:port", "a:port"),
    ("a:-1", "a:-1"),
    ("a:", "a:"),
    (":9092", ":9092"),
    ("good:1,bad host:2", "bad host:2"),
    ("::1:9092", "brackets"),
    ("[::1", "[::1"),
    ("[zz]:1", "[zz]:1"),
    ("http://a:1", "http://a:1"),
    ("SSL://a:1", "SSL://a:1"),
    (["a:1", 5], "5"),
    (["a:1", None], "None"),
    ("a:" + "9" * 5000, "port"),
    ("x" * 300, "xxx"),
    ("a:٣", "port"),
    (9092, "9092"),
    ({"a": 1}, "host:port"),
]


@pytest.mark.parametrize(("given", "named"), BAD, ids=lambda v: str(v)[:30])
def test_bad_entries_are_named(given, named):
    with pytest.raises(KafkaConfigurationError) as caught:
        parse_servers("bootstrap_servers", given)
    assert named in str(caught.value)
    assert caught.value.option == "bootstrap_servers"


@pytest.mark.parametrize("given", ["", ",", [], " , ", " ", [""], ["", " , "], ()])
def test_nothing_at_all(given):
    with pytest.raises(KafkaConfigurationError, match="is empty: name at least one broker"):
        parse_servers("bootstrap_servers", given)


def test_formatting_goes_back():
    for text in ("a:1", "[::1]:9092"):
        ((host, port),) = parse_servers("bootstrap_servers", text)
        assert format_server(host, port) == text


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        ("kafka://alice:se@cret@h:9092", "kafka://[hidden]@h:9092"),
        ("alice:secret@h:9092", "[hidden]@h:9092"),
        ("kafka://h:9092", "kafka://h:9092"),
    ],
)
def test_a_password_in_an_address_is_not_shown(entry, shown):
    """Errors are logged, and URLs have them."""
    with pytest.raises(KafkaConfigurationError) as caught:
        parse_servers("bootstrap_servers", entry)
    assert f"entry {shown!r}" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "cret@" not in str(caught.value)
