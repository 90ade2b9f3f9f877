"""Where each aircraft was last, from a compacted topic: the newest record of a key is its state.

The topic is compacted, so that what a reader finds has gaps: its records have the time of the
flights, and a segment is closed when its day is over. Some aircraft are retired (a record without a
value) and have no state at the end.
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
        "segment.ms": "86400000",
    }
}
READS: Final = (TOPIC,)
RETIRED_EVERY: Final = 10  # of the aircraft, in alphabetical order
_SCHEMA: Final = "scheduled TIMESTAMP, carrier STRING, origin STRING, dest STRING"
_COLUMNS: Final = ["tailnum", "scheduled", "carrier", "origin", "dest"]


def _states(rows: int | None) -> DataFrame:
    flights = data.flights(rows)
    return flights[flights["tailnum"].notna()][_COLUMNS]


def retired(states: DataFrame) -> list[str]:
    """The aircraft that have no state in the end."""
    names: list[str] = sorted(states["tailnum"].unique())[::RETIRED_EVERY]
    return names


def records(rows: int | None = None) -> data.Records:
    """What the topic is filled with: states by aircraft, and at the end those without."""
    import pandas as pd  # noqa: PLC0415

    states = _states(rows)
    gone = retired(states)
    values = [*data.to_values(states[_COLUMNS[1:]]), *[None] * len(gone)]
    keys = [name.encode() for name in [*states["tailnum"], *gone]]
    last = states["scheduled"].tail(1)
    times = pd.concat([states["scheduled"], *[last] * len(gone)])
    return {TOPIC: data.Keyed(values, keys, times)}


def run(job: Job) -> None:
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

    job.write_each(latest, write)


def results(job: Job) -> dict[str, DataFrame]:
    """What has come of it."""
    return {"files": job.files("parquet")}


def expected(rows: int | None = None) -> DataFrame:
    """The same by pandas."""
    states = _states(rows)
    states = states[~states["tailnum"].isin(retired(states))]
    return states.drop_duplicates("tailnum", keep="last")[_COLUMNS]


def plot(result: DataFrame, path: Path) -> None:
    """Where the aircraft were seen last."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    counts = result["dest"].value_counts().head(20)[::-1]
    names = data.table("airports").set_index("faa")["name"]
    labels = [f"{names.get(code, '')} {code}".strip() for code in counts.index]
    figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
    bars = axes.barh(labels, counts)
    axes.bar_label(bars, padding=3, fontsize=8)
    axes.set_xlabel(f"aircraft, of {len(result):,}")
    axes.set_title("Where aircraft went on their last flight from New York in 2013")
    figure.savefig(path, dpi=120)
    plt.close(figure)
