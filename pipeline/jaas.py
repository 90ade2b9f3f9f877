"""The text of `sasl.jaas.config`: a login module, a control flag, options, a semicolon.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="x";

Read as Java's JaasConfig does, which a StreamTokenizer cuts into words: texts in either quote with
a C programmer's escapes, comments of both kinds, a flag in any case. Words without quotes may have
more signs than Java's. What is wrong is said without a value in it: that could be a secret.
"""

from __future__ import annotations

import re

from kcore.tuples import NamedTuple

# Only one module is there: whichever flag it has, it has to succeed.
_FLAGS = ("required", "requisite", "sufficient", "optional")
_BLANKS = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NAME = re.compile(r"[\w.$-]+")
_VALUE = re.compile(
    r""" "((?:[^"\\\n]|\\.)*)" | '((?:[^'\\\n]|\\.)*)' | ([^\s;"']+) """, re.VERBOSE
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|[^\n])")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class JaasError(ValueError):
    """What is wrong with a text."""


class Login(NamedTuple):
    """module: its class, with its package. options: the last of a name counts."""

    module: str
    options: dict[str, str]


def read_jaas(text: str) -> Login:
    """The one login that it describes. JaasError: what Java does not read either."""
    at = _Cursor(text)
    module = at.word("a login module")
    flag = at.word("a control flag such as `required` behind the login module")
    if flag.lower() not in _FLAGS:
        raise JaasError(f"the control flag is one of {', '.join(_FLAGS)}, and not {flag!r}")
    options: dict[str, str] = {}
    while not at.has(";"):
        if at.is_done:
            raise JaasError("it has to end with `;`")
        name = at.word("an option, or `;`,")
        if not at.has("="):  # what looks like a name may be the end of a secret with quotes in it
            raise JaasError(f"`=` and a value are expected at character {at.position}")
        options[name] = at.value(name)
    if not at.is_done:
        raise JaasError("one login module is all that may be there; more follows behind its `;`")
    return Login(module, options)


class _Cursor:
    """How far a text is read: always to where something is."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.position = 0
        self._pass(0)

    @property
    def is_done(self) -> bool:
        return self.position == len(self._text)

    def has(self, sign: str) -> bool:
        """Whether it comes now; it is read then."""
        found = self._text.startswith(sign, self.position)
        if found:
            self._pass(self.position + len(sign))
        return found

    def word(self, what: str) -> str:
        found = _NAME.match(self._text, self.position)
        if found is None:
            raise JaasError(f"{what} is expected at character {self.position}")
        self._pass(found.end())
        return found[0]

    def value(self, name: str) -> str:
        found = _VALUE.match(self._text, self.position) if not self.is_done else None
        if found is None:
            raise JaasError(f"the value of {name} is missing, or its quotes do not end in its line")
        self._pass(found.end())
        quoted = found[1] if found[1] is not None else found[2]
        return found[3] if quoted is None else _ESCAPE.sub(_unescaped, quoted)

    def _pass(self, end: int) -> None:
        blanks = _BLANKS.match(self._text, end)
        self.position = end if blanks is None else blanks.end()


def _unescaped(escape: re.Match[str]) -> str:
    sign = escape[1]
    return chr(int(sign, 8)) if sign[0] in "01234567" else _ESCAPES.get(sign, sign)
