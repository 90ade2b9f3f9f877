"""Records in pieces: the same bytes on the wire, without copying the large ones."""

import pytest

from kcore.errors import UsageError
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.message import Pieces

R = m.FetchResponse
RECORDS = [
    [b"a" * 3_000, b"b" * 10, memoryview(b"c" * 5_000)],
    [b"x"],
    [b"y" * 2_048],
    [],
    [b"", b"z" * 2_047],
]


def answer(records, version):
    parts = [R.PartitionData(partition_index=n, records=one) for n, one in enumerate(records)]
    made = R(responses=[R.FetchableTopicResponse(topic="t", partitions=parts)])
    if version >= 16:
        made.node_endpoints = [R.NodeEndpoint(node_id=1, host="h", port=3)]
    return made


@pytest.mark.parametrize("version", range(4, 19))
def test_pieces_are_what_they_are_joined(version):
    joined = frames.encode_response(answer([b"".join(one) for one in RECORDS], version), version, 7)
    pieces = answer([Pieces(one) for one in RECORDS], version)
    assert frames.encode_response(pieces, version, 7) == joined
    parts = frames.encode_response_parts(pieces, version, 7)
    assert b"".join(parts) == joined
    for records in (RECORDS[0][0], RECORDS[0][2], RECORDS[2][0]):
        assert sum(part is records for part in parts) == 1  # as it is, and once
    assert sum(map(len, parts)) == len(joined)


@pytest.mark.parametrize("version", range(3, 14))
def test_a_request_in_pieces(version):
    def asked(records):
        data = m.ProduceRequest.PartitionProduceData(index=0, records=records)
        topic = m.ProduceRequest.TopicProduceData(
            name="" if version >= 13 else "t",
            topic_id=bytes(15) + b"1" if version >= 13 else bytes(16),
            partition_data=[data],
        )
        return m.ProduceRequest(acks=-1, timeout_ms=1, topic_data=[topic])

    for one in RECORDS:
        joined = frames.encode_request(asked(b"".join(one)), version, 7, "me")
        assert frames.encode_request(asked(Pieces(one)), version, 7, "me") == joined
        parts = frames.encode_request_parts(asked(Pieces(one)), version, 7, "me")
        assert b"".join(parts) == joined
        large = [piece for piece in one if len(piece) >= 2_048]
        assert [part for part in parts if any(part is piece for piece in large)] == large


def test_without_large_pieces_there_is_one_part():
    (part,) = frames.encode_response_parts(answer([Pieces([b"x"])], 12), 12, 7)
    assert isinstance(part, bytes)


def test_a_frame_that_would_be_too_long_is_refused():
    huge = memoryview(bytearray(1 << 30))
    with pytest.raises(UsageError, match="longer than"):
        frames.encode_response_parts(answer([Pieces([huge, huge])], 12), 12, 7)
    with pytest.raises(UsageError, match="do not fit"):
        frames.encode_response_parts(answer([Pieces([huge]), Pieces([huge])], 12), 12, 7)
