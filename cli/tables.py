"""Tables of the command line: on a terminal as wide as that is, elsewhere a row is a line."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from rich.console import Console
from rich.table import Table

from kcore.cli.endings import output

# No wider than that is what a broker may have set of an entry, or assigned to a member. Columns are
# as wide as their widest cell.
_WIDE: Final = 1_000_000


class Rows(Table):
    """A table whose cells are words that strangers have chosen."""

    def add_row(self, *cells: Any, **how: Any) -> None:
        """As there; a cell is a line, and nothing that a terminal would obey."""
        super().add_row(*map(printable, cells), **how)


def printable(text: Any) -> Any:
    r"""Characters that do not print as Python writes them (`\x1b`, `\n`): ids of groups and clients
    may have any, and a terminal obeys some. What is no text is left alone.
    """
    if not isinstance(text, str) or text.isprintable():
        return text
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in text
    )


def table(*left: str, right: tuple[str, ...] = ()) -> Rows:
    """An empty one: columns of text, then columns of numbers."""
    made = Rows(box=None, pad_edge=False)
    for column in left:
        made.add_column(column, overflow="fold")
    for column in right:
        made.add_column(column, justify="right", overflow="fold")
    return made


class _Output(Console):
    """Has whoever runs a verb end it when nobody reads on; rich would end the process itself."""

    def on_broken_pipe(self) -> NoReturn:
        """As it came."""
        raise BrokenPipeError


class Page:
    """Where tables and lines are printed. RefusalError when it is made, before anybody is asked for
    anything: there is no standard output.
    """

    def __init__(self) -> None:
        width = None if output().isatty() else _WIDE
        self._console = _Output(width=width, highlight=False, markup=False)

    def show(self, *parts: object) -> None:
        """Print these, a text on a line, a table on lines of its own."""
        self._console.print(*map(printable, parts), sep="\n")
