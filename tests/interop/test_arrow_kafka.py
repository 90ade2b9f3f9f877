"""Columns from a real Kafka: every record once, and committed."""

import pytest

from kcore import Consumer

pa = pytest.importorskip("pyarrow")

COUNT = 20_000


def read(consumer, call):
    """All rows as (partition, offset, key, value)."""
    rows = []
    while len(rows) < COUNT:
        found = call(consumer)
        columns = [pa.table(found)[name] for name in ("partition", "offset", "key", "value")]
        rows += zip(*(column.to_pylist() for column in columns), strict=True)
    return rows


@pytest.mark.parametrize("codec", ["uncompressed", "lz4"])
def test_every_record_once_and_committed(kafka, names, records, codec):
    kafka.create_topic(names.topic, 3, configs={"compression.type": codec})
    kafka.produce(names.topic, records(COUNT))
    ends = kafka.end_offsets(names.topic)
    options = {"bootstrap_servers": kafka.bootstrap, "auto_offset_reset": "earliest"}
    with Consumer(names.topic, group_id=names.group, enable_auto_commit=False, **options) as one:
        copied = read(one, lambda it: it.poll_arrow(timeout_ms=1_000, max_rows=1_500))
        one.commit()
    assert kafka.group_offsets(names.group, names.topic) == ends
    with Consumer(names.topic, **options) as one:
        views = read(one, lambda it: it.poll_arrow(timeout_ms=1_000, views=True))
    wanted = []
    with Consumer(names.topic, **options) as one:
        while len(wanted) < COUNT:
            for tp, taken in one.poll(timeout_ms=1_000, max_records=5_000).items():
                wanted += [(tp.partition, r.offset, r.key, r.value) for r in taken]
    assert sorted(copied) == sorted(views) == sorted(wanted)
    with Consumer(names.topic, **options) as one:
        batches = []
        while sum(map(len, batches)) < COUNT:
            batches += one.poll_batches(timeout_ms=1_000)
    found = [(r.partition, r.offset, r.key, r.value) for batch in batches for r in batch]
    assert sorted(found) == sorted(wanted)
