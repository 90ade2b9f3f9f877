"""A logger that loads `logging` with its first word, not before: that is a tenth of a start.

As long as nobody has loaded it, nobody has asked for more than warnings either.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging


class Log:
    """What is used of `logging.getLogger(name)`, from any thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: logging.Logger | None = None

    def debug(self, text: str, *args: object) -> None:
        """A line that only those see who have asked for it."""
        if "logging" in sys.modules:
            self._logger().debug(text, *args, stacklevel=2)

    def info(self, text: str, *args: object) -> None:
        """A line that only those see who have asked for it."""
        if "logging" in sys.modules:
            self._logger().info(text, *args, stacklevel=2)

    def warning(self, text: str, *args: object) -> None:
        """A line that all see who have not refused it."""
        self._logger().warning(text, *args, stacklevel=2)

    def exception(self, text: str, *args: object) -> None:
        """An error line with the exception being handled."""
        self._logger().exception(text, *args, stacklevel=2)

    def _logger(self) -> logging.Logger:
        # Kept: to ask again takes a lock of logging's, which Ctrl-C can leave behind closed (until
        # Python 3.13).
        if self._found is None:
            import logging  # noqa: PLC0415 - see the module's text

            self._found = logging.getLogger(self._name)
        return self._found
