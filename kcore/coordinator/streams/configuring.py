"""A topology in the cluster as it is: how many tasks each part has, and which topics are missing.

    sources that are not there               MISSING_SOURCE_TOPICS
    repartition topics                       as many partitions as they say; else as many as the
                                             widest input of a subtopology that writes them
    copartitioned topics                     the same number, where it is not said otherwise; else
                                             INCORRECTLY_PARTITIONED_TOPICS
    changelogs                               as many as the widest input of their subtopology
    internal topics of another size          INCORRECTLY_PARTITIONED_TOPICS
    internal topics that are not there       MISSING_INTERNAL_TOPICS, to be made

Source of the rules and the texts: Java's InternalTopicManager, RepartitionTopics, ChangelogTopics
and CopartitionedTopicsEnforcer of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kcore.coordinator.ordering import hash_ordered
from kcore.coordinator.refused import RefusedError
from kcore.coordinator.streams.states import Status
from kcore.coordinator.streams.topology import InternalTopic, Subtopology, Topology
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.coordinator.context import Topics

# How many topics a text names.
_SHOWN_MAX: Final = 3

# More than any application has: what one request can have a node do is bounded. A target of so many
# tasks takes a second.
SUBTOPOLOGIES_MAX: Final = 1_000
TASKS_MAX: Final = 100_000

_Counts = dict[str, int]
_Count = Callable[[str], int]  # partitions of a topic, 0 if there is no such topic


class Problem(NamedTuple):
    """Why there can be no tasks."""

    status: Status
    why: str


@dataclass(frozen=True, slots=True)
class Part:
    """A subtopology with the numbers that follow from the cluster: tasks, and of its internal
    topics partitions.
    """

    subtopology: Subtopology
    task_count: int
    repartitions: tuple[InternalTopic, ...]
    changelogs: tuple[InternalTopic, ...]

    @property
    def is_stateful(self) -> bool:
        """Whether its tasks have anything that a standby could keep, too."""
        return bool(self.changelogs)


@dataclass(frozen=True, slots=True)
class Configured:
    """parts: by subtopology; none if the topics that are there cannot be right. missing: internal
    topics to be made. problem: None if there can be tasks.
    """

    topology: Topology
    parts: Mapping[str, Part]
    missing: tuple[InternalTopic, ...] = ()
    problem: Problem | None = None

    @property
    def ready(self) -> bool:
        """Whether all topics are as they have to be."""
        return self.problem is None


class _ProblemError(Exception):
    def __init__(self, status: Status, why: str) -> None:
        super().__init__(why)
        self.problem = Problem(status, why)


def configure(topology: Topology, topics: Topics) -> Configured:
    """RefusedError if the topology is not one that could work anywhere."""
    if len(topology.subtopologies) > SUBTOPOLOGIES_MAX:
        raise _invalid(f"{SUBTOPOLOGIES_MAX} subtopologies are the most")
    try:
        _check_sources(topology, topics)
        decided = _decide(topology, topics)
        parts = {
            one.subtopology_id: _part_of(one, topics, decided)
            for one in topology.subtopologies.values()
        }
        if sum(part.task_count for part in parts.values()) > TASKS_MAX:
            raise _invalid(f"{TASKS_MAX} tasks are the most")
        missing = _missing(topology, parts, topics)
    except _ProblemError as error:
        return Configured(topology, {}, (), error.problem)
    problem = None
    if missing:
        names = _summary([topic.name for topic in missing])
        why = f"Internal topics are missing: {names}"
        problem = Problem(Status.MISSING_INTERNAL_TOPICS, why)
    return Configured(topology, parts, missing, problem)


def _check_sources(topology: Topology, topics: Topics) -> None:
    missing = {
        name
        for one in topology.subtopologies.values()
        for name in one.sources
        if not topics.partition_count(name)
    }
    if missing:
        raise _ProblemError(
            Status.MISSING_SOURCE_TOPICS, f"Source topics {_summary(sorted(missing))} are missing."
        )


def _summary(names: list[str]) -> str:
    more = len(names) - _SHOWN_MAX
    shown = ", ".join(names[:_SHOWN_MAX])
    return shown + (f" and {more} additional topics" if more > 0 else "")


# How many partitions internal topics have ---------------------------------------------------------


def _decide(topology: Topology, topics: Topics) -> _Counts:
    """Internal topic -> its partitions; what is there counts as it is."""
    decided: _Counts = {}

    def count(name: str) -> int:
        return topics.partition_count(name) or decided.get(name, 0)

    parts = topology.subtopologies.values()
    decided.update(_repartition_counts(parts, count))
    # Of each repartition topic, whether any part says how many partitions it has.
    fixed: dict[str, bool] = {}
    for one in parts:
        for topic in one.repartitions:
            fixed[topic.name] = fixed.get(topic.name, False) or topic.partitions != 0
    for one in parts:
        for group in one.copartitions:
            _copartition(_names(one, group[0], group[2]), fixed, count, decided)
    for one in parts:
        if not one.inputs:
            raise _invalid(f"No source topics found for subtopology {one.subtopology_id}")
        widest = max(map(count, one.inputs))
        decided.update((topic.name, widest) for topic in one.changelogs)
    return decided


def _repartition_counts(parts: Iterable[Subtopology], count: _Count) -> _Counts:
    """As said, or from the inputs of who writes them, as far as these are known by then."""
    counts = {
        topic.name: topic.partitions
        for one in parts
        for topic in one.repartitions
        if topic.partitions
    }
    waiting = [one for one in parts if one.sinks]
    while waiting:
        left = []
        for one in waiting:
            widest = max(
                (
                    *(counts.get(topic.name, 0) for topic in one.repartitions),
                    *(count(name) for name in one.sources),
                ),
                default=0,
            )
            if widest:
                for sink in one.sinks:
                    counts.setdefault(sink, widest)
            elif any(sink not in counts for sink in one.sinks):
                left.append(one)
        if len(left) == len(waiting):
            raise _invalid(
                "Failed to compute number of partitions for all repartition topics. There may be"
                " loops in the topology that cannot be resolved."
            )
        waiting = left
    if any(topic.name not in counts for one in parts for topic in one.repartitions):
        raise _invalid(
            "Failed to compute number of partitions for all repartition topics, because a"
            " repartition source topic is never used as a sink topic."
        )
    return counts


def _names(one: Subtopology, sources: Iterable[int], repartitions: Iterable[int]) -> list[str]:
    """The topics of a copartition group, in the order in which Kafka's map has them."""
    try:
        if any(index < 0 for index in (*sources, *repartitions)):
            raise IndexError
        names = [one.sources[index] for index in sources]
        names += [one.repartitions[index].name for index in repartitions]
        return hash_ordered(dict.fromkeys(names))
    except IndexError:
        raise RefusedError(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"a copartition group of subtopology {one.subtopology_id[:1_000]} names a topic that"
            " is not there",
        ) from None


def _copartition(
    group: list[str], fixed: Mapping[str, bool], count: _Count, decided: _Counts
) -> None:
    """Give the repartition topics of a group the number that it has to have. fixed: repartition
    topic -> whether it says a number.
    """
    if not group:
        return
    repartitions = {name: count(name) for name in group if name in fixed}
    others = {name: count(name) for name in group if name not in fixed}
    if others:
        number = _same(others, others)
    else:
        # Kafka looks at all that say a number, also at those outside of the group.
        saying = {name: count(name) for name, says in fixed.items() if says}
        number = _same(saying, repartitions) if saying else max(repartitions.values())
    for name, partitions in repartitions.items():
        decided[name] = number
        if fixed[name] and partitions != number:
            raise _ProblemError(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"Number of partitions [{partitions}] of repartition topic [{name}] doesn't match"
                f" number of partitions [{number}] of the source topic.",
            )


def _same(counts: _Counts, shown: _Counts) -> int:
    """The number that all have."""
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{name}={number}" for name, number in sorted(shown.items()))
        raise _ProblemError(
            Status.INCORRECTLY_PARTITIONED_TOPICS,
            f"Following topics do not have the same number of partitions: [{{{text}}}]",
        )
    return next(iter(counts.values()))


# Parts and topics ---------------------------------------------------------------------------------


def _part_of(one: Subtopology, topics: Topics, decided: _Counts) -> Part:
    def sized(internal: Iterable[InternalTopic]) -> tuple[InternalTopic, ...]:
        found = []
        for topic in internal:
            partitions = topic.partitions or decided[topic.name]
            if partitions < 1:
                raise RefusedError(
                    ErrorCode.UNKNOWN_SERVER_ERROR, "Number of partitions must be at least 1."
                )
            found.append(replace(topic, partitions=partitions))
        return tuple(found)

    repartitions, changelogs = sized(one.repartitions), sized(one.changelogs)
    tasks = max(topics.partition_count(name) or decided[name] for name in one.inputs)
    return Part(one, tasks, repartitions, changelogs)


def _missing(
    topology: Topology, parts: Mapping[str, Part], topics: Topics
) -> tuple[InternalTopic, ...]:
    """Internal topics that are to be made, in the order in which Kafka's map has them."""
    wanted: dict[str, InternalTopic] = {}
    for part in parts.values():
        for internal in (part.repartitions, part.changelogs):
            named = {topic.name: topic for topic in internal}
            wanted.update((name, named[name]) for name in hash_ordered(named))
    names = hash_ordered(wanted)
    for name in hash_ordered(topology.topics):
        found = topics.partition_count(name)
        expected = wanted.pop(name, None) if found else None
        if expected is not None and found != expected.partitions:
            raise _ProblemError(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"Existing topic {name} has different number of partitions: expected"
                f" {expected.partitions}, found {found}",
            )
    return tuple(wanted[name] for name in names if name in wanted)


def _invalid(why: str) -> RefusedError:
    return RefusedError(ErrorCode.STREAMS_INVALID_TOPOLOGY, why)
