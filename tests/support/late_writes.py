"""A transactional batch that comes when its transaction is over, as one that was long under way:
where brokers do not ask the coordinator (KIP-890) it opens a transaction that nobody ends.
"""

from __future__ import annotations

import socket
import struct
import time

from kcore.records import encode_batch
from kcore.structs import TopicPartition
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

VERSION = 9  # of Produce: up to 11 writing to a partition does not add it to a transaction
LONG_AGO_MS = 1_600_000_000_000
LEADS_WITHIN_S = 10.0


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        assert more
        data += more
    return data


def write_late(
    address: str, name: str, tp: TopicPartition, producer_id: int, epoch: int, sequence: int = 0
) -> int:
    """Write to the leader at this address. The error code.

    A Kafka names itself in metadata a moment before it leads what was just created.
    """
    data = encode_batch(
        [(LONG_AGO_MS, None, b"late")],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )
    cls = m.ProduceRequest
    part = cls.PartitionProduceData(index=tp.partition, records=data)
    topic = cls.TopicProduceData(name=tp.topic, partition_data=[part])
    request = cls(transactional_id=name, acks=-1, timeout_ms=10_000, topic_data=[topic])
    frame = frames.encode_request(request, VERSION, 1, "late")
    until_s = time.monotonic() + LEADS_WITHIN_S
    code = _answered(address, frame)
    while code == ErrorCode.NOT_LEADER_OR_FOLLOWER and time.monotonic() < until_s:
        time.sleep(0.01)
        code = _answered(address, frame)
    return code


def _answered(address: str, frame: bytes) -> int:
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as sock:
        sock.sendall(frame)
        (size,) = struct.unpack(">i", _exactly(sock, 4))
        answer = frames.decode_response(m.ProduceResponse, VERSION, _exactly(sock, size))
    code: int = answer.responses[0].partition_responses[0].error_code
    return code
