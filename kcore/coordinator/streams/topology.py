"""What a Kafka Streams application reads and writes, as its members say it.

A topology is made of subtopologies, which are joined by topics: one writes to a repartition topic
(its sink), another reads it (as a source). Those and the changelogs of state stores are internal
topics, which are made for the application; other sources have to be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kcore.wire.messages import StreamsGroupHeartbeatRequest, StreamsGroupTopologyValue

_WireTopology: TypeAlias = StreamsGroupHeartbeatRequest.Topology | StreamsGroupTopologyValue
_WireTopic: TypeAlias = StreamsGroupHeartbeatRequest.TopicInfo | StreamsGroupTopologyValue.TopicInfo
_WirePart: TypeAlias = (
    StreamsGroupHeartbeatRequest.Subtopology | StreamsGroupTopologyValue.Subtopology
)

# Indexes into sources, regular expressions and repartition topics of a subtopology.
Copartition = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """A topic of the application's own. partitions and replication_factor: 0 if it does not say."""

    name: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of a topology, of which each task runs a partition."""

    subtopology_id: str
    sources: tuple[str, ...]
    regexes: tuple[str, ...]
    repartitions: tuple[InternalTopic, ...]  # internal topics that it reads
    sinks: tuple[str, ...]  # and those that it writes
    changelogs: tuple[InternalTopic, ...]
    copartitions: tuple[Copartition, ...]  # topics that need the same number of partitions

    @property
    def inputs(self) -> tuple[str, ...]:
        """Every topic that it reads."""
        return (*self.sources, *(topic.name for topic in self.repartitions))


@dataclass(frozen=True, slots=True)
class Topology:
    """All parts by id, in the order of ids; epoch: which version of the application's it is."""

    epoch: int
    subtopologies: Mapping[str, Subtopology]

    @property
    def topics(self) -> list[str]:
        """Every topic that has to be there, once."""
        found: dict[str, None] = {}
        for one in self.subtopologies.values():
            found.update(dict.fromkeys(one.inputs))
            found.update((topic.name, None) for topic in one.changelogs)
        return list(found)

    def reader_of(self, topic: str) -> str | None:
        """The subtopology that reads a topic; None if none does."""
        found = None
        for one in self.subtopologies.values():
            if topic in one.inputs:
                found = one.subtopology_id
        return found


def topology_of(wire: _WireTopology) -> Topology:
    """What a request, or the journal, says. ValueError if a subtopology is there twice."""
    parts = {part.subtopology_id: _subtopology_of(part) for part in wire.subtopologies}
    if len(parts) < len(wire.subtopologies):
        raise ValueError("subtopologies have the same id")
    return Topology(wire.epoch, dict(sorted(parts.items())))


def _subtopology_of(part: _WirePart) -> Subtopology:
    return Subtopology(
        subtopology_id=part.subtopology_id,
        sources=tuple(part.source_topics),
        regexes=tuple(part.source_topic_regex),
        repartitions=_topics_of(part.repartition_source_topics),
        sinks=tuple(part.repartition_sink_topics),
        changelogs=_topics_of(part.state_changelog_topics),
        copartitions=tuple(
            (
                tuple(group.source_topics),
                tuple(group.source_topic_regex),
                tuple(group.repartition_source_topics),
            )
            for group in part.copartition_groups
        ),
    )


def _topics_of(topics: Iterable[_WireTopic]) -> tuple[InternalTopic, ...]:
    return tuple(
        InternalTopic(
            topic.name,
            topic.partitions,
            topic.replication_factor,
            tuple((config.key, config.value) for config in topic.topic_configs),
        )
        for topic in topics
    )
