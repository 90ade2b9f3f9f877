"""Tables of the command line: on a terminal as wide as that is, elsewhere a row is a line."""

from __future__ import annotations

from typing import Final

from rich.console import Console
from rich.table import Table

from kcore.cli.endings import output

_WIDE: Final = 1_000


def table(*left: str, right: tuple[str, ...] = ()) -> Table:
    """An empty one: columns of text, then columns of numbers."""
    made = Table(box=None, pad_edge=False)
    for column in left:
        made.add_column(column, overflow="fold")
    for column in right:
        made.add_column(column, justify="right", overflow="fold")
    return made


class Page:
    """Where tables and lines are printed. RefusalError when it is made, before anybody is asked for
    anything: there is no standard output.
    """

    def __init__(self) -> None:
        width = None if output().isatty() else _WIDE
        self._console = Console(width=width, highlight=False, markup=False)

    def show(self, *parts: object) -> None:
        """Print these, each on lines of its own."""
        self._console.print(*parts, sep="\n")
