"""The message classes are not made by `dataclasses`, yet its functions take them."""

import dataclasses

from kcore.wire.messages import JoinGroupRequest, MetadataResponse

Protocol = JoinGroupRequest.JoinGroupRequestProtocol


def test_fields_and_is_dataclass():
    assert dataclasses.is_dataclass(JoinGroupRequest)
    assert [field.name for field in dataclasses.fields(JoinGroupRequest)] == [
        "group_id",
        "session_timeout_ms",
        "rebalance_timeout_ms",
        "member_id",
        "group_instance_id",
        "protocol_type",
        "protocols",
        "reason",
    ]
    assert [field.name for field in dataclasses.fields(Protocol())] == ["name", "metadata"]


def test_replace_gives_another_message():
    first = JoinGroupRequest(group_id="g", protocols=[Protocol(name="range", metadata=b"m")])
    second = dataclasses.replace(first, group_id="h")
    assert (first.group_id, second.group_id) == ("g", "h")
    assert second.protocols == first.protocols


def test_asdict_goes_all_the_way_down():
    broker = MetadataResponse.MetadataResponseBroker(node_id=1, host="h", port=9092)
    data = dataclasses.asdict(MetadataResponse(brokers=[broker], cluster_id="c"))
    assert data["brokers"] == [{"node_id": 1, "host": "h", "port": 9092, "rack": None}]
    assert data["cluster_id"] == "c"
