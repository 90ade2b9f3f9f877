"""Streams groups beside other kinds, their offsets and options: as a real Kafka has them."""

import pytest
from streams_sides import RELEASES, of_kafkas, of_ours, owning, part

from kcore.wire import messages as m

STATELESS = part(0, ["in"])


class Commits:
    """Offsets of a group, and what is answered."""

    def __init__(self, seen):
        self._seen, self._client = seen, seen.side.client
        self._group, self._topic = seen.side.group, seen.side.name("in")
        name = f"{self._group}-t"
        found = seen.side.identity(name)
        self._producer = {
            "transactional_id": name, "producer_id": found.producer_id,
            "producer_epoch": found.producer_epoch,
        }  # fmt: skip
        begin = m.AddOffsetsToTxnRequest(group_id=self._group, **self._producer)
        seen.note(self._client.ask(begin, 3).error_code)

    def commit(self, member, epoch, partition=0, version=9):
        R = m.OffsetCommitRequest
        one = R.OffsetCommitRequestPartition(partition_index=partition, committed_offset=5)
        request = R(
            group_id=self._group, generation_id_or_member_epoch=epoch, member_id=member,
            topics=[R.OffsetCommitRequestTopic(name=self._topic, partitions=[one])],
        )  # fmt: skip
        answer = self._client.ask(request, version)
        self._seen.note(answer.topics[0].partitions[0].error_code)

    def fetch(self, member=None, epoch=-1):
        F = m.OffsetFetchRequest
        asked = F.OffsetFetchRequestGroup(
            group_id=self._group, member_id=member, member_epoch=epoch,
            topics=[F.OffsetFetchRequestTopics(name=self._topic, partition_indexes=[0, 1])],
        )  # fmt: skip
        (found,) = self._client.ask(F(groups=[asked]), 9).groups
        rows = [
            (one.partition_index, one.committed_offset, one.error_code)
            for topic in found.topics
            for one in topic.partitions
        ]
        self._seen.note((found.error_code, rows))

    def in_transaction(self, member, epoch):
        X = m.TxnOffsetCommitRequest
        one = X.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=9)
        request = X(
            group_id=self._group, generation_id_or_member_epoch=epoch, member_id=member,
            **self._producer,
            topics=[X.TxnOffsetCommitRequestTopic(name=self._topic, partitions=[one])],
        )  # fmt: skip
        self._seen.note(self._client.ask(request, 3).topics[0].partitions[0].error_code)

    def abort(self):
        request = m.EndTxnRequest(committed=False, **self._producer)
        self._seen.note(self._client.ask(request, 3).error_code)
        self._seen.side.run(500)

    def delete(self):
        D = m.OffsetDeleteRequest
        one = D.OffsetDeleteRequestPartition(partition_index=0)
        topic = D.OffsetDeleteRequestTopic(name=self._topic, partitions=[one])
        answer = self._client.ask(D(group_id=self._group, topics=[topic]), 0)
        rows = [one.error_code for topic in answer.topics for one in topic.partitions]
        self._seen.note((answer.error_code, rows))


def offsets(seen):
    """Commits and fetches go by member epochs."""
    seen.side.topic("in", 2)
    seen.has(STATELESS)
    one = seen.enter("m1").member_epoch
    seen.enter("m2")
    commits = Commits(seen)
    for member, epoch in (("m1", one), ("m1", one - 1), ("m1", one + 1), ("m1", -1), ("x", one)):
        commits.commit(member, epoch)
        commits.fetch(member, epoch)
    commits.commit("", -1)
    commits.fetch()
    commits.commit("m1", one, version=8)
    for member, epoch in (("x", one), ("m1", one + 5), ("m1", one - 1), ("m1", one), ("", -1)):
        commits.in_transaction(member, epoch)
    commits.abort()
    # A step further: the epoch before is good for what the member had in it.
    later = seen.beat("m1", one, **owning({"0": [0]})).member_epoch
    commits.commit("m1", later)
    commits.commit("m1", one)
    commits.commit("m1", one, 1)
    for _ in range(2):
        commits.delete()
        seen.beat("m1", -1)
        seen.beat("m2", -1)
    commits.fetch()
    commits.commit("", -1)
    commits.fetch()


def other_protocols(seen):
    seen.side.topic("in", 1)
    seen.has(STATELESS)
    seen.enter("m1")
    group, client = seen.side.group, seen.side.client
    P = m.JoinGroupRequest.JoinGroupRequestProtocol
    join = m.JoinGroupRequest(
        group_id=group, session_timeout_ms=10_000, rebalance_timeout_ms=10_000,
        protocol_type="consumer", protocols=[P(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")],
    )  # fmt: skip
    requests = (
        (join, 3),
        (m.SyncGroupRequest(group_id=group, member_id="m1", protocol_type="consumer",
                            protocol_name="range"), 5),
        (m.HeartbeatRequest(group_id=group, member_id="m1"), 4),
        (m.ConsumerGroupHeartbeatRequest(group_id=group, member_id="m1",
                                         rebalance_timeout_ms=1_000, topic_partitions=[],
                                         subscribed_topic_names=["t"]), 1),
        (m.ShareGroupHeartbeatRequest(group_id=group, member_id="m1", member_epoch=0,
                                      subscribed_topic_names=["t"]), 1),
    )  # fmt: skip
    for request, version in requests:
        answer = client.ask(request, version)
        seen.note((type(answer).__name__, answer.error_code, getattr(answer, "member_id", None)))
    for request in (
        m.DescribeGroupsRequest(groups=[group]),
        m.ConsumerGroupDescribeRequest(group_ids=[group]),
        m.ShareGroupDescribeRequest(group_ids=[group]),
    ):
        (found,) = client.ask(request).groups
        seen.note(found.error_code)
    seen.delete()
    seen.beat("m1", -1)
    # Without members it gives way to a classic group, but not to one of another kind.
    for request, version in (*requests[3:], requests[0]):
        answer = client.ask(request, version)
        seen.note((type(answer).__name__, answer.error_code))
    seen.listed()
    seen.enter("m2")
    left = m.LeaveGroupRequest(group_id=group, member_id=answer.member_id)
    seen.note(client.ask(left, 1).error_code)
    seen.enter("m2")
    seen.beat("m2", -1)
    seen.delete()
    seen.describe()
    seen.listed()
    seen.delete()


def taken_by_others(seen):
    """A group of another kind is none of streams."""
    seen.side.topic("in", 1)
    seen.has(STATELESS)
    group, client = seen.side.group, seen.side.client
    client.ask(
        m.ConsumerGroupHeartbeatRequest(
            group_id=group, member_id="m1", rebalance_timeout_ms=1_000, topic_partitions=[],
            subscribed_topic_names=["t"],
        ),
        1,
    )  # fmt: skip
    seen.enter("m1")
    seen.beat("m1", 1)
    seen.beat("m1", -1)
    seen.describe()
    client.ask(m.ConsumerGroupHeartbeatRequest(group_id=group, member_id="m1", member_epoch=-1), 1)
    seen.enter("m1")


def features(seen):
    answer = seen.side.client.ask(m.ApiVersionsRequest(client_software_name="a",
                                                       client_software_version="1"), 4)  # fmt: skip
    seen.note([(x.api_key, x.min_version, x.max_version) for x in answer.api_keys
               if x.api_key in {88, 89}])  # fmt: skip
    for name in ("streams.version", "group.version"):
        seen.note([(x.min_version, x.max_version) for x in answer.supported_features
                   if x.name == name])  # fmt: skip
        seen.note([(x.min_version_level, x.max_version_level) for x in answer.finalized_features
                   if x.name == name])  # fmt: skip


def options(seen):
    """What can be set for a group, and what it has then."""
    R, D = m.IncrementalAlterConfigsRequest, m.DescribeConfigsRequest
    client, group = seen.side.client, f"{seen.side.group}-options"
    for name, value in (
        ("session.timeout.ms", "60000"), ("session.timeout.ms", "60001"),
        ("session.timeout.ms", "999"), ("session.timeout.ms", "soon"),
        ("heartbeat.interval.ms", "15000"), ("heartbeat.interval.ms", "15001"),
        ("heartbeat.interval.ms", "99"), ("heartbeat.interval.ms", "0"),
        ("session.timeout.ms", "15000"),
        ("num.standby.replicas", "2"), ("num.standby.replicas", "3"),
        ("num.standby.replicas", "-1"), ("initial.rebalance.delay.ms", "0"),
        ("initial.rebalance.delay.ms", "-1"), ("initial.rebalance.delay.ms", "900000"),
        ("assignment.interval.ms", "0"), ("assignment.interval.ms", "15001"),
        ("assignment.interval.ms", "15000"), ("nothing", "1"),
    ):  # fmt: skip
        option = R.AlterableConfig(name=f"streams.{name}", value=value)
        entry = R.AlterConfigsResource(resource_type=32, resource_name=group, configs=[option])
        (answer,) = client.ask(R(resources=[entry]), 1).responses
        seen.note((name, value, answer.error_code, answer.error_message))
        seen.side.run(0 if answer.error_code else 100)
    seen.side.run(300)
    for one in (group, f"{group}-not-there"):
        entry = D.DescribeConfigsResource(resource_type=32, resource_name=one)
        (answer,) = client.ask(D(resources=[entry], include_synonyms=True), 4).results
        seen.note(
            sorted(
                (x.name, x.value, x.config_source, x.read_only, x.config_type,
                 [(y.name, y.value, y.source) for y in x.synonyms])
                for x in answer.configs
                if x.name.startswith("streams.") and ".offload" not in x.name
            )
        )  # fmt: skip
    entry = D.DescribeConfigsResource(resource_type=4, resource_name="1")
    (answer,) = client.ask(D(resources=[entry]), 4).results
    seen.note(
        sorted((x.name, x.value) for x in answer.configs
               if x.name.startswith("group.streams.") and ".offload" not in x.name)
    )  # fmt: skip


SCENARIOS = [offsets, other_protocols, taken_by_others, features, options]


@pytest.mark.parametrize("release", RELEASES, ids="{0[0]}.{0[1]}".format)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_we_say_what_a_kafka_said(scenario, release):
    of_ours(scenario, release)


@pytest.mark.slow
@pytest.mark.kafka
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)
def test_kafka_says_the_same(scenario, kafka):
    of_kafkas(scenario, kafka)
