"""From results to what is read: the plots, and the tables inside docs/*PERFORMANCE.md.

    python bench/report.py [--results bench/results]

Between `<!-- bench: NAME -->` and `<!-- end -->` a document has a section's table and what it was
made with; the names `goals` and `spark_goals` stand for lists of goals. Nothing there is written by
hand. The section `spark` has a document, tables and plots of its own (`spark_tables.py`).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import plots
import spark_plots
import spark_tables
from goals import goals
from machine import HERE, RESULTS, Result
from tables import TABLES, Lines, where

DOCUMENT = HERE.parent / "docs" / "PERFORMANCE.md"
SPARK_DOCUMENT = HERE.parent / "docs" / "SPARK_PERFORMANCE.md"
PLOTS = HERE.parent / "docs" / "plots"
LOAD = re.compile(r"load ([\d.]+) over 1 min")
BLOCK = re.compile(r"(<!-- bench: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def read(folder: Path) -> dict[str, Result]:
    """All results of a folder, by section."""
    return {
        name: json.loads(path.read_text())
        for name in [*TABLES, "spark"]
        if (path := folder / f"{name}.json").exists()
    }


def write(
    folder: Path, plots_to: Path, document: Path | None, spark_document: Path | None = None
) -> Lines:
    """Draw and fill in what there are results for; gives the list of goals, and prints it."""
    results = read(folder)
    spark = results.pop("spark", None)
    if spark is not None:
        write_spark(spark, plots_to, spark_document)
    for name in plots.PLOTS.keys() & results.keys():
        plots.draw(results[name], plots_to / f"{name}.svg")
    listed = goals(results)
    if document is not None:
        document.write_text(filled(document.read_text(), results, listed))
    print("\n" + "\n".join(listed))
    return listed


def write_spark(result: Result, plots_to: Path, document: Path | None) -> None:
    """The same for what was measured in Spark."""
    for name, (parts, make) in spark_plots.PLOTS.items():
        if all(part in result for part in parts):
            plots.draw(result, plots_to / f"{name}.svg", make)
    if document is None:
        return

    def block(match: re.Match[str]) -> str:
        name = match[2]
        if name != "spark_goals" and name.removeprefix("spark_") not in result:
            return match[0]
        lines = spark_tables.PARTS[name](result)
        if name == "spark_goals":
            lines += ["", where(result)]
        return f"{match[1]}\n" + "\n".join(lines) + f"\n\n{match[3]}"

    document.write_text(BLOCK.sub(block, document.read_text()))


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
    parser.add_argument("--spark-document", type=Path, default=SPARK_DOCUMENT)
    args = parser.parse_args()
    write(args.results, args.plots, args.document, args.spark_document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
