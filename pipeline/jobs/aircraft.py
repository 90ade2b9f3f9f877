"""Where each aircraft was last, from a compacted topic: the newest record of a key is its state.

The topic is compacted while it is written, so that what a reader finds has gaps; some aircraft are
retired (a record without a value) and have no state at the end.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kcore.pipeline.jobs import data

if TYPE_CHECKING:
    from pandas import DataFrame

    from kcore.pipeline.jobs.runner import Job

TOPIC: Final = "aircraft"
TOPICS: Final = {
    TOPIC: {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.1",
        "segment.bytes": "1048576",
        "delete.retention.ms": "86400000",
    }
}
RETIRED_EVERY: Final = 10  # of the aircraft, in alphabetical order
_SCHEMA: Final = "scheduled TIMESTAMP, carrier STRING, origin STRING, dest STRING"
_COLUMNS: Final = ["tailnum", "scheduled", "carrier", "origin", "dest"]


def _states() -> DataFrame:
    rows = data.flights()
    return rows[rows["tailnum"].notna()][_COLUMNS]


def _retired(rows: DataFrame) -> list[str]:
    names: list[str] = sorted(rows["tailnum"].unique())[::RETIRED_EVERY]
    return names


def load(bootstrap: str) -> int:
    """Fill the topic; how many records."""
    rows = _states()
    retired = [name.encode() for name in _retired(rows)]
    keys = [name.encode() for name in rows["tailnum"]] + retired
    values: list[bytes | None] = list(data.to_values(rows[_COLUMNS[1:]]))
    return data.send(bootstrap, TOPIC, values + [None] * len(retired), keys)


def run(job: Job) -> list[Any]:
    """Start the query: the state of all of them is written anew by each micro-batch."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    rows = job.read(TOPIC)
    latest = (
        rows.select(rows["key"].cast("string").alias("tailnum"), "value", "offset")
        .groupBy("tailnum")
        .agg(f.max_by("value", "offset").alias("value"))
    )

    def write(batch: Any, _number: int) -> None:
        state = f.from_json(batch["value"].cast("string"), _SCHEMA).alias("state")
        alive = batch.where(batch["value"].isNotNull()).select("tailnum", state)
        job.replace_files(alive.select("tailnum", "state.*"), "parquet")

    return [job.write_each(latest, write)]


def expected() -> DataFrame:
    """The same by pandas."""
    rows = _states()
    rows = rows[~rows["tailnum"].isin(_retired(rows))]
    return rows.drop_duplicates("tailnum", keep="last")[_COLUMNS]


def plot(result: DataFrame, path: Path) -> None:
    """Where the aircraft were seen last."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    counts = result["dest"].value_counts().head(20)[::-1]
    figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
    axes.barh(counts.index, counts)
    axes.set_xlabel("aircraft")
    axes.set_title("Where 2013's aircraft went on their last flight from New York")
    figure.savefig(path, dpi=120)
    plt.close(figure)
