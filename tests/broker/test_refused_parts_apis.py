"""Every API, in every version, can be refused for what it names."""

import pytest
from broker_world import World
from samples import sample

from kcore.broker import Kind, Mishap
from kcore.broker.mishaps import OF_GROUPS, OF_PARTITIONS, OF_TOPICS
from kcore.errors import UsageError
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode

ERROR = ErrorCode.UNKNOWN_SERVER_ERROR
SERVED = World().nodes[1].versions


def versions(apis):
    return [(key, n) for key in sorted(apis) for n in range(SERVED[key][0], SERVED[key][1] + 1)]


def named(value):
    return getattr(value, "stem", str(value))


def leaves(struct, names=()):
    """What is below a struct: names and numbers on the way, and the error code there."""
    found = []
    mine = names
    code = None
    for name, *_ in struct.FIELDS:
        value = getattr(struct, name)
        if name in {"error_code", "partition_error_code"}:
            code = value
        elif isinstance(value, str | int | bytes) and not isinstance(value, bool):
            mine = (*mine, value)
    for name, *_ in struct.FIELDS:
        value = getattr(struct, name)
        if isinstance(value, list) and name not in {"brokers", "node_endpoints"}:
            for one in value:
                if hasattr(one, "FIELDS"):
                    found += leaves(one, mine)
    return [*found, (mine, code)]


def refuse(world, key, error=ERROR, **more):
    world.cluster.mishaps.add(Mishap(key, Kind.REFUSED, error=error, **more))


def end_offset(world, topic, number=0):
    return world.cluster.topics.get(topic).partitions[number].log.end_offset


@pytest.mark.parametrize(("key", "version"), versions(OF_TOPICS), ids=named)
def test_what_is_refused_of_a_topic_says_so_and_does_nothing(world, client, key, version):
    topic_id = world.cluster.topics.get("t").topic_id
    request = sample(API_TABLE[key].request, version, topic_id)
    for resource in getattr(request, "resources", ()):
        resource.resource_type = 2
    if isinstance(request, m.ProduceRequest):
        request.acks = 1
    if key in {ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE}:
        begin_sharing(client, topic_id)
        request.member_id, request.share_session_epoch = "m" * 22, 1
        request.group_id = "t"
        if key is ApiKey.SHARE_FETCH:
            request.forgotten_topics_data, request.is_renew_ack = [], False
    if key is ApiKey.FETCH:
        request.session_epoch, request.forgotten_topics_data = -1, []
    if key is ApiKey.DELETE_TOPICS:
        for one in request.topics:
            one.name = None if one.topic_id == topic_id else one.name
    refuse(world, key, topic="t")
    answer = client.ask(request, version)
    assert not getattr(answer, "error_code", 0)
    assert ERROR in [code for _, code in leaves(answer)], answer
    assert len(world.cluster.mishaps) == 0
    assert end_offset(world, "t") == 0
    assert not world.faults


def begin_sharing(client, topic_id):
    topic = m.ShareFetchRequest.FetchTopic(
        topic_id=topic_id, partitions=[m.ShareFetchRequest.FetchPartition(partition_index=0)]
    )
    begin = m.ShareFetchRequest(group_id="t", member_id="m" * 22, topics=[topic])
    assert not client.ask(begin, 1).error_code


@pytest.mark.parametrize(("key", "version"), versions(OF_TOPICS), ids=named)
def test_another_topic_is_served_as_ever(world, client, key, version):
    request = sample(API_TABLE[key].request, version, world.cluster.topics.get("t").topic_id)
    if isinstance(request, m.ProduceRequest):
        request.acks = 1
    refuse(world, key, ErrorCode.KAFKA_STORAGE_ERROR, topic="other")
    answer = client.ask(request, version)
    assert ErrorCode.KAFKA_STORAGE_ERROR not in [code for _, code in leaves(answer)]
    assert len(world.cluster.mishaps) == 1


@pytest.mark.parametrize(("key", "version"), versions(OF_GROUPS), ids=named)
def test_requests_of_a_group_are_refused(world, client, key, version):
    request = sample(API_TABLE[key].request, version, world.cluster.topics.get("t").topic_id)
    refuse(world, key, group="other")
    refuse(world, key, group="t", times=2)
    answer = client.ask(request, version)
    assert ERROR in [code for _, code in leaves(answer)]
    assert len(world.cluster.mishaps) == 2


@pytest.mark.parametrize("key", sorted(SERVED), ids=named)
def test_what_no_answer_has_a_place_for_is_refused_at_once(key):
    def adds(**more):
        try:
            Mishap(key, Kind.REFUSED, error=ERROR, **more)
        except UsageError as error:
            said.append(str(error))
            return False
        return True

    said = []
    assert adds(topic="t") is (key in OF_TOPICS)
    assert adds(topic="t", partition=0) is (key in OF_PARTITIONS)
    assert adds(group="t") is (key in OF_GROUPS)
    assert all(f"{key.stem} has no " in text and "OffsetCommit" in text for text in said)


def test_words_that_mean_nothing_are_refused():
    for more in ({"partition": 0}, {"topic": "t", "partition": -1}):
        with pytest.raises(UsageError):
            Mishap(ApiKey.PRODUCE, Kind.REFUSED, **more)
