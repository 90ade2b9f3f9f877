"""What is too large to be sent, and how that is said; what is too large for now."""

import pytest
from scripted_producer import produce_world, send_all, values

from kcore.errors import RecordTooLargeError
from kcore.wire.codes import ErrorCode


@pytest.mark.parametrize("limit", ["max_request_size", "buffer_memory"])
def test_a_record_that_can_never_be_sent_is_refused_at_once(limit):
    _, _, client = produce_world(**{limit: 1000})
    with pytest.raises(RecordTooLargeError, match=f"{limit}=1000"):
        client.send(bytes(1000))
    client.send_soon(bytes(800))
    client.flush()


def test_a_record_is_measured_before_compression_and_that_is_said():
    _, _, client = produce_world(max_request_size=1000, compression_type="gzip")
    with pytest.raises(RecordTooLargeError, match="bytes before compression: more than max_req"):
        client.send(bytes(1000))


def test_what_a_broker_finds_too_large_is_said_with_its_size():
    _, cluster, client = produce_world(max_request_size=10_000)
    cluster.fault = lambda *_: ErrorCode.MESSAGE_TOO_LARGE
    send_all(client, [bytes(5000), bytes(10)])
    client.flush()
    large, small = client.errors()
    assert "refused: a batch of 5070 bytes is more than the topic's max.message.bytes" in str(large)
    assert "refused: a batch of 7" in str(small)


def test_room_is_made_though_a_small_record_has_found_some_before_the_drivers_turn():
    world, _, client = produce_world(
        topics={"t": 2}, buffer_memory=3_000, batch_size=2_500, linger_ms=10_000
    )
    send_all(client, values(1))
    client.flush()
    client.core.patient = True
    assert client.send(bytes(2_000), partition=0)
    assert not client.send(bytes(1_500), partition=1)
    assert client.send(b"small", partition=1)
    client.core.handle_deadline(world.now)
    client.drain()
    world.run(1_000)
    assert client.send(bytes(1_500), partition=1)
