"""How late each carrier leaves, hour by hour: a windowed aggregate with a watermark and late data.

Flights come in the order in which they are reported, up to two hours after they were to leave, and
a few hundred come months too late: those are beyond the watermark and count nowhere. The result
goes to Parquet files (exactly once: the file sink's own log) and to a topic (at least once).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kcore.pipeline.jobs import data

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyspark.sql import DataFrame as SparkFrame

    from kcore.pipeline.jobs.runner import Job

TOPIC: Final = "flights-reported"
RESULT_TOPIC: Final = "delays"
TOPICS: Final[Mapping[str, Mapping[str, str]]] = {TOPIC: {}, RESULT_TOPIC: {}}
READS: Final = (TOPIC,)
WATERMARK: Final = "1 day"
LATE_ROWS: Final = 300
_REPORT_MINUTES: Final = 110
_PLOTTED_MIN: Final = 20  # flights, for a mean to be shown
_SCHEMA: Final = "scheduled TIMESTAMP, carrier STRING, dep_delay DOUBLE"
_COLUMNS: Final = ["hour", "carrier", "flights", "departed", "mean_delay"]


def reported(rows: int | None = None) -> tuple[DataFrame, DataFrame]:
    """Flights in the order they are reported; and those that come too late, behind all others.

    Those are of the first sixteenth: the watermark has passed them when all others were read.
    """
    import pandas as pd  # noqa: PLC0415

    flights = data.flights(rows)
    early = flights.index[: len(flights) // 16]
    late = early[:: max(1, len(early) // LATE_ROWS)][:LATE_ROWS]
    number = flights["flight"] * 7919 + flights.index
    shift = pd.to_timedelta(number % _REPORT_MINUTES, unit="min")
    order = (flights["scheduled"] + shift).drop(late).sort_values(kind="stable").index
    return flights.loc[order], flights.loc[late]


def records(rows: int | None = None) -> data.Records:
    """What the topic is filled with."""
    import pandas as pd  # noqa: PLC0415

    sent = pd.concat(reported(rows))[["scheduled", "carrier", "flight", "dep_delay"]]
    return {TOPIC: data.Keyed(data.to_values(sent))}


def run(job: Job) -> None:
    """Start both queries."""
    from pyspark.sql import functions as f  # noqa: PLC0415

    def result() -> SparkFrame:
        rows = job.read(TOPIC)
        flight = f.from_json(rows["value"].cast("string"), _SCHEMA).alias("flight")
        counted = (
            rows.select(flight)
            .select("flight.*")
            .withWatermark("scheduled", WATERMARK)
            .groupBy(f.window("scheduled", "1 hour"), "carrier")
            .agg(
                f.count("*").alias("flights"),
                f.count("dep_delay").alias("departed"),
                f.avg("dep_delay").alias("mean_delay"),
            )
        )
        found: SparkFrame = counted.select(f.col("window.start").alias("hour"), *_COLUMNS[1:])
        return found

    to_topic = result().select(
        f.col("carrier").alias("key"), f.to_json(f.struct(*_COLUMNS)).alias("value")
    )
    job.write_files(result(), "parquet")
    job.write_topic(to_topic, RESULT_TOPIC)


def results(job: Job) -> dict[str, DataFrame]:
    """What has come of it, from the files and from the topic."""
    return {"files": job.files("parquet"), f"topic {RESULT_TOPIC}": job.records(RESULT_TOPIC)}


def expected(rows: int | None = None) -> DataFrame:
    """The same by pandas: every window that the watermark has passed, without what was too late."""
    import pandas as pd  # noqa: PLC0415

    flights, _ = reported(rows)
    final = flights["scheduled"].max() - pd.Timedelta(WATERMARK)
    flights = flights.assign(hour=flights["scheduled"].dt.floor("h"))
    flights = flights[flights["hour"] + pd.Timedelta(hours=1) <= final]
    counted = flights.groupby(["hour", "carrier"], as_index=False).agg(
        flights=("flight", "size"),
        departed=("dep_delay", "count"),
        mean_delay=("dep_delay", "mean"),
    )
    found: DataFrame = counted[_COLUMNS]
    return found


def plot(result: DataFrame, path: Path) -> None:
    """Mean delay by carrier and hour of the day, in New York; who is latest on top."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    local = result["hour"].dt.tz_convert("America/New_York")
    names = data.table("airlines").set_index("carrier")["name"]
    by_clock = result.assign(
        clock=local.dt.hour,
        airline=result["carrier"].map(names),
        total=result["mean_delay"] * result["departed"],
    )
    sums = by_clock.groupby(["airline", "clock"])[["total", "departed"]].sum()
    means = (sums["total"] / sums["departed"]).where(sums["departed"] >= _PLOTTED_MIN)
    grid = means.unstack("clock").dropna(how="all").dropna(how="all", axis="columns")
    whole = sums.groupby("airline").sum()
    order = (whole["total"] / whole["departed"]).sort_values(ascending=False).index
    grid = grid.loc[[name for name in order if name in grid.index]]
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    colours = mpl.colors.TwoSlopeNorm(vmin=-10, vcenter=0, vmax=40)
    image = axes.imshow(grid, aspect="auto", cmap="RdBu_r", norm=colours)
    axes.set_facecolor("0.9")
    axes.set_xticks(range(len(grid.columns)), [f"{hour:02d}" for hour in grid.columns])
    axes.set_yticks(range(len(grid.index)), grid.index)
    axes.set_xlabel(
        f"scheduled hour of departure, New York time (grey: fewer than {_PLOTTED_MIN} flights)"
    )
    axes.set_title(f"How late flights left New York, {local.min():%B} to {local.max():%B %Y}")
    bar = figure.colorbar(image, label="mean delay, minutes", extend="both")
    bar.set_ticks([-10, -5, 0, 10, 20, 30, 40])
    figure.savefig(path, dpi=120)
    plt.close(figure)
