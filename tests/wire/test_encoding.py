"""What `encode` refuses, drops and accepts."""

import array
import math
import struct
import sys
from enum import IntEnum

import pytest

from kcore.errors import UnsupportedVersionError, UsageError
from kcore.wire.codec import decode, encode
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    AlterClientQuotasRequest,
    ApiVersionsResponse,
    ConsumerGroupMemberMetadataValue,
    ConsumerProtocolSubscription,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    MetadataRequest,
    OffsetFetchRequest,
    ProduceRequest,
    SaslHandshakeResponse,
    StreamsGroupHeartbeatRequest,
)

TOPIC_ID = bytes(range(16))


@pytest.mark.parametrize(
    ("message", "version", "field"),
    [
        (HeartbeatRequest(group_instance_id="i"), 2, "group_instance_id"),
        (JoinGroupRequest(group_instance_id="i"), 4, "group_instance_id"),
        (OffsetFetchRequest(require_stable=True), 6, "require_stable"),
        (OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup()]), 7, "groups"),
        (FetchRequest(replica_id=5), 15, "replica_id"),
        (FetchRequest(replica_state=FetchRequest.ReplicaState(replica_id=5)), 14, "replica_state"),
        (FetchRequest(forgotten_topics_data=[FetchRequest.ForgottenTopic()]), 6, "forgotten"),
        (FetchResponse(node_endpoints=[FetchResponse.NodeEndpoint()]), 15, "node_endpoints"),
    ],
)
def test_a_set_field_that_the_version_lacks(message, version, field):
    with pytest.raises(UnsupportedVersionError, match=f"v{version} has no field {field}"):
        encode(message, version)
    if version + 1 <= message.VERSIONS[1] and field != "replica_id":
        encode(message, version + 1)


def test_a_set_field_deep_inside():
    partition = FetchRequest.FetchPartition(last_fetched_epoch=3)
    message = FetchRequest(topics=[FetchRequest.FetchTopic(topic="t", partitions=[partition])])
    with pytest.raises(UnsupportedVersionError, match=r"FetchPartition v11 .*last_fetched_epoch"):
        encode(message, 11)
    encode(message, 12)


def test_ignorable_fields_are_dropped():
    message = JoinGroupRequest(group_id="g", rebalance_timeout_ms=5, reason="because")
    got = decode(JoinGroupRequest, 0, encode(message, 0))
    assert (got.group_id, got.rebalance_timeout_ms, got.reason) == ("g", -1, None)


def test_null_where_only_other_versions_have_it():
    with pytest.raises(UnsupportedVersionError, match="topics cannot be null in v0"):
        encode(MetadataRequest(topics=None), 0)
    assert decode(MetadataRequest, 1, encode(MetadataRequest(topics=None), 1)).topics is None


def at_port(port):
    R = StreamsGroupHeartbeatRequest
    return R(user_endpoint=R.Endpoint(host="here", port=port))


class Number(IntEnum):
    """An int in disguise."""

    FOUR = 4


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (HeartbeatRequest(group_id=None), "group_id cannot be None"),
        (HeartbeatRequest(group_id=b"g"), "group_id is not a str"),
        (HeartbeatRequest(group_id="g" * 32768), "group_id is longer than 32767"),
        (HeartbeatRequest(group_id="\ud800"), "group_id cannot be written as UTF-8"),
        (HeartbeatRequest(generation_id="1"), "generation_id is not an int"),
        (HeartbeatRequest(generation_id=1.0), "generation_id is not an int"),
        (HeartbeatRequest(generation_id=1 << 31), "generation_id does not fit into int32"),
        (HeartbeatRequest(generation_id=-(1 << 31) - 1), "does not fit into int32"),
        (HeartbeatRequest(generation_id=1 << 80), "does not fit into int32"),
        (HeartbeatResponse(error_code=32768), "error_code does not fit into int16"),
        (at_port(65_536), "port does not fit into uint16: 65536"),
        (at_port(-1), "port does not fit into uint16: -1"),
        (at_port(1 << 63), "port does not fit into uint16"),
        (FetchRequest(isolation_level=128), "isolation_level does not fit into int8"),
        (MetadataRequest(topics="abc"), "topics is not a list"),
        (MetadataRequest(topics=["abc"]), "MetadataRequestTopic is wanted, not a str"),
        (MetadataRequest(topics=[None]), "MetadataRequestTopic is wanted, not a NoneType"),
        (MetadataRequest(allow_auto_topic_creation=1), "is not a bool"),
        (SaslHandshakeResponse(mechanisms=[None]), "mechanisms is not a str but NoneType"),
        (FetchRequest(replica_state=None), "replica_state cannot be None"),
    ],
)
def test_values_that_do_not_fit(message, reason):
    with pytest.raises(UsageError, match=reason):
        encode(message, message.VERSIONS[1])


@pytest.mark.parametrize(
    ("topic_id", "reason"),
    [
        (bytes(15), "topic_id is not 16 bytes"),
        (bytes(17), "topic_id is not 16 bytes"),
        ("x" * 16, "topic_id is not contiguous bytes"),
        (memoryview(bytes(32))[::2], "topic_id is not contiguous bytes"),
        (None, "topic_id cannot be None"),
    ],
)
def test_topic_ids_that_are_none(topic_id, reason):
    message = FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=topic_id)])
    with pytest.raises(UsageError, match=reason):
        encode(message, 13)


def test_an_int64_at_its_limits():
    for number in (-(1 << 63), (1 << 63) - 1):
        partition = FetchRequest.FetchPartition(fetch_offset=number)
        message = FetchRequest(topics=[FetchRequest.FetchTopic(partitions=[partition])])
        assert decode(FetchRequest, 13, encode(message, 13)) == message
    partition.fetch_offset = 1 << 63
    with pytest.raises(UsageError, match="fetch_offset does not fit into int64"):
        encode(message, 13)


def test_a_float64_at_its_limits():
    ops = AlterClientQuotasRequest.OpData(key="k")
    message = AlterClientQuotasRequest(entries=[AlterClientQuotasRequest.EntryData(ops=[ops])])
    for number in (0.0, -0.0, 5e-324, sys.float_info.max, -math.inf):
        ops.value = number
        body = encode(message, 0)
        assert struct.pack(">d", number) in body
        (found,) = decode(AlterClientQuotasRequest, 0, body).entries[0].ops
        assert math.copysign(1, found.value) == math.copysign(1, number)
        assert found.value == number
    ops.value = math.nan
    (found,) = decode(AlterClientQuotasRequest, 0, encode(message, 0)).entries[0].ops
    assert math.isnan(found.value)
    for wrong in (1, True, "1.0", None, b"12345678"):
        ops.value = wrong
        with pytest.raises(UsageError, match=r"value (is not a float|cannot be None)"):
            encode(message, 0)


def test_what_is_not_a_message():
    for value in (None, 5, "HeartbeatRequest", FetchRequest.FetchTopic()):
        with pytest.raises(UsageError, match="not a message"):
            encode(value, 0)
    with pytest.raises(UsageError, match="not a message"):
        decode(int, 0, b"")


def test_a_field_that_was_deleted():
    message = HeartbeatRequest()
    del message.group_id
    with pytest.raises(UsageError, match="group_id is not set"):
        encode(message, 0)


def test_ints_in_disguise_and_tuples():
    message = HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR, throttle_time_ms=Number.FOUR)
    assert decode(HeartbeatResponse, 4, encode(message, 4)) == message
    message = SaslHandshakeResponse(mechanisms=("a", "b"))
    assert decode(SaslHandshakeResponse, 1, encode(message, 1)).mechanisms == ["a", "b"]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda b: array.array("B", b)])
def test_bytes_in_any_form(kind):
    data = bytes(range(200))
    partition = ProduceRequest.PartitionProduceData(records=kind(data))
    topic = ProduceRequest.TopicProduceData(topic_id=kind(TOPIC_ID), partition_data=[partition])
    message = ProduceRequest(topic_data=[topic])
    for version in (8, 13):
        topic.name = "t" if version == 8 else ""
        body = encode(message, version)
        for given in (body, bytearray(body), memoryview(body)):
            got = decode(ProduceRequest, version, given).topic_data[0].partition_data[0].records
            assert isinstance(got, memoryview)
            assert got == data
            assert got.obj is given or got.obj is getattr(given, "obj", None)


def test_input_that_is_not_of_single_bytes():
    body = encode(SaslHandshakeResponse(mechanisms=["abcd"]), 1)
    assert len(body) % 2 == 0
    assert decode(SaslHandshakeResponse, 1, array.array("H", body)).mechanisms == ["abcd"]
    with pytest.raises(TypeError):
        decode(SaslHandshakeResponse, 1, "text")
    with pytest.raises(BufferError):
        decode(SaslHandshakeResponse, 1, memoryview(body)[::2])


def test_record_views_keep_their_memory():
    partition = FetchResponse.PartitionData(records=b"12345")
    topic = FetchResponse.FetchableTopicResponse(topic="t", partitions=[partition])
    body = bytearray(encode(FetchResponse(responses=[topic]), 11))
    records = decode(FetchResponse, 11, body).responses[0].partitions[0].records
    with pytest.raises(BufferError):
        body.clear()
    del records
    body.clear()


def test_tagged_fields_only_if_set_and_in_order():
    bare = encode(ApiVersionsResponse(), 3)
    assert bare[-1:] == b"\0"
    full = ApiVersionsResponse(
        zk_migration_ready=True,
        finalized_features_epoch=7,
        supported_features=[ApiVersionsResponse.SupportedFeatureKey(name="f", max_version=1)],
    )
    tags = encode(full, 3).removeprefix(bare[:-1])
    assert tags.hex(" ") == (
        "03 00 08 02 02 66 00 00 00 01 00 01 08 00 00 00 00 00 00 00 07 03 01 01"
    )


def test_a_tagged_value_longer_than_one_byte_of_size():
    key = ApiVersionsResponse.SupportedFeatureKey
    keys = [key(name="f" * 100, max_version=n) for n in range(500)]
    message = ApiVersionsResponse(supported_features=keys, finalized_features_epoch=1)
    assert decode(ApiVersionsResponse, 4, encode(message, 4)) == message


def test_a_tagged_struct_that_is_null():
    """Kafka marks it by a uvarint; where a struct has no tag, it is an int8."""
    value = ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
    bare = encode(ConsumerGroupMemberMetadataValue(), 0)
    assert encode(value, 0) == bare[:-1] + bytes.fromhex("01 00 01 00")
    assert decode(ConsumerGroupMemberMetadataValue, 0, encode(value, 0)) == value


def test_tagged_structs_by_value():
    partition = FetchResponse.PartitionData(
        current_leader=FetchResponse.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
    )
    topic = FetchResponse.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[partition])
    message = FetchResponse(responses=[topic])
    bare = encode(message, 16)
    partition.current_leader.leader_epoch = 4
    assert len(encode(message, 16)) == len(bare) + 2 + 8 + 1
    partition.current_leader = 5
    with pytest.raises(UsageError, match="LeaderIdAndEpoch is wanted"):
        encode(message, 16)


def test_what_is_decoded_shares_nothing():
    topic = FetchResponse.FetchableTopicResponse(
        partitions=[FetchResponse.PartitionData(), FetchResponse.PartitionData()]
    )
    got = decode(FetchResponse, 12, encode(FetchResponse(responses=[topic]), 12))
    one, two = got.responses[0].partitions
    assert one.current_leader is not two.current_leader
    assert got.node_endpoints is not decode(FetchResponse, 12, encode(got, 12)).node_endpoints


def test_a_large_message_grows_the_writer():
    partition = FetchResponse.PartitionData(records=b"r" * 3_000_000)
    topics = [
        FetchResponse.FetchableTopicResponse(topic=f"t{n}", partitions=[partition])
        for n in range(5)
    ]
    message = FetchResponse(responses=topics)
    assert decode(FetchResponse, 11, encode(message, 11)) == message


def test_a_subscription_of_a_newer_version():
    body = encode(ConsumerProtocolSubscription(topics=["t"], rack_id="r"), 3) + b"more"
    got = decode(ConsumerProtocolSubscription, 3, body, allow_trailing=True)
    assert (got.topics, got.rack_id) == (["t"], "r")
