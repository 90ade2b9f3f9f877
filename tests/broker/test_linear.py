"""Requests about many things: twice as many are twice the work."""

from types import SimpleNamespace

import pytest
from broker_world import World, batch
from steps import growth

from kcore.broker import AuthorizerConfig, BrokerConfig
from kcore.broker.alter import alter
from kcore.broker.apis import describe_log_dirs
from kcore.broker.authorization import guard
from kcore.broker.authorization.acls import Acl, Operation, Pattern, Permission, Resource
from kcore.broker.authorization.table import TABLE
from kcore.broker.share.keeping import ShareStates
from kcore.coordinator.offsets import Offsets
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey

ALICE = "User:alice"
TOPIC, GROUP = Resource.TOPIC, Resource.GROUP
DENY = Permission.DENY
Op = Operation
EVERYTHING = {"pattern_type_filter": 1, "operation": 1, "permission_type": 1}


def entry(operation, name, *, kind=TOPIC, pattern=Pattern.LITERAL, may=Permission.ALLOW):
    return Acl(kind, name, pattern, ALICE, "*", operation, may)


def guarded(*acls):
    """Who connects is alice, who may do nothing else."""
    world = World(config=BrokerConfig(authorizer=AuthorizerConfig(principals={"test": ALICE})))
    world.cluster.authorizer.add(acls)
    return world


def with_topics(world, count):
    for number in range(count):
        world.topic(f"t{number}")
    return world


def asked(world, request, version=None):
    """The work of a request that is answered at once."""
    client = world.client()

    def work():
        assert client.ask(request, version) is not None

    return work


def commit(world, count):
    topic, part = (
        m.OffsetCommitRequest.OffsetCommitRequestTopic,
        m.OffsetCommitRequest.OffsetCommitRequestPartition,
    )
    world.client().ask(
        m.OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=-1,
            topics=[
                topic(name=f"t{number}", partitions=[part(partition_index=0, committed_offset=1)])
                for number in range(count)
            ],
        ),
        9,
    )


def altering(count):
    request = m.IncrementalAlterConfigsRequest
    option = request.AlterableConfig(name="retention.ms", config_operation=0, value="1000")
    resources = [
        request.AlterConfigsResource(
            resource_type=2, resource_name=f"t{number}", configs=[option]
        )
        for number in range(count)
    ]
    return asked(with_topics(World(), count), request(resources=resources))


def fetching_offsets(count):
    """Of many groups, one topic of which nobody is told."""
    world = with_topics(
        guarded(
            entry(Op.DESCRIBE, "*"),
            entry(Op.DESCRIBE, "*", kind=GROUP),
            entry(Op.DESCRIBE, "t0", may=DENY),
        ),
        2,
    )
    group = m.OffsetFetchRequest.OffsetFetchRequestGroup
    topics = [
        m.OffsetFetchRequest.OffsetFetchRequestTopics(name=name, partition_indexes=[0])
        for name in ("t0", "t1")
    ]
    groups = [group(group_id=f"g{number}", topics=topics) for number in range(count)]
    return asked(world, m.OffsetFetchRequest(groups=groups), 9)


def looking_up_by_prefixes(count):
    """With as many entries that are about other names."""
    world = with_topics(guarded(entry(Op.CREATE, "kafka-cluster", kind=Resource.CLUSTER)), count)
    world.cluster.authorizer.add(
        entry(Op.READ, f"t{number:04}", pattern=Pattern.PREFIXED) for number in range(count)
    )
    wanted = m.MetadataRequest.MetadataRequestTopic
    return asked(
        world, m.MetadataRequest(topics=[wanted(name=f"t{number}") for number in range(count)])
    )


def looking_for_some_topic(count):
    """All of which are denied, but for a prefix that nothing is about."""
    world = guarded(
        *(entry(Op.WRITE, f"a{number:04}", pattern=Pattern.PREFIXED, may=DENY)
          for number in range(count)),
        *(entry(Op.WRITE, f"b{number:04}") for number in range(count)),
        entry(Op.WRITE, "b", pattern=Pattern.PREFIXED, may=DENY),
    )  # fmt: skip
    return asked(world, m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=9))


def taking_entries_away(count):
    """By a filter each."""
    world = guarded(
        entry(Op.ALTER, "kafka-cluster", kind=Resource.CLUSTER),
        *(entry(Op.READ, f"x{number}") for number in range(count)),
    )
    wanted = m.DeleteAclsRequest.DeleteAclsFilter
    rest = EVERYTHING | {"pattern_type_filter": 3, "principal_filter": None, "host_filter": None}
    filters = [
        wanted(resource_type_filter=TOPIC, resource_name_filter=f"x{number}", **rest)
        for number in range(count)
    ]
    return asked(world, m.DeleteAclsRequest(filters=filters))


def behind(count, records=0):
    """A leader whose follower gets what is new 50 ms later."""
    world = World(2)
    nodes = [[1, 2]] * count
    world.topic("t", count, assignments=nodes)
    world.cluster.replication.set_lag(2, 50, world.now_ms)
    world.run(100)
    if records:
        world.client().ask(producing(count, acks=1), 9)
        world.run(500)
    return world


def producing(count, acks):
    data = batch(b"x")
    part = m.ProduceRequest.PartitionProduceData
    parts = [part(index=number, records=data) for number in range(count)]
    entries = [m.ProduceRequest.TopicProduceData(name="t", partition_data=parts)]
    return m.ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=entries)


def waited_for(world, request, version=None):
    """The work of a request that is answered when the follower has caught up."""
    client = world.client()

    def work():
        client.send(request, version)
        assert client.answer() is None
        world.run(200)
        assert client.answer() is not None

    return work


def producing_to_all(count):
    return waited_for(behind(count), producing(count, acks=-1), 9)


def deleting_records(count):
    request = m.DeleteRecordsRequest
    part = request.DeleteRecordsPartition
    parts = [part(partition_index=number, offset=-1) for number in range(count)]
    topics = [request.DeleteRecordsTopic(name="t", partitions=parts)]
    return waited_for(behind(count, records=1), request(topics=topics, timeout_ms=5_000))


def producing_to_who_waits(count):
    """For more than that, in all of the partitions."""
    world = World()
    world.topic("t", count)
    part = m.FetchRequest.FetchPartition
    parts = [
        part(partition=number, fetch_offset=0, partition_max_bytes=1_000)
        for number in range(count)
    ]
    world.client().send(
        m.FetchRequest(
            max_wait_ms=60_000,
            min_bytes=1_000_000,
            session_epoch=-1,
            topics=[m.FetchRequest.FetchTopic(topic="t", partitions=parts)],
        ),
        11,
    )
    return asked(world, producing(count, acks=1), 9)


@pytest.mark.parametrize(
    "work_of",
    [
        altering,
        fetching_offsets,
        looking_up_by_prefixes,
        looking_for_some_topic,
        taking_entries_away,
        producing_to_all,
        deleting_records,
        producing_to_who_waits,
    ],
)
def test_twice_as_many_are_twice_the_work(work_of):
    assert growth(work_of, 40) < 2.2


def counted(monkeypatch, owner, name):
    """The calls of a method from now on."""
    calls = []
    original = getattr(owner, name)

    def call(self, *arguments):
        calls.append(arguments)
        return original(self, *arguments)

    monkeypatch.setattr(owner, name, call)
    return calls


def test_what_was_read_of_topics_that_go_is_looked_for_once(monkeypatch):
    world = with_topics(World(), 20)
    commit(world, 20)
    request = m.AlterShareGroupOffsetsRequest
    part = request.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    topics = [
        request.AlterShareGroupOffsetsRequestTopic(topic_name=f"t{number}", partitions=[part])
        for number in range(20)
    ]
    assert world.client().ask(request(group_id="s", topics=topics)).responses
    committed, read = (
        counted(monkeypatch, Offsets, "touched"),
        counted(monkeypatch, ShareStates, "_forget"),
    )
    wanted = m.DeleteTopicsRequest.DeleteTopicState
    names = [f"t{number}" for number in range(20)]
    gone = m.DeleteTopicsRequest(topics=[wanted(name=n) for n in names], timeout_ms=1_000)
    answer = world.client().ask(gone)
    assert [one.name for one in answer.responses] == names
    assert not any(one.error_code for one in answer.responses)
    assert committed == [("g",)]
    assert len(read) == 1
    everything = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g", topics=None)
    (group,) = world.client().ask(m.OffsetFetchRequest(groups=[everything]), 9).groups
    assert not group.topics


class Compared(int):
    """A number that counts how often it is looked at."""

    times = 0

    def __eq__(self, other):
        type(self).times += 1
        return int(self) == other

    __hash__ = int.__hash__


def test_the_logs_of_many_partitions_are_not_looked_for_one_by_one():
    world = World()
    world.topic("t", 100)
    wanted = m.DescribeLogDirsRequest.DescribableLogDirTopic
    numbers = [Compared(number) for number in range(50, 150)]
    request = m.DescribeLogDirsRequest(topics=[wanted(topic="t", partitions=numbers)])
    Compared.times = 0
    answer = describe_log_dirs.handle(SimpleNamespace(node=world.nodes[1]), request)
    (topic,) = answer.results[0].topics
    assert [one.partition_index for one in topic.partitions] == list(range(50, 100))
    assert Compared.times <= 200


class Named(str):
    """A name that counts how often it is looked at."""

    times = 0

    def __eq__(self, other):
        type(self).times += 1
        return str(self) == other

    __hash__ = str.__hash__


def test_names_that_have_to_be_different_are_not_compared_with_each_other():
    (entries,) = TABLE[ApiKey.CREATE_TOPICS].entries
    assert entries.distinct
    names = [Named(f"t{number}") for number in range(100)]
    call = SimpleNamespace(
        name_of=lambda one, _field: one, may=lambda _operation, _kind, name, _or: name != "t7"
    )
    Named.times = 0
    kept, refused = guard._split(call, entries, [*names, Named("t8")])
    assert Named.times <= 500
    assert refused == ["t7"]
    assert kept == [f"t{number}" for number in range(100) if number != 7] + ["t8"]


def test_options_of_many_groups_are_kept_once(monkeypatch):
    world = World()
    kept = []
    store = SimpleNamespace(groups_changed=lambda groups: kept.append(dict(groups)))
    monkeypatch.setattr(world.cluster.replication, "store", store)
    call = SimpleNamespace(node=world.nodes[1], now_ms=world.now_ms)
    entries = [
        SimpleNamespace(resource_type=32, resource_name=f"g{number}") for number in range(20)
    ]
    options = {"share.session.timeout.ms": "50000"}
    found = list(alter(call, entries, lambda _entry: lambda _own, _all: options, dry_run=False))
    assert not any(one["error_code"] for one in found)
    assert kept == [{entry.resource_name: options for entry in entries}]
    kept.clear()
    assert list(alter(call, entries, lambda _entry: lambda _own, _all: options, dry_run=True))
    assert not kept
