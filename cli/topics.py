"""`kcore topics`: what topics a cluster has, how many partitions, and (if asked) their offsets, or
who leads them. Topics are made, grow, and are deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kcore.cli.endings import DONE, Attempts, RefusalError
from kcore.cli.groups import open_admin
from kcore.cli.places import Offsets, patience
from kcore.cli.tables import Page, table
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore import Consumer
    from kcore.cli.tables import Rows

_DEFAULT = -1  # the cluster's


@dataclass(frozen=True)
class TopicsOptions:
    """What was asked for. names: none: all, listed. partitions, replicas, set: of topics that are
    made; None: as the cluster likes. as_json: tables are printed so. settings: of Consumer, or of
    Admin.
    """

    bootstrap: str
    names: tuple[str, ...] = ()
    partitions: int | None = None
    replicas: int | None = None
    set: Mapping[str, str] = field(default_factory=dict)
    as_json: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)


# Listing ----------------------------------------------------------------------------------------


def list_topics(options: TopicsOptions, *, offsets: bool, internal: bool) -> int:
    """Print a table of these topics (all if none is named). Raises KafkaError; RefusalError, when
    all that is known is printed: there is no such topic, or no leader of a partition.
    """
    from kcore import Consumer  # noqa: PLC0415 (it loads the compiled core: not for --help)

    page, attempts = Page(as_json=options.as_json), Attempts()
    given = {"bootstrap_servers": options.bootstrap.split(","), "client_id": "kcore-topics"}
    with Consumer(**(given | dict(options.settings))) as consumer:
        known = consumer.topics()
        missing = sorted(set(options.names) - known)
        chosen = set(options.names or _shown(known, internal=internal)).difference(missing)
        if chosen or not missing:
            looked_up = Offsets(consumer, patience(options.settings))
            if offsets:
                page.show(_offsets(consumer, looked_up, sorted(chosen)))
            else:
                page.show(_partitions(consumer, sorted(chosen)))
            with attempts.one():
                looked_up.check()
    if missing:
        names = ", ".join(map(repr, missing))
        attempts.note(RefusalError(f"there is no topic {names} at {options.bootstrap}"))
    attempts.check()
    return DONE


def list_leaders(options: TopicsOptions, *, internal: bool) -> int:
    """The same, of who leads each partition, and who has replicas of it."""
    from kcore.admin.topics import partitions_of  # noqa: PLC0415 (as in open_admin)

    page, attempts = Page(as_json=options.as_json), Attempts()
    with open_admin("topics", options.bootstrap, options.settings) as admin:
        told = admin.describe_topics(options.names or None)
    rows = {}
    for row in told:
        with attempts.one():
            partitions_of([row])
            rows[row["name"]] = row["partitions"]
    found = table("topic", right=("partition", "leader", "replicas", "in sync"))
    for topic in sorted(rows if options.names else _shown(rows, internal=internal)):
        for part in sorted(rows[topic], key=lambda part: int(part["partition_index"])):
            leader = part["leader_id"]
            found.add_row(
                topic,
                part["partition_index"],
                None if leader < 0 else leader,
                # As brokers order them: the first replica is the one preferred as leader.
                *(list(part[name]) for name in ("replica_nodes", "isr_nodes")),
            )
    if rows or not told:
        page.show(found)
    attempts.check()
    return DONE


def _shown(known: Iterable[str], *, internal: bool) -> list[str]:
    return [name for name in known if internal or not name.startswith("__")]


def _partitions(consumer: Consumer, topics: Iterable[str]) -> Rows:
    found = table("topic", right=("partitions",))
    for topic in topics:
        found.add_row(topic, len(consumer.partitions_for_topic(topic) or ()))
    return found


def _offsets(consumer: Consumer, looked_up: Offsets, topics: Iterable[str]) -> Rows:
    found = table("topic", right=("partition", "first", "end", "between"))
    partitions = [
        TopicPartition(topic, number)
        for topic in topics
        for number in sorted(consumer.partitions_for_topic(topic) or ())
    ]
    end = looked_up.end(partitions)
    first = looked_up.first(end)
    for tp in filter(first.__contains__, partitions):
        found.add_row(tp.topic, tp.partition, first[tp], end[tp], end[tp] - first[tp])
    return found


# Making and deleting ----------------------------------------------------------------------------


def create_topics(options: TopicsOptions) -> int:
    """Make these topics; done when brokers tell of their leaders. KafkaError: one is not made."""
    from kcore.admin import NewTopic  # noqa: PLC0415 (as in open_admin)

    count, replicas = options.partitions or _DEFAULT, options.replicas or _DEFAULT
    made = [
        NewTopic(name, count, replicas, {}, options.set) for name in dict.fromkeys(options.names)
    ]
    with open_admin("topics", options.bootstrap, options.settings) as admin:
        admin.create_topics(made, wait_for_metadata=True)
    return DONE


def grow_topics(options: TopicsOptions) -> int:
    """Have these topics `partitions` partitions. KafkaError, when all were tried: one has not."""
    with open_admin("topics", options.bootstrap, options.settings) as admin:
        admin.create_partitions(dict.fromkeys(options.names, options.partitions))
    return DONE


def delete_topics(options: TopicsOptions) -> int:
    """Delete these topics. KafkaError, when all were tried: one could not be."""
    with open_admin("topics", options.bootstrap, options.settings) as admin:
        admin.delete_topics(options.names)
    return DONE
