"""Regular expressions of clients, in one walk over the text."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcore.coordinator.patterns import STATES_MAX, compiled

NAMES = ["", "a", "ab", "abab", "foo", "foo-1", "foo-bar", "bar", "Foo", "foo.bar_9", "\n", "日本"]
SAME = [
    "", "a", "foo.*", "^foo", "foo$", "^foo$", "fo+-[0-9]", "(foo|bar)", "(?:foo|bar)-?.*", "a{2}",
    "(ab){1,2}", "(ab){2,}", "a{0,3}b*", "[^a]+", "[a-z-]+", "[]a]+", "[-a]b", r"foo\.bar_\d",
    r"\w+", r"[\w.]+", r"\W", r"\D+", r"foo\b.*", r"foo\B.*", "(?i)FOO", "(?i:F)oo", ".", "(?s).",
    "(?P<name>foo).*", "a*?b", "a??", "(a|b|)*", "((a)|(b))+", r"[\d\-a-c]+", "a|", "|a", "()",
    "(a*)*", "(a*)+b", "[.]", "x{0}", r"\Afoo\Z".replace("Z", "z"), "(?i)(foo|b)AR", "日.",
]  # fmt: skip
UNREADABLE = [
    "(", ")", "a)", "(a", "[", "[a", "[]", "*", "+a", "a**", "a+*", "a{2}{3}", "a{3,2}", "a{1001}",
    r"\1", r"(a)\1", "(?=a)", "(?!a)", "(?<=a)", "(?<!a)b", "(?>a)", "(?m)^a", r"\p{L}", r"\x41",
    "(?-)a", "(?i-)a", "(?--i)a", "(?-m)a", "(?P<>a)", "(?P<a-b>a)", "(?P<1>a)(?P<1>b)",
    "(?P<n>a)(?P<n>b)", "(?<n>a)|(?P<n>b)", "\\",
    "[z-a]", "[[:nothing:]]", "a" * 250, "(" * 60 + ")" * 60, "(a{100}){100}", "a{501}",
]  # fmt: skip


@pytest.mark.parametrize("pattern", SAME)
def test_what_python_finds_is_found(pattern):
    mine = compiled(pattern)
    theirs = re.compile(pattern.replace("\\z", "\\Z"), re.ASCII)
    assert mine is not None
    for name in NAMES:
        assert mine.fullmatch(name) == bool(theirs.fullmatch(name)), name


@pytest.mark.parametrize("pattern", UNREADABLE)
def test_what_cannot_be_read_is_none(pattern):
    assert compiled(pattern) is None


def test_what_only_re2_has():
    assert compiled("[[:alpha:]]+[[:digit:]-]*").fullmatch("foo-1")
    assert not compiled("[^[:alpha:]]+").fullmatch("foo")
    assert compiled(r"\Qa.b*\E+c").fullmatch("a.b**c") is False
    assert compiled(r"\Qa.b*\Ec").fullmatch("a.b*c")
    assert compiled(r"x\Q(").fullmatch("x(")


@pytest.mark.parametrize(
    ("pattern", "matched", "not_matched"),
    [
        ("(?i)fo(?-i)o", ["FOo", "foo"], ["FOO", "foO"]),
        ("(?i)f(?-i:o)o", ["FoO", "foo"], ["FOO"]),
        ("(?i-s)A.", ["ab", "aB"], ["a\n", "b."]),
        ("(?s-i)A.", ["A\n"], ["a\n"]),
        ("(?U)fo+?", ["fo", "foo"], ["f"]),
        ("(?iU)fo+", ["FOO"], [""]),
        ("(?-U)a", ["a"], ["A"]),
        ("(?i)(?:(?-i)a|A)a", ["aA", "Aa"], []),
        ("[[:^alpha:]]+", ["1-2", "日"], ["", "a", "1a"]),
        ("[[:^digit:]a]+", ["ab-"], ["1"]),
        ("[^[:^alpha:]]+", ["ab"], ["1", "a1"]),
        ("(?i)[[:^upper:]]", ["1", "-"], ["a", "A", "k", "K", "s"]),
        (r"(?i)\W", ["-"], ["k", "S", "_"]),
        ("(?P<1>a)(?P<2>b)", ["ab"], ["a"]),
        ("(?<1a>a)", ["a"], ["1a"]),
    ],
)
def test_what_re2_has_and_python_has_in_part(pattern, matched, not_matched):
    mine = compiled(pattern)
    assert mine is not None
    for name in matched:
        assert mine.fullmatch(name), name
    for name in not_matched:
        assert not mine.fullmatch(name), name


def test_a_pattern_that_python_never_finishes():
    began = time.monotonic()
    assert not compiled("(a|a|aa)*(a*)*(a+)+b").fullmatch("a" * 249)
    assert not compiled("(a?){100}a{100}").fullmatch("a" * 99)
    assert time.monotonic() - began < 5
    assert STATES_MAX < 1_000


PIECES = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", "(a|b)", "(?:ab)", "\\w", "^", "$", "(a|(b|))", "-"]
)
REPEATS = st.sampled_from(["", "", "*", "+", "?", "{2}", "{1,2}", "{0,1}", "*?"])


@given(
    st.lists(st.tuples(PIECES, REPEATS), max_size=5),
    st.text("ab-\n", max_size=6),
)
def test_as_python_does(pieces, text):
    pattern = "".join(part + ("" if part in "^$" else times) for part, times in pieces)
    # Python's `$` is also before a last newline; RE2's is not.
    theirs = re.compile(pattern.replace("$", "\\Z"), re.ASCII)
    assert compiled(pattern).fullmatch(text) == bool(theirs.fullmatch(text))
