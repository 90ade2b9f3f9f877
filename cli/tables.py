"""Tables of the command line: on a terminal as wide as that is, elsewhere a row is a line; or, for
programs, as JSON: an object on a line for each row.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from io import TextIOWrapper
from typing import Any, Final, NoReturn

from rich.console import Console
from rich.table import Table

from kcore.cli.endings import output, printable
from kcore.tuples import NamedTuple

_NOTHING: Final = "-"
# No wider than that is what a broker may have set of an entry, or assigned to a member. Columns are
# as wide as their widest cell.
_WIDE: Final = 1_000_000


class Cell(NamedTuple):
    """One that people see as `text`, and programs as `value`."""

    text: str
    value: Any


class Rows(Table):
    """A table whose cells are words that strangers have chosen, numbers, lists of both, or None.
    of: what all rows are of, for programs; people are told above the table.
    """

    def __init__(self, of: Mapping[str, Any]) -> None:
        super().__init__(box=None, pad_edge=False)
        self._of = of
        self.objects: list[dict[str, Any]] = []

    def add_row(self, *cells: Any, **how: Any) -> None:
        """As there; a cell is a line, and nothing that a terminal would obey."""
        super().add_row(*map(_shown, cells), **how)
        names = (str(column.header).replace(" ", "_") for column in self.columns)
        values = (cell.value if isinstance(cell, Cell) else cell for cell in cells)
        self.objects.append({**self._of, **dict(zip(names, values, strict=True))})


def _shown(cell: Any) -> str:
    if isinstance(cell, Cell):
        return printable(cell.text)
    if isinstance(cell, (list, tuple)):
        between = "," if all(isinstance(one, int) for one in cell) else ", "
        return printable(between.join(map(str, cell))) or _NOTHING
    return _NOTHING if cell is None else printable(str(cell))


def table(*left: str, right: tuple[str, ...] = (), of: Mapping[str, Any] | None = None) -> Rows:
    """An empty one: columns of text, then columns of numbers. of: see Rows."""
    made = Rows(of or {})
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
    """Where tables and lines are printed. as_json: tables as objects, and lines, which are for
    people, not. RefusalError when it is made, before anybody is asked for anything: there is no
    standard output.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        width = None if output().isatty() else _WIDE
        if isinstance(sys.stdout, TextIOWrapper):  # which may have few characters (ISO-8859-1)
            sys.stdout.reconfigure(errors="backslashreplace")
        self._console = _Output(width=width, highlight=False, markup=False, emoji=False)
        self.as_json = as_json

    def show(self, *parts: str | Rows) -> None:
        """Print these, a text on a line, a table on lines of its own."""
        if self.as_json:
            tables = (part for part in parts if isinstance(part, Rows))
            self.tell(row for table in tables for row in table.objects)
            return
        shown = (printable(part) if isinstance(part, str) else part for part in parts)
        self._console.print(*shown, sep="\n")

    def tell(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Print these as JSON, one on a line."""
        for one in objects:
            self._console.out(json.dumps(one), highlight=False)
