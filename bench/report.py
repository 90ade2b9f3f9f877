"""From results to what is read: the plots, and the tables inside docs/PERFORMANCE.md.

    python bench/report.py [--results bench/results]

Between `<!-- bench: NAME -->` and `<!-- end -->` the document has a section's table and what it was
made with; the name `goals` stands for the list of all goals. Nothing there is written by hand.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import plots
from goals import goals
from machine import HERE, RESULTS, Result
from tables import TABLES, Lines, where

DOCUMENT = HERE.parent / "docs" / "PERFORMANCE.md"
PLOTS = HERE.parent / "docs" / "plots"
LOAD = re.compile(r"load ([\d.]+) over 1 min")
BLOCK = re.compile(r"(<!-- bench: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def read(folder: Path) -> dict[str, Result]:
    """All results of a folder, by section."""
    return {
        name: json.loads(path.read_text())
        for name in TABLES
        if (path := folder / f"{name}.json").exists()
    }


def write(folder: Path, plots_to: Path, document: Path | None) -> Lines:
    """Draw and fill in what there are results for; gives the list of goals, and prints it."""
    results = read(folder)
    for name in plots.PLOTS.keys() & results.keys():
        plots.draw(results[name], plots_to / f"{name}.svg")
    listed = goals(results)
    if document is not None:
        document.write_text(filled(document.read_text(), results, listed))
    print("\n" + "\n".join(listed))
    return listed


def filled(text: str, results: dict[str, Result], listed: Lines) -> str:
    """The document with its blocks made anew; those without results stay as they are."""

    def block(match: re.Match[str]) -> str:
        name = match[2]
        if name == "goals":
            lines = [*listed, "", company(results)]
        elif name in results:
            lines = [*TABLES[name](results[name]), "", where(results[name])]
        else:
            return match[0]
        return f"{match[1]}\n" + "\n".join(lines) + f"\n\n{match[3]}"

    return BLOCK.sub(block, text)


def company(results: dict[str, Result]) -> str:
    """How busy the machine was: with more to run than it has cores, figures are less than that."""
    loads = {name: LOAD.search(result["about"]["load"]) for name, result in results.items()}
    told = ", ".join(f"{name} {found[1]}" for name, found in loads.items() if found)
    return (
        "The machine's load over the last minute of each section, the section's own (one to three)"
        f" among it: {told or 'not known'}. Where it is well above that, others were at work, the"
        " ceilings were slowed down as well, and a goal met or missed by little is neither."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--plots", type=Path, default=PLOTS)
    parser.add_argument("--document", type=Path, default=DOCUMENT)
    args = parser.parse_args()
    write(args.results, args.plots, args.document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
