"""Topics for the jobs: made, filled once, and read back."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Final

from kcore import Consumer, TopicPartition
from kcore.pipeline.jobs import data
from kcore.pipeline.jobs.errors import JobError

if TYPE_CHECKING:
    from pandas import DataFrame

_STALLED_S: Final = 60


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
            future.result(30)
        except TimeoutError as error:
            raise JobError(f"no topic could be made at {bootstrap} within 30 s") from error
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
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
            others = [f", and {name} with it" for name in module.TOPICS if name not in module.READS]
            raise JobError(
                f"{there:,} records were written to topic {topic} so far, and it is to have "
                f"{count:,}: delete it{''.join(others)}, and run the job again"
            )


def written(bootstrap: str, topic: str) -> int:
    """How many records a topic was given; compaction changes nothing about it."""
    with Consumer(bootstrap_servers=bootstrap) as consumer:
        parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
        return sum(consumer.end_offsets(parts).values())


def read_json(bootstrap: str, topic: str) -> DataFrame:
    """What a topic's values say, each once: at least once has the same value twice at times."""
    import pandas as pd  # noqa: PLC0415
    import pyarrow as pa  # noqa: PLC0415

    texts: set[bytes] = set()
    with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
        ends = consumer.end_offsets(parts)
        consumer.assign(parts)
        moved_at_s = time.monotonic()
        while any((consumer.position(part) or 0) < ends[part] for part in parts):
            batch = pa.record_batch(consumer.poll_arrow(timeout_ms=1_000))
            texts.update(batch.column("value").to_pylist())
            if batch.num_rows:
                moved_at_s = time.monotonic()
            elif time.monotonic() - moved_at_s > _STALLED_S:
                raise JobError(f"topic {topic} could not be read back: nothing came")
    return pd.DataFrame([json.loads(text) for text in sorted(texts)])
