"""`kcore topics`: what topics a cluster has, how many partitions, and (if asked) their offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from kcore.cli.endings import DONE, RefusalError, output
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from rich.console import JustifyMethod

    from kcore import Consumer

_WIDE: Final = 1_000


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

    # A pipe or a file has no width: a row is a line there, however long names are.
    width = None if output().isatty() else _WIDE
    options = {"bootstrap_servers": bootstrap.split(","), "client_id": "kcore-topics"}
    with Consumer(**(options | dict(settings))) as consumer:
        known = consumer.topics()
        missing = sorted(set(names) - known)
        if missing:
            raise RefusalError(f"there is no topic {missing[0]!r} at {bootstrap}")
        chosen = sorted(names or (name for name in known if internal or not name.startswith("__")))
        table = _offsets(consumer, chosen) if offsets else _partitions(consumer, chosen)
        Console(width=width).print(table)
    return DONE


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in columns:
        justify: JustifyMethod = "left" if column == "topic" else "right"
        table.add_column(column, justify=justify, overflow="fold")
    return table


def _partitions(consumer: Consumer, topics: Iterable[str]) -> Table:
    table = _table("topic", "partitions")
    for topic in topics:
        table.add_row(topic, str(len(consumer.partitions_for_topic(topic) or ())))
    return table


def _offsets(consumer: Consumer, topics: Iterable[str]) -> Table:
    table = _table("topic", "partition", "first", "end", "between")
    partitions = [
        TopicPartition(topic, number)
        for topic in topics
        for number in sorted(consumer.partitions_for_topic(topic) or ())
    ]
    first, end = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
    for tp in partitions:
        numbers = (tp.partition, first[tp], end[tp], end[tp] - first[tp])
        table.add_row(tp.topic, *map(str, numbers))
    return table
