"""One link against a scripted peer: greeting, correlation, deadlines, throttle, and peers that are
not Kafka.
"""

from collections import deque

import pytest

from kcore.actions import Disconnect, Send
from kcore.connection.calls import ANSWERED
from kcore.connection.link import Link
from kcore.connection.options import LinkOptions
from kcore.connection.pending import Call
from kcore.connection.states import TRANSITIONS, LinkInput, LinkState
from kcore.errors import (
    DisconnectedError,
    ProtocolError,
    RequestTimedOutError,
    UnsupportedVersionError,
    UsageError,
)
from kcore.timers import NEVER
from kcore.wire import frames
from kcore.wire.apis import ApiKey
from kcore.wire.messages import (
    ApiVersionsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
)

RANGES = {18: (0, 4), 3: (0, 12), 12: (0, 4)}


class Peer:
    """A link and the broker's side of it."""

    def __init__(self, ranges=None, **options):
        self.actions = deque()
        self.completed = deque()
        self.ranges = RANGES if ranges is None else ranges
        self.link = Link(
            7,
            1,
            ("host", 9092),
            LinkOptions(client_id="me", **options),
            10_000,
            0,
            self.completed,
            self.actions,
        )

    def requests(self):
        """What was written since the last look, decoded."""
        found = []
        while self.actions:
            action = self.actions.popleft()
            if isinstance(action, Send):
                found.append(frames.decode_request(memoryview(action.data)[4:]))
        return found

    def answer(self, request, message, now=0, version=None):
        version = request.api_version if version is None else version
        data = frames.encode_response(message, version, request.correlation_id)
        self.link.handle_data(data, now)

    def greet(self, now=0, throttle=0):
        self.link.handle_connected(now)
        (request,) = self.requests()
        keys = [
            ApiVersionsResponse.ApiVersion(api_key=k, min_version=lo, max_version=hi)
            for k, (lo, hi) in self.ranges.items()
        ]
        greeting = ApiVersionsResponse(api_keys=keys, throttle_time_ms=throttle)
        self.answer(request, greeting, now)
        return request

    def send(self, api=ApiKey.METADATA, build=None, now=0, timeout=30_000, cap=None):
        call = Call(
            api, build or (lambda _: MetadataRequest(topics=[])), self.done, now, timeout, cap
        )
        self.link.send(call, now)
        return call

    def done(self, answer, now):
        raise AssertionError("the link runs no answers")

    def answers(self):
        found = [answer for _, answer in self.completed]
        self.completed.clear()
        return found


@pytest.mark.parametrize("state", LinkState)
@pytest.mark.parametrize("what", LinkInput)
def test_every_cell_ends_in_a_known_state_or_is_ignored(state, what):
    link = Peer().link
    link.state = state
    moved = link._move(what)
    expected = TRANSITIONS[state].get(what)
    assert moved is (expected is not None)
    assert link.state is (expected or state)


def test_the_greeting_comes_first_and_calls_wait_for_it():
    peer = Peer()
    peer.send()
    assert peer.requests() == []
    request = peer.greet()
    # Version 4 adds nothing that a link reads, and Azure Event Hubs hangs up on it (it should say
    # UNSUPPORTED_VERSION).
    assert (request.api_key, request.api_version, request.client_id) == (18, 3, "me")
    assert request.message.client_software_name == "kcore"
    (call,) = peer.requests()
    assert (call.api_key, call.api_version) == (3, 12)
    assert peer.link.ready


def test_an_old_broker_answers_unsupported_version_in_v0_and_is_asked_lower():
    peer = Peer()
    peer.link.handle_connected(0)
    (first,) = peer.requests()
    refusal = ApiVersionsResponse(
        error_code=35,
        api_keys=[ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=2)],
    )
    peer.answer(first, refusal, version=0)
    (second,) = peer.requests()
    assert second.api_version == 2
    keys = [ApiVersionsResponse.ApiVersion(api_key=3, min_version=0, max_version=7)]
    peer.answer(second, ApiVersionsResponse(api_keys=keys))
    assert peer.link.ready
    assert peer.link.version_of(ApiKey.METADATA, None) == 7


def test_a_refusal_without_a_range_falls_back_to_v0_and_a_second_refusal_ends_it():
    peer = Peer()
    peer.link.handle_connected(0)
    (first,) = peer.requests()
    peer.answer(first, ApiVersionsResponse(error_code=35), version=0)
    (second,) = peer.requests()
    assert second.api_version == 0
    peer.answer(second, ApiVersionsResponse(error_code=35), version=0)
    assert peer.link.ended
    assert isinstance(peer.link.error, ProtocolError)


def test_a_refusal_that_cannot_be_read_falls_back_to_v0():
    peer = Peer()
    peer.link.handle_connected(0)
    (first,) = peer.requests()
    # What librdkafka's mock cluster says to v3 and v4: error 35, then a body of no known version.
    body = bytes.fromhex("0023 0100 1200 0000 0200 0000 00")
    frame = first.correlation_id.to_bytes(4, "big") + body
    peer.link.handle_data(len(frame).to_bytes(4, "big") + frame, 0)
    (second,) = peer.requests()
    assert second.api_version == 0


def test_answers_reach_their_calls_in_order():
    peer = Peer()
    peer.greet()
    peer.send()
    peer.send(ApiKey.HEARTBEAT, lambda _: HeartbeatRequest(group_id="g"))
    one, two = peer.requests()
    peer.answer(one, MetadataResponse(cluster_id="c"))
    peer.answer(two, HeartbeatResponse(error_code=27))
    first, second = peer.answers()
    assert (first.body.cluster_id, first.version, first.node) == ("c", 12, 1)
    assert second.body.error_code == 27


def test_bytes_one_at_a_time():
    peer = Peer()
    peer.greet()
    peer.send()
    (request,) = peer.requests()
    message = MetadataResponse(cluster_id="c")
    data = frames.encode_response(message, request.api_version, request.correlation_id)
    for index in range(len(data)):
        assert not peer.completed
        peer.link.handle_data(data[index : index + 1], 0)
    assert peer.answers()[0].body.cluster_id == "c"


@pytest.mark.parametrize("shift", [1, -1, 1000])
def test_another_correlation_id_ends_the_link(shift):
    peer = Peer()
    peer.greet()
    peer.send()
    (request,) = peer.requests()
    data = frames.encode_response(MetadataResponse(), 12, request.correlation_id + shift)
    peer.link.handle_data(data, 0)
    assert peer.link.ended
    assert peer.actions.popleft() == Disconnect(7)
    (answer,) = peer.answers()
    assert isinstance(answer.error, ProtocolError)


def test_an_answer_nobody_asked_for_ends_the_link():
    peer = Peer()
    peer.greet()
    peer.link.handle_data(frames.encode_response(MetadataResponse(), 12, 99), 0)
    assert peer.link.ended
    assert "nobody asked for" in str(peer.link.error)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xff\xff\xff",
        b"\x7f\xff\xff\xff",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00\x00\x00\x02ab",
    ],
    ids=["negative", "huge", "http", "short"],
)
def test_bytes_that_are_not_kafka(data):
    peer = Peer()
    peer.link.handle_connected(0)
    peer.send()
    peer.requests()
    peer.link.handle_data(data, 0)
    assert peer.link.ended
    (answer,) = peer.answers()
    assert isinstance(answer.error, ProtocolError)


def test_a_body_cut_short_ends_the_link():
    peer = Peer()
    peer.greet()
    peer.send()
    (request,) = peer.requests()
    message = MetadataResponse(cluster_id="cluster")
    data = frames.encode_response(message, 12, request.correlation_id)
    cut = data[4:-6]
    peer.link.handle_data(len(cut).to_bytes(4, "big") + cut, 0)
    assert peer.link.ended
    assert isinstance(peer.answers()[0].error, ProtocolError)


def test_a_closure_answers_everything_once():
    peer = Peer()
    peer.greet()
    peer.send()
    peer.send()
    peer.link.handle_closed("connection reset")
    peer.link.handle_closed("again")
    answers = peer.answers()
    assert [type(x.error) for x in answers] == [DisconnectedError] * 2
    assert "connection reset" in str(answers[0].error)
    assert not any(isinstance(x, Disconnect) for x in peer.actions)  # the driver knows already


def test_the_set_up_runs_out_while_connecting_and_while_greeting():
    for connected in (False, True):
        peer = Peer()
        if connected:
            peer.link.handle_connected(0)
        assert peer.link.deadline() == 10_000
        peer.link.handle_deadline(9_999)
        assert not peer.link.ended
        peer.link.handle_deadline(10_000)
        assert peer.link.ended
        assert isinstance(peer.link.error, RequestTimedOutError)


def test_an_overdue_answer_ends_the_link():
    peer = Peer()
    peer.greet()
    assert peer.link.deadline() == NEVER
    peer.send(timeout=500)
    peer.send(timeout=30_000)
    assert peer.link.deadline() == 500
    peer.link.handle_deadline(500)
    assert peer.link.ended
    assert [type(x.error) for x in peer.answers()] == [RequestTimedOutError] * 2


def test_a_call_that_waited_too_long_fails_alone():
    peer = Peer()
    peer.send(timeout=500)
    peer.send(timeout=30_000)
    peer.link.handle_deadline(500)
    (answer,) = peer.answers()
    assert isinstance(answer.error, RequestTimedOutError)
    assert not peer.link.ended
    peer.greet(600)
    assert len(peer.requests()) == 1


def test_what_waited_for_the_link_has_its_whole_time_for_the_answer():
    """It ended the link that had just got ready, and so did whatever waited for the next one: where
    setting up took half a request's time, nothing was ever answered (Java counts from the writing).
    """
    peer = Peer()
    call = peer.send(timeout=500)
    peer.greet(450)
    assert call.expires_at == peer.link.deadline() == 950
    peer.link.handle_deadline(949)
    assert not peer.link.ended
    (request,) = peer.requests()
    peer.answer(request, MetadataResponse(), now=949)
    (answer,) = peer.answers()
    assert answer.error is None


def test_what_waited_for_a_throttle_has_its_whole_time_for_the_answer():
    peer = Peer()
    peer.greet(throttle=400)
    peer.send(timeout=500)
    peer.link.handle_deadline(400)
    assert len(peer.requests()) == 1
    assert peer.link.deadline() == 900


@pytest.mark.parametrize(("throttle", "until"), [(300, 1_300), (2**31 - 1, 61_000)])
def test_a_throttled_link_holds_back_but_never_for_good(throttle, until):
    peer = Peer()
    peer.greet()
    peer.send(now=1_000)
    (request,) = peer.requests()
    peer.answer(request, MetadataResponse(throttle_time_ms=throttle), now=1_000)
    peer.send(now=1_000, timeout=10**6)
    assert peer.requests() == []
    assert peer.link.deadline() == until
    peer.link.handle_deadline(until - 1)
    assert peer.requests() == []
    peer.link.handle_deadline(until)
    assert len(peer.requests()) == 1


def test_a_call_that_waits_for_a_throttle_to_end_may_be_late_before():
    peer = Peer()
    peer.greet()
    peer.send(now=1_000)
    (request,) = peer.requests()
    peer.answer(request, MetadataResponse(throttle_time_ms=5_000), now=1_000)
    peer.send(now=1_000, timeout=2_000)
    assert peer.link.deadline() == 3_000


def test_a_greeting_that_is_throttled_holds_back_what_follows():
    """The simulation's rule THROTTLED has found it: ApiVersions has the field, too (KIP-219)."""
    peer = Peer()
    peer.greet(1_000, throttle=300)
    peer.send(now=1_000, timeout=10**6)
    assert peer.requests() == []
    assert peer.link.deadline() == 1_300
    peer.link.handle_deadline(1_300)
    assert len(peer.requests()) == 1


def test_what_holds_back_is_not_shortened_by_a_later_answer():
    """Java: ClusterConnectionStates.throttle."""
    peer = Peer()
    peer.greet()
    for _ in range(2):
        peer.send(now=1_000)
    long, short = peer.requests()
    peer.answer(long, MetadataResponse(throttle_time_ms=900), now=1_000)
    peer.answer(short, MetadataResponse(throttle_time_ms=100), now=1_100)
    peer.send(now=1_100, timeout=10**6)
    assert peer.link.deadline() == 1_900


@pytest.mark.parametrize("span", [(9, 2), (500, 600), None], ids=["inverted", "disjoint", "absent"])
def test_no_common_version_fails_the_call_and_keeps_the_link(span):
    ranges = {18: (0, 4), 12: (0, 4)}
    if span is not None:
        ranges[3] = span
    peer = Peer(ranges)
    peer.greet()
    peer.send()
    peer.send(ApiKey.HEARTBEAT, lambda _: HeartbeatRequest(group_id="g"))
    (answer,) = peer.answers()
    assert isinstance(answer.error, UnsupportedVersionError)
    assert len(peer.requests()) == 1
    assert peer.link.ready


def test_what_a_broker_does_not_serve_is_said_with_a_release_that_does():
    peer = Peer({18: (0, 4), 3: (0, 4)})
    peer.greet()
    for api, release in ((ApiKey.ELECT_LEADERS, "2.4"), (ApiKey.SHARE_FETCH, "4.1")):
        with pytest.raises(UnsupportedVersionError, match=f"{api.name} .*Apache Kafka {release}"):
            peer.link.version_of(api, None)
    with pytest.raises(UnsupportedVersionError, match=r"FETCH at all$"):  # all do
        peer.link.version_of(ApiKey.FETCH, None)


@pytest.mark.parametrize("early", [False, True], ids=["ready", "before the greeting"])
def test_what_cannot_be_written_fails_the_call_and_keeps_the_link(early):
    peer = Peer()

    def bad(_version):
        return MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="x" * 40_000)])

    if early:
        peer.send(build=bad)
        peer.greet()
    else:
        peer.greet()
        peer.send(build=bad)
    peer.send()
    (answer,) = peer.answers()
    assert isinstance(answer.error, UsageError)
    assert len(peer.requests()) == 1
    assert peer.link.ready


def test_a_cap_lowers_the_version_and_build_is_told():
    peer = Peer()
    peer.greet()
    told = []
    peer.send(build=lambda v: told.append(v) or MetadataRequest(topics=[]), cap=9)
    assert peer.requests()[0].api_version == 9
    assert told == [9]


def test_no_more_in_flight_than_allowed():
    peer = Peer(max_in_flight=2)
    peer.greet()
    for _ in range(3):
        peer.send()
    one, _ = peer.requests()
    peer.answer(one, MetadataResponse())
    assert len(peer.requests()) == 1


def test_calls_not_written_can_be_taken_along():
    peer = Peer()
    call = peer.send()
    assert peer.link.take_waiting() == [call]
    peer.link.handle_closed("refused")
    assert peer.answers() == []


def test_a_stated_release_caps_every_version():
    highest = {ApiKey.API_VERSIONS: 2, ApiKey.METADATA: 7}
    peer = Peer(highest=highest)
    assert peer.greet().api_version == 2
    peer.send()
    assert [x.api_version for x in peer.requests()] == [7]
    assert peer.link.version_of(ApiKey.METADATA, 5) == 5  # a lower cap of the caller's holds
    assert peer.link.version_of(ApiKey.METADATA, 9) == 7


def test_an_api_that_the_stated_release_has_not_is_not_spoken():
    peer = Peer(highest={ApiKey.METADATA: -1})
    peer.greet()
    peer.send()
    (answer,) = peer.answers()
    assert isinstance(answer.error, UnsupportedVersionError)
    assert "api_version" in str(answer.error)


def test_an_api_of_which_the_stated_release_has_version_0_alone_is_spoken():
    peer = Peer(highest={ApiKey.METADATA: 0})
    peer.greet()
    peer.send()
    (request,) = peer.requests()
    assert request.api_version == 0


def test_a_greeting_that_is_refused_ends_the_link_and_says_with_what():
    peer = Peer()
    peer.link.handle_connected(0)
    peer.send()
    (request,) = peer.requests()
    peer.answer(request, ApiVersionsResponse(error_code=42))
    (answer,) = peer.answers()
    assert "host:9092 refused ApiVersions with error 42" in str(answer.error)
    assert peer.link.ended


class Asking:
    """A question that stands as long as its answers are `quiet`."""

    timeout_ms = 700

    def __init__(self, quiet=True, ends=False):
        self.quiet = quiet
        self.ends = ends
        self.heard = []

    def again(self, frame, version, correlation_id, client_id, now_ms):
        self.heard.append((version, correlation_id, client_id, now_ms))
        if self.ends:
            return ANSWERED
        body = HeartbeatRequest(group_id="again")
        return frames.encode_request(body, version, correlation_id, client_id) * self.quiet or None


def standing(peer, **given):
    question = Asking(**given)
    call = Call(
        ApiKey.HEARTBEAT, lambda _: HeartbeatRequest(), peer.done, 0, 500, None, standing=question
    )
    peer.link.send(call, 0)
    return call, question


def proven():
    peer = Peer()
    peer.greet()
    peer.send()
    peer.answer(*peer.requests(), MetadataResponse())
    peer.completed.clear()
    return peer


def test_a_standing_question_follows_its_answer_and_nobody_hears_of_it():
    peer = proven()
    call, question = standing(peer)
    for now in (400, 900, 1_400):
        (request,) = peer.requests()
        peer.answer(request, HeartbeatResponse(), now)
        assert question.heard[-1] == (4, request.correlation_id + 1, "me", now)
        assert call.expires_at == peer.link.deadline() == now + 700
        assert peer.answers() == []
    (request,) = peer.requests()
    question.quiet = False
    peer.answer(request, HeartbeatResponse(error_code=27), 1_500)
    (answer,) = peer.answers()
    assert answer.body.error_code == 27
    assert peer.requests() == []
    assert peer.link.load == 0


def test_an_answer_may_be_taken_without_being_read_and_nothing_follows():
    peer = proven()
    standing(peer, ends=True)
    peer.send()
    first, second = peer.requests()
    frame = frames.encode_response(HeartbeatResponse(), 4, first.correlation_id)
    peer.link.receive_buffer()[: len(frame)] = frame
    assert peer.link.receive_advance(len(frame), 400) == -1
    assert (peer.answers(), peer.requests(), peer.link.load) == ([], [], 1)
    peer.answer(second, MetadataResponse(), 500)
    assert peer.answers()[0].body == MetadataResponse()


def test_a_frame_is_sent_as_it_is_but_for_its_number():
    peer = proven()
    body = HeartbeatRequest(group_id="as it was")
    frame = bytearray(frames.encode_request(body, 4, 0, "somebody"))
    for _ in range(2):
        call = peer.send(ApiKey.HEARTBEAT, lambda _: frame)
        (request,) = peer.requests()
        assert (request.message, request.client_id) == (body, "somebody")
        assert request.correlation_id == call.correlation_id
        peer.answer(request, HeartbeatResponse())
    assert len(peer.answers()) == 2


def test_a_standing_question_is_overdue_and_fails_as_any_other():
    peer = proven()
    standing(peer)
    peer.answer(*peer.requests(), HeartbeatResponse(), 400)
    peer.link.handle_deadline(1_099)
    assert peer.answers() == []
    peer.link.handle_deadline(1_100)
    (answer,) = peer.answers()
    assert isinstance(answer.error, RequestTimedOutError)


def test_a_standing_question_takes_its_place_behind_the_others_in_flight():
    peer = proven()
    standing(peer)
    other = peer.send(timeout=30_000)
    first, second = peer.requests()
    peer.answer(first, HeartbeatResponse(), 10)
    (third,) = peer.requests()
    peer.answer(second, MetadataResponse(), 20)
    assert [call for call, _ in peer.completed] == [other]
    peer.completed.clear()
    peer.answer(third, HeartbeatResponse(), 30)
    assert (peer.link.ready, peer.answers(), len(peer.requests())) == (True, [], 1)


@pytest.mark.parametrize("why", ["waiting", "answers", "muted", "unproven"])
def test_an_answer_to_a_standing_question_is_read_where_others_have_to_be_heard(why):
    peer = proven()
    _, question = standing(peer)
    (request,) = peer.requests()
    if why == "waiting":
        peer.link._options = LinkOptions(client_id="me", max_in_flight=1)
        peer.send()
    elif why == "answers":
        peer.completed.append(("another", "answer"))
    elif why == "muted":
        peer.link._muted_until = 50
    else:
        peer.link.answered = False
    peer.answer(request, HeartbeatResponse(), 10)
    assert peer.answers()[-1].body == HeartbeatResponse()
    assert question.heard == []
