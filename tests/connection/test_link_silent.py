"""Requests that have no answer (Produce with acks=0), and answers to them all the same."""

from test_link import Peer

from kcore.connection.pending import Call
from kcore.wire import frames
from kcore.wire.apis import ApiKey
from kcore.wire.messages import MetadataRequest, MetadataResponse


def send_silent(peer):
    call = Call(
        ApiKey.METADATA,
        lambda _: MetadataRequest(topics=[]),
        peer.done,
        0,
        30_000,
        None,
        answered=False,
    )
    peer.link.send(call, 0)
    return call


def test_answers_to_requests_that_have_none_are_dropped():
    """Some that are not Kafka send them all the same (Azure Event Hubs, to Produce of acks=0)."""
    peer = Peer()
    peer.greet()
    silent = []
    for _ in range(2):
        silent.append(send_silent(peer))
        peer.send()
    peer.send()
    requests = peer.requests()
    peer.answers()
    for request in requests:
        peer.answer(request, MetadataResponse())
    assert not peer.link.ended
    assert len(peer.answers()) == 3  # each is told once, the silent ones before
    assert peer.link.load == 0
    last = send_silent(peer)
    peer.answer(peer.requests()[0], MetadataResponse())
    assert not peer.link.ended
    answer = frames.encode_response(MetadataResponse(), 12, last.correlation_id + 1)
    peer.link.handle_data(answer, 0)
    assert "nobody asked for" in str(peer.link.error)


def test_an_answer_out_of_turn_ends_a_link_with_silent_requests_too():
    peer = Peer()
    peer.greet()
    peer.send()
    send_silent(peer)
    first, silent = peer.requests()
    peer.answer(silent, MetadataResponse())
    assert peer.link.ended
