"""Kafka in Spark, through PySpark alone: the data source `kcore`, its sink, and jobs that use them.

    from kcore.pipeline import KcoreDataSource
    spark.dataSource.register(KcoreDataSource)
    spark.readStream.format("kcore").option("kafka.bootstrap.servers", ...).option("subscribe", "t")

Needs `pip install 'kcore[spark]'` (pyspark from 4.2 on), a Java runtime for Spark itself, no jars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kcore.pipeline.source import KcoreDataSource as KcoreDataSource

__all__ = ["KcoreDataSource"]


def __getattr__(name: str) -> object:
    if name != "KcoreDataSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from kcore.pipeline.source import KcoreDataSource as found  # noqa: N813, PLC0415

    globals()[name] = found
    return found
