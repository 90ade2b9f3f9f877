"""Kafka in Spark, through PySpark alone: the data source `kcore`, its sink, and jobs that use them.

    from kcore.pipeline import KcoreDataSource
    spark.dataSource.register(KcoreDataSource)
    spark.readStream.format("kcore").option("kafka.bootstrap.servers", ...).option("subscribe", "t")

Needs `pip install 'kcore[spark]'` (pyspark from 4.2 on), a Java runtime for Spark itself, no jars.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kcore.pipeline.metrics import progress_metrics as progress_metrics
    from kcore.pipeline.source import KcoreDataSource as KcoreDataSource

_HOMES: Final = {"KcoreDataSource": "source", "progress_metrics": "metrics"}

__all__ = ["KcoreDataSource", "progress_metrics"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"kcore.pipeline.{_HOMES[name]}"), name)
    globals()[name] = found
    return found
