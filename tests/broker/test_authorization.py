"""A node with an authorizer: what each API asks of whom, and what it answers to who may not."""

import pytest
from broker_world import World, batch, fetch, only, produce
from samples import sample

from kcore.broker import AuthorizerConfig, BrokerConfig, apis
from kcore.broker.authorization.acls import Acl, Operation, Pattern, Permission, Resource
from kcore.broker.authorization.table import TABLE
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode as E

ALICE = "User:alice"
TOPIC, GROUP, CLUSTER = Resource.TOPIC, Resource.GROUP, Resource.CLUSTER
TRANSACTION = Resource.TRANSACTIONAL_ID
Op = Operation
REFUSED = {
    E.TOPIC_AUTHORIZATION_FAILED,
    E.GROUP_AUTHORIZATION_FAILED,
    E.CLUSTER_AUTHORIZATION_FAILED,
    E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
# What everybody may ask; of these he gets what he may see.
OPEN = {
    ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE,
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY,
    ApiKey.DESCRIBE_CLUSTER, ApiKey.LIST_GROUPS, ApiKey.LIST_TRANSACTIONS,
    # Refused to who is nobody; else see test_broker_tokens.py.
    ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
}  # fmt: skip


class GuardedWorld(World):
    """Who connects is alice, unless his link says who he is."""

    def __init__(self, **options):
        config = AuthorizerConfig(super_users=("User:root",), principals={"test": ALICE}, **options)
        super().__init__(config=BrokerConfig(authorizer=config))

    def allow(self, operation, kind=TOPIC, name="t", may=Permission.ALLOW, pattern=Pattern.LITERAL):
        self.cluster.authorizer.add([Acl(kind, name, pattern, ALICE, "*", operation, may)])

    def forget(self):
        self.cluster.authorizer.remove(list(self.cluster.authorizer._acls))


@pytest.fixture
def world():
    made = GuardedWorld()
    made.topic()
    yield made
    assert not made.faults


def codes(message):
    """Every error code in a message."""
    found = set()
    for name, *_ in message.FIELDS:
        value = getattr(message, name)
        if name.endswith("error_code"):
            found.add(value)
        for one in value if isinstance(value, list) else ():
            found |= codes(one) if hasattr(one, "FIELDS") else set()
    return found


def asked(key, version, topic_id):
    request = sample(API_TABLE[key].request, version, topic_id)
    if isinstance(request, m.ProduceRequest):
        request.acks = 1
    if isinstance(request, m.DeleteTopicsRequest) and version >= 6:
        request.topics[0].name = None
    if isinstance(request, m.FetchRequest) and version >= 7:
        request.forgotten_topics_data, request.session_epoch = [], -1
    if isinstance(request, m.MetadataRequest) and version < 12:
        request.topics[0].topic_id = bytes(16)
    for one in getattr(request, "resources", ()):
        one.resource_type = 2
    return request


def test_the_table_has_every_api():
    assert not set(apis.HANDLERS) - set(TABLE)


OFFERED = {key: span for key, span in apis.offered((4, 4)).items() if key not in OPEN}


@pytest.mark.parametrize("key", OFFERED, ids=lambda key: key.stem)
def test_who_may_nothing_is_refused_everything_in_every_version(world, key):
    topic = world.cluster.topics.get("t")
    lowest, highest = OFFERED[key]
    for version in range(lowest, highest + 1):
        answer = world.client().ask(asked(key, version, topic.topic_id), version)
        if key is ApiKey.DESCRIBE_LOG_DIRS and version < 3:
            assert not answer.results  # they have no place for an error
        else:
            assert codes(answer) & REFUSED, version
        assert not codes(answer) - REFUSED - {E.NONE}, version
    # Nothing of it was done.
    assert world.cluster.topics.get("t") is topic
    assert [one.name for one in world.cluster.topics.topics()] == ["t"]
    assert topic.partitions[0].log.end_offset == 0
    assert not topic.settings
    assert not any(world.cluster.journal(number).entries() for number in range(50))
    assert not len(world.cluster.authorizer)


def test_who_refused_a_part_serves_the_rest(world):
    world.topic("u")
    world.allow(Op.WRITE, name="u")
    client = world.client()
    request = produce(batch(b"a"), "t")
    request.topic_data += produce(batch(b"b"), "u").topic_data
    answer = client.ask(request, 9)
    found = {one.name: one.partition_responses[0].error_code for one in answer.responses}
    assert found == {"u": E.NONE, "t": E.TOPIC_AUTHORIZATION_FAILED}
    ends = {one.name: one.partitions[0].log.end_offset for one in world.cluster.topics.topics()}
    assert ends == {"t": 0, "u": 1}


def test_who_wants_no_answer_and_may_not_is_hung_up_on(world):
    world.topic("u")
    world.allow(Op.WRITE, name="u")
    fine, client = world.client(), world.client()
    fine.send(produce(batch(b"a"), "u", acks=0), 9)
    assert not fine.closed
    request = produce(batch(b"a"), "t", acks=0)
    request.topic_data += produce(batch(b"b"), "u").topic_data
    client.send(request, 9)
    assert client.closed
    assert world.cluster.topics.get("u").partitions[0].log.end_offset == 2


def test_a_session_finds_out_what_may_be_read_now(world):
    world.cluster.topics.get("t").partitions[0].append(batch(b"a"), world.now_ms, None)
    client = world.client()
    begun = client.ask(fetch(session_epoch=0), 12)
    assert only(begun).error_code == E.TOPIC_AUTHORIZATION_FAILED
    again = {"session_id": begun.session_id, "max_wait_ms": 0, "min_bytes": 1}

    def step(epoch):
        return client.ask(m.FetchRequest(session_epoch=epoch, **again), 12)

    assert only(step(1)).error_code == E.TOPIC_AUTHORIZATION_FAILED
    world.allow(Op.READ)
    assert only(step(2)).records
    world.forget()
    assert only(step(3)).error_code == E.TOPIC_AUTHORIZATION_FAILED


def test_who_waits_for_records_gets_them_when_his_rights_go_meanwhile(world):
    """As in a Kafka: a request is asked once."""
    world.allow(Op.READ)
    client = world.client()
    client.send(fetch(max_wait_ms=1_000), 12)
    world.forget()
    world.cluster.topics.get("t").partitions[0].append(batch(b"a"), world.now_ms, None)
    world.nodes[1].fetches.recheck([("t", 0)])
    world.drain()
    assert only(client.answer()).records
    assert only(client.ask(fetch(), 12)).error_code == E.TOPIC_AUTHORIZATION_FAILED


def topic_of(answer):
    (one,) = answer.topics
    return one.name, one.error_code


def metadata(*names, create=True, topic_id=bytes(16)):
    Topic = m.MetadataRequest.MetadataRequestTopic
    found = [Topic(name=name, topic_id=topic_id) for name in names]
    return m.MetadataRequest(topics=found, allow_auto_topic_creation=create)


def test_who_may_not_create_topics_makes_none_by_asking_for_them(world):
    client = world.client()
    assert topic_of(client.ask(metadata("new"))) == ("new", E.TOPIC_AUTHORIZATION_FAILED)
    world.allow(Op.DESCRIBE, name="new")
    assert topic_of(client.ask(metadata("new"))) == ("new", E.TOPIC_AUTHORIZATION_FAILED)
    asked = metadata("new", create=False)
    assert topic_of(client.ask(asked)) == ("new", E.UNKNOWN_TOPIC_OR_PARTITION)
    assert world.cluster.topics.get("new") is None
    world.allow(Op.CREATE, name="new")
    assert topic_of(client.ask(metadata("new"))) == ("new", E.NONE)
    world.allow(Op.DESCRIBE, name="newer")
    world.allow(Op.CREATE, CLUSTER, "kafka-cluster")
    assert topic_of(client.ask(metadata("newer"))) == ("newer", E.NONE)


def test_metadata_v0_of_topics_that_are_all_refused_is_not_all_topics(world):
    answer = world.client().ask(m.MetadataRequest(topics=metadata("t").topics), 0)
    assert topic_of(answer) == ("t", E.TOPIC_AUTHORIZATION_FAILED)


def test_who_has_said_who_he_is_is_that_whatever_his_client_id(world):
    world.allow(Op.DESCRIBE)
    client = world.client()
    assert topic_of(client.ask(metadata("t")))[1] == E.NONE
    (link,) = world.nodes[1]._links
    link.principal = "User:bob"
    assert topic_of(client.ask(metadata("t")))[1] == E.TOPIC_AUTHORIZATION_FAILED
    link.principal = "User:root"
    world.forget()
    assert topic_of(client.ask(metadata("t")))[1] == E.NONE


def beat(epoch, member="", **more):
    return m.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id=member, member_epoch=epoch, rebalance_timeout_ms=5_000,
        topic_partitions=[] if epoch == 0 else None, **more,
    )  # fmt: skip


def test_a_regular_expression_stands_for_what_the_member_may_describe(world):
    world.topic("tt")
    world.topic("ttt")
    world.allow(Op.READ, GROUP, "g")
    world.allow(Op.DESCRIBE, name="t")
    world.allow(Op.READ, name="ttt")
    client = world.client()
    answer = client.ask(beat(0, "m", subscribed_topic_regex="t+"), 1)
    answer = client.ask(beat(answer.member_epoch, "m"), 1)
    named = {world.cluster.topics.name_of(one.topic_id) for one in
             answer.assignment.topic_partitions}  # fmt: skip
    assert named == {"t", "ttt"}


def test_one_topic_that_is_hidden_refuses_a_member(world):
    world.topic("u")
    world.allow(Op.READ, GROUP, "g")
    world.allow(Op.READ)
    client = world.client()
    answer = client.ask(beat(0, "m", subscribed_topic_names=["t", "u"]), 1)
    assert answer.error_code == E.TOPIC_AUTHORIZATION_FAILED
    assert not client.ask(beat(0, "m", subscribed_topic_names=["t"]), 1).error_code


def test_a_member_whose_right_to_its_group_goes_is_told_and_goes_on_when_it_is_back(world):
    world.allow(Op.READ, GROUP, "g")
    world.allow(Op.READ)
    client = world.client()
    epoch = client.ask(beat(0, "m", subscribed_topic_names=["t"]), 1).member_epoch
    world.forget()
    assert client.ask(beat(epoch, "m"), 1).error_code == E.GROUP_AUTHORIZATION_FAILED
    world.allow(Op.READ, GROUP, "g")
    answer = client.ask(beat(epoch, "m"), 1)
    assert (answer.error_code, answer.member_epoch) == (E.NONE, epoch)


def test_an_authorizer_that_is_not_there_says_so():
    world = World()
    client = world.client()
    acl = m.CreateAclsRequest.AclCreation(
        resource_type=2, resource_name="t", principal=ALICE, host="*", operation=3,
        permission_type=3,
    )  # fmt: skip
    assert client.ask(m.CreateAclsRequest(creations=[acl])).results[0].error_code == (
        E.SECURITY_DISABLED
    )
    every = {"resource_type_filter": 1, "operation": 1, "permission_type": 1,
             "pattern_type_filter": 1, "resource_name_filter": None, "principal_filter": None,
             "host_filter": None}  # fmt: skip
    assert client.ask(m.DescribeAclsRequest(**every)).error_code == E.SECURITY_DISABLED
    Filter = m.DeleteAclsRequest.DeleteAclsFilter
    answer = client.ask(m.DeleteAclsRequest(filters=[Filter(**every)]))
    assert answer.filter_results[0].error_code == E.SECURITY_DISABLED
    assert not world.faults


def test_without_an_authorizer_handlers_are_as_they_are():
    assert apis.handlers(None) is apis.HANDLERS
