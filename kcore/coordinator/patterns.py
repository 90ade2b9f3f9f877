"""Regular expressions of clients. Kafka's are RE2's, matched in linear time. Python's can take for
ever, but not without groups and with few repetitions: others are refused.
"""

from __future__ import annotations

import re
from typing import Final

from kcore.limits import MAX_NAME_CHARS

_REPETITIONS_MAX: Final = 3
_REPETITION: Final = re.compile(r"[*+?{]")


def compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern; None if it is none, or one that is not matched here."""
    if (
        len(pattern) > MAX_NAME_CHARS
        or "(" in pattern
        or len(_REPETITION.findall(pattern)) > _REPETITIONS_MAX
    ):
        return None
    try:
        return re.compile(pattern)
    except re.error:
        return None
