"""Durations as ISO 8601 writes them, read as Java's `Duration.parse` does (KIP-1106).

    P1DT2H30M    a day of 24 hours, two hours and a half
    PT1.5S       seconds alone may have a fraction, of nine digits at most, behind a point or comma
    -PT-6H+3M    every part may have a sign, and so may the whole: 5 h 57 min

Letters count in either case. Whatever has years, months or weeks is refused: their length depends.
"""

from __future__ import annotations

import re
from typing import Final

from kcore.limits import MAX_INT64

# Not every digit and letter of Unicode: re.IGNORECASE alone takes a long s for an S.
_FORM: Final = (
    r"([-+]?)P(?:([-+]?[0-9]+)D)?"
    r"(T(?=[-+0-9])(?:([-+]?[0-9]+)H)?(?:([-+]?[0-9]+)M)?"
    r"(?:([-+]?[0-9]+)(?:[.,]([0-9]{0,9}))?S)?)?"
)
_FLAGS: Final = re.ASCII | re.IGNORECASE
_SECONDS: Final = (86_400, 3_600, 60, 1)  # of a day, an hour, a minute and themselves
_CHARS_MAX: Final = 1_000  # leading zeros are allowed; int() would not read any number of them
_NS: Final = 1_000_000_000
_NS_OF_MS: Final = 1_000_000


def parse_ms(text: str) -> int:
    """So many ms; a fraction of one counts as a whole one. ValueError: not a duration, a negative
    one, or more seconds than fit into 64 bits; it says which.
    """
    found = re.fullmatch(_FORM, text, _FLAGS) if len(text) <= _CHARS_MAX else None
    if found is None or not any(found.group(2, 4, 5, 6)):
        raise ValueError("not a duration")
    sign, days, _, hours, minutes, seconds, fraction = found.groups()
    whole = 0
    for part, factor in zip((days, hours, minutes, seconds), _SECONDS, strict=True):
        own = int(part or 0) * factor
        if abs(own) > MAX_INT64:
            raise ValueError("too long a duration")
        whole += own
    part_ns = int((fraction or "").ljust(9, "0"))
    total_ns = whole * _NS + (-part_ns if (seconds or "").startswith("-") else part_ns)
    if sign == "-":
        total_ns = -total_ns
    if total_ns < 0:
        raise ValueError("a negative duration")
    if total_ns // _NS > MAX_INT64:
        raise ValueError("too long a duration")
    return -(-total_ns // _NS_OF_MS)
