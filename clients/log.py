"""A logger that loads `logging` with its first word, not before: that is a tenth of a start.

As long as nobody has loaded it, nobody has asked for more than warnings either. Nothing that reads
the log can break what writes to it: there, as anywhere, it would look like a signal that strikes.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from kcore.hints import TYPE_CHECKING

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
            try:
                self._logger().debug(text, *args, stacklevel=2)
            except Exception:  # noqa: BLE001 - as below
                complain()

    def info(self, text: str, *args: object) -> None:
        """A line that only those see who have asked for it."""
        if "logging" in sys.modules:
            try:
                self._logger().info(text, *args, stacklevel=2)
            except Exception:  # noqa: BLE001 - as below
                complain()

    def warning(self, text: str, *args: object) -> None:
        """A line that all see who have not refused it."""
        try:
            self._logger().warning(text, *args, stacklevel=2)
        except Exception:  # noqa: BLE001 - as below
            complain()

    def exception(self, text: str, *args: object) -> None:
        """An error line with the exception being handled."""
        try:
            self._logger().exception(text, *args, stacklevel=2)
        except Exception:  # noqa: BLE001 - a handler's or a filter's: what is done goes on
            complain()

    def _logger(self) -> logging.Logger:
        # Kept: to ask again takes a lock of logging's, which Ctrl-C can leave behind closed (until
        # Python 3.13).
        if self._found is None:
            import logging  # noqa: PLC0415 - see the module's text

            self._found = logging.getLogger(self._name)
        return self._found


def complain() -> None:
    """Say what a handler or a filter of the user's has raised, as logging does of the handlers that
    tell it so themselves (`Handler.handleError`).
    """
    import logging  # noqa: PLC0415 - see the module's text
    from traceback import print_exc  # noqa: PLC0415 - likewise

    if logging.raiseExceptions and sys.stderr is not None:
        with suppress(OSError, ValueError):  # closed
            sys.stderr.write("--- Logging error ---\n")
            print_exc(file=sys.stderr)
