"""Print what the named extras of pyproject.toml need, one a line, as pip reads it from a file.

Two names are not extras: `core` is what kcore itself depends on, `build` what building it takes.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
OWN_EXTRA = re.compile(r"kcore\[([\w, -]+)\]")


def requirements(names: list[str], settings: dict) -> Iterator[str]:
    """The requirements of these extras, references among them followed."""
    for name in names:
        if name == "core":
            listed = settings["project"]["dependencies"]
        elif name == "build":
            listed = settings["build-system"]["requires"]
        else:
            listed = settings["project"]["optional-dependencies"][name]
        for item in listed:
            own = OWN_EXTRA.fullmatch(item)
            if own:
                yield from requirements([part.strip() for part in own[1].split(",")], settings)
            else:
                yield item


if __name__ == "__main__":
    print("\n".join(sorted(set(requirements(sys.argv[1:], tomllib.loads(PYPROJECT.read_text()))))))
