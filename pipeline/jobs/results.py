"""What Spark's file sink has written, and whether it is what pandas says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from kcore.pipeline.jobs.errors import WrongResultError

if TYPE_CHECKING:
    from pandas import DataFrame


def files(folder: Path) -> list[Path]:
    """The files that Spark's file sink says are part of the result, where it says so (in
    `_spark_metadata`): a task that was killed may have left one that is not.
    """
    log = folder / "_spark_metadata"
    if not log.is_dir():
        return sorted(folder.glob("*.parquet"))
    entries = [path for path in log.iterdir() if path.stem.isdigit()]
    # N.compact tells everything up to batch N; later batches have a file each.
    first = max((int(path.stem) for path in entries if path.suffix == ".compact"), default=-1)
    names: dict[str, None] = {}
    for path in sorted(entries, key=lambda one: int(one.stem)):
        if int(path.stem) > first or (path.suffix == ".compact" and int(path.stem) == first):
            for line in path.read_text().splitlines()[1:]:
                entry = json.loads(line)
                if entry["action"] == "add":
                    names[Path(entry["path"]).name] = None
    return [folder / name for name in names]


def check(what: str, found: DataFrame, wanted: DataFrame) -> DataFrame:
    """The result, sorted, if it is what pandas makes of the same rows. WrongResultError: else."""
    import pandas as pd  # noqa: PLC0415

    if len(found) != len(wanted):
        raise WrongResultError(f"{what}: {len(found):,} rows, and pandas has {len(wanted):,}")
    columns = list(wanted.columns)
    missing = [column for column in columns if column not in found.columns]
    if missing:
        raise WrongResultError(f"{what}: there is no column {', '.join(missing)}")
    found = found[columns].copy()
    for column in columns:
        if isinstance(wanted[column].dtype, pd.DatetimeTZDtype):
            found[column] = pd.to_datetime(found[column], utc=True)
    found = found.sort_values(columns, ignore_index=True)
    try:
        pd.testing.assert_frame_equal(
            found,
            wanted.sort_values(columns, ignore_index=True),
            check_dtype=False,
            rtol=1e-9,
        )
    except AssertionError as difference:
        said = " ".join(str(difference).split())
        raise WrongResultError(f"{what}: not what pandas has: {said}") from None
    return found
