"""Mishaps of one topic, partition, group or client: the rest of a request is served as ever."""

import pytest
from broker_world import World, batch, fetch, produce

from kcore.broker import AuthorizerConfig, BrokerConfig, Kind, LinkFault, Mishap
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

ERROR = ErrorCode.UNKNOWN_SERVER_ERROR
LEADER = ErrorCode.NOT_LEADER_OR_FOLLOWER


def refuse(world, key, error=ERROR, **more):
    world.cluster.mishaps.add(Mishap(key, Kind.REFUSED, error=error, **more))


def end_offset(world, topic, number=0):
    return world.cluster.topics.get(topic).partitions[number].log.end_offset


def many(topics, acks=-1, **more):
    """A Produce of a record for each partition: {topic: numbers}."""
    return m.ProduceRequest(
        acks=acks,
        timeout_ms=1_000,
        topic_data=[
            m.ProduceRequest.TopicProduceData(
                name=topic,
                partition_data=[
                    m.ProduceRequest.PartitionProduceData(index=number, records=batch(b"a", **more))
                    for number in numbers
                ],
            )
            for topic, numbers in topics.items()
        ],
    )


def told(response):
    """(topic, partition) -> error code."""
    found = {}
    for topic in response.responses if hasattr(response, "responses") else response.topics:
        for one in getattr(topic, "partition_responses", None) or topic.partitions:
            number = one.index if hasattr(one, "index") else one.partition_index
            found[getattr(topic, "name", None) or getattr(topic, "topic", ""), number] = (
                one.error_code
            )
    return found


# Produce ------------------------------------------------------------------------------------------


def test_one_partition_of_a_produce_is_refused_and_the_others_are_written(world, client):
    world.topic("u", 3)
    refuse(world, ApiKey.PRODUCE, LEADER, times=2, topic="u", partition=1)
    assert client.ask(produce(batch(b"x")), 9).responses[0].partition_responses[0].error_code == 0
    for _ in range(2):
        answer = client.ask(many({"u": [0, 1, 2], "t": [0]}), 9)
        assert told(answer) == {("u", 0): 0, ("u", 1): LEADER, ("u", 2): 0, ("t", 0): 0}
        assert len(answer.responses) == 2
    (refused,) = (one for one in answer.responses[0].partition_responses if one.error_code)
    assert (refused.base_offset, refused.current_leader.leader_id) == (-1, -1)
    assert [end_offset(world, "u", n) for n in range(3)] == [2, 0, 2]
    assert client.ask(many({"u": [1]}), 9).responses[0].partition_responses[0].base_offset == 0


def test_sequence_numbers_go_on_where_they_were(world, client):
    world.topic("u", 2)

    def ask(sequence, numbers):
        return told(
            client.ask(
                many({"u": numbers}, producer_id=7, producer_epoch=0, base_sequence=sequence), 9
            )
        )

    ask(0, [0, 1])
    refuse(world, ApiKey.PRODUCE, LEADER, topic="u", partition=0)
    assert ask(1, [0, 1]) == {("u", 0): LEADER, ("u", 1): 0}
    assert ask(2, [0]) == {("u", 0): ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}
    assert ask(1, [0]) == {("u", 0): 0}
    assert [end_offset(world, "u", n) for n in range(2)] == [2, 2]


def test_a_partition_that_is_named_twice_is_refused_twice(world, client):
    refuse(world, ApiKey.PRODUCE, topic="t", partition=0)
    answer = client.ask(many({"t": [0, 0]}), 9)
    assert [one.error_code for one in answer.responses[0].partition_responses] == [ERROR, ERROR]
    assert len(world.cluster.mishaps) == 0
    assert end_offset(world, "t") == 0


def test_who_wants_no_answer_is_hung_up_on_and_the_rest_is_written(world, client):
    world.topic("u", 2)
    refuse(world, ApiKey.PRODUCE, topic="u", partition=0)
    client.send(many({"u": [0, 1]}, acks=0), 9)
    assert client.closed
    assert [end_offset(world, "u", n) for n in range(2)] == [0, 1]
    other = world.client()
    refuse(world, ApiKey.PRODUCE, topic="u", partition=0)
    other.send(many({"u": [0]}, acks=0), 9)
    assert other.closed


def test_what_waits_for_replicas_is_answered_with_the_rest():
    world = World(nodes=2)
    topic = world.topic("u", 2, replication_factor=2)
    for number in range(2):
        world.cluster.move_leader(topic, number, 1, world.now_ms)
    client = world.client(1)
    refuse(world, ApiKey.PRODUCE, LEADER, topic="u", partition=0)
    world.cluster.replication.cut(1, 2, world.now_ms)
    client.send(many({"u": [0, 1]}), 9)
    assert client.answer() is None
    world.cluster.replication.heal(1, 2, world.now_ms)
    world.drain()
    assert told(client.answer()) == {("u", 0): LEADER, ("u", 1): 0}


def test_mishaps_of_several_parts_come_together_and_of_one_part_one_by_one(world, client):
    world.topic("u", 2)
    refuse(world, ApiKey.PRODUCE, LEADER, topic="u", partition=0)
    refuse(world, ApiKey.PRODUCE, ErrorCode.KAFKA_STORAGE_ERROR, topic="u", partition=0)
    refuse(world, ApiKey.PRODUCE, ErrorCode.CORRUPT_MESSAGE, topic="t")
    refuse(world, ApiKey.PRODUCE, ERROR)
    answers = [told(client.ask(many({"u": [0, 1], "t": [0]}), 9)) for _ in range(4)]
    parts = ("u", 0), ("u", 1), ("t", 0)
    assert [[answer[part] for part in parts] for answer in answers] == [
        [LEADER, 0, ErrorCode.CORRUPT_MESSAGE],
        [ErrorCode.KAFKA_STORAGE_ERROR, 0, 0],
        [ERROR, ERROR, ERROR],
        [0, 0, 0],
    ]


def test_an_authorizer_has_its_own_say():
    config = BrokerConfig(authorizer=AuthorizerConfig(allow_everyone_if_no_acl_found=True))
    world = World(config=config)
    world.topic("u", 2)
    client = world.client()
    refuse(world, ApiKey.PRODUCE, LEADER, topic="u", partition=0)
    refuse(world, ApiKey.FETCH, LEADER, topic="u", partition=0)
    assert told(client.ask(many({"u": [0, 1]}), 9)) == {("u", 0): LEADER, ("u", 1): 0}
    assert told(client.ask(fetch(0, "u"), 12)) == {("u", 0): LEADER}
    assert told(client.ask(fetch(0, "u"), 12)) == {("u", 0): 0}


def test_only_requests_of_a_client_suffer(world, client):
    for kind in Kind:
        world.cluster.mishaps.add(Mishap(ApiKey.PRODUCE, kind, client_id="other", delay_ms=9))
    assert told(client.ask(produce(batch(b"a")), 9)) == {("t", 0): 0}
    assert len(world.cluster.mishaps) == len(Kind)
    refuse(world, ApiKey.PRODUCE, client_id="test")
    assert told(client.ask(produce(batch(b"a")), 9)) == {("t", 0): ERROR}


def test_requests_that_name_a_topic_are_cut_or_late(world, client):
    world.topic("u")
    for kind in (Kind.DELAYED, Kind.CUT):
        world.cluster.mishaps.add(Mishap(ApiKey.PRODUCE, kind, delay_ms=9, topic="u"))
    assert client.ask(produce(batch(b"a")), 9) is not None
    client.send(many({"u": [0], "t": [0]}), 9)
    assert client.answer() is None
    world.run(9)
    assert told(client.answer()) == {("u", 0): 0, ("t", 0): 0}
    client.send(produce(batch(b"a"), "u"), 9)
    assert client.closed


# Fetch --------------------------------------------------------------------------------------------


def two(world, **more):
    """A fetch of two partitions of `u`, by ids."""
    topic_id = world.cluster.topics.get("u").topic_id
    parts = [
        m.FetchRequest.FetchPartition(partition=n, fetch_offset=1, partition_max_bytes=1 << 20)
        for n in range(2)
    ]
    topic = m.FetchRequest.FetchTopic(topic_id=topic_id, partitions=parts)
    options = {"max_wait_ms": 0, "min_bytes": 1, "session_epoch": 0, "topics": [topic]} | more
    return m.FetchRequest(**options)


def of_fetch(answer):
    return {
        one.partition_index: (one.error_code, one.high_watermark)
        for topic in answer.responses
        for one in topic.partitions
    }


def test_a_partition_of_a_session_is_refused_and_served_again(world, client):
    world.topic("u", 2)
    client.ask(many({"u": [0, 1]}), 9)
    refuse(world, ApiKey.FETCH, ErrorCode.OFFSET_OUT_OF_RANGE, times=2, topic="u", partition=1)
    answer = client.ask(two(world))
    assert of_fetch(answer) == {0: (0, 1), 1: (ErrorCode.OFFSET_OUT_OF_RANGE, -1)}
    session = answer.session_id
    assert session
    # The next one names no partition, and is answered at once, though nothing is new.
    client.send(two(world, topics=[], session_id=session, session_epoch=1, max_wait_ms=10_000))
    assert of_fetch(client.answer()) == {1: (ErrorCode.OFFSET_OUT_OF_RANGE, -1)}
    # What was refused is told of again, though nothing has changed.
    answer = client.ask(two(world, topics=[], session_id=session, session_epoch=2))
    assert of_fetch(answer) == {1: (0, 1)}
    answer = client.ask(two(world, topics=[], session_id=session, session_epoch=3))
    assert of_fetch(answer) == {}


def test_a_refused_partition_gives_no_records_and_the_others_do(world, client):
    world.topic("u", 2)
    client.ask(many({"u": [0, 1]}), 9)
    request = two(world, session_epoch=-1)
    for one in request.topics[0].partitions:
        one.fetch_offset = 0
    refuse(world, ApiKey.FETCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic="u", partition=0)
    answer = client.ask(request)
    first, second = answer.responses[0].partitions
    assert (first.error_code, bytes(first.records or b"")) == (
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        b"",
    )
    assert second.records
    assert not answer.node_endpoints


def test_a_partition_that_was_forgotten_is_not_refused(world, client):
    world.topic("u", 2)
    session = client.ask(two(world)).session_id
    refuse(world, ApiKey.FETCH, topic="u", partition=1)
    forgotten = m.FetchRequest.ForgottenTopic(
        topic_id=world.cluster.topics.get("u").topic_id, partitions=[1]
    )
    request = two(world, topics=[], session_id=session, session_epoch=1)
    request.forgotten_topics_data = [forgotten]
    client.ask(request)
    assert len(world.cluster.mishaps) == 1
    # Neither is one in a session that is not there, or of another request of it.
    for number, epoch in ((9, 5), (session, 5)):
        assert client.ask(two(world, session_id=number, session_epoch=epoch)).error_code
    assert len(world.cluster.mishaps) == 1
    # But what is asked for by the request that leaves nothing is.
    forgotten.partitions = [0, 1]
    request = two(world, session_id=session, session_epoch=2, forgotten_topics_data=[forgotten])
    assert of_fetch(client.ask(request))[1][0] == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_partition_that_was_forgotten_by_name_is_not_refused(world, client):
    world.topic("u", 2)
    asked = two(world)
    asked.topics[0].topic = "u"
    session = client.ask(asked, 12).session_id
    refuse(world, ApiKey.FETCH, topic="u", partition=1)
    forgotten = m.FetchRequest.ForgottenTopic(topic="u", partitions=[1])
    request = two(world, topics=[], session_id=session, session_epoch=1)
    request.forgotten_topics_data = [forgotten]
    client.ask(request, 12)
    assert len(world.cluster.mishaps) == 1


def test_a_leader_that_is_asked_for_an_error_hints_at_nobody(world, client):
    world.topic("u", 2)
    refuse(world, ApiKey.FETCH, ErrorCode.NOT_LEADER_OR_FOLLOWER, topic="u", partition=1)
    answer = client.ask(two(world, session_epoch=-1))
    refused = answer.responses[0].partitions[1]
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (refused.current_leader.leader_id, answer.node_endpoints) == (-1, [])


# Metadata -----------------------------------------------------------------------------------------


def metadata(client, names, version=None, **more):
    topic = m.MetadataRequest.MetadataRequestTopic
    topics = None if names is None else [topic(name=name) for name in names]
    answer = client.ask(m.MetadataRequest(topics=topics, **more), version)
    assert answer.brokers
    return {
        one.name: (one.error_code, [(p.error_code, p.leader_id) for p in one.partitions])
        for one in answer.topics
    }


def test_metadata_of_a_topic_is_refused(world, client):
    world.topic("u", 2)
    error = ErrorCode.LEADER_NOT_AVAILABLE
    for names, version in ((["t", "u"], None), (None, None), ([], 0), (["u"], 0), (["u"], 1)):
        refuse(world, ApiKey.METADATA, error, topic="u")
        found = metadata(client, names, version)
        assert found["u"] == (error, [])
        if names != ["u"]:
            assert found["t"] == (0, [(0, 1)])
        else:
            assert set(found) == {"u"}
    refuse(world, ApiKey.METADATA, error, topic="u", partition=1)
    assert metadata(client, ["t", "u"]) == {
        "u": (0, [(0, 1), (error, -1)]),
        "t": (0, [(0, 1)]),
    }


def test_a_topic_whose_metadata_is_refused_is_not_made(world, client):
    refuse(world, ApiKey.METADATA, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic="new")
    found = metadata(client, ["new"], allow_auto_topic_creation=True)
    assert found == {"new": (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])}
    assert world.cluster.topics.get("new") is None


def test_metadata_by_id_is_refused(world, client):
    topic_id = world.cluster.topics.get("t").topic_id
    wanted = m.MetadataRequest.MetadataRequestTopic(name=None, topic_id=topic_id)
    refuse(world, ApiKey.METADATA, topic="t")
    (answer,) = client.ask(m.MetadataRequest(topics=[wanted])).topics
    assert (answer.error_code, answer.topic_id) == (ERROR, topic_id)


# Groups and transactions --------------------------------------------------------------------------


def commit(client, numbers, group="g"):
    parts = [
        m.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=n, committed_offset=5)
        for n in numbers
    ]
    topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name="u", partitions=parts)
    return told(client.ask(m.OffsetCommitRequest(group_id=group, topics=[topic]), 9))


def committed(client, numbers, group="g", error=0):
    topics = m.OffsetFetchRequest.OffsetFetchRequestTopics
    wanted = None if numbers is None else [topics(name="u", partition_indexes=numbers)]
    asked = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=wanted)
    (answer,) = client.ask(m.OffsetFetchRequest(groups=[asked]), 9).groups
    assert answer.error_code == error
    return {
        one.partition_index: (one.error_code, one.committed_offset)
        for topic in answer.topics
        for one in topic.partitions
    }


def test_a_commit_of_one_partition_is_refused(world, client):
    world.topic("u", 3)
    refuse(world, ApiKey.OFFSET_COMMIT, topic="u", partition=1, group="g")
    assert commit(client, [0, 1, 2], "other") == {("u", 0): 0, ("u", 1): 0, ("u", 2): 0}
    assert commit(client, [0, 1, 2]) == {("u", 0): 0, ("u", 1): ERROR, ("u", 2): 0}
    assert committed(client, [0, 1, 2]) == {0: (0, 5), 1: (0, -1), 2: (0, 5)}


@pytest.mark.parametrize("numbers", [None, [0, 1]])
def test_an_offset_fetch_of_one_partition_is_refused(world, client, numbers):
    world.topic("u", 2)
    commit(client, [0, 1])
    refuse(world, ApiKey.OFFSET_FETCH, topic="u", partition=1)
    assert committed(client, numbers) == {0: (0, 5), 1: (ERROR, -1)}
    assert committed(client, numbers) == {0: (0, 5), 1: (0, 5)}


def test_one_group_of_several_is_refused(world, client):
    world.topic("u", 2)
    refuse(world, ApiKey.OFFSET_FETCH, ErrorCode.NOT_COORDINATOR, group="g")
    asked = [
        m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=name, topics=None)
        for name in ("g", "h")
    ]
    answer = client.ask(m.OffsetFetchRequest(groups=asked), 9)
    assert {one.group_id: one.error_code for one in answer.groups} == {
        "g": ErrorCode.NOT_COORDINATOR,
        "h": 0,
    }
    refuse(world, ApiKey.DESCRIBE_GROUPS, group="h")
    answer = client.ask(m.DescribeGroupsRequest(groups=["g", "h"]), 5)
    assert {one.group_id: one.error_code for one in answer.groups} == {"g": 0, "h": ERROR}


def test_coordinators_of_a_group_are_refused_and_of_a_transaction_not(world, client):
    refuse(world, ApiKey.FIND_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, times=9, group="g")
    for kind, version, error in ((0, 3, 15), (0, 4, 15), (1, 3, 0), (1, 4, 0)):
        key = {"key": "g"} if version < 4 else {"coordinator_keys": ["g", "h"]}
        answer = client.ask(m.FindCoordinatorRequest(key_type=kind, **key), version)
        found = answer.error_code if version < 4 else answer.coordinators[-1].error_code
        if version >= 4:
            found = {one.key: one.error_code for one in answer.coordinators}["g"]
        assert found == error


def test_one_partition_keeps_all_out_of_a_transaction(world, client):
    """As at a Kafka."""
    world.topic("u", 3)
    began = client.ask(m.InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=60_000))
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    refuse(world, ApiKey.ADD_PARTITIONS_TO_TXN, error, topic="u", partition=1)
    request = m.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="x",
        v3_and_below_producer_id=began.producer_id,
        v3_and_below_producer_epoch=began.producer_epoch,
        v3_and_below_topics=[
            m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="u", partitions=[0, 1, 2])
        ],
    )
    for refused in (True, False):
        (topic,) = client.ask(request, 3).results_by_topic_v3_and_below
        results = topic.results_by_partition
        codes = {one.partition_index: one.partition_error_code for one in results}
        other = ErrorCode.OPERATION_NOT_ATTEMPTED
        assert codes == ({0: other, 1: error, 2: other} if refused else {0: 0, 1: 0, 2: 0})
        states = client.ask(m.DescribeTransactionsRequest(transactional_ids=["x"]))
        assert bool(states.transaction_states[0].topics) is not refused


# Topics -------------------------------------------------------------------------------------------


def test_one_topic_of_several_is_not_made(world, client):
    refuse(world, ApiKey.CREATE_TOPICS, ErrorCode.POLICY_VIOLATION, topic="b")
    topics = [
        m.CreateTopicsRequest.CreatableTopic(name=n, num_partitions=1, replication_factor=1)
        for n in "abc"
    ]
    answer = client.ask(m.CreateTopicsRequest(topics=topics, timeout_ms=1_000))
    codes = {one.name: one.error_code for one in answer.topics}
    assert codes == {"a": 0, "b": ErrorCode.POLICY_VIOLATION, "c": 0}
    assert world.cluster.topics.get("b") is None
    assert world.cluster.topics.get("c") is not None


@pytest.mark.parametrize("names", [[], ["u"], ["t", "u"]])
def test_descriptions_of_topics_are_refused(world, client, names):
    world.topic("u", 2)
    request = m.DescribeTopicPartitionsRequest(
        topics=[m.DescribeTopicPartitionsRequest.TopicRequest(name=n) for n in names]
    )
    refuse(world, ApiKey.DESCRIBE_TOPIC_PARTITIONS, topic="u")
    answer = client.ask(request)
    found = {one.name: (one.error_code, len(one.partitions)) for one in answer.topics}
    assert found == ({} if names == ["u"] else {"t": (0, 1)}) | {"u": (ERROR, 0)}
    refuse(world, ApiKey.DESCRIBE_TOPIC_PARTITIONS, topic="u", partition=1)
    (topic,) = (one for one in client.ask(request).topics if one.name == "u")
    assert [one.error_code for one in topic.partitions] == [0, ERROR]


def test_options_of_one_topic_are_refused_and_of_a_group_of_its_name_not(world, client):
    refuse(world, ApiKey.DESCRIBE_CONFIGS, topic="t")
    asked = [
        m.DescribeConfigsRequest.DescribeConfigsResource(resource_type=kind, resource_name="t")
        for kind in (2, 32)
    ]
    answer = client.ask(m.DescribeConfigsRequest(resources=asked))
    assert {one.resource_type: one.error_code for one in answer.results} == {2: ERROR, 32: 0}


# Share groups -------------------------------------------------------------------------------------


def share(world, epoch, topics=(), acknowledged=None, kind=m.ShareFetchRequest, **more):
    """Of partitions of `u`; acknowledged: {partition: (first, last)}."""
    acknowledged = acknowledged or {}
    part = kind.FetchPartition if kind is m.ShareFetchRequest else kind.AcknowledgePartition
    topic = kind.FetchTopic if kind is m.ShareFetchRequest else kind.AcknowledgeTopic
    parts = [
        part(
            partition_index=n,
            acknowledgement_batches=[
                kind.AcknowledgementBatch(first_offset=a, last_offset=b, acknowledge_types=[1])
                for a, b in ([acknowledged[n]] if n in acknowledged else [])
            ],
        )
        for n in topics
    ]
    topic_id = world.cluster.topics.get("u").topic_id
    named = [topic(topic_id=topic_id, partitions=parts)] if parts else []
    if kind is m.ShareFetchRequest:
        more = {"max_records": 10, "max_bytes": 1 << 20, "batch_size": 10} | more
    return kind(group_id="g", member_id="m" * 22, share_session_epoch=epoch, topics=named, **more)


def of_share(answer):
    assert not answer.error_code
    return {one.partition_index: one for topic in answer.responses for one in topic.partitions}


def test_partitions_of_a_share_session_are_refused_and_what_is_said_of_them(world, client):
    world.topic("u", 2)
    client.ask(share(world, 0, [0, 1]), 1)
    client.ask(many({"u": [0, 1]}), 9)
    refuse(world, ApiKey.SHARE_FETCH, LEADER, topic="u", partition=1)
    found = of_share(client.ask(share(world, 1), 1))
    assert found[0].acquired_records
    assert (found[1].error_code, found[1].acquired_records) == (LEADER, [])
    assert of_share(client.ask(share(world, 2), 1))[1].acquired_records
    refuse(world, ApiKey.SHARE_ACKNOWLEDGE, LEADER, topic="u", partition=0)
    said = {0: (0, 0), 1: (0, 0)}
    request = share(world, 3, [0, 1], said, m.ShareAcknowledgeRequest)
    found = of_share(client.ask(request, 1))
    assert {n: one.error_code for n, one in found.items()} == {0: LEADER, 1: 0}
    # It is still acquired, so that it can be said again; and the session went on.
    refuse(world, ApiKey.SHARE_FETCH, ERROR, topic="u", partition=0)
    (refused,) = of_share(client.ask(share(world, 4, [0], {0: (0, 0)}), 1)).values()
    assert (refused.error_code, refused.acknowledge_error_code) == (ERROR, ERROR)
    (taken,) = of_share(client.ask(share(world, 5, [0], {0: (0, 0)}), 1)).values()
    assert (taken.error_code, taken.acknowledge_error_code) == (0, 0)
    assert not world.faults


def test_share_sessions_that_are_not_there_are_not_refused(world, client):
    world.topic("u", 2)
    refuse(world, ApiKey.SHARE_FETCH, topic="u")
    assert client.ask(share(world, 3, [0]), 1).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert len(world.cluster.mishaps) == 1


# Links --------------------------------------------------------------------------------------------


def test_what_comes_late_over_a_slow_link_is_refused_as_well(world, client):
    world.cluster.mishaps.add_link(LinkFault(20))
    refuse(world, ApiKey.PRODUCE)
    client.send(produce(batch(b"a")), 9)
    world.run(20)
    assert told(client.answer()) == {("t", 0): ERROR}
