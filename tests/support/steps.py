"""How much work something is: the lines that Python runs, which are the same each time."""

from __future__ import annotations

import sys
from collections.abc import Callable


def steps(work: Callable[[], object]) -> int:
    """How many lines of Python `work` takes. What is done inside C is not counted."""
    lines = 0

    def count(_frame: object, event: str, _argument: object) -> object:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


def growth(work_of: Callable[[int], Callable[[], object]], size: int) -> float:
    """By how much the work grows from twice to four times the size, to once to twice that: 2 if it
    grows as the size does, whatever is done once; 4 if it grows as its square.
    """
    once, twice, more = (steps(work_of(size * times)) for times in (1, 2, 4))
    return (more - twice) / (twice - once)
