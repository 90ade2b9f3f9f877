"""What can go wrong with a job, and how it is said: in a line, not in a page of Spark's."""

from __future__ import annotations

import re
from typing import Final

_PYTHON: Final = re.compile(r"^(?:[a-z_]\w*\.)*(\w*(?:Error|Exception)): (.+)$")
_CALLED: Final = re.compile(r"^An error occurred while calling \S+\n: ")  # Py4J, before Java's own
_MESSAGE_MAX: Final = 500


class JobError(RuntimeError):
    """A job could not be run to its end."""


class WrongResultError(JobError):
    """The stream's answer is not pandas'."""


def shortened(text: str) -> str:
    """What matters of an exception as Spark tells it: the last error of the Python worker, if it
    was one, else the first line.
    """
    found = ""
    for line in text.splitlines():
        match = _PYTHON.match(line.strip())
        if match is not None and not line.strip().startswith(("org.apache.", "java.", "scala.")):
            found = f"{match[1]}: {match[2]}"
    lines = _CALLED.sub("", text.strip()).splitlines()
    return (found or (lines[0] if lines else ""))[:_MESSAGE_MAX]
