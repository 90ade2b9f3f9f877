"""The README and the pages of docs/, and the examples in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"^ {4}(\S.*)$", re.MULTILINE)


def names() -> list[str]:
    return ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def python(name: str) -> list[str]:
    """The examples in Python of a page, in order."""
    return _PYTHON.findall(text(name))


def commands(name: str) -> list[str]:
    """The lines of a page that are typed into a shell, without what is said beside them."""
    page = text(name)
    blocks = [code for language, code in _FENCED.findall(page) if not language]
    lines = [line for block in blocks for line in block.splitlines()]
    lines += _INDENTED.findall(_FENCED.sub("", page))  # not what is said between two blocks
    return [re.sub(r"\s{2,}.*|\s+#.*", "", line) for line in lines]


def table(name: str, heading: str) -> list[list[str]]:
    """The rows below the table's first line, which begins with `heading`: texts of the cells."""
    lines = text(name).splitlines()
    (start,) = [number for number, line in enumerate(lines) if line.startswith(f"| {heading}")]
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def in_code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)
