r"""Regular expressions of clients: of RE2's, what is used on names.

Literals, `.`, classes, escapes, groups, `|`, `* + ? {m,n}` (also lazy), `^ $ \A \z \b \B`, `(?i)`,
`(?s)`, `(?-i)`, and `(?U)`, which changes nothing about the whole. Whether the whole of a text
matches is found in one walk over it, with all states that the pattern can be in side by side: in
time that grows with both lengths and no faster, whatever a client sends. Python's own expressions
can take for ever; here they are only asked about one character at a time.

Source: RE2's syntax; Thompson's construction.
"""

from __future__ import annotations

import re
from typing import Final

from kcore.limits import MAX_NAME_CHARS
from kcore.tuples import NamedTuple

# States of one pattern: `{m,n}` writes its part out as often, and each costs at every character.
STATES_MAX: Final = 500

# How deep groups may lie in each other, and what a repetition may ask for (RE2's own bound).
_DEPTH_MAX: Final = 50
_REPEAT_MAX: Final = 1_000

# Steps remembered while one pattern is matched against many names.
_STEPS_MAX: Final = 20_000

_NAMED: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "word": r"0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_SHORT: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
_CONTROL: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_GROUP: Final = re.compile(
    r"\((?:\?P?<(?P<name>[0-9A-Za-z_]+)>|\?(?P<on>[isU]*)(?:-(?P<off>[isU]+))?(?P<end>[:)]))?"
)
# All but ASCII, without the two that a k and an s are the same as where case does not count.
_BEYOND_ASCII: Final = "\x80-\u017e\u0180-\u2129\u212b-\U0010ffff"
_REPEAT: Final = re.compile(r"(?:[*+?]|\{(\d{1,4})(,?)(\d{0,4})\})")
_NAMED_CLASS: Final = re.compile(r"\[:(\^?)([a-z]+):\]")
_BOUNDS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class _UnreadableError(Exception):
    pass


class _One(NamedTuple):
    """One character."""

    what: re.Pattern[str]


class _Here(NamedTuple):
    """Nothing, at a place: one of `^ $ b B`."""

    where: str


class _All(NamedTuple):
    parts: list[_Part]


class _Any(NamedTuple):
    parts: list[_Part]


class _Times(NamedTuple):
    part: _Part
    low: int
    high: int | None


_Part = _One | _Here | _All | _Any | _Times


class _Reader:
    """The parts of a pattern."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._names: set[str] = set()  # of groups: each is given once
        self._flags = ""

    def read(self) -> _Part:
        part = self._alternatives()
        if self._at < len(self._text):
            raise _UnreadableError  # a bracket that nothing opened
        return part

    def _alternatives(self) -> _Part:
        flags = self._flags
        found = [self._sequence()]
        while self._take("|"):
            found.append(self._sequence())
        self._flags = flags
        return _Any(found)

    def _sequence(self) -> _Part:
        parts: list[_Part] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            part = self._atom()
            if part is not None:
                parts.append(self._repeated(part))
        return _All(parts)

    def _repeated(self, part: _Part) -> _Part:
        found = _REPEAT.match(self._text, self._at)
        if found is None:
            return part
        self._at = found.end()
        self._take("?")  # lazy: what matches as a whole is the same
        if _REPEAT.match(self._text, self._at):
            raise _UnreadableError
        if found[0] in _BOUNDS:
            low, high = _BOUNDS[found[0]]
        else:
            low = int(found[1])
            high = int(found[3]) if found[3] else None if found[2] else low
            if max(low, high or 0) > _REPEAT_MAX or (high is not None and high < low):
                raise _UnreadableError
        return _Times(part, low, high)

    def _atom(self) -> _Part | None:
        """The next part; None for flags, which are none."""
        char = self._text[self._at]
        if char == "(":
            return self._group()
        if char == "[":
            return self._one(self._class())
        self._at += 1
        if char == "\\":
            return self._escape()
        if char in "^$":
            return _Here(char)
        if char in "*+?":
            raise _UnreadableError
        if char == ".":
            return self._one("." if "s" in self._flags else r"[^\n]")
        return self._one(re.escape(char))

    def _group(self) -> _Part | None:
        found = _GROUP.match(self._text, self._at)
        if found is None or (self._text.startswith("(?", self._at) and found.end() == self._at + 1):
            raise _UnreadableError
        self._at = found.end()
        flags = self._flags
        self._flags = "".join({*flags, *(found["on"] or "")} - {*(found["off"] or "")})
        if found["end"] == ")":
            return None
        self._depth += 1
        if self._depth > _DEPTH_MAX or found["name"] in self._names:
            raise _UnreadableError
        if found["name"]:
            self._names.add(found["name"])
        part = self._alternatives()
        self._flags = flags
        self._depth -= 1
        if not self._take(")"):
            raise _UnreadableError
        return part

    def _escape(self) -> _Part:
        char = self._next()
        if char in "Az":
            return _Here("^" if char == "A" else "$")
        if char in "bB":
            return _Here(char)
        if char == "Q":
            end = self._text.find("\\E", self._at)
            quoted = self._text[self._at :] if end < 0 else self._text[self._at : end]
            self._at = len(self._text) if end < 0 else end + len("\\E")
            return _All([self._one(re.escape(one)) for one in quoted])
        return self._one(f"[{self._escaped(char)}]")

    def _escaped(self, char: str) -> str:
        """What stands behind a backslash, as a part of a class."""
        if char in _SHORT:
            return _SHORT[char]
        if char.lower() in _SHORT:
            return self._others(_SHORT[char.lower()])
        if char in _CONTROL:
            return re.escape(_CONTROL[char])
        if char.isascii() and char.isalnum():
            raise _UnreadableError  # \p, \x, \1 and the like
        return re.escape(char)

    def _class(self) -> str:
        """A class, as Python writes it."""
        self._at += 1
        negated = "^" if self._take("^") else ""
        items = ""
        while not (self._text.startswith("]", self._at) and items):
            named = _NAMED_CLASS.match(self._text, self._at)
            if named is not None:
                if named[2] not in _NAMED:
                    raise _UnreadableError
                self._at = named.end()
                items += self._others(_NAMED[named[2]]) if named[1] else _NAMED[named[2]]
                continue
            char = self._next()
            if char == "\\":
                items += self._escaped(self._next())
            elif char == "-" and items and not self._text.startswith("]", self._at):
                items += "-"  # a range; its end comes next
            else:
                items += re.escape(char)
        self._at += 1
        return f"[{negated}{items}]"

    def _others(self, items: str) -> str:
        """All that a class does not have: from the first character to the last, less these."""
        inside = re.compile(f"[{items}]", self._case())
        others = [chr(code) for code in range(128) if not inside.match(chr(code))]
        return "".join(map(re.escape, others)) + _BEYOND_ASCII

    def _case(self) -> re.RegexFlag:
        return re.IGNORECASE if "i" in self._flags else re.RegexFlag(0)

    def _one(self, what: str) -> _One:
        flags = self._case()
        return _One(re.compile(what, flags | re.DOTALL))

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise _UnreadableError
        self._at += 1
        return self._text[self._at - 1]

    def _take(self, char: str) -> bool:
        taken = self._text.startswith(char, self._at)
        self._at += taken
        return taken


class Pattern:
    """A pattern that can be matched."""

    def __init__(self, part: _Part) -> None:
        # State -> what it wants (None: nothing) and the states behind it; state 0 is the end.
        self._states: list[tuple[_One | _Here | None, list[int]]] = [(None, [])]
        self._start = self._build(part, 0)
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        # What is reached inside of a text depends on nothing else, but for `\b` and `\B`.
        self._inside: dict[frozenset[int], frozenset[int]] = {}
        self._bound = any(
            isinstance(what, _Here) and what.where in "bB" for what, _ in self._states
        )

    def fullmatch(self, text: str) -> bool:
        """Whether it matches the text as a whole."""
        states = frozenset((self._start,))
        for at, char in enumerate(text):
            states = self._reached(states, text, at)
            step = self._steps.get((states, char))
            if step is None:
                step = self._step(states, char)
            if not step:
                return False
            states = step
        return 0 in self._reached(states, text, len(text))

    def _step(self, states: frozenset[int], char: str) -> frozenset[int]:
        found = set()
        for state in states:
            what, behind = self._states[state]
            if isinstance(what, _One) and what.what.fullmatch(char):
                found.update(behind)
        if len(self._steps) >= _STEPS_MAX:
            self._steps.clear()
            self._inside.clear()
        step = self._steps[states, char] = frozenset(found)
        return step

    def _reached(self, states: frozenset[int], text: str, at: int) -> frozenset[int]:
        """These, and all behind them that want no character."""
        inside = 0 < at < len(text) and not self._bound
        if inside and states in self._inside:
            return self._inside[states]
        found = set(states)
        line = list(states)
        while line:
            what, behind = self._states[line.pop()]
            if isinstance(what, _One) or (what is not None and not _is_at(what.where, text, at)):
                continue
            line += [state for state in behind if state not in found]
            found.update(behind)
        reached = frozenset(found)
        if inside:
            self._inside[states] = reached
        return reached

    def _build(self, part: _Part, after: int) -> int:
        """Put a part before a state; the state it begins with."""
        if isinstance(part, _All):
            for one in reversed(part.parts):
                after = self._build(one, after)
            return after
        if isinstance(part, _Any):
            return self._add(None, [self._build(one, after) for one in part.parts])
        if isinstance(part, _Times):
            return self._build_times(part, after)
        return self._add(part, [after])

    def _build_times(self, part: _Times, after: int) -> int:
        if part.high is None:
            behind: list[int] = [after]
            again = self._add(None, behind)
            behind.append(self._build(part.part, again))
            start = again
        else:
            start = after
            for _ in range(part.high - part.low):
                start = self._add(None, [self._build(part.part, start), after])
        for _ in range(part.low):
            start = self._build(part.part, start)
        return start

    def _add(self, what: _One | _Here | None, behind: list[int]) -> int:
        if len(self._states) >= STATES_MAX:
            raise _UnreadableError
        self._states.append((what, behind))
        return len(self._states) - 1


def compiled(pattern: str) -> Pattern | None:
    """The pattern; None if it is none, or one that is not matched here."""
    if len(pattern) > MAX_NAME_CHARS:
        return None
    try:
        return Pattern(_Reader(pattern).read())
    except (_UnreadableError, re.error):
        return None


def _is_at(where: str, text: str, at: int) -> bool:
    if where == "^":
        return at == 0
    if where == "$":
        return at == len(text)
    before = at > 0 and _is_word(text[at - 1])
    boundary = before != (at < len(text) and _is_word(text[at]))
    return boundary == (where == "b")


def _is_word(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())
