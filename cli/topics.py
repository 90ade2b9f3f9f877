"""`kcore topics`: what topics a cluster has, how many partitions, and (if asked) their offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from kcore.cli.endings import DONE, RefusalError
from kcore.cli.tables import Page, table
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from rich.table import Table

    from kcore import Consumer


def list_topics(
    bootstrap: str,
    names: tuple[str, ...],
    settings: Mapping[str, object],
    *,
    offsets: bool,
    internal: bool,
) -> int:
    """Print a table of these topics (all if none is named). Raises KafkaError, RefusalError."""
    from kcore import Consumer  # noqa: PLC0415 (it loads the compiled core: not for --help)

    page = Page()
    options = {"bootstrap_servers": bootstrap.split(","), "client_id": "kcore-topics"}
    with Consumer(**(options | dict(settings))) as consumer:
        known = consumer.topics()
        missing = sorted(set(names) - known)
        if missing:
            raise RefusalError(f"there is no topic {missing[0]!r} at {bootstrap}")
        chosen = sorted(names or (name for name in known if internal or not name.startswith("__")))
        page.show(_offsets(consumer, chosen) if offsets else _partitions(consumer, chosen))
    return DONE


def _partitions(consumer: Consumer, topics: Iterable[str]) -> Table:
    found = table("topic", right=("partitions",))
    for topic in topics:
        found.add_row(topic, str(len(consumer.partitions_for_topic(topic) or ())))
    return found


def _offsets(consumer: Consumer, topics: Iterable[str]) -> Table:
    found = table("topic", right=("partition", "first", "end", "between"))
    partitions = [
        TopicPartition(topic, number)
        for topic in topics
        for number in sorted(consumer.partitions_for_topic(topic) or ())
    ]
    first, end = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    for tp in partitions:
        numbers = (tp.partition, first[tp], end[tp], end[tp] - first[tp])
        found.add_row(tp.topic, *map(str, numbers))
    return found
