"""A heartbeat that is refused, of whatever kind of group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message

# What an answer says at most.
WHY_CHARS_MAX: Final = 1_000

M = TypeVar("M", bound=Message)


class RefusedError(Exception):
    """It is answered with this error and changes nothing. What it says may have names of a client's
    in it: it is cut, so that it fits a string.
    """

    def __init__(self, error: ErrorCode, why: str | None) -> None:
        super().__init__(why)
        self.error = error
        self.why = None if why is None else why[:WHY_CHARS_MAX]

    def answer(self, response: Callable[..., M]) -> M:
        """The answer, of this class."""
        return response(error_code=self.error, error_message=self.why)
