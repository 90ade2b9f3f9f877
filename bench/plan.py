"""How much a whole run does: for figures (about ten minutes), or to see that all of it works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SparkPlan:
    """records, kib_records: read, of 100 B and of 1 KiB; write_rows, write_kib_rows: written.
    triggers: micro-batches of a streaming read. larger: how many times as many records there are in
    a second streaming read, and in a second write. rounds: of reads; write_rounds: of writes, in
    which a broker has its part. partitions: to be planned. batches: micro-batches that memory is
    watched over. latencies: records produced one by one.
    """

    records: int = 3_000_000
    kib_records: int = 600_000
    triggers: int = 3
    larger: int = 4
    write_rows: int = 1_200_000
    write_kib_rows: int = 300_000
    rounds: int = 3
    write_rounds: int = 5
    partitions: int = 10_000
    batches: int = 1_000
    latencies: int = 50


@dataclass(frozen=True)
class Plan:
    """records: of the topics that speed is measured with; codec_records: of those of a codec;
    many_records: where what is wanted is the pace and not the start, and the fastest would be done
    in a fifth of a second; shared_records: where share groups read. cell_bytes: the most that one
    cell of the matrix reads. rounds: of what the goals are about; few_rounds: of the large tables;
    growth_rounds: of the same records in more partitions, whose difference of a fifth is as large
    as one round's from the next.

    partitions: of the benches with many. partition_bytes: in each of them, for memory. seconds: how
    long a slow reader reads. idle: how long idling is watched (settle: how long before), a multiple
    of the 3 s between heartbeats and of the 5 s between commits. starts: how many processes. spark:
    of the data source in Spark.
    """

    records: int = 2_000_000
    codec_records: int = 4_000_000
    many_records: int = 6_000_000
    shared_records: int = 1_000_000
    cell_bytes: int = 512 * 1024 * 1024
    rounds: int = 5
    few_rounds: int = 2
    growth_rounds: int = 11
    partitions: int = 500
    partition_bytes: int = 5 * 1024 * 1024
    seconds: float = 6
    idle: float = 30
    settle: float = 10
    starts: int = 15
    spark: SparkPlan = SparkPlan()


QUICK = Plan(
    records=3_000,
    codec_records=3_000,
    many_records=4_000,
    shared_records=3_000,
    cell_bytes=1_000_000,
    rounds=1,
    few_rounds=1,
    growth_rounds=1,
    partitions=10,
    partition_bytes=50_000,
    seconds=0.4,
    idle=0.4,
    settle=1,
    starts=2,
    spark=SparkPlan(
        records=4_000,
        kib_records=400,
        triggers=2,
        larger=2,
        write_rows=1_000,
        write_kib_rows=100,
        rounds=1,
        write_rounds=1,
        partitions=20,
        batches=6,
        latencies=3,
    ),
)
