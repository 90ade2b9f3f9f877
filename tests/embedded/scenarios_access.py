"""Scenarios of access: root makes things and says who may what; alice's answers are compared."""

import random

from samples import sample
from scenarios_data import batch, creating, fetch, produce
from scenarios_groups import ready
from scenarios_transactions import served

from kcore.broker import apis
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey

READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, ACTION, SHOW, CONFIGURE, IDEMPOTENT = range(3, 13)
ALL = 2
TOPIC, GROUP, CLUSTER, TRANSACTION = 2, 3, 4, 5
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
THE_CLUSTER = "kafka-cluster"

ACCESS = []


def scenario(function):
    ACCESS.append(function)
    return function


def versions(key):
    low, high = apis.offered((4, 4))[key]
    return range(low, high + 1)


def valid(request, version):
    """A sample that a Kafka reads: what cannot be is refused before anybody is asked."""
    if isinstance(request, m.ProduceRequest):
        request.acks = 1
    if isinstance(request, m.DeleteTopicsRequest) and version == 6:
        request.topics[0].name = None
    if hasattr(request, "timeout_ms"):
        request.timeout_ms = 10_000
    return request


# Of these it depends on how somebody says who he is: see test_delegation_differential.py.
OF_TOKENS = {
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
}
# Served where there is a plug-in for it: see test_telemetry_differential.py.
OF_TELEMETRY = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}


@scenario
def nothing_is_allowed(side):
    """Every API in every version."""
    topic_id = side.root.id_of(side.root.topic("t"))
    for key in [key for key in apis.HANDLERS if key not in OF_TOKENS | OF_TELEMETRY]:
        for version in versions(key) if key is not ApiKey.API_VERSIONS else ():
            request = valid(sample(API_TABLE[key].request, version, topic_id), version)
            side.alice.ask(request, version, note=f"{key.name} v{version}")


def four_topics(side):
    """Topics that alice may read, write, describe, and do nothing to."""
    names = [side.root.topic(base) for base in ("read", "write", "describe", "nothing")]
    for name, operation in zip(names, (READ, WRITE, DESCRIBE), strict=False):
        side.allow(operation, TOPIC, name)
    side.alice.number("topic", *map(side.root.id_of, names))
    return names


@scenario
def producing(side):
    names = four_topics(side)
    ids = {name: side.root.id_of(name) for name in names}
    for version in versions(ApiKey.PRODUCE):
        request = m.ProduceRequest(acks=-1, timeout_ms=10_000)
        for name in (*names, side.root.name("gone")):
            one = produce(name, batch(b"a"), topic_id=ids.get(name, b"?" * 16))
            request.topic_data += one.topic_data
        side.alice.ask(request, version, note=f"v{version}")
    for name, link in ((names[1], "mine"), (names[3], "hidden")):
        side.alice.send(produce(name, batch(b"a"), acks=0), 9, link)
        side.alice.ask(m.ListGroupsRequest(), 0, link, note=f"behind silence, {link}")
    transactional = batch(
        b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True
    )
    for transaction in (None, side.root.name("tx")):
        request = produce(names[1], transactional, transactional_id=transaction)
        side.alice.ask(request, 11, note=f"of {transaction}")


@scenario
def fetching(side):
    names = four_topics(side)
    ids = {name: side.root.id_of(name) for name in names}
    for name in names:
        side.root.link().ask(produce(name, batch(b"a", b"b")), 9)

    def asked(topics, **more):
        request = fetch(topics[0]) if topics else fetch("")
        request.topics = []
        for name in topics:
            request.topics += fetch(name, topic_id=ids.get(name, b"?" * 16)).topics
        for field, value in ({"max_wait_ms": 100} | more).items():
            setattr(request, field, value)
        return request

    for version in versions(ApiKey.FETCH):
        side.alice.ask(asked([*names, side.root.name("gone")]), version, note=f"v{version}")
    for version in (12, 13):
        answer = side.alice.ask(asked(names, session_epoch=0), version, note="a session begins")
        more = {"session_id": answer.session_id}
        side.alice.ask(asked([], session_epoch=1, **more), version, note="it goes on")
        side.allow(READ, TOPIC, names[3])
        side.alice.ask(asked([], session_epoch=2, **more), version, note="one may be read now")
        side.alice.ask(asked([], session_epoch=3, **more), version, note="that is known")
        side.deny(READ, TOPIC, names[0])
        side.alice.ask(asked([], session_epoch=4, **more), version, note="one may not any more")
        side.nothing_allowed()
        side.alice.ask(asked([], session_epoch=5, **more), version, note="nothing may")
        for name, operation in zip(names, (READ, WRITE, DESCRIBE), strict=False):
            side.allow(operation, TOPIC, name)


@scenario
def looking_at_topics(side):
    names = four_topics(side)
    ids = [side.root.id_of(name) for name in names]
    described = side.root.name("may-be-described")
    side.allow(DESCRIBE, TOPIC, described)
    everything = [*names, side.root.name("gone"), described]
    Topic = m.MetadataRequest.MetadataRequestTopic
    for version in versions(ApiKey.METADATA):
        request = m.MetadataRequest(topics=[Topic(name=name) for name in everything])
        request.allow_auto_topic_creation = version < 4
        for asked in (False, True) if version >= 8 else (False,):
            request.include_topic_authorized_operations = asked
            request.include_cluster_authorized_operations = asked and version <= 10
            side.alice.ask(request, version, note=f"v{version}")
    for version in (12, 13):
        by_id = [Topic(name=None, topic_id=one) for one in (*ids, b"?" * 16)]
        request = m.MetadataRequest(topics=by_id, include_topic_authorized_operations=True)
        side.alice.ask(request, version, note="by id")
    Cursor = m.DescribeTopicPartitionsRequest
    asked = [Cursor.TopicRequest(name=name) for name in everything]
    side.alice.ask(Cursor(topics=asked), 0, note="by name")
    side.alice.ask(Cursor(topics=asked, response_partition_limit=1), 0, note="one partition")
    Offsets = m.ListOffsetsRequest
    part = Offsets.ListOffsetsPartition(timestamp=-1)
    topics = [Offsets.ListOffsetsTopic(name=name, partitions=[part]) for name in everything]
    side.alice.ask(Offsets(topics=topics), 7, note="offsets")
    Epoch = m.OffsetForLeaderEpochRequest
    end = Epoch.OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=0)
    topics = [Epoch.OffsetForLeaderTopic(topic=name, partitions=[end]) for name in everything]
    side.alice.ask(Epoch(topics=topics), 4, note="epochs")
    Producers = m.DescribeProducersRequest
    topics = [Producers.TopicRequest(name=name, partition_indexes=[0]) for name in everything]
    side.alice.ask(Producers(topics=topics), 0, note="producers")
    side.allow(ACTION, CLUSTER, THE_CLUSTER)
    topics = [Epoch.OffsetForLeaderTopic(topic=name, partitions=[end]) for name in everything]
    side.alice.ask(Epoch(topics=topics), 4, note="epochs, as a broker")
    for version in versions(ApiKey.DESCRIBE_CLUSTER):
        request = m.DescribeClusterRequest(include_cluster_authorized_operations=True)
        side.alice.ask(request, version, note="without DESCRIBE")
        request = m.DescribeClusterRequest(include_cluster_authorized_operations=False)
        side.alice.ask(request, version, note="not asked for")
    side.allow(DESCRIBE, CLUSTER, THE_CLUSTER)
    request = m.DescribeClusterRequest(include_cluster_authorized_operations=True)
    side.alice.ask(request, 1, note="with DESCRIBE")


@scenario
def all_topics(side):
    """What a Kafka has of its own, and others have made, nobody sees who may not."""
    names = four_topics(side)
    for version in versions(ApiKey.METADATA):
        asked = [] if version == 0 else None
        side.alice.ask(m.MetadataRequest(topics=asked), version, note=f"v{version}")
    side.alice.ask(m.DescribeTopicPartitionsRequest(), 0, note="in pieces")
    side.deny(DESCRIBE, TOPIC, names[0])
    side.alice.ask(m.MetadataRequest(topics=None), 12, note="one less")


def created(side, request, version, note):
    """Which options a topic has is no matter of access; whether they are told is."""
    answer = side.alice.link().ask(request, version)
    for one in answer.topics:
        one.configs = ["some"] if one.configs else []
    side.alice.said.append((note, side.alice.plain(answer)))


@scenario
def changing_topics(side):
    names = [side.root.topic(f"t{n}") for n in range(6)]
    ids = [side.root.id_of(name) for name in names]
    side.alice.number("topic", *ids)
    side.allow(DESCRIBE, TOPIC, names[1])
    side.allow(DELETE, TOPIC, names[2])
    side.allow(DELETE, TOPIC, names[3])
    side.allow(DESCRIBE, TOPIC, side.root.name("gone"))
    side.allow(ALTER, TOPIC, names[4])
    Parts = m.CreatePartitionsRequest
    wanted = [Parts.CreatePartitionsTopic(name=name, count=2) for name in (*names[3:5], names[5])]
    side.alice.ask(Parts(topics=wanted, timeout_ms=10_000), 3, note="partitions")
    Gone = m.DeleteRecordsRequest
    part = Gone.DeleteRecordsPartition(partition_index=0, offset=0)
    topics = [Gone.DeleteRecordsTopic(name=name, partitions=[part]) for name in names[1:3]]
    side.alice.ask(Gone(topics=topics, timeout_ms=10_000), 2, note="records")
    more = [side.root.name("gone"), side.root.name("hidden")]
    request = m.DeleteTopicsRequest(topic_names=[*names[:3], *more, "x", "x"], timeout_ms=10_000)
    side.alice.ask(request, 5, note="by name")
    State = m.DeleteTopicsRequest.DeleteTopicState
    topics = [State(name=None, topic_id=one) for one in (*ids[:2], ids[3], b"?" * 16)]
    side.alice.ask(m.DeleteTopicsRequest(topics=topics, timeout_ms=10_000), 6, note="by id")
    side.allow(DELETE, CLUSTER, THE_CLUSTER)
    topics = [State(name=None, topic_id=ids[4]), State(name=names[5])]
    side.alice.ask(m.DeleteTopicsRequest(topics=topics, timeout_ms=10_000), 6, note="all")
    mine = [side.root.name(f"mine{n}") for n in range(4)]
    side.allow(CREATE, TOPIC, mine[0])
    side.allow(CREATE, TOPIC, mine[1])
    side.allow(SHOW, TOPIC, mine[1])
    for version in (4, 5, 7):
        request = creating(mine[0])
        request.topics += [one for name in mine[1:3] for one in creating(name).topics]
        request.topics += [*creating("x").topics, *creating("x").topics]
        request.validate_only = version < 7
        created(side, request, version, f"created v{version}")
    side.allow(CREATE, CLUSTER, THE_CLUSTER)
    request = creating(mine[3])
    created(side, request, 7, "by the cluster")


KEYS = ["retention.ms", "share.auto.offset.reset", "num.partitions"]


@scenario
def options(side):
    names = [side.root.topic(base) for base in ("shown", "changed", "hidden")]
    groups = [side.root.name(f"g{n}") for n in range(3)]
    for kind, (shown, changed, _) in ((TOPIC, names), (GROUP, groups)):
        side.allow(SHOW, kind, shown)
        side.allow(CONFIGURE, kind, changed)

    def ask(note):
        for kind, resources in ((2, names), (32, groups), (4, ["1", ""])):
            Shown, Changed = m.DescribeConfigsRequest, m.IncrementalAlterConfigsRequest
            asked = [
                Shown.DescribeConfigsResource(
                    resource_type=kind, resource_name=name, configuration_keys=KEYS
                )
                for name in resources
            ]
            side.alice.ask(Shown(resources=asked), 4, note=f"shown {kind} {note}")
            asked = [
                Changed.AlterConfigsResource(resource_type=kind, resource_name=name)
                for name in (*resources, resources[-1])[: 3 if kind == 4 else 4]
            ]
            side.alice.ask(Changed(resources=asked[:3]), 1, note=f"changed {kind} {note}")
            side.alice.ask(Changed(resources=asked[-2:]), 1, note=f"twice {kind} {note}")
            Older = m.AlterConfigsRequest
            if kind != 32:
                asked = [
                    Older.AlterConfigsResource(resource_type=kind, resource_name=name)
                    for name in filter(None, resources)
                ]
                side.alice.ask(Older(resources=asked, validate_only=True), 2, note=f"{kind} {note}")

    ask("without the cluster")
    side.allow(CONFIGURE, CLUSTER, THE_CLUSTER)
    ask("with the cluster")


@scenario
def transactions(side):
    topics = four_topics(side)
    side.nothing_allowed()
    name, other = side.root.name("tx"), side.root.name("other")
    for one in (name, other):
        served(side.root, one)
    group = ready(side.root, side.root.name("g"))
    Init = m.InitProducerIdRequest

    def init(note, transaction=None):
        request = Init(transactional_id=transaction, transaction_timeout_ms=60_000)
        answer = side.alice.ready(request, 5)  # a Kafka fetches ids when the first is asked for
        side.alice.said.append((note, side.alice.plain(answer)))
        return answer

    init("nothing")
    side.allow(DESCRIBE, TOPIC, topics[1])
    init("a topic may be described")
    side.allow(WRITE, TOPIC, topics[1])
    init("a topic may be written to")
    side.deny(WRITE, TOPIC, topics[1])
    init("or not")
    side.allow(WRITE, TOPIC, topics[1], pattern=PREFIXED)
    init("those that begin so may")
    side.deny(WRITE, TOPIC, topics[1][:-1], pattern=PREFIXED)
    init("or not, either")
    side.allow(IDEMPOTENT, CLUSTER, THE_CLUSTER)
    init("the cluster")
    side.nothing_allowed()
    init("a transaction", name)
    side.allow(WRITE, TRANSACTION, name)
    side.allow(WRITE, TOPIC, topics[1])
    answer = init("mine", name)
    producer = {"producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
    Add = m.AddPartitionsToTxnRequest
    for version, asked in ((3, topics[:2]), (3, [topics[1], side.root.name("gone")]),
                           (3, topics[1:2]), (3, ["__consumer_offsets", topics[1]])):  # fmt: skip
        request = Add(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=answer.producer_id,
            v3_and_below_producer_epoch=answer.producer_epoch,
            v3_and_below_topics=[
                Add.AddPartitionsToTxnTopic(name=one, partitions=[0]) for one in asked
            ],
        )
        side.alice.ask(request, version, note=f"{len(asked)} topics")
    offsets = m.AddOffsetsToTxnRequest(transactional_id=name, group_id=group, **producer)
    side.alice.ask(offsets, 3, note="a group that is not mine")
    side.allow(READ, GROUP, group)
    side.allow(READ, TOPIC, topics[0])
    side.alice.ask(offsets, 3, note="mine")
    Commit = m.TxnOffsetCommitRequest
    part = Commit.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    asked = [Commit.TxnOffsetCommitRequestTopic(name=one, partitions=[part]) for one in topics]
    request = Commit(transactional_id=name, group_id=group, topics=asked, **producer)
    side.alice.ask(request, 3, note="offsets")
    request = Commit(transactional_id=other, group_id=group, topics=asked, **producer)
    side.alice.ask(request, 3, note="of another transaction")
    seen_transactions(side, name, other, topics, producer)


def seen_transactions(side, name, other, topics, producer):
    side.allow(DESCRIBE, TRANSACTION, other)
    side.deny(DESCRIBE, TOPIC, topics[1])
    shown = m.DescribeTransactionsRequest(transactional_ids=[name, other, "x"])
    answer = side.alice.link().ask(shown, 0)
    for one in answer.transaction_states:
        one.transaction_start_time_ms = 0
        one.producer_id = one.producer_id if not one.error_code else -1
    side.alice.said.append(("described", side.alice.plain(answer)))
    side.alice.ask(m.EndTxnRequest(transactional_id=name, committed=True, **producer), 3)
    side.alice.ask(m.EndTxnRequest(transactional_id=other, committed=True, **producer), 3)
    answer = side.alice.link().ask(m.ListTransactionsRequest(), 2)
    seen = sorted(one.transactional_id for one in answer.transaction_states)
    side.alice.said.append(("listed", seen))


@scenario
def the_cluster(side):
    topic = side.root.topic("t")
    Quorum = m.DescribeQuorumRequest
    the_log = Quorum.TopicData(topic_name="__cluster_metadata", partitions=[Quorum.PartitionData()])
    for version in versions(ApiKey.DESCRIBE_QUORUM):
        side.alice.ask(Quorum(topics=[the_log]), version, note="quorum")
    side.allow(DESCRIBE, CLUSTER, THE_CLUSTER)
    side.alice.ask(m.ListPartitionReassignmentsRequest(topics=[]), 0)
    Logs = m.DescribeLogDirsRequest
    asked = Logs.DescribableLogDirTopic(topic=topic, partitions=[0])
    for error in (side.alice.link().ask(Logs(topics=[asked]), 4).error_code,):
        side.alice.said.append(("logs", error))
    answer = side.alice.link().ask(Quorum(topics=[the_log]), 2)
    leads = answer.topics[0].partitions[0].leader_id
    side.alice.said.append(("quorum", (answer.error_code, leads > 0)))
    elected = m.ElectLeadersRequest(topic_partitions=[], timeout_ms=10_000)
    side.alice.ask(elected, 2, note="not for who may describe")
    side.allow(ALTER, CLUSTER, THE_CLUSTER)
    side.alice.ask(elected, 2, note="elected")
    side.alice.ask(m.AlterPartitionReassignmentsRequest(topics=[], timeout_ms=10_000), 0)
    acl = m.CreateAclsRequest.AclCreation(
        resource_type=TOPIC, resource_name=topic, principal="User:bob", host="*", operation=READ,
        permission_type=ALLOW,
    )  # fmt: skip
    side.alice.ask(m.CreateAclsRequest(creations=[acl]), 3, note="entries")


def entry(kind=TOPIC, name="t", pattern=LITERAL, who="User:alice", host="*", op=READ, may=ALLOW):
    return m.CreateAclsRequest.AclCreation(
        resource_type=kind, resource_name=name, resource_pattern_type=pattern, principal=who,
        host=host, operation=op, permission_type=may,
    )  # fmt: skip


def wanted(kind=1, name=None, pattern=1, who=None, host=None, op=1, may=1):
    return {
        "resource_type_filter": kind, "resource_name_filter": name, "pattern_type_filter": pattern,
        "principal_filter": who, "host_filter": host, "operation": op, "permission_type": may,
    }  # fmt: skip


@scenario
def entries(side):
    root, tag = side.root, side.tag
    made = [
        entry(), entry(), entry(name="*"), entry(name="t", pattern=PREFIXED),
        entry(GROUP, "g", op=ALL), entry(CLUSTER, THE_CLUSTER, op=ALTER), entry(CLUSTER, "x"),
        entry(TRANSACTION, "x", op=WRITE, may=DENY), entry(name=""), entry(kind=1),
        entry(pattern=1), entry(pattern=2), entry(op=1), entry(may=1), entry(who="alice"),
        entry(who=""), entry(who="User:"), entry(who=":x"), entry(host=""), entry(who="Group:x"),
        entry(kind=6, name="token"), entry(kind=7, name="User:bob", op=13), entry(op=12),
        entry(kind=GROUP, name="tt", op=WRITE), entry(name="tt", pattern=PREFIXED, may=DENY),
        entry(name="*", pattern=PREFIXED),
    ]  # fmt: skip
    for one in made:
        root.ask(m.CreateAclsRequest(creations=[one]), 3, note=repr(one))
    root.ask(m.CreateAclsRequest(creations=made), 3, note="all together")
    root.ask(m.CreateAclsRequest(creations=made[:2]), 1, note="an older version")
    for field in ("kind", "op", "may", "pattern"):
        for number in (0, 99):
            request = m.CreateAclsRequest(creations=[entry(**{field: number})])
            side.alice.ask(request, 3, note=f"{field} {number}")
            request = m.DescribeAclsRequest(**wanted(**{field: number}))
            side.alice.ask(request, 3, note=f"{field} {number}")
            Filter = m.DeleteAclsRequest.DeleteAclsFilter
            request = m.DeleteAclsRequest(filters=[Filter(**wanted(**{field: number}))])
            side.alice.ask(request, 3, note=f"{field} {number}")
    filters = [
        wanted(), wanted(kind=TOPIC), wanted(name="t"), wanted(name="t", pattern=LITERAL),
        wanted(name="t", pattern=2), wanted(name="tt", pattern=2), wanted(name="ttt", pattern=2),
        wanted(name="*"), wanted(name="*", pattern=2), wanted(pattern=PREFIXED), wanted(op=READ),
        wanted(op=ALL), wanted(may=DENY), wanted(who="User:alice"), wanted(who="User:*"),
        wanted(host="*"), wanted(host="10.0.0.1"), wanted(kind=GROUP, op=WRITE),
        wanted(name="x", kind=TRANSACTION), wanted(name="", pattern=2), wanted(kind=5, pattern=2),
    ]  # fmt: skip
    side.until_known(1, TOPIC, "*", "User:alice", READ, ALLOW, PREFIXED)
    for version in (1, 3):
        for one in filters:
            root.ask(m.DescribeAclsRequest(**one), version, note=repr(one))
    Filter = m.DeleteAclsRequest.DeleteAclsFilter
    for found in (filters[9:10], [filters[5], filters[10], filters[5]], filters[12:]):
        request = m.DeleteAclsRequest(filters=[Filter(**one) for one in found])
        root.ask(request, 3, note="deleted")
    side.until_known(0, TOPIC, tag, None, READ, ALLOW, LITERAL)


@scenario
def ranges_of_hosts(side):
    """An entry can be about a range of addresses (CIDR); alice comes from the loopback."""
    topic = side.root.topic("t")
    for host in (
        "", "x", "10.0.0.0/8", "10.0.0/8", "10.0.0.0/", "/", "a/8", "10.0.0.0/33", "10.0.0.256/8",
        "10.0.0.1/8/8", "010.0.0.1/08", "10.0.0.0/-1", " 10.0.0.0/8", "::1/128", "::1/129", "::/0",
        "::/x", "::/+1", "::1", ":::/1", "[::1]/64", "::1%1/64", "::ffff:10.0.0.1/96", "1:2/64",
    ):  # fmt: skip
        created = m.CreateAclsRequest(creations=[entry(name="none", host=host)])
        side.root.ask(created, 3, note=f"host {host!r}")
    for host in (
        "10.0.0.0/8", "127.0.0.1/32", "127.0.0.0/8", "127.9.9.9/8", "127.0.0.2/31", "0.0.0.0/0",
        "::1/128", "::/0", "127.0.0.0/31",
    ):  # fmt: skip
        side.nothing_allowed()
        side.allow(READ, TOPIC, topic, host=host)
        side.alice.ask(fetch(topic), 12, note=f"from {host}")
        side.alice.ask(produce(topic, batch(b"x")), 9, note=f"no more than read, from {host}")
        side.allow(READ, TOPIC, topic)
        side.deny(READ, TOPIC, topic, host=host)
        side.alice.ask(fetch(topic), 12, note=f"not from {host}")


@scenario
def quotas(side):
    """Who may not is told so of each entity; who may is served, and sees them."""
    Alter, Describe = m.AlterClientQuotasRequest, m.DescribeClientQuotasRequest
    name = f"{side.tag}-quotas"
    entries = [
        Alter.EntryData(
            entity=[Alter.EntityData(entity_type="client-id", entity_name=client_id)],
            ops=[Alter.OpData(key="request_percentage", value=1_000.0)],
        )
        for client_id in (name, None)
    ]
    found = Describe.ComponentData(entity_type="client-id", match_type=0, match=name)
    for version in (0, 1):
        side.alice.ask(Alter(entries=entries, validate_only=True), version)
        side.alice.ask(Describe(components=[found]), version)


NAMES = ["a", "ab", "abc", "abcd", "b", "ba", "c", "*", "a*", "zz"]


@scenario
def drawn_entries(side):
    """What is drawn from a seed: what alice may do to each of many topics, group and cluster."""
    rng = random.Random(11)
    made = []
    for _ in range(120):
        kind = rng.choice((TOPIC, TOPIC, TOPIC, GROUP, CLUSTER))
        prefix = f"{side.tag}-{rng.randrange(12)}-"
        name = prefix + rng.choice(NAMES)
        if kind == CLUSTER:
            name = THE_CLUSTER
        made.append(
            entry(
                kind, name, rng.choice((LITERAL, LITERAL, PREFIXED)),
                rng.choice(("User:alice", "User:alice", "User:*", "User:bob", "User:ANONYMOUS")),
                rng.choice(("*", "*", "127.0.0.1", "10.0.0.1")), rng.choice((2, *range(3, 13))),
                rng.choice((ALLOW, ALLOW, ALLOW, DENY)),
            )
        )  # fmt: skip
    made.append(entry(name="*", op=DESCRIBE))
    made.append(entry(name=f"{side.tag}-last", op=READ))
    answer = side.root.link().ask(m.CreateAclsRequest(creations=made), 3)
    assert not any(one.error_code for one in answer.results)
    side.until_known(1, TOPIC, f"{side.tag}-last", "User:alice", READ, ALLOW, LITERAL)
    Topic = m.MetadataRequest.MetadataRequestTopic
    names = [f"{side.tag}-{n}-{name}" for n in range(12) for name in NAMES]
    asked = [Topic(name=name) for name in names if "*" not in name]
    request = m.MetadataRequest(
        topics=asked, allow_auto_topic_creation=False, include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )  # fmt: skip
    side.alice.ask(request, 10, note="topics")
    request = m.DescribeGroupsRequest(groups=names, include_authorized_operations=True)
    ready(side.root, names[0])
    side.alice.ask(request, 5, note="groups")
