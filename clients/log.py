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
        import logging  # noqa: PLC0415 - see the module's text

        return logging.getLogger(self._name)
