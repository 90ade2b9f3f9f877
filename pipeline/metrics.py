"""How far a stream is behind its topics, from what Spark says of its progress.

Spark's own Kafka source puts these numbers under `metrics` of its progress (KafkaMicroBatchStream).
A data source in Python has no place to put any: none of Spark 4.2's streams over Python is a
ReportsSourceMetrics. What they are made of is there, though: offsets consumed, and the latest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kcore.pipeline.offsets import Offsets, from_mapping


def progress_metrics(progress: Mapping[str, Any]) -> list[dict[str, float]]:
    """What Spark's own source reports, by its names, for each source of the query in their order.

    progress: a StreamingQueryProgress (`query.lastProgress`, or what a StreamingQueryListener is
    told), the same as a dict or read back from its JSON, or one of its sources.

    `minOffsetsBehindLatest`, `maxOffsetsBehindLatest` (int) and `avgOffsetsBehindLatest` (float)
    are over the partitions of the source: offsets between where the micro-batch ended and what was
    the latest then. They may be more than records, where compaction or transactions have left gaps.
    A source that is no Kafka's, or that has read nothing yet, has an empty dict.
    """
    sources = progress.get("sources", [progress])
    return [_of(source) for source in sources]


def _of(source: Mapping[str, Any]) -> dict[str, float]:
    consumed, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
    if not consumed or not latest:
        return {}
    # A partition that is new, and in no micro-batch yet, will be read from its first record.
    behind = [offset - consumed.get(tp, 0) for tp, offset in latest.items()]
    return {
        "minOffsetsBehindLatest": min(behind),
        "maxOffsetsBehindLatest": max(behind),
        "avgOffsetsBehindLatest": sum(behind) / len(behind),
    }


def _offsets(said: Any) -> Offsets | None:
    """Offsets as text or as an object; None: something else, as sources of other kinds have it."""
    try:
        return from_mapping(json.loads(said) if isinstance(said, str) else said)
    except ValueError:  # no JSON; PlanError
        return None
