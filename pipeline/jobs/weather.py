"""Flights with the weather they left in: a stream-stream join on airport and hour.

Both streams have watermarks, so that the state of the join is let go; the result goes to Parquet.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kcore.pipeline.jobs import data

if TYPE_CHECKING:
    from pandas import DataFrame

    from kcore.pipeline.jobs.runner import Job

FLIGHTS: Final = "flights-scheduled"
WEATHER: Final = "weather"
TOPICS: Final[Mapping[str, Mapping[str, str]]] = {FLIGHTS: {}, WEATHER: {}}
READS: Final = (FLIGHTS, WEATHER)
WATERMARK: Final = "2 days"
_PLOTTED_MIN: Final = 30  # flights, for a mean to be shown
_FLIGHT: Final = "hour TIMESTAMP, origin STRING, carrier STRING, flight INT, dep_delay DOUBLE"
_HOUR: Final = (
    "hour TIMESTAMP, origin STRING, temp DOUBLE, wind_speed DOUBLE, precip DOUBLE, visib DOUBLE"
)
_COLUMNS: Final = [
    *("hour", "origin", "carrier", "flight", "dep_delay"),
    *("temp", "wind_speed", "precip", "visib"),
]


def records(rows: int | None = None) -> data.Records:
    """What both topics are filled with."""
    flights = data.flights(rows)[["hour", "origin", "carrier", "flight", "dep_delay"]]
    return {
        FLIGHTS: data.Keyed(data.to_values(flights)),
        WEATHER: data.Keyed(data.to_values(data.weather(rows))),
    }


def run(job: Job) -> None:
    """Start the query."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    def parsed(topic: str, schema: str) -> Any:
        rows = job.read(topic)
        return rows.select(f.from_json(rows["value"].cast("string"), schema).alias("row")).select(
            "row.*"
        )

    flights = parsed(FLIGHTS, _FLIGHT).withWatermark("hour", WATERMARK).alias("f")
    weather = parsed(WEATHER, _HOUR).withWatermark("hour", WATERMARK).alias("w")
    same = (f.col("f.hour") == f.col("w.hour")) & (f.col("f.origin") == f.col("w.origin"))
    joined = flights.join(weather, same).select(
        *(f.col(f"f.{name}") for name in _COLUMNS[:5]),
        *(f.col(f"w.{name}") for name in _COLUMNS[5:]),
    )
    job.write_files(joined, "parquet")


def results(job: Job) -> dict[str, DataFrame]:
    """What has come of it."""
    return {"files": job.files("parquet")}


def expected(rows: int | None = None) -> DataFrame:
    """The same by pandas."""
    joined = data.flights(rows).merge(data.weather(rows), on=["hour", "origin"])
    return joined[_COLUMNS]


def plot(result: DataFrame, path: Path) -> None:
    """Mean delay by how far one could see, in dry and in wet hours."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    seen = result.assign(miles=result["visib"].round())
    for wet, name in ((False, "dry"), (True, "rain or snow")):
        part = seen[(seen["precip"] > 0) == wet].groupby("miles")["dep_delay"]
        count = part.count()
        mean = part.mean()[count >= _PLOTTED_MIN]
        axes.plot(mean.index, mean, marker="o", label=f"{name}: {count.sum():,} flights")
    when = result["hour"].dt.tz_convert("America/New_York")
    axes.set_title(f"The weather flights left New York in, {when.min():%B} to {when.max():%B %Y}")
    axes.set_xlabel(f"visibility, miles (points of at least {_PLOTTED_MIN} flights)")
    axes.set_ylabel("mean departure delay, minutes")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left")
    figure.savefig(path, dpi=120)
    plt.close(figure)
