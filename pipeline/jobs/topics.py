"""Topics for the jobs: made, filled once, and read back."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from kcore import Consumer, TopicPartition
from kcore.pipeline.jobs import data
from kcore.pipeline.jobs.errors import JobError

if TYPE_CHECKING:
    from pandas import DataFrame

_STALLED_S: Final = 60
_KNOWN_S: Final = 3  # until every broker knows of a topic that was just made
_LOOK_S: Final = 0.1
_SHOWN_BYTES: Final = 40


def create(bootstrap: str, topics: Mapping[str, Mapping[str, str]]) -> None:
    """Create {name: options}; those that are there already stay as they are."""
    from confluent_kafka import KafkaException  # noqa: PLC0415 - the one client with an admin API
    from confluent_kafka.admin import AdminClient, NewTopic  # noqa: PLC0415

    with Consumer(bootstrap_servers=bootstrap):  # it says best who does not answer
        pass
    # Notices and worse: it would say what its threads had left over when it ends.
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 5})
    wanted = [
        NewTopic(name, num_partitions=data.PARTITIONS, replication_factor=1, config=dict(options))
        for name, options in topics.items()
    ]
    for future in admin.create_topics(wanted).values():
        try:
            # Raised here, it would keep the client, which tells of brokers that are gone by then.
            error = future.exception(30)
        except TimeoutError as late:
            raise JobError(f"no topic could be made at {bootstrap} within 30 s") from late
        is_there = isinstance(error, KafkaException) and (
            error.args[0].name() == "TOPIC_ALREADY_EXISTS"
        )
        if error is not None and not is_there:
            raise JobError(f"no topic could be made at {bootstrap}: {error}") from error


def fill(module: ModuleType, bootstrap: str, rows: int | None) -> None:
    """Create a job's topics and fill those it reads, once.

    JobError: there are records of something else in them.
    """
    create(bootstrap, module.TOPICS)
    for topic, wanted in module.records(rows).items():
        count = len(wanted.values)
        there = written(bootstrap, topic)
        if there == 0:
            there = data.send(bootstrap, topic, wanted)
        if there != count:
            raise JobError(
                f"{there:,} records were written to topic {topic} so far, and it is to have "
                f"{count:,}: delete it, and run the job again"
            )


def _partitions(consumer: Consumer, topic: str) -> list[TopicPartition]:
    """Those of a topic. JobError: it is not there."""
    until_s = time.monotonic() + _KNOWN_S
    numbers = consumer.partitions_for_topic(topic)
    while not numbers and time.monotonic() < until_s:
        time.sleep(_LOOK_S)
        numbers = consumer.partitions_for_topic(topic)
    if not numbers:
        raise JobError(f"there is no topic {topic} at these brokers: run the job without --no-load")
    return [TopicPartition(topic, number) for number in sorted(numbers)]


def ends(bootstrap: str, topic: str) -> list[int]:
    """The end of each partition of a topic. JobError: it is not there."""
    with Consumer(bootstrap_servers=bootstrap) as consumer:
        parts = _partitions(consumer, topic)
        found = consumer.end_offsets(parts)
        return [found[part] for part in parts]


def written(bootstrap: str, topic: str) -> int:
    """How many records a topic was given; compaction changes nothing about it."""
    return sum(ends(bootstrap, topic))


def read_json(bootstrap: str, topic: str, begins: Sequence[int]) -> DataFrame:
    """What a topic's values say, each once: at least once has the same value twice at times.

    begins: where to begin, by partition; what is before them is of others. JobError: something else
    is among it.
    """
    import pandas as pd  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    rows: dict[bytes, Any] = {}
    with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        parts = _partitions(consumer, topic)
        until = consumer.end_offsets(parts)
        consumer.assign(parts)
        for part, begin in zip(parts, begins, strict=False):
            if begin <= until[part]:  # else the topic was made anew
                consumer.seek(part, begin)
        moved_at_s = time.monotonic()
        while any((consumer.position(part) or 0) < until[part] for part in parts):
            batch = pa.record_batch(consumer.poll_arrow(timeout_ms=1_000))
            columns = [batch.column(name).to_pylist() for name in ("value", "partition", "offset")]
            for value, partition, offset in zip(*columns, strict=True):
                if value not in rows:
                    where = f"topic {topic}, partition {partition}, offset {offset}"
                    rows[value] = _row(value, where)
            if batch.num_rows:
                moved_at_s = time.monotonic()
            elif time.monotonic() - moved_at_s > _STALLED_S:
                raise JobError(f"topic {topic} could not be read back: nothing came")
    return pd.DataFrame([rows[value] for value in sorted(rows)])


def _row(value: bytes | None, where: str) -> dict[str, Any]:
    found: Any = None
    with suppress(ValueError, TypeError):  # no JSON; no value
        found = json.loads(value or b"")
    if not isinstance(found, dict):
        shown = "no value" if value is None else repr(value[:_SHOWN_BYTES])
        raise JobError(
            f"{where}: {shown} is no row, which is a JSON object: somebody else writes there; stop "
            "that, or delete the topic, and run the job again"
        )
    return found
