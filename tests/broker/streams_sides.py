"""Members of streams groups against two sides: a real Kafka and our node; what each answered.

What a Kafka 4.3.1 and a 4.4.0 answered is kept in vectors/streams_said*.json
(tests/support/said.py). To have it written anew, of the release that there is:

    KCORE_RECORD=1 pytest tests/broker -m "kafka and slow" -k streams_differential
"""

import dataclasses
import itertools
import time
from pathlib import Path

import pytest
from broker_world import World
from said import hold
from share_sides import NOT_READY, PATIENCE_S, Link, configure

from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig, partition_for
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

# As the Kafka of the tests (kcore.cli.demo.kafka_cluster).
QUICK = CoordinatorConfig(
    group_min_session_timeout_ms=1_000,
    group_initial_rebalance_delay_ms=0,
    group_consumer_assignment_interval_ms=0,
    group_streams_min_session_timeout_ms=1_000,
    group_streams_min_heartbeat_interval_ms=100,
)

JOURNAL_PARTITIONS = 4  # of __consumer_offsets at the Kafka of the tests

Beat = m.StreamsGroupHeartbeatRequest
Topology = Beat.Topology
Subtopology = Beat.Subtopology
TopicInfo = Beat.TopicInfo
Copartition = Beat.CopartitionGroup
ROLES = ("active_tasks", "standby_tasks", "warmup_tasks")
RELEASES = ((4, 3), (4, 4))
VECTORS = Path(__file__).with_name("vectors")


def kept_in(release):
    """Where it stands what a Kafka of this release said."""
    return VECTORS / ("streams_said.json" if release == (4, 3) else "streams_said_44.json")


def internal(name, partitions=0, factor=1, **configs):
    pairs = [
        Beat.KeyValue(key=key.replace("_", "."), value=value) for key, value in configs.items()
    ]
    return TopicInfo(
        name=name, partitions=partitions, replication_factor=factor, topic_configs=pairs
    )


def part(number, sources=(), *, sinks=(), repartitions=(), changelogs=(), copartitions=()):
    """A subtopology. copartitions: (indexes of sources, indexes of repartitions)."""
    return Subtopology(
        subtopology_id=str(number),
        source_topics=list(sources),
        repartition_sink_topics=list(sinks),
        repartition_source_topics=list(repartitions),
        state_changelog_topics=list(changelogs),
        copartition_groups=[
            Copartition(source_topics=list(one), repartition_source_topics=list(other))
            for one, other in copartitions
        ],
    )


def topology(*parts, epoch=0):
    return Topology(epoch=epoch, subtopologies=list(parts))


def task_ids(tasks):
    """{subtopology: partitions} on the wire."""
    return [
        Beat.TaskIds(subtopology_id=name, partitions=numbers) for name, numbers in tasks.items()
    ]


def owning(active=None, standby=None):
    """What a member says it has."""
    return {
        "active_tasks": task_ids(active or {}),
        "standby_tasks": task_ids(standby or {}),
        "warmup_tasks": [],
    }


class Side:
    """What both sides have: a group, and names of topics that nobody else has. Where these stand in
    answers, they are cut. release: that of the broker.
    """

    release = (0, 0)

    def __init__(self, group):
        self.group = group

    def name(self, topic):
        return f"{self.group}.{topic}"

    def cut(self, text):
        return text if text is None else text.replace(f"{self.group}.", "").replace(
            self.group, "GROUP"
        )  # fmt: skip


class OurSide(Side):
    def __init__(self, group, release, **options):
        super().__init__(group)
        self.release = release
        coordinator = dataclasses.replace(QUICK, **options)
        self.world = World(config=BrokerConfig(release=release, coordinator=coordinator))
        self.client = self.world.client()

    def topic(self, name, partitions):
        self.world.topic(self.name(name), partitions)

    def delete(self, name):
        topics = self.world.cluster.topics
        self.world.cluster.delete(topics.get(self.name(name)), self.world.now_ms)

    def configure(self, **options):
        for name, value in options.items():
            configure(self.client, self.group, f"streams.{name.replace('_', '.')}", value)

    def run(self, ms):
        self.world.run(ms)

    def identity(self, name):
        request = m.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        return self.client.ask(request, 4)

    def made(self, *topics):
        assert all(self.world.cluster.topics.get(self.name(one)) for one in topics)

    def close(self):
        assert not self.world.faults


class RealSide(Side):
    def __init__(self, kafka, group):
        super().__init__(group)
        self._kafka = kafka
        host, port = kafka.bootstrap.split(",")[0].rsplit(":", 1)
        self.client = Link((host, int(port)))
        asked = m.ApiVersionsRequest(client_software_name="a", client_software_version="1")
        highest = {one.api_key: one.max_version for one in self.client.ask(asked, 4).api_keys}
        self.release = (4, 4) if highest[Beat.API_KEY] else (4, 3)
        self._settled(self._coordinated)

    def _settled(self, ask):
        end = time.monotonic() + PATIENCE_S
        while not ask():
            assert time.monotonic() < end
            time.sleep(0.05)

    def _coordinated(self):
        found = self.client.ask(m.FindCoordinatorRequest(coordinator_keys=[self.group]), 4)
        answer = self.client.ask(Beat(group_id=self.group, member_id="nobody", member_epoch=-1), 0)
        return not {found.coordinators[0].error_code, answer.error_code} & NOT_READY

    def topic(self, name, partitions):
        self._kafka.create_topic(self.name(name), partitions)
        self.made(name)

    def delete(self, name):
        R = m.DeleteTopicsRequest
        entry = R.DeleteTopicState(name=self.name(name))
        (found,) = self.client.ask(R(topics=[entry], timeout_ms=10_000), 6).responses
        assert not found.error_code
        self._settled(lambda: not self._is_there(name))
        time.sleep(0.3)

    def configure(self, **options):
        for name, value in options.items():
            configure(self.client, self.group, f"streams.{name.replace('_', '.')}", value)
        time.sleep(0.3)

    def run(self, ms):
        time.sleep(ms / 1_000)

    def made(self, *topics):
        for name in topics:
            self._settled(lambda name=name: self._is_there(name))
        self._settled(lambda: self._are_known(topics))

    def identity(self, name):
        self.client.ask(m.FindCoordinatorRequest(coordinator_keys=[name], key_type=1), 4)
        request = m.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        self._settled(lambda: not self.client.ask(request, 4).error_code)
        return self.client.ask(request, 4)

    def _are_known(self, topics):
        """Whether the group's coordinator has heard of topics, too, which it does behind their
        leaders: as a member of another group sees that it keeps.
        """
        where = partition_for(self.group, JOURNAL_PARTITIONS)
        names = (f"before-{number}-{self.group}" for number in itertools.count())
        other = next(name for name in names if partition_for(name, JOURNAL_PARTITIONS) == where)
        Consumer = m.ConsumerGroupHeartbeatRequest
        answer = self.client.ask(
            Consumer(
                group_id=other, member_id="m", rebalance_timeout_ms=1_000, topic_partitions=[],
                subscribed_topic_names=[self.name(topic) for topic in topics],
            ),
            1,
        )  # fmt: skip
        assigned = answer.assignment.topic_partitions if answer.assignment else []
        self.client.ask(Consumer(group_id=other, member_id="m", member_epoch=-1), 1)
        return len(assigned) == len(topics)

    def _is_there(self, name):
        entry = m.MetadataRequest.MetadataRequestTopic(name=self.name(name))
        (found,) = self.client.ask(m.MetadataRequest(topics=[entry]), 12).topics
        return not found.error_code

    def close(self):
        self.client.close()


class Seen:
    """What a side answered."""

    def __init__(self, side):
        self.side = side
        self.notes = []
        self.topology = None
        self.as_44 = side.release >= (4, 4)
        self.version = 1 if self.as_44 else 0  # of what is asked of streams groups
        side.configure(initial_rebalance_delay_ms="0", assignment_interval_ms="0")

    def note(self, what):
        self.notes.append(what)

    def has(self, *parts, epoch=0):
        """The topology that members bring from now on."""
        self.topology = self._named(topology(*parts, epoch=epoch))

    def _named(self, said):
        """A topology with this side's names."""
        name = self.side.name
        return Topology(
            epoch=said.epoch,
            subtopologies=[
                Subtopology(
                    subtopology_id=one.subtopology_id,
                    source_topics=[name(topic) for topic in one.source_topics],
                    source_topic_regex=one.source_topic_regex,
                    repartition_sink_topics=[name(topic) for topic in one.repartition_sink_topics],
                    repartition_source_topics=self._named_all(one.repartition_source_topics),
                    state_changelog_topics=self._named_all(one.state_changelog_topics),
                    copartition_groups=one.copartition_groups,
                )
                for one in said.subtopologies
            ],
        )

    def _named_all(self, topics):
        return [
            TopicInfo(
                name=self.side.name(one.name), partitions=one.partitions,
                replication_factor=one.replication_factor, topic_configs=one.topic_configs,
            )
            for one in topics
        ]  # fmt: skip

    def enter(self, member, process=None, **more):
        """Join."""
        fields = {"topology": self.topology, "rebalance_timeout_ms": 12_000, **owning()}
        fields |= {"process_id": process or f"process-{member}"} | more
        return self.beat(member, 0, **fields)

    def beat(self, member, epoch, **fields):
        fields = {"group_id": self.side.group, "member_id": member, "member_epoch": epoch} | fields
        request = Beat(**fields)
        return self.ask(request, self.version)

    def ask(self, request, version):
        """A heartbeat."""
        answer = self.side.client.ask(request, version)
        self.note(self.shown(answer))
        return answer

    def delete(self):
        """The group."""
        request = m.DeleteGroupsRequest(groups_names=[self.side.group])
        (found,) = self.side.client.ask(request, 3 if self.as_44 else 2).results
        self.note([found.error_code, *([found.error_message] if self.as_44 else ())])

    def shown(self, answer):
        cut = self.side.cut
        # Of what Kafka did not foresee it has no text.
        text = None if answer.error_code == E.UNKNOWN_SERVER_ERROR else cut(answer.error_message)
        found = [answer.error_code, text, answer.member_id]
        found += [answer.member_epoch, answer.heartbeat_interval_ms]
        found.append([(one.status_code, cut(one.status_detail)) for one in answer.status])
        found += [tasks(getattr(answer, role)) for role in ROLES]
        found.append(answer.endpoint_information_epoch)
        endpoints = answer.partitions_by_user_endpoint
        found.append(endpoints and sorted(self._endpoint(one) for one in endpoints))
        if self.as_44:
            found += [answer.acceptable_recovery_lag, answer.task_offset_interval_ms]
            found.append(answer.topology_description_required)
        return found

    def _endpoint(self, one):
        return (
            one.user_endpoint.host,
            one.user_endpoint.port,
            *(
                sorted((self.side.cut(at.topic), sorted(at.partitions)) for at in parts)
                for parts in (one.active_partitions, one.standby_partitions)
            ),
        )

    def describe(self, group=None, **more):
        """Everything that there is to tell."""
        wanted = [self.side.group if group is None else group]
        request = m.StreamsGroupDescribeRequest(group_ids=wanted, **more)
        (one,) = self.side.client.ask(request, self.version).groups
        cut = self.side.cut
        found = [one.error_code, cut(one.error_message), one.group_state]
        found += [one.group_epoch, one.assignment_epoch]
        if one.topology is not None:
            found.append(one.topology.epoch)
            for part in one.topology.subtopologies:
                found.append(
                    (
                        part.subtopology_id, [*map(cut, part.source_topics)],
                        [*map(cut, part.repartition_sink_topics)],
                        [self._topic(topic) for topic in part.state_changelog_topics],
                        [self._topic(topic) for topic in part.repartition_source_topics],
                    )
                )  # fmt: skip
        found.append(sorted((self._member(member) for member in one.members), key=str))
        if self.as_44:
            found += [one.assignor_name, one.topology_description_status]
            found.append(one.topology_description and str(one.topology_description))
        self.note(found)
        return one

    def _topic(self, topic):
        configs = sorted((one.key, one.value) for one in topic.topic_configs)
        return self.side.cut(topic.name), topic.partitions, topic.replication_factor, configs

    @staticmethod
    def _member(one):
        endpoint = one.user_endpoint and (one.user_endpoint.host, one.user_endpoint.port)
        return (
            one.member_id, one.member_epoch, one.instance_id, one.rack_id, one.client_id,
            one.topology_epoch, one.process_id, endpoint,
            sorted((tag.key, tag.value) for tag in one.client_tags),
            [tasks(getattr(one.assignment, role)) for role in ROLES],
            [tasks(getattr(one.target_assignment, role)) for role in ROLES],
            one.is_classic, *map(_offsets, (one.task_offsets, one.task_end_offsets)),
        )  # fmt: skip

    def listed(self, states=(), types=()):
        request = m.ListGroupsRequest(states_filter=list(states), types_filter=list(types))
        answer = self.side.client.ask(request, 5)
        self.note(
            [
                (one.protocol_type, one.group_state, one.group_type)
                for one in answer.groups
                if one.group_id == self.side.group
            ]
        )


def _offsets(found):
    return found and [(one.subtopology_id, one.partition, one.offset) for one in found]


def tasks(parts):
    """{subtopology: partitions}; None if it is not said."""
    if parts is None:
        return None
    return {one.subtopology_id: sorted(one.partitions) for one in sorted(parts, key=str)}


def of_ours(scenario, release, **options):
    """Our node says what a Kafka of that release said. options: of its coordinator."""
    name = _name(scenario)
    hold(kept_in(release), name, _notes(scenario, OurSide(name, release, **options)))


def of_kafkas(scenario, kafka, releases=RELEASES):
    """A Kafka says what one of its release said before."""
    name = _name(scenario)
    side = RealSide(kafka, name)
    if side.release not in releases:
        side.close()
        pytest.skip(f"not a Kafka of {releases}")
    hold(kept_in(side.release), name, _notes(scenario, side), theirs=True)


def _name(scenario):
    return f"streams-{scenario.__name__}".replace("_", "-")


def _notes(scenario, side):
    try:
        seen = Seen(side)
        scenario(seen)
    finally:
        side.close()
    return seen.notes
