"""How late each carrier leaves, hour by hour: a windowed aggregate with a watermark and late data.

Flights come in the order in which they are reported, up to two hours after they were to leave, and
a few hundred come months too late: those are beyond the watermark and count nowhere. The result
goes to Parquet files (exactly once: the file sink's own log) and to a topic (at least once).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kcore.pipeline.jobs import data

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyspark.sql import DataFrame as SparkFrame

    from kcore.pipeline.jobs.runner import Job

TOPIC: Final = "flights-reported"
RESULT_TOPIC: Final = "delays"
TOPICS: Final = {TOPIC: {}, RESULT_TOPIC: {}}
WATERMARK: Final = "1 day"
LATE_ROWS: Final = 300
_REPORT_MINUTES: Final = 110
_SCHEMA: Final = "scheduled TIMESTAMP, carrier STRING, dep_delay DOUBLE"
_COLUMNS: Final = ["hour", "carrier", "flights", "departed", "mean_delay"]


def _reported() -> tuple[DataFrame, DataFrame]:
    """Flights in the order they are reported; and those that come too late."""
    import pandas as pd  # noqa: PLC0415

    rows = data.flights()
    january = rows.index[rows["scheduled"] < rows["scheduled"].iloc[0] + pd.Timedelta(days=25)]
    late = january[:: max(1, len(january) // LATE_ROWS)][:LATE_ROWS]
    shift = pd.to_timedelta((rows["flight"] * 7919 + rows.index) % _REPORT_MINUTES, unit="min")
    order = (rows["scheduled"] + shift).drop(late).sort_values(kind="stable").index
    return rows.loc[order], rows.loc[late]


def load(bootstrap: str) -> int:
    """Fill the topic; how many records."""
    import pandas as pd  # noqa: PLC0415

    rows = pd.concat(_reported())[["scheduled", "carrier", "flight", "dep_delay"]]
    return data.send(bootstrap, TOPIC, list(data.to_values(rows)))


def run(job: Job) -> list[Any]:
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
        return counted.select(f.col("window.start").alias("hour"), *_COLUMNS[1:])

    to_topic = result().select(
        f.col("carrier").alias("key"), f.to_json(f.struct(*_COLUMNS)).alias("value")
    )
    return [
        job.write_files(result(), "parquet"),
        job.write_topic(to_topic, RESULT_TOPIC),
    ]


def expected() -> DataFrame:
    """The same by pandas: every window that the watermark has passed, without what was too late."""
    import pandas as pd  # noqa: PLC0415

    rows, _ = _reported()
    final = rows["scheduled"].max() - pd.Timedelta(WATERMARK)
    rows = rows.assign(hour=rows["scheduled"].dt.floor("h"))
    rows = rows[rows["hour"] + pd.Timedelta(hours=1) <= final]
    counted = rows.groupby(["hour", "carrier"], as_index=False).agg(
        flights=("flight", "size"),
        departed=("dep_delay", "count"),
        mean_delay=("dep_delay", "mean"),
    )
    return counted[_COLUMNS]


def plot(result: DataFrame, path: Path) -> None:
    """Mean delay by carrier and hour of the day, in New York."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    local = result["hour"].dt.tz_convert("America/New_York")
    total = result["mean_delay"] * result["departed"]
    grouped = result.assign(clock=local.dt.hour, total=total).groupby(["carrier", "clock"])
    sums = grouped[["total", "departed"]].sum()
    grid = (sums["total"] / sums["departed"]).where(sums["departed"] >= 20).unstack("clock")
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    image = axes.imshow(grid, aspect="auto", cmap="RdYlBu_r", vmin=-10, vmax=40)
    axes.set_xticks(range(len(grid.columns)), [f"{hour:02d}" for hour in grid.columns])
    axes.set_yticks(range(len(grid.index)), grid.index)
    axes.set_xlabel("scheduled hour of departure, New York time")
    axes.set_ylabel("carrier")
    axes.set_title("Mean departure delay of 2013's flights from New York")
    figure.colorbar(image, label="minutes", extend="both")
    figure.savefig(path, dpi=120)
    plt.close(figure)
